// Quantise and dequantise nodes (docs/operators/q.md, d.md) between float32 and whole numbers of 8 or 16 bits: the
// reference's bytes.

#include "ops/quantize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/split.h"
#include "kernels/convert/convert.h"
#include "kernels/kernel.h"
#include "kernels/moves/axes.h"
#include "kernels/reduce/reduce.h"

namespace nnex::kernels {
namespace {

enum : size_t { kX, kScale, kZero };

/// x as [outer, channels, inner] with one scale for each channel; nothing for blocks, and where zero has other extents
/// than scale.
std::optional<Middle> channels_of(const KernelRequest& r, int64_t axis, int64_t block_size) {
  const Shape &x = r.in[kX].shape, &scale = r.in[kScale].shape;
  const int64_t count = scale.count();
  if (block_size != 0 || x.count() == 0 || (r.has(kZero) && r.in[kZero].shape.count() != count)) return std::nullopt;
  if (count == 1) return Middle{1, 1, x.count()};
  if (scale.rank() != 1 || axis < -x.rank() || axis >= x.rank()) return std::nullopt;
  const Middle m = middle_of(x, axis);
  return m.n == count ? std::optional(m) : std::nullopt;
}

template <class T>
const T* zero_of(const Call& c) {
  return c.has(kZero) ? c.in<T>(kZero).data() : nullptr;
}

template <class T>
class QuantizeKernel : public Kernel {
 public:
  QuantizeKernel(const simd::Loops& loops, const Middle& m) : loops_(loops), m_(m) {}
  Status run(Call& c) const override {
    quantize(loops_, *c.team, c.in<float>(kX).data(), c.in<float>(kScale).data(), zero_of<T>(c), c.out<T>(0).data(),
             m_.outer, m_.n, m_.inner);
    return {};
  }

 private:
  const simd::Loops& loops_;
  Middle m_;
};

Result<std::unique_ptr<Kernel>> make_quantize(const KernelRequest& r) {
  const auto& a = r.attr<QuantizeAttrs>();
  const DType to = r.out[0].dtype;
  if (r.in[kX].dtype != DType::f32 || r.in[kScale].dtype != DType::f32 || (r.has(kZero) && r.in[kZero].dtype != to) ||
      a.precision.value_or(DType::f32) != DType::f32)
    return nullptr;
  const auto m = channels_of(r, a.axis, a.block_size);
  if (m && to == DType::u8) return made<QuantizeKernel<uint8_t>>(r.loops, *m);
  if (m && to == DType::i8) return made<QuantizeKernel<int8_t>>(r.loops, *m);
  if (m && to == DType::u16) return made<QuantizeKernel<uint16_t>>(r.loops, *m);
  if (m && to == DType::i16) return made<QuantizeKernel<int16_t>>(r.loops, *m);
  return nullptr;
}

template <class T>
class DequantizeKernel : public Kernel {
 public:
  DequantizeKernel(const simd::Loops& loops, const Middle& m) : loops_(loops), m_(m) {}
  Status run(Call& c) const override {
    dequantize(loops_, *c.team, c.in<T>(kX).data(), c.in<float>(kScale).data(), zero_of<T>(c), c.out<float>(0).data(),
               m_.outer, m_.n, m_.inner);
    return {};
  }

 private:
  const simd::Loops& loops_;
  Middle m_;
};

Result<std::unique_ptr<Kernel>> make_dequantize(const KernelRequest& r) {
  const auto& a = r.attr<DequantizeAttrs>();
  const DType from = r.in[kX].dtype;
  if (r.out[0].dtype != DType::f32 || r.in[kScale].dtype != DType::f32 || (r.has(kZero) && r.in[kZero].dtype != from))
    return nullptr;
  const auto m = channels_of(r, a.axis, a.block_size);
  if (m && from == DType::u8) return made<DequantizeKernel<uint8_t>>(r.loops, *m);
  if (m && from == DType::i8) return made<DequantizeKernel<int8_t>>(r.loops, *m);
  if (m && from == DType::u16) return made<DequantizeKernel<uint16_t>>(r.loops, *m);
  if (m && from == DType::i16) return made<DequantizeKernel<int16_t>>(r.loops, *m);
  return nullptr;
}

/// The range with 0 in it, then as quantize_linear. What is not finite runs by reference, which has the rules for it.
class DynamicQuantize : public Kernel {
 public:
  explicit DynamicQuantize(const simd::Loops& loops) : loops_(loops) {}
  Status run(Call& c) const override {
    const float* x = c.in<float>(0).data();
    const int64_t n = c.in(0).count();
    auto [low, high] = extremes(*c.team, x, n);
    if (!std::isfinite(low) || !std::isfinite(high)) return run_reference(c);
    low = low < 0 ? low : 0.0F, high = high > 0 ? high : 0.0F;
    const float scale = (high == low ? 1.0F : high - low) / 255.0F;
    if (!std::isfinite(scale) || scale == 0) return run_reference(c);
    uint8_t zero = 0;  // of -low / scale, which quantising does alike
    const float away = 0.0F - low;
    quantize<uint8_t>(loops_, *c.team, &away, &scale, nullptr, &zero, 1, 1, 1);
    if (c.wants(1)) c.out<float>(1)[0] = scale;
    if (c.wants(2)) c.out<uint8_t>(2)[0] = zero;
    if (c.wants(0)) quantize(loops_, *c.team, x, &scale, &zero, c.out<uint8_t>(0).data(), 1, 1, n);
    return {};
  }

 private:
  /// The least and the greatest number; NaN where there is one.
  std::pair<float, float> extremes(Team& team, const float* x, int64_t n) const {
    constexpr int64_t kMaxParts = 64;
    const int64_t parts = std::min(parts_for(team, n * 4), kMaxParts);
    float low[2 * kMaxParts];
    float* const high = low + parts;
    team.run(parts, [&](int64_t i) {
      const Part p = part_of(n, parts, i);
      loops_.extremes_f32(x + p.begin, static_cast<size_t>(p.size()), low + i, high + i);
    });
    const auto count = static_cast<size_t>(parts);
    return {loops_.reduce_f32(ReduceKind::min, low, count), loops_.reduce_f32(ReduceKind::max, high, count)};
  }

  const simd::Loops& loops_;
};

Result<std::unique_ptr<Kernel>> make_dynamic(const KernelRequest& r) {
  if (r.in[0].dtype != DType::f32 || r.in[0].shape.count() == 0) return nullptr;
  return made<DynamicQuantize>(r.loops);
}

constexpr KernelDef kQuantizeKernels[] = {
    {"quantize_linear", "quantize_f32", make_quantize},
    {"dequantize_linear", "dequantize_f32", make_dequantize},
    {"dynamic_quantize_linear", "dynamic_quantize_f32", make_dynamic},
};

}  // namespace

std::span<const KernelDef> quantize_kernels() { return built<kQuantizeKernels>(); }

}  // namespace nnex::kernels
