// Operations on each element, and matrix products.

#include <algorithm>

#include "base/try.h"
#include "ops/arithmetic.h"
#include "tensor/convert.h"
#include "webnn/rules.h"

namespace nnex::ml {

Status same_shape_rule(Step& step) {
  step.out(step.shape(step.method().params[0].name));
  return {};
}

/// All positional operands broadcast together.
Status broadcast_rule(Step& step) {
  Ints all;
  for (const Param& p : step.method().params) {
    const Ints shape = step.shape(p.name);
    const auto both = broadcast(all, shape);
    if (!both)
      return step.fail("{} of shape [{}] does not broadcast to [{}]", p.name, fmt::join(shape, ","),
                       fmt::join(all, ","));
    all = *both;
  }
  step.out(all);
  return {};
}

Status cast_rule(Step& step) {
  step.out(step.data_type("dataType"), step.shape("input"));
  return {};
}

// ---- clamp

namespace {

/// Whether low > high once both are cast to the type.
bool crossed(DataType type, const nnex::Tensor& low, const nnex::Tensor& high) {
  if (type == DataType::float32 || type == DataType::float16) return real_at(low, 0) > real_at(high, 0);
  const int64_t a = int_at(low, 0), b = int_at(high, 0);
  return type == DataType::uint64 ? static_cast<uint64_t>(a) > static_cast<uint64_t>(b) : a > b;
}

}  // namespace

/// A BigInt limit is for 64-bit integers alone: the tests say so, the text casts.
Status clamp_rule(Step& step) {
  const DataType type = step.operand("input").dataType;
  for (std::string_view name : {"minValue", "maxValue"})
    if (step.given(name) && step.number(name).big_int() && type != DataType::int64 && type != DataType::uint64)
      return step.fail("{} is a BigInt; the input is {}", name, ml::name(type));
  if (step.given("minValue") && step.given("maxValue") &&
      crossed(type, cast_number(type, step.number("minValue")), cast_number(type, step.number("maxValue"))))
    return step.fail("minValue is greater than maxValue");
  step.out(step.shape("input"));
  return {};
}

nnex::Status import_clamp(Importer& to) {
  const Step& step = to.step();
  const auto limit = [&](std::string_view name) {
    if (!step.given(name)) return ValueId{};
    return to.constant(cast_number(step.operand("input").dataType, step.number(name)));
  };
  const ValueId low = limit("minValue"), high = limit("maxValue");
  to.result(to("clamp", {to.in("input"), low, high}, ClampAttrs{}));
  return {};
}

// ---- Products

Status gemm_rule(Step& step) {
  Ints a = step.shape("a"), b = step.shape("b");
  if (step.flag("aTranspose")) std::swap(a[0], a[1]);
  if (step.flag("bTranspose")) std::swap(b[0], b[1]);
  if (a[1] != b[0]) return step.fail("a has {} columns; b has {} rows", a[1], b[0]);
  const Ints out = {a[0], b[1]};
  if (step.given("c") && broadcast(step.shape("c"), out) != out)
    return step.fail("c of shape [{}] does not broadcast to [{}]", fmt::join(step.shape("c"), ","),
                     fmt::join(out, ","));
  step.out(out);
  return {};
}

Status matmul_rule(Step& step) {
  Ints a = step.shape("a"), b = step.shape("b");
  const int64_t rows = a[a.size() - 2], columns = b.back();
  if (a.back() != b[b.size() - 2]) return step.fail("a has {} columns; b has {} rows", a.back(), b[b.size() - 2]);
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  auto batch = broadcast(a, b);
  if (!batch)
    return step.fail("batches [{}] of a and [{}] of b do not broadcast", fmt::join(a, ","), fmt::join(b, ","));
  batch->push_back(rows);
  batch->push_back(columns);
  step.out(*batch);
  return {};
}

}  // namespace nnex::ml
