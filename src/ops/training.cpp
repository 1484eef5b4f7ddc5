// Dropout, losses, and the gradient a pass replaces.

#include "ops/training.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/random_bits.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Dropout

Status infer_dropout(InferCall& c) {
  for (size_t port : {1, 2}) NNEX_TRY(need_number(c, port));
  if (const Tensor* ratio = c.has(1) ? c.constant(1) : nullptr; ratio && ratio->count() == 1)
    if (const double r = real_at(*ratio, 0); !(r >= 0 && r <= 1)) return c.error("ratio is {}; needed 0 to 1", r);
  c.result(0, c.dims(0));
  c.result(1, c.dims(0));
  return {};
}

/// Not training: y = x, all kept. Training: each element is dropped with probability `ratio`, the others grow by
/// 1 / (1 - ratio).
template <class T>
Status run_dropout(Call& c) {
  auto x = c.in<T>(0);
  const bool training = c.has(2) && c.in(2).count() > 0 && int_at(c.in(2), 0) != 0;
  const double ratio = c.has(1) && c.in(1).count() > 0 ? real_at(c.in(1), 0) : 0.5;
  if (training && !(ratio >= 0 && ratio <= 1)) return c.fault("ratio is {}; needed 0 to 1", ratio);
  const RandomBits random(c.random, c.attr<DropoutAttrs>().seed);
  const double scale = ratio < 1 ? 1 / (1 - ratio) : 0;
  auto kept = [&](size_t i) { return !training || random.uniform(i) >= ratio; };
  if (c.wants(0)) {
    auto y = c.out<T>(0);
    for (size_t i = 0; i < x.size(); ++i)
      y[i] = !training ? x[i] : kept(i) ? static_cast<T>(static_cast<double>(x[i]) * scale) : T(0);
  }
  if (c.wants(1)) {
    auto mask = c.out<uint8_t>(1);
    for (size_t i = 0; i < mask.size(); ++i) mask[i] = kept(i);
  }
  return {};
}

// ---- Losses over classes: x is [N, C, ...], target [N, ...], weight [C].

Status infer_loss(InferCall& c) {
  const auto& a = c.attr<LossAttrs>();
  if (auto rank = c.rank(0); rank && *rank < 2)
    return c.error("x has {} axes; needed items and classes at least", *rank);
  MaybeDims loss = c.dims(1);
  if (c.dims(0) && c.dims(1)) {
    const Dims &x = *c.dims(0), &target = *c.dims(1);
    if (target.size() + 1 != x.size())
      return c.error("target has {} axes for x of {}; needed {}", target.size(), x.size(), x.size() - 1);
    for (size_t i = 0; i < target.size(); ++i) {
      NNEX_ASSIGN((*loss)[i], meet(c, target[i], x[i == 0 ? 0 : i + 1], fmt::format("extent {} of target", i)));
    }
  }
  if (c.has(2)) {
    NNEX_TRY(need_rank(c, 2, 1));
    if (c.dims(2) && c.dims(0)) NNEX_TRY(meet(c, (*c.dims(2))[0], (*c.dims(0))[1], "extent of weight"));
  }
  c.result(0, a.reduction == LossReduction::none ? std::move(loss) : MaybeDims(Dims{}));
  if (c.outputs() > 1) c.result(1, c.dims(0));
  return {};
}

/// Items of a loss: element (n, d) of the target meets classes at (n * classes + k) * inner + d of x.
struct Items {
  int64_t count = 1, classes = 1, inner = 1;
  explicit Items(const Shape& x) : count(x[0]), classes(x[1]) {
    for (int64_t i = 2; i < x.rank(); ++i) inner *= x[i];
  }
};

/// Reduces -log_prob[target] weight over all items that are not ignored.
template <class T, class F>
Status reduce_loss(Call& c, const Items& items, F log_prob) {
  const auto& a = c.attr<LossAttrs>();
  auto y = c.out<T>(0);
  double sum = 0, weights = 0;
  for (int64_t n = 0; n < items.count; ++n)
    for (int64_t d = 0; d < items.inner; ++d) {
      const int64_t at = n * items.inner + d, target = int_at(c.in(1), at);
      double loss = 0;
      if (!a.ignore || target != *a.ignore) {
        if (target < 0 || target >= items.classes)
          return c.fault("target {} is outside [0, {})", target, items.classes);
        const double weight = c.has(2) ? real_at(c.in(2), target) : 1;
        loss = -log_prob(n, target, d) * weight;
        weights += weight;
      }
      sum += loss;
      if (a.reduction == LossReduction::none) y[static_cast<size_t>(at)] = static_cast<T>(loss);
    }
  if (a.reduction == LossReduction::sum) y[0] = static_cast<T>(sum);
  if (a.reduction == LossReduction::mean) y[0] = static_cast<T>(sum / weights);
  return {};
}

template <class T>
Status run_negative_log_likelihood(Call& c) {
  const Items items(c.shape(0));
  auto x = c.in<T>(0);
  return reduce_loss<T>(c, items, [&](int64_t n, int64_t k, int64_t d) {
    return static_cast<double>(x[static_cast<size_t>((n * items.classes + k) * items.inner + d)]);
  });
}

template <class T>
Status run_softmax_cross_entropy(Call& c) {
  const Items items(c.shape(0));
  auto x = c.in<T>(0);
  auto place = [&](int64_t n, int64_t k, int64_t d) {
    return static_cast<size_t>((n * items.classes + k) * items.inner + d);
  };
  std::vector<double> log_prob(x.begin(), x.end());
  for (int64_t n = 0; n < items.count; ++n)
    for (int64_t d = 0; d < items.inner; ++d) {
      if (items.classes == 0) continue;
      double* const p = log_prob.data() + place(n, 0, d);
      double top = p[0], sum = 0;
      for (int64_t k = 1; k < items.classes; ++k) top = std::fmax(top, p[k * items.inner]);
      for (int64_t k = 0; k < items.classes; ++k) sum += std::exp(p[k * items.inner] - top);
      const double all = top + std::log(sum);
      for (int64_t k = 0; k < items.classes; ++k) p[k * items.inner] -= all;
    }
  if (c.wants(1))
    std::transform(log_prob.begin(), log_prob.end(), c.out<T>(1).begin(), [](double v) { return static_cast<T>(v); });
  if (!c.wants(0)) return {};
  return reduce_loss<T>(c, items, [&](int64_t n, int64_t k, int64_t d) { return log_prob[place(n, k, d)]; });
}

// ---- Gradient

/// Each result has the type of the input it is the derivative by.
Status infer_gradient(InferCall& c) {
  const auto& a = c.attr<GradientAttrs>();
  if (a.xs.size() + a.zs.size() > c.inputs())
    return c.error("xs and zs name {} values; found {} inputs", a.xs.size() + a.zs.size(), c.inputs());
  for (size_t o = 0; o < c.outputs() && o < a.xs.size(); ++o)
    if (c.has(o)) c.result_type(o, c.in(o));
  return {};
}

// ---- Entries

constexpr AttrType kLossFields =
    attrs_of<LossAttrs>({field<&LossAttrs::reduction>("reduction", "What becomes of the losses of all items."),
                         field<&LossAttrs::ignore>("ignore", "Items with this target do not count.")});

constexpr OpRow kTrainingOps[] = {
    {
        .name = "dropout",
        .summary = "x; in training with a part of its elements 0 and the rest grown.",
        .source = "ONNX Dropout-22",
        .inputs = {{"x", kF}, {"ratio", kF, Arity::optional}, {"training", kB, Arity::optional}},
        .outputs = {{"y", same_type_as("x")}, {"mask", DType::boolean, Arity::optional}},
        .attrs = attrs_of<DropoutAttrs>({field<&DropoutAttrs::seed>("seed", "Absent: the session's.")}),
        .infer = infer_dropout,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_dropout<T>(c); }),
        .spelled = {{onnx, "Dropout", {}, 12}, {onnx, "Dropout", {{"ratio", "ratio"}}}},
        .pure = false,
    },
    {
        .name = "negative_log_likelihood_loss",
        .summary = "The negated log-probability of each item's target, weighted.",
        .source = "ONNX NegativeLogLikelihoodLoss-22",
        .inputs = {{"x", kF}, {"target", kIndex}, {"weight", same_type_as("x"), Arity::optional}},
        .outputs = {{"loss", same_type_as("x")}},
        .attrs = kLossFields,
        .infer = infer_loss,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_negative_log_likelihood<T>(c); }),
        .spelled = {{onnx, "NegativeLogLikelihoodLoss", {{"ignore", "ignore_index"}}, 12}},
    },
    {
        .name = "softmax_cross_entropy_loss",
        .summary = "log_softmax over the classes, then negative_log_likelihood_loss.",
        .source = "ONNX SoftmaxCrossEntropyLoss-13",
        .inputs = {{"x", kF}, {"target", kIndex}, {"weight", same_type_as("x"), Arity::optional}},
        .outputs = {{"loss", same_type_as("x")}, {"log_prob", same_type_as("x"), Arity::optional}},
        .attrs = kLossFields,
        .infer = infer_loss,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_softmax_cross_entropy<T>(c); }),
        .spelled = {{onnx, "SoftmaxCrossEntropyLoss", {{"ignore", "ignore_index"}}, 12}},
    },
    {
        .name = "gradient",
        .summary = "The derivatives of y by xs; a pass puts the graph that computes them in its place.",
        .source = "ONNX ai.onnx.preview.training Gradient-1",
        .inputs = {{"x", kA, Arity::variadic}},
        .outputs = {{"dx", TypeRule(kA), Arity::variadic}},
        .attrs =
            attrs_of<GradientAttrs>({field<&GradientAttrs::xs>("xs", "Names of the values to derive by.", required),
                                     field<&GradientAttrs::zs>("zs", "Names of the other inputs of y."),
                                     field<&GradientAttrs::y>("y", "Name of the value derived.", required)}),
        .infer = infer_gradient,
        .spelled = {{onnx, "Gradient", {}, 1, "ai.onnx.preview.training"}},
    },
};
}  // namespace

Status loss_of(Call& c, const float* log_prob) {
  const Items items(c.shape(0));
  return reduce_loss<float>(c, items, [&](int64_t n, int64_t k, int64_t d) {
    return static_cast<double>(log_prob[(n * items.classes + k) * items.inner + d]);
  });
}

std::span<const OpDef> training_ops() { return stored<kTrainingOps>(); }

}  // namespace nnex
