#include "ops/softmax.h"

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"

namespace nnex {
namespace {

/// Axes must exist; a scalar has none. y as x.
Status infer_softmax(InferCall& c) {
  const auto& a = c.attr<SoftmaxAttrs>();
  if (auto rank = c.rank(0)) NNEX_TRY(positive_axes(c, a.axes, *rank));
  return same_shape(c);
}

constexpr AttrType kSoftmaxFields = attrs_of<SoftmaxAttrs>({
    field<&SoftmaxAttrs::axes>("axes", "Axes summed over together; negative counts from the last."),
    field<&SoftmaxAttrs::to_end>("to_end", "The one axis named, and every later one."),
});

constexpr OpDef kSoftmaxOps[] = {
    {
        .name = "softmax",
        .summary = "Exponentials over the given axes, divided by their sum.",
        .source = "NNEF 1.0.5 softmax; ONNX Softmax-13 (and 1, 11: to_end); WebNN softmax()",
        .inputs = {{"x", kF}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = kSoftmaxFields,
        .infer = infer_softmax,
        .body = "e = exp(x - max_reduce(x, axes = axes, to_end = to_end)); y = e / sum_reduce(e, axes = axes, to_end = "
                "to_end);",
        .spelled = {{nnef, "softmax"},
                    {onnx, "Softmax", {{"axes", "axis", &one_item_list}}, 13},
                    {onnx, "Softmax", {{"axes", "axis", &one_item_list}}, 1, "", {{"axes", "[1]"}, {"to_end", "true"}}},
                    {webnn, "softmax", {{"axes", "axis", &one_item_list}}}},
    },
};
static_assert(sound(kSoftmaxOps));

}  // namespace

std::span<const OpDef> softmax_ops() { return kSoftmaxOps; }

}  // namespace nnex
