// Convolution nodes on the channels-last kernels; channels-first tensors are turned on the way in and out.

#include "kernels/conv.h"

#include <fmt/format.h>

#include <array>

#include "kernels/copy.h"
#include "kernels/kernel.h"
#include "ops/window.h"

namespace nnex {
namespace {

constexpr int64_t round_up(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

class ConvKernel : public Kernel {
 public:
  ConvKernel(const simd::Loops& loops, const ConvShape& shape, bool channels_last, Packs::Bytes filter, Shape x,
             Shape y)
      : loops_(loops),
        shape_(shape),
        channels_last_(channels_last),
        filter_(std::move(filter)),
        x_(std::move(x)),
        y_(std::move(y)) {
    const int64_t pixels_in = shape_.batch * shape_.in_pixels() * shape_.in_channels,
                  pixels_out = shape_.batch * shape_.out_pixels() * shape_.out_channels;
    y_at_ = channels_last_ ? 0 : round_up(pixels_in * 4);
    own_at_ = channels_last_ ? 0 : y_at_ + round_up(pixels_out * 4);
  }

  int64_t workspace() const override { return own_at_ + conv_workspace(loops_, shape_, usable_threads()) + 64; }
  bool packed(size_t input) const override { return input == 1; }

  Status run(Call& c) const override {
    Team& team = *c.team;
    Epilogue end;
    if (c.has(2)) end.bias = c.in<float>(2).data();
    const auto* filter = reinterpret_cast<const float*>(filter_.get());
    const float* x = c.in<float>(0).data();
    float* y = c.out<float>(0).data();
    if (channels_last_) {
      conv(loops_, team, shape_, x, filter, y, end, c.workspace);
      return {};
    }
    auto* turned_x = reinterpret_cast<float*>(c.workspace);
    auto* turned_y = reinterpret_cast<float*>(c.workspace + y_at_);
    turn(team, x, turned_x, shape_.in_channels, shape_.in_pixels());
    conv(loops_, team, shape_, turned_x, filter, turned_y, end, c.workspace + own_at_);
    turn(team, turned_y, y, shape_.out_pixels(), shape_.out_channels);
    return {};
  }

 private:
  /// [batch, rows, columns] to [batch, columns, rows].
  void turn(Team& team, const float* x, float* y, int64_t rows, int64_t columns) const {
    const std::array<int64_t, 3> shape = {shape_.batch, rows, columns}, axes = {0, 2, 1};
    copy_from_strided(loops_, team, 4, *transpose_nest(shape, axes), x, y);
  }

  const simd::Loops& loops_;
  ConvShape shape_;
  bool channels_last_;
  Packs::Bytes filter_;
  Shape x_, y_;
  int64_t y_at_ = 0, own_at_ = 0;
};

/// Float32, a constant filter, zeros beyond the border, one to three spatial axes.
Result<std::unique_ptr<Kernel>> make_conv(const KernelRequest& r) {
  const auto& a = r.attr<ConvAttrs>();
  const Shape &x = r.in[0].shape, &w = r.in[1].shape, &y = r.out[0].shape;
  const auto spatial = static_cast<size_t>(x.rank() - 2);
  if (!r.all_f32() || !r.in[1].constant || a.border != ConvBorder::constant || spatial > 3 || x.count() == 0 ||
      y.count() == 0 || w.count() == 0)
    return nullptr;
  ConvShape s;
  s.batch = x[0], s.groups = a.groups, s.out_channels = w[0], s.in_channels = w[1] * a.groups;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    const auto at = static_cast<int64_t>(i) + (a.channels_last ? 1 : 2);
    NNEX_ASSIGN(AxisWindow window,
                window_of(x[at], w[static_cast<int64_t>(i) + 2], entry(a.stride, i, 1), entry(a.dilation, i, 1),
                          i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{}, a.auto_pad, false));
    if (window.before < 0 || window.after < 0) return nullptr;
    s.in[axis] = window.input, s.out[axis] = window.output, s.kernel[axis] = window.size,
    s.stride[axis] = window.stride;
    s.dilation[axis] = window.dilation, s.before[axis] = window.before;
  }
  Team alone(1);
  const std::string key =
      fmt::format("conv {} {} {}", r.in[1].id, static_cast<int>(r.loops.isa), static_cast<int>(conv_method(s)));
  NNEX_ASSIGN(auto filter, r.packs.get(key, conv_filter_floats(r.loops, s) * 4, [&](std::byte* to) {
    conv_pack_filter(r.loops, alone, s, r.in[1].constant->data(), reinterpret_cast<float*>(to));
  }));
  return std::unique_ptr<Kernel>(std::make_unique<ConvKernel>(r.loops, s, a.channels_last, std::move(filter), x, y));
}

constexpr KernelDef kConvKernels[] = {{"conv", "conv_f32", make_conv}};

}  // namespace

std::span<const KernelDef> conv_kernels() { return kConvKernels; }

}  // namespace nnex
