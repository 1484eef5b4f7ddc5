// Causal convolution of sequences that arrive piece by piece.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/words.h"

namespace nnex {
namespace {

enum class CausalActivation : uint8_t { none, silu };
constexpr std::array<std::string_view, 2> enumerators(CausalActivation) { return {"none", "silu"}; }

struct CausalConvAttrs {
  CausalActivation activation = CausalActivation::none;
};

enum : size_t { kCausalX, kCausalFilter, kCausalBias, kCausalPast };

Status infer_causal_conv(InferCall& c) {
  for (size_t i : {kCausalX, kCausalFilter, kCausalPast})
    if (c.has(i)) NNEX_TRY(need_rank(c, i, 3));
  if (c.has(kCausalBias)) NNEX_TRY(need_rank(c, kCausalBias, 1));
  Dims y = c.dims(kCausalX) ? *c.dims(kCausalX) : c.unknowns(3), state = {y[0], y[1], c.unknown()};
  if (c.dims(kCausalFilter)) {
    const Dims& filter = *c.dims(kCausalFilter);
    NNEX_ASSIGN(y[1], meet(c, filter[0], y[1], "channels of filter and x"));
    if (filter[1].is_number() && filter[1].value() != 1)
      return c.error("filter takes {} channels; needed 1", filter[1].value());
    if (filter[2].is_number() && filter[2].value() < 1) return c.error("filter has no taps");
    state[2] = filter[2] - Dim(1);
  }
  if (c.has(kCausalBias) && c.dims(kCausalBias)) {
    NNEX_ASSIGN(y[1], meet(c, c.dims(kCausalBias)->front(), y[1], "elements of bias"));
  }
  if (c.has(kCausalPast) && c.dims(kCausalPast)) {
    const Dims& past = *c.dims(kCausalPast);
    NNEX_ASSIGN(y[0], meet(c, past[0], y[0], "items of past and x"));
    NNEX_ASSIGN(y[1], meet(c, past[1], y[1], "channels of past and x"));
    NNEX_ASSIGN(state[2], meet(c, past[2], state[2], "elements of past"));
  }
  state[0] = y[0], state[1] = y[1];
  c.result(0, std::move(y));
  c.result(1, std::move(state));
  return {};
}

/// y[t] = bias + the sum over k of filter[k] * sequence[t + k], the sequence being past, then x: one chain a result.
struct CausalConv {
  template <class T>
  Status operator()(Call& c) const {
    const Shape& shape = c.shape(kCausalX);
    const int64_t rows = shape[0] * shape[1], channels = shape[1], n = shape[2], taps = c.shape(kCausalFilter)[2];
    const auto before = static_cast<size_t>(taps - 1);
    const T *x = c.in<T>(kCausalX).data(), *filter = c.in<T>(kCausalFilter).data();
    const T* bias = c.has(kCausalBias) ? c.in<T>(kCausalBias).data() : nullptr;
    const T* past = c.has(kCausalPast) ? c.in<T>(kCausalPast).data() : nullptr;
    const bool silu = c.attr<CausalConvAttrs>().activation == CausalActivation::silu;
    std::vector<T> sequence(before + static_cast<size_t>(n)), sums(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      if (past) std::copy_n(past + r * (taps - 1), taps - 1, sequence.begin());
      std::copy_n(x + r * n, n, sequence.begin() + (taps - 1));
      if (c.wants(1)) std::copy_n(sequence.begin() + n, taps - 1, c.out<T>(1).data() + r * (taps - 1));
      if (!c.wants(0)) continue;
      const T* w = filter + r % channels * taps;
      std::fill(sums.begin(), sums.end(), bias ? bias[r % channels] : T{});
      for (int64_t k = 0; k < taps; ++k)
        for (int64_t t = 0; t < n; ++t) sums[static_cast<size_t>(t)] += w[k] * sequence[static_cast<size_t>(t + k)];
      T* y = c.out<T>(0).data() + r * n;
      for (int64_t t = 0; t < n; ++t) {
        const T v = sums[static_cast<size_t>(t)];
        y[t] = silu ? static_cast<T>(static_cast<double>(v) / (1 + std::exp(-static_cast<double>(v)))) : v;
      }
    }
    return {};
  }
};

constexpr Word kActivations[] = {{"swish", "silu"}};
constexpr Codec kActivationWord = {"onnx_activation", [](const AttrValue& v) { return reword(v, kActivations, true); },
                                   [](const AttrValue& v) -> Result<AttrValue> { return v; }};

constexpr OpRow kCausalConvOps[] = {
    {.name = "causal_conv_with_state",
     .summary =
         "A convolution along time of each channel by itself that looks back alone, and what the next piece needs.",
     .source = "ONNX CausalConvWithState-27",
     .inputs = {{.name = "x", .type = kF, .doc = "[batch, channels, time]"},
                {.name = "filter", .type = same_type_as("x"), .doc = "[channels, 1, taps]"},
                {"bias", same_type_as("x"), Arity::optional},
                {.name = "past",
                 .type = same_type_as("x"),
                 .arity = Arity::optional,
                 .doc = "The last taps - 1 elements before x; absent: zeros."}},
     .outputs = {{"y", same_type_as("x")},
                 {.name = "present",
                  .type = same_type_as("x"),
                  .arity = Arity::optional,
                  .doc = "The last taps - 1 elements of past and x."}},
     .attrs = attrs_of<CausalConvAttrs>({field<&CausalConvAttrs::activation>("activation", "What y goes through.")}),
     .infer = infer_causal_conv,
     .reference = typed<float, double>(CausalConv{}),
     .spelled = {{onnx, "CausalConvWithState", {{"activation", "activation", &kActivationWord}}, 27}},
     .work = Work::conv},
};
}  // namespace

std::span<const OpDef> causal_conv_ops() { return stored<kCausalConvOps>(); }

}  // namespace nnex
