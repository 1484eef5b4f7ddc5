// Matrix products with a constant right-hand side, or of two activations.

#include "kernels/product/epilogue.h"
#include "kernels/product/gemm.h"
#include "ops/matmul.h"

namespace nnex {
namespace {

/// y[m, n] = finish(alpha * x[m, k] * b[k, n]), b packed.
class PackedProduct : public Kernel {
 public:
  PackedProduct(const simd::Loops& loops, Gemm product, const EpilogueSpec& spec, Packs::Bytes b)
      : loops_(loops), product_(product), spec_(spec), b_(std::move(b)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == spec_.constant; }
  Status run(Call& c) const override {
    Gemm g = product_;
    g.a = c.in<float>(static_cast<size_t>(spec_.x)).data();
    g.b = reinterpret_cast<const float*>(b_.get());
    g.c = c.out<float>(0).data();
    g.end = spec_.epilogue(c, g.n);
    g.end.scale = product_.end.scale;
    gemm(loops_, *c.team, g);
    return {};
  }

 private:
  const simd::Loops& loops_;
  Gemm product_;
  EpilogueSpec spec_;
  Packs::Bytes b_;
};

Result<std::unique_ptr<Kernel>> packed_product(const KernelRequest& r, Gemm g, bool b_transposed,
                                               const EpilogueSpec& spec) {
  const Shape& w = r.in[1].shape;
  const std::string key = pack_key(b_transposed ? "gemm transposed" : "gemm", r, r.in[1]);
  NNEX_ASSIGN(auto b, r.packs.get(key, packed_floats(r.loops, g.k, g.n) * 4, [&](std::byte* to) {
    pack_b(r.loops, r.team, r.in[1].constant->data(), g.k, g.n, b_transposed ? 1 : w[1], b_transposed ? w[1] : 1,
           reinterpret_cast<float*>(to));
  }));
  return std::unique_ptr<Kernel>(std::make_unique<PackedProduct>(r.loops, g, spec, std::move(b)));
}

Result<std::unique_ptr<Kernel>> linear_kernel(const KernelRequest& r, EpilogueSpec spec) {
  const auto& a = r.attr<LinearAttrs>();
  const Shape &x = r.in[0].shape, &w = r.in[1].shape;
  if (!r.all_f32() || !r.in[1].constant || x.rank() != 2 || w.rank() != 2 || x.count() == 0 || w.count() == 0)
    return nullptr;
  Gemm g;
  g.m = x[a.transpose_a ? 1 : 0], g.k = x[a.transpose_a ? 0 : 1], g.n = w[a.transpose_b ? 0 : 1];
  g.a_row_stride = a.transpose_a ? 1 : x[1], g.a_col_stride = a.transpose_a ? x[1] : 1;
  g.c_row_stride = g.n;
  g.end.scale = static_cast<float>(a.alpha);
  if (r.has(2)) {
    const Shape& s = r.in[2].shape;
    const bool row = s.count() == g.n && s.rank() >= 1 && s[s.rank() - 1] == g.n;
    if (!row || a.beta != 1) return nullptr;
  }
  return packed_product(r, g, a.transpose_b, spec);
}

Result<std::unique_ptr<Kernel>> make_linear(const KernelRequest& r) {
  EpilogueSpec spec;
  if (r.has(2)) spec.bias = 2;
  return linear_kernel(r, spec);
}

/// x [..., m, k] times a constant [k, n]: one product of all rows.
Result<std::unique_ptr<Kernel>> matmul_kernel(const KernelRequest& r, const EpilogueSpec& spec) {
  const auto& a = r.attr<MatmulAttrs>();
  const Shape &x = r.in[0].shape, &w = r.in[1].shape;
  if (!r.all_f32() || a.transpose_a || !r.in[1].constant || x.rank() < 2 || w.rank() != 2 || x.count() == 0 ||
      w.count() == 0)
    return nullptr;
  Gemm g;
  g.k = x[x.rank() - 1], g.m = x.count() / g.k, g.n = w[a.transpose_b ? 0 : 1];
  g.a_row_stride = g.k, g.c_row_stride = g.n;
  return packed_product(r, g, a.transpose_b, spec);
}

Result<std::unique_ptr<Kernel>> make_matmul(const KernelRequest& r) { return matmul_kernel(r, {}); }

Result<std::unique_ptr<Kernel>> make_gemm_region(const KernelRequest& r) {
  const std::string_view first = r.region[0].op->name;
  if (first != "linear" && first != "matmul") return nullptr;
  const auto spec = epilogue_spec(r);
  if (!spec) return nullptr;
  const FirstStep step(r);
  return first == "linear" ? linear_kernel(step.request, *spec) : matmul_kernel(step.request, *spec);
}

/// Products of two activations with equal batch axes.
class BatchProduct : public Kernel {
 public:
  BatchProduct(const simd::Loops& loops, BatchGemm products) : loops_(loops), products_(products) {}
  int64_t workspace() const override { return matmul_workspace(loops_, products_, usable_threads()); }
  Status run(Call& c) const override {
    BatchGemm g = products_;
    g.one.a = c.in<float>(0).data();
    g.one.b = c.in<float>(1).data();
    g.one.c = c.out<float>(0).data();
    matmul_unpacked(loops_, *c.team, g, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  BatchGemm products_;
};

Result<std::unique_ptr<Kernel>> make_batch(const KernelRequest& r) {
  const auto& a = r.attr<MatmulAttrs>();
  const Shape &x = r.in[0].shape, &w = r.in[1].shape;
  if (!r.all_f32() || x.rank() < 2 || x.rank() != w.rank() || x.count() == 0 || w.count() == 0) return nullptr;
  const int64_t rank = x.rank();
  for (int64_t i = 0; i + 2 < rank; ++i)
    if (x[i] != w[i]) return nullptr;
  BatchGemm g;
  const int64_t xr = x[rank - 2], xc = x[rank - 1], wr = w[rank - 2], wc = w[rank - 1];
  g.one.m = a.transpose_a ? xc : xr, g.one.k = a.transpose_a ? xr : xc, g.one.n = a.transpose_b ? wr : wc;
  g.one.a_row_stride = a.transpose_a ? 1 : xc, g.one.a_col_stride = a.transpose_a ? xc : 1;
  g.b_row_stride = a.transpose_b ? 1 : wc, g.b_col_stride = a.transpose_b ? wc : 1;
  g.one.c_row_stride = g.one.n;
  g.batch = x.count() / (xr * xc);
  g.a_stride = xr * xc, g.b_stride = wr * wc, g.c_stride = g.one.m * g.one.n;
  return std::unique_ptr<Kernel>(std::make_unique<BatchProduct>(r.loops, g));
}

constexpr KernelDef kProductKernels[] = {{"linear", "gemm_f32", make_linear},
                                         {"matmul", "gemm_f32", make_matmul},
                                         {"matmul", "gemm_batch_f32", make_batch},
                                         {"fused", "gemm_f32", make_gemm_region}};

}  // namespace

std::span<const KernelDef> product_kernels() { return kProductKernels; }

}  // namespace nnex
