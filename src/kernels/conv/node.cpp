// Convolution nodes on the channels-last kernels; channels-first tensors are transposed on the way in and out, or
// served plane by plane.

#include "kernels/conv/conv.h"
#include "kernels/conv/few.h"
#include "kernels/conv/planes.h"

#include "base/checked.h"
#include "kernels/fused.h"
#include "kernels/moves/transposed.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm.h"
#include "ops/window.h"

namespace nnex::kernels {
namespace {

/// A filter in the form that loops read: packed once when it is a constant, else into the workspace at every run.
struct Filter {
  Packs::Bytes constant;
  int64_t floats = 0;
  void (*pack)(const simd::Loops& loops, Team& team, const ConvShape& shape, const std::byte* filter,
               float* packed) = nullptr;

  int64_t workspace() const { return constant ? 0 : round_up(floats * 4, 64); }
  /// Of input `port`; `space` holds workspace() bytes.
  const float* get(const simd::Loops& loops, const Call& c, const ConvShape& shape, int port, std::byte* space) const {
    if (constant) return reinterpret_cast<const float*>(constant.get());
    pack(loops, *c.team, shape, c.in(static_cast<size_t>(port)).data(), reinterpret_cast<float*>(space));
    return reinterpret_cast<const float*>(space);
  }
};

class ConvKernel : public Kernel {
 public:
  ConvKernel(const simd::Loops& loops, const ConvShape& shape, bool channels_last, Filter filter,
             const EpilogueSpec& spec)
      : loops_(loops),
        shape_(shape),
        few_planes_(!channels_last && conv_method(shape) == ConvMethod::few),
        filter_(std::move(filter)),
        spec_(spec) {
    if (!channels_last && !few_planes_)
      transposed_ =
          Transposed(shape.batch, shape.in_channels, shape.in_pixels(), shape.out_channels, shape.out_pixels());
  }

  int64_t workspace() const override {
    return transposed_.bytes() + filter_.workspace() + conv_workspace(loops_, shape_, usable_threads());
  }
  bool packed(size_t input) const override { return filter_.constant && static_cast<int>(input) == spec_.constant; }

  Status run(Call& c) const override {
    const Epilogue end = spec_.epilogue(c, shape_.out_channels);
    std::byte* const space = c.workspace + transposed_.bytes();
    const float* const filter = filter_.get(loops_, c, shape_, spec_.constant, space);
    transposed_.around(loops_, c, static_cast<size_t>(spec_.x), [&](const float* x, float* y) {
      if (few_planes_) return conv_few(loops_, *c.team, shape_, true, x, filter, y, end, space + filter_.workspace());
      conv(loops_, *c.team, shape_, x, filter, y, end, space + filter_.workspace());
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  ConvShape shape_;
  bool few_planes_;  // read and written where they lie
  Filter filter_;
  EpilogueSpec spec_;
  Transposed transposed_;
};

/// Channels first, one input channel for each group.
class PlaneConvKernel : public Kernel {
 public:
  PlaneConvKernel(const simd::Loops& loops, const ConvShape& shape, Filter filter, const EpilogueSpec& spec)
      : loops_(loops), shape_(shape), filter_(std::move(filter)), spec_(spec) {}

  int64_t workspace() const override { return filter_.workspace() + plane_workspace(loops_, shape_, usable_threads()); }
  bool packed(size_t input) const override { return filter_.constant && static_cast<int>(input) == spec_.constant; }

  Status run(Call& c) const override {
    const float* const filter = filter_.get(loops_, c, shape_, spec_.constant, c.workspace);
    conv_planes(loops_, *c.team, shape_, c.in<float>(static_cast<size_t>(spec_.x)).data(), filter,
                reinterpret_cast<float*>(c.out(0).mutable_data()), spec_.epilogue(c, shape_.out_channels),
                c.workspace + filter_.workspace());
    return {};
  }

 private:
  const simd::Loops& loops_;
  ConvShape shape_;
  Filter filter_;
  EpilogueSpec spec_;
};

/// Channels first, one tap on every pixel: each group's filter times its channels of each item of x as they lie.
class PointwiseKernel : public Kernel {
 public:
  PointwiseKernel(const simd::Loops& loops, const ConvShape& s, const EpilogueSpec& spec)
      : loops_(loops), spec_(spec), channels_(s.out_channels) {
    const int64_t m = s.group_outputs(), n = s.in_pixels(), k = s.group_inputs();
    product_.one.m = m, product_.one.n = n, product_.one.k = k;
    product_.one.a_row_stride = k, product_.one.c_row_stride = n;
    product_.b_row_stride = n;
    product_.axes = {{.extent = s.batch, .b = s.groups * k * n, .c = s.groups * m * n},
                     {.extent = s.groups, .a = m * k, .b = k * n, .c = m * n, .row_bias = m}};
  }

  int64_t workspace() const override { return gemm_batch_workspace(loops_, product_, usable_threads()); }

  Status run(Call& c) const override {
    BatchGemm product = product_;
    product.one.a = c.in<float>(static_cast<size_t>(spec_.constant)).data();
    product.one.b = c.in<float>(static_cast<size_t>(spec_.x)).data();
    product.one.c = c.out<float>(0).data();
    product.one.end = spec_.epilogue(c, channels_);
    std::swap(product.one.end.bias, product.one.end.row_bias);
    gemm_batch(loops_, *c.team, product, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  EpilogueSpec spec_;
  int64_t channels_;
  BatchGemm product_;
};

/// Whether PointwiseKernel is to be preferred: lines of enough pixels, groups of enough channels.
bool is_pointwise(const ConvShape& s) {
  if (s.groups > 1 && std::min(s.group_inputs(), s.group_outputs()) < kMinPointwiseChannels) return false;
  return is_one_tap(s) && s.in_pixels() >= kMinPointwisePixels && !s.x_stride && !s.y_stride;
}

Result<Filter> make_filter(const KernelRequest& r, const ConvShape& s, bool planes) {
  Filter f;
  f.floats = planes ? plane_filter_floats(s) : conv_filter_floats(r.loops, s);
  f.pack = planes ? [](const simd::Loops&, Team&, const ConvShape& shape, const std::byte* filter,
                       float* packed) { pack_plane_filter(shape, filter, packed); }
                  : conv_pack_filter;
  if (!r.in[1].constant) return f;
  const std::string key = planes ? pack_key("plane conv", r, r.in[1]) : filter_key("conv", r, r.in[1], s);
  NNEX_ASSIGN(f.constant, r.packs.get(key, f.floats * 4, [&](std::byte* to) {
    f.pack(r.loops, r.team, s, r.in[1].constant->data(), reinterpret_cast<float*>(to));
  }));
  return f;
}

/// Float32, zeros beyond the border, one to three spatial axes.
Result<std::unique_ptr<Kernel>> conv_kernel(const KernelRequest& r, const EpilogueSpec& spec) {
  const auto& a = r.attr<ConvAttrs>();
  const Shape &x = r.in[0].shape, &w = r.in[1].shape, &y = r.out[0].shape;
  if (!r.all_f32() || a.border != ConvBorder::constant || x.count() == 0 || y.count() == 0 || w.count() == 0 ||
      (spec.residual >= 0 && !a.channels_last))
    return nullptr;
  const auto shape = conv_shape(a, x, w);
  if (!shape) return nullptr;
  if (!a.channels_last && is_pointwise(*shape)) return made<PointwiseKernel>(r.loops, *shape, spec);
  const bool planes = !a.channels_last && is_plane_conv(*shape);
  NNEX_ASSIGN(Filter filter, make_filter(r, *shape, planes));
  if (planes) return made<PlaneConvKernel>(r.loops, *shape, std::move(filter), spec);
  return made<ConvKernel>(r.loops, *shape, a.channels_last, std::move(filter), spec);
}

Result<std::unique_ptr<Kernel>> make_conv(const KernelRequest& r) {
  EpilogueSpec spec;
  if (r.has(2)) spec.bias = 2;
  return conv_kernel(r, spec);
}

Result<std::unique_ptr<Kernel>> make_conv_region(const KernelRequest& r) {
  const auto* fused = fused_as<FusedProduct>(r);
  if (!fused || !fused->product.as<ConvAttrs>()) return nullptr;
  return conv_kernel(FusedRequest(r, fused->product).request, fused->end);
}

constexpr KernelDef kConvKernels[] = {{"conv", "conv_f32", make_conv}, {"fused", "conv_f32", make_conv_region, "conv"}};

}  // namespace

std::optional<ConvShape> conv_shape(const ConvAttrs& a, const Shape& x, const Shape& w) {
  const auto spatial = static_cast<size_t>(x.rank() - 2);
  if (x.rank() < 3 || spatial > 3 || x.count() == 0 || w.count() == 0) return std::nullopt;
  ConvShape s;
  s.batch = x[0], s.groups = a.groups, s.out_channels = w[0], s.in_channels = w[1] * a.groups;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    const auto at = static_cast<int64_t>(i) + (a.channels_last ? 1 : 2);
    const auto pads = i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
    const auto found = window_of(x[at], w[static_cast<int64_t>(i) + 2], entry(a.stride, i, 1), entry(a.dilation, i, 1),
                                 pads, a.auto_pad, false);
    if (!found.ok()) return std::nullopt;
    const AxisWindow& window = *found;
    if (window.before < 0 || window.after < 0 || window.output == 0) return std::nullopt;
    s.in[axis] = window.input, s.out[axis] = window.output, s.kernel[axis] = window.size,
    s.stride[axis] = window.stride;
    s.dilation[axis] = window.dilation, s.before[axis] = window.before;
  }
  return s;
}

std::span<const KernelDef> conv_kernels() { return built<kConvKernels>(); }

}  // namespace nnex::kernels
