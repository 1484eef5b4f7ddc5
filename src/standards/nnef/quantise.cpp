#include "standards/nnef/quantise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/failure.h"
#include "graph/infer.h"
#include "standards/nnef/import_calls.h"
#include "standards/nnef/read_quant.h"
#include "standards/nnef/signatures.h"
#include "standards/nnef/types.h"
#include "standards/nnef/write.h"
#include "standards/spelling.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

void put(const Literal& arg, Tensor& to, int64_t& at) {
  if (const Literals* items = arg.get<Literals>()) {
    for (const Literal& item : *items) put(item, to, at);
  } else if (const int64_t* n = arg.get<int64_t>()) {
    set_int(to, at++, *n);
  } else if (const double* x = arg.get<double>()) {
    set_real(to, at++, *x);
  }
}

/// A literal in the place of a tensor parameter: it meets a tensor of `rank` axes from axis 0 on.
Result<Tensor> parameter(const Literal& arg, ItemType type, size_t rank) {
  auto extents = literal_extents(arg);
  if (!extents) return Error(Code::invalid_model, "Q7: arrays of different lengths");
  if (!extents->empty()) extents->resize(std::max(rank, extents->size()), 1);
  NNEX_ASSIGN(Tensor out, Tensor::make(element_type(type), Shape(*extents)));
  int64_t at = 0;
  put(arg, out, at);
  return out;
}

AttrValue attribute(const Literal& arg) {
  if (auto* b = arg.get<bool>()) return *b;
  if (auto* n = arg.get<int64_t>()) return *n;
  if (auto* x = arg.get<double>()) return *x;
  return {};
}

/// Before what reads the value first: behind its producer, or in front of everything.
Builder place_for(ir::Graph& graph, ValueId v) {
  const NodeId producer = graph[v].producer;
  const NodeId next = producer.valid() ? graph[producer].next : graph[kMain].first;
  const Where where = producer.valid() ? graph[producer].where : 0;
  return next.valid() ? Builder(graph, next, where) : Builder(graph, kMain, where);
}

Status apply(ir::Graph& graph, ValueId v, const QuantRecord& r, const Declaration& d) {
  Builder b = place_for(graph, v);
  const Type type = graph[v].type;
  const auto extents = concrete(type);
  const auto rank = static_cast<size_t>(extents ? extents->rank() : 0);
  SpelledNode node;
  node.spelled = find_spelling(nnef, {}, d.name);
  node.in.push_back(v);
  for (size_t i = 1; i < d.parameters.size(); ++i) {
    const Parameter& p = d.parameters[i];
    const Literal* given = r.find(p.name);
    if (!given) return failure(Code::invalid_model, "Q6: argument '{}' is missing", p.name);
    if (!has_tensor(*p.type)) {
      node.attrs.emplace_back(std::string(p.name), attribute(*given));
      continue;
    }
    NNEX_ASSIGN(Tensor content, parameter(*given, item_type(p.type->of), rank));
    node.in.push_back(b.constant(std::move(content)));
  }
  NNEX_ASSIGN(const NodeId made,
              make_spelled(b, std::move(node), [&](ValueId v) -> const Type& { return graph[v].type; }));
  const ValueId quantised = graph[made].out[0];
  graph.set_type(quantised, type);
  graph.replace_uses(v, quantised);
  graph.set_input(made, 0, v);
  if (graph[v].producer.valid()) {
    graph.set_name(quantised, graph[v].name);
    graph.set_name(v, {});
  }
  return {};
}

}  // namespace

Status apply_quantisation(ir::Graph& graph) {
  NNEX_ASSIGN(QuantFile records, parse_quant(graph.provenance.quantization, "graph.quant"));
  std::map<std::string, ValueId, std::less<>> named;
  for (uint32_t i = 0; i < graph.value_count(); ++i)
    if (const ValueDef& def = graph[ValueId{i}]; !def.name.empty() && !def.uses.empty())
      named.emplace(def.name, ValueId{i});
  QuantFile left;
  for (QuantRecord& r : records) {
    const Declaration* d = find_declaration(r.operation);
    const auto v = named.find(r.tensor);
    if (!d) {
      left.push_back(std::move(r));
    } else if (v != named.end()) {
      if (Status s = apply(graph, v->second, r, *d); !s.ok())
        return std::move(s).error().during(fmt::format("applying '{}' to tensor '{}'", r.operation, r.tensor));
    }
  }
  graph.provenance.quantization = left.empty() ? "" : quant_text(left);
  return {};
}

}  // namespace nnex::nnef_format
