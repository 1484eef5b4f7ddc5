#include "api/layer_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/graph_impl.h"
#include "api/subgraph.h"
#include "base/failure.h"
#include "base/faults.h"
#include "graph/infer.h"
#include "nnex/load.h"
#include "passes/passes.h"
#include "run/compile.h"

namespace nnex {
namespace {

/// A step of more nodes costs no less time per node.
constexpr size_t kMaxStepNodes = 64;
/// Whole numbers of so few elements may be extents: the next step knows them before it runs.
constexpr int64_t kMaxExtents = 64;

bool may_be_extents(const Value& v) {
  const Tensor* t = v.tensor();
  return t && is_int(t->dtype()) && t->count() <= kMaxExtents;
}

/// Bytes of a value of the type; nothing where only a run tells.
std::optional<int64_t> bytes_of_type(const Type& type) {
  if (!type.is_tensor() || is_object(type.dtype)) return std::nullopt;
  const auto shape = concrete(type);
  const auto count = shape ? shape->checked_count() : std::nullopt;
  return count ? bytes_for(type.dtype, *count) : std::nullopt;
}

}  // namespace

Result<LayerNetwork> LayerNetwork::open(const ModelSource& source, const LoadOptions& options,
                                        std::span<const Value> inputs) {
  NNEX_ASSIGN(Graph loaded, load_graph(source, options));
  return of(std::move(loaded.impl().graph), inputs);
}

Result<LayerNetwork> LayerNetwork::of(ir::Graph graph, std::span<const Value> inputs) {
  LayerNetwork out;
  out.graph = std::move(graph);
  NNEX_TRY(passes::inline_functions(out.graph));
  out.inputs.assign(inputs.begin(), inputs.end());
  for (const StateDef& state : out.graph.states) out.inputs.push_back(state.start);
  const auto& params = out.graph.inputs();
  if (out.inputs.size() != params.size())
    return failure(Code::invalid_argument, "found {} inputs; the model takes {}", inputs.size(),
                   params.size() - out.graph.states.size());
  for (size_t i = 0; i < params.size(); ++i) out.graph.set_type(params[i], type_of(out.inputs[i]));
  Faults unknown;  // what cannot be inferred is known when it is made
  infer_types(out.graph, unknown);
  for (NodeId id : out.graph.order()) {
    for (ValueId v : out.graph[id].out) {
      if (!v.valid()) continue;
      out.layer_of[v.n] = out.layers.size();
      const std::string& name = out.graph[v].name;
      out.layers.push_back(
          {v, id, !name.empty() ? name : fmt::format("{} at {}", out.op_of(id), out.graph.place_of(id))});
    }
  }
  return out;
}

std::string_view LayerNetwork::op_of(NodeId id) const {
  const Node& node = graph[id];
  return node.custom ? std::string_view(node.custom->name) : node.op->name;
}

std::vector<ValueId> LayerNetwork::reads(NodeId id) const {
  std::vector<ValueId> out;
  const auto add = [&](ValueId v) {
    if (v.valid() && !graph[v].is_constant()) out.push_back(v);
  };
  for (ValueId v : graph[id].in) add(v);
  if (!graph[id].blocks.empty())
    for (ValueId v : graph.captures(id)) add(v);
  return out;
}

std::vector<NodeId> order_by(const LayerNetwork& network, std::span<const size_t> rank) {
  std::vector<NodeId> order = network.graph.order();
  if (rank.empty()) return order;
  std::unordered_map<uint32_t, size_t> wanted, waits, stands;
  std::unordered_map<uint32_t, std::vector<NodeId>> readers;
  for (size_t l = 0; l < network.layers.size(); ++l) {
    const auto [it, fresh] = wanted.try_emplace(network.layers[l].node.n, rank[l]);
    if (!fresh) it->second = std::min(it->second, rank[l]);
  }
  size_t last = 0;  // a node without a rank goes with those before it
  for (size_t i = 0; i < order.size(); ++i) {
    stands[order[i].n] = i;
    const auto [it, fresh] = wanted.try_emplace(order[i].n, SIZE_MAX);
    if (it->second == SIZE_MAX) it->second = last;
    last = it->second;
    for (ValueId v : network.reads(order[i]))
      if (const NodeId producer = network.graph[v].producer; producer.valid())
        readers[producer.n].push_back(order[i]), ++waits[order[i].n];
  }
  using Key = std::tuple<size_t, size_t, uint32_t>;
  std::set<Key> ready;
  const auto release = [&](NodeId id) { ready.insert({wanted[id.n], stands[id.n], id.n}); };
  for (NodeId id : order)
    if (waits[id.n] == 0) release(id);
  std::vector<NodeId> out;
  while (!ready.empty()) {
    const NodeId id{std::get<2>(*ready.begin())};
    ready.erase(ready.begin());
    out.push_back(id);
    for (NodeId reader : readers[id.n])
      if (--waits[reader.n] == 0) release(reader);
  }
  NNEX_ASSERT(out.size() == order.size());
  return out;
}

LayerWalk::LayerWalk(const LayerNetwork& network, std::vector<NodeId> order, const LoadOptions& options,
                     const SessionOptions& session, int64_t held_bytes)
    : network_(network), order_(std::move(order)), session_(session), held_bytes_(held_bytes) {
  options_.optimize = false;
  options_.isa = options.isa;
  options_.portable = options.portable;
  options_.memory_limit = options.memory_limit;
  options_.custom_operators = options.custom_operators;
  for (size_t i = 0; i < order_.size(); ++i)
    for (ValueId v : network_.reads(order_[i])) last_read_[v.n] = i;
  const auto& params = network_.graph.inputs();
  for (size_t i = 0; i < params.size(); ++i)
    if (last_read_.count(params[i].n)) held_[params[i].n] = network_.inputs[i];
}

size_t LayerWalk::step_length() const {
  int64_t bytes = 0;
  std::set<uint32_t> constants;
  size_t n = 0;
  for (; at_ + n < order_.size() && n < kMaxStepNodes; ++n) {
    const Node& node = network_.graph[order_[at_ + n]];
    bool known = node.blocks.empty();
    for (ValueId v : node.out) {
      if (!v.valid()) continue;
      const auto made = bytes_of_type(network_.graph[v].type);
      known = known && made;
      bytes += made.value_or(0);
    }
    for (ValueId v : node.in)  // packed for the kernel once more
      if (v.valid() && network_.graph[v].constant.tensor() && constants.insert(v.n).second)
        bytes += 2 * network_.graph[v].constant.tensor()->bytes();
    if (n > 0 && (bytes > held_bytes_ || !known)) return n;
    if (!known) return 1;
  }
  return n;
}

Result<std::vector<LayerWalk::Seen>> LayerWalk::next(const RunOptions& run) {
  const size_t count = step_length();
  const std::span<const NodeId> nodes(order_.data() + at_, count);
  std::vector<ValueId> outputs;
  for (NodeId id : nodes)
    for (ValueId v : network_.graph[id].out)
      if (v.valid()) outputs.push_back(v);
  Subgraph part = subgraph(network_.graph, nodes, {}, outputs, [&](ValueId v) { return type_of(held_.at(v.n)); });
  std::vector<Value> inputs;
  std::vector<size_t> fixed;
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    Value& v = held_.at(part.inputs[i].n);
    if (may_be_extents(v))
      fixed.push_back(i);
    else
      inputs.push_back(v);
  }
  for (size_t k = fixed.size(); k-- > 0;) {
    const ValueId v = part.graph.inputs()[fixed[k]];
    part.graph.remove_param(kMain, fixed[k]);
    part.graph.make_constant(v, held_.at(part.inputs[fixed[k]].n));
  }
  const auto failed = [&](Error e) {
    return std::move(e).during(fmt::format("running '{}' node by node", network_.graph.place_of(nodes.front())));
  };
  auto model = compile(std::move(part.graph), options_);
  if (!model.ok()) return failed(std::move(model).error());
  Session session = model->session(session_);
  auto made = session.run(inputs, run);
  if (!made.ok()) return failed(std::move(made).error());
  at_ += count;
  std::vector<Seen> seen;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto read = last_read_.find(outputs[i].n);
    if (read != last_read_.end() && read->second >= at_) held_[outputs[i].n] = (*made)[i];
    seen.push_back({network_.layer_of.at(outputs[i].n), std::move((*made)[i])});
  }
  std::erase_if(held_, [&](const auto& entry) { return last_read_.at(entry.first) < at_; });
  return seen;
}

}  // namespace nnex
