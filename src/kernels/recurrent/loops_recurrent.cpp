// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent/loops_recurrent.cpp"
#include <hwy/foreach_target.h>

#include "kernels/simd/builds.h"
#include "kernels/simd/math-inl.h"
#include "kernels/simd/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls run(i, load, store) for whole vectors and the last part of n elements.
template <class Run>
HWY_INLINE void each_vector(size_t n, Run run) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  const auto load = [&](const float* p) HWY_ATTR { return hn::LoadU(d, p + i); };
  const auto store = [&](V v, float* p) HWY_ATTR { hn::StoreU(v, d, p + i); };
  for (; i + lanes <= n; i += lanes) run(load, store);
  if (i < n) {
    const size_t left = n - i;
    run([&](const float* p) HWY_ATTR { return load_part(d, p + i, left); },
        [&](V v, float* p) HWY_ATTR { store_part(v, d, p + i, left); });
  }
}

template <class M>
HWY_INLINE void lstm_row(const LstmRow& row, size_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V limit = hn::Set(d, row.clip), one = hn::Set(d, 1.0F);
  const auto clipped = [&](V v) HWY_ATTR { return row.clip > 0 ? clamp_f32(d, v, hn::Neg(limit), limit) : v; };
  each_vector(n, [&](auto load, auto store) HWY_ATTR {
    const V before = load(row.c_before);
    const auto gate = [&](const float* z, const float* peephole, V state) HWY_ATTR {
      const V sum = peephole ? M::madd(load(peephole), state, load(z)) : load(z);
      return sigmoid_f32<M>(d, clipped(sum));
    };
    const V input = gate(row.z_input, row.p_input, before);
    const V forget = row.couples ? hn::Sub(one, input) : gate(row.z_forget, row.p_forget, before);
    const V cell = tanh_f32<M>(d, clipped(load(row.z_cell)));
    const V after = M::madd(forget, before, hn::Mul(input, cell));
    const V output = gate(row.z_output, row.p_output, after);
    store(after, row.c);
    store(hn::Mul(output, tanh_f32<M>(d, after)), row.h);
  });
}

void lstm_f32(const LstmRow& row, size_t n) { lstm_row<Fused>(row, n); }
void lstm_f32_exact(const LstmRow& row, size_t n) { lstm_row<Portable>(row, n); }

/// (1 - update) * candidate + update * before
template <class M, class D, class V = hn::Vec<D>>
HWY_INLINE V mixed(D d, V update, V candidate, V before) {
  return M::madd(hn::Sub(hn::Set(d, 1.0F), update), candidate, hn::Mul(update, before));
}

template <class M>
HWY_INLINE void gru_row(const GruRow& row, size_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V limit = hn::Set(d, row.clip);
  const auto clipped = [&](V v) HWY_ATTR { return row.clip > 0 ? clamp_f32(d, v, hn::Neg(limit), limit) : v; };
  each_vector(n, [&](auto load, auto store) HWY_ATTR {
    const V before = load(row.h_before);
    const V update = sigmoid_f32<M>(d, clipped(load(row.z_update)));
    V sum = load(row.z_hidden);
    if (row.r_hidden) sum = M::madd(sigmoid_f32<M>(d, clipped(load(row.z_reset))), load(row.r_hidden), sum);
    store(mixed<M>(d, update, tanh_f32<M>(d, clipped(sum)), before), row.h);
  });
}

void gru_f32(const GruRow& row, size_t n) { gru_row<Fused>(row, n); }
void gru_f32_exact(const GruRow& row, size_t n) { gru_row<Portable>(row, n); }

template <class M>
HWY_INLINE void reset_row(const float* z_reset, const float* h_before, float clip, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const auto limit = hn::Set(d, clip);
  each_vector(n, [&](auto load, auto store) HWY_ATTR {
    const auto z = load(z_reset);
    const auto inside = clip > 0 ? clamp_f32(d, z, hn::Neg(limit), limit) : z;
    store(hn::Mul(sigmoid_f32<M>(d, inside), load(h_before)), y);
  });
}

void gru_reset_f32(const float* z_reset, const float* h_before, float clip, float* y, size_t n) {
  reset_row<Fused>(z_reset, h_before, clip, y, n);
}
void gru_reset_f32_exact(const float* z_reset, const float* h_before, float clip, float* y, size_t n) {
  reset_row<Portable>(z_reset, h_before, clip, y, n);
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(lstm_f32);
NNEX_SIMD_BUILDS(lstm_f32_exact);
NNEX_SIMD_BUILDS(gru_f32);
NNEX_SIMD_BUILDS(gru_f32_exact);
NNEX_SIMD_BUILDS(gru_reset_f32);
NNEX_SIMD_BUILDS(gru_reset_f32_exact);
}  // namespace nnex::kernels::simd
#endif
