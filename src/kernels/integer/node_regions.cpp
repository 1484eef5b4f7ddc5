// Regions of whole numbers: stored narrow, computed in int32, exact.
// Everything wraps as the rows' own arithmetic does, so a kernel needs no proof of its own.

#include <algorithm>
#include <optional>

#include "kernels/conv/int8.h"
#include "kernels/fused.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm_i8.h"
#include "ops/matmul.h"
#include "ops/window.h"

namespace nnex::kernels {
namespace {

/// A region at the extents of one request, which may be those of a slice of what the graph declares.
class IntRegion {
 public:
  /// Nothing where a tensor is not what the form says: then the region's nodes run one by one.
  static std::optional<IntRegion> of(const KernelRequest& r) {
    const auto* form = fused_as<FusedIntegers>(r);
    if (!form || r.out.size() != 1 || !has_type(r.out[0], form->y_type) || r.out[0].shape.count() == 0) return {};
    const IntRegion region(*form, r.out[0].shape);
    if (!form->product.op && !region.is(r, form->start)) return {};
    for (const Source& s : form->operands)
      if (!region.is(r, s)) return {};
    return region;
  }

  const FusedOp& product() const { return form_.product; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool lies_in(int64_t rows, int64_t columns) const { return rows_ == rows && columns_ == columns; }

  simd::IntOperand start(const Call& c) const { return operand(c, form_.start); }

  IntChain chain(const Call& c) const {
    IntChain chain;
    chain.steps = form_.steps.steps(), chain.narrow = form_.steps.narrow();
    for (const Source& s : form_.operands) chain.operands[chain.n_operands++] = operand(c, s);
    chain.y = c.out(0).mutable_data(), chain.y_type = form_.y_type, chain.y_row_stride = columns_;
    return chain;
  }

  /// Whether the result may lie where this input does: every element is read before it is written, and not again.
  bool reads_once(size_t input) const {
    return std::all_of(form_.operands.begin(), form_.operands.end(), [&](const Source& s) {
      return s.input != static_cast<int>(input) || s.spread == Spread::whole;
    });
  }

 private:
  using Source = FusedIntegers::Source;
  using Spread = FusedIntegers::Spread;

  IntRegion(const FusedIntegers& form, const Shape& y)
      : form_(form), columns_(y.rank() > 0 ? y[y.rank() - 1] : 1), rows_(y.count() / columns_) {}

  static bool has_type(const Operand& o, simd::IntType type) {
    switch (type) {
      case simd::IntType::i8:
        return o.dtype == DType::i8;
      case simd::IntType::u8:
        return o.dtype == DType::u8;
      case simd::IntType::i16:
        return o.dtype == DType::i16;
      case simd::IntType::i32:
        return o.dtype == DType::i32;
    }
    return false;
  }

  static bool by_column(Spread s) { return s == Spread::row || s == Spread::whole; }
  static bool by_row(Spread s) { return s == Spread::column || s == Spread::whole; }

  bool is(const KernelRequest& r, const Source& s) const {
    const auto input = static_cast<size_t>(s.input);
    const int64_t elements = (by_row(s.spread) ? rows_ : 1) * (by_column(s.spread) ? columns_ : 1);
    return r.has(input) && has_type(r.in[input], s.type) && r.in[input].shape.count() == elements;
  }

  simd::IntOperand operand(const Call& c, const Source& s) const {
    const bool one = !by_column(s.spread);
    const int64_t row_stride = !by_row(s.spread) ? 0 : one ? 1 : columns_;
    return {c.in(static_cast<size_t>(s.input)).data(), s.type, one, row_stride};
  }

  FusedIntegers form_;
  int64_t columns_, rows_;  ///< Of the result: its last extent, and what is before it.
};

/// Bytes times a constant of signed bytes.
class ProductKernel : public Kernel {
 public:
  ProductKernel(const simd::Loops& loops, IntRegion region, Packs::Bytes packed)
      : loops_(loops), region_(std::move(region)), packed_(std::move(packed)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == region_.product().in[1]; }
  bool in_place(size_t input) const override {
    return static_cast<int>(input) != region_.product().in[0] && static_cast<int>(input) != region_.product().in[2] &&
           region_.reads_once(input);
  }

 protected:
  const Tensor& x(const Call& c) const { return c.in(static_cast<size_t>(region_.product().in[0])); }
  /// The end of the sums: straight to an int32 result where nothing follows, else through the chain.
  IntEpilogue epilogue(const Call& c, const IntChain& chain) const {
    IntEpilogue end;
    if (const int bias = region_.product().in[2]; bias >= 0) end.bias = c.in<int32_t>(static_cast<size_t>(bias)).data();
    if (chain.steps.empty() && chain.y_type == simd::IntType::i32)
      end.c = reinterpret_cast<int32_t*>(chain.y), end.c_row_stride = region_.columns();
    else
      end.chain = &chain;
    return end;
  }

  const simd::Loops& loops_;
  IntRegion region_;
  Packs::Bytes packed_;
};

class IntConv : public ProductKernel {
 public:
  IntConv(const simd::Loops& loops, IntRegion region, Packs::Bytes filter, const ConvShape& shape)
      : ProductKernel(loops, std::move(region), std::move(filter)), shape_(shape) {}
  // A depthwise line may do some channels twice.
  bool in_place(size_t input) const override {
    return conv_method(shape_) != ConvMethod::depthwise && ProductKernel::in_place(input);
  }
  int64_t workspace() const override { return conv_i8_workspace(loops_, shape_, true); }
  Status run(Call& c) const override {
    const IntChain chain = region_.chain(c);
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
  auto region = IntRegion::of(r);
  const auto* a = region ? region->product().as<ConvAttrs>() : nullptr;
  if (!a) return nullptr;
  const FusedRequest product(r, region->product());
  const Operand &x = product.in[0], &w = product.in[1];
  auto shape = conv_shape(*a, x.shape, w.shape);
  if (!shape || !w.constant || !region->lies_in(shape->batch * shape->out_pixels(), shape->out_channels))
    return nullptr;
  const ByteFilter filter{w.constant->data(), true, nullptr, 0};
  const std::string key = filter_key(conv_i8_packing(r.loops, *shape), r, w, *shape);
  NNEX_ASSIGN(auto packed, r.packs.get(key, conv_i8_filter_bytes(r.loops, *shape), [&](std::byte* to) {
    conv_i8_pack_filter(r.loops, r.team, *shape, filter, to);
  }));
  return made<IntConv>(r.loops, *std::move(region), std::move(packed), *shape);
}

class IntGemm : public ProductKernel {
 public:
  IntGemm(const simd::Loops& loops, IntRegion region, Packs::Bytes b, int64_t k)
      : ProductKernel(loops, std::move(region), std::move(b)), k_(k) {}
  int64_t workspace() const override { return gemm_i8_workspace(loops_, region_.rows(), region_.columns(), k_, true); }
  Status run(Call& c) const override {
    const IntChain chain = region_.chain(c);
    GemmI8 g;
    g.m = region_.rows(), g.n = region_.columns(), g.k = k_;
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
  auto region = IntRegion::of(r);
  const auto* a = region ? region->product().as<LinearAttrs>() : nullptr;
  if (!a) return nullptr;
  const FusedRequest product(r, region->product());
  const Operand &x = product.in[0], &w = product.in[1];
  if (!w.constant || w.shape.rank() != 2 || w.shape.count() == 0) return nullptr;
  const int64_t k = w.shape[a->transpose_b ? 1 : 0], n = w.shape[a->transpose_b ? 0 : 1];
  if (x.shape.rank() != 2 || x.shape[1] != k || !region->lies_in(x.shape[0], n)) return nullptr;
  const ByteMatrix b{w.constant->data(), k, n, a->transpose_b ? 1 : n, a->transpose_b ? k : 1, true, nullptr, 0};
  const std::string key = pack_key(a->transpose_b ? "gemm_int transposed" : "gemm_int", r, w);
  NNEX_ASSIGN(auto packed, r.packs.get(key, packed_bytes_i8(r.loops, k, n),
                                       [&](std::byte* to) { pack_b_i8(r.loops, r.team, b, to); }));
  return made<IntGemm>(r.loops, *std::move(region), std::move(packed), k);
}

class IntElements : public Kernel {
 public:
  IntElements(const simd::Loops& loops, IntRegion region) : loops_(loops), region_(std::move(region)) {}
  bool in_place(size_t input) const override { return region_.reads_once(input); }
  Status run(Call& c) const override {
    region_.chain(c).run(loops_, *c.team, region_.start(c), region_.rows(), region_.columns());
    return {};
  }

 private:
  const simd::Loops& loops_;
  IntRegion region_;
};

Result<std::unique_ptr<Kernel>> make_elements(const KernelRequest& r) {
  auto region = IntRegion::of(r);
  if (!region || region->product().op) return nullptr;
  return made<IntElements>(r.loops, *std::move(region));
}

constexpr KernelDef kIntKernels[] = {{"fused", "conv_int", make_conv, "cast"},
                                     {"fused", "gemm_int", make_gemm, "cast"},
                                     {"fused", "chain_int", make_elements, "cast"}};

}  // namespace

std::span<const KernelDef> int_region_kernels() { return built<kIntKernels>(); }

}  // namespace nnex::kernels
