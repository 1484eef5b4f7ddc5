// Element-wise float32 nodes and softmax on the map kernels. Functions keep the bounds of kernels/simd/math-inl.h (the
// reference computes them in double); everything else has the reference's bytes, but for the sign of a zero that meets
// a limit.

#include <array>

#include "kernels/elementwise/chain.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/pointwise.h"
#include "kernels/kernel.h"
#include "kernels/normalize/softmax.h"
#include "ops/activation.h"
#include "ops/softmax.h"

namespace nnex::kernels {
namespace {

class UnaryKernel : public Kernel {
 public:
  UnaryKernel(const simd::Loops& loops, Unary f) : loops_(loops), f_(f) {}
  bool in_place(size_t) const override { return true; }
  Status run(Call& c) const override {
    unary_map(loops_, *c.team, f_, c.in<float>(0).data(), c.out<float>(0).data(), c.in(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  Unary f_;
};

Result<std::unique_ptr<Kernel>> make_unary(const KernelRequest& r) {
  if (!r.all_f32()) return nullptr;
  const auto f = unary_of(r.op, r.attrs, r.in);
  if (!f) return nullptr;
  return made<UnaryKernel>(r.loops, *f);
}

/// A chain over inputs that broadcast, prepared once.
class BroadcastKernel : public Kernel {
 public:
  BroadcastKernel(const simd::Loops& loops, const Chain& chain, const KernelRequest& r) : loops_(loops), chain_(chain) {
    for (size_t i = 0; i < r.in.size(); ++i) whole_[i] = r.in[i].shape.count() == r.out[0].shape.count();
  }
  bool in_place(size_t input) const override { return whole_[input]; }
  Status run(Call& c) const override {
    const float* inputs[Chain::kMaxInputs] = {};
    for (size_t i = 0; i < c.inputs(); ++i) inputs[i] = c.in<float>(i).data();
    chain_.run(loops_, *c.team, inputs, c.out<float>(0).data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  Chain chain_;
  bool whole_[Chain::kMaxInputs] = {};  // inputs of the result's extents
};

/// Every input broadcasts to the result. Nothing where there are more than a chain takes.
Result<std::unique_ptr<Kernel>> chain_kernel(const KernelRequest& r, std::span<const ChainStep> steps) {
  if (!r.all_f32() || r.in.size() > Chain::kMaxInputs) return nullptr;
  std::span<const int64_t> shapes[Chain::kMaxInputs];
  for (size_t i = 0; i < r.in.size(); ++i) shapes[i] = r.in[i].shape.extents();
  const auto chain = Chain::make(r.out[0].shape.extents(), {shapes, r.in.size()}, steps);
  if (!chain) return nullptr;
  return made<BroadcastKernel>(r.loops, *chain, r);
}

Result<std::unique_ptr<Kernel>> make_binary(const KernelRequest& r) {
  const auto kind = binary_of(r.op, r.attrs);
  if (!kind) return nullptr;
  const ChainStep step = {.a = 0, .b = 1, .binary = *kind};
  return chain_kernel(r, {&step, 1});
}

/// From left to right.
Result<std::unique_ptr<Kernel>> make_add_n(const KernelRequest& r) {
  if (r.in.size() < 2 || r.in.size() > Chain::kMaxInputs) return nullptr;
  ChainStep steps[Chain::kMaxInputs];
  const auto n = static_cast<int8_t>(r.in.size());
  for (int8_t i = 1; i < n; ++i)
    steps[i - 1] = {.a = static_cast<int8_t>(i == 1 ? 0 : n + i - 2), .b = i, .binary = BinaryKind::add};
  return chain_kernel(r, {steps, r.in.size() - 1});
}

/// silu(x) y
Result<std::unique_ptr<Kernel>> make_swiglu(const KernelRequest& r) {
  const Unary silu = {UnaryKind::silu, static_cast<float>(r.attr<AlphaAttrs>().alpha)};
  const ChainStep steps[] = {{.a = 0, .unary = silu}, {.a = 2, .b = 1, .binary = BinaryKind::mul}};
  return chain_kernel(r, steps);
}

class SoftmaxKernel : public Kernel {
 public:
  SoftmaxKernel(const simd::Loops& loops, bool logarithm, int64_t outer, int64_t n, int64_t inner)
      : loops_(loops), logarithm_(logarithm), outer_(outer), n_(n), inner_(inner) {}
  Status run(Call& c) const override {
    softmax(loops_, *c.team, logarithm_, c.in<float>(0).data(), c.out<float>(0).data(), outer_, n_, inner_);
    return {};
  }

 private:
  const simd::Loops& loops_;
  bool logarithm_;
  int64_t outer_, n_, inner_;
};

/// One axis, or one axis and all after it.
template <bool logarithm>
Result<std::unique_ptr<Kernel>> make_softmax(const KernelRequest& r) {
  const auto& a = r.attr<SoftmaxAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || a.axes.size() != 1 || x.count() == 0) return nullptr;
  const int64_t axis = a.axes[0] < 0 ? a.axes[0] + x.rank() : a.axes[0];
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t i = 0; i < x.rank(); ++i) (i < axis ? outer : i == axis || a.to_end ? n : inner) *= x[i];
  return made<SoftmaxKernel>(r.loops, logarithm, outer, n, inner);
}

constexpr std::string_view kUnaryRows[] = {
#define NNEX_UNARY(kind, cost, row) row,
#define NNEX_UNARY_ATTRS(kind, cost, row) row,
#define NNEX_UNARY_INNER(kind, cost)
#include "kernels/elementwise/unary.def"
};
constexpr std::string_view kBinaryRows[] = {
#define NNEX_BINARY(kind, row) row,
#define NNEX_BINARY_ATTRS(kind, row) row,
#define NNEX_BINARY_INNER(kind)
#include "kernels/elementwise/binary.def"
};

constexpr KernelDef kOthers[] = {
    {"add_n", "map2_f32", make_add_n},
    {"swiglu", "map2_f32", make_swiglu},
    {"softmax", "softmax_f32", make_softmax<false>},
    {"log_softmax", "softmax_f32", make_softmax<true>},
};

/// One line for each operator of the lists above.
template <size_t... U, size_t... B, size_t... O>
constexpr auto map_table(std::index_sequence<U...>, std::index_sequence<B...>, std::index_sequence<O...>) {
  return std::array<KernelDef, sizeof...(U) + sizeof...(B) + sizeof...(O)>{
      KernelDef{kUnaryRows[U], "map_f32", make_unary}..., KernelDef{kBinaryRows[B], "map2_f32", make_binary}...,
      kOthers[O]...};
}
constexpr auto kMapKernels =
    map_table(std::make_index_sequence<std::size(kUnaryRows)>(), std::make_index_sequence<std::size(kBinaryRows)>(),
              std::make_index_sequence<std::size(kOthers)>());

}  // namespace

std::span<const KernelDef> map_kernels() { return built<kMapKernels>(); }

}  // namespace nnex::kernels
