#include "nnex/tensor_file.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "api/csv.h"
#include "api/json_tensor.h"
#include "api/numpy.h"
#include "api/value_type.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "standards/nnef/read_tensor.h"
#include "standards/onnx/read_proto.h"
#include "standards/onnx/write_data.h"
#include "tensor/nesting.h"

namespace nnex {
namespace {

struct Ending {
  std::string_view text;
  TensorFormat format;
};
constexpr std::array<Ending, 6> kEndings = {{{".npy", TensorFormat::npy},
                                             {".npz", TensorFormat::npz},
                                             {".pb", TensorFormat::onnx},
                                             {".dat", TensorFormat::nnef},
                                             {".json", TensorFormat::json},
                                             {".csv", TensorFormat::csv}}};

Result<Tensor> read_onnx(std::string_view bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  NNEX_ASSIGN(auto v, onnx_format::read_value(*owner, Type::tensor(DType::none), {owner, nullptr}));
  if (v.value.tensor()) return std::move(*v.value.tensor());
  return failure(Code::unreadable, "found a {}; needed a tensor", v.value.text());
}

Result<Tensor> read_nnef(std::string_view bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  NNEX_ASSIGN(const nnef_format::TensorFile file, nnef_format::read_tensor_file(*owner, owner));
  return file.header.quantized() ? nnef_format::real_items(file) : nnef_format::items(file);
}

Result<Tensor> only_array(std::string_view bytes) {
  NNEX_ASSIGN(auto arrays, read_npz("", bytes));
  if (arrays.size() == 1) return std::move(arrays.begin()->second);
  return failure(Code::invalid_argument, "found {} arrays; needed one", arrays.size());
}

Result<Tensor> read_json(std::string_view bytes, DType type) {
  NNEX_ASSIGN(const auto lists, parse_json(bytes));
  return tensor_of(lists, type, false);
}

Result<Tensor> read_table(std::string_view bytes, DType type) {
  PortInfo port;
  port.dtype = type;
  return read_csv(bytes, port, false);
}

/// Of a format that tells its elements' type.
Result<Tensor> typed(Result<Tensor> t, DType type) {
  if (!t.ok() || type == DType::none || t->dtype() == type) return t;
  return failure(Code::invalid_argument, "found {}; needed elements of {}", Value(*t).text(), name(type));
}

Error tensors_alone(std::string_view what) {
  return failure(Code::unsupported, "found {}; a file of this format holds tensors alone: needed .pb or .json", what);
}

Error unknown_ending(std::string_view what, const std::string& path) {
  return failure(Code::invalid_argument,
                 "cannot {} '{}': needed a name that ends in .npy, .npz, .pb, .dat, .json or .csv", what, path);
}

}  // namespace

std::optional<TensorFormat> tensor_format_of(std::string_view path) {
  for (const Ending& e : kEndings)
    if (has_ending(path, e.text)) return e.format;
  return std::nullopt;
}

Result<Tensor> tensor_from_bytes(TensorFormat format, std::string_view bytes, DType type) {
  return guarded([&]() -> Result<Tensor> {
    switch (format) {
      case TensorFormat::npy:
        return typed(read_npy(bytes), type);
      case TensorFormat::npz:
        return typed(only_array(bytes), type);
      case TensorFormat::onnx:
        return typed(read_onnx(bytes), type);
      case TensorFormat::nnef:
        return typed(read_nnef(bytes), type);
      case TensorFormat::json:
        return read_json(bytes, type);
      case TensorFormat::csv:
        return read_table(bytes, type);
    }
    return Error(Code::invalid_argument, "no such format of tensors");
  });
}

Result<Tensor> read_tensor(const std::string& path, DType type) {
  const auto format = tensor_format_of(path);
  if (!format) return unknown_ending("read", path);
  NNEX_ASSIGN(const MappedFile file, MappedFile::open(path, MapPolicy::never));
  auto t = tensor_from_bytes(*format, file.bytes(), type);
  if (!t.ok()) return std::move(t).error().at(path);
  return t;
}

Result<std::map<std::string, Tensor>> read_tensors(const std::string& path, int64_t archive_limit,
                                                   int64_t archive_ratio) {
  return guarded([&]() -> Result<std::map<std::string, Tensor>> {
    NNEX_ASSIGN(const ContainerLimits limits, npz_limits(archive_limit, archive_ratio));
    NNEX_ASSIGN(const MappedFile file, MappedFile::open(path, MapPolicy::never));
    return read_npz(path, file.bytes(), limits);
  });
}

namespace {

/// JSON as a file. Error: text in it is no UTF-8, which other formats hold.
Result<std::string> json_text(const nlohmann::ordered_json& json, std::string_view name) {
  try {
    return json.dump() + "\n";
  } catch (const nlohmann::json::type_error&) {
    return failure(Code::invalid_argument, "'{}' holds text that is no UTF-8, which JSON cannot hold; .pb can", name);
  }
}

}  // namespace

Result<std::string> tensor_bytes(const Tensor& t, TensorFormat format, std::string_view name) {
  return guarded([&]() -> Result<std::string> {
    if (!t.data() && t.count() > 0) return failure(Code::invalid_argument, "'{}' is a tensor without memory", name);
    switch (format) {
      case TensorFormat::npy:
        return npy_bytes(t, name);
      case TensorFormat::npz:
        return npz_bytes({{std::string(name), t}});
      case TensorFormat::onnx:
        return onnx_format::write_tensor(t, std::string(name));
      case TensorFormat::nnef: {
        NNEX_ASSIGN(const nnef_format::TensorBytes file, nnef_format::write_tensor_file(t));
        return file.joined();
      }
      case TensorFormat::json: {
        NNEX_ASSIGN(const auto lists, lists_of(t));
        return json_text(lists, name);
      }
      case TensorFormat::csv:
        return csv_text(t);
    }
    return Error(Code::invalid_argument, "no such format of tensors");
  });
}

Status write_tensor(const std::string& path, const Tensor& t, std::string_view name, Existing existing) {
  const auto format = tensor_format_of(path);
  if (!format) return unknown_ending("save to", path);
  if (*format == TensorFormat::nnef) {  // in two pieces: its items may be many
    NNEX_ASSIGN(const nnef_format::TensorBytes file, nnef_format::write_tensor_file(t));
    NNEX_ASSIGN(FileWriter writer, FileWriter::create(path, existing));
    NNEX_TRY(writer.write({file.header.data(), file.header.size()}));
    NNEX_TRY(writer.write(file.data));
    return writer.commit();
  }
  NNEX_ASSIGN(const std::string bytes, tensor_bytes(t, *format, name));
  return write_file(path, bytes, existing);
}

Result<Value> value_from_bytes(TensorFormat format, std::string_view bytes, std::string_view type) {
  return guarded([&]() -> Result<Value> {
    NNEX_ASSIGN(const Type wanted, value_type(type));
    if (format == TensorFormat::onnx) {
      auto owner = std::make_shared<const std::string>(bytes);
      NNEX_ASSIGN(auto v, onnx_format::read_value(*owner, wanted, {owner, nullptr}));
      return std::move(v.value);
    }
    if (format == TensorFormat::json) {
      NNEX_ASSIGN(const auto json, parse_json(bytes));
      return value_of(json, wanted, false);
    }
    if (!wanted.is_tensor() && wanted.kind != Kind::unknown)
      return Error(Code::invalid_argument, tensors_alone(wanted.text()).message());
    const bool table = format == TensorFormat::csv && wanted.is_tensor();
    NNEX_ASSIGN(Tensor t, tensor_from_bytes(format, bytes, table ? wanted.dtype : DType::none));
    return Value(std::move(t));
  });
}

Result<Value> read_value(const std::string& path, std::string_view type) {
  const auto format = tensor_format_of(path);
  if (!format) return unknown_ending("read", path);
  NNEX_ASSIGN(const MappedFile file, MappedFile::open(path, MapPolicy::never));
  auto v = value_from_bytes(*format, file.bytes(), type);
  if (!v.ok()) return std::move(v).error().at(path);
  return v;
}

Result<std::string> value_bytes(const Value& v, TensorFormat format, std::string_view name) {
  if (v.tensor()) return tensor_bytes(*v.tensor(), format, name);
  return guarded([&]() -> Result<std::string> {
    NNEX_TRY(check_nesting(v));
    if (format == TensorFormat::onnx) return onnx_format::write_value(v, name);
    if (format != TensorFormat::json) return tensors_alone(fmt::format("{} '{}'", v.text(), name));
    NNEX_ASSIGN(const auto json, json_of(v));
    return json_text(json, name);
  });
}

Status write_value(const std::string& path, const Value& v, std::string_view name, Existing existing) {
  if (v.tensor()) return write_tensor(path, *v.tensor(), name, existing);
  const auto format = tensor_format_of(path);
  if (!format) return unknown_ending("save to", path);
  NNEX_ASSIGN(const std::string bytes, value_bytes(v, *format, name));
  return write_file(path, bytes, existing);
}

Status write_tensors(const std::string& path, std::span<const NamedTensor> tensors, Existing existing) {
  if (tensor_format_of(path) != TensorFormat::npz)
    return failure(Code::invalid_argument, "cannot save several tensors to '{}': needed a name that ends in .npz",
                   path);
  std::vector<std::pair<std::string, Tensor>> arrays;
  std::set<std::string_view> names;
  for (const NamedTensor& t : tensors) {
    if (!names.insert(t.name).second) return failure(Code::invalid_argument, "found the name '{}' twice", t.name);
    arrays.emplace_back(t.name, t.tensor);
  }
  NNEX_ASSIGN(const std::string bytes, npz_bytes(arrays));
  return write_file(path, bytes, existing);
}

}  // namespace nnex
