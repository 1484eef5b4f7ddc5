#include "api/quantize/nnef_codes.h"

#include "api/quantize/names.h"
#include "api/quantize/weights.h"
#include "graph/queries.h"
#include "ops/quantize.h"
#include "standards/nnef/read_quant.h"
#include "standards/nnef/write.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using nnef_format::Literal;
using nnef_format::Literals;
using nnef_format::QuantRecord;

Literal literal(auto value) {
  Literal out;
  out.value = std::move(value);
  return out;
}

/// One number, or numbers along an axis, in as many brackets as axes up to it: they meet the tensor from its first on.
Literal along(Literals numbers, int64_t axis) {
  if (numbers.size() == 1) return numbers[0];
  Literal out = literal(std::move(numbers));
  for (int64_t i = 0; i < axis; ++i) out = literal(Literals{out});
  return out;
}

/// zero_point_linear_quantize of 8 bits.
QuantRecord record(const std::string& tensor, Literal zero, Literal scale, bool is_signed, bool symmetric) {
  QuantRecord r;
  r.tensor = tensor, r.operation = "zero_point_linear_quantize";
  r.args = {{"zero_point", std::move(zero)},
            {"scale", std::move(scale)},
            {"bits", literal(int64_t{8})},
            {"signed", literal(is_signed)},
            {"symmetric", literal(symmetric)}};
  return r;
}

QuantRecord record(const std::string& tensor, int64_t zero, const std::vector<float>& scales, int64_t axis,
                   bool is_signed) {
  Literals list;
  for (float s : scales) list.push_back(literal(static_cast<double>(s)));
  return record(tensor, literal(zero), along(std::move(list), axis), is_signed, is_signed);
}

class QuantFileWriter {
 public:
  QuantFileWriter(const ir::Graph& graph, const Measured& measured, const QuantizeSettings& settings)
      : graph_(graph), measured_(measured), settings_(settings), names_(graph) {}

  Result<ir::Graph> run(const Coding& coding) && {
    for (ValueId v : coding.coded) {
      const ByteCodes codes = codes_of(measured_.ranges.at(coding.scale_of(v).n));
      file_.push_back(record(graph_[v].name, codes.zero, {codes.scale}, 0, false));
    }
    for (const CodedLayer& layer : coding.layers)
      if (layer.kept.empty() && graph_[layer.node].op->in_bytes == ByteRole::product)
        NNEX_TRY(product(layer.node, codes_of(measured_.ranges.at(coding.scale_of(graph_[layer.node].in[0]).n)).scale));
    graph_.provenance.quantization = nnef_format::quant_text(file_);
    return std::move(graph_);
  }

 private:
  Status product(NodeId id, float x_scale) {
    const ProductShape shape = *product_shape(graph_, graph_[id]);
    const auto [reader, at] = bias_of(id, shape);
    std::vector<float> bias;
    if (reader.valid()) {
      NNEX_ASSIGN(const Tensor stored, graph_.constant_in(graph_[reader], at)->aligned_copy());
      bias.assign(stored.as<float>().begin(), stored.as<float>().end());
    }
    const ValueId w = graph_[id].in[1];
    NNEX_ASSIGN(const CodedWeight coded, coded_weight(*graph_[w].constant.tensor(), shape, settings_.per_channel,
                                                      scales_for_bias(bias, x_scale)));
    NNEX_ASSIGN(Tensor reals, reals_of(coded, shape));
    const ValueId rounded = replace(id, 1, std::move(reals), graph_[graph_[id].out[0]].name + "_weight");
    file_.push_back(record(graph_[rounded].name, 0, coded.scales, shape.weight_axis, true));
    const auto means = measured_.means.find(graph_[id].in[0].n);
    if (bias.empty() || !settings_.correct_bias || means == measured_.means.end()) return {};
    correct_bias(means->second, shape, coded.added, bias);
    Tensor corrected = Tensor::of<float>(graph_.constant_in(graph_[reader], at)->shape(), bias);
    replace(reader, at, std::move(corrected), graph_[graph_[id].out[0]].name + "_bias");
    return {};
  }

  /// The node and the input that the product's bias is: its own, or the row that is added to it.
  std::pair<NodeId, size_t> bias_of(NodeId id, const ProductShape& shape) const {
    if (graph_.constant_in(graph_[id], 2)) return {id, 2};
    const NodeId add = only_reader(graph_, graph_[id].out[0]);
    if (!add.valid() || graph_[add].op->in_bytes != ByteRole::sum) return {};
    const size_t at = graph_[add].in[0] == graph_[id].out[0] ? 1 : 0;
    const Tensor* row = graph_.constant_in(graph_[add], at);
    return row && row->dtype() == DType::f32 && row->count() == shape.outputs ? std::pair{add, at}
                                                                              : std::pair<NodeId, size_t>{};
  }

  /// What the codes stand for, rounded once.
  static Result<Tensor> reals_of(const CodedWeight& coded, const ProductShape& shape) {
    const Shape& s = coded.codes.shape();
    NNEX_ASSIGN(Tensor out, Tensor::make(DType::f32, s));
    const auto codes = coded.codes.as<int8_t>();
    const auto to = out.mutable_as<float>();
    int64_t inner = 1;
    for (int64_t a = shape.weight_axis + 1; a < s.rank(); ++a) inner *= s[a];
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t o = static_cast<size_t>(static_cast<int64_t>(i) / inner % shape.outputs);
      to[i] = static_cast<float>(codes[i] * static_cast<double>(coded.scales[coded.scales.size() > 1 ? o : 0]));
    }
    return out;
  }

  /// Another content for a constant; one that others read, too, stays beside it.
  ValueId replace(NodeId id, size_t input, Tensor content, const std::string& otherwise) {
    const ValueId old = graph_[id].in[input];
    const Type type = graph_[old].type;
    const bool alone = graph_.read_once(old);
    const std::string name = alone && !graph_[old].name.empty() ? graph_[old].name : names_.fresh(otherwise);
    const ValueId v = graph_.add_constant(std::move(content), name);
    graph_.set_type(v, type);
    graph_.set_input(id, input, v);
    if (alone) graph_.set_name(old, {});
    return v;
  }

  ir::Graph graph_;
  const Measured& measured_;
  const QuantizeSettings& settings_;
  Names names_;
  nnef_format::QuantFile file_;
};

/// The record of reals that a node makes of constant bytes; nothing where it has no form there.
std::optional<QuantRecord> record_of(const ir::Graph& graph, const Node& node) {
  const Tensor *codes = graph.constant_in(node, 0), *scale = graph.constant_in(node, 1),
               *zero = graph.constant_in(node, 2);
  if (!codes || !scale || (node.in.size() > 2 && node.in[2].valid() && !zero)) return std::nullopt;
  if ((codes->dtype() != DType::u8 && codes->dtype() != DType::i8) || scale->dtype() != DType::f32) return std::nullopt;
  const auto& a = graph.attrs<DequantizeAttrs>(node);
  if (a.block_size > 0 || (scale->count() > 1 && scale->shape().rank() != 1)) return std::nullopt;
  Literals scales, zeros;
  for (double s : ::nnex::reals_of(*scale)) scales.push_back(literal(s));
  for (int64_t i = 0; zero && i < zero->count(); ++i) zeros.push_back(literal(int_at(*zero, i)));
  if (zeros.empty()) zeros.push_back(literal(int64_t{0}));
  const int64_t axis = a.axis < 0 ? a.axis + codes->shape().rank() : a.axis;
  return record(graph[node.out[0]].name, along(std::move(zeros), axis), along(std::move(scales), axis),
                codes->dtype() == DType::i8, false);
}

}  // namespace

void record_weights(ir::Graph& graph) {
  nnef_format::QuantFile file;
  Names names(graph);
  for (NodeId id : graph.order()) {
    if (!graph[id].op || graph[id].op->name != "dequantize_linear") continue;
    auto found = record_of(graph, graph[id]);
    if (!found) continue;
    const ValueId y = graph[id].out[0];
    const std::string& codes = graph[graph[id].in[0]].name;
    if (graph[y].name.empty()) graph.set_name(y, names.fresh(codes.empty() ? "weights" : codes + "_reals"));
    found->tensor = graph[y].name;
    file.push_back(std::move(*found));
  }
  if (!file.empty()) graph.provenance.quantization += nnef_format::quant_text(file);
}

Result<ir::Graph> with_quant_file(const ir::Graph& graph, const Coding& coding, const Measured& measured,
                                  const QuantizeSettings& settings) {
  return QuantFileWriter(graph, measured, settings).run(coding);
}

}  // namespace nnex
