#include <fmt/format.h>

#include "base/joined.h"
#include "base/shorten.h"
#include "base/try.h"
#include "nnex/webnn.h"
#include "tensor/type.h"
#include "webnn/builder.h"
#include "webnn/context.h"

namespace nnex::ml {
namespace {

struct TypeRow {
  DataType type;
  DType dtype;
  std::string_view name;
};
constexpr TypeRow kTypes[] = {
    {DataType::float32, DType::f32, "float32"}, {DataType::float16, DType::f16, "float16"},
    {DataType::int32, DType::i32, "int32"},     {DataType::uint32, DType::u32, "uint32"},
    {DataType::int64, DType::i64, "int64"},     {DataType::uint64, DType::u64, "uint64"},
    {DataType::int8, DType::i8, "int8"},        {DataType::uint8, DType::u8, "uint8"},
    {DataType::int4, DType::i4, "int4"},        {DataType::uint4, DType::u4, "uint4"},
};
static_assert(std::size(kTypes) == kDataTypes);

constexpr std::string_view kKinds[] = {"TypeError",      "InvalidStateError", "NotSupportedError",
                                       "OperationError", "UnknownError",      "SecurityError"};

bool exists(DataType type) { return static_cast<int>(type) < kDataTypes; }

const TypeRow& row(DataType type) {
  if (!exists(type)) misused(fmt::format("there is no DataType {}", static_cast<int>(type)));
  return kTypes[static_cast<size_t>(type)];
}

}  // namespace

std::string_view name(ErrorKind kind) { return kKinds[static_cast<size_t>(kind)]; }
void no_value(const Error& error) {
  misused("the value of a failed Result was taken (ask ok() first): " + error.text());
}

std::string Error::text() const { return fmt::format("{}: {}", name(kind), message); }

std::string_view name(DataType type) { return row(type).name; }
std::optional<DataType> data_type_named(std::string_view text) {
  for (const TypeRow& r : kTypes)
    if (r.name == text) return r.type;
  return std::nullopt;
}

DType dtype_of(DataType type) { return row(type).dtype; }
std::optional<DataType> data_type_of(DType type) {
  for (const TypeRow& r : kTypes)
    if (r.dtype == type) return r.type;
  return std::nullopt;
}

Error type_error(std::string message) { return {ErrorKind::TypeError, shortened(std::move(message))}; }
Error invalid_state(std::string message) { return {ErrorKind::InvalidStateError, std::move(message)}; }
Error from_engine(ErrorKind kind, const nnex::Error& error) { return {kind, error.text()}; }

int64_t byte_length(DataType type, const std::vector<uint32_t>& shape) {
  int64_t count = 1;
  for (uint32_t d : shape) count *= d;
  return bytes_for(dtype_of(type), count).value_or(0);
}

Status check_type_exists(DataType type, std::string_view what) {
  if (exists(type)) return {};
  return type_error(fmt::format("{}: there is no data type {}", what, static_cast<int>(type)));
}

Status check_dimensions(DataType type, const std::vector<uint32_t>& shape, std::string_view what) {
  NNEX_TRY(check_type_exists(type, what));
  if (shape.size() > kMaxRank)
    return type_error(fmt::format("{}: found rank {}; needed at most {}", what, shape.size(), kMaxRank));
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1 || shape[i] > kMaxDimension)
      return type_error(fmt::format("{}: dimension {} is {}; needed 1 to {}", what, i, shape[i], kMaxDimension));
    if (__builtin_mul_overflow(count, static_cast<int64_t>(shape[i]), &count) || count > kMaxElements)
      return type_error(fmt::format("{}: [{}] has more than {} elements", what, joined(shape, ", "), kMaxElements));
  }
  const int64_t bytes = bytes_for(dtype_of(type), count).value_or(kMaxTensorBytes + 1);
  if (bytes <= kMaxTensorBytes) return {};
  return type_error(fmt::format("{}: {} [{}] has {} bytes; the byte length limit is {}", what, name(type),
                                joined(shape, ", "), bytes, kMaxTensorBytes));
}

DataType Operand::dataType() const { return held(state_, "Operand::dataType").dataType; }
const std::vector<uint32_t>& Operand::shape() const { return held(state_, "Operand::shape").shape; }

DataType Tensor::dataType() const { return held(state_, "Tensor::dataType").descriptor.dataType; }
const std::vector<uint32_t>& Tensor::shape() const { return held(state_, "Tensor::shape").descriptor.shape; }
bool Tensor::readable() const { return held(state_, "Tensor::readable").descriptor.readable; }
bool Tensor::writable() const { return held(state_, "Tensor::writable").descriptor.writable; }
bool Tensor::constant() const { return held(state_, "Tensor::constant").constant; }

const std::map<std::string, OperandDescriptor>& Graph::inputs() const { return held(state_, "Graph::inputs").inputs; }
const std::map<std::string, OperandDescriptor>& Graph::outputs() const {
  return held(state_, "Graph::outputs").outputs;
}

}  // namespace nnex::ml
