#include "nnex/dtype.h"

#include <string>

#include "base/checked.h"
#include "tensor/dim.h"

namespace nnex {
namespace {

struct Row {
  DType type;
  std::string_view name, long_name;
  int bits;
};

constexpr Row kRows[] = {
    {DType::none, "none", "", 0},
    {DType::f64, "f64", "float64", 64},
    {DType::f32, "f32", "float32", 32},
    {DType::f16, "f16", "float16", 16},
    {DType::bf16, "bf16", "bfloat16", 16},
    {DType::f8e4m3fn, "f8e4m3fn", "float8e4m3fn", 8},
    {DType::f8e4m3fnuz, "f8e4m3fnuz", "float8e4m3fnuz", 8},
    {DType::f8e5m2, "f8e5m2", "float8e5m2", 8},
    {DType::f8e5m2fnuz, "f8e5m2fnuz", "float8e5m2fnuz", 8},
    {DType::f8e8m0, "f8e8m0", "float8e8m0", 8},
    {DType::f4e2m1, "f4e2m1", "float4e2m1", 4},
    {DType::i64, "i64", "int64", 64},
    {DType::i32, "i32", "int32", 32},
    {DType::i16, "i16", "int16", 16},
    {DType::i8, "i8", "int8", 8},
    {DType::i4, "i4", "int4", 4},
    {DType::i2, "i2", "int2", 2},
    {DType::u64, "u64", "uint64", 64},
    {DType::u32, "u32", "uint32", 32},
    {DType::u16, "u16", "uint16", 16},
    {DType::u8, "u8", "uint8", 8},
    {DType::u4, "u4", "uint4", 4},
    {DType::u2, "u2", "uint2", 2},
    {DType::boolean, "bool", "boolean", 8},
    {DType::c64, "c64", "complex64", 64},
    {DType::c128, "c128", "complex128", 128},
    {DType::str, "str", "string", 8 * sizeof(std::string)},
    {kDimType, "dim", "", 8 * sizeof(Dim)},
};
static_assert(std::size(kRows) == static_cast<size_t>(kDTypes));

/// The row of a type; that of none for a number that is no type.
const Row& row(DType type) { return kRows[static_cast<int>(type) < kDTypes ? static_cast<size_t>(type) : 0]; }

}  // namespace

std::string_view name(DType type) { return row(type).name; }
int bits(DType type) { return row(type).bits; }

std::optional<DType> dtype_named(std::string_view text) {
  for (const Row& row : kRows)
    if (!text.empty() && (row.name == text || row.long_name == text)) return row.type;
  return std::nullopt;
}

std::optional<int64_t> bytes_for(DType type, int64_t count) {
  auto all = checked_mul(count, bits(type));
  if (!all || *all < 0 || *all > INT64_MAX - 7) return std::nullopt;
  return (*all + 7) / 8;
}

}  // namespace nnex
