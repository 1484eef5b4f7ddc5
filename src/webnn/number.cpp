#include <cmath>
#include <limits>

#include "tensor/convert.h"
#include "webnn/builder.h"

namespace nnex::ml {
namespace {

/// Smallest and largest value of an integer type, as magnitudes on either side of zero.
struct IntRange {
  uint64_t below, above;
};

IntRange range_of(DType type) {
  const int width = bits(type);
  const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  if (is_unsigned_int(type)) return {0, all};
  return {all / 2 + 1, all / 2};
}

/// x without its fraction, within the range, as sign and magnitude; NaN gives 0. The stored cases cut (3.9 is
/// 3), the text rounds to the nearest.
BigInt rounded(double x, IntRange range) {
  if (std::isnan(x)) return {};
  const double magnitude = std::trunc(std::fabs(x));
  const uint64_t max = x < 0 ? range.below : range.above;
  const bool fits = magnitude < 18446744073709551616.0 && static_cast<uint64_t>(magnitude) <= max;
  return {x < 0, fits ? static_cast<uint64_t>(magnitude) : max};
}

BigInt clamped(BigInt x, IntRange range) {
  const uint64_t max = x.negative ? range.below : range.above;
  return {x.negative, x.magnitude < max ? x.magnitude : max};
}

}  // namespace

nnex::Tensor cast_number(DataType type, const Number& value) {
  const DType to = dtype_of(type);
  auto made = nnex::Tensor::make(to, Shape{});
  NNEX_ASSERT(made.ok());
  nnex::Tensor t = std::move(made).value();
  if (is_float(to)) {
    double x = value.number() ? *value.number() : static_cast<double>(value.big_int()->magnitude);
    if (value.big_int() && value.big_int()->negative) x = -x;
    if (to == DType::f32)
      t.mutable_as<float>()[0] = static_cast<float>(x);
    else
      t.mutable_as<f16>()[0] = f16(x);
    return t;
  }
  const IntRange range = range_of(to);
  const BigInt n = value.number() ? rounded(*value.number(), range) : clamped(*value.big_int(), range);
  set_int(t, 0, static_cast<int64_t>(n.negative ? uint64_t{0} - n.magnitude : n.magnitude));
  return t;
}

}  // namespace nnex::ml
