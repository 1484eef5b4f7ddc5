#include "random_networks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "nnex/elements.h"

namespace nnex::test {
namespace {

bool is_product(std::string_view op) { return op == "conv" || op == "matmul" || op == "linear"; }

}  // namespace

Tensor Random::tensor(DType type, const Shape& shape, double min, double max) {
  if (is_float(type)) {
    std::vector<float> numbers(static_cast<size_t>(shape.count()));
    for (float& x : numbers) x = static_cast<float>(real(min, max));
    return *cast(Tensor::of<float>(shape, numbers), type);
  }
  Tensor t = *Tensor::make(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) set_int(t, i, between(static_cast<int64_t>(min), static_cast<int64_t>(max)));
  return t;
}

RandomNet::RandomNet(uint32_t seed, bool symbols)
    : random(seed * 2654435761U + 1), symbols(symbols), forms_(symbols ? 3 : 1) {}

// ---- Values ----

V RandomNet::hold(Held held) {
  held_.push_back(std::move(held));
  const V v = static_cast<V>(held_.size()) - 1;
  if (depth == 0) network_.push_back(v);
  return v;
}

/// Of the network with symbols an extent that differs between sizes is one: "S3_8".
std::string RandomNet::extents(const Shape& shape, const Shape& other, size_t form) const {
  std::string list;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) list += ",";
    if (form == 0 && shape[i] != other[i])
      list += fmt::format("S{}_{}", shape[i], other[i]);
    else
      list += std::to_string(form == 2 ? other[i] : shape[i]);
  }
  return list;
}

V RandomNet::input(DType type, const Shape& shape, const Shape& other, double min, double max) {
  Held held{{}, type, shape, symbols ? other : shape, true, true};
  const std::string name = fmt::format("x{}", inputs_.size());
  for (size_t f = 0; f < forms_.size(); ++f)
    held.ids.push_back(
        *forms_[f].add_input(name, fmt::format("{}[{}]", nnex::name(type), extents(shape, held.other, f))));
  inputs_.push_back({hold(std::move(held)), min, max});
  return keep(inputs_.back().value);
}

V RandomNet::constant(Tensor content) {
  Held held{{}, content.dtype(), content.shape(), content.shape(), true, true};
  for (Graph& g : forms_) held.ids.push_back(*g.add_constant(content));
  return hold(std::move(held));
}

V RandomNet::number(DType type, double x) {
  Tensor t = *Tensor::make(type, {});
  set_real(t, 0, x);
  return constant(std::move(t));
}

V RandomNet::ints(const Ints& list) {
  return constant(Tensor::of<int64_t>(Shape{static_cast<int64_t>(list.size())}, list));
}

V RandomNet::weights(const Shape& shape, double scale) { return within(shape, -scale, scale); }

Tensor RandomNet::numbers(DType type, const Shape& shape, double min, double max) {
  Tensor t = random.tensor(type, shape, min, max);
  if (grid && type == DType::f32)
    for (float& x : t.mutable_as<float>()) x = std::nearbyint(x * 16) / 16;
  return t;
}

V RandomNet::within(const Shape& shape, double min, double max) { return constant(numbers(type, shape, min, max)); }

/// What moves elements or picks some has to keep their bytes, and whole numbers have one right answer; a quantised one
/// has two where its rounding is that of a float, unless floats lie on a grid.
bool RandomNet::exact(std::string_view op, const std::vector<V>& inputs, DType result) const {
  static const std::set<std::string_view> kMoves = {
      "copy", "transpose", "reshape", "squeeze",    "unsqueeze",  "flatten", "slice", "concat",  "split",
      "pad",  "gather",    "expand",  "tile",       "relu",       "neg",     "abs",   "reverse", "max",
      "min",  "max_pool",  "select",  "max_reduce", "min_reduce", "stack",   "clamp"};
  static const std::set<std::string_view> kOnGrid = {"add", "sub", "box", "quantize_linear", "dequantize_linear"};
  const bool needs_grid = op == "quantize_linear" || (is_float(result) && kMoves.count(op) == 0);
  if (needs_grid && !(grid && (kOnGrid.count(op) > 0 || is_product(op)))) return false;
  return std::all_of(inputs.begin(), inputs.end(),
                     [&](V v) { return v == kAbsent || ((*this)[v].exact && !(is_product(op) && (*this)[v].sums)); });
}

RandomNet::Held RandomNet::described(std::vector<ValueId> ids) const {
  Held held;
  for (size_t f = std::min<size_t>(1, forms_.size() - 1); f < forms_.size(); ++f) {
    const TypeInfo t = forms_[f].value(ids[f])->type;
    const bool known =
        t.tensor && t.known_rank && std::all_of(t.extents.begin(), t.extents.end(), [](int64_t e) { return e >= 0; });
    held.type = t.dtype;
    held.known = held.known && known;
    if (known) (f == 2 ? held.other : held.shape) = Shape(t.extents);
    if (known && f == 0) held.other = held.shape;
  }
  held.ids = std::move(ids);
  return held;
}

std::vector<V> RandomNet::node(std::string_view op, const std::vector<V>& inputs, const Attributes& attributes,
                               size_t outputs, const std::vector<Blocks>& blocks) {
  const std::vector<V> refused(outputs, kRefused);
  if (std::count(inputs.begin(), inputs.end(), kRefused) > 0) return refused;
  if (std::count(blocks.begin(), blocks.end(), Blocks()) > 0) return refused;
  std::vector<NodeId> made(forms_.size());
  for (size_t f = forms_.size(); f-- > 0;) {
    AddOptions options;
    options.outputs = outputs;
    if (!scopes_.empty()) options.block = scopes_.back().blocks[f];
    for (const Blocks& b : blocks) options.blocks.push_back(b[f]);
    std::vector<ValueId> ids;
    for (V v : inputs) ids.push_back(v == kAbsent ? ValueId() : (*this)[v].ids[f]);
    const auto id = forms_[f].add_node(op, ids, attributes, options);
    if (!id.ok()) {
      said.push_back(id.error().message());
      for (size_t other = f + 1; other < forms_.size(); ++other) (void)forms_[other].erase(made[other]);
      return refused;
    }
    made[f] = *id;
  }
  for (V v : inputs)
    if (v != kAbsent) ++held_[static_cast<size_t>(v)].readers;
  std::vector<V> out;
  for (size_t o = 0; o < outputs; ++o) {
    std::vector<ValueId> ids;
    for (size_t f = 0; f < forms_.size(); ++f) ids.push_back(forms_[f].node(made[f])->outputs[o]);
    Held held = described(std::move(ids));
    held.exact = blocks.empty() && exact(op, inputs, held.type);
    const auto sums = [&](V v) { return v != kAbsent && (*this)[v].sums; };
    held.sums = is_float(held.type) && (is_product(op) || std::any_of(inputs.begin(), inputs.end(), sums));
    out.push_back(hold(std::move(held)));
    if (random.one_in(14) && keeps) keep(out.back());
  }
  return out;
}

V RandomNet::keep(V v) {
  if (v >= 0 && std::count(at_hand_.begin(), at_hand_.end(), v) == 0) at_hand_.push_back(v);
  return v;
}

bool RandomNet::alike(V a, V b) const {
  const Held &x = (*this)[a], &y = (*this)[b];
  return x.known && y.known && x.type == y.type && x.shape == y.shape && x.other == y.other;
}

V RandomNet::like(V v) {
  if (v < 0) return v;
  std::vector<V> all;
  for (V other : at_hand_)
    if (other != v && alike(v, other)) all.push_back(other);
  return all.empty() ? v : all[static_cast<size_t>(random.below(static_cast<int64_t>(all.size())))];
}

bool RandomNet::spend(int64_t multiply_adds) {
  if (multiply_adds > budget) return false;
  budget -= multiply_adds;
  return true;
}

// ---- Blocks ----

void RandomNet::open() {
  Scope scope;
  for (Graph& g : forms_) scope.blocks.push_back(g.add_block());
  scope.at_hand = at_hand_.size();
  scopes_.push_back(std::move(scope));
  ++depth;
}

V RandomNet::parameter(DType type, bool scalar) {
  Held held{{}, type, {}, {}, scalar, false};
  for (size_t f = 0; f < forms_.size(); ++f)
    held.ids.push_back(*forms_[f].add_parameter(scopes_.back().blocks[f], fmt::format("p{}", held_.size()),
                                                fmt::format("{}[{}]", nnex::name(type), scalar ? "" : "?")));
  return hold(std::move(held));
}

V RandomNet::parameter(V like, int64_t axis) {
  const Held from = (*this)[like];
  Held held{{}, from.type, {}, {}, true, false};
  std::vector<int64_t> shape, other;
  for (int64_t i = 0; i < from.shape.rank(); ++i)
    if (i != axis) shape.push_back(from.shape[i]), other.push_back(from.other[i]);
  held.shape = Shape(shape), held.other = Shape(other);
  for (size_t f = 0; f < forms_.size(); ++f) {
    std::string list;
    const std::vector<std::string> dims = forms_[f].value(from.ids[f])->type.dims;
    for (size_t i = 0; i < dims.size(); ++i)
      if (static_cast<int64_t>(i) != axis) list += (list.empty() ? "" : ",") + dims[i];
    const std::string name = fmt::format("p{}", held_.size()),
                      text = fmt::format("{}[{}]", nnex::name(from.type), list);
    // Nobody reads "floor((N+1)/2)" or "?slice12": the owner gives such a type.
    const bool plain = list.find_first_of("(?") == std::string::npos;
    held.ids.push_back(*forms_[f].add_parameter(scopes_.back().blocks[f], name, plain ? text : "unknown"));
  }
  return keep(hold(std::move(held)));
}

V RandomNet::result_like(V v) {
  std::vector<V> all;
  for (size_t i = scopes_.back().at_hand; i < at_hand_.size(); ++i)
    if (at_hand_[i] != v && alike(v, at_hand_[i])) all.push_back(at_hand_[i]);
  return all.empty() ? (*this)(is_float((*this)[v].type) ? "tanh" : "copy", {v}) : all.back();
}

RandomNet::Blocks RandomNet::close(const std::vector<V>& results) {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  --depth;
  at_hand_.resize(scope.at_hand);
  if (std::count(results.begin(), results.end(), kRefused) > 0) return {};
  for (size_t f = 0; f < forms_.size(); ++f) {
    std::vector<ValueId> ids;
    for (V v : results) ids.push_back((*this)[v].ids[f]);
    const Status set = forms_[f].set_results(scope.blocks[f], ids);
    if (!set.ok()) said.push_back(set.error().message());
  }
  return scope.blocks;
}

// ---- The whole ----

void RandomNet::finish() {
  std::vector<V> given, constants;
  for (V v : network_) {
    const ValueInfo info = *forms_[0].value((*this)[v].ids[0]);
    if (!info.constant.empty())
      constants.push_back(v);
    else if (info.parameter_of.valid() ? random.one_in(12)
             : (*this)[v].readers == 0 ? !random.one_in(6)
                                       : random.one_in(9))
      given.push_back(v);
  }
  if (given.empty()) given.push_back(network_.back());
  if (random.one_in(9) && !constants.empty()) given.push_back(constants[0]);
  if (random.one_in(9)) given.push_back(given[0]);
  for (size_t f = 0; f < forms_.size(); ++f) {
    std::vector<std::pair<std::string, ValueId>> named;
    for (V v : given) named.emplace_back(fmt::format("y{}", named.size()), (*this)[v].ids[f]);
    const Status set = forms_[f].set_outputs(named);
    if (!set.ok()) said.push_back("set_outputs: " + set.error().message());
  }
  outputs_ = std::move(given);
}

std::vector<Value> RandomNet::inputs(bool other) {
  std::vector<Value> out;
  for (const Input& i : inputs_) {
    const Held& held = (*this)[i.value];
    out.emplace_back(numbers(held.type, other ? held.other : held.shape, i.min, i.max));
  }
  return out;
}

const RandomFamily& random_family(uint32_t seed) { return random_families()[seed % random_families().size()]; }

RandomNet random_network(uint32_t seed) {
  const RandomFamily& family = random_family(seed);
  RandomNet net(seed, family.symbols && seed / random_families().size() % 3 == 0);
  family.make(net);
  net.finish();
  return net;
}

}  // namespace nnex::test
