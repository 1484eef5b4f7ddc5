// One step of an optimiser, for one tensor.

#include <cmath>

#include "base/failure.h"
#include "ops/infer_call.h"
#include "ops/put.h"
#include "ops/stored.h"
#include "ops/training.h"

namespace nnex {
namespace {

enum : size_t {
  kOptimizerRate,
  kOptimizerStep,
  kOptimizerX,
  kOptimizerGradient,
  kOptimizerFirst,
  kOptimizerSecond
};  // ports

/// State and gradient are as x; so are all results.
Status infer_step(InferCall& c) {
  MaybeDims x = c.dims(kOptimizerX);
  for (size_t i = kOptimizerGradient; i < c.inputs(); ++i) {
    if (!c.dims(i)) continue;
    if (!x) x = c.dims(i);
    if (c.dims(i)->size() != x->size())
      return c.error("{} has shape {}, x {}; needed the same", c.op().inputs[i].name, text(c.dims(i)), text(x));
    for (size_t a = 0; a < x->size(); ++a) {
      NNEX_ASSIGN((*x)[a], meet(c, (*c.dims(i))[a], (*x)[a], fmt::format("extent {} of {}", a, c.op().inputs[i].name)));
    }
  }
  for (size_t o = 0; o < c.outputs(); ++o) c.result(o, x);
  return {};
}

/// Calls next(x, gradient, state..., new x, new state...) in double for every element and puts the results.
template <class F>
Status each_element(Call& c, size_t states, F next) {
  if (c.in(kOptimizerRate).count() != 1 || c.in(kOptimizerStep).count() != 1)
    return c.fault("rate and step are one number each");
  Tensor in[4], out[3];
  for (size_t i = 0; i < states + 2; ++i) {
    NNEX_ASSIGN(in[i], convert(c.in(kOptimizerX + i), DType::f64));
    if (!(in[i].shape() == in[0].shape())) return c.fault("x and its state differ in shape");
  }
  for (size_t o = 0; o <= states; ++o) {
    NNEX_ASSIGN(out[o], Tensor::make(DType::f64, in[0].shape()));
  }
  for (size_t i = 0; i < static_cast<size_t>(in[0].count()); ++i) {
    double state[3] = {in[0].as<double>()[i], in[2].as<double>()[i], states > 1 ? in[3].as<double>()[i] : 0};
    next(state, in[1].as<double>()[i]);
    for (size_t o = 0; o <= states; ++o) out[o].mutable_as<double>()[i] = state[o];
  }
  for (size_t o = 0; o <= states; ++o) NNEX_TRY(put(c, o, out[o], c.in(kOptimizerX).dtype(), in[0].shape()));
  return {};
}

double rate_of(const Call& c) { return c.in(kOptimizerRate).count() ? real_at(c.in(kOptimizerRate), 0) : 0; }
double step_of(const Call& c) {
  return c.in(kOptimizerStep).count() ? static_cast<double>(int_at(c.in(kOptimizerStep), 0)) : 0;
}

/// h' = h + g^2; x' = x - r g / (sqrt(h') + epsilon), r = rate / (1 + step decay), g = gradient + norm x.
Status run_adagrad(Call& c) {
  const auto& a = c.attr<AdagradAttrs>();
  const double rate = rate_of(c) / (1 + step_of(c) * a.decay);
  return each_element(c, 1, [&](double* s, double gradient) {
    const double g = a.norm * s[0] + gradient;
    s[1] += g * g;
    s[0] -= rate * g / (std::sqrt(s[1]) + a.epsilon);
  });
}

/// v' = alpha v + (1 - alpha) g; h' = beta h + (1 - beta) g^2; x' = (1 - norm_post) (x - r v' / (sqrt(h') + epsilon)),
/// r corrected for the start of v and h at step > 0.
Status run_adam(Call& c) {
  const auto& a = c.attr<AdamAttrs>();
  const double step = step_of(c);
  double rate = rate_of(c);
  if (step > 0) rate *= std::sqrt(1 - std::pow(a.beta, step)) / (1 - std::pow(a.alpha, step));
  return each_element(c, 2, [&](double* s, double gradient) {
    const double g = a.norm * s[0] + gradient;
    s[1] = a.alpha * s[1] + (1 - a.alpha) * g;
    s[2] = a.beta * s[2] + (1 - a.beta) * g * g;
    s[0] = (1 - a.norm_post) * (s[0] - rate * s[1] / (std::sqrt(s[2]) + a.epsilon));
  });
}

/// v' = alpha v + beta g, beta as 1 in the first step; x' = x - rate v', or with Nesterov x - rate (g + alpha v').
Status run_momentum(Call& c) {
  const auto& a = c.attr<MomentumAttrs>();
  const double rate = rate_of(c), beta = step_of(c) > 0 ? a.beta : 1;
  return each_element(c, 1, [&](double* s, double gradient) {
    const double g = a.norm * s[0] + gradient;
    s[1] = a.alpha * s[1] + beta * g;
    s[0] -= rate * (a.nesterov ? g + a.alpha * s[1] : s[1]);
  });
}

// ---- Codecs

Result<AttrValue> nesterov_from_mode(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (s && (*s == "nesterov" || *s == "standard")) return AttrValue(*s == "nesterov");
  return failure(Code::invalid_model, "found {}; needed 'standard' or 'nesterov'", text(v));
}
Result<AttrValue> mode_from_nesterov(const AttrValue& v) {
  auto* b = std::get_if<bool>(&v);
  return AttrValue(std::string(b && *b ? "nesterov" : "standard"));
}
const Codec kMode = {"momentum_mode", nesterov_from_mode, mode_from_nesterov};

// ---- Entries

constexpr Types kReals = types(DType::f32, DType::f64);
constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr Port as_x(std::string_view name) { return {name, same_type_as("x")}; }

constexpr OpRow kOptimizerOps[] = {
    {
        .name = "adagrad",
        .summary = "One step of Adagrad.",
        .source = "ONNX ai.onnx.preview.training Adagrad-1",
        .inputs = {{"rate", kReals}, {"step", kI64}, {"x", kReals}, as_x("g"), as_x("h")},
        .outputs = {as_x("x2"), as_x("h2")},
        .attrs = attrs_of<AdagradAttrs>({field<&AdagradAttrs::decay>("decay", "How the rate falls with the step."),
                                         field<&AdagradAttrs::epsilon>("epsilon", "Added to the divisor."),
                                         field<&AdagradAttrs::norm>("norm", "Weight of x in the gradient.")}),
        .infer = infer_step,
        .reference = any(run_adagrad),
        .spelled = {{onnx, "Adagrad", {{"decay", "decay_factor"}, {"norm", "norm_coefficient"}}, 1, kTraining}},
    },
    {
        .name = "adam",
        .summary = "One step of Adam.",
        .source = "ONNX ai.onnx.preview.training Adam-1",
        .inputs = {{"rate", kReals}, {"step", kI64}, {"x", kReals}, as_x("g"), as_x("v"), as_x("h")},
        .outputs = {as_x("x2"), as_x("v2"), as_x("h2")},
        .attrs =
            attrs_of<AdamAttrs>({field<&AdamAttrs::alpha>("alpha", "Weight of the old first moment."),
                                 field<&AdamAttrs::beta>("beta", "Weight of the old second moment."),
                                 field<&AdamAttrs::epsilon>("epsilon", "Added to the divisor."),
                                 field<&AdamAttrs::norm>("norm", "Weight of x in the gradient."),
                                 field<&AdamAttrs::norm_post>("norm_post", "Part of x taken away after the step.")}),
        .infer = infer_step,
        .reference = any(run_adam),
        .spelled =
            {{onnx, "Adam", {{"norm", "norm_coefficient"}, {"norm_post", "norm_coefficient_post"}}, 1, kTraining}},
    },
    {
        .name = "momentum",
        .summary = "One step of gradient descent with momentum.",
        .source = "ONNX ai.onnx.preview.training Momentum-1",
        .inputs = {{"rate", kReals}, {"step", kI64}, {"x", kReals}, as_x("g"), as_x("v")},
        .outputs = {as_x("x2"), as_x("v2")},
        .attrs = attrs_of<MomentumAttrs>(
            {field<&MomentumAttrs::alpha>("alpha", "Weight of the old momentum.", required),
             field<&MomentumAttrs::beta>("beta", "Weight of the gradient after the first step.", required),
             field<&MomentumAttrs::norm>("norm", "Weight of x in the gradient.", required),
             field<&MomentumAttrs::nesterov>("nesterov", "Look ahead by the new momentum.")}),
        .infer = infer_step,
        .reference = any(run_momentum),
        .spelled = {{onnx, "Momentum", {{"norm", "norm_coefficient"}, {"nesterov", "mode", &kMode}}, 1, kTraining}},
    },
};
}  // namespace

std::span<const OpDef> optimizer_ops() { return stored<kOptimizerOps>(); }

}  // namespace nnex
