// softmax and its relatives.

#include "ops/softmax.h"

#include <cmath>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/reduction.h"
#include "ops/stored.h"

namespace nnex {
namespace {

ReduceRule rule_of(const SoftmaxAttrs& a) { return {true, false, a.to_end}; }

/// Axes must exist; a scalar has none. y as x.
Status infer_softmax(InferCall& c) {
  const auto& a = c.attr<SoftmaxAttrs>();
  if (auto rank = c.rank(0)) {
    if (*rank == 0) return c.error("x is a scalar; needed an axis to sum over");
    NNEX_TRY(reduced_axes(c.op().name, a.axes, *rank, rule_of(a)));
  }
  return same_shape(c);
}

/// Calls f(set of x, elements of y at the same places) for every group of elements summed together.
template <class T, class F>
Status each_group(Call& c, F f) {
  const auto& a = c.attr<SoftmaxAttrs>();
  NNEX_ASSIGN(Reduction r, reduction(c, 0, a.axes, rule_of(a)));
  auto x = c.in<T>(0);
  auto y = c.out<T>(0);
  r.each(x, [&](int64_t, const ElementSet<T>& set) {
    if (set.n == 0) return;
    T* to = y.data() + (set.base - x.data());
    f(set, [&](int64_t i) -> T& { return to[set.place(i)]; });
  });
  return {};
}

/// The maximum; NaN when there is one.
template <class T>
double maximum(const ElementSet<T>& set) {
  T top = set[0];
  for (int64_t i = 1; i < set.n; ++i)
    if (set[i] > top || set[i] != set[i]) top = set[i];
  return static_cast<double>(top);
}

template <class T>
Status run_softmax(Call& c) {
  return each_group<T>(c, [](const ElementSet<T>& set, auto y) {
    const double top = maximum(set);
    auto e = [=](T x) { return std::exp(static_cast<double>(x) - top); };
    const double sum = pairwise_sum<double>(set, 0, set.n, e);
    for (int64_t i = 0; i < set.n; ++i) y(i) = static_cast<T>(e(set[i]) / sum);
  });
}

template <class T>
Status run_log_softmax(Call& c) {
  return each_group<T>(c, [](const ElementSet<T>& set, auto y) {
    const double top = maximum(set);
    const double sum = pairwise_sum<double>(set, 0, set.n, [=](T x) { return std::exp(static_cast<double>(x) - top); });
    const double log_sum = std::log(sum);
    for (int64_t i = 0; i < set.n; ++i) y(i) = static_cast<T>(static_cast<double>(set[i]) - top - log_sum);
  });
}

template <class T>
Status run_hardmax(Call& c) {
  return each_group<T>(c, [](const ElementSet<T>& set, auto y) {
    int64_t best = 0;
    for (int64_t i = 0; i < set.n; ++i) {
      y(i) = T(0);
      if (set[best] == set[best] && (set[i] > set[best] || set[i] != set[i])) best = i;
    }
    y(best) = T(1);
  });
}

constexpr AttrType kSoftmaxFields = attrs_of<SoftmaxAttrs>({
    field<&SoftmaxAttrs::axes>("axes", "Axes summed over together; negative counts from the last."),
    field<&SoftmaxAttrs::to_end>("to_end", "The one axis named, and every later one."),
});

constexpr SpellingRow in_onnx(std::string_view name) { return {onnx, name, {{"axes", "axis", &one_item_list}}, 13}; }
/// Until opset 13 the sum ran over the axis and every later one.
constexpr SpellingRow in_old_onnx(std::string_view name) {
  return {onnx, name, {{"axes", "axis", &one_item_list}}, 1, "", {{"axes", "[1]"}, {"to_end", "true"}}};
}

constexpr OpRow softmax_row(std::string_view name, std::string_view summary, std::string_view source,
                            Reference reference, std::string_view body, List<SpellingRow, 6> spelled) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", kF}};
  op.outputs = {{"y", same_type_as("x")}};
  op.attrs = kSoftmaxFields;
  op.infer = infer_softmax;
  op.reference = reference;
  op.body = body;
  op.spelled = spelled;
  return op;
}

constexpr OpRow kSoftmaxOps[] = {
    in_layout(
        LayoutRole::axes,
        softmax_row(
            "softmax", "Exponentials over the given axes, divided by their sum.",
            "NNEF 1.0.5 softmax; ONNX Softmax-13 (and 1, 11: to_end); WebNN softmax()",
            typed<float, double>([]<class T>(Call& c) -> Status { return run_softmax<T>(c); }),
            "e = exp(x - max_reduce(x, axes = axes, to_end = to_end)); y = e / sum_reduce(e, axes = axes, to_end = "
            "to_end);",
            {{nnef, "softmax", {}, 1, "", {{"axes", "[1]"}}},
             in_onnx("Softmax"),
             in_old_onnx("Softmax"),
             {webnn, "softmax", {{"axes", "axis", &one_item_list}}}})),
    in_layout(
        LayoutRole::axes,
        softmax_row("log_softmax", "The logarithm of softmax, computed without it.", "ONNX LogSoftmax-13 (and 1, 11)",
                    typed<float, double>([]<class T>(Call& c) -> Status { return run_log_softmax<T>(c); }),
                    "s = x - max_reduce(x, axes = axes, to_end = to_end); "
                    "y = s - log(sum_reduce(exp(s), axes = axes, to_end = to_end));",
                    {in_onnx("LogSoftmax"), in_old_onnx("LogSoftmax")})),
    softmax_row("hardmax", "1 at the first maximum over the given axes, else 0.", "ONNX Hardmax-13 (and 1, 11)",
                typed<float, double>([]<class T>(Call& c) -> Status { return run_hardmax<T>(c); }), {},
                {in_onnx("Hardmax"), in_old_onnx("Hardmax")}),
};
}  // namespace

std::span<const OpDef> softmax_ops() { return stored<kSoftmaxOps>(); }

}  // namespace nnex
