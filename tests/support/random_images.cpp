// Random networks of images: convolutions, and whatever stands around them.
#include "random_recipes.h"

namespace nnex::test::recipes {

V spelled(RandomNet& n, V x) {
  const DType t = n[x].type;
  const auto c = [&](double v) { return n.number(t, v); };
  switch (n.random.below(6)) {
    case 0:  // silu
      return n.random.one_in(2) ? n("mul", {x, n("sigmoid", {x})}) : n("mul", {n("sigmoid", {x}), x});
    case 1:  // hard_swish
      return n("mul", {x, n("div", {n("clamp", {n("add", {x, c(3)}), c(0), c(6)}), c(6)})});
    case 2:  // gelu
      return n("mul", {n("mul", {x, n("add", {n("erf", {n("div", {x, c(1.41421356)})}), c(1)})}), c(0.5)});
    case 3: {  // gelu by tanh; cubes would grow where others read them
      n.keeps = false;
      const V cube = n("mul", {n("pow", {x, c(3)}), c(0.044715)});
      const V inner = n("tanh", {n("mul", {n("add", {x, cube}), c(0.79788456)})});
      n.keeps = true;
      return n("mul", {n("mul", {x, c(0.5)}), n("add", {inner, c(1)})});
    }
    case 4:  // relu6
      return n("min", {n("relu", {x}), c(6)});
    default:  // mish
      return n("mul", {x, n("tanh", {n("softplus", {x})})});
  }
}

V activate(RandomNet& n, V x) {
  if (x < 0 || n.random.one_in(4)) return x < 0 ? x : spelled(n, x);
  const DType t = n[x].type;
  if (n.random.one_in(8)) return n("clamp", {x, n.number(t, -1), n.random.one_in(2) ? kAbsent : n.number(t, 2)});
  if (n.random.one_in(8)) {
    const Shape& s = n[x].shape;
    return n("prelu", {x, s.rank() == 4 && n[x].fixed(1) ? n.weights({s[1], 1, 1}, 0.3) : n.weights({1}, 0.3)});
  }
  return n(n.random.word({"relu", "relu", "sigmoid", "tanh", "hard_swish", "hard_sigmoid", "leaky_relu", "elu",
                          "softplus", "mish", "silu", "gelu", "selu", "softsign", "celu", "abs", "neg"}),
           {x});
}

V combine(RandomNet& n, V x) {
  if (x < 0) return x;
  const Shape s = n[x].shape;
  V other = n.like(x);
  if (n.random.one_in(3)) {
    std::vector<int64_t> extents(static_cast<size_t>(s.rank()), 1);
    for (size_t i = 1; i < extents.size(); ++i)
      if (n[x].fixed(static_cast<int64_t>(i)) && n.random.one_in(2)) extents[i] = s[static_cast<int64_t>(i)];
    other = n.within(Shape(extents), -1, 1);
    if (n[other].type != n[x].type) return x;
  }
  const char* op = n.random.word({"add", "add", "add", "sub", "mul", "max"});
  if (std::string_view(op) == "mul") other = n("sigmoid", {other});
  return n.random.one_in(2) ? n(op, {x, other}) : n(op, {other, x});
}

Window window(RandomNet& n) {
  Window w;
  const int64_t k = n.random.of({1, 1, 3, 3, 3, 3, 5, 2, 7}), s = n.random.of({1, 1, 1, 2, 3});
  w.kernel = {k, k}, w.stride = {s, s}, w.dilation = {1, 1};
  if (n.random.one_in(6)) w.kernel[static_cast<size_t>(n.random.below(2))] = n.random.between(1, 5);
  if (n.random.one_in(6)) w.dilation[0] = 2, w.dilation[1] = n.random.between(1, 3);
  if (n.random.one_in(8)) w.stride[1] = n.random.between(1, 3);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = (w.kernel[i] - 1) * w.dilation[i];
    w.padding.emplace_back(reach / 2, reach - reach / 2);
  }
  if (n.random.one_in(4)) w.padding = {{0, 0}, {0, 0}};
  if (n.random.one_in(6)) {
    const int64_t before = n.random.between(0, 2), after = n.random.between(0, 3);
    w.padding = {{before, 0}, {1, after}};
  }
  return w;
}

int64_t channels(RandomNet& n) { return n.random.of({1, 2, 3, 4, 5, 8, 8, 12, 16, 16, 17, 24, 32, 33}); }

Filter filter_for(RandomNet& n, int64_t in) {
  Filter f{channels(n), 1};
  if (n.random.one_in(4)) f.groups = in, f.out = in * n.random.of({1, 1, 1, 2});
  if (n.random.one_in(6)) {
    f.groups = n.random.of({2, 3, 4});
    if (in % f.groups != 0) f.groups = 1;
    f.out = f.groups * n.random.between(1, 8);
  }
  return f;
}

bool spend_on(RandomNet& n, const Held& x, const Filter& f, const Window& w) {
  return w.fits(x) &&
         n.spend(x.shape[0] * f.out * (x.shape[1] / f.groups) * w.taps() * w.out(x.shape[2], 0) * w.out(x.shape[3], 1));
}

namespace {

V convolve(RandomNet& n, V x, Window w, Filter f) {
  if (x < 0 || !spend_on(n, n[x], f, w)) return kRefused;
  const int64_t fan = n[x].shape[1] / f.groups;
  const V filter = n.weights({f.out, fan, w.kernel[0], w.kernel[1]}, gain(fan * w.taps()));
  const V bias = n.random.one_in(3) ? kAbsent : n.weights({f.out}, 0.5);
  Attributes a = w.attributes();
  a.emplace_back("groups", f.groups);
  return n("conv", {x, filter, bias}, a);
}

V convolve(RandomNet& n, V x) {
  const Window w = window(n);
  return convolve(n, x, w, {channels(n), 1});
}

V normalize_channels(RandomNet& n, V x) {
  if (x < 0) return x;
  const Shape c = {n[x].shape[1]};
  if (n.random.one_in(6)) return n("instance_normalization", {x, n.weights(c), n.weights(c)}, {{"epsilon", 0.05}});
  if (n.random.one_in(8))
    return n("group_normalization", {x, n.weights(c), n.weights(c)},
             {{"groups", c[0] % 2 ? int64_t{1} : int64_t{2}}, {"epsilon", 0.05}});
  return n("batch_normalization", {x, n.weights(c), n.within(c, 0.5, 1.5), n.weights(c), n.within(c, 0.5, 1.5)});
}

/// A convolution and what usually stands behind it, in any order.
void image_conv(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const Window w = window(n);
  V y = convolve(n, x, w, filter_for(n, n[x].shape[1]));
  if (n.random.one_in(2)) y = normalize_channels(n, y);
  if (n.random.one_in(3)) y = activate(n, y);
  if (n.random.one_in(3)) y = combine(n, y);
  if (n.random.one_in(2)) y = activate(n, y);
  n.keep(y);
}

}  // namespace

void image_residual(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const int64_t c = n[x].shape[1];
  Window w;
  const int64_t k = n.random.of({1, 3, 3, 5});
  w.kernel = {k, k}, w.stride = w.dilation = {1, 1}, w.padding = {{k / 2, k / 2}, {k / 2, k / 2}};
  V y = convolve(n, x, w, {c, n.random.one_in(3) ? c : 1});
  y = activate(n, n.random.one_in(2) ? normalize_channels(n, y) : y);
  if (n.random.one_in(2)) y = convolve(n, y, w, {c, 1});
  y = n.random.one_in(2) ? n("add", {y, x}) : n("add", {x, y});
  n.keep(n.random.one_in(2) ? activate(n, y) : y);
}

namespace {

void image_excite(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const int64_t c = n[x].shape[1];
  Window one;
  one.kernel = one.stride = one.dilation = {1, 1}, one.padding = {{0, 0}, {0, 0}};
  const V mean = n("mean_reduce", {x, n.ints({2, 3})});
  const V few = convolve(n, mean, one, {std::max<int64_t>(c / 4, 1), 1});
  const V all = convolve(n, n(n.random.word({"relu", "silu"}), {few}), one, {c, 1});
  const V scale = n(n.random.word({"sigmoid", "hard_sigmoid"}), {all});
  n.keep(n("mul", {x, scale}));
}

void image_pool(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  if (n.random.one_in(4)) {
    const V y = n(n.random.word({"mean_reduce", "max_reduce"}), {x, n.ints({2, 3})});
    n.keep(n.random.one_in(2) ? combine(n, x) : y);
    n.keep(n("add", {x, y}));
    return;
  }
  Window w = window(n);
  for (size_t i = 0; i < 2; ++i)
    w.padding[i].first = std::min(w.padding[i].first, w.kernel[i] / 2),
    w.padding[i].second = std::min(w.padding[i].second, w.kernel[i] / 2);
  w.dilation = {1, 1};
  if (!w.fits(n[x])) return;
  Attributes a = w.of_pool();
  a.emplace_back("border", n.random.word({"ignore", "ignore", "constant"}));
  if (n.random.one_in(4)) a.emplace_back("ceil", true);
  if (n.random.one_in(2)) {
    a.emplace_back("divisor", n.random.word({"window", "padded"}));
    n.keep(n("box", {x}, a));
  } else if (n[x].exact && n.random.one_in(2)) {  // where it stands: two equal ones have an order
    a.emplace_back("index_as", "tensor");
    const std::vector<V> both = n.node("max_pool", {x}, a, 2);
    n.keep(both[0]), n.keep(both[1]);
  } else {
    n.keep(n("max_pool", {x}, a));
  }
}

void image_resize(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0 || n[x].shape.count() > 20'000) return;
  const float rows = n.random.one<float>({2, 2, 0.5F, 1, 1.5F}), columns = n.random.one_in(3) ? 3.0F : rows;
  for (const Shape* s : {&n[x].shape, &n[x].other})
    if (static_cast<float>((*s)[2]) * rows < 1 || static_cast<float>((*s)[3]) * columns < 1) return;
  n.keep(n("resize", {x, kAbsent, n.constant(Tensor::of<float>(Shape{4}, {1, 1, rows, columns}))},
           {{"mode", n.random.word({"nearest", "nearest", "linear", "linear", "cubic"})},
            {"transform", n.random.word({"half_pixel", "asymmetric", "pytorch_half_pixel"})},
            {"nearest_rounding", "floor"}}));
}

void image_deconv(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const int64_t k = n.random.of({2, 3, 4}), s = n.random.of({1, 2, 2, 3}), in = n[x].shape[1];
  const int64_t groups = n.random.one_in(4) ? in : 1, out = groups == in ? 1 : channels(n), p = n.random.below(2);
  if (!n.spend(n[x].shape.count() * out * k * k)) return;
  for (const Shape* shape : {&n[x].shape, &n[x].other})
    for (int64_t i : {2, 3})
      if (((*shape)[i] - 1) * s + k - 2 * p < 1) return;
  n.keep(activate(
      n,
      n("deconv", {x, n.weights({in, out, k, k}, gain(in / groups * k * k / (s * s))), n.weights({out * groups}, 0.5)},
        {{"stride", Ints{s, s}},
         {"padding", Pairs{{p, p}, {p, p}}},
         {"groups", groups},
         {"output_padding", Ints{s - 1, 0}}})));
}

void image_join(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0 || n[x].shape[1] > 60) return;
  const int64_t axis = n.random.of({1, 1, 1, 2, 3});
  std::vector<V> parts = {x, n.like(x)};
  if (n.random.one_in(3)) parts.push_back(activate(n, x));
  n.keep(n("concat", parts, {{"axis", axis}}));
}

/// Halves, one of which goes on by itself.
void image_split(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_image(h) && h.shape[1] >= 2; });
  if (x < 0) return;
  const int64_t c = n[x].shape[1], first = n.random.between(1, c - 1);
  const std::vector<V> parts = n.node("split", {x, n.ints({first, c - first})}, {{"axis", int64_t{1}}}, 2);
  const V y = n.random.one_in(2) ? convolve(n, parts[0]) : activate(n, parts[0]);
  n.keep(y), n.keep(parts[1]);
  if (y >= 0 && n[y].shape[2] == n[x].shape[2] && n[y].shape[3] == n[x].shape[3])
    n.keep(n("concat", {parts[1], y}, {{"axis", int64_t{1}}}));
}

void image_pad(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  Ints amounts(8);
  for (size_t i : {size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{6}, size_t{7}})
    amounts[i] = n.random.one_in(2) ? 0 : n.random.between(0, 2);
  if (n.random.one_in(2)) amounts[1] = amounts[5] = 0;
  const bool reflect = std::min({n[x].shape[1], n[x].shape[2], n[x].shape[3], n[x].other[2], n[x].other[3]}) > 2;
  const std::string border = n.random.word({"constant", "constant", "replicate", "reflect"});
  V y = n("pad", {x, n.ints(amounts)}, {{"border", border == "reflect" && !reflect ? "replicate" : border}});
  if (y >= 0 && n.random.one_in(2)) y = convolve(n, y);
  n.keep(y);
}

void image_slice(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const int64_t axis = n.random.between(1, 3), extent = std::min(n[x].shape[axis], n[x].other[axis]);
  const int64_t from = n.random.below(extent), step = n.random.of({1, 1, 2, -1});
  const Ints begin = {step < 0 ? -1 : from}, end = {step < 0 ? int64_t{-1000} : n.random.one_in(2) ? 1000 : from + 1};
  n.keep(n("slice", {x, n.ints(begin), n.ints(end), n.ints({axis}), n.ints({step})}));
}

/// Channels last and back, with something between that looks at the last axis or at each element.
void image_channels_last(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const int64_t c = n[x].shape[1];
  V y = n("transpose", {x}, {{"axes", Ints{0, 2, 3, 1}}});
  if (n.random.one_in(2)) y = n("layer_normalization", {y, n.weights({c}), n.weights({c})}, {{"epsilon", 0.05}});
  if (n.random.one_in(2) && n.spend(n[x].shape.count() * c)) y = n("matmul", {y, n.weights({c, c}, gain(c))});
  y = activate(n, n.random.one_in(2) ? combine(n, y) : y);
  if (n.random.one_in(4)) n.keep(y);
  y = n("transpose", {y}, {{"axes", Ints{0, 3, 1, 2}}});
  n.keep(n.random.one_in(2) ? n("add", {x, y}) : y);
}

void image_shuffle(RandomNet& n) {
  const V x = n.pick([](const Held& h) { return is_image(h) && h.fixed() && h.shape[1] % 2 == 0; });
  if (x < 0) return;
  const Shape s = n[x].shape;
  if (n.random.one_in(3) && s[1] % 4 == 0) {
    n.keep(n("depth_to_space", {x}, {{"block", int64_t{2}}, {"order", n.random.word({"dcr", "crd"})}}));
    return;
  }
  const V apart = n("reshape", {x, n.ints({s[0], 2, s[1] / 2, s[2], s[3]})});
  n.keep(n("reshape", {n("transpose", {apart}, {{"axes", Ints{0, 2, 1, 3, 4}}}), n.ints({s[0], s[1], s[2], s[3]})}));
}

void image_plain(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const int64_t axis = n.random.between(1, 3);
  n.keep(n.random.one_in(2)   ? activate(n, x)
         : n.random.one_in(2) ? combine(n, x)
                              : n("softmax", {x}, {{"axes", Ints{axis}}}));
}

/// To a sequence of pixels, or to one row for each image.
void image_flatten(RandomNet& n) {
  const V x = n.pick(is_image);
  if (x < 0) return;
  const int64_t c = n[x].shape[1];
  if (n.random.one_in(2)) {
    const V pixels = n("reshape", {x, n.ints({0, 0, -1})}, {{"zero", "copy"}});
    n.keep(n("transpose", {pixels}, {{"axes", Ints{0, 2, 1}}}));
  } else if (n.spend(n[x].shape[0] * c * 10)) {
    const V mean = n("reshape", {n("mean_reduce", {x, n.ints({2, 3})}), n.ints({0, -1})}, {{"zero", "copy"}});
    n.keep(n("softmax", {n("linear", {mean, n.weights({10, c}, gain(c)), n.weights({10})})}));
  }
}

}  // namespace

const std::vector<Step>& image_steps() {
  static const std::vector<Step> kSteps = {
      image_conv,  image_conv,  image_conv,  image_conv,          image_residual, image_residual, image_excite,
      image_pool,  image_pool,  image_join,  image_resize,        image_deconv,   image_split,    image_pad,
      image_slice, image_plain, image_plain, image_channels_last, image_shuffle,  image_flatten};
  return kSteps;
}

V image(RandomNet& n) {
  // One in four is a single line; a few are large enough for Winograd's way with its workspace.
  const bool large = n.random.one_in(5);
  if (large) n.budget = 30'000'000;
  const int64_t c = large ? n.random.of({16, 32, 32}) : channels(n);
  const int64_t h = n.random.one_in(4) ? 1 : large ? 40 : n.random.of({2, 3, 5, 7, 8, 13, 16, 20});
  const int64_t w = large ? n.random.of({33, 40}) : n.random.of({1, 3, 5, 7, 8, 13, 16, 33});
  const int64_t items = large ? 1 : n.random.of({1, 1, 2, 3});
  const bool size = n.random.one_in(2);
  return n.input(n.type, {items, c, h, w}, {items + 1, c, size ? h + 3 : h, size ? w + 2 : w});
}

void images(RandomNet& n) {
  if (n.random.one_in(4)) n.type = DType::f16;
  image(n);
  if (n.random.one_in(4)) image(n);
  go_on(n, image_steps(), n.random.between(2, 12));
}

}  // namespace nnex::test::recipes
