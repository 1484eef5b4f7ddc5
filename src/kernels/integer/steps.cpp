#include "kernels/integer/steps.h"

#include <limits>

#include "ops/activation.h"
#include "tensor/convert.h"

namespace nnex::kernels {
namespace {

constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = std::numeric_limits<int32_t>::max();

int64_t number_of(const OpDef& op, const void* attrs, std::string_view field) {
  return std::get<int64_t>(op.attrs.find(field)->get(attrs));
}

/// The greatest number of that precision.
std::optional<int32_t> max_of(const OpDef& op, const void* attrs) {
  const int64_t precision = number_of(op, attrs, "precision");
  if (precision < 1 || precision > 32) return std::nullopt;
  return static_cast<int32_t>((int64_t{1} << (precision - 1)) - 1);
}

bool clip(const OpDef& op, const void* attrs, IntSteps& steps) {
  const auto max = max_of(op, attrs);
  if (max) steps.clamp(-*max, *max);
  return max.has_value();
}

bool right_shift(const OpDef& op, const void* attrs, IntSteps& steps) {
  const auto max = max_of(op, attrs);
  const int64_t bits = number_of(op, attrs, "shift_bit");
  if (!max || bits < 1 || bits > 32) return false;
  steps.shift_right(static_cast<int32_t>(bits));
  steps.clamp(-*max, *max);
  return true;
}

/// x * 2^bits within the limits: what is out of them already before the shift is clamped first, so that int32 holds it.
bool left_shift(const OpDef& op, const void* attrs, IntSteps& steps) {
  const auto max = max_of(op, attrs);
  const int64_t bits = number_of(op, attrs, "shift_bit");
  if (!max || bits < 1 || bits > 30) return false;
  const int64_t beyond = (int64_t{*max} >> bits) + 1;
  if ((beyond << bits) > kMax) return false;
  steps.clamp(static_cast<int32_t>(-beyond), static_cast<int32_t>(beyond));
  steps.multiply(int32_t{1} << bits);
  steps.clamp(-*max, *max);
  return true;
}

bool clamp(const void* /*attrs*/, std::span<const Operand> in, IntSteps& steps) {
  int64_t limits[2] = {kMin, kMax};
  for (size_t i = 0; i < 2; ++i) {
    if (i + 1 >= in.size() || !in[i + 1].given()) continue;
    const Tensor* t = in[i + 1].constant;
    if (!t || t->count() != 1 || t->dtype() != DType::i32) return false;
    limits[i] = int_at(*t, 0);
  }
  if (limits[0] > limits[1]) return false;
  steps.clamp(static_cast<int32_t>(limits[0]), static_cast<int32_t>(limits[1]));
  return true;
}

}  // namespace

std::optional<simd::IntStepKind> int_binary(std::string_view op) {
  constexpr struct {
    std::string_view op;
    simd::IntStepKind kind;
  } kRows[] = {{"add", simd::IntStepKind::add},
               {"sub", simd::IntStepKind::subtract},
               {"mul", simd::IntStepKind::multiply},
               {"max", simd::IntStepKind::maximum},
               {"min", simd::IntStepKind::minimum}};
  for (const auto& row : kRows)
    if (row.op == op) return row.kind;
  return std::nullopt;
}

bool int_unary(const OpDef& op, const void* attrs, std::span<const Operand> in, IntSteps& steps) {
  if (op.name == "relu") return steps.clamp(0, kMax), true;
  if (op.name == "neg") return steps.multiply(-1), true;
  if (op.name == "clamp") return clamp(attrs, in, steps);
  if (op.name == "cvm_clip") return clip(op, attrs, steps);
  if (op.name == "cvm_right_shift") return right_shift(op, attrs, steps);
  if (op.name == "cvm_left_shift") return left_shift(op, attrs, steps);
  return false;
}

bool int_with_number(simd::IntStepKind kind, int64_t number, IntSteps& steps) {
  const auto n = static_cast<int32_t>(number);
  switch (kind) {
    case simd::IntStepKind::multiply:
      return steps.multiply(n), true;
    case simd::IntStepKind::maximum:
      return steps.clamp(n, kMax), true;
    case simd::IntStepKind::minimum:
      return steps.clamp(kMin, n), true;
    default:
      return false;
  }
}

}  // namespace nnex::kernels
