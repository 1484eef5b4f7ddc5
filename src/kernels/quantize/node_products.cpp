// Regions between dequantize_linear and quantize_linear that run on bytes.

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/split.h"
#include "kernels/conv/int8.h"
#include "kernels/convert/convert.h"
#include "kernels/fused.h"
#include "kernels/product/batch_i8.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm_i8.h"
#include "ops/matmul.h"
#include "ops/window.h"

namespace nnex::kernels {
namespace {

// ---- Products
// ---------------------------------------------------------------------------------------------------------------------

IntEpilogue epilogue(const FusedByteProduct& p, std::byte* y, int64_t row_stride) {
  const int64_t step = p.scale.size() > 1 ? 1 : 0;
  IntEpilogue end;
  end.bias = p.bias.empty() ? nullptr : p.bias.data();
  end.y = y, end.y_row_stride = row_stride;
  end.to_bytes = {p.scale.data(), step, p.y.zero, p.low, p.high};
  return end;
}

class ByteConv : public Kernel {
 public:
  ByteConv(const simd::Loops& loops, ConvShape shape, FusedByteProduct p, Packs::Bytes filter)
      : loops_(loops), shape_(shape), p_(std::move(p)), filter_(std::move(filter)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == p_.product.in[1]; }
  int64_t workspace() const override { return conv_i8_workspace(loops_, shape_, true); }
  Status run(Call& c) const override {
    ConvI8 conv;
    conv.x = c.in(static_cast<size_t>(p_.product.in[0])).data();
    conv.x_signed = p_.x.is_signed, conv.x_zero = p_.x.zero;
    conv.packed = filter_.get();
    conv.end = epilogue(p_, c.out(0).mutable_data(), shape_.out_channels);
    conv_i8(loops_, *c.team, shape_, conv, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  ConvShape shape_;
  FusedByteProduct p_;
  Packs::Bytes filter_;
};

Result<std::unique_ptr<Kernel>> make_conv(const KernelRequest& r) {
  const auto* p = fused_as<FusedByteProduct>(r);
  const auto* a = p ? p->product.as<ConvAttrs>() : nullptr;
  if (!a) return nullptr;
  const FusedRequest product(r, p->product);
  const Operand& w = product.in[1];
  const auto shape = conv_shape(*a, product.in[0].shape, w.shape);
  if (!w.constant || !shape) return nullptr;
  const ByteFilter filter{w.constant->data(), p->w_signed, p->w_zero.data(), p->w_zero.size() > 1 ? 1 : 0};
  const std::string key = filter_key(conv_i8_packing(r.loops, *shape), r, w, *shape, p->w_zero);
  NNEX_ASSIGN(auto packed, r.packs.get(key, conv_i8_filter_bytes(r.loops, *shape), [&](std::byte* to) {
    conv_i8_pack_filter(r.loops, r.team, *shape, filter, to);
  }));
  return made<ByteConv>(r.loops, *shape, *p, std::move(packed));
}

class ByteGemm : public Kernel {
 public:
  ByteGemm(const simd::Loops& loops, int64_t m, int64_t n, int64_t k, FusedByteProduct p, Packs::Bytes b)
      : loops_(loops), m_(m), n_(n), k_(k), p_(std::move(p)), b_(std::move(b)) {}
  bool packed(size_t input) const override { return static_cast<int>(input) == p_.product.in[1]; }
  int64_t workspace() const override { return gemm_i8_workspace(loops_, m_, n_, k_, true); }
  Status run(Call& c) const override {
    GemmI8 g;
    g.m = m_, g.n = n_, g.k = k_;
    g.a = c.in(static_cast<size_t>(p_.product.in[0])).data(), g.a_row_stride = k_;
    g.a_signed = p_.x.is_signed, g.a_zero = p_.x.zero;
    g.b = b_.get();
    g.end = epilogue(p_, c.out(0).mutable_data(), n_);
    gemm_i8(loops_, *c.team, g, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  int64_t m_, n_, k_;
  FusedByteProduct p_;
  Packs::Bytes b_;
};

/// Of two sides that a run makes.
class ByteMatmul : public Kernel {
 public:
  ByteMatmul(ByteProducts products, FusedByteProduct p) : products_(std::move(products)), p_(std::move(p)) {}
  int64_t workspace() const override { return products_.workspace(true); }
  Status run(Call& c) const override {
    const auto side = [&](size_t i, bool is_signed, int32_t zero) {
      return ByteProducts::Side{c.in(static_cast<size_t>(p_.product.in[i])).data(), is_signed, zero};
    };
    products_.run(*c.team, side(0, p_.x.is_signed, p_.x.zero), side(1, p_.w_signed, p_.w_zero[0]),
                  epilogue(p_, c.out(0).mutable_data(), products_.columns()), c.workspace);
    return {};
  }

 private:
  ByteProducts products_;
  FusedByteProduct p_;
};

/// matmul or linear.
Result<std::unique_ptr<Kernel>> make_gemm(const KernelRequest& r) {
  const auto* p = fused_as<FusedByteProduct>(r);
  const auto* linear = p ? p->product.as<LinearAttrs>() : nullptr;
  const auto* matmul = p ? p->product.as<MatmulAttrs>() : nullptr;
  if (!linear && !matmul) return nullptr;
  const bool transposed = linear ? linear->transpose_b : matmul->transpose_b;
  const FusedRequest product(r, p->product);
  const Operand &x = product.in[0], &w = product.in[1];
  if (x.shape.rank() < 1 || x.shape.count() == 0 || w.shape.count() == 0) return nullptr;
  if (!w.constant) {
    if (!matmul || p->w_zero.size() != 1 || p->scale.size() != 1) return nullptr;
    return made<ByteMatmul>(
        ByteProducts(r.loops, products_of(x.shape, w.shape, matmul->transpose_a, matmul->transpose_b)), *p);
  }
  const int64_t k = w.shape[transposed ? 1 : 0], n = w.shape[transposed ? 0 : 1], m = x.shape.count() / k;
  ByteMatrix b{w.constant->data(),          k, n, transposed ? 1 : n, transposed ? k : 1, p->w_signed, p->w_zero.data(),
               p->w_zero.size() > 1 ? 1 : 0};
  const std::string key = pack_key(transposed ? "gemm_i8 transposed" : "gemm_i8", r, w, p->w_zero);
  NNEX_ASSIGN(auto packed, r.packs.get(key, packed_bytes_i8(r.loops, k, n),
                                       [&](std::byte* to) { pack_b_i8(r.loops, r.team, b, to); }));
  return made<ByteGemm>(r.loops, m, n, k, *p, std::move(packed));
}

// ---- Chains
// ---------------------------------------------------------------------------------------------------------------------

/// Element-wise steps on bytes of one shape: each block of elements is dequantised, worked on and quantised while it is
/// in the first cache.
class ByteSteps {
 public:
  static constexpr int64_t kBlock = 2048;

  explicit ByteSteps(FusedByteChain chain) : chain_(std::move(chain)) {}

  bool possible() const { return floats(kBlock).has_value(); }
  size_t sources() const { return chain_.sources.size(); }
  int64_t cost() const {
    return std::accumulate(chain_.steps.begin(), chain_.steps.end(), int64_t{0},
                           [](int64_t sum, const ChainStep& step) { return sum + cost_of(step); });
  }
  size_t input(size_t source) const { return static_cast<size_t>(chain_.sources[source].input); }

  /// n elements of each source, at most kBlock.
  void run(const simd::Loops& loops, const std::byte* const* x, int64_t n, std::byte* y) const {
    alignas(64) float in[Chain::kMaxInputs][kBlock];
    alignas(64) float out[kBlock];
    const float* rows[Chain::kMaxInputs];
    Team alone(1);
    for (size_t i = 0; i < sources(); ++i) {
      rows[i] = in[i];
      with_codes(chain_.sources[i].scale, [&](auto zero) {
        const auto* codes = reinterpret_cast<const decltype(zero)*>(x[i]);
        dequantize(loops, alone, codes, &chain_.sources[i].scale.scale, &zero, in[i], 1, 1, n);
      });
    }
    floats(n)->run(loops, alone, rows, out);
    with_codes(chain_.y, [&](auto zero) {
      quantize(loops, alone, out, &chain_.y.scale, &zero, reinterpret_cast<decltype(zero)*>(y), 1, 1, n);
    });
  }

 private:
  std::optional<Chain> floats(int64_t n) const {
    const std::array<int64_t, 1> shape = {n};
    const std::vector<std::span<const int64_t>> shapes(sources(), shape);
    return Chain::make(shape, shapes, chain_.steps);
  }

  template <class F>
  static void with_codes(const ByteScale& scale, F&& use) {
    if (scale.is_signed)
      use(static_cast<int8_t>(scale.zero));
    else
      use(static_cast<uint8_t>(scale.zero));
  }

  FusedByteChain chain_;
};

class ByteChain : public Kernel {
 public:
  ByteChain(const simd::Loops& loops, ByteSteps steps, int64_t elements)
      : loops_(loops), steps_(std::move(steps)), elements_(elements) {}

  Status run(Call& c) const override {
    constexpr int64_t kBlock = ByteSteps::kBlock;
    const int64_t blocks = (elements_ + kBlock - 1) / kBlock;
    const int64_t parts = std::min<int64_t>(blocks, blocks < 8 ? 1 : c.team->size() * 4);
    c.team->run(parts, [&](int64_t part) {
      const std::byte* x[Chain::kMaxInputs];
      for (int64_t b = part * blocks / parts; b < (part + 1) * blocks / parts; ++b) {
        const int64_t begin = b * kBlock;
        for (size_t i = 0; i < steps_.sources(); ++i) x[i] = c.in(steps_.input(i)).data() + begin;
        steps_.run(loops_, x, std::min(kBlock, elements_ - begin), c.out(0).mutable_data() + begin);
      }
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  ByteSteps steps_;
  int64_t elements_;
};

/// The steps of one source: what they make of each of its 256 codes is looked up.
class ByteTable : public Kernel {
 public:
  /// From here on looking up is faster than vectors of the steps.
  static constexpr int64_t kMinCost = 12;

  ByteTable(const simd::Loops& loops, const ByteSteps& steps, int64_t elements)
      : input_(steps.input(0)), elements_(elements) {
    std::array<uint8_t, 256> codes;
    std::iota(codes.begin(), codes.end(), uint8_t{0});
    const auto* x = reinterpret_cast<const std::byte*>(codes.data());
    steps.run(loops, &x, 256, reinterpret_cast<std::byte*>(table_.data()));
  }

  Status run(Call& c) const override {
    constexpr int64_t kGrain = 4096;
    const auto* codes = reinterpret_cast<const uint8_t*>(c.in(input_).data());
    auto* out = reinterpret_cast<uint8_t*>(c.out(0).mutable_data());
    split(*c.team, elements_, elements_ * 4, kGrain, [&](int64_t begin, int64_t end) {
      const uint8_t* const __restrict table = table_.data(), * const x = codes;
      uint8_t* const y = out;
      for (int64_t i = begin; i < end; ++i) y[i] = table[x[i]];
    });
    return {};
  }

 private:
  size_t input_;
  int64_t elements_;
  std::array<uint8_t, 256> table_;
};

/// The sum of two byte tensors, perhaps within limits.
class ByteAdd : public Kernel {
 public:
  static std::unique_ptr<Kernel> make(const simd::Loops& loops, const FusedByteChain& chain, int64_t elements) {
    const auto& [sources, y, steps] = chain;
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
  const auto* chain = fused_as<FusedByteChain>(r);
  const int64_t elements = r.out[0].shape.count();
  if (!chain || elements == 0) return nullptr;
  ByteSteps steps(*chain);
  if (!steps.possible()) return nullptr;
  if (auto sum = ByteAdd::make(r.loops, *chain, elements)) return sum;
  if (steps.sources() == 1 && steps.cost() >= ByteTable::kMinCost) return made<ByteTable>(r.loops, steps, elements);
  return made<ByteChain>(r.loops, std::move(steps), elements);
}

constexpr KernelDef kQuantizedKernels[] = {{"fused", "conv_i8", make_conv, "dequantize_linear"},
                                           {"fused", "gemm_i8", make_gemm, "dequantize_linear"},
                                           {"fused", "chain_i8", make_chain, "dequantize_linear"}};

}  // namespace

std::span<const KernelDef> quantized_kernels() { return built<kQuantizedKernels>(); }

}  // namespace nnex::kernels
