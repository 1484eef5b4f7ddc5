// Deconvolutions on the channels-last convolution: the places of y that are equal modulo the stride read the same taps,
// so that each such phase is a plain convolution of x.

#include "ops/deconv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked.h"
#include "base/split.h"
#include "kernels/conv/conv.h"
#include "kernels/kernel.h"
#include "kernels/moves/copy.h"
#include "kernels/product/epilogue.h"

namespace nnex::kernels {
namespace {

/// One axis of a phase: the places first, first + stride, ... of y.
struct AxisPhase {
  int64_t first = 0, places = 0;
  int64_t skip = 0;           ///< Results of the convolution before the first place.
  std::vector<int64_t> taps;  ///< Of the filter, in the order the convolution walks x.
  int64_t dilation = 1, before = 0;
};

/// The phase of places o with o mod stride = first: o + w.before = tap * dilation + stride * (position in x).
AxisPhase axis_phase(const AxisWindow& w, int64_t first) {
  AxisPhase p;
  p.first = first;
  p.places = w.output > first ? ceil_div(w.output - first, w.stride) : 0;
  p.dilation = w.dilation / std::gcd(w.dilation, w.stride);
  for (int64_t tap = w.size - 1; tap >= 0; --tap) {
    const int64_t from = first + w.before - tap * w.dilation;
    if (floor_div(from, w.stride) * w.stride != from) continue;
    if (p.taps.empty()) p.before = -floor_div(from, w.stride);
    p.taps.push_back(tap);
  }
  p.skip = std::max<int64_t>(0, -p.before);
  p.before = std::max<int64_t>(0, p.before);
  return p;
}

struct Phase {
  std::array<AxisPhase, 3> axes;
  ConvShape shape;      ///< No taps: nothing but the bias.
  Packs::Bytes filter;  ///< Null: packed at every run.
  int64_t filter_floats(const simd::Loops& loops) const { return round_up(conv_filter_floats(loops, shape), 16); }
  int64_t plain_floats() const { return round_up(shape.out_channels * shape.group_inputs() * shape.taps(), 16); }
  bool taps() const { return shape.taps() > 0; }
};

/// y as [batch, channels, extents...], or with its channels last.
struct Image {
  int64_t batch = 1, channels = 1;
  bool channels_last = false;
  std::array<int64_t, 3> extent = {1, 1, 1}, stride = {1, 1, 1};
  int64_t pixels() const { return extent[0] * extent[1] * extent[2]; }
};

/// The filter [in, out / groups, taps...] as a convolution's [out, in / groups, the phase's taps...].
void phase_filter(const Phase& p, const Shape& w, const std::byte* filter, float* to) {
  const ConvShape& s = p.shape;
  const int64_t rank = w.rank(), made = s.group_outputs(), taken = s.group_inputs();
  const int64_t sizes[3] = {rank > 4 ? w[2] : 1, rank > 3 ? w[rank - 2] : 1, w[rank - 1]};
  for (int64_t m = 0; m < s.out_channels; ++m)
    for (int64_t k = 0; k < taken; ++k) {
      const int64_t row = (m / made * taken + k) * made + m % made;
      for (int64_t t0 : p.axes[0].taps)
        for (int64_t t1 : p.axes[1].taps)
          for (int64_t t2 : p.axes[2].taps)
            std::memcpy(to++, filter + (((row * sizes[0] + t0) * sizes[1] + t1) * sizes[2] + t2) * 4, 4);
    }
}

class DeconvKernel : public Kernel {
 public:
  DeconvKernel(const simd::Loops& loops, const ConvShape& x, const Image& y, const Shape& w, std::vector<Phase> phases)
      : loops_(loops), x_(x), y_(y), w_(w), phases_(std::move(phases)) {
    const int64_t in_pixels = x_.in[0] * x_.in[1] * x_.in[2];
    transposed_ = y_.channels_last || x_.in_channels == 1 || in_pixels == 1
                      ? 0
                      : round_up(x_.batch * x_.in_channels * in_pixels * 4, 64);
    for (const Phase& p : phases_) {
      if (!p.taps()) continue;
      result_ = std::max(result_, round_up(p.shape.batch * p.shape.out_pixels() * y_.channels * 4, 64));
      own_ = std::max(own_, conv_workspace(loops_, p.shape, usable_threads()));
      if (!p.filter) filter_ = std::max(filter_, (p.filter_floats(loops_) + p.plain_floats()) * 4);
    }
  }

  int64_t workspace() const override { return transposed_ + result_ + filter_ + own_; }
  bool packed(size_t input) const override { return input == 1 && filter_ == 0; }

  Status run(Call& c) const override {
    const float* x = c.in<float>(0).data();
    const float* bias = c.has(2) ? c.in<float>(2).data() : nullptr;
    float* y = c.out<float>(0).data();
    if (transposed_) {
      auto* transposed = reinterpret_cast<float*>(c.workspace);
      const std::array<int64_t, 3> shape = {x_.batch, x_.in_channels, x_.in[0] * x_.in[1] * x_.in[2]};
      copy_from_strided(loops_, *c.team, 4, *transpose_nest(shape, std::array<int64_t, 3>{0, 2, 1}), x, transposed);
      x = transposed;
    }
    auto* result = reinterpret_cast<float*>(c.workspace + transposed_);
    for (const Phase& p : phases_) {
      if (!p.taps()) {
        scatter(*c.team, p, nullptr, bias, y);
        continue;
      }
      Epilogue end;
      end.bias = bias;
      std::byte* const space = c.workspace + transposed_ + result_;
      conv(loops_, *c.team, p.shape, x, filter_of(c, p, reinterpret_cast<float*>(space)), result, end, space + filter_);
      scatter(*c.team, p, result, bias, y);
    }
    return {};
  }

 private:
  /// A phase's packed filter, perhaps made in `space`.
  const float* filter_of(Call& c, const Phase& p, float* space) const {
    if (p.filter) return reinterpret_cast<const float*>(p.filter.get());
    float* const plain = space + p.filter_floats(loops_);
    phase_filter(p, w_, c.in(1).data(), plain);
    conv_pack_filter(loops_, *c.team, p.shape, reinterpret_cast<const std::byte*>(plain), space);
    return space;
  }

  /// Puts a phase's pixels [batch, places..., channels] at their places in y; without pixels, the bias.
  void scatter(Team& team, const Phase& p, const float* from, const float* bias, float* y) const {
    const AxisPhase &plane = p.axes[0], &line = p.axes[1], &column = p.axes[2];
    const int64_t lines = y_.batch * plane.places * line.places;
    split(team, lines, lines * column.places * y_.channels * 8, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t q1 = i % line.places, q0 = i / line.places % plane.places, n = i / line.places / plane.places;
        const int64_t pixel =
            ((plane.first + q0 * y_.stride[0]) * y_.extent[1] + line.first + q1 * y_.stride[1]) * y_.extent[2] +
            column.first;
        float* const image = y + n * y_.channels * y_.pixels();
        float* const to = image + (y_.channels_last ? pixel * y_.channels : pixel);
        const float* pixels =
            from ? from + (((n * p.shape.out[0] + plane.skip + q0) * p.shape.out[1] + line.skip + q1) * p.shape.out[2] +
                           column.skip) *
                              y_.channels
                 : nullptr;
        if (y_.channels_last)
          place_pixels(pixels, bias, column.places, to);
        else if (pixels)
          scatter_line(pixels, column.places, to);
        else
          fill_line(bias, column.places, to);
      }
    });
  }

  /// Channels last: whole pixels.
  void place_pixels(const float* from, const float* bias, int64_t places, float* to) const {
    const int64_t channels = y_.channels, step = y_.stride[2] * channels;
    for (int64_t q = 0; q < places; ++q, to += step) {
      if (from)
        std::copy_n(from + q * channels, channels, to);
      else if (bias)
        std::copy_n(bias, channels, to);
      else
        std::fill_n(to, channels, 0.0F);
    }
  }

  void scatter_line(const float* from, int64_t places, float* to) const {
    constexpr int64_t kAtOnce = 16;  // pixels that stay in the first level cache while their channels are spread
    const int64_t step = y_.stride[2], channels = y_.channels, pixels = y_.pixels();
    for (int64_t q = 0; q < places; q += kAtOnce) {
      const int64_t count = std::min(kAtOnce, places - q);
      for (int64_t m = 0; m < channels; ++m) {
        const float* a = from + q * channels + m;
        float* b = to + m * pixels + q * step;
        for (int64_t k = 0; k < count; ++k) b[k * step] = a[k * channels];
      }
    }
  }

  void fill_line(const float* bias, int64_t places, float* to) const {
    for (int64_t m = 0; m < y_.channels; ++m)
      for (int64_t q = 0; q < places; ++q) to[m * y_.pixels() + q * y_.stride[2]] = bias ? bias[m] : 0;
  }

  const simd::Loops& loops_;
  ConvShape x_;
  Image y_;
  Shape w_;
  std::vector<Phase> phases_;
  int64_t transposed_ = 0, result_ = 0, filter_ = 0, own_ = 0;  ///< Bytes of workspace, in this order.
};

Result<Phase> make_phase(const KernelRequest& r, const ConvShape& x, const std::array<AxisWindow, 3>& windows,
                         std::array<int64_t, 3> first) {
  Phase p;
  p.shape = x;
  for (size_t i = 0; i < 3; ++i) {
    AxisPhase& axis = p.axes[i] = axis_phase(windows[i], first[i]);
    p.shape.out[i] = axis.places + axis.skip;
    p.shape.kernel[i] = static_cast<int64_t>(axis.taps.size());
    p.shape.dilation[i] = axis.dilation;
    p.shape.before[i] = axis.before;
  }
  if (!p.taps() || !r.in[1].constant) return p;
  const std::string key =
      fmt::format("{} phase {} {} {} of {} {} {} {} {} {}", filter_key("deconv", r, r.in[1], p.shape),
                  p.axes[0].taps.back(), p.axes[1].taps.back(), p.axes[2].taps.back(), windows[0].stride,
                  windows[1].stride, windows[2].stride, windows[0].dilation, windows[1].dilation, windows[2].dilation);
  NNEX_ASSIGN(p.filter, r.packs.get(key, conv_filter_floats(r.loops, p.shape) * 4, [&](std::byte* to) {
    std::vector<float> filter(static_cast<size_t>(p.plain_floats()));
    phase_filter(p, r.in[1].shape, r.in[1].constant->data(), filter.data());
    conv_pack_filter(r.loops, r.team, p.shape, reinterpret_cast<const std::byte*>(filter.data()),
                     reinterpret_cast<float*>(to));
  }));
  return p;
}

/// Float32, zeros beyond x, one to three spatial axes, few phases.
Result<std::unique_ptr<Kernel>> make_deconv(const KernelRequest& r) {
  const auto& a = r.attr<DeconvAttrs>();
  const Shape x = channels_first(r.in[0].shape, a.channels_last), y = channels_first(r.out[0].shape, a.channels_last);
  const Shape& w = r.in[1].shape;
  if (!r.all_f32() || a.border != ConvBorder::constant || x.rank() < 3 || x.rank() > 5 || x.count() == 0 ||
      w.count() == 0 || y.count() == 0)
    return nullptr;
  auto found = reverse_windows(a, x, w);
  if (!found.ok()) return nullptr;
  std::array<AxisWindow, 3> windows;
  std::copy_backward(found->begin(), found->end(), windows.end());
  ConvShape s;
  s.batch = x[0], s.in_channels = x[1], s.out_channels = y[1], s.groups = a.groups;
  Image image{y[0], y[1], a.channels_last};
  int64_t phases = 1;
  for (size_t i = 0; i < 3; ++i) {
    s.in[i] = windows[i].input;
    image.extent[i] = windows[i].output, image.stride[i] = windows[i].stride;
    phases *= std::min(windows[i].stride, windows[i].output);
    if (phases > 64) return nullptr;
  }
  std::vector<Phase> made;
  for (int64_t p = 0; p < phases; ++p) {
    std::array<int64_t, 3> first = {};
    int64_t rest = p;
    for (size_t i = 3; i-- > 0;) {
      const int64_t n = std::min(windows[i].stride, windows[i].output);
      first[i] = rest % n;
      rest /= n;
    }
    NNEX_ASSIGN(Phase phase, make_phase(r, s, windows, first));
    // A crop that skips more than it keeps is left to the plain loop.
    for (const AxisPhase& axis : phase.axes)
      if (axis.skip > axis.places + 8) return nullptr;
    made.push_back(std::move(phase));
  }
  return std::unique_ptr<Kernel>(std::make_unique<DeconvKernel>(r.loops, s, image, w, std::move(made)));
}

constexpr KernelDef kDeconvKernels[] = {{"deconv", "deconv_f32", make_deconv}};

}  // namespace

std::span<const KernelDef> deconv_kernels() { return built<kDeconvKernels>(); }

}  // namespace nnex::kernels
