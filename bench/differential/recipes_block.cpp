// Operators with sub-graphs, and whole small networks.
#include <algorithm>

#include "recipes.h"

namespace nnex::differential {
namespace {

void if_else(Maker& m) {
  const Extents shape = m.shape(0, 3);
  const auto condition = m.add(m.any(DType::boolean, {}));
  const auto x = m.add(m.reals(DType::f32, shape));
  const auto branch = [&](const std::string& op, const std::string& out) {
    return make_body({{op, "", {x}, {out}, {}}}, {}, {{out, DType::f32}});
  };
  m.attribute("then_branch", branch(m.dice.word({"Relu", "Neg", "Shape"}) == "Neg" ? "Neg" : "Relu", "a"));
  m.attribute("else_branch", branch(m.dice.word({"Abs", "Sigmoid"}), "b"));
  m.finish({condition});
}

/// Adds x to a carried value while its counter is below a limit, and keeps every step.
void loop(Maker& m) {
  const Extents shape = m.shape(0, 2);
  const auto start = m.add(m.reals(DType::f32, shape));
  const auto x = m.add(m.reals(DType::f32, m.part_of(shape)));
  const auto max = m.add(m.scalar(DType::i64, double(m.dice.in(0, 5))));
  const bool stops = m.dice.chance(0.5), counted = !stops || m.dice.chance(0.6), asked = m.dice.chance(0.5);
  std::vector<ModelNode> nodes = {{"Add", "", {"v", x}, {"w"}, {}}, {"Mul", "", {"v", "v"}, {"kept"}, {}}};
  nodes.push_back(stops ? ModelNode{"Less", "", {"i", max}, {"again"}, {}}
                        : ModelNode{"Identity", "", {"c"}, {"again"}, {}});
  m.attribute("body", make_body(nodes, {{"i", DType::i64}, {"c", DType::boolean}, {"v", DType::f32}},
                                {{"again", DType::boolean}, {"w", DType::f32}, {"kept", DType::f32}}));
  const auto trips = counted ? m.add(m.scalar(DType::i64, double(m.dice.in(0, 5)))) : m.absent();
  const auto condition = asked ? m.add(m.any(DType::boolean, {})) : m.absent();
  m.finish({trips, condition, start}, 2);
}

void scan(Maker& m) {
  const int64_t width = m.dice.in(1, 4), steps = m.dice.in(1, 5), axis = m.dice.in(0, 1);
  const auto state = m.add(m.reals(DType::f32, {width}));
  const auto x = m.add(m.reals(DType::f32, axis ? Extents{width, steps} : Extents{steps, width}));
  m.attribute("num_scan_inputs", int64_t(1));
  m.maybe(axis ? 1 : 0.4, "scan_input_axes", Extents{axis});
  m.maybe(0.5, "scan_input_directions", Extents{m.dice.in(0, 1)});
  m.maybe(0.5, "scan_output_axes", Extents{m.dice.in(0, 1)});
  m.maybe(0.5, "scan_output_directions", Extents{m.dice.in(0, 1)});
  m.attribute("body", make_body({{"Add", "", {"s", "t"}, {"u"}, {}}, {"Sub", "", {"u", "t"}, {"r"}, {}}},
                                {{"s", DType::f32}, {"t", DType::f32}}, {{"u", DType::f32}, {"r", DType::f32}}));
  m.finish({state, x}, 2);
}

/// A value inside a network.
struct Wire {
  std::string name;
  Extents shape;
};

struct Network {
  Maker& m;
  std::vector<Wire> wires = {};

  void push(std::string op, const Names& in, Extents shape, std::vector<Attribute> attributes = {}) {
    wires.push_back({m.node(std::move(op), in, std::move(attributes))[0], std::move(shape)});
  }
  std::string constant(const Extents& shape) { return m.add(m.reals(DType::f32, shape, Fill::normal), 0.9); }

  void unary(const Wire& x) {
    push(m.dice.word(
             {"Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "Softplus", "Identity", "LeakyRelu", "Elu", "HardSwish"}),
         {x.name}, x.shape);
  }
  void binary(const Wire& x) {
    const std::string op = m.dice.word({"Add", "Sub", "Mul", "Max", "Min"});
    std::vector<std::string> same = {x.name};
    for (const Wire& w : wires)
      if (w.shape == x.shape) same.push_back(w.name);
    const std::string other = m.dice.chance(0.5) ? m.dice.of(same) : constant(m.part_of(x.shape));
    const bool turned = m.dice.chance(0.5);
    push(op, {turned ? other : x.name, turned ? x.name : other}, x.shape);
  }
  void transpose(const Wire& x) {
    Extents perm, shape;
    for (size_t i = 0; i < x.shape.size(); ++i) perm.insert(perm.begin() + m.dice.in(0, int64_t(i)), int64_t(i));
    for (int64_t axis : perm) shape.push_back(x.shape[size_t(axis)]);
    push("Transpose", {x.name}, shape, {{"perm", perm}});
  }
  void reshape(const Wire& x) {
    Extents shape = x.shape;
    if (shape.size() > 1 && m.dice.chance(0.5)) {
      shape[shape.size() - 2] *= shape.back();
      shape.pop_back();
    } else {
      shape.insert(shape.begin() + m.dice.in(0, int64_t(shape.size())), 1);
    }
    if (shape.size() <= 4) push("Reshape", {x.name, m.add(m.longs(shape), 1)}, shape);
  }
  void concat(const Wire& x) {
    if (x.shape.empty()) return;
    const int64_t axis = m.dice.in(0, int64_t(x.shape.size()) - 1);
    Extents more = x.shape, shape = x.shape;
    more[size_t(axis)] = m.dice.in(1, 3);
    shape[size_t(axis)] += more[size_t(axis)];
    push("Concat", {x.name, constant(more)}, shape, {{"axis", axis}});
  }
  void slice(const Wire& x) {
    if (x.shape.empty()) return;
    const int64_t axis = m.dice.in(0, int64_t(x.shape.size()) - 1), n = x.shape[size_t(axis)],
                  from = m.dice.in(0, n - 1);
    Extents shape = x.shape;
    shape[size_t(axis)] = n - from;
    push("Slice", {x.name, m.add(m.longs({from}), 1), m.add(m.longs({n}), 1), m.add(m.longs({axis}), 1)}, shape);
  }
  void reduce(const Wire& x) {
    if (x.shape.empty()) return;
    Extents shape = x.shape;
    shape.back() = 1;
    push(m.dice.word({"ReduceMean", "ReduceMax"}), {x.name}, shape, {{"axes", Extents{int64_t(shape.size()) - 1}}});
  }
  void softmax(const Wire& x) {
    if (!x.shape.empty()) push("Softmax", {x.name}, x.shape, {{"axis", int64_t(-1)}});
  }
  void matmul(const Wire& x) {
    if (x.shape.size() < 2) return;
    Extents shape = x.shape;
    shape.back() = m.dice.in(1, 9);
    push("MatMul", {x.name, constant({x.shape.back(), shape.back()})}, shape);
  }
  void conv(const Wire& x) {
    if (x.shape.size() != 4) return;
    const int64_t size = m.dice.one_of<int64_t>({1, 3}), channels = m.dice.in(1, 9);
    const bool depthwise = m.dice.chance(0.3);
    const int64_t out = depthwise ? x.shape[1] : channels;
    push("Conv", {x.name, constant({out, depthwise ? 1 : x.shape[1], size, size}), constant({out})},
         {x.shape[0], out, x.shape[2], x.shape[3]},
         {{"pads", Extents(4, size / 2)}, {"group", depthwise ? x.shape[1] : 1}});
  }
  void batch_normalization(const Wire& x) {
    if (x.shape.size() != 4) return;
    Names in = {x.name};
    for (int i = 0; i < 3; ++i) in.push_back(constant({x.shape[1]}));
    in.push_back(m.add(m.reals(DType::f32, {x.shape[1]}, Fill::positive), 1));
    push("BatchNormalization", in, x.shape);
  }
  void pool(const Wire& x) {
    if (x.shape.size() != 4) return;
    push(m.dice.word({"MaxPool", "AveragePool"}), {x.name}, x.shape,
         {{"kernel_shape", Extents{3, 3}}, {"pads", Extents(4, 1)}});
  }
};

/// Nodes that are continuous in their inputs, so that roundings stay small, one on another.
void network(Maker& m) {
  Network n{m};
  const Extents shape = m.dice.chance(0.5) ? Extents{m.dice.in(1, 2), m.dice.in(1, 8), m.dice.in(3, 8), m.dice.in(3, 8)}
                                           : m.positive_shape(1, 4);
  n.wires.push_back({m.add(m.reals(DType::f32, shape, Fill::normal), 0), shape});
  using Step = void (Network::*)(const Wire&);
  for (int64_t steps = m.dice.in(2, 14); steps-- > 0;) {
    const Wire from = m.dice.chance(0.75) ? n.wires.back() : m.dice.of(n.wires);
    const Step step = m.dice.one_of<Step>({&Network::unary, &Network::unary, &Network::binary, &Network::binary,
                                           &Network::transpose, &Network::reshape, &Network::concat, &Network::slice,
                                           &Network::reduce, &Network::softmax, &Network::matmul, &Network::conv,
                                           &Network::conv, &Network::batch_normalization, &Network::pool});
    (n.*step)(from);
  }
  if (n.wires.size() == 1) n.unary(n.wires[0]);
  m.output(n.wires.back().name);
  if (n.wires.size() > 3) m.output(n.wires[size_t(m.dice.in(1, int64_t(n.wires.size()) - 2))].name);
}

constexpr Recipe kBlocks[] = {{"If", 7, if_else}, {"Loop", 7, loop}, {"Scan", 9, scan}};
constexpr Recipe kNetworks[] = {{"network", 14, network, {}, 17}};

}  // namespace

std::span<const Recipe> block_recipes() { return kBlocks; }
std::span<const Recipe> network_recipes() { return kNetworks; }

}  // namespace nnex::differential
