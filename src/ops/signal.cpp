// Spectra. Complex numbers are a last axis of 2, real ones a last axis of 1.

#include "ops/signal.h"

#include <algorithm>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/fft.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

/// The number in a by-value input; nothing when it is absent.
std::optional<Dim> number_in(InferCall& c, size_t port, Dim otherwise) {
  if (!c.has(port)) return otherwise;
  auto v = c.values(port);
  if (!v || v->size() != 1) return std::nullopt;
  return (*v)[0];
}

// ---- dft

Status check_components(const InferCall& c, const Dim& last, bool real_only, std::string_view what) {
  if (!last.is_number()) return {};
  if (last.value() != 1 && last.value() != 2)
    return c.error("the last axis of {} has extent {}; needed 1 (real) or 2 (complex)", what, last.value());
  if (real_only && last.value() != 1) return c.error("onesided needs a real {}; its last axis has extent 2", what);
  return {};
}

Status infer_dft(InferCall& c) {
  const auto& a = c.attr<DftAttrs>();
  for (size_t port : {1, 2}) NNEX_TRY(need_number(c, port));
  if (!c.dims(0)) {
    c.result(0, MaybeDims{});
    return {};
  }
  Dims d = *c.dims(0);
  const auto rank = static_cast<int64_t>(d.size());
  if (rank < 2) return c.error("x has {} axes; needed at least 2", rank);
  NNEX_TRY(check_components(c, d.back(), a.onesided && !a.inverse, "x"));
  const auto axis = number_in(c, 2, Dim(-2));
  if (!axis || !axis->is_number()) {
    Dims out = c.unknowns(rank);
    out.back() = Dim(a.inverse && a.onesided ? 1 : 2);
    c.result(0, std::move(out));
    return {};
  }
  NNEX_ASSIGN(int64_t at, positive_axis(c, axis->value(), rank));
  if (at == rank - 1) return c.error("axis names the last axis, which holds real and imaginary parts");
  Dim& extent = d[static_cast<size_t>(at)];
  const Dim usual = a.inverse && a.onesided ? (extent - Dim(1)) * Dim(2) : extent;
  const auto length = number_in(c, 1, usual);
  if (length && length->is_number() && length->value() < 1 && (c.has(1) || (a.inverse && a.onesided)))
    return c.error("length is {}; needed at least 1", length->value());
  if (!length)
    extent = c.unknown();
  else
    extent = a.onesided && !a.inverse ? floor_div(*length, Dim(2)) + Dim(1) : *length;
  d.back() = Dim(a.inverse && a.onesided ? 1 : 2);
  c.result(0, std::move(d));
  return {};
}

/// Element t of a strided row of numbers, `parts` (1 or 2) numbers each.
template <class T>
Complex load(const T* row, int64_t stride, int64_t parts, int64_t t) {
  const T* at = row + t * stride;
  return {static_cast<double>(at[0]), parts == 2 ? static_cast<double>(at[1]) : 0.0};
}

/// One axis of a dense tensor [outer, extent, inner, parts].
struct Layout {
  int64_t outer = 1, extent = 1, inner = 1, parts = 1;
  Layout(const Shape& s, int64_t axis) : extent(s[axis]), parts(s[s.rank() - 1]) {
    for (int64_t i = 0; i < axis; ++i) outer *= s[i];
    for (int64_t i = axis + 1; i + 1 < s.rank(); ++i) inner *= s[i];
  }
  int64_t stride() const { return inner * parts; }
};

template <class T>
struct Dft {
  Layout x, y;
  const T* from;
  T* to;
  bool inverse, real_out;
  int64_t length;

  /// The row's numbers, cut or followed by zeros; for an inverse conjugated, its missing half mirrored.
  void read(const T* row, Complex* wave) const {
    const int64_t own = std::min(real_out ? length / 2 + 1 : length, x.extent);
    for (int64_t t = 0; t < own; ++t) {
      wave[t] = load(row, x.stride(), x.parts, t);
      if (inverse) wave[t].im = -wave[t].im;
    }
    std::fill(wave + own, wave + length, Complex{});
    if (!real_out) return;
    wave[0].im = 0;
    for (int64_t t = 1; t < length - t; ++t) wave[length - t] = {wave[t].re, -wave[t].im};
    if (length % 2 == 0) wave[length / 2].im = 0;
  }

  void write(const Complex* wave, T* row) const {
    const double scale = inverse ? 1 / static_cast<double>(length) : 1;
    for (int64_t k = 0; k < y.extent; ++k) {
      row[k * y.stride()] = static_cast<T>(wave[k].re * scale);
      if (!real_out) row[k * y.stride() + 1] = static_cast<T>(inverse ? 0 - wave[k].im * scale : wave[k].im);
    }
  }
};

template <class T>
Status run_dft(Call& c) {
  const auto& a = c.attr<DftAttrs>();
  const Shape& shape = c.shape(0);
  const int64_t rank = shape.rank();
  int64_t axis = c.has(2) ? int_at(c.in(2), 0) : -2;
  if (axis < 0) axis += rank;
  if (rank < 2) return c.fault("x has {} axes; needed at least 2", rank);
  if (axis == rank - 1) return c.fault("axis names the last axis, which holds real and imaginary parts");
  if (axis < 0 || axis >= rank) return c.fault("axis {} is outside [{}, {}]", axis, -rank, rank - 1);
  const int64_t parts = shape[rank - 1];
  const bool real_out = a.inverse && a.onesided;
  if (parts != 1 && parts != 2) return c.fault("the last axis of x has extent {}; needed 1 or 2", parts);
  if (a.onesided && !a.inverse && parts != 1) return c.fault("onesided needs a real x; its last axis has extent 2");
  const int64_t usual = real_out ? 2 * (shape[axis] - 1) : shape[axis];
  const int64_t length = c.has(1) ? int_at(c.in(1), 0) : usual;
  if (length < (c.has(1) || real_out ? 1 : 0) || length > (int64_t{1} << 48))
    return c.fault("length is {}; needed at least 1", length);
  Shape to = shape;
  to.set(axis, a.onesided && !a.inverse ? length / 2 + 1 : length);
  to.set(rank - 1, real_out ? 1 : 2);
  NNEX_ASSIGN(Tensor * y, c.make(0, c.in(0).dtype(), to));
  if (y->count() == 0) return {};
  if (length == 0) {  // sums of nothing
    const auto out = y->mutable_as<T>();
    std::fill(out.begin(), out.end(), T{});
    return {};
  }
  NNEX_ASSIGN(Fft fft, Fft::make(length));
  NNEX_ASSIGN(Tensor waves, Tensor::make(DType::f64, Shape{2 * length, 2}));
  auto* wave = reinterpret_cast<Complex*>(waves.mutable_data());
  const Dft<T> dft{
      Layout(shape, axis), Layout(to, axis), c.in<T>(0).data(), y->mutable_as<T>().data(), a.inverse, real_out, length};
  Asked asked(c);
  for (int64_t o = 0; o < dft.x.outer; ++o)
    for (int64_t i = 0; i < dft.x.inner; ++i) {
      dft.read(dft.from + o * dft.x.extent * dft.x.stride() + i * dft.x.parts, wave);
      fft.run(wave, wave + length);
      NNEX_TRY(asked.now_and_then(length));
      dft.write(wave + length, dft.to + o * dft.y.extent * dft.y.stride() + i * dft.y.parts);
    }
  return {};
}

// ---- stft

Status infer_stft(InferCall& c) {
  const auto& a = c.attr<StftAttrs>();
  if (!c.has(2) && !c.has(3)) return c.error("window or length must be given");
  NNEX_TRY(need_rank(c, 0, 3));
  Dim batch = c.unknown(), samples = c.unknown();
  if (c.dims(0)) {
    batch = (*c.dims(0))[0], samples = (*c.dims(0))[1];
    NNEX_TRY(check_components(c, (*c.dims(0))[2], a.onesided, "x"));
  }
  std::optional<Dim> window;
  if (c.has(2)) {
    NNEX_TRY(need_rank(c, 2, 1));
    if (c.dims(2)) window = (*c.dims(2))[0];
  }
  std::optional<Dim> length = c.has(3) ? number_in(c, 3, Dim(0)) : window;
  if (c.has(3) && length && window) {
    NNEX_ASSIGN(length, meet(c, *window, *length, "extent of window"));
  }
  const auto step = number_in(c, 1, Dim(1));
  if (step && step->is_number() && step->value() < 1) return c.error("step is {}; needed at least 1", step->value());
  if (length && length->is_number() && length->value() < 1)
    return c.error("length is {}; needed at least 1", length->value());
  Dim frames = c.unknown(), bins = c.unknown();
  if (length) {
    bins = a.onesided ? floor_div(*length, Dim(2)) + Dim(1) : *length;
    if (samples.is_number() && length->is_number() && samples.value() < length->value())
      return c.error("x has {} samples; a frame has {}", samples.value(), length->value());
    if (step) frames = floor_div(samples - *length, *step) + Dim(1);
  }
  c.result(0, Dims{batch, frames, bins, Dim(2)});
  return {};
}

template <class T>
Status run_stft(Call& c) {
  const auto& a = c.attr<StftAttrs>();
  const Shape& shape = c.shape(0);
  if (shape.rank() != 3) return c.fault("x has {} axes; needed 3", shape.rank());
  const int64_t samples = shape[1], parts = shape[2], step = int_at(c.in(1), 0);
  const int64_t length = c.has(3) ? int_at(c.in(3), 0) : c.in(2).count();
  if (parts != 1 && parts != 2) return c.fault("the last axis of x has extent {}; needed 1 or 2", parts);
  if (a.onesided && parts != 1) return c.fault("onesided needs a real x; its last axis has extent 2");
  if (step < 1) return c.fault("step is {}; needed at least 1", step);
  if (length < 1) return c.fault("length is {}; needed at least 1", length);
  if (length > samples) return c.fault("x has {} samples; a frame has {}", samples, length);
  if (c.has(2) && c.in(2).count() != length)
    return c.fault("window has {} elements; a frame {}", c.in(2).count(), length);
  const int64_t frames = (samples - length) / step + 1, bins = a.onesided ? length / 2 + 1 : length;
  NNEX_ASSIGN(Tensor * y, c.make(0, c.in(0).dtype(), Shape{shape[0], frames, bins, 2}));
  if (y->count() == 0) return {};
  NNEX_ASSIGN(Fft fft, Fft::make(length));
  NNEX_ASSIGN(Tensor waves, Tensor::make(DType::f64, Shape{2 * length, 2}));
  auto* wave = reinterpret_cast<Complex*>(waves.mutable_data());
  const T* window = c.has(2) ? c.in<T>(2).data() : nullptr;
  T* out = y->mutable_as<T>().data();
  Asked asked(c);
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t f = 0; f < frames; ++f) {
      const T* from = c.in<T>(0).data() + (b * samples + f * step) * parts;
      for (int64_t t = 0; t < length; ++t) {
        wave[t] = load(from, parts, parts, t);
        const double w = window ? static_cast<double>(window[t]) : 1;
        wave[t].re *= w, wave[t].im *= w;
      }
      fft.run(wave, wave + length);
      NNEX_TRY(asked.now_and_then(length));
      for (int64_t k = 0; k < bins; ++k) {
        *out++ = static_cast<T>(wave[length + k].re);
        *out++ = static_cast<T>(wave[length + k].im);
      }
    }
  return {};
}

constexpr OpRow kSignalOps[] = {
    {.name = "dft",
     .summary = "The discrete Fourier transform along an axis, or its inverse.",
     .source = "ONNX DFT-20 (17: axis attribute, default 1)",
     .inputs = {{"x", kF, Arity::one, false, "[..., n, ..., 1 or 2]."},
                {.name = "length",
                 .type = kIndex,
                 .arity = Arity::optional,
                 .by_value = true,
                 .doc = "Numbers transformed: x is cut, or followed by zeros. Absent: the axis's extent."},
                {.name = "axis", .type = kIndex, .arity = Arity::optional, .by_value = true, .doc = "Absent: -2."}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<DftAttrs>(
         {field<&DftAttrs::inverse>("inverse", "The inverse, divided by length."),
          field<&DftAttrs::onesided>("onesided",
                                     "The first length / 2 + 1 numbers stand for all: of y, and of x where "
                                     "inverse, whose y then is real.")}),
     .infer = infer_dft,
     .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_dft<T>(c); }),
     .spelled = {{onnx, "DFT", {{"inverse", "inverse", &int_bool}, {"onesided", "onesided", &int_bool}}, 17}}},
    {.name = "stft",
     .summary = "Spectra of the frames of a signal.",
     .source = "ONNX STFT-17",
     .inputs =
         {{"x", kF, Arity::one, false, "[batch, samples, 1 or 2]."},
          {.name = "step", .type = kIndex, .by_value = true, .doc = "Samples from one frame to the next."},
          {.name = "window", .type = same_type_as("x"), .arity = Arity::optional, .doc = "[length]; absent: ones."},
          {.name = "length",
           .type = kIndex,
           .arity = Arity::optional,
           .by_value = true,
           .doc = "Samples of a frame; absent: the window's."}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<StftAttrs>({field<&StftAttrs::onesided>("onesided", "The first length / 2 + 1 numbers alone.")}),
     .infer = infer_stft,
     .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_stft<T>(c); }),
     .spelled = {{onnx, "STFT", {{"onesided", "onesided", &int_bool}}, 17}}},
};
}  // namespace

std::span<const OpDef> signal_ops() { return stored<kSignalOps>(); }

}  // namespace nnex
