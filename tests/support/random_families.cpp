// The families of random networks. Those of branches and loops, and of what computes in place, stand here.
#include "random_recipes.h"

namespace nnex::test {
namespace recipes {
namespace {

// ---- Control ----

void control_step(RandomNet& n);

/// Pieces of other families, and blocks within blocks.
void pieces(RandomNet& n, int64_t count) {
  for (; count > 0; --count) {
    if (n.depth < 3 && n.random.one_in(4))
      control_step(n);
    else
      go_on(n, n.pick(is_image) >= 0 ? image_steps() : sequence_steps(), 1);
  }
}

/// What a block gives in place of v: of what it made, of what is around it, or v itself.
V given(RandomNet& n, V v) { return n.random.one_in(8) ? v : n.random.one_in(8) ? n.like(v) : n.result_like(v); }

/// Work on v whose result is as v is: an image of 32 channels and 40 by 40 pixels takes more workspace here than
/// anything around the branch does.
void same_shape(RandomNet& n, V v) {
  n.keep(n.like(v) == v ? n("neg", {v}) : combine(n, v));
  if (is_image(n[v]) && n[v].type == n.type) image_residual(n);
}

void control_branch(RandomNet& n) {
  const V x = n.pick(is_floats);
  if (x < 0) return;
  const int64_t results = n.random.between(1, 2);
  const V condition = n.input(DType::boolean, {}, {}, 0, 1);
  const V second = n.like(x);
  std::vector<RandomNet::Blocks> blocks;
  for (int branch = 0; branch < 2; ++branch) {
    n.open();
    if (!n.random.one_in(4)) same_shape(n, x);
    pieces(n, n.random.between(0, 2));
    std::vector<V> out;
    for (int64_t i = 0; i < results; ++i) out.push_back(given(n, i == 0 ? x : second));
    blocks.push_back(n.close(out));
  }
  for (V v : n.node("if_else", {condition}, {}, static_cast<size_t>(results), blocks)) n.keep(v);
}

void control_loop(RandomNet& n) {
  const V x = n.pick(is_floats);
  if (x < 0) return;
  const bool stacked = n.random.one_in(3);
  // Nothing stacked has no extents but those that are known before the run.
  const int64_t min = stacked && n.symbols ? 1 : 0;
  const V count = n.random.one_in(2) ? n.input(DType::i64, {}, {}, static_cast<double>(min), 3)
                                     : n.constant(Tensor::scalar<int64_t>(n.random.between(1, 3)));
  n.open();
  n.parameter(DType::i64);
  const V go = n.parameter(DType::boolean), state = n.parameter(x);
  same_shape(n, state);
  pieces(n, n.random.between(0, 2));
  const V next = n("tanh", {given(n, state)});  // numbers stay small
  std::vector<V> out = {n.random.one_in(3) ? n("copy", {go}) : go, next};
  if (stacked) out.push_back(given(n, state));
  const auto body = n.close(out);
  for (V v : n.node("loop", {count, kAbsent, x}, {}, stacked ? 2 : 1, {body})) n.keep(v);
}

void control_scan(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_floats(h) && h.shape.rank() >= 3 && h.shape[1] <= 12; });
  if (x < 0) return;
  const bool reverse = n.random.one_in(3);
  const V state = n("max_reduce", {x, n.ints({1})}, {{"keepdims", false}});
  n.open();
  const V before = n.parameter(state), item = n.parameter(x, 1);
  V next = n("tanh", {n("add", {before, item})});
  n.keep(next);
  if (n[item].shape.rank() == 2) {
    const int64_t c = n[item].shape[1];
    const V y = n.spend(n[x].shape.count() * c) ? n("matmul", {next, n.weights({c, c}, gain(c))}) : next;
    n.keep(y);
    if (n.random.one_in(2)) next = n("tanh", {y});
  } else {
    pieces(n, n.random.between(0, 1));
  }
  const auto body = n.close({next, given(n, item)});
  const Ints axis = {1};
  for (V v :
       n.node("scan", {state, x},
              {{"inputs", int64_t{1}}, {"input_axes", axis}, {"output_axes", axis}, {"input_reverse", Ints{reverse}}},
              2, {body}))
    n.keep(v);
}

/// A value that grows with every step, as caches do: its extent is known when the run is over.
void control_growth(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_floats(h) && h.shape.rank() >= 2 && h.shape.count() <= 2000; });
  if (x < 0) return;
  const int64_t axis = n.random.below(n[x].shape.rank());
  const V start = n("tanh", {x}), count = n.input(DType::i64, {}, {}, 0, 3);
  n.open();
  n.parameter(DType::i64);
  const V go = n.parameter(DType::boolean), state = n.parameter(n[x].type, false);
  const V item = n("softmax", {n("add", {x, n("max_reduce", {state, n.ints({axis})})})}, {{"axes", Ints{axis}}});
  const auto body = n.close({go, n("concat", {state, item}, {{"axis", axis}})});
  const V grown = n.node("loop", {count, kAbsent, start}, {}, 1, {body})[0];
  n.keep(n("add", {x, n("mean_reduce", {grown, n.ints({axis})})}));
}

void control_step(RandomNet& n) {
  const Step step = n.random.one<Step>(
      {control_branch, control_branch, control_branch, control_loop, control_loop, control_scan, control_growth});
  step(n);
}

void control(RandomNet& n) {
  if (n.random.one_in(2))
    image(n);
  else
    sequence(n);
  pieces(n, n.random.between(0, 3));
  control_step(n);
  pieces(n, n.random.between(0, 3));
}

// ---- In place ----

bool broadcasts(const Held& a, const Held& b) {
  for (const auto& [x, y] : {std::pair(&a.shape, &b.shape), std::pair(&a.other, &b.other)})
    for (int64_t i = 1; i <= std::min(x->rank(), y->rank()); ++i) {
      const int64_t e = (*x)[x->rank() - i], f = (*y)[y->rank() - i];
      if (e != f && e != 1 && f != 1) return false;
    }
  return true;
}

bool is_small(const Held& h) { return h.shape.count() <= 5000 && h.other.count() <= 5000; }

void place_binary(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_small(h) && h.type != DType::boolean; });
  if (x < 0) return;
  const Held held = n[x];
  const V y = n.pick([&](const Held& h) { return h.type == held.type && broadcasts(h, held) && is_small(h); });
  const bool floats = is_float(held.type);
  V z = n(n.random.word({"add", "sub", "mul", "min", "max", "add"}), {x, y});
  if (floats && n.random.one_in(2)) z = n(n.random.word({"tanh", "hard_sigmoid", "sigmoid"}), {z});
  n.keep(z);
}

void place_unary(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_small(h) && h.type != DType::boolean; });
  if (x < 0) return;
  if (!is_float(n[x].type)) {
    n.keep(n(is_unsigned_int(n[x].type) ? "copy" : n.random.word({"neg", "abs", "copy", "sign"}), {x}));
    return;
  }
  V y = x;  // a chain
  for (int64_t i = n.random.between(1, 4); i > 0; --i) {
    y = n.random.one_in(5) ? spelled(n, y)
                           : n(n.random.word({"relu", "tanh", "neg", "abs", "sigmoid", "copy", "erf", "sin"}), {y});
    if (n.random.one_in(4)) n.keep(y);
  }
  n.keep(y);
}

void place_choose(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_small(h) && h.exact && h.type != DType::boolean; });
  if (x < 0) return;
  const V other = n.like(x);
  const V less = n.keep(n(n.random.word({"lt", "ge", "eq"}), {x, other}));
  n.keep(n.random.one_in(2) ? n("select", {less, x, other}) : n("cast", {less}, {{"to", n.type}}));
}

void place_move(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_small(h) && h.shape.rank() >= 1; });
  if (x < 0) return;
  const Held h = n[x];
  const int64_t rank = h.shape.rank(), axis = n.random.below(rank);
  Ints axes;
  for (int64_t i = 0; i < rank; ++i) axes.insert(axes.begin() + n.random.below(i + 1), i);
  switch (n.random.below(7)) {
    case 0:
      n.keep(n("transpose", {x}, {{"axes", axes}}));
      return;
    case 1:
      if (h.shape.count() > 0 && h.other.count() > 0) n.keep(n("reshape", {x, n.ints({-1})}));
      return;
    case 2:
      n.keep(n("concat", {x, n.like(x), x}, {{"axis", axis}}));
      return;
    case 3:
      n.keep(n("slice",
               {x, n.ints({n.random.below(2)}), n.ints({1000}), n.ints({axis}), n.ints({n.random.between(1, 2)})}));
      return;
    case 4:
      n.keep(n("unsqueeze", {x, n.ints({axis})}));
      return;
    case 5: {
      const int64_t e = h.shape[axis];
      if (!h.fixed(axis) || e < 2) return;
      for (V v : n.node("split", {x, n.ints({1, e - 1})}, {{"axis", axis}}, 2)) n.keep(v);
      return;
    }
    default: {
      if (!h.fixed()) return;
      Ints wider(h.shape.begin(), h.shape.end());
      wider.insert(wider.begin(), 2);
      n.keep(n("expand", {x, n.ints(wider)}));
    }
  }
}

/// Extents that the network computes: there as a row, and back.
void place_shape(RandomNet& n) {
  const V x = n.pick(is_small);
  if (x < 0) return;
  const V extents = n("shape", {x}), row = n("reshape", {x, n("reshape", {n("size", {x}), n.ints({1})})});
  if (n.random.one_in(3)) n.keep(row);
  V y = is_float(n[x].type) ? n("sigmoid", {row}) : n("copy", {row});
  y = n("reshape", {y, extents});
  n.keep(y);
  n.keep(n[x].type == DType::boolean ? y : n("max", {x, y}));
}

/// As many elements as the run finds: their memory is known then.
void place_some(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_small(h) && h.exact && is_float(h.type) && h.shape.count() > 1; });
  if (x < 0) return;
  const V row = n("reshape", {x, n.ints({-1})});
  const V chosen = n("compress", {row, n("gt", {row, n.number(n[x].type, 0)})});
  const V y = n("tanh", {chosen}), z = n("add", {y, n("sigmoid", {chosen})});
  const V all = n("concat", {z, row, y}, {{"axis", int64_t{0}}});
  n.keep(n("max_reduce", {n("mul", {all, all}), n.ints({0})}));
}

void place_reduce(RandomNet& n) {
  const V x =
      n.pick([](const Held& h) { return is_small(h) && h.shape.rank() >= 1 && is_floats(h) && h.other.count() > 0; });
  if (x < 0) return;
  const int64_t axis = n.random.below(n[x].shape.rank());
  if (n.random.one_in(3))
    n.keep(n("softmax", {x}, {{"axes", Ints{axis}}}));
  else
    n.keep(n(n.random.word({"mean_reduce", "max_reduce", "min_reduce"}), {x, n.ints({axis})}));
}

void in_place(RandomNet& n) {
  const int64_t rank = n.random.between(1, 4);
  for (int64_t inputs = n.random.between(1, 3); inputs > 0; --inputs) {
    const DType type = n.random.one<DType>(
        {DType::f32, DType::f32, DType::f32, DType::f32, DType::f16, DType::i32, DType::i64, DType::u8, DType::i8});
    std::vector<int64_t> shape, other;
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t e = n.random.one_in(30) ? 0 : n.random.of({1, 1, 2, 3, 3, 5, 8, 8, 17});
      shape.push_back(e), other.push_back(e > 1 && i == 0 ? 2 * e + 1 : e);
    }
    if (n.random.one_in(3)) std::swap(shape, other);
    n.input(type, Shape(shape), Shape(other), type == DType::u8 ? 0 : -2, type == DType::u8 ? 9 : 2);
    n.keep(n.constant(n.random.tensor(type, {n.random.one_in(2) ? 1 : shape.back()}, 0, 2)));
  }
  go_on(n,
        {place_binary, place_binary, place_binary, place_unary, place_unary, place_choose, place_move, place_move,
         place_reduce, place_shape, place_some},
        n.random.between(3, 16));
}

}  // namespace
}  // namespace recipes

const std::vector<RandomFamily>& random_families() {
  static const std::vector<RandomFamily> kFamilies = {
      {"images", recipes::images, true},      {"sequences", recipes::sequences, true},
      {"codes", recipes::codes, false, true}, {"control", recipes::control, true},
      {"in place", recipes::in_place, true},
  };
  return kFamilies;
}

}  // namespace nnex::test
