#include "kernels/quantize/node_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/conv/int8.h"
#include "kernels/convert/convert.h"
#include "kernels/elementwise/chain.h"
#include "kernels/elementwise/pointwise.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm_i8.h"
#include "kernels/split.h"
#include "ops/matmul.h"
#include "ops/window.h"
#include "tensor/convert.h"

namespace nnex::kernels {
namespace {

bool is_byte(DType t) { return t == DType::u8 || t == DType::i8; }

/// A region's steps by what they read.
class Region {
 public:
  explicit Region(const KernelRequest& r) : r_(r), outer_(static_cast<int>(r.in.size())) {}

  const RegionStep* step_of(int v) const { return v >= outer_ ? &r_.region[static_cast<size_t>(v - outer_)] : nullptr; }
  Operand operand(int v) const {
    if (v < 0) return {};
    return v < outer_ ? r_.in[static_cast<size_t>(v)] : step_of(v)->out;
  }
  Operand input(const RegionStep& s, size_t i) const { return i < s.in.size() ? operand(s.in[i]) : Operand{}; }
  /// The scale of a step that (de)quantises.
  std::optional<ByteScale> scale_of(const RegionStep& s, DType bytes) const {
    return byte_scale(input(s, 1), input(s, 2), bytes);
  }
  /// The dequantize_linear of a region's input that makes v.
  const RegionStep* dequantized(int v) const {
    const RegionStep* s = v < 0 ? nullptr : step_of(v);
    return s && s->op->name == "dequantize_linear" && s->in[0] >= 0 && s->in[0] < outer_ ? s : nullptr;
  }

 private:
  const KernelRequest& r_;
  int outer_;
};

// ---- Products
// ---------------------------------------------------------------------------------------------------------------------

/// What all products of bytes share: int32 bias, requantisation, and where the bytes come from.
struct ByteProduct {
  int x = 0, w = 0;
  ByteScale x_scale, y_scale;
  std::vector<int32_t> bias;
  std::vector<float> scale;  ///< From sums to the result's bytes, by column.
  int32_t low = 0, high = 255;
  bool w_signed = true;
  std::vector<int32_t> w_zero;  ///< One, or one a column.
  const RegionStep* product = nullptr;

  IntEpilogue epilogue(std::byte* y, int64_t row_stride) const {
    IntEpilogue end;
    end.bias = bias.empty() ? nullptr : bias.data();
    end.y = y, end.y_row_stride = row_stride;
    end.to_bytes = {scale.data(), 1, y_scale.zero, low, high};
    return end;
  }
};

/// Reals of a constant, one or n of them.
std::optional<Reals> reals(const Operand& o, int64_t n) {
  if (!o.constant || (o.constant->count() != 1 && o.constant->count() != n)) return std::nullopt;
  Reals out;
  for (int64_t i = 0; i < n; ++i) out.push_back(real_at(*o.constant, o.constant->count() == 1 ? 0 : i));
  return out;
}

/// product(dequantize(x), dequantize(constant w), bias?) [+ constant row] [relu | clamp], quantize; w_axis: of w, along
/// which the product's columns lie.
std::optional<ByteProduct> byte_product(const KernelRequest& r, std::string_view name, int64_t w_axis) {
  const Region region(r);
  const RegionStep& last = r.region.back();
  if (last.op->name != "quantize_linear" || last.in[0] < static_cast<int>(r.in.size())) return std::nullopt;
  ByteProduct p;
  const RegionStep* step = region.step_of(last.in[0]);
  std::optional<Unary> activation;
  if (step->op->name != name && step->op->name != "add") {
    std::vector<Operand> in;
    for (size_t i = 0; i < step->in.size(); ++i) in.push_back(region.input(*step, i));
    activation = unary_of(*step->op, step->attrs, in);
    if (!activation || (activation->kind != UnaryKind::relu && activation->kind != UnaryKind::clamp))
      return std::nullopt;
    step = region.step_of(step->in[0]);
  }
  int bias = -1;
  if (step && step->op->name == "add") {
    const size_t row = region.step_of(step->in[0]) ? 1 : 0;
    bias = step->in[row];
    step = region.step_of(step->in[1 - row]);
    if (!step || !region.operand(bias).constant || (step->in.size() > 2 && step->in[2] >= 0)) return std::nullopt;
  }
  if (!step || step->op->name != name || step->in.size() < 2) return std::nullopt;
  p.product = step;
  if (bias < 0 && step->in.size() > 2) bias = step->in[2];
  const RegionStep *x = region.dequantized(step->in[0]), *w = region.dequantized(step->in[1]);
  if (!x || !w) return std::nullopt;
  p.x = x->in[0], p.w = w->in[0];
  const Operand xb = region.operand(p.x), wb = region.operand(p.w);
  const auto x_scale = region.scale_of(*x, xb.dtype), y_scale = region.scale_of(last, r.out[0].dtype);
  if (!x_scale || !y_scale || !is_byte(wb.dtype) || !wb.constant) return std::nullopt;
  p.x_scale = *x_scale, p.y_scale = *y_scale, p.w_signed = wb.dtype == DType::i8;
  const int64_t n = wb.shape[w_axis];
  const auto w_scale = reals(region.input(*w, 1), n);
  if (!w_scale) return std::nullopt;
  p.w_zero = {0};
  if (const Operand zero = region.input(*w, 2); zero.given()) {
    const auto zeros = reals(zero, n);
    if (!zeros) return std::nullopt;
    p.w_zero.assign(zeros->begin(), zeros->end());
  }
  for (int64_t c = 0; c < n; ++c)
    p.scale.push_back(static_cast<float>(static_cast<double>(p.x_scale.scale) * (*w_scale)[static_cast<size_t>(c)] /
                                         static_cast<double>(p.y_scale.scale)));
  if (bias >= 0) {
    // A constant, or integers of a scale of their own: in units of the sums.
    Operand b = region.operand(bias);
    Reals scale(static_cast<size_t>(n), 1), zero(static_cast<size_t>(n), 0);
    if (const RegionStep* d = region.dequantized(bias)) {
      b = region.operand(d->in[0]);
      auto s = reals(region.input(*d, 1), n);
      const Operand z = region.input(*d, 2);
      auto zs = z.given() ? reals(z, n) : std::optional<Reals>(zero);
      if (!s || !zs) return std::nullopt;
      scale = std::move(*s), zero = std::move(*zs);
    }
    const auto numbers = reals(b, n);
    if (!numbers) return std::nullopt;
    for (size_t c = 0; c < static_cast<size_t>(n); ++c) {
      const double unit = static_cast<double>(p.x_scale.scale) * (*w_scale)[c];
      const double sums = std::nearbyint(((*numbers)[c] - zero[c]) * scale[c] / unit);
      if (!(std::abs(sums) < 1e9)) return std::nullopt;
      p.bias.push_back(static_cast<int32_t>(sums));
    }
  }
  p.low = p.y_scale.low(), p.high = p.y_scale.high();
  if (activation) {
    const auto byte = [&](float limit, int32_t otherwise) {
      if (limit != limit) return otherwise;
      const double at =
          std::nearbyint(static_cast<double>(limit) / static_cast<double>(p.y_scale.scale)) + p.y_scale.zero;
      return static_cast<int32_t>(std::clamp<double>(at, p.y_scale.low(), p.y_scale.high()));
    };
    const bool relu = activation->kind == UnaryKind::relu;
    p.low = byte(relu ? 0 : activation->alpha, p.low);
    if (!relu) p.high = byte(activation->beta, p.high);
    if (p.low > p.high) return std::nullopt;
  }
  return p;
}

class ByteConv : public Kernel {
 public:
  ByteConv(const simd::Loops& loops, ConvShape shape, ByteProduct p, Packs::Bytes filter)
      : loops_(loops), shape_(shape), p_(std::move(p)), filter_(std::move(filter)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == p_.w; }
  int64_t workspace() const override { return conv_i8_workspace(loops_, shape_, true); }
  Status run(Call& c) const override {
    ConvI8 conv;
    conv.x = c.in(static_cast<size_t>(p_.x)).data();
    conv.x_signed = p_.x_scale.is_signed, conv.x_zero = p_.x_scale.zero;
    conv.packed = filter_.get();
    conv.end = p_.epilogue(c.out(0).mutable_data(), shape_.out_channels);
    conv_i8(loops_, *c.team, shape_, conv, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  ConvShape shape_;
  ByteProduct p_;
  Packs::Bytes filter_;
};

Result<std::unique_ptr<Kernel>> make_conv(const KernelRequest& r) {
  auto p = byte_product(r, "conv", 0);
  if (!p) return nullptr;
  const auto& a = *static_cast<const ConvAttrs*>(p->product->attrs);
  const Region region(r);
  const Operand x = region.operand(p->x), w = region.operand(p->w);
  if (!a.channels_last || a.border != ConvBorder::constant) return nullptr;
  const auto shape = conv_shape(a, x.shape, w.shape);
  if (!shape) return nullptr;
  const ByteFilter filter{w.constant->data(), p->w_signed, p->w_zero.data(), p->w_zero.size() > 1 ? 1 : 0};
  const std::string key = filter_key("conv_i8", r, w, *shape, p->w_zero);
  NNEX_ASSIGN(auto packed, r.packs.get(key, conv_i8_filter_bytes(r.loops, *shape), [&](std::byte* to) {
    conv_i8_pack_filter(r.loops, r.team, *shape, filter, to);
  }));
  return std::unique_ptr<Kernel>(std::make_unique<ByteConv>(r.loops, *shape, std::move(*p), std::move(packed)));
}

class ByteGemm : public Kernel {
 public:
  ByteGemm(const simd::Loops& loops, int64_t m, int64_t n, int64_t k, ByteProduct p, Packs::Bytes b)
      : loops_(loops), m_(m), n_(n), k_(k), p_(std::move(p)), b_(std::move(b)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == p_.w; }
  int64_t workspace() const override { return gemm_i8_workspace(loops_, m_, n_, k_, true); }
  Status run(Call& c) const override {
    GemmI8 g;
    g.m = m_, g.n = n_, g.k = k_;
    g.a = c.in(static_cast<size_t>(p_.x)).data(), g.a_row_stride = k_;
    g.a_signed = p_.x_scale.is_signed, g.a_zero = p_.x_scale.zero;
    g.b = b_.get();
    g.end = p_.epilogue(c.out(0).mutable_data(), n_);
    gemm_i8(loops_, *c.team, g, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  int64_t m_, n_, k_;
  ByteProduct p_;
  Packs::Bytes b_;
};

/// matmul with a constant matrix, or linear without factors.
Result<std::unique_ptr<Kernel>> make_gemm(const KernelRequest& r) {
  bool transposed = false;
  std::optional<ByteProduct> p;
  for (const RegionStep& s : r.region) {
    if (s.op->name == "linear") {
      const auto& a = *static_cast<const LinearAttrs*>(s.attrs);
      if (a.transpose_a || a.alpha != 1 || a.beta != 1) return nullptr;
      transposed = a.transpose_b;
      p = byte_product(r, "linear", transposed ? 0 : 1);
    } else if (s.op->name == "matmul") {
      const auto& a = *static_cast<const MatmulAttrs*>(s.attrs);
      if (a.transpose_a) return nullptr;
      transposed = a.transpose_b;
      p = byte_product(r, "matmul", transposed ? 0 : 1);
    }
  }
  if (!p) return nullptr;
  const Region region(r);
  const Operand x = region.operand(p->x), w = region.operand(p->w);
  if (w.shape.rank() != 2 || x.shape.rank() < 1 || x.shape.count() == 0 || w.shape.count() == 0) return nullptr;
  const int64_t k = w.shape[transposed ? 1 : 0], n = w.shape[transposed ? 0 : 1], m = x.shape.count() / k;
  ByteMatrix b{w.constant->data(),          k, n, transposed ? 1 : n, transposed ? k : 1, p->w_signed, p->w_zero.data(),
               p->w_zero.size() > 1 ? 1 : 0};
  const std::string key = pack_key(transposed ? "gemm_i8 transposed" : "gemm_i8", r, w, p->w_zero);
  NNEX_ASSIGN(auto packed, r.packs.get(key, packed_bytes_i8(r.loops, k, n),
                                       [&](std::byte* to) { pack_b_i8(r.loops, r.team, b, to); }));
  return std::unique_ptr<Kernel>(std::make_unique<ByteGemm>(r.loops, m, n, k, std::move(*p), std::move(packed)));
}

// ---- Chains
// ---------------------------------------------------------------------------------------------------------------------

/// Element-wise steps on bytes of one shape: each block of elements is dequantised, worked on and quantised while it is
/// in the first cache.
class ByteChain : public Kernel {
 public:
  static constexpr int64_t kBlock = 2048;
  struct Source {
    int input = 0;
    ByteScale scale;
  };

  ByteChain(const simd::Loops& loops, std::vector<Source> sources, ByteScale y, std::vector<ChainStep> steps,
            int64_t elements)
      : loops_(loops), sources_(std::move(sources)), y_(y), steps_(std::move(steps)), elements_(elements) {}

  static std::optional<Chain> chain(size_t sources, std::span<const ChainStep> steps, int64_t n) {
    const std::array<int64_t, 1> shape = {n};
    const std::vector<std::span<const int64_t>> shapes(sources, shape);
    return Chain::make(shape, shapes, steps);
  }

  Status run(Call& c) const override {
    const int64_t blocks = (elements_ + kBlock - 1) / kBlock;
    const int64_t parts = std::min<int64_t>(blocks, blocks < 8 ? 1 : c.team->size() * 4);
    c.team->run(parts, [&](int64_t part) {
      alignas(64) float in[Chain::kMaxInputs][kBlock];
      alignas(64) float out[kBlock];
      const float* rows[Chain::kMaxInputs];
      Team alone(1);
      for (int64_t b = part * blocks / parts; b < (part + 1) * blocks / parts; ++b) {
        const int64_t begin = b * kBlock, n = std::min(kBlock, elements_ - begin);
        for (size_t i = 0; i < sources_.size(); ++i) {
          rows[i] = in[i];
          load(c, sources_[i], begin, n, in[i]);
        }
        chain(sources_.size(), steps_, n)->run(loops_, alone, rows, out);
        store(c, begin, n, out);
      }
    });
    return {};
  }

 private:
  void load(Call& c, const Source& s, int64_t begin, int64_t n, float* to) const {
    const std::byte* x = c.in(static_cast<size_t>(s.input)).data() + begin;
    Team alone(1);
    if (s.scale.is_signed) {
      const auto zero = static_cast<int8_t>(s.scale.zero);
      dequantize(loops_, alone, reinterpret_cast<const int8_t*>(x), &s.scale.scale, &zero, to, 1, 1, n);
    } else {
      const auto zero = static_cast<uint8_t>(s.scale.zero);
      dequantize(loops_, alone, reinterpret_cast<const uint8_t*>(x), &s.scale.scale, &zero, to, 1, 1, n);
    }
  }
  void store(Call& c, int64_t begin, int64_t n, const float* from) const {
    std::byte* y = c.out(0).mutable_data() + begin;
    Team alone(1);
    if (y_.is_signed) {
      const auto zero = static_cast<int8_t>(y_.zero);
      quantize(loops_, alone, from, &y_.scale, &zero, reinterpret_cast<int8_t*>(y), 1, 1, n);
    } else {
      const auto zero = static_cast<uint8_t>(y_.zero);
      quantize(loops_, alone, from, &y_.scale, &zero, reinterpret_cast<uint8_t*>(y), 1, 1, n);
    }
  }

  const simd::Loops& loops_;
  std::vector<Source> sources_;
  ByteScale y_;
  std::vector<ChainStep> steps_;
  int64_t elements_;
};

/// The sum of two byte tensors, perhaps within limits.
class ByteAdd : public Kernel {
 public:
  static std::unique_ptr<Kernel> make(const simd::Loops& loops, std::span<const ByteChain::Source> sources,
                                      const ByteScale& y, std::span<const ChainStep> steps, int64_t elements) {
    const auto usual = [](const ByteScale& s) { return s.scale >= 0x1p-60F && s.scale <= 0x1p60F; };
    if (sources.size() != 2 || steps.empty() || steps.size() > 2 || steps[0].b < 0 ||
        steps[0].binary != BinaryKind::add || steps[0].a == steps[0].b || !usual(y) || !usual(sources[0].scale) ||
        !usual(sources[1].scale))
      return nullptr;
    float min = -std::numeric_limits<float>::infinity(), max = -min;
    if (steps.size() == 2) {
      const Unary& f = steps[1].unary;
      if (steps[1].b >= 0 || (f.kind != UnaryKind::relu && f.kind != UnaryKind::clamp)) return nullptr;
      min = f.kind == UnaryKind::relu ? 0 : f.alpha;
      if (f.kind == UnaryKind::clamp) max = f.beta;
      if (!(min <= max)) return nullptr;
    }
    auto kernel = std::make_unique<ByteAdd>(loops, elements);
    kernel->a_ = sources[0].input, kernel->b_ = sources[1].input;
    kernel->sum_.a = operand(sources[0].scale), kernel->sum_.b = operand(sources[1].scale);
    kernel->sum_.to = operand(y);
    kernel->sum_.min = min, kernel->sum_.max = max;
    return kernel;
  }
  ByteAdd(const simd::Loops& loops, int64_t elements) : loops_(loops), elements_(elements) {}

  Status run(Call& c) const override {
    const auto bytes = [](const std::byte* p, int64_t begin) { return reinterpret_cast<const uint8_t*>(p) + begin; };
    split(*c.team, elements_, elements_, 64, [&](int64_t begin, int64_t end) {
      simd::AddBytes sum = sum_;
      sum.a.p = bytes(c.in(static_cast<size_t>(a_)).data(), begin);
      sum.b.p = bytes(c.in(static_cast<size_t>(b_)).data(), begin);
      sum.y = reinterpret_cast<uint8_t*>(c.out(0).mutable_data()) + begin;
      sum.n = static_cast<size_t>(end - begin);
      loops_.add_bytes(sum);
    });
    return {};
  }

 private:
  static simd::ByteOperand operand(const ByteScale& s) {
    return {nullptr, static_cast<uint8_t>(s.is_signed ? 0x80 : 0), s.zero + (s.is_signed ? 128 : 0), s.scale};
  }

  const simd::Loops& loops_;
  int64_t elements_;
  int a_ = 0, b_ = 0;
  simd::AddBytes sum_;
};

Result<std::unique_ptr<Kernel>> make_chain(const KernelRequest& r) {
  const Region region(r);
  const RegionStep& last = r.region.back();
  const int outer = static_cast<int>(r.in.size());
  if (last.op->name != "quantize_linear") return nullptr;
  const auto y = region.scale_of(last, r.out[0].dtype);
  if (!y || r.out[0].shape.count() == 0) return nullptr;
  std::vector<ByteChain::Source> sources;
  std::vector<int> number(static_cast<size_t>(outer) + r.region.size(), -1);  // of a value among the chain's
  std::vector<ChainStep> steps;
  for (size_t i = 0; i + 1 < r.region.size(); ++i) {
    const int v = outer + static_cast<int>(i);
    if (!region.dequantized(v)) continue;
    const RegionStep& s = r.region[i];
    const auto scale = region.scale_of(s, region.operand(s.in[0]).dtype);
    if (!scale || !(s.out.shape == r.out[0].shape)) return nullptr;
    number[static_cast<size_t>(v)] = static_cast<int>(sources.size());
    sources.push_back({s.in[0], *scale});
  }
  if (sources.empty() || sources.size() > static_cast<size_t>(Chain::kMaxInputs)) return nullptr;
  for (size_t i = 0; i + 1 < r.region.size(); ++i) {
    const RegionStep& s = r.region[i];
    const int v = outer + static_cast<int>(i);
    if (number[static_cast<size_t>(v)] >= 0) continue;
    if (!(s.out.shape == r.out[0].shape) || s.out.dtype != DType::f32 || s.in.empty()) return nullptr;
    ChainStep& step = steps.emplace_back();
    step.a = static_cast<int8_t>(s.in[0] < 0 ? -1 : number[static_cast<size_t>(s.in[0])]);
    if (auto binary = binary_of(*s.op, s.attrs)) {
      step.b = static_cast<int8_t>(s.in[1] < 0 ? -1 : number[static_cast<size_t>(s.in[1])]), step.binary = *binary;
      if (step.b < 0) return nullptr;
    } else {
      std::vector<Operand> in;
      for (size_t k = 0; k < s.in.size(); ++k) in.push_back(region.input(s, k));
      auto unary = unary_of(*s.op, s.attrs, in);
      if (!unary) return nullptr;
      step.unary = *unary;
    }
    if (step.a < 0) return nullptr;
    number[static_cast<size_t>(v)] = static_cast<int>(sources.size() + steps.size()) - 1;
  }
  if (steps.empty() || last.in[0] != outer + static_cast<int>(r.region.size()) - 2 ||
      !ByteChain::chain(sources.size(), steps, ByteChain::kBlock))
    return nullptr;
  if (auto sum = ByteAdd::make(r.loops, sources, *y, steps, r.out[0].shape.count())) return sum;
  return std::unique_ptr<Kernel>(
      std::make_unique<ByteChain>(r.loops, std::move(sources), *y, std::move(steps), r.out[0].shape.count()));
}

constexpr KernelDef kQuantizedKernels[] = {{"fused", "conv_i8", make_conv, "dequantize_linear"},
                                           {"fused", "gemm_i8", make_gemm, "dequantize_linear"},
                                           {"fused", "chain_i8", make_chain, "dequantize_linear"}};

}  // namespace

std::optional<ByteScale> byte_scale(const Operand& scale, const Operand& zero, DType bytes) {
  if (!is_byte(bytes) || !scale.constant || scale.dtype != DType::f32 || scale.constant->count() != 1)
    return std::nullopt;
  ByteScale out;
  out.scale = static_cast<float>(real_at(*scale.constant, 0));
  out.is_signed = bytes == DType::i8;
  if (!(out.scale > 0) || std::isinf(out.scale)) return std::nullopt;
  if (!zero.given()) return out;
  if (!zero.constant || zero.constant->count() != 1) return std::nullopt;
  out.zero = static_cast<int32_t>(int_at(*zero.constant, 0));
  return out;
}

std::span<const KernelDef> quantized_kernels() { return built<kQuantizedKernels>(); }

}  // namespace nnex::kernels
