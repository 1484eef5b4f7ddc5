// Element-wise nodes and softmax on the map kernels.

#include <array>

#include "kernels/elementwise.h"
#include "kernels/kernel.h"
#include "kernels/softmax.h"
#include "ops/activation.h"
#include "ops/softmax.h"

namespace nnex {
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

struct NamedUnary {
  std::string_view op;
  UnaryKind kind;
};
constexpr NamedUnary kUnaries[] = {{"neg", UnaryKind::neg},
                                   {"abs", UnaryKind::abs},
                                   {"sqrt", UnaryKind::sqrt},
                                   {"rsqrt", UnaryKind::rsqrt},
                                   {"rcp", UnaryKind::rcp},
                                   {"sqr", UnaryKind::square},
                                   {"exp", UnaryKind::exp},
                                   {"log", UnaryKind::log},
                                   {"tanh", UnaryKind::tanh},
                                   {"sigmoid", UnaryKind::sigmoid},
                                   {"erf", UnaryKind::erf},
                                   {"relu", UnaryKind::relu},
                                   {"floor", UnaryKind::floor},
                                   {"ceil", UnaryKind::ceil},
                                   {"softplus", UnaryKind::softplus},
                                   {"mish", UnaryKind::mish},
                                   {"hard_swish", UnaryKind::hard_swish},
                                   {"softsign", UnaryKind::softsign}};

Result<std::unique_ptr<Kernel>> make_unary(const KernelRequest& r) {
  if (!r.all_f32()) return nullptr;
  for (const NamedUnary& u : kUnaries)
    if (u.op == r.op.name) return std::unique_ptr<Kernel>(std::make_unique<UnaryKernel>(r.loops, Unary{u.kind}));
  return nullptr;
}

Result<std::unique_ptr<Kernel>> make_leaky_relu(const KernelRequest& r) {
  if (!r.all_f32()) return nullptr;
  return std::unique_ptr<Kernel>(std::make_unique<UnaryKernel>(
      r.loops, Unary{UnaryKind::leaky_relu, static_cast<float>(r.attr<LeakyReluAttrs>().alpha), 0}));
}

Result<std::unique_ptr<Kernel>> make_gelu(const KernelRequest& r) {
  if (!r.all_f32()) return nullptr;
  static constexpr UnaryKind kForms[] = {UnaryKind::gelu_erf, UnaryKind::gelu_tanh, UnaryKind::gelu_sigmoid};
  return std::unique_ptr<Kernel>(
      std::make_unique<UnaryKernel>(r.loops, Unary{kForms[static_cast<size_t>(r.attr<GeluAttrs>().form)]}));
}

class BinaryKernel : public Kernel {
 public:
  BinaryKernel(const simd::Loops& loops, BinaryKind kind, const Nest& nest) : loops_(loops), kind_(kind), nest_(nest) {}
  Status run(Call& c) const override {
    binary_broadcast(loops_, *c.team, kind_, nest_, c.in<float>(0).data(), c.in<float>(1).data(),
                     c.out<float>(0).data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  BinaryKind kind_;
  Nest nest_;
};

struct NamedBinary {
  std::string_view op;
  BinaryKind kind;
};
constexpr NamedBinary kBinaries[] = {{"add", BinaryKind::add}, {"sub", BinaryKind::sub},    {"mul", BinaryKind::mul},
                                     {"div", BinaryKind::div}, {"min", BinaryKind::min},    {"max", BinaryKind::max},
                                     {"pow", BinaryKind::pow}, {"prelu", BinaryKind::prelu}};

Result<std::unique_ptr<Kernel>> make_binary(const KernelRequest& r) {
  if (!r.all_f32()) return nullptr;
  const std::array<std::span<const int64_t>, 2> shapes = {r.in[0].shape.extents(), r.in[1].shape.extents()};
  auto nest = broadcast_nest(r.out[0].shape.extents(), shapes);
  for (const NamedBinary& b : kBinaries)
    if (nest && b.op == r.op.name)
      return std::unique_ptr<Kernel>(std::make_unique<BinaryKernel>(r.loops, b.kind, *nest));
  return nullptr;
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
Result<std::unique_ptr<Kernel>> make_softmax(const KernelRequest& r) {
  const auto& a = r.attr<SoftmaxAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || a.axes.size() != 1 || x.count() == 0) return nullptr;
  const int64_t axis = a.axes[0] < 0 ? a.axes[0] + x.rank() : a.axes[0];
  int64_t outer = 1, n = 1, inner = 1;
  for (int64_t i = 0; i < x.rank(); ++i) (i < axis ? outer : i == axis || a.to_end ? n : inner) *= x[i];
  return std::unique_ptr<Kernel>(std::make_unique<SoftmaxKernel>(r.loops, r.op.name == "log_softmax", outer, n, inner));
}

/// One line for each operator of the lists above.
template <size_t... U, size_t... B>
constexpr auto map_table(std::index_sequence<U...>, std::index_sequence<B...>) {
  return std::array<KernelDef, sizeof...(U) + sizeof...(B) + 4>{
      KernelDef{kUnaries[U].op, "map_f32", make_unary}..., KernelDef{kBinaries[B].op, "map2_f32", make_binary}...,
      KernelDef{"leaky_relu", "map_f32", make_leaky_relu}, KernelDef{"gelu", "map_f32", make_gelu},
      KernelDef{"softmax", "softmax_f32", make_softmax},   KernelDef{"log_softmax", "softmax_f32", make_softmax}};
}
constexpr auto kMapKernels =
    map_table(std::make_index_sequence<std::size(kUnaries)>(), std::make_index_sequence<std::size(kBinaries)>());

}  // namespace

std::span<const KernelDef> map_kernels() { return kMapKernels; }

}  // namespace nnex
