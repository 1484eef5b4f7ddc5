// Norms, quantised products, random tensors shaped like others, optimisers of many tensors.

#include <fmt/format.h>

#include "ops/cast.h"
#include "ops/codecs.h"
#include "ops/join.h"
#include "ops/norm.h"
#include "ops/shape.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format {
namespace {

/// LpNormalization: p says which row; a norm of zero gives zero.
Result<Quirked> lp_norm(NodeImport& n) {
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) return n.error(fmt::format("p is {}; needed 1 or 2", p));
  if (n.in.size() != 1 || !n.has(0)) return n.error(fmt::format("found {} inputs; it takes 1", n.in.size()));
  LpNormAttrs a;
  a.axes = {n.integer("axis", -1)};
  a.at_zero = AtZero::zero;
  n.bind(0, n.b(p == 1 ? "l1_normalization" : "l2_normalization", {n.in[0]}, a));
  return Quirked::done;
}

/// RandomUniformLike, RandomNormalLike: the shape, and the type unless dtype is given, of the input.
Result<Quirked> random_like(NodeImport& n, std::string_view op) {
  if (n.in.size() != 1 || !n.has(0)) return n.error(fmt::format("found {} inputs; it takes 1", n.in.size()));
  const DType type = n.type(0).dtype;
  if (!n.given("dtype")) {
    if (type == DType::none) return n.error("dtype is absent and the input's element type is not known");
    n.set("dtype", onnx_number(type));
  }
  n.in = {n.b("shape", {n.in[0]})};
  n.op = op;
  return Quirked::no;
}
Result<Quirked> uniform_like(NodeImport& n) { return random_like(n, "RandomUniform"); }
Result<Quirked> normal_like(NodeImport& n) { return random_like(n, "RandomNormal"); }

/// GroupNormalization until opset 20: scale and bias hold one number a group; now one a channel.
Result<Quirked> group_norm(NodeImport& n) {
  if (n.version >= 21 || n.in.size() < 3 || !n.has(0)) return Quirked::no;
  const int64_t groups = n.integer("num_groups", 1);
  if (groups < 1) return n.error(fmt::format("num_groups is {}; needed at least 1", groups));
  ShapeAttrs channels;
  channels.start = 1, channels.end = 2;
  const ValueId each = n.b("div", {n.b("shape", {n.in[0]}, channels), n.b.ints({groups})});
  const ValueId wide = n.b("concat", {n.b.ints({groups}), each}, AxisAttrs{});
  for (size_t i : {1, 2})
    n.in[i] = n.b("reshape", {n.b("expand", {n.b("unsqueeze", {n.in[i], n.b.ints({1})}), wide}), n.b.ints({-1})});
  return Quirked::no;
}

/// A vector of zero points or scales of the left matrix (or the result) holds one a row: a column beside it.
void as_column(NodeImport& n, size_t i) {
  if (n.has(i) && n.rank(i) == 1 && n.rank(0).value_or(0) >= 2) n.in[i] = n.b("unsqueeze", {n.in[i], n.b.ints({1})});
}
Result<Quirked> matmul_integer(NodeImport& n) {
  as_column(n, 2);
  return Quirked::no;
}
Result<Quirked> qlinear_matmul(NodeImport& n) {
  for (size_t i : {1, 2, 6, 7}) as_column(n, i);
  return Quirked::no;
}

/// Erf of integers: through f32.
Result<Quirked> erf(NodeImport& n) {
  const DType type = n.in.empty() ? DType::none : n.type(0).dtype;
  if (!is_int(type)) return Quirked::no;
  CastAttrs there, back;
  there.to = DType::f32, back.to = type;
  n.bind(0, n.b("cast", {n.b("erf", {n.b("cast", {n.in[0]}, there)})}, back));
  return Quirked::done;
}

/// An optimiser's step for many tensors: all x, then all gradients, then each state; one node a tensor here.
Result<Quirked> optimizer(NodeImport& n, size_t states) {
  const size_t each = states + 2;
  if (n.in.size() < 2 + each || (n.in.size() - 2) % each != 0)
    return n.error(fmt::format("found {} inputs; needed rate, step and {} for each tensor", n.in.size(), each));
  const size_t count = (n.in.size() - 2) / each;
  if (count == 1) return Quirked::no;
  for (size_t t = 0; t < count; ++t) {
    NodeImport one = n;
    one.in = {n.in[0], n.in[1]};
    one.out.clear();
    for (size_t k = 0; k < each; ++k) one.in.push_back(n.in[2 + k * count + t]);
    for (size_t k = 0; k <= states; ++k) one.out.push_back(n.wants(k * count + t) ? n.out[k * count + t] : "");
    NNEX_ASSIGN(NodeId id, n.importer.spell(one));
    for (size_t k = 0; k <= states; ++k)
      if (n.wants(k * count + t)) n.bind(k * count + t, n.importer.graph()[id].out[k]);
  }
  return Quirked::done;
}
Result<Quirked> one_state(NodeImport& n) { return optimizer(n, 1); }
Result<Quirked> two_states(NodeImport& n) { return optimizer(n, 2); }

constexpr std::string_view kTraining = "ai.onnx.preview.training";
constexpr QuirkRow kNumericRows[] = {
    {"LpNormalization", lp_norm},
    {"RandomUniformLike", uniform_like},
    {"RandomNormalLike", normal_like},
    {"GroupNormalization", group_norm},
    {"MatMulInteger", matmul_integer},
    {"QLinearMatMul", qlinear_matmul},
    {"Erf", erf},
    {"Adagrad", one_state, kTraining},
    {"Momentum", one_state, kTraining},
    {"Adam", two_states, kTraining},
};

}  // namespace

std::span<const QuirkRow> numeric_quirks() { return read_of<kNumericRows>(); }

}  // namespace nnex::onnx_format
