// Graph: walking it, and what is done with the whole of it.

#include "nnex/graph.h"

#include <algorithm>

#include "api/graph_checks.h"
#include "api/graph_impl.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "graph/custom.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "graph/symbols.h"
#include "graph/text/build.h"
#include "graph/text/printer.h"
#include "graph/type_info.h"
#include "graph/verify.h"
#include "passes/pipeline.h"

namespace nnex {

Graph::Graph() : impl_(std::make_unique<Impl>()) {}
Graph::Graph(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Graph::Graph(const Graph& other) : impl_(std::make_unique<Impl>(other.impl())) {}
Graph::Graph(Graph&& other) noexcept = default;
Graph& Graph::operator=(Graph&& other) noexcept = default;
Graph::~Graph() = default;

Graph& Graph::operator=(const Graph& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(other.impl());
  return *this;
}

Graph::Impl& Graph::impl() const {
  if (!impl_) misused("a Graph was used that had been moved elsewhere");
  return *impl_;
}

// ---- Walking

std::vector<ValueId> Graph::inputs() const {
  const ir::Graph& g = impl().graph;
  std::vector<ValueId> ids = impl().out(g.inputs());
  ids.resize(ids.size() - g.states.size());
  return ids;
}

std::vector<ValueId> Graph::outputs() const {
  const ir::Graph& g = impl().graph;
  std::vector<ValueId> ids = impl().out(g.outputs());
  ids.resize(ids.size() - std::min(ids.size(), g.states.size()));
  return ids;
}

std::vector<StateInfo> Graph::states() const {
  const ir::Graph& g = impl().graph;
  std::vector<StateInfo> out;
  const size_t n = g.states.size(), first_in = g.inputs().size() - n, first_out = g.outputs().size() - n;
  for (size_t i = 0; i < n; ++i)
    out.push_back({g.states[i].label, impl().out(g.inputs()[first_in + i]), impl().out(g.outputs()[first_out + i]),
                   g.states[i].start});
  return out;
}

std::vector<NodeId> Graph::nodes() const { return impl().out(impl().graph.order()); }
BlockId Graph::network() const { return impl().out(kMain); }

Result<std::vector<NodeId>> Graph::nodes(BlockId block) const {
  const BlockId b = impl().in(block);
  NNEX_TRY(check(impl().graph, b));
  return impl().out(impl().graph.order(b));
}

Result<NodeInfo> Graph::node(NodeId id) const {
  const ir::Graph& g = impl().graph;
  const NodeId n = impl().in(id);
  NNEX_TRY(check(g, n));
  const Node& node = g[n];
  NodeInfo info;
  info.op = node.custom ? node.custom->name : std::string(node.op->name);
  info.custom = node.custom != nullptr;
  if (node.custom) info.domain = node.custom->domain, info.attributes = node.custom->attrs;
  info.inputs = impl().out(node.in), info.outputs = impl().out(node.out), info.blocks = impl().out(node.blocks);
  info.parent = impl().out(node.parent);
  info.location = g.place_of(n);
  info.implied = is_implied(g, n);
  if (node.attrs)
    for (const Field& f : node.op->attrs.fields)
      if (Attribute value = f.get(node.attrs.get()); !std::holds_alternative<std::monostate>(value))
        info.attributes.emplace_back(f.name, std::move(value));
  return info;
}

Result<ValueInfo> Graph::value(ValueId id) const {
  const ir::Graph& g = impl().graph;
  const ValueId v = impl().in(id);
  NNEX_TRY(check(g, v));
  const ValueDef& def = g[v];
  ValueInfo info;
  info.name = def.name, info.type = type_info(def.type), info.constant = def.constant;
  info.producer = impl().out(def.producer), info.output = def.output, info.parameter_of = impl().out(def.param_of);
  for (const Use& use : def.uses) info.users.push_back({impl().out(use.node), impl().out(use.block), use.index});
  return info;
}

Result<BlockInfo> Graph::block(BlockId id) const {
  const ir::Graph& g = impl().graph;
  const BlockId b = impl().in(id);
  NNEX_TRY(check(g, b));
  return BlockInfo{impl().out(g[b].owner), impl().out(g[b].params), impl().out(g[b].results), impl().out(g.order(b))};
}

ValueId Graph::find(std::string_view name) const {
  const ir::Graph& g = impl().graph;
  ValueId found;
  if (name.empty()) return found;
  for (uint32_t n = 0; n < g.value_count(); ++n) {
    const ValueId v{n};
    if (g[v].name != name || !check(g, v).ok()) continue;
    const bool outer =
        g[v].is_constant() || g[v].param_of == kMain || (g[v].producer.valid() && g[g[v].producer].parent == kMain);
    if (outer) return impl().out(v);
    if (!found.valid()) found = v;
  }
  return impl().out(found);
}

std::vector<std::string> Graph::functions() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : impl().graph.functions)
    names.push_back(name.ends_with(':') ? name.substr(0, name.size() - 1) : name);
  return names;
}

std::vector<std::string> Graph::symbols() const { return impl().graph.symbols(); }
const Metadata& Graph::metadata() const { return impl().graph.meta; }
Metadata& Graph::metadata() { return impl().graph.meta; }

// ---- The whole

Status Graph::set_symbols(const std::map<std::string, int64_t>& symbols) { return fix_symbols(impl().graph, symbols); }

Status Graph::infer(const CustomOperators& operators) {
  return guarded([&]() -> Status {
    resolve_custom(impl().graph, operators);
    Faults faults;
    infer_types(impl().graph, faults);
    if (faults.none()) return {};
    const size_t more = faults.count() - 1;
    Error first = std::move(faults).first();
    if (more == 0) return first;
    return Error(first.code(), fmt::format("{} (and {} more)", first.message(), more)).at(first.where());
  });
}

std::vector<Error> Graph::verify() const {
  Faults faults;
  Status whole = guarded([&]() -> Status {
    nnex::verify(impl().graph, faults);
    return {};
  });
  faults.check(std::move(whole));
  return std::move(faults).take();
}

std::string Graph::text(const PrintOptions& options) const {
  return graph_text::print(impl().graph, {options.types, options.locations, options.elements});
}

Result<Graph> Graph::parse(std::string_view text, std::string_view name) {
  return guarded([&]() -> Result<Graph> {
    NNEX_ASSIGN(ir::Graph graph, graph_text::read_graph(text, name));
    return wrap(std::move(graph));
  });
}

Status Graph::optimize(const Observer& observer, const CustomOperators& operators) {
  return guarded([&]() -> Status {
    NNEX_TRY(passes::prepare(impl().graph, operators));
    const auto observe = [&](std::string_view pass) {
      return called([&] { return observer(pass, *this); },
                    [&](Code code, const char* what) {
                      return Error(code, what).during(fmt::format("the host's observer saw pass '{}'", pass));
                    });
    };
    if (observer) NNEX_TRY(observe("prepare"));
    passes::PipelineOptions options;
    if (observer) options.after = [&](const ir::Graph&, const passes::PassDef& pass) { return observe(pass.name); };
    return passes::optimize(impl().graph, options);
  });
}

std::vector<std::string> Graph::passes() {
  std::vector<std::string> names;
  for (const passes::PassDef& pass : passes::pipeline())
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.emplace_back(pass.name);
  return names;
}

}  // namespace nnex
