#include "api/quantize/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "api/quantize/names.h"
#include "api/quantize/weights.h"
#include "ops/quantize.h"

namespace nnex {

std::string place_of_codes(const ir::Graph& graph, ValueId v) { return graph[v].name + " (codes)"; }

namespace {

class CodeWriter {
 public:
  CodeWriter(ir::Graph& graph, const Coding& coding, const Measured& measured, const QuantizeSettings& settings)
      : graph_(graph), coding_(coding), measured_(measured), settings_(settings), names_(graph) {}

  Result<std::map<uint32_t, ValueId>> run() && {
    for (ValueId v : coding_.coded) code(v);
    for (const CodedLayer& layer : coding_.layers)
      if (layer.kept.empty() && graph_[layer.node].op->in_bytes == ByteRole::product) NNEX_TRY(product(layer.node));
    return std::move(decoded_);
  }

 private:
  struct Scale {
    ByteCodes codes;
    ValueId scale, zero;
  };

  struct StoredWeight {
    ValueId weight;
    int64_t axis = 0;
    std::vector<float> scales;
    ValueId decoded;
  };

  /// The scale of v, shared by all that have its elements.
  const Scale& scale_of(ValueId v) {
    const ValueId own = coding_.scale_of(v);
    const auto [it, made] = scales_.try_emplace(own.n);
    if (!made) return it->second;
    Scale& s = it->second;
    s.codes = codes_of(measured_.ranges.at(own.n));
    const std::string name = graph_[own].name;
    s.scale = graph_.add_constant(Tensor::scalar(s.codes.scale), names_.fresh(name + "_scale"));
    s.zero = graph_.add_constant(Tensor::scalar(static_cast<uint8_t>(s.codes.zero)), names_.fresh(name + "_zero"));
    return s;
  }

  /// v becomes codes where it is made, and those who read codes, or all of the end of a layer, read them.
  void code(ValueId v) {
    const Scale& s = scale_of(v);
    const std::vector<Use> uses = graph_[v].uses;
    const bool end = coding_.ends.count(v.n) > 0;
    Builder b = behind(v);
    const std::string name = graph_[v].name;
    const ValueId q = b("quantize_linear", {v, s.scale, s.zero});
    const ValueId d = b("dequantize_linear", {q, s.scale, s.zero});
    Type type = graph_[v].type;
    graph_.set_type(d, type);
    type.dtype = DType::u8;
    graph_.set_type(q, std::move(type));
    bool result = false;
    for (const Use& u : uses) {
      if (u.node.valid() && (end || coding_.readers.count(u.node.n))) graph_.set_input(u.node, u.index, d);
      result |= end && !u.node.valid() && u.block == kMain;
    }
    if (result) {
      std::vector<ValueId> results = graph_.outputs();
      std::replace(results.begin(), results.end(), v, d);
      graph_.set_results(kMain, std::move(results));
      graph_.set_name(v, names_.fresh(name + "_float"));
      graph_.set_name(d, name);
    } else {
      graph_.set_name(d, names_.fresh(name + "_decoded"));
    }
    graph_.set_name(q, names_.fresh(name + "_codes"));
    decoded_[v.n] = d;
  }

  /// What is written stands right behind v, or first of all.
  Builder behind(ValueId v) {
    const NodeId producer = graph_[v].producer;
    const NodeId next = producer.valid() ? graph_[producer].next : graph_[kMain].first;
    const Where where = graph_.add_place(place_of_codes(graph_, v));
    return next.valid() ? Builder(graph_, next, where) : Builder(graph_, kMain, where);
  }

  Status product(NodeId id) {
    const ProductShape shape = *product_shape(graph_, graph_[id]);
    const ValueId x = coded_input(id);
    const float x_scale = scale_of(x).codes.scale;
    NNEX_ASSIGN(std::vector<float> bias, numbers_of(graph_.constant_in(graph_[id], 2)));
    const bool takes_bias = graph_[id].op->inputs.size() > 2, corrects = settings_.correct_bias && has_means(x, shape);
    if (bias.empty() && takes_bias && corrects) bias.assign(static_cast<size_t>(shape.outputs), 0);
    const ValueId w = graph_[id].in[1];
    NNEX_ASSIGN(const CodedWeight coded, coded_weight(*graph_[w].constant.tensor(), shape, settings_.per_channel,
                                                      scales_for_bias(bias, x_scale)));
    if (corrects) {
      correct_bias(measured_.means.at(x.n), shape, coded.added, bias);
      if (!takes_bias) NNEX_TRY(correct_row(id, x, shape, coded.added));
    }
    graph_.set_input(id, 1, decoded_weight(id, coded, shape, w));
    if (!bias.empty()) set_bias(id, bias, x_scale, coded.scales);
    return {};
  }

  /// A weight that several products read is stored once, where its scales are the same.
  ValueId decoded_weight(NodeId id, const CodedWeight& coded, const ProductShape& shape, ValueId w) {
    for (const StoredWeight& s : weights_)
      if (s.weight == w && s.axis == shape.weight_axis && s.scales == coded.scales) return s.decoded;
    const ValueId d = decoded(id, coded.codes, coded.scales, shape.weight_axis, name_of(w, id, "weight"));
    weights_.push_back({w, shape.weight_axis, coded.scales, d});
    return d;
  }

  static Result<std::vector<float>> numbers_of(const Tensor* t) {
    if (!t) return std::vector<float>();
    NNEX_ASSIGN(const Tensor aligned, t->aligned_copy());
    const auto numbers = aligned.as<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  }
  std::string name_of(ValueId v, NodeId reader, std::string_view part) const {
    if (v.valid() && !graph_[v].name.empty()) return graph_[v].name;
    return fmt::format("{}_{}", graph_[graph_[reader].out[0]].name, part);
  }

  /// The bias in steps of the sums.
  void set_bias(NodeId id, const std::vector<float>& bias, float x_scale, const std::vector<float>& w_scales) {
    std::vector<float> units;
    std::vector<int32_t> codes;
    for (size_t o = 0; o < bias.size(); ++o) {
      const double w_scale = w_scales[w_scales.size() > 1 ? o : 0];
      const float unit = static_cast<float>(x_scale * w_scale);
      if (units.size() < w_scales.size()) units.push_back(unit);
      codes.push_back(static_cast<int32_t>(
          std::clamp(std::nearbyint(static_cast<double>(bias[o]) / static_cast<double>(unit)), -0x1p30, 0x1p30)));
    }
    std::vector<ValueId> in = graph_[id].in;
    in.resize(3);
    const std::string name = name_of(in[2], id, "bias");
    in[2] = decoded(id, Tensor::of<int32_t>(Shape{static_cast<int64_t>(bias.size())}, codes), units, 0, name);
    graph_.set_inputs(id, std::move(in));
  }

  /// The tensor whose codes the product reads.
  ValueId coded_input(NodeId id) const {
    const ValueId d = graph_[id].in[0];
    const Node& dequantize = graph_[graph_[d].producer];
    return graph_[graph_[dequantize.in[0]].producer].in[0];
  }

  bool has_means(ValueId x, const ProductShape& shape) const {
    const auto it = measured_.means.find(x.n);
    return it != measured_.means.end() && static_cast<int64_t>(it->second.size()) == shape.channels;
  }
  /// A product without a bias has it in the row that is added to it.
  Status correct_row(NodeId id, ValueId x, const ProductShape& shape, const std::vector<double>& added) {
    const ValueId y = graph_[id].out[0];
    if (!graph_.read_once(y)) return {};
    const NodeId add = graph_[y].uses[0].node;
    if (graph_[add].op->in_bytes != ByteRole::sum) return {};
    const size_t at = graph_[add].in[0] == y ? 1 : 0;
    const ValueId row = graph_[add].in[at];
    const Tensor* stored = graph_[row].constant.tensor();
    if (!stored || stored->dtype() != DType::f32 || stored->count() != shape.outputs) return {};
    NNEX_ASSIGN(std::vector<float> bias, numbers_of(stored));
    correct_bias(measured_.means.at(x.n), shape, added, bias);
    Tensor corrected = Tensor::of<float>(stored->shape(), bias);
    graph_.set_input(add, at,
                     graph_.add_constant(std::move(corrected), names_.fresh(name_of(row, add, "row") + "_corrected")));
    return {};
  }

  ValueId decoded(NodeId before, Tensor codes, const std::vector<float>& scales, int64_t axis,
                  const std::string& name) {
    const auto n = static_cast<int64_t>(scales.size());
    Type type = Type::tensor(DType::f32, dims_of(codes.shape()));
    const ValueId c = graph_.add_constant(std::move(codes), names_.fresh(name + "_codes"));
    const ValueId s = graph_.add_constant(n == 1 ? Tensor::scalar(scales[0]) : Tensor::of<float>(Shape{n}, scales),
                                          names_.fresh(name + "_scale"));
    Builder b(graph_, before);
    DequantizeAttrs a;
    a.axis = axis;
    const ValueId d = b("dequantize_linear", {c, s}, a);
    graph_.set_type(d, std::move(type));
    graph_.set_name(d, names_.fresh(name + "_decoded"));
    return d;
  }

  ir::Graph& graph_;
  const Coding& coding_;
  const Measured& measured_;
  const QuantizeSettings& settings_;
  Names names_;
  std::map<uint32_t, Scale> scales_;
  std::vector<StoredWeight> weights_;
  std::map<uint32_t, ValueId> decoded_;
};

}  // namespace

Result<std::map<uint32_t, ValueId>> insert_codes(ir::Graph& graph, const Coding& coding, const Measured& measured,
                                                 const QuantizeSettings& settings) {
  graph.provenance.quantization.clear();  // what a file beside it said is of other codes
  return CodeWriter(graph, coding, measured, settings).run();
}

namespace {

/// Why a product's weights stay as they are; empty: they do not.
std::string not_blocked(const ir::Graph& graph, const Node& node, int64_t block) {
  if (has_coded_weights(graph, node)) return "its weights are codes already, which stay";
  const auto shape = product_shape(graph, node);
  if (!shape) return "its second operand is no constant matrix of float32";
  if (graph[node.in[1]].constant.tensor()->shape().rank() != 2) return "its filter is no matrix";
  if (shape->channels < block) return fmt::format("its rows have {} weights; a block has {}", shape->channels, block);
  return {};
}

}  // namespace

Result<std::map<uint32_t, std::string>> block_weights(ir::Graph& graph, const QuantizeSettings& settings,
                                                      const std::map<uint32_t, std::string>& kept) {
  std::map<uint32_t, std::string> out;
  std::map<std::pair<uint32_t, int64_t>, ValueId> decoded;  // of a weight along an axis
  Names names(graph);
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    if (node.op->in_bytes != ByteRole::product) continue;
    const auto it = kept.find(id.n);
    std::string why = it != kept.end() ? it->second : not_blocked(graph, node, settings.block);
    if (!why.empty()) {
      out[id.n] = std::move(why);
      continue;
    }
    const ValueId w = node.in[1];
    const int64_t axis = 1 - product_shape(graph, node)->weight_axis;
    ValueId& d = decoded[{w.n, axis}];
    if (!d.valid()) {
      NNEX_ASSIGN(BlockedWeight blocked, blocked_weight(*graph[w].constant.tensor(), axis, settings.block));
      const std::string name = graph[w].name.empty() ? graph[node.out[0]].name + "_weight" : graph[w].name;
      const ValueId codes = graph.add_constant(std::move(blocked.codes), names.fresh(name + "_codes"));
      const ValueId scales = graph.add_constant(std::move(blocked.scales), names.fresh(name + "_scales"));
      Builder b(graph, id);
      DequantizeAttrs a;
      a.axis = axis, a.block_size = settings.block;
      d = b("dequantize_linear", {codes, scales}, a);
      graph.set_type(d, graph[w].type);
      graph.set_name(d, names.fresh(name + "_decoded"));
    }
    graph.set_input(id, 1, d);
  }
  return out;
}

}  // namespace nnex
