// Operations on each element.

#include "ops/arithmetic.h"
#include "tensor/convert.h"
#include "webnn/rules.h"

namespace nnex::ml {

namespace {

/// Whether low > high once both are cast to the type.
bool crossed(DataType type, const nnex::Tensor& low, const nnex::Tensor& high) {
  if (type == DataType::float32 || type == DataType::float16) return real_at(low, 0) > real_at(high, 0);
  const int64_t a = int_at(low, 0), b = int_at(high, 0);
  return type == DataType::uint64 ? static_cast<uint64_t>(a) > static_cast<uint64_t>(b) : a > b;
}

}  // namespace

Status clamp_rule(Step& step) {
  const DataType type = step.operand("input").dataType;
  NNEX_TRY(step.need_number("minValue"));
  NNEX_TRY(step.need_number("maxValue"));
  if (step.given("minValue") && step.given("maxValue") &&
      crossed(type, cast_number(type, step.number("minValue")), cast_number(type, step.number("maxValue"))))
    return step.fail("minValue is greater than maxValue");
  return {};
}

void import_clamp(Importer& to) {
  const Step& step = to.step();
  const auto limit = [&](std::string_view name) {
    if (!step.given(name)) return ValueId{};
    return to.constant(cast_number(step.operand("input").dataType, step.number(name)));
  };
  const ValueId low = limit("minValue"), high = limit("maxValue");
  to.result(to("clamp", {to.in("input"), low, high}, ClampAttrs{}));
}

}  // namespace nnex::ml
