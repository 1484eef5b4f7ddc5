// Windows and filter banks for spectra.

#include <algorithm>
#include <cmath>

#include "ops/answer.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/signal.h"
#include "ops/stored.h"

namespace nnex {
namespace {

/// The extent an integer input names; unknown when only a run knows. Error: a negative one.
Result<Dim> extent_in(InferCall& c, size_t port) {
  NNEX_TRY(need_number(c, port));
  auto v = c.values(port);
  if (!v) return c.unknown();
  if ((*v)[0].is_number() && (*v)[0].value() < 0)
    return c.error("{} is {}; needed 0 or more", c.op().inputs[port].name, (*v)[0].value());
  return (*v)[0];
}

Status need_numbers(const InferCall& c, DType type) {
  if (kN & only(type)) return {};
  return c.error("dtype is {}; needed numbers", name(type));
}

/// The one element of a small input.
Result<double> scalar(const Call& c, size_t port) {
  if (c.in(port).count() != 1)
    return c.fault("{} has {} elements; needed 1", c.op().inputs[port].name, c.in(port).count());
  return real_at(c.in(port), 0);
}

// ---- cosine_window

Status infer_window(InferCall& c) {
  NNEX_TRY(need_numbers(c, c.attr<CosineWindowAttrs>().dtype));
  NNEX_ASSIGN(Dim n, extent_in(c, 0));
  c.result(0, Dims{n});
  return {};
}

/// A symmetric window of one element is 1.
Status run_window(Call& c) {
  const auto& a = c.attr<CosineWindowAttrs>();
  NNEX_TRY(scalar(c, 0));
  const int64_t n = int_at(c.in(0), 0), m = a.periodic ? n : n - 1;
  if (n < 0) return c.fault("length is {}; needed 0 or more", n);
  NNEX_ASSIGN(Tensor * y, c.make(0, a.dtype, Shape{n}));
  for (int64_t i = 0; i < n; ++i) {
    const double turn = 2 * M_PI * static_cast<double>(i) / static_cast<double>(m);
    // In this order those of the standards are exactly 1 in the middle, also as whole numbers.
    set_real(*y, i, m == 0 ? 1 : a.a2 * std::cos(2 * turn) - a.a1 * std::cos(turn) + a.a0);
  }
  return {};
}

// ---- mel_weight_matrix

Status infer_mel(InferCall& c) {
  NNEX_TRY(need_numbers(c, c.attr<MelWeightMatrixAttrs>().dtype));
  NNEX_ASSIGN(Dim bins, extent_in(c, 0));
  NNEX_ASSIGN(Dim length, extent_in(c, 1));
  c.result(0, Dims{floor_div(length, Dim(2)) + Dim(1), bins});
  return {};
}

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

/// Column b rises from edge b to edge b + 1 and falls to edge b + 2. Edges stand evenly on the mel scale, bins + 2
/// steps from low to high, each moved down to a line of the spectrum.
Status run_mel(Call& c) {
  double real[5];
  for (size_t i = 0; i < 5; ++i) {
    NNEX_ASSIGN(real[i], scalar(c, i));
  }
  const int64_t bins = int_at(c.in(0), 0), length = int_at(c.in(1), 0), rate = int_at(c.in(2), 0);
  if (bins < 0 || length < 0) return c.fault("{} bins of {} samples; needed 0 or more", bins, length);
  if (rate < 1) return c.fault("rate is {}; needed at least 1", rate);
  const int64_t lines = length / 2 + 1;
  NNEX_ASSIGN(Tensor * y, c.make(0, c.attr<MelWeightMatrixAttrs>().dtype, Shape{lines, bins}));
  std::fill_n(y->mutable_data(), y->bytes(), std::byte{0});
  const double low = mel_of(real[3]), step = (mel_of(real[4]) - low) / (static_cast<double>(bins) + 2);
  const auto edge = [&](int64_t i) -> double {
    const double hertz = hertz_of(low + static_cast<double>(i) * step);
    return std::floor((static_cast<double>(length) + 1) * hertz / static_cast<double>(rate));
  };
  const auto put = [&](int64_t line, int64_t bin, double v) { set_real(*y, line * bins + bin, v); };
  const auto line_at = [&](double v) {
    return v > 0 ? static_cast<int64_t>(std::min(v, static_cast<double>(lines))) : 0;
  };
  for (int64_t b = 0; b < bins; ++b) {
    const double left = edge(b), top = edge(b + 1), right = edge(b + 2);
    if (!(left <= top && top <= right))
      return c.fault("the edges {}, {} and {} of bin {} do not ascend", left, top, right, b);
    if (left == top && top >= 0 && top < static_cast<double>(lines)) put(static_cast<int64_t>(top), b, 1);
    for (int64_t i = line_at(left); left < top && i < lines && static_cast<double>(i) <= top; ++i)
      put(i, b, (static_cast<double>(i) - left) / (top - left));
    for (int64_t i = line_at(top); i < lines && static_cast<double>(i) < right; ++i)
      put(i, b, (right - static_cast<double>(i)) / (right - top));
  }
  return {};
}

constexpr OpRow kSignalWindowOps[] = {
    {.name = "cosine_window",
     .summary = "a0 - a1 cos(2 pi i / m) + a2 cos(4 pi i / m) with m the length, or one less where not periodic.",
     .source = "ONNX HannWindow-17, HammingWindow-17, BlackmanWindow-17",
     .inputs = {{.name = "length", .type = kIndex, .by_value = true}},
     .outputs = {{"y", type_among(kN, "dtype")}},
     .attrs = attrs_of<CosineWindowAttrs>(
         {field<&CosineWindowAttrs::a0>("a0", "Mean.", required),
          field<&CosineWindowAttrs::a1>("a1", "Of the first cosine.", required),
          field<&CosineWindowAttrs::a2>("a2", "Of the second cosine.", required),
          field<&CosineWindowAttrs::periodic>("periodic", "One period of a longer row; else symmetric."),
          field<&CosineWindowAttrs::dtype>("dtype", "Element type of y.")}),
     .infer = infer_window,
     .reference = any(run_window),
     .spelled = {{onnx,
                  "HannWindow",
                  {{"periodic", "periodic", &int_bool}, {"dtype", "output_datatype", &onnx_dtype}},
                  17,
                  "",
                  {{"a0", "0.5"}, {"a1", "0.5"}, {"a2", "0"}}},
                 {onnx,
                  "HammingWindow",
                  {{"periodic", "periodic", &int_bool}, {"dtype", "output_datatype", &onnx_dtype}},
                  17,
                  "",
                  {{"a0", "0.54347826086956521739"}, {"a1", "0.45652173913043478261"}, {"a2", "0"}}},
                 {onnx,
                  "BlackmanWindow",
                  {{"periodic", "periodic", &int_bool}, {"dtype", "output_datatype", &onnx_dtype}},
                  17,
                  "",
                  {{"a0", "0.42"}, {"a1", "0.5"}, {"a2", "0.08"}}}}},
    {.name = "mel_weight_matrix",
     .summary = "Triangles that sum a spectrum's lines into bins even on the mel scale.",
     .source = "ONNX MelWeightMatrix-17",
     .inputs = {{.name = "bins", .type = kIndex, .by_value = true},
                {.name = "dft_length", .type = kIndex, .by_value = true},
                {.name = "rate", .type = kIndex, .by_value = true, .doc = "Samples a second."},
                {.name = "low", .type = kF, .doc = "Lowest edge in hertz."},
                {.name = "high", .type = kF, .doc = "Highest edge in hertz."}},
     .outputs = {{"y", type_among(kN, "dtype")}},
     .attrs = attrs_of<MelWeightMatrixAttrs>({field<&MelWeightMatrixAttrs::dtype>("dtype", "Element type of y.")}),
     .infer = infer_mel,
     .reference = any(run_mel),
     .spelled = {{onnx, "MelWeightMatrix", {{"dtype", "output_datatype", &onnx_dtype}}, 17}}},
};
}  // namespace

std::span<const OpDef> signal_window_ops() { return stored<kSignalWindowOps>(); }

}  // namespace nnex
