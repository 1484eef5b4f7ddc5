// Regions of whole numbers that passes/narrow_integers.cpp makes: stored narrow, computed in int32, exact.
//     x' = cast(x, i32)   y = conv | linear (x', filter, bias)   y = add | mul | max | relu | clamp | shift ... (y)
//     cast(y, narrow)
// Everything wraps as the rows' own arithmetic does, so a kernel needs no proof of its own.

#include <algorithm>

#include "kernels/conv/int8.h"
#include "kernels/conv/spans.h"
#include "kernels/integer/steps.h"
#include "kernels/kernel.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm_i8.h"
#include "ops/activation.h"
#include "ops/matmul.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "tensor/convert.h"

namespace nnex::kernels {
namespace {

std::optional<simd::IntType> storage(DType t) {
  switch (t) {
    case DType::i8:
      return simd::IntType::i8;
    case DType::u8:
      return simd::IntType::u8;
    case DType::i16:
      return simd::IntType::i16;
    case DType::i32:
      return simd::IntType::i32;
    default:
      return std::nullopt;
  }
}

/// A tensor that the chain reads beside its element: an input of the node.
struct Source {
  int input = 0;
  simd::IntType type = simd::IntType::i32;
  bool one = false;
  int64_t row_stride = 0;
};

/// A region as one chain: what it starts from, and the steps behind.
struct IntRegion {
  const RegionStep* product = nullptr;  ///< conv or linear; null: the chain starts from `x`.
  int x = 0, w = 0, bias = -1;          ///< Inputs of the node.
  Source start;                         ///< Without a product.
  IntSteps steps;
  std::vector<Source> operands;
  simd::IntType y_type = simd::IntType::i32;
  int64_t rows = 1, columns = 1;

  IntChain chain(const Call& c) const {
    IntChain chain;
    chain.steps = steps.steps(), chain.narrow = steps.narrow();
    for (const Source& s : operands) chain.operands[chain.n_operands++] = operand(c, s);
    chain.y = c.out(0).mutable_data(), chain.y_type = y_type, chain.y_row_stride = columns;
    return chain;
  }
  static simd::IntOperand operand(const Call& c, const Source& s) {
    return {c.in(static_cast<size_t>(s.input)).data(), s.type, s.one, s.row_stride};
  }
  /// Whether the result may lie where this input does: every element is read before it is written, and not again.
  bool in_place(size_t input) const {
    const auto reads_once = [&](const Source& s) { return s.input != static_cast<int>(input) || !s.one; };
    return std::all_of(operands.begin(), operands.end(), reads_once);
  }
};

/// Reads a region step by step.
class Reader {
 public:
  explicit Reader(const KernelRequest& r) : r_(r), outer_(static_cast<int>(r.in.size())) {}

  std::optional<IntRegion> read() {
    if (r_.region.empty() || r_.out[0].shape.count() == 0) return std::nullopt;
    const auto y = storage(r_.out[0].dtype);
    if (!y) return std::nullopt;
    out_.y_type = *y;
    shape_ = r_.out[0].shape;
    out_.columns = shape_.rank() > 0 ? shape_[shape_.rank() - 1] : 1;
    out_.rows = shape_.count() / out_.columns;
    for (size_t i = 0; i < r_.region.size(); ++i)
      if (!step(r_.region[i], static_cast<int>(i), i + 1 == r_.region.size())) return std::nullopt;
    if (element_ != outer_ + static_cast<int>(r_.region.size()) - 1) return std::nullopt;
    out_.steps.finish(begins_, out_.product ? simd::IntType::i32 : out_.start.type, out_.y_type);
    return std::move(out_);
  }

 private:
  bool step(const RegionStep& s, int i, bool last) {
    const int value = outer_ + i;
    if (s.op->name == "cast") {
      if (last && s.in[0] == element_ && s.out.dtype == r_.out[0].dtype) {
        element_ = value;
        return true;
      }
      return s.out.dtype == DType::i32 && s.in[0] >= 0 && s.in[0] < outer_;  // a source
    }
    if (s.out.dtype != DType::i32 || !(s.out.shape == shape_)) return false;
    const bool begins = element_ < 0;
    if (begins && is_biased_product(*s.op)) {
      if (!product(s)) return false;
    } else {
      if (begins && !start(s)) return false;
      if (!element_wise(s)) return false;
    }
    element_ = value;
    return true;
  }

  bool product(const RegionStep& s) {
    out_.product = &s;
    const int x = input_of(s.in[0]), w = input_of(s.in[1]);
    if (x < 0 || w < 0) return false;
    out_.x = x, out_.w = w;
    if (s.in.size() >= 3 && s.in[2] >= 0) {
      out_.bias = input_of(s.in[2]);
      if (out_.bias < 0 || at(out_.bias).dtype != DType::i32) return false;
    }
    begins_ = sums();
    return true;
  }

  /// What the sums of a product of bytes lie in.
  IntRange sums() const {
    const Shape& w = at(out_.w).shape;
    if (out_.columns == 0 || w.count() > (int64_t{1} << 40)) return {};
    const int64_t max = w.count() / out_.columns * 255 * 128;
    IntRange r = {-max, max};
    if (out_.bias >= 0) {
      const Tensor* bias = at(out_.bias).constant;
      if (!bias) return {};
      int64_t min = 0, greatest = 0;
      for (int64_t i = 0; i < bias->count(); ++i) {
        const int64_t b = int_at(*bias, i);
        min = std::min(min, b), greatest = std::max(greatest, b);
      }
      r.low += min, r.high += greatest;
    }
    return r.inside(INT32_MIN, INT32_MAX) ? r : IntRange{};
  }

  /// The first operator of a chain without a product: it goes on from an input of the result's extents.
  bool start(const RegionStep& s) {
    for (int v : s.in) {
      const int input = v < 0 ? -1 : input_of(v);
      if (input < 0 || !(at(input).shape == shape_)) continue;
      const auto source = source_of(v);
      if (!source) return false;
      out_.start = *source, element_ = v;
      begins_ = range_of(source->type);
      return true;
    }
    return false;
  }

  bool element_wise(const RegionStep& s) {
    if (const auto kind = int_binary(s.op->name)) {
      const bool first = s.in[0] == element_;
      if (!first && s.in[1] != element_) return false;
      return binary(*kind, first, s.in[first ? 1 : 0]);
    }
    if (s.in.empty() || s.in[0] != element_) return false;
    std::vector<Operand> in;
    for (int v : s.in) in.push_back(v >= 0 && v < outer_ ? at(v) : Operand{v < 0 ? DType::none : DType::i32, {}});
    return int_unary(*s.op, s.attrs, in, out_.steps);
  }

  bool binary(simd::IntStepKind kind, bool element_first, int other) {
    const auto source = source_of(other);
    if (!source) return false;
    const Operand& o = at(source->input);
    if (o.constant && o.shape.count() == 1 && int_with_number(kind, int_at(*o.constant, 0), out_.steps)) return true;
    if (kind == simd::IntStepKind::subtract && !element_first) kind = simd::IntStepKind::subtract_from;
    if (out_.operands.size() == IntChain::kMaxOperands) return false;
    out_.steps.combine(kind, static_cast<int>(out_.operands.size()), range_of(source->type));
    out_.operands.push_back(*source);
    return true;
  }

  const Operand& at(int input) const { return r_.in[static_cast<size_t>(input)]; }

  /// The node's input that v is, or is a cast of; -1: none.
  int input_of(int v) const {
    if (v < 0) return -1;
    if (v < outer_) return v;
    const RegionStep& s = r_.region[static_cast<size_t>(v - outer_)];
    return s.op->name == "cast" && s.in[0] >= 0 && s.in[0] < outer_ ? s.in[0] : -1;
  }

  /// v as an operand beside elements of shape_: one number, a row, a column, or all of it.
  std::optional<Source> source_of(int v) const {
    const int input = input_of(v);
    if (input < 0) return std::nullopt;
    const Shape& s = at(input).shape;
    const auto type = storage(at(input).dtype);
    if (!type) return std::nullopt;
    const int64_t rank = s.rank(), last = rank > 0 ? s[rank - 1] : 1;
    if (s == shape_) return Source{input, *type, false, out_.columns};
    if (s.count() == 1 && rank <= shape_.rank()) return Source{input, *type, true, 0};
    if (rank <= shape_.rank() && last == out_.columns && s.count() == last) return Source{input, *type, false, 0};
    if (rank == shape_.rank() && last == 1 && s.count() == out_.rows &&
        std::equal(s.begin(), s.end() - 1, shape_.begin()))
      return Source{input, *type, true, 1};
    return std::nullopt;
  }

  const KernelRequest& r_;
  int outer_;
  int element_ = -1;  ///< The value that the chain stands at.
  IntRange begins_;   ///< What the chain's first element lies in.
  Shape shape_;
  IntRegion out_;
};

bool is_byte(DType t) { return t == DType::u8 || t == DType::i8; }

/// What products read: bytes times a constant of signed bytes.
bool byte_product(const KernelRequest& r, const IntRegion& region) {
  const Operand &x = r.in[static_cast<size_t>(region.x)], &w = r.in[static_cast<size_t>(region.w)];
  return is_byte(x.dtype) && w.dtype == DType::i8 && w.constant && x.shape.count() > 0 && w.shape.count() > 0;
}

/// The end of a product's sums: straight to an int32 result where nothing follows, else through the chain.
IntEpilogue epilogue_of(const Call& c, const IntRegion& region, const IntChain& chain) {
  IntEpilogue end;
  if (region.bias >= 0) end.bias = c.in<int32_t>(static_cast<size_t>(region.bias)).data();
  if (chain.steps.empty() && chain.y_type == simd::IntType::i32)
    end.c = reinterpret_cast<int32_t*>(chain.y), end.c_row_stride = region.columns;
  else
    end.chain = &chain;
  return end;
}

class IntConv : public Kernel {
 public:
  IntConv(const simd::Loops& loops, ConvShape shape, IntRegion region, Packs::Bytes filter)
      : loops_(loops), shape_(shape), region_(std::move(region)), filter_(std::move(filter)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == region_.w; }
  // A depthwise line may do some channels twice.
  bool in_place(size_t input) const override {
    return static_cast<int>(input) != region_.x && static_cast<int>(input) != region_.bias &&
           conv_method(shape_) != ConvMethod::depthwise && region_.in_place(input);
  }
  int64_t workspace() const override { return conv_i8_workspace(loops_, shape_, true); }
  Status run(Call& c) const override {
    const IntChain chain = region_.chain(c);
    const Tensor& x = c.in(static_cast<size_t>(region_.x));
    ConvI8 conv;
    conv.x = x.data(), conv.x_signed = x.dtype() == DType::i8;
    conv.packed = filter_.get();
    conv.end = epilogue_of(c, region_, chain);
    conv_i8(loops_, *c.team, shape_, conv, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  ConvShape shape_;
  IntRegion region_;
  Packs::Bytes filter_;
};

Result<std::unique_ptr<Kernel>> make_conv(const KernelRequest& r) {
  auto region = Reader(r).read();
  if (!region || !region->product || region->product->op->name != "conv" || !byte_product(r, *region)) return nullptr;
  const auto& a = *static_cast<const ConvAttrs*>(region->product->attrs);
  const Operand &x = r.in[static_cast<size_t>(region->x)], &w = r.in[static_cast<size_t>(region->w)];
  if (!a.channels_last || a.border != ConvBorder::constant) return nullptr;
  auto shape = conv_shape(a, x.shape, w.shape);
  if (!shape) return nullptr;
  shape->plain_filter = true;
  const ByteFilter filter{w.constant->data(), true, nullptr, 0};
  const std::string key = filter_key(is_span_conv(*shape) ? "conv_int spans" : "conv_int", r, w, *shape);
  NNEX_ASSIGN(auto packed, r.packs.get(key, conv_i8_filter_bytes(r.loops, *shape), [&](std::byte* to) {
    conv_i8_pack_filter(r.loops, r.team, *shape, filter, to);
  }));
  return made<IntConv>(r.loops, *shape, std::move(*region), std::move(packed));
}

class IntGemm : public Kernel {
 public:
  IntGemm(const simd::Loops& loops, int64_t k, IntRegion region, Packs::Bytes b)
      : loops_(loops), k_(k), region_(std::move(region)), b_(std::move(b)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == region_.w; }
  bool in_place(size_t input) const override {
    return static_cast<int>(input) != region_.x && static_cast<int>(input) != region_.bias && region_.in_place(input);
  }
  int64_t workspace() const override { return gemm_i8_workspace(loops_, region_.rows, region_.columns, k_, true); }
  Status run(Call& c) const override {
    const IntChain chain = region_.chain(c);
    const Tensor& x = c.in(static_cast<size_t>(region_.x));
    GemmI8 g;
    g.m = region_.rows, g.n = region_.columns, g.k = k_;
    g.a = x.data(), g.a_row_stride = k_, g.a_signed = x.dtype() == DType::i8;
    g.b = b_.get();
    g.end = epilogue_of(c, region_, chain);
    gemm_i8(loops_, *c.team, g, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  int64_t k_;
  IntRegion region_;
  Packs::Bytes b_;
};

Result<std::unique_ptr<Kernel>> make_gemm(const KernelRequest& r) {
  auto region = Reader(r).read();
  if (!region || !region->product || region->product->op->name != "linear" || !byte_product(r, *region)) return nullptr;
  const auto& a = *static_cast<const LinearAttrs*>(region->product->attrs);
  const Operand &x = r.in[static_cast<size_t>(region->x)], &w = r.in[static_cast<size_t>(region->w)];
  if (a.transpose_a || a.alpha != 1 || a.beta != 1 || x.shape.rank() != 2 || w.shape.rank() != 2) return nullptr;
  if (region->bias >= 0) {
    const Shape& bias = r.in[static_cast<size_t>(region->bias)].shape;
    if (bias.count() != region->columns || (bias.rank() > 0 && bias[bias.rank() - 1] != region->columns))
      return nullptr;
  }
  const int64_t k = w.shape[a.transpose_b ? 1 : 0], n = w.shape[a.transpose_b ? 0 : 1];
  const ByteMatrix b{w.constant->data(), k, n, a.transpose_b ? 1 : n, a.transpose_b ? k : 1, true, nullptr, 0};
  const std::string key = pack_key(a.transpose_b ? "gemm_int transposed" : "gemm_int", r, w);
  NNEX_ASSIGN(auto packed, r.packs.get(key, packed_bytes_i8(r.loops, k, n),
                                       [&](std::byte* to) { pack_b_i8(r.loops, r.team, b, to); }));
  return made<IntGemm>(r.loops, k, std::move(*region), std::move(packed));
}

class IntElements : public Kernel {
 public:
  IntElements(const simd::Loops& loops, IntRegion region) : loops_(loops), region_(std::move(region)) {}
  bool in_place(size_t input) const override { return region_.in_place(input); }
  Status run(Call& c) const override {
    region_.chain(c).run(loops_, *c.team, IntRegion::operand(c, region_.start), region_.rows, region_.columns);
    return {};
  }

 private:
  const simd::Loops& loops_;
  IntRegion region_;
};

Result<std::unique_ptr<Kernel>> make_elements(const KernelRequest& r) {
  auto region = Reader(r).read();
  if (!region || region->product) return nullptr;
  return made<IntElements>(r.loops, std::move(*region));
}

constexpr KernelDef kIntKernels[] = {{"fused", "conv_int", make_conv, "cast"},
                                     {"fused", "gemm_int", make_gemm, "cast"},
                                     {"fused", "chain_int", make_elements, "cast"}};

}  // namespace

std::span<const KernelDef> int_region_kernels() { return built<kIntKernels>(); }

}  // namespace nnex::kernels
