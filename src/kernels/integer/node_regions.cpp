// Regions of whole numbers: stored narrow, computed in int32, exact.
// Everything wraps as the rows' own arithmetic does, so a kernel needs no proof of its own.

#include <algorithm>

#include "kernels/conv/int8.h"
#include "kernels/fused.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm_i8.h"
#include "ops/matmul.h"
#include "ops/window.h"

namespace nnex::kernels {
namespace {

simd::IntOperand operand(const Call& c, const FusedIntegers::Source& s) {
  return {c.in(static_cast<size_t>(s.input)).data(), s.type, s.one, s.row_stride};
}

IntChain chain_of(const Call& c, const FusedIntegers& f) {
  IntChain chain;
  chain.steps = f.steps.steps(), chain.narrow = f.steps.narrow();
  for (const FusedIntegers::Source& s : f.operands) chain.operands[chain.n_operands++] = operand(c, s);
  chain.y = c.out(0).mutable_data(), chain.y_type = f.y_type, chain.y_row_stride = f.columns;
  return chain;
}

/// Whether the result may lie where this input does: every element is read before it is written, and not again.
bool reads_once(const FusedIntegers& f, size_t input) {
  return std::all_of(f.operands.begin(), f.operands.end(),
                     [&](const FusedIntegers::Source& s) { return s.input != static_cast<int>(input) || !s.one; });
}

/// Bytes times a constant of signed bytes.
class ProductKernel : public Kernel {
 public:
  ProductKernel(const simd::Loops& loops, FusedIntegers fused, Packs::Bytes packed)
      : loops_(loops), fused_(std::move(fused)), packed_(std::move(packed)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == fused_.product.in[1]; }
  bool in_place(size_t input) const override {
    return static_cast<int>(input) != fused_.product.in[0] && static_cast<int>(input) != fused_.product.in[2] &&
           reads_once(fused_, input);
  }

 protected:
  const Tensor& x(const Call& c) const { return c.in(static_cast<size_t>(fused_.product.in[0])); }
  /// The end of the sums: straight to an int32 result where nothing follows, else through the chain.
  IntEpilogue epilogue(const Call& c, const IntChain& chain) const {
    IntEpilogue end;
    if (const int bias = fused_.product.in[2]; bias >= 0) end.bias = c.in<int32_t>(static_cast<size_t>(bias)).data();
    if (chain.steps.empty() && chain.y_type == simd::IntType::i32)
      end.c = reinterpret_cast<int32_t*>(chain.y), end.c_row_stride = fused_.columns;
    else
      end.chain = &chain;
    return end;
  }

  const simd::Loops& loops_;
  FusedIntegers fused_;
  Packs::Bytes packed_;
};

class IntConv : public ProductKernel {
 public:
  IntConv(const simd::Loops& loops, FusedIntegers fused, Packs::Bytes filter, const ConvShape& shape)
      : ProductKernel(loops, std::move(fused), std::move(filter)), shape_(shape) {}
  // A depthwise line may do some channels twice.
  bool in_place(size_t input) const override {
    return conv_method(shape_) != ConvMethod::depthwise && ProductKernel::in_place(input);
  }
  int64_t workspace() const override { return conv_i8_workspace(loops_, shape_, true); }
  Status run(Call& c) const override {
    const IntChain chain = chain_of(c, fused_);
    ConvI8 conv;
    conv.x = x(c).data(), conv.x_signed = x(c).dtype() == DType::i8;
    conv.packed = packed_.get();
    conv.end = epilogue(c, chain);
    conv_i8(loops_, *c.team, shape_, conv, c.workspace);
    return {};
  }

 private:
  ConvShape shape_;
};

Result<std::unique_ptr<Kernel>> make_conv(const KernelRequest& r) {
  const auto* fused = fused_as<FusedIntegers>(r);
  const auto* a = fused ? fused->product.as<ConvAttrs>() : nullptr;
  if (!a) return nullptr;
  const FusedRequest product(r, fused->product);
  const Operand &x = product.in[0], &w = product.in[1];
  auto shape = conv_shape(*a, x.shape, w.shape);
  if (!shape || !w.constant) return nullptr;
  const ByteFilter filter{w.constant->data(), true, nullptr, 0};
  const std::string key = filter_key(conv_i8_packing(r.loops, *shape), r, w, *shape);
  NNEX_ASSIGN(auto packed, r.packs.get(key, conv_i8_filter_bytes(r.loops, *shape), [&](std::byte* to) {
    conv_i8_pack_filter(r.loops, r.team, *shape, filter, to);
  }));
  return made<IntConv>(r.loops, *fused, std::move(packed), *shape);
}

class IntGemm : public ProductKernel {
 public:
  IntGemm(const simd::Loops& loops, FusedIntegers fused, Packs::Bytes b, int64_t k)
      : ProductKernel(loops, std::move(fused), std::move(b)), k_(k) {}
  int64_t workspace() const override { return gemm_i8_workspace(loops_, fused_.rows, fused_.columns, k_, true); }
  Status run(Call& c) const override {
    const IntChain chain = chain_of(c, fused_);
    GemmI8 g;
    g.m = fused_.rows, g.n = fused_.columns, g.k = k_;
    g.a = x(c).data(), g.a_row_stride = k_, g.a_signed = x(c).dtype() == DType::i8;
    g.b = packed_.get();
    g.end = epilogue(c, chain);
    gemm_i8(loops_, *c.team, g, c.workspace);
    return {};
  }

 private:
  int64_t k_;
};

Result<std::unique_ptr<Kernel>> make_gemm(const KernelRequest& r) {
  const auto* fused = fused_as<FusedIntegers>(r);
  const auto* a = fused ? fused->product.as<LinearAttrs>() : nullptr;
  if (!a) return nullptr;
  const FusedRequest product(r, fused->product);
  const Operand& w = product.in[1];
  if (!w.constant || w.shape.rank() != 2 || w.shape.count() == 0) return nullptr;
  const int64_t k = w.shape[a->transpose_b ? 1 : 0], n = w.shape[a->transpose_b ? 0 : 1];
  const ByteMatrix b{w.constant->data(), k, n, a->transpose_b ? 1 : n, a->transpose_b ? k : 1, true, nullptr, 0};
  const std::string key = pack_key(a->transpose_b ? "gemm_int transposed" : "gemm_int", r, w);
  NNEX_ASSIGN(auto packed, r.packs.get(key, packed_bytes_i8(r.loops, k, n),
                                       [&](std::byte* to) { pack_b_i8(r.loops, r.team, b, to); }));
  return made<IntGemm>(r.loops, *fused, std::move(packed), k);
}

class IntElements : public Kernel {
 public:
  IntElements(const simd::Loops& loops, FusedIntegers fused) : loops_(loops), fused_(std::move(fused)) {}
  bool in_place(size_t input) const override { return reads_once(fused_, input); }
  Status run(Call& c) const override {
    chain_of(c, fused_).run(loops_, *c.team, operand(c, fused_.start), fused_.rows, fused_.columns);
    return {};
  }

 private:
  const simd::Loops& loops_;
  FusedIntegers fused_;
};

Result<std::unique_ptr<Kernel>> make_elements(const KernelRequest& r) {
  const auto* fused = fused_as<FusedIntegers>(r);
  if (!fused || fused->product.op) return nullptr;
  return made<IntElements>(r.loops, *fused);
}

constexpr KernelDef kIntKernels[] = {{"fused", "conv_int", make_conv, "cast"},
                                     {"fused", "gemm_int", make_gemm, "cast"},
                                     {"fused", "chain_int", make_elements, "cast"}};

}  // namespace

std::span<const KernelDef> int_region_kernels() { return built<kIntKernels>(); }

}  // namespace nnex::kernels
