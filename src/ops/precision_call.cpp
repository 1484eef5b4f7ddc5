#include "ops/precision_call.h"

#include <algorithm>

#include "tensor/convert.h"

namespace nnex {

Status keeps_precision(PrecisionCall& c) {
  for (size_t o = 0; o < c.outputs(); ++o) c.result(o, c.bits(0));
  return {};
}

Status widest_precision(PrecisionCall& c) {
  int64_t bits = 0;
  for (size_t i = 0; i < c.inputs(); ++i)
    if (c.has(i)) bits = std::max(bits, c.bits(i));
  c.result(0, bits);
  return {};
}

Status sum_precision(PrecisionCall& c) {
  c.result(0, std::max(c.bits(0), c.bits(1)) + 1);
  return {};
}

Status product_precision(PrecisionCall& c) {
  c.result(0, c.bits(0) + c.bits(1));
  return {};
}

Status select_precision(PrecisionCall& c) {
  c.result(0, c.compatible() ? c.bits(0) : std::max(c.bits(1), c.bits(2)));
  return {};
}

Status clamp_precision(PrecisionCall& c) {
  const Tensor *low = c.constant(1), *high = c.constant(2);
  if (!low || !high || low->count() != 1 || high->count() != 1)
    return c.error("both limits must be constant numbers to know the bits of the result");
  constexpr int64_t kMax = (int64_t{1} << 31) - 1;
  const int64_t a = int_at(*low, 0), b = int_at(*high, 0);
  if (a < -kMax || b > kMax || a >= b)
    return c.error("the limits are {} and {}; needed the first below the second, both within {}", a, b, kMax);
  c.result(0, digits(static_cast<uint64_t>(std::max(std::abs(a), std::abs(b)) + 1)) + 1);
  return {};
}

Status reduced_sum_precision(PrecisionCall& c) {
  const int64_t each = c.out_shape(0).count();
  c.result(0, c.bits(0) + digits(static_cast<uint64_t>(each > 0 ? c.shape(0).count() / each : 0)));
  return {};
}

Status dot_precision(PrecisionCall& c, int64_t terms) {
  for (size_t i = 0; i < 2; ++i)
    if (c.bits(i) > 8) return c.error("operand {} has {} bits; needed at most 8", i, c.bits(i));
  int64_t bits = c.bits(0) + c.bits(1) + digits(static_cast<uint64_t>(terms));
  if (c.has(2)) bits = std::max(bits, c.bits(2)) + 1;
  c.result(0, bits);
  return {};
}

}  // namespace nnex
