#include "api/quantize/integers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/quantize/names.h"
#include "api/quantize/weights.h"
#include "base/failure.h"
#include "base/faults.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "ops/cast.h"
#include "ops/cvm.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "passes/passes.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

constexpr int64_t kCodeBits = 8, kWideBits = 16, kMaxFactor = (1 << 14) - 1;
constexpr double kMaxCode = 127, kMaxWide = 32767;
/// Outputs have as many times the reach that samples showed, in codes of 16 bits.
constexpr double kHeadroom = 8;
/// Outputs of weights of less than this part of the greatest lose bits rather than make factors too small to say.
constexpr float kSpread = 1.0F / 64;

enum class Part : uint8_t { product, row, sum, limit, move, mean, last_softmax, none };

/// A constant row behind a product without a bias, which takes it as its own.
bool adds_row(const ir::Graph& graph, const Node& add) {
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* product = graph.producer(add.in[i]);
    const Tensor* row = graph.constant_in(add, 1 - i);
    const auto shape = product ? product_shape(graph, *product) : std::nullopt;
    if (row && shape && shape->channel_axis == -1 && graph.read_once(add.in[i]) && row->dtype() == DType::f32 &&
        row->count() == shape->outputs && (product->in.size() < 3 || !product->in[2].valid()))
      return true;
  }
  return false;
}

Part part_of(const ir::Graph& graph, const Node& node) {
  if (node.out.empty() || !node.out[0].valid() || (node.out.size() > 1 && node.out[1].valid())) return Part::none;
  if (product_shape(graph, node)) {
    const Type& x = graph[node.in[0]].type;
    return x.dims && (x.dims->size() == 2) == (graph.constant_in(node, 1)->shape().rank() == 2) ? Part::product
                                                                                                : Part::none;
  }
  if (node.op->in_bytes == ByteRole::sum) {
    if (adds_row(graph, node)) return Part::row;
    return !graph[node.in[0]].is_constant() && !graph[node.in[1]].is_constant() &&
                   same_extents(graph, node.in[0], node.in[1])
               ? Part::sum
               : Part::none;
  }
  if (node.op->in_bytes == ByteRole::limit)
    return std::all_of(node.in.begin() + 1, node.in.end(),
                       [&](ValueId v) { return !v.valid() || graph[v].is_constant(); })
               ? Part::limit
               : Part::none;
  if (node.op->view || node.op->in_bytes == ByteRole::moves) return Part::move;
  if (node.op == &op("mean_reduce")) return Part::mean;
  if (node.op == &op("softmax") && graph[node.out[0]].uses.size() == 1 && is_result(graph, node.out[0]))
    return Part::last_softmax;
  return Part::none;
}

/// Behind the row and the limit that alone read it: what a product's scale is chosen for.
ValueId end_of(const ir::Graph& graph, ValueId v) {
  for (NodeId reader = only_reader(graph, v); reader.valid(); reader = only_reader(graph, v)) {
    const Part part = part_of(graph, graph[reader]);
    if (part != Part::row && part != Part::limit) break;
    v = graph[reader].out[0];
  }
  return v;
}

/// Whole numbers that stand for a tensor: element = number * step.
struct Numbers {
  ValueId v;
  double step = 1;
};

class IntegerWriter {
 public:
  IntegerWriter(const ir::Graph& graph, const Measured& measured, const QuantizeSettings& settings, bool between_floats)
      : graph_(graph), measured_(measured), settings_(settings), between_floats_(between_floats), names_(graph) {}

  Status run() {
    for (ValueId v : std::vector<ValueId>(graph_.inputs())) NNEX_TRY(input(v));
    for (NodeId id : graph_.order()) {
      if (added_.count(id.n)) continue;
      NNEX_TRY(node(id));
    }
    return results();
  }

  ir::Graph graph_;
  std::map<uint32_t, ValueId> decoded_;
  std::map<uint32_t, int64_t> weight_bytes_;
  std::vector<std::string> notes_;

 private:
  double reach(ValueId v) const {
    const CodeRange& r = measured_.ranges.at(v.n);
    const double reach = std::max(-static_cast<double>(r.low), static_cast<double>(r.high));
    return reach > 0 ? reach : 1;
  }

  // ---- Both ends

  /// Numbers of 8 bits; of pictures, 0 to 1 in steps of 1/255, the pixels, whose last bit is rounded away.
  Status input(ValueId v) {
    const CodeRange& r = measured_.ranges.at(v.n);
    const bool pixels = r.low >= 0 && r.high <= 1 && r.high > 0.5F;
    const double step = pixels ? 1.0 / 255 : reach(v) / kMaxCode;
    const NodeId first = graph_[kMain].first;
    notes_.push_back(fmt::format("input: whole numbers, '{}' times {:.9g}{}", graph_[v].name, 1 / step,
                                 pixels ? ": pixels of 0 to 255" : fmt::format(", -{0} to {0}", kMaxCode)));
    Builder b(graph_, first);
    ValueId x = v;
    if (between_floats_) {
      const double max = pixels ? 255 : kMaxCode;
      x = b("mul", {v, b.number(DType::f32, 1 / step)});
      x = b("clamp", {b("round", {x}), b.number(DType::f32, pixels ? 0 : -max), b.number(DType::f32, max)});
      CastAttrs cast;
      cast.to = DType::i32;
      x = b("cast", {x}, cast);
    } else {
      Type type = graph_[v].type;
      type.dtype = DType::i32;
      graph_.set_type(v, std::move(type));
    }
    CvmClipAttrs clip;
    clip.precision = pixels ? kCodeBits + 1 : kCodeBits;
    x = b("cvm_clip", {x}, clip);
    of_[v.n] = {pixels ? shifted(b, x, kCodeBits, 1) : x, pixels ? 2 * step : step};
    mark_added(first);
    return {};
  }

  Status results() {
    std::vector<ValueId> results = graph_.outputs();
    for (ValueId& v : results) {
      const std::string name = graph_[v].name;
      const Numbers& numbers = of_.at(v.n);
      ValueId y = numbers.v;
      if (between_floats_) {
        y = decoded(numbers);
        if (softmax_.count(v.n)) y = Builder(graph_, kMain)("softmax", {y}, softmax_.at(v.n));
      } else {
        notes_.push_back(fmt::format("output '{}': whole numbers, times {:.9g}{}", name, numbers.step,
                                     softmax_.count(v.n) ? "; the softmax is left out, which changes no order" : ""));
      }
      graph_.set_name(v, names_.fresh(name + "_float"));
      graph_.set_name(y, name);
      v = y;
    }
    graph_.set_results(kMain, std::move(results));
    NNEX_TRY(passes::drop_unused(graph_));
    for (ValueId end : ends_) decoded_[end.n] = decoded(of_.at(end.n));
    Faults faults;
    infer_types(graph_, faults);
    if (!faults.none()) return std::move(faults).first();
    return {};
  }
  ValueId decoded(const Numbers& numbers) {
    Builder b(graph_, kMain);
    CastAttrs cast;
    cast.to = DType::f32;
    return b("mul", {b("cast", {numbers.v}, cast), b.number(DType::f32, numbers.step)});
  }

  // ---- Nodes

  Status node(NodeId id) {
    const Node& node = graph_[id];
    const ValueId y = node.out[0];
    switch (part_of(graph_, node)) {
      case Part::product:
        return product(id);
      case Part::row:
        of_[y.n] = of_.at(node.in[graph_[node.in[0]].is_constant() ? 1 : 0].n);
        return ended(id);
      case Part::limit:
        NNEX_TRY(limit(id));
        return ended(id);
      case Part::sum:
        return sum(id);
      case Part::mean:
        return mean(id);
      case Part::move: {
        std::vector<ValueId> in = node.in;
        const Numbers x = of_.at(in[0].n);
        in[0] = x.v;
        Builder b(graph_, id);
        of_[y.n] = {graph_[b.node(*node.op, in, 1, node.attrs)].out[0], x.step};
        return {};
      }
      case Part::last_softmax:
        softmax_[y.n] = graph_.attrs<SoftmaxAttrs>(node);
        of_[y.n] = of_.at(node.in[0].n);
        return {};
      case Part::none:
        break;
    }
    return Error(Code::internal, "a node without whole numbers").at(graph_.place_of(id));
  }

  /// Whether y, or what only limits or adds a row behind it, is an output or read by the last softmax alone.
  bool leaves(ValueId y) const {
    if (is_result(graph_, y)) return true;
    const NodeId reader = only_reader(graph_, y);
    if (!reader.valid()) return false;
    const Part part = part_of(graph_, graph_[reader]);
    return part == Part::last_softmax || ((part == Part::row || part == Part::limit) && leaves(graph_[reader].out[0]));
  }

  Status product(NodeId id) {
    const Node node = graph_[id];
    const ProductShape shape = *product_shape(graph_, node);
    const Numbers x = of_.at(node.in[0].n);
    const ValueId y = node.out[0], end = end_of(graph_, y);
    NNEX_ASSIGN(std::vector<float> bias, bias_of(node));
    NNEX_ASSIGN(const CodedWeight weight, weight_of(node, shape, x, bias));
    if (const auto it = measured_.means.find(node.in[0].n); settings_.correct_bias && it != measured_.means.end()) {
      bias.resize(static_cast<size_t>(shape.outputs));
      correct_bias(it->second, shape, weight.added, bias);
    }
    std::vector<double> units;  // of the sums, by output
    for (size_t o = 0; o < static_cast<size_t>(shape.outputs); ++o)
      units.push_back(x.step * static_cast<double>(weight.scales[weight.scales.size() > 1 ? o : 0]));
    Builder b(graph_, id);
    std::vector<ValueId> in = {x.v, constant(weight.codes, graph_[node.in[1]].name, shape)};
    int64_t bits = 2 * kCodeBits + digits(weight.codes.count() / shape.outputs);
    if (!bias.empty()) {
      std::vector<int32_t> codes;
      for (size_t o = 0; o < bias.size(); ++o)
        codes.push_back(
            static_cast<int32_t>(std::clamp(std::nearbyint(static_cast<double>(bias[o]) / units[o]), -0x1p29, 0x1p29)));
      in.push_back(graph_.add_constant(Tensor::of<int32_t>(Shape{shape.outputs}, codes),
                                       names_.fresh(graph_[y].name + "_bias")));
      for (int32_t c : codes) bits = std::max<int64_t>(bits, digits(std::abs(c)) + 1);
      ++bits;
    }
    weight_bytes_[id.n] = weight.codes.count() + static_cast<int64_t>(bias.size()) * 4;
    ValueId sums;
    if (shape.channel_axis == 1) {
      sums = graph_[b.node(*node.op, in, 1, node.attrs)].out[0];
    } else {
      sums = b("linear", in, LinearAttrs{});
    }
    const bool last = leaves(y);
    const double step = last ? reach(end) * kHeadroom / kMaxWide : reach(end) / kMaxCode;
    for (double& u : units) u /= step;
    NNEX_ASSIGN(const ValueId codes,
                scaled(b, id, sums, std::min<int64_t>(bits, 32), units, shape.channel_axis == 1, last));
    of_[y.n] = {codes, step};
    return ended(id);
  }

  Result<std::vector<float>> bias_of(const Node& node) const {
    const Tensor* stored = graph_.constant_in(node, 2);
    if (const NodeId reader = only_reader(graph_, node.out[0]);
        !stored && reader.valid() && part_of(graph_, graph_[reader]) == Part::row) {
      const Node& add = graph_[reader];
      stored = graph_.constant_in(add, add.in[0] == node.out[0] ? 1 : 0);
    }
    if (!stored) return std::vector<float>();
    NNEX_ASSIGN(const Tensor aligned, stored->aligned_copy());
    const auto numbers = aligned.as<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  }
  Result<CodedWeight> weight_of(const Node& node, const ProductShape& shape, const Numbers& x,
                                const std::vector<float>& bias) const {
    const Tensor& w = *graph_.constant_in(node, 1);
    std::vector<float> min_scales = scales_for_bias(bias, static_cast<float>(x.step));
    min_scales.resize(static_cast<size_t>(shape.outputs));
    NNEX_ASSIGN(const CodedWeight first, coded_weight(w, shape, settings_.per_channel, min_scales));
    const float max = *std::max_element(first.scales.begin(), first.scales.end());
    for (float& s : min_scales) s = std::max(s, max * kSpread);
    return coded_weight(w, shape, settings_.per_channel, min_scales);
  }
  /// A filter as it lies; a matrix with a row for each output.
  ValueId constant(const Tensor& codes, const std::string& name, const ProductShape& shape) {
    std::vector<int32_t> numbers;
    Shape s = codes.shape();
    const auto from = codes.as<int8_t>();
    if (s.rank() == 2 && shape.weight_axis == 1) {
      for (int64_t o = 0; o < s[1]; ++o)
        for (int64_t i = 0; i < s[0]; ++i) numbers.push_back(from[static_cast<size_t>(i * s[1] + o)]);
      s = Shape{s[1], s[0]};
    } else {
      numbers.assign(from.begin(), from.end());
    }
    return graph_.add_constant(Tensor::of<int32_t>(s, numbers),
                               names_.fresh(name.empty() ? "weight" : name + "_codes"));
  }
  static int64_t digits(int64_t n) {
    int64_t out = 0;
    for (; n > 0; n >>= 1) ++out;
    return out;
  }

  Status sum(NodeId id) {
    const Node node = graph_[id];
    const bool last = leaves(node.out[0]);
    const double step = last ? reach(end_of(graph_, node.out[0])) * kHeadroom / kMaxWide
                             : reach(end_of(graph_, node.out[0])) / kMaxCode;
    const Numbers a = of_.at(node.in[0].n), b = of_.at(node.in[1].n);
    NNEX_ASSIGN(const Factors f, factors(id, {a.step / step, b.step / step}));
    Builder build(graph_, id);
    const ValueId x = build("mul", {a.v, number(f.factors[0])}), y = build("mul", {b.v, number(f.factors[1])});
    of_[node.out[0].n] = {shifted(build, build("add", {x, y}), last ? kWideBits : kCodeBits, f.shift), step};
    return ended(id);
  }

  Status mean(NodeId id) {
    const Node node = graph_[id];
    const Numbers x = of_.at(node.in[0].n);
    const auto from = concrete(graph_[node.in[0]].type), to = concrete(graph_[node.out[0]].type);
    if (!from || !to || to->count() == 0)
      return failure(Code::unsupported, "mean of {}: whole numbers need known extents", graph_[node.in[0]].type.text())
          .helped_by({"symbols", "", "fixes them"})
          .at(graph_.place_of(id));
    const int64_t n = from->count() / to->count();
    const bool last = leaves(node.out[0]);
    const double max = reach(end_of(graph_, node.out[0])), step = last ? max * kHeadroom / kMaxWide : max / kMaxCode;
    Builder b(graph_, id);
    auto a = graph_.attrs<ReduceAttrs>(node);
    std::vector<ValueId> in = node.in;
    in[0] = x.v;
    if (const Tensor* axes = graph_.constant_in(node, 1); axes && a.to_end && axes->count() == 1) {
      Ints all;
      const int64_t first = int_at(*axes, 0), rank = from->rank();
      for (int64_t axis = first < 0 ? first + rank : first; axis < rank; ++axis) all.push_back(axis);
      in[1] = b.ints(all), a.to_end = false;
    }
    const NodeId sum = b.node(op("sum_reduce"), in, 1, std::make_shared<ReduceAttrs>(a));
    NNEX_ASSIGN(const ValueId codes, scaled(b, id, graph_[sum].out[0], kCodeBits + digits(n),
                                            {x.step / static_cast<double>(n) / step}, false, last));
    of_[node.out[0].n] = {codes, step};
    return ended(id);
  }

  Status limit(NodeId id) {
    const Node node = graph_[id];
    const Numbers x = of_.at(node.in[0].n);
    Builder b(graph_, id);
    if (node.in.size() == 1) {
      of_[node.out[0].n] = {b("relu", {x.v}), x.step};
      return {};
    }
    const bool wide = leaves(node.out[0]);
    const double max = wide ? kMaxWide : kMaxCode;
    const auto code = [&](size_t i, double otherwise) {
      const Tensor* t = graph_.constant_in(node, i);
      return number(
          static_cast<int64_t>(t ? std::clamp(std::nearbyint(real_at(*t, 0) / x.step), -max, max) : otherwise));
    };
    const ValueId low = code(1, -max), high = code(2, max);
    const NodeId clamp = b.node(*node.op, {x.v, low, high}, 1, node.attrs);
    // The rule for limits promises a bit more than there is.
    CvmClipAttrs clip;
    clip.precision = wide ? kWideBits : kCodeBits;
    of_[node.out[0].n] = {b("cvm_clip", {graph_[clamp].out[0]}, clip), x.step};
    return {};
  }

  /// What an end of a layer is as floats, for whoever sets both beside each other.
  Status ended(NodeId id) {
    const ValueId y = graph_[id].out[0];
    if (between_floats_ && end_of(graph_, y) == y) ends_.push_back(y);
    return {};
  }

  // ---- From one scale to another

  struct Factors {
    std::vector<int64_t> factors;
    int64_t shift = 1;
  };
  /// Whole numbers over one power of two: as large as a product of 32 bits lets them be.
  Result<Factors> factors(NodeId id, const std::vector<double>& ratios) const {
    const double max = *std::max_element(ratios.begin(), ratios.end());
    Factors out;
    out.shift = 31;
    while (out.shift > 0 && std::ldexp(max, static_cast<int>(out.shift)) > static_cast<double>(kMaxFactor)) --out.shift;
    if (out.shift < 1)
      return failure(Code::unsupported, "'{}': one scale is {:.3g} times another; whole numbers take {}",
                     graph_[graph_[id].out[0]].name, max, kMaxFactor / 2)
          .at(graph_.place_of(id));
    for (double r : ratios)
      out.factors.push_back(static_cast<int64_t>(std::nearbyint(std::ldexp(r, static_cast<int>(out.shift)))));
    return out;
  }

  /// Sums of so many bits, times `ratios` (one, or one a channel), as codes: to 16 bits by a shift, times a factor, and
  /// a shift again.
  Result<ValueId> scaled(Builder& b, NodeId id, ValueId sums, int64_t bits, std::vector<double> ratios,
                         bool channels_first, bool wide) {
    const double max = wide ? kMaxWide : kMaxCode;
    int64_t shift = 0;
    if (bits > kWideBits) {
      const double min = *std::min_element(ratios.begin(), ratios.end());
      // What is limited to 16 bits here would be beyond the codes there.
      while (shift < bits - kWideBits && std::ldexp(max / min, -static_cast<int>(shift)) > kMaxWide) ++shift;
    }
    if (bits > kWideBits) {
      shift = std::max<int64_t>(shift, 1);
      sums = shifted(b, sums, kWideBits, shift);
      for (double& r : ratios) r = std::ldexp(r, static_cast<int>(shift));
    }
    NNEX_ASSIGN(const Factors f, factors(id, ratios));
    ValueId by;
    if (f.factors.size() == 1) {
      by = number(f.factors[0]);
    } else {
      const auto n = static_cast<int64_t>(f.factors.size());
      std::vector<int32_t> numbers(f.factors.begin(), f.factors.end());
      // A number a channel: along axis 1, or along the last one.
      std::vector<int64_t> extents(graph_[graph_[id].in[0]].type.dims->size(), 1);
      (channels_first ? extents[1] : extents.back()) = n;
      by = graph_.add_constant(Tensor::of<int32_t>(Shape(extents), numbers),
                               names_.fresh(graph_[graph_[id].out[0]].name + "_factor"));
    }
    return shifted(b, b("mul", {sums, by}), wide ? kWideBits : kCodeBits, f.shift);
  }
  static ValueId shifted(Builder& b, ValueId v, int64_t precision, int64_t shift) {
    CvmShiftAttrs a;
    a.precision = precision, a.shift_bit = shift;
    return b("cvm_right_shift", {v}, a);
  }
  ValueId number(int64_t n) {
    return graph_.add_constant(Tensor::of<int32_t>(Shape{1}, {static_cast<int32_t>(n)}), names_.fresh("number"));
  }

  /// Nodes in front of the first one are no part of the float network.
  void mark_added(NodeId first) {
    for (NodeId id = graph_[kMain].first; id.valid() && !(id == first); id = graph_[id].next) added_.insert(id.n);
  }

  const Measured& measured_;
  const QuantizeSettings& settings_;
  bool between_floats_;
  Names names_;
  std::map<uint32_t, Numbers> of_;
  std::map<uint32_t, SoftmaxAttrs> softmax_;
  std::set<uint32_t> added_;
  std::vector<ValueId> ends_;
};

}  // namespace

Result<Coding> integer_coding(const ir::Graph& graph) {
  Coding out;
  std::set<uint32_t> coded;
  std::string refused;
  int count = 0;
  for (ValueId v : graph.inputs()) {
    if (!is_f32(graph, v))
      return failure(Code::unsupported, "input '{}' is {}; whole numbers stand for f32 alone", graph[v].name,
                     graph[v].type.text());
    coded.insert(v.n);
  }
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    const Part part = part_of(graph, node);
    if (part == Part::none && ++count <= 8)
      refused += fmt::format("\n  {} at {}", node.custom ? std::string_view(node.custom->name) : node.op->name,
                             graph.place_of(id));
    if (part != Part::product && part != Part::sum && part != Part::mean) continue;
    const ValueId end = end_of(graph, node.out[0]);
    coded.insert(end.n);
    out.layers.push_back({id, end, {}});
  }
  for (ValueId v : graph.outputs())
    if (graph[v].is_constant() || !graph[v].producer.valid())
      return failure(Code::unsupported, "output '{}' is not computed", graph[v].name);
  if (count > 8) refused += fmt::format("\n  and {} more", count - 8);
  if (count > 0) return failure(Code::unsupported, "whole numbers cannot say {} of the nodes:{}", count, refused);
  for (uint32_t v : coded) out.coded.push_back(ValueId{v});
  return out;
}

Result<IntegerNetwork> integer_network(const ir::Graph& graph, const Measured& measured,
                                       const QuantizeSettings& settings) {
  IntegerWriter alone(graph, measured, settings, false), between(graph, measured, settings, true);
  NNEX_TRY(alone.run());
  NNEX_TRY(between.run());
  return IntegerNetwork{std::move(alone.graph_), std::move(between.graph_), std::move(between.decoded_),
                        std::move(alone.weight_bytes_), std::move(alone.notes_)};
}

}  // namespace nnex
