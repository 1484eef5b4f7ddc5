// Products, normalisations, recurrence, attention and losses.
#include <algorithm>

#include "recipes.h"
#include "tensor/convert.h"

namespace nnex::differential {
namespace {

DType mostly_f32(Maker& m) { return m.dice.chance(0.2) ? m.floating(0.3) : DType::f32; }

struct Factors {
  Extents a, b;
};
/// Shapes that MatMul takes, batches broadcast.
Factors factors(Maker& m) {
  const int64_t k = m.extent();
  const Extents batch = m.shape(0, 2);
  Factors f{m.part_of(batch), m.part_of(batch)};
  f.a.insert(f.a.end(), {m.extent(), k});
  f.b.insert(f.b.end(), {k, m.extent()});
  if (m.dice.chance(0.1)) f.a = {k};
  if (m.dice.chance(0.1)) f.b = {k};
  return f;
}

void matmul(Maker& m) {
  const Factors f = factors(m);
  const DType type = m.dice.chance(0.1) ? m.dice.one_of({DType::i32, DType::i64, DType::u32}) : mostly_f32(m);
  m.finish({m.add(m.any(type, f.a)), m.add(m.any(type, f.b), 0.5)});
}

DType byte_type(Maker& m) { return m.dice.one_of({DType::u8, DType::i8}); }
Tensor bytes(Maker& m, DType type, const Extents& shape) {
  return m.whole(type, shape, type == DType::u8 ? 0 : -128, 127);
}

void matmul_integer(Maker& m) {
  const Factors f = factors(m);
  const DType a = byte_type(m), b = byte_type(m);
  Names in = {m.add(bytes(m, a, f.a)), m.add(bytes(m, b, f.b), 0.5)};
  if (m.dice.chance(0.7)) in.push_back(m.add(bytes(m, a, {})));
  if (in.size() == 3 && m.dice.chance(0.6)) in.push_back(m.add(bytes(m, b, {})));
  m.finish(in);
}

void qlinear_matmul(Maker& m) {
  Factors f = factors(m);
  if (f.a.size() < 2) f.a = {3, f.a[0]};
  if (f.b.size() < 2) f.b = {f.b[0], 2};
  const auto scale = [&] { return m.add(m.scalar(DType::f32, 1.0 / double(int64_t(1) << m.dice.in(0, 6)))); };
  const DType type = byte_type(m);
  Names in = {m.add(bytes(m, type, f.a)), scale(), m.add(bytes(m, type, {})), m.add(bytes(m, type, f.b), 0.5), scale(),
              m.add(bytes(m, type, {})),  scale(), m.add(bytes(m, type, {}))};
  m.finish(in);
}

void gemm(Maker& m) {
  const int64_t rows = m.extent(), k = m.extent(), columns = m.extent(), ta = m.dice.in(0, 1), tb = m.dice.in(0, 1);
  m.maybe(ta ? 1 : 0.3, "transA", ta);
  m.maybe(tb ? 1 : 0.3, "transB", tb);
  m.maybe(0.4, "alpha", m.dice.one_of({0.5f, 2.0f, 0.0f}));
  m.maybe(0.4, "beta", m.dice.one_of({0.5f, 2.0f, 0.0f}));
  const DType type = mostly_f32(m);
  Names in = {m.add(m.reals(type, ta ? Extents{k, rows} : Extents{rows, k})),
              m.add(m.reals(type, tb ? Extents{columns, k} : Extents{k, columns}), 0.5)};
  if (m.opset() < 11 || m.dice.chance(0.7)) in.push_back(m.add(m.reals(type, m.part_of({rows, columns})), 0.5));
  m.finish(in);
}

void einsum(Maker& m) {
  const std::string equation =
      m.dice.word({"ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "ij->ji", "ij->", "ii->i", "i,j->ij", "bhid,bhjd->bhij",
                   "...ij,...jk->...ik", "ij,ij->i", "ij,jk", "ijk,k->ij", "ij,jk,kl->il"});
  m.attribute("equation", equation);
  int64_t extent_of[128];
  for (int64_t& e : extent_of) e = m.positive_extent();
  Names in;
  Extents shape;
  for (size_t i = 0; i < equation.size(); ++i) {
    if (equation[i] == '.') {
      if (equation[i + 1] == '.' && equation[i + 2] == '.') shape.push_back(2);
      continue;
    }
    if (equation[i] >= 'a') shape.push_back(extent_of[size_t(equation[i])]);
    if (equation[i] != ',' && equation[i] != '-' && i + 1 < equation.size()) continue;
    in.push_back(m.add(m.reals(m.dice.chance(0) ? DType::f64 : DType::f32, shape)));
    shape.clear();
    if (equation[i] == '-') break;
  }
  m.finish(in);
}

void det(Maker& m) {
  const int64_t n = m.dice.in(1, 4);
  Extents shape = m.positive_shape(0, 2);
  shape.insert(shape.end(), {n, n});
  m.finish({m.add(m.reals(DType::f32, shape, Fill::positive))});
}

// ---- Normalisations ----------------------------------------------------------------------------------------------

float epsilon(Maker& m) { return m.dice.one_of({1e-5f, 1e-3f, 0.1f}); }

Extents image(Maker& m) {
  Extents x = {m.extent(), m.positive_extent()};
  for (int64_t n = m.dice.in(0, 2); n-- > 0;) x.push_back(m.extent());
  return x;
}

void batch_normalization(Maker& m) {
  const Extents x = image(m);
  m.maybe(0.6, "epsilon", epsilon(m));
  const DType type = mostly_f32(m);
  const auto channel = [&](Fill fill) { return m.add(m.reals(type, {x[1]}, fill), 0.6); };
  Names in = {m.add(m.reals(type, x))};
  for (Fill fill : {Fill::exact, Fill::exact, Fill::exact, Fill::positive}) in.push_back(channel(fill));
  m.finish(in);
}

void instance_normalization(Maker& m) {
  Extents x = {m.positive_extent(), m.positive_extent(), m.positive_extent()};
  if (m.dice.chance(0.6)) x.push_back(m.positive_extent());
  m.maybe(0.6, "epsilon", epsilon(m));
  Names in = {m.add(m.reals(DType::f32, x, Fill::normal))};
  for (int i = 0; i < 2; ++i) in.push_back(m.add(m.reals(DType::f32, {x[1]}), 0.6));
  m.finish(in);
}

void layer_normalization(Maker& m) {
  const Extents x = m.positive_shape(1, 4);
  const int64_t rank = int64_t(x.size()), axis = m.axis(rank);
  m.maybe(axis == -1 ? 0.5 : 1, "axis", axis);
  m.maybe(0.6, "epsilon", epsilon(m));
  const Extents normal(x.begin() + (axis + rank) % rank, x.end());
  Names in = {m.add(m.reals(mostly_f32(m), x, Fill::normal))};
  const DType type = m.made.given[0].value.dtype();
  in.push_back(m.add(m.reals(type, normal), 0.6));
  if (m.made.op == "LayerNormalization" && m.dice.chance(0.6)) in.push_back(m.add(m.reals(type, normal), 0.6));
  m.finish(in, m.made.op == "LayerNormalization" && m.dice.chance(0.3) ? 3 : 1);
}

void group_normalization(Maker& m) {
  const int64_t groups = m.dice.in(1, 3), channels = groups * m.dice.in(1, 3);
  m.attribute("num_groups", groups);
  m.maybe(0.6, "epsilon", epsilon(m));
  const int64_t parameters = m.opset() < 21 ? groups : channels;
  Names in = {
      m.add(m.reals(DType::f32, {m.positive_extent(), channels, m.dice.in(2, 6), m.dice.in(2, 6)}, Fill::normal))};
  for (int i = 0; i < 2; ++i) in.push_back(m.add(m.reals(DType::f32, {parameters}), 0.6));
  m.finish(in);
}

void lp_normalization(Maker& m) {
  const Extents x = m.positive_shape(1, 4);
  m.maybe(0.6, "axis", m.axis(int64_t(x.size())));
  m.maybe(0.6, "p", m.dice.in(1, 2));
  m.finish({m.add(m.reals(m.floating(0), x, m.dice.one_of({Fill::normal, Fill::exact})))});
}

void mean_variance_normalization(Maker& m) {
  m.maybe(0.5, "axes", m.dice.one_of<Extents>({{0, 2, 3}, {2, 3}, {1}, {0, 1, 2, 3}}));
  m.finish(
      {m.add(m.reals(DType::f32, {m.positive_extent(), m.positive_extent(), m.positive_extent(), m.positive_extent()},
                     Fill::normal))});
}

// ---- Recurrence --------------------------------------------------------------------------------------------------

void recurrent(Maker& m) {
  const bool lstm = m.made.op == "LSTM", gru = m.made.op == "GRU";
  const int64_t gates = lstm  ? 4
                        : gru ? 3
                              : 1,
                steps = m.dice.in(1, 5), batch = m.dice.in(1, 4), width = m.dice.in(1, 6), hidden = m.dice.in(1, 6);
  const std::string direction = m.dice.word({"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  m.attribute("hidden_size", hidden);
  m.maybe(direction == "forward" ? 0.3 : 1, "direction", direction);
  m.maybe(0.2, "clip", 1.5f);
  if (gru && m.dice.chance(0.5)) m.attribute("linear_before_reset", m.dice.in(0, 1));
  if (lstm) m.maybe(0.2, "input_forget", m.dice.in(0, 1));
  if (m.dice.chance(0.3)) {
    Names list;
    for (int64_t d = 0; d < directions; ++d) {
      const int functions = lstm ? 3 : gru ? 2 : 1;
      for (int i = 0; i < functions; ++i)
        list.push_back(m.dice.word({"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus"}));
    }
    m.attribute("activations", list);
  }
  const auto reals = [&](const Extents& shape) { return m.reals(DType::f32, shape, Fill::small); };  // no explosion
  Names in = {m.add(reals({steps, batch, width})), m.add(reals({directions, gates * hidden, width}), 0.6),
              m.add(reals({directions, gates * hidden, hidden}), 0.6)};
  const auto optional = [&](const Tensor& value) { in.push_back(m.dice.chance(0.5) ? m.add(value, 0.4) : m.absent()); };
  optional(reals({directions, 2 * gates * hidden}));
  optional(m.whole(DType::i32, {batch}, 1, steps));
  optional(reals({directions, batch, hidden}));
  if (lstm) optional(reals({directions, batch, hidden}));
  if (lstm) optional(reals({directions, 3 * hidden}));
  while (in.back().empty()) in.pop_back();
  m.finish(in, lstm ? 3 : 2);
}

// ---- Attention ---------------------------------------------------------------------------------------------------

void attention(Maker& m) {
  const int64_t batch = m.dice.in(1, 2), groups = m.dice.in(1, 2), kv_heads = m.dice.in(1, 2),
                heads = kv_heads * groups;
  const int64_t q = m.dice.in(1, 5), kv = m.dice.in(1, 5), size = 2 * m.dice.in(1, 4),
                v_size = m.dice.chance(0.7) ? size : m.dice.in(1, 6);
  const bool flat = m.dice.chance(0.4), past = m.dice.chance(0.3);
  const int64_t before = past ? m.dice.in(1, 3) : 0;
  if (flat) {
    m.attribute("q_num_heads", heads);
    m.attribute("kv_num_heads", kv_heads);
  }
  m.maybe(0.4, "is_causal", m.dice.in(0, 1));
  m.maybe(0.3, "scale", 0.5f);
  m.maybe(0.2, "softcap", 2.0f);
  const auto reals = [&](int64_t h, int64_t s, int64_t d) {
    return m.add(m.reals(DType::f32, flat ? Extents{batch, s, h * d} : Extents{batch, h, s, d}, Fill::normal));
  };
  Names in = {reals(heads, q, size), reals(kv_heads, kv, size), reals(kv_heads, kv, v_size)};
  const bool mask = m.dice.chance(0.5);
  if (mask) {
    const Extents shape =
        m.dice.one_of<Extents>({{q, kv + before}, {1, 1, q, kv + before}, {batch, heads, q, kv + before}});
    Tensor t = m.dice.chance(0.5) ? m.any(DType::boolean, shape) : m.reals(DType::f32, shape, Fill::normal);
    if (t.dtype() == DType::boolean)
      for (int64_t i = 0; i < t.count(); i += kv + before) set_int(t, i, 1);  // no row without any position
    in.push_back(m.add(t));
  } else if (past) {
    in.push_back(m.absent());
  }
  if (past) {
    in.push_back(m.add(m.reals(DType::f32, {batch, kv_heads, before, size}, Fill::normal)));
    in.push_back(m.add(m.reals(DType::f32, {batch, kv_heads, before, v_size}, Fill::normal)));
  }
  m.finish(in, past ? 3 : 1);
}

void rotary_embedding(Maker& m) {
  const int64_t batch = m.dice.in(1, 2), steps = m.dice.in(1, 4), heads = m.dice.in(1, 3), size = 2 * m.dice.in(1, 4);
  const bool flat = m.dice.chance(0.4), positions = m.dice.chance(0.6);
  m.maybe(0.5, "interleaved", m.dice.in(0, 1));
  if (flat) m.attribute("num_heads", heads);
  const Extents x = flat ? Extents{batch, steps, heads * size} : Extents{batch, heads, steps, size};
  const Extents cache = positions ? Extents{8, size / 2} : Extents{batch, steps, size / 2};
  Names in = {m.add(m.reals(DType::f32, x)), m.add(m.reals(DType::f32, cache, Fill::normal)),
              m.add(m.reals(DType::f32, cache, Fill::normal))};
  if (positions) in.push_back(m.add(m.whole(DType::i64, {batch, steps}, 0, 7)));
  m.finish(in);
}

void loss(Maker& m) {
  const int64_t n = m.dice.in(1, 3), classes = m.dice.in(1, 5);
  Extents x = {n, classes}, y = {n};
  for (int64_t k = m.dice.in(0, 2); k-- > 0;) {
    x.push_back(m.dice.in(1, 3));
    y.push_back(x.back());
  }
  m.maybe(0.7, "reduction", m.dice.word({"none", "mean", "sum"}));
  const bool ignores = m.dice.chance(0.3);
  if (ignores) m.attribute("ignore_index", int64_t(0));
  Names in = {m.add(m.reals(DType::f32, x, Fill::normal)), m.add(m.whole(DType::i64, y, 0, classes - 1))};
  if (m.dice.chance(0.5)) in.push_back(m.add(m.reals(DType::f32, {classes}, Fill::positive)));
  m.finish(in, m.made.op == "SoftmaxCrossEntropyLoss" && m.dice.chance(0.4) ? 2 : 1);
}

void dropout(Maker& m) {
  const DType type = m.floating();
  if (m.opset() < 12) m.maybe(0.5, "ratio", 0.3f);
  Names in = {m.add(m.reals(type, m.shape(0, 4)))};
  if (m.opset() >= 12 && m.dice.chance(0.5)) in.push_back(m.add(m.scalar(DType::f32, 0.3)));
  m.finish(in, m.opset() >= 10 && m.dice.chance(0.5) ? 2 : 1);
}

constexpr Recipe kRecipes[] = {
    {"Attention", 23, attention},
    {"BatchNormalization", 7, batch_normalization},
    {"Det", 11, det},
    {"Dropout", 7, dropout},
    {"Einsum", 12, einsum},
    {"GRU", 7, recurrent},
    {"Gemm", 7, gemm},
    {"GroupNormalization", 18, group_normalization},
    {"InstanceNormalization", 6, instance_normalization},
    {"LSTM", 7, recurrent},
    {"LayerNormalization", 17, layer_normalization},
    {"LpNormalization", 1, lp_normalization},
    {"MatMul", 1, matmul},
    {"MatMulInteger", 10, matmul_integer},
    {"MeanVarianceNormalization", 9, mean_variance_normalization},
    {"NegativeLogLikelihoodLoss", 12, loss},
    {"QLinearMatMul", 10, qlinear_matmul},
    {"RMSNormalization", 23, layer_normalization},
    {"RNN", 7, recurrent},
    {"RotaryEmbedding", 23, rotary_embedding},
    {"SoftmaxCrossEntropyLoss", 12, loss},
};

}  // namespace

std::span<const Recipe> product_recipes() { return kRecipes; }

}  // namespace nnex::differential
