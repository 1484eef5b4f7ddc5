#include "nnex/inspect.h"

#include <algorithm>
#include <map>

#include "api/formats.h"
#include "api/read.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/custom.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "graph/symbols.h"
#include "graph/work.h"
#include "passes/passes.h"
#include "run/inputs.h"
#include "standards/nnef/write.h"
#include "standards/onnx/write.h"
#include "tensor/unknown_names.h"

namespace nnex {
namespace {

std::string op_name(const ir::Graph& graph, NodeId id) {
  const Node& n = graph[id];
  return n.custom ? (n.custom->domain.empty() ? "" : n.custom->domain + ".") + n.custom->name : std::string(n.op->name);
}

/// Bytes of a value that is no constant; nothing where they are not known.
std::optional<int64_t> bytes_of(const ir::Graph& graph, ValueId v) {
  const ValueDef& value = graph[v];
  const auto shape = value.type.is_tensor() ? concrete(value.type) : std::nullopt;
  if (!shape || value.type.dtype == DType::str) return std::nullopt;
  return bytes_for(value.type.dtype, shape->count());
}

/// The greatest sum of bytes that live at once, node after node of the main block.
std::optional<int64_t> activation_bytes(const ir::Graph& graph) {
  const std::vector<NodeId> order = graph.order();
  std::vector<size_t> position(graph.node_count(), order.size() + 1);  // of results and readers in blocks: the end
  for (size_t i = 0; i < order.size(); ++i) position[order[i].n] = i + 1;
  std::vector<size_t> last(graph.value_count(), 0);  // position of the last reader
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    for (const Use& use : graph[ValueId{n}].uses)
      last[n] = std::max(last[n], use.node.valid() ? position[use.node.n] : order.size() + 1);
  std::vector<int64_t> ends(order.size() + 2, 0);  // bytes that end behind a position
  int64_t now = 0, peak = 0;
  const auto begin = [&](ValueId v, size_t at) {
    const auto bytes = bytes_of(graph, v);
    if (!bytes || __builtin_add_overflow(now, *bytes, &now)) return false;
    ends[std::max(last[v.n], at)] += *bytes;
    peak = std::max(peak, now);
    return true;
  };
  for (ValueId v : graph.inputs())
    if (!begin(v, 0)) return std::nullopt;
  for (size_t i = 0; i < order.size(); ++i) {
    now -= ends[i];
    for (ValueId v : graph[order[i]].out)
      if (v.valid() && !begin(v, i + 1)) return std::nullopt;
  }
  return peak;
}

void add_sizes(const ir::Graph& graph, Inspection& out) {
  std::vector<NodeId> nodes = graph.order_with_blocks();
  std::erase_if(nodes, [&](NodeId id) { return is_implied(graph, id); });
  out.nodes = static_cast<int64_t>(nodes.size());
  std::map<std::string, int64_t> counts;
  for (NodeId id : nodes) ++counts[op_name(graph, id)];
  for (const auto& [name, count] : counts) out.operators.push_back({name, count});
  const Parameters parameters = parameters_of(graph);
  out.parameters = parameters.count, out.parameter_bytes = parameters.bytes;
  const Dim work = multiply_adds(graph);
  out.multiply_adds = work.text();
  out.multiply_add_count = work.number();
  out.multiply_add_symbols = work.symbols();
  out.activation_bytes = activation_bytes(graph);
}

void add_metadata(const ir::Graph& graph, Inspection& out) {
  const Metadata& meta = graph.meta;
  out.graph_name = meta.graph_name;
  out.producer = meta.producer;
  out.producer_version = meta.producer_version;
  out.domain = meta.domain, out.doc = meta.doc, out.graph_doc = meta.graph_doc;
  out.ir_version = meta.ir_version, out.model_version = meta.model_version;
  out.opsets.assign(meta.opsets.begin(), meta.opsets.end());
  for (const auto& properties : {meta.properties, properties_of(graph.provenance)})
    for (const auto& [key, text] : properties) out.metadata.push_back({key, text, key == kLabelsProperty});
}

/// States are the last inputs, and what they become the last outputs.
void add_ports(const ir::Graph& graph, Inspection& out) {
  const size_t states = std::min({graph.states.size(), graph.inputs().size(), graph.outputs().size()});
  for (ValueId v : graph.inputs()) out.inputs.push_back(port_info(graph, v));
  for (ValueId v : graph.outputs()) out.outputs.push_back(port_info(graph, v));
  out.outputs.resize(out.outputs.size() - states);
  out.states.assign(out.inputs.end() - static_cast<ptrdiff_t>(states), out.inputs.end());
  out.inputs.resize(out.inputs.size() - states);
  for (size_t i = 0; i < states; ++i) out.states[i].name = graph.states[i].label;
  out.symbols = graph.symbols();
}

Result<Inspection> look(const ModelSource& source, LoadOptions options) {
  // A structure whose tensor files are elsewhere has shapes all the same.
  if (!options.weight_seed) options.weight_seed = 0;
  const UnknownNames named;
  Inspection out;
  const auto read = [&]() -> Result<ir::Graph> {
    NNEX_ASSIGN(const Recognised model, recognise(source, options));
    out.format = format_of(model.format);
    std::shared_ptr<const OnnxFile> file;
    NNEX_ASSIGN(ir::Graph graph, read_model(model, options, &file));
    if (file) {
      NNEX_ASSIGN(out.external_files, onnx_format::external_files(file->bytes));
      NNEX_ASSIGN(out.defaults, onnx_format::default_inputs(file->bytes));
    }
    return graph;
  };
  auto graph = read();
  if (!graph.ok()) return std::move(graph).error().during("reading " + source.shown());
  NNEX_TRY(fix_symbols(*graph, options.symbols));
  NNEX_TRY(passes::inline_functions(*graph));
  resolve_custom(*graph, options.custom_operators);
  Faults faults;
  infer_types(*graph, faults);
  add_metadata(*graph, out);
  add_ports(*graph, out);
  add_sizes(*graph, out);
  return out;
}

}  // namespace

Result<Inspection> inspect(const ModelSource& source, const LoadOptions& options) {
  return guarded([&] { return look(source, options); });
}

Result<std::vector<OperatorCount>> file_nodes(const ModelSource& source, const LoadOptions& options) {
  return guarded([&]() -> Result<std::vector<OperatorCount>> {
    std::vector<OperatorCount> out;
    NNEX_ASSIGN(const Recognised model, recognise(source, options));
    if (model.format != ModelFormat::onnx) return out;
    if (!built(Format::onnx)) return not_built(Format::onnx);
    NNEX_ASSIGN(const OnnxFile file, open_onnx(model, options));
    NNEX_ASSIGN(const auto counts, onnx_format::node_counts(file.bytes));
    for (const auto& [name, nodes] : counts) out.push_back({name, nodes});
    return out;
  });
}

Result<std::vector<std::string>> file_operators(const ModelSource& source, const LoadOptions& options) {
  return guarded([&]() -> Result<std::vector<std::string>> {
    NNEX_ASSIGN(const Recognised model, recognise(source, options));
    if (model.format != ModelFormat::onnx) return std::vector<std::string>();
    if (!built(Format::onnx)) return not_built(Format::onnx);
    NNEX_ASSIGN(const OnnxFile file, open_onnx(model, options));
    return onnx_format::operator_names(file.bytes);
  });
}

}  // namespace nnex
