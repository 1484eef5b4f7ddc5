#pragma once
// Valid NNEF documents by the grammar: the same one for the same seed.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace nnex {

class NnefMaker {
 public:
  explicit NnefMaker(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  /// A document of up to `statements` assignments behind its externals.
  std::string document(int statements) {
    std::string fragments;
    const int count = below(4);
    for (int i = 0; i < count; ++i) fragments += fragment(i);
    fragments_ = count;
    std::string inputs;
    const int externals = 1 + below(2);
    for (int i = 0; i < externals; ++i) {
      const std::string name = fmt::format("in_{}", i);
      inputs += (i ? ", " : "") + name;
      const Shape s = shape(2 + below(3));
      line(name, {"", s}, fmt::format("external(shape = {})", text(s)));
    }
    for (int i = 0; i < statements; ++i) statement();
    const Tensor end = tensors_.back();
    if (below(2)) {
      const std::string state = fresh();
      body_ += fmt::format("    {} = variable(shape = {}, label = 'State.{}');\n", state, text(end.shape), state);
      body_ += fmt::format("    {}_next = update({}, add({}, {}));\n", state, state, state, end.name);
    }
    const Tensor last = line(fresh(), end, fmt::format("copy({})", end.name));
    const std::string more = below(2) ? line(fresh(), last, fmt::format("neg({})", last.name)).name : "";
    return fmt::format(
        "version 1.0;\nextension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n\n{}"
        "{}graph made({}) -> ({}{}{})\n{{\n{}}}\n",
        fragments, below(3) ? "" : "# a comment, and 'quotes' in it\n", inputs, last.name, more.empty() ? "" : ", ",
        more, body_);
  }

 private:
  using Shape = std::vector<int64_t>;
  struct Tensor {
    std::string name;
    Shape shape;
  };

  uint32_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>(z >> 33);
  }
  int below(int n) { return static_cast<int>(bits() % static_cast<uint32_t>(n)); }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<size_t>(below(static_cast<int>(list.size())))];
  }
  std::string word(std::initializer_list<const char*> list) {
    return *(list.begin() + below(static_cast<int>(list.size())));
  }
  std::string fresh() { return fmt::format("{}{}", word({"v", "t_", "layer", "_x"}), names_++); }
  static std::string text(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }
  static int64_t volume(const Shape& s) {
    int64_t n = 1;
    for (int64_t e : s) n *= e;
    return n;
  }
  Shape shape(int rank) {
    Shape out;
    for (int i = 0; i < rank; ++i) out.push_back(1 + below(4));
    return out;
  }
  std::string number() { return word({"0.5", "1.0", "-0.25", "2.0", "1e-3", "0.75", "3.5"}); }

  // ---- Fragments: every one keeps the shape of its argument

  std::string scalar(int depth) {
    if (depth == 0) return below(3) ? number() : "k";
    switch (below(5)) {
      case 0:
        return fmt::format("({} {} {})", scalar(depth - 1), word({"+", "-", "*"}), scalar(depth - 1));
      case 1:
        return fmt::format("scalar({})", integer(depth - 1));
      case 2:
        return fmt::format("({} if {} else {})", scalar(depth - 1), logical(depth - 1), scalar(depth - 1));
      case 3:
        return fmt::format("[{}, {}, k][{}]", number(), scalar(depth - 1), below(3));
      default:
        return fmt::format("-{}", scalar(depth - 1));
    }
  }
  std::string integer(int depth) {
    if (depth == 0) return below(2) ? fmt::format("{}", below(5)) : "n";
    switch (below(5)) {
      case 0:
        return fmt::format("({} {} {})", integer(depth - 1), word({"+", "-", "*"}), integer(depth - 1));
      case 1:
        return fmt::format("length_of({})", list(depth - 1));
      case 2:
        return fmt::format("integer({})", logical(depth - 1));
      case 3:
        return fmt::format("length_of('{}' + mode)", word({"", "a", "abc"}));
      default:
        return fmt::format("({} + [{}])[0]", list(0), integer(depth - 1));
    }
  }
  std::string list(int depth) {
    switch (depth == 0 ? below(2) : 2 + below(3)) {
      case 0:
        return "[1, 2, 3]";
      case 1:
        return "[n]";
      case 2:
        return fmt::format("[for i in {} yield i * {}]", list(depth - 1), 1 + below(3));
      case 3:
        return fmt::format("[for i in {}, j in range_of([4, 5, 6]) if i > j yield i + j]", "[3, 2, 1]");
      default:
        return fmt::format("({} + {})[{}:]", list(depth - 1), list(0), below(2));
    }
  }
  std::string logical(int depth) {
    if (depth == 0) return below(2) ? fmt::format("n > {}", below(3)) : fmt::format("mode == '{}'", word({"a", "b"}));
    switch (below(4)) {
      case 0:
        return fmt::format("({} {} {})", logical(depth - 1), word({"&&", "||"}), logical(depth - 1));
      case 1:
        return fmt::format("!({})", logical(depth - 1));
      case 2:
        return fmt::format("({} in {})", integer(depth - 1), list(depth - 1));
      default:
        return fmt::format("({} <= {})", scalar(depth - 1), scalar(0));
    }
  }
  /// Something of x's shape.
  std::string like_x(int depth) {
    if (depth == 0) return "x";
    switch (below(8)) {
      case 0:
        return fmt::format("({} {} {})", like_x(depth - 1), word({"+", "-", "*"}), like_x(depth - 1));
      case 1:
        return fmt::format("{} {} {}", like_x(depth - 1), word({"+", "-", "*"}), number());
      case 2:
        return fmt::format("{}({})", word({"relu", "sigmoid", "tanh", "abs", "sqr", "floor"}), like_x(depth - 1));
      case 3:
        return fmt::format("({} if {} else {})", like_x(depth - 1), logical(1), like_x(depth - 1));
      case 4:
        return fmt::format("select({} > {}, {}, {})", like_x(depth - 1), number(), like_x(0), number());
      case 5:
        return fmt::format("({} * {})", like_x(depth - 1), scalar(1));
      case 6:
        return fmt::format("add_n([for i in range_of([0, 0]) yield {}])", like_x(depth - 1));
      default:
        return fmt::format("-{}", like_x(0));
    }
  }
  std::string fragment(int i) {
    const bool list = below(3) == 0;
    std::string body;
    std::string last = "x";
    if (below(2)) body += fmt::format("    h = {} * {};\n", like_x(1), scalar(2)), last = "h";
    if (i > 0 && below(2))
      body += fmt::format("    g = fragment_{}({}, n = {});\n", below(i), last, integer(1)), last = "g";
    if (list) body += "    c = copy_n(x, times = 2);\n    d = c[1];\n";
    body += fmt::format("    y = {} {} {};\n", like_x(2), word({"+", "*", "-"}), list ? "d" : last);
    return fmt::format(
        "fragment fragment_{}(x: tensor<scalar>, k: scalar = {}, n: integer = {}, mode: string = '{}') -> (y: "
        "tensor<scalar>)\n{{\n{}}}\n\n",
        i, number(), 1 + below(3), word({"a", "b"}), body);
  }

  // ---- The graph

  const Tensor& any() { return one_of(tensors_); }
  Tensor line(const std::string& name, Tensor t, const std::string& call) {
    t.name = name;
    body_ += fmt::format("    {} = {};\n", name, call);
    tensors_.push_back(t);
    return t;
  }
  Tensor variable(const Shape& s) {
    const std::string name = fresh();
    return line(name, {"", s}, fmt::format("variable(shape = {}, label = 'w/{}')", text(s), name));
  }
  /// A tensor that meets the shape from axis 0 on, or a number.
  std::string operand(const Shape& s) {
    if (below(3) == 0) return number();
    Shape other(s.begin(), s.begin() + below(static_cast<int>(s.size()) + 1));
    for (int64_t& e : other)
      if (below(3) == 0) e = 1;
    if (below(4) == 0) return line(fresh(), {"", other}, constant(other)).name;
    return other.empty() ? number() : variable(other).name;
  }
  std::string constant(const Shape& s) {
    std::string items;
    const int64_t count = below(2) ? 1 : volume(s);
    for (int64_t i = 0; i < count; ++i) items += (i ? ", " : "") + number();
    return fmt::format("constant(shape = {}, value = [{}])", text(s), items);
  }

  void statement() {
    const Tensor x = any();
    const auto rank = static_cast<int>(x.shape.size());
    switch (below(16)) {
      case 0:
      case 1:
        line(fresh(), x,
             fmt::format("{}({})", word({"relu", "tanh", "sigmoid", "exp", "neg", "round", "silu"}), x.name));
        return;
      case 2:
      case 3:
        line(fresh(), x,
             fmt::format("{}({}, {})", word({"add", "mul", "sub", "max", "min"}), x.name, operand(x.shape)));
        return;
      case 4:
        if (fragments_ == 0) return;
        line(fresh(), x, fmt::format("fragment_{}({}, {} = {})", below(fragments_), x.name, "k", number()));
        return;
      case 5:
        line(fresh(), x, fmt::format("{} {} {} * {}", number(), word({"+", "-"}), x.name, number()));
        return;
      case 6: {
        if (rank == 0) return;
        Shape s = x.shape;
        const int axis = below(rank);
        s[static_cast<size_t>(axis)] = 1;
        line(fresh(), {"", s},
             fmt::format("{}({}, axes = [{}])", word({"sum_reduce", "max_reduce", "mean_reduce"}), x.name, axis));
        return;
      }
      case 7:
        line(fresh(), {"", {volume(x.shape)}}, fmt::format("reshape({}, shape = [{}])", x.name, volume(x.shape)));
        return;
      case 8: {
        std::vector<int> axes;
        Shape s;
        for (int i = 0; i < rank; ++i) axes.insert(axes.begin() + below(i + 1), i);
        for (int a : axes) s.push_back(x.shape[static_cast<size_t>(a)]);
        if (rank > 0) line(fresh(), {"", s}, fmt::format("transpose({}, axes = [{}])", x.name, fmt::join(axes, ", ")));
        return;
      }
      case 9: {
        if (rank == 0 || volume(x.shape) > 512) return;
        Shape s = x.shape;
        const int axis = below(rank);
        s[static_cast<size_t>(axis)] *= 2;
        line(fresh(), {"", s}, fmt::format("concat([{}, {}], axis = {})", x.name, x.name, axis));
        return;
      }
      case 10:
        split(x, rank);
        return;
      case 11: {
        if (rank == 0) return;
        Shape s = x.shape;
        const int axis = below(rank);
        const int64_t e = s[static_cast<size_t>(axis)], from = below(static_cast<int>(e));
        s[static_cast<size_t>(axis)] = e - from;
        line(fresh(), {"", s}, fmt::format("slice({}, axes = [{}], begin = [{}], end = [{}])", x.name, axis, from, e));
        return;
      }
      case 12:
        convolution(x, rank);
        return;
      case 13:
        if (rank > 1) line(fresh(), x, fmt::format("softmax({}, axes = [{}])", x.name, below(rank)));
        return;
      case 14: {
        if (rank != 2) return;
        const Tensor w = variable({1 + below(4), x.shape[1]});
        line(fresh(), {"", {x.shape[0], w.shape[0]}}, fmt::format("linear({}, {})", x.name, w.name));
        return;
      }
      default: {
        Shape s = x.shape;
        s.insert(s.begin(), 1);
        if (rank < 4) line(fresh(), {"", s}, fmt::format("unsqueeze({}, axes = [0])", x.name));
      }
    }
  }
  void split(const Tensor& x, int rank) {
    for (int axis = 0; axis < rank; ++axis) {
      Shape s = x.shape;
      int64_t& e = s[static_cast<size_t>(axis)];
      if (e % 2) continue;
      e /= 2;
      const std::string a = fresh(), b = fresh();
      body_ += fmt::format("    [{}, {}] = split({}, axis = {}, ratios = [1, 1]);\n", a, b, x.name, axis);
      tensors_.push_back({a, s});
      tensors_.push_back({b, s});
      return;
    }
  }
  void convolution(const Tensor& x, int rank) {
    if (rank != 4) return;
    if (below(2)) {
      line(fresh(), x,
           fmt::format("{}({}, size = [1, 1, 3, 3], border = '{}')", word({"max_pool", "avg_pool"}), x.name,
                       word({"constant", "ignore", "replicate"})));
      return;
    }
    const int64_t channels = 1 + below(3);
    const Tensor w = variable({channels, x.shape[1], 3, 3});
    const std::string bias = below(2) ? variable({1, channels}).name : number();
    line(fresh(), {"", {x.shape[0], channels, x.shape[2], x.shape[3]}},
         fmt::format("conv({}, {}, {}{})", x.name, w.name, bias,
                     below(2) ? ", padding = [(1, 1), (1, 1)], border = 'reflect-even'" : ""));
  }

  uint64_t state_;
  int names_ = 0, fragments_ = 0;
  std::vector<Tensor> tensors_;
  std::string body_;
};

}  // namespace nnex
