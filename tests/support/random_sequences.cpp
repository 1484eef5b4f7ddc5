// Random networks of sequences: products, attention, recurrent layers.
#include "nnex/elements.h"
#include "random_recipes.h"

namespace nnex::test::recipes {
namespace {

V linear(RandomNet& n, V x, int64_t out) {
  if (x < 0) return x;
  const int64_t in = n[x].shape[n[x].shape.rank() - 1];
  if (!n.spend(n[x].shape.count() * out)) return kRefused;
  V y = n("matmul", {x, n.weights({in, out}, gain(in))});
  const V row = n.weights({out}, 0.5);
  if (!n.random.one_in(3)) y = n.random.one_in(2) ? n("add", {y, row}) : n("add", {row, y});
  return y;
}

V layer_norm(RandomNet& n, V x) {
  if (x < 0) return x;
  const Shape c = {n[x].shape[n[x].shape.rank() - 1]};
  const V scale = n.within(c, 0.5, 1.5), offset = n.weights(c);
  if (n.random.one_in(3)) return n("layer_normalization", {x, scale, offset}, {{"epsilon", 0.05}});
  if (n.random.one_in(4)) return n("rms_normalization", {x, scale}, {{"epsilon", 0.05}});
  const V mean = n("mean_reduce", {x, n.ints({-1})}), less = n("sub", {x, mean});
  const V square = n.random.one_in(2) ? n("pow", {less, n.number(n.type, 2)}) : n("mul", {less, less});
  const V spread = n("sqrt", {n("add", {n("mean_reduce", {square, n.ints({-1})}), n.number(n.type, 0.05)})});
  return n("add", {n("mul", {n("div", {less, spread}), scale}), offset});
}

void sequence_norm(RandomNet& n) { n.keep(layer_norm(n, n.pick(is_sequence))); }

void sequence_linear(RandomNet& n) {
  const V y = linear(n, n.pick(is_sequence), n.random.of({1, 4, 8, 16, 17, 24, 32, 33}));
  n.keep(n.random.one_in(2) ? activate(n, y) : n.random.one_in(2) ? combine(n, y) : y);
}

void sequence_feed_forward(RandomNet& n) {
  const V x = n.pick(is_sequence);
  if (x < 0) return;
  const int64_t c = n[x].shape[2];
  const V in = n.random.one_in(2) ? layer_norm(n, x) : x;
  V wide = linear(n, in, 2 * c);
  if (n.random.one_in(2))
    wide = activate(n, wide);
  else
    wide = n("mul", {n(n.random.word({"silu", "gelu"}), {wide}), linear(n, in, 2 * c)});
  n.keep(n("add", {x, linear(n, wide, c)}));
}

/// [items, steps, heads * depth] as [items, heads, steps, depth], or with the last two exchanged.
V heads_of(RandomNet& n, V x, int64_t heads, bool exchanged = false) {
  if (x < 0) return x;
  const V apart = n("reshape", {x, n.ints({0, 0, heads, n[x].shape[2] / heads})}, {{"zero", "copy"}});
  return n("transpose", {apart}, {{"axes", exchanged ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3}}});
}

V mask_for(RandomNet& n, const Held& x) {
  if (!x.fixed(1) || n.random.one_in(3))
    return n.input(n.type, {x.shape[0], 1, 1, x.shape[1]}, {x.other[0], 1, 1, x.other[1]}, -5, 0);
  Tensor t = *Tensor::make(DType::f32, {1, 1, x.shape[1], x.shape[1]});
  for (int64_t i = 0; i < x.shape[1]; ++i)
    for (int64_t j = 0; j < x.shape[1]; ++j)
      t.mutable_as<float>()[static_cast<size_t>(i * x.shape[1] + j)] = j > i ? -10000.0F : 0;
  return n.constant(*cast(t, n.type));
}

void sequence_attention(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_sequence(h) && h.shape[1] <= 80 && h.other[1] <= 80; });
  if (x < 0 || !n.spend(n[x].shape.count() * n[x].shape[1] * 2)) return;
  const int64_t heads = n.random.of({1, 2, 3, 4}), width = heads * n.random.of({1, 4, 8, 9, 16});
  const V in = n.random.one_in(2) ? layer_norm(n, x) : x;
  const V q = linear(n, in, width), k = linear(n, in, width), v = linear(n, in, width);
  V y = kRefused;
  if (n.random.one_in(4)) {
    y = n("attention", {q, k, v}, {{"q_heads", heads}, {"kv_heads", heads}, {"causal", n.random.one_in(2)}});
  } else {
    const V scale = n.number(n.type, 1 / std::sqrt(static_cast<double>(width) / static_cast<double>(heads)));
    const V exchanged = heads_of(n, k, heads, true);
    V scores = n("matmul", {heads_of(n, q, heads), exchanged});
    scores = n("mul", {scores, scale});
    if (n.random.one_in(2)) scores = n("add", {scores, mask_for(n, n[x])});
    y = n("matmul", {n("softmax", {scores}), heads_of(n, v, heads)});
    y = n("reshape", {n("transpose", {y}, {{"axes", Ints{0, 2, 1, 3}}}), n.ints({0, 0, width})}, {{"zero", "copy"}});
  }
  y = linear(n, y, n[x].shape[2]);
  n.keep(n.random.one_in(3) ? y : n("add", {x, y}));
}

/// Every choice of the outputs that are read: what stands behind a later one has to do without the earlier ones. One
/// that is read gets transposes and other moves behind it now and then.
void sequence_recurrent(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_sequence(h) && h.shape[1] <= 40; });
  if (x < 0) return;
  const bool gru = n.random.one_in(2), both = n.random.one_in(3);
  const int64_t gates = gru ? 3 : 4, in = n[x].shape[2], hidden = n.random.of({1, 4, 5, 8, 16, 17}), d = both ? 2 : 1;
  if (!n.spend(n[x].shape.count() / in * d * gates * hidden * (in + hidden))) return;
  std::vector<V> inputs = {n.random.one_in(4) ? x : n("transpose", {x}, {{"axes", Ints{1, 0, 2}}})};
  inputs.push_back(n.weights({d, gates * hidden, in}, gain(in)));
  inputs.push_back(n.weights({d, gates * hidden, hidden}, gain(hidden)));
  if (n.random.one_in(2)) inputs.push_back(n.weights({d, 2 * gates * hidden}, 0.5));
  Attributes a = {{"direction", both ? "bidirectional" : n.random.word({"forward", "forward", "reverse"})}};
  if (gru) a.emplace_back("reset_after", n.random.one_in(2));
  const std::vector<V> out = n.node(gru ? "gru" : "lstm", inputs, a, gru ? 2 : 3);
  const int64_t read = n.random.between(1, gru ? 3 : 7);
  for (size_t o = 0; o < out.size(); ++o) {
    if (out[o] < 0 || (read >> o) % 2 == 0) continue;
    if (o == 0) {  // [steps, directions, items, hidden]
      const V moved = n("transpose", {out[0]}, {{"axes", Ints{2, 0, 1, 3}}});
      n.keep(n("reshape", {moved, n.ints({0, 0, d * hidden})}, {{"zero", "copy"}}));
      continue;
    }
    V y = out[o];  // [directions, items, hidden]
    if (!n.random.one_in(3)) y = n("transpose", {y}, {{"axes", Ints{1, 0, 2}}});
    if (n.random.one_in(2)) y = n("transpose", {y}, {{"axes", n.random.one_in(2) ? Ints{0, 2, 1} : Ints{2, 1, 0}}});
    n.keep(n.random.one_in(2) ? activate(n, y) : y);
  }
}

/// A convolution along the steps.
void sequence_conv(RandomNet& n) {
  const V x = n.pick(is_sequence);
  if (x < 0) return;
  const int64_t c = n[x].shape[2], k = n.random.of({1, 2, 3, 5}), out = n.random.one_in(2) ? c : channels(n);
  const int64_t groups = out == c && n.random.one_in(2) ? c : 1;
  if (!n.spend(n[x].shape.count() * out / groups * k)) return;
  V y = n("transpose", {x}, {{"axes", Ints{0, 2, 1}}});
  y = n("conv", {y, n.weights({out, c / groups, k}, gain(c / groups * k)), n.weights({out}, 0.5)},
        {{"padding", Pairs{{k - 1, 0}}}, {"groups", groups}});
  n.keep(n("transpose", {activate(n, y)}, {{"axes", Ints{0, 2, 1}}}));
}

/// Halves of the last axis exchanged, as rotary embeddings do.
void sequence_rotate(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_sequence(h) && h.shape[2] % 2 == 0; });
  if (x < 0) return;
  const int64_t half = n[x].shape[2] / 2;
  const V axis = n.ints({2});
  const V left = n("slice", {x, n.ints({0}), n.ints({half}), axis}),
          right = n("slice", {x, n.ints({half}), n.ints({2 * half}), axis});
  const V turned = n("concat", {n("neg", {right}), left}, {{"axis", int64_t{-1}}});
  const V a = n.weights({n[x].fixed(1) ? n[x].shape[1] : 1, 2 * half}), b = n.weights({2 * half});
  const V kept = n("mul", {x, a});
  n.keep(n("add", {kept, n("mul", {turned, b})}));
}

void sequence_plain(RandomNet& n) {
  const V x = n.pick(is_sequence);
  if (x < 0) return;
  const int64_t axis = n.random.of({1, 2});
  switch (n.random.below(5)) {
    case 0:
      n.keep(activate(n, x));
      return;
    case 1:
      n.keep(combine(n, x));
      return;
    case 2:
      n.keep(n("softmax", {x}, {{"axes", Ints{axis}}}));
      return;
    case 3:
      n.keep(n("concat", {x, n.like(x)}, {{"axis", axis}}));
      return;
    default:
      n.keep(n(n.random.word({"mean_reduce", "max_reduce"}), {x, n.ints({axis})}));
  }
}

/// Wider floats for a while, as mixed precision does.
void sequence_widen(RandomNet& n) {
  const V x = n.pick(is_sequence);
  if (x < 0 || n[x].type != DType::f16) return;
  const V wide = n("softmax", {n("cast", {x}, {{"to", DType::f32}})});
  n.keep(n("cast", {wide}, {{"to", DType::f16}}));
}

}  // namespace

const std::vector<Step>& sequence_steps() {
  static const std::vector<Step> kSteps = {
      sequence_linear,    sequence_linear, sequence_feed_forward, sequence_norm,      sequence_attention,
      sequence_attention, sequence_conv,   sequence_recurrent,    sequence_recurrent, sequence_recurrent,
      sequence_rotate,    sequence_plain,  sequence_plain,        sequence_widen};
  return kSteps;
}

V sequence(RandomNet& n) {
  const int64_t items = n.random.of({1, 1, 2, 3}), steps = n.random.of({1, 2, 5, 7, 8, 16, 33});
  const int64_t width = n.random.of({1, 4, 8, 8, 16, 17, 24, 32});
  if (n.random.one_in(5)) {  // words
    const V index = n.input(DType::i64, {items, steps}, {items + 1, steps + 5}, 0, 19);
    return n.keep(n("gather", {n.weights({20, width}), index}));
  }
  return n.input(n.type, {items, steps, width}, {items + 1, steps + 5, width});
}

void sequences(RandomNet& n) {
  if (n.random.one_in(4)) n.type = DType::f16;
  sequence(n);
  go_on(n, sequence_steps(), n.random.between(2, 9));
}

}  // namespace nnex::test::recipes
