// Random networks of codes: quantised pairs around operators of floats, and operators of codes.
#include "random_recipes.h"

namespace nnex::test::recipes {
namespace {

struct Grid {
  V scale = kAbsent, zero = kAbsent;
};

bool is_codes(const Held& h) { return (h.type == DType::u8 || h.type == DType::i8) && h.shape.count() > 0; }

/// The middle of the type, or beside it.
V zero_of(RandomNet& n, DType type, const Shape& shape) {
  const int64_t middle = type == DType::u8 ? 128 : 0, beside = n.random.one_in(2) ? 0 : 25;
  return n.constant(
      n.random.tensor(type, shape, static_cast<double>(middle - beside), static_cast<double>(middle + beside)));
}

/// Grids of what networks compute: from about -4 to 4.
Grid grid(RandomNet& n) {
  const DType type = n.random.one_in(3) ? DType::i8 : DType::u8;
  const double scale = n.random.real(0.025, 0.035);
  return {n.number(DType::f32, n.grid ? 0x1p-5 : scale), zero_of(n, type, {})};
}

/// x, moved to a grid.
V through(RandomNet& n, V x) {
  const Grid g = grid(n);
  const V codes = n("quantize_linear", {x, g.scale, g.zero});
  if (n.random.one_in(3)) n.keep(codes);
  return n("dequantize_linear", {codes, g.scale, g.zero});
}

/// Codes of a filter with `out` columns along `axis`, as floats.
V coded_weights(RandomNet& n, const Shape& shape, int64_t axis, int64_t fan) {
  const double max = n.grid ? 15 : 127, step = gain(fan) / max;
  const Shape scales = n.random.one_in(2) ? Shape{shape[axis]} : Shape{};
  Tensor steps = n.random.tensor(DType::f32, scales, step / 2, step);
  if (n.grid)
    for (float& x : steps.mutable_as<float>()) x = std::exp2(std::floor(std::log2(x)));
  const V scale = n.constant(steps), codes = n.constant(n.random.tensor(DType::i8, shape, -max, max));
  const V zero = n.random.one_in(2) ? kAbsent : n.constant(n.random.tensor(DType::i8, scales, 0, 0));
  return n("dequantize_linear", {codes, scale, zero}, {{"axis", axis}});
}

V coded_activation(RandomNet& n, V y) {
  if (n.random.one_in(2)) return y;
  if (n.grid && !n.random.one_in(5)) return n("relu", {y});
  return n(
      n.random.word({"relu", "relu", "hard_swish", "sigmoid", "hard_sigmoid", "silu", "tanh", "gelu", "leaky_relu"}),
      {y});
}

void code_conv(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const Window w = window(n);
  const Filter f = filter_for(n, n[x].shape[1]);
  if (!spend_on(n, n[x], f, w)) return;
  const int64_t fan = n[x].shape[1] / f.groups;
  const V filter = coded_weights(n, {f.out, fan, w.kernel[0], w.kernel[1]}, 0, fan * w.taps());
  Attributes a = w.attributes();
  a.emplace_back("groups", f.groups);
  V y = coded_activation(n, n("conv", {x, filter, n.random.one_in(3) ? kAbsent : n.weights({f.out}, 0.5)}, a));
  if (n.random.one_in(4)) y = through(n, y), y = n("add", {y, n.like(y)});
  n.keep(through(n, y));
}

void code_product(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_floats(h) && h.shape.rank() >= 2; });
  if (x < 0) return;
  const Shape s = n[x].shape;
  const int64_t in = s[s.rank() - 1], out = channels(n);
  if (!n.spend(s.count() * out)) return;
  const bool rows = s.rank() == 2 && n.random.one_in(2);
  V y = rows ? n("linear", {x, coded_weights(n, {out, in}, 0, in), n.weights({out})})
             : n("matmul", {x, coded_weights(n, {in, out}, 1, in)});
  if (n.random.one_in(3)) y = n("add", {y, n.weights({out}, 0.5)});
  n.keep(through(n, coded_activation(n, y)));
}

void code_plain(RandomNet& n) {
  const V x = n.pick(is_floats);
  if (x < 0) return;
  V y = kRefused;
  switch (n.random.below(5)) {
    case 0:
      y = n("add", {x, n.like(x)});
      break;
    case 1:
      y = coded_activation(n, x);
      break;
    case 2:
      y = n("concat", {x, n.like(x)}, {{"axis", int64_t{1}}});
      break;
    case 3:
      y = n("mul", {x, n("sigmoid", {n.like(x)})});
      break;
    default: {
      if (!is_image(n[x]) || n[x].shape[2] < 2 || n[x].shape[3] < 2) return;
      const Attributes a = {{"size", Ints{1, 1, 2, 2}}, {"stride", Ints{1, 1, 2, 2}}, {"border", "ignore"}};
      Attributes mean = a;
      mean.emplace_back("divisor", "window");
      y = n.random.one_in(2)   ? n("max_pool", {x}, a)
          : n.random.one_in(2) ? n("box", {x}, mean)
                               : n("mean_reduce", {x, n.ints({2, 3})});
    }
  }
  n.keep(through(n, y));
}

/// Moves of codes: between a quantisation and what reads it.
void code_move(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_image(h) || (is_codes(h) && h.shape.rank() == 4); });
  if (x < 0) return;
  V y = n("transpose", {x}, {{"axes", n.random.one_in(2) ? Ints{0, 2, 3, 1} : Ints{0, 1, 3, 2}}});
  if (n.random.one_in(2)) y = n("reshape", {y, n.ints({n[x].shape[0], -1, n.random.one_in(2) ? 1 : n[x].shape[1]})});
  n.keep(y);
}

/// A convolution of codes. Of many channels its depth passes 1,024, what kernels of codes add up at once; of 33 to 64,
/// in rows of up to 256 values, one by spans takes it as a whole where another would not (AVX2).
void code_exact_conv(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_codes(h) && h.shape.rank() == 4; });
  if (x < 0) return;
  Window w = window(n);
  Filter f = filter_for(n, n[x].shape[1]);
  const int64_t in = n[x].shape[1];
  if (in >= 33) f = {n.random.of({1, 3, 4, 8, 17, 24}), 1};
  if (in >= 33 && in <= 64 && n.random.one_in(2)) {
    w.kernel = {n.random.between(5, 7), 256 / in}, w.stride = w.dilation = {1, 1};
    w.padding = {{3, 3}, {w.kernel[1] / 2, w.kernel[1] / 2}};
  }
  if (!spend_on(n, n[x], f, w)) return;
  const DType type = n.random.one_in(3) ? DType::u8 : DType::i8;
  const int64_t fan = n[x].shape[1] / f.groups;
  const Shape shape = {f.out, fan, w.kernel[0], w.kernel[1]}, columns = n.random.one_in(2) ? Shape{f.out} : Shape{};
  const V filter =
      n.constant(n.random.tensor(type, shape, type == DType::u8 ? 0 : -127, type == DType::u8 ? 255 : 127));
  const V zero = zero_of(n, n[x].type, {}), filter_zero = zero_of(n, type, columns);
  Attributes a = w.attributes();
  a.emplace_back("groups", f.groups);
  if (n.random.one_in(4)) {
    const V sums = n("conv_integer", {x, filter, zero, n.random.one_in(3) ? kAbsent : filter_zero}, a);
    n.keep(sums);
    n.keep(n("mul", {n("cast", {sums}, {{"to", DType::f32}}), n.number(DType::f32, 1e-4)}));
    return;
  }
  const Grid y = grid(n);
  const V scale = n.constant(n.random.tensor(DType::f32, columns, 0.02, 0.04)),
          bias = n.constant(n.random.tensor(DType::i32, {f.out}, -2000, 2000));
  const V x_scale = n.number(DType::f32, gain(fan * w.taps()) / 30);
  n.keep(n("qlinear_conv",
           {x, x_scale, zero, filter, scale, filter_zero, y.scale, y.zero, n.random.one_in(3) ? kAbsent : bias}, a));
}

void code_exact_product(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_codes(h) && h.shape.rank() >= 2; });
  if (x < 0) return;
  const int64_t in = n[x].shape[n[x].shape.rank() - 1], out = channels(n);
  if (!n.spend(n[x].shape.count() * out)) return;
  const V y = n.constant(n.random.tensor(DType::i8, {in, out}, -127, 127));
  const V zero = zero_of(n, n[x].type, {}), y_zero = zero_of(n, DType::i8, {});
  if (n.random.one_in(2)) {
    n.keep(n("matmul_integer", {x, y, zero, n.random.one_in(2) ? kAbsent : y_zero}));
    return;
  }
  const Grid z = grid(n);
  const V step = n.number(DType::f32, gain(in) / 30), column = n.number(DType::f32, 0.03);
  n.keep(n("qlinear_matmul", {x, step, zero, y, column, y_zero, z.scale, z.zero}));
}

}  // namespace

void codes(RandomNet& n) {
  n.grid = !n.random.one_in(3);
  const bool deep = n.random.one_in(6);
  const int64_t c = deep ? n.random.of({33, 48, 64, 115, 128, 1030}) : channels(n);
  if (deep) n.budget = 8'000'000;
  const Shape s = {n.random.of({1, 1, 2}), c, n.random.of({1, 2, 5, 8, 13}), n.random.of({1, 3, 7, 8, 16})};
  const bool bytes = deep || n.random.one_in(3);
  const V x = bytes ? n.input(DType::u8, s, s, 0, 255) : n.input(n.type, s, s);
  if (bytes)
    n.keep(n("dequantize_linear",
             {x, n.number(DType::f32, n.grid ? 0x1p-6 : 0.02), n.constant(Tensor::scalar<uint8_t>(128))}));
  else
    n.keep(through(n, x));
  if (deep) code_exact_conv(n);
  go_on(n,
        {code_conv, code_conv, code_conv, code_plain, code_plain, code_product, code_move, code_exact_conv,
         code_exact_conv, code_exact_product},
        n.random.between(2, 8));
}

}  // namespace nnex::test::recipes
