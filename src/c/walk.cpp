// Graphs of the C interface, walked: what nnex_graph.h shows of one, made when it is first asked for.

#include "base/try.h"
#include "c/handles.h"

struct nnex_attribute {
  std::string key;
  nnex::Attribute value;
  std::string shown;
  // Lists as C has them, where the value holds them otherwise:
  nnex::Ints pairs = {};
  nnex::Reals reals = {};
  std::vector<const char*> texts = {};
};

struct nnex_block {
  const nnex_node* owner = nullptr;
  std::vector<const nnex_node*> nodes = {};
  std::vector<const nnex_port*> parameters = {}, results = {};
};

struct nnex_node {
  std::string op, domain, place;
  bool custom = false;
  std::vector<const nnex_port*> inputs = {}, outputs = {};
  std::vector<const nnex_block*> blocks = {};
  const nnex_block* parent = nullptr;
  std::vector<nnex_attribute> attributes = {};
};

namespace nnex::c {

struct User {
  const nnex_node* node;
  const nnex_block* block;
  size_t at;
};

/// Where a value stands among nodes and blocks.
struct Links {
  const nnex_node* producer = nullptr;
  size_t output = 0;
  const nnex_block* parameter_of = nullptr;
  std::vector<User> users = {};
  Value constant = {};
};

struct State {
  std::string label;
  const nnex_port *before, *after;
};

/// All of a graph. Its addresses stay.
struct Walk {
  std::map<uint32_t, nnex_node> nodes = {};
  std::map<uint32_t, nnex_block> blocks = {};
  std::map<uint32_t, Links> links = {};
  std::map<std::string, const nnex_port*, std::less<>> names = {};
  const nnex_block* network = nullptr;
  std::vector<State> states = {};
  std::vector<std::string> symbols = {}, functions = {};
};

namespace {

nnex_attribute attribute_of(const std::pair<std::string, Attribute>& named) {
  nnex_attribute a{named.first, named.second, text(named.second)};
  if (const Pairs* pairs = std::get_if<Pairs>(&a.value))
    for (const auto& [before, after] : *pairs) a.pairs.insert(a.pairs.end(), {before, after});
  if (const Ints* whole = std::get_if<Ints>(&a.value)) a.reals.assign(whole->begin(), whole->end());
  return a;
}

class Walker {
 public:
  explicit Walker(const nnex_graph& handle) : handle_(handle), graph_(handle.graph), typed_(graph_) {
    (void)typed_.infer();  // as far as it goes
  }

  Result<std::unique_ptr<const Walk>> run() && {
    open_ = {graph_.network()};
    while (!open_.empty()) {
      const BlockId next = open_.back();
      open_.pop_back();
      NNEX_TRY(block(next));
    }
    walk_->network = &walk_->blocks[graph_.network().n];
    NNEX_TRY(links());
    names();
    for (const StateInfo& s : graph_.states()) {
      NNEX_ASSIGN(const nnex_port* const before, port(s.before));
      NNEX_ASSIGN(const nnex_port* const after, port(s.after));
      walk_->states.push_back({s.label, before, after});
    }
    walk_->symbols = graph_.symbols(), walk_->functions = graph_.functions();
    return std::unique_ptr<const Walk>(std::move(walk_));
  }

 private:
  /// The value as the graph's handle keeps it; null of none.
  Result<const nnex_port*> port(ValueId v) {
    if (!v.valid()) return nullptr;
    const auto known = handle_.values.find(v.n);
    if (known != handle_.values.end()) return &known->second;
    NNEX_ASSIGN(nnex_port made, port_of(handle_, typed_, v));
    return &handle_.values.emplace(v.n, std::move(made)).first->second;
  }
  Result<std::vector<const nnex_port*>> ports(const std::vector<ValueId>& values) {
    std::vector<const nnex_port*> all;
    for (ValueId v : values) {
      NNEX_ASSIGN(const nnex_port* const one, port(v));
      all.push_back(one);
    }
    return all;
  }

  Status block(BlockId id) {
    NNEX_ASSIGN(const BlockInfo info, graph_.block(id));
    nnex_block& block = walk_->blocks[id.n];
    if (info.owner.valid()) block.owner = &walk_->nodes[info.owner.n];
    for (NodeId n : info.nodes) {
      block.nodes.push_back(&walk_->nodes[n.n]);
      NNEX_TRY(node(n));
    }
    NNEX_ASSIGN(block.parameters, ports(info.parameters));
    NNEX_ASSIGN(block.results, ports(info.results));
    return {};
  }

  Status node(NodeId id) {
    NNEX_ASSIGN(const NodeInfo info, graph_.node(id));
    nnex_node& node = walk_->nodes[id.n];
    node.op = info.op, node.domain = info.domain, node.place = info.location, node.custom = info.custom;
    node.parent = &walk_->blocks[info.parent.n];
    NNEX_ASSIGN(node.inputs, ports(info.inputs));
    NNEX_ASSIGN(node.outputs, ports(info.outputs));
    for (BlockId b : info.blocks) node.blocks.push_back(&walk_->blocks[b.n]), open_.push_back(b);
    node.attributes.reserve(info.attributes.size());
    for (const auto& a : info.attributes) node.attributes.push_back(attribute_of(a));
    for (nnex_attribute& a : node.attributes)  // where they stay
      if (const Texts* texts = std::get_if<Texts>(&a.value))
        for (const std::string& s : *texts) a.texts.push_back(s.c_str());
    return {};
  }

  /// Of every value that was met.
  Status links() {
    for (const auto& [n, port] : handle_.values) {
      NNEX_ASSIGN(const ValueInfo info, graph_.value(port.value));
      Links& links = walk_->links[n];
      links.constant = info.constant, links.output = info.output;
      if (info.producer.valid()) links.producer = &walk_->nodes[info.producer.n];
      if (info.parameter_of.valid()) links.parameter_of = &walk_->blocks[info.parameter_of.n];
      for (const ValueUse& use : info.users)
        links.users.push_back({use.node.valid() ? &walk_->nodes[use.node.n] : nullptr,
                               use.node.valid() ? nullptr : &walk_->blocks[use.block.n], use.index});
    }
    return {};
  }

  /// Of two values of a name the network's counts.
  void names() {
    for (bool inside : {false, true})
      for (const auto& [n, links] : walk_->links) {
        const bool outer = !links.constant.empty() || links.parameter_of == walk_->network ||
                           (links.producer && links.producer->parent == walk_->network);
        const nnex_port& port = handle_.values.at(n);
        if (outer != inside && !port.info.name.empty()) walk_->names.emplace(port.info.name, &port);
      }
  }

  const nnex_graph& handle_;
  const Graph& graph_;
  Graph typed_;
  std::vector<BlockId> open_;
  std::unique_ptr<Walk> walk_ = std::make_unique<Walk>();
};

/// NULL where there is no memory.
const Walk* walk_of(const nnex_graph* graph) noexcept {
  if (!graph) return nullptr;
  try {
    std::call_once(graph->walked, [&] {
      auto walk = Walker(*graph).run();
      if (!walk.ok()) throw std::bad_alloc();  // its ids are the graph's own: nothing else can fail
      graph->walk = *std::move(walk);
    });
    return graph->walk.get();
  } catch (...) {
    return nullptr;
  }
}

const Links* links_of(const nnex_port* port) noexcept {
  const Walk* walk = port ? walk_of(port->graph) : nullptr;
  if (!walk) return nullptr;
  const auto found = walk->links.find(port->value.n);
  return found == walk->links.end() ? nullptr : &found->second;
}

template <class T>
T at(const std::vector<T>& list, size_t index) {
  return index < list.size() ? list[index] : nullptr;
}

/// Gives what `take` makes of an attribute's value.
template <class Out, class F>
nnex_error* given(const nnex_attribute* attribute, Out* out, F&& take) noexcept {
  return guarded([&]() -> Status {
    NNEX_C_NEED(attribute);
    NNEX_C_NEED(out);
    return take(attribute->value);
  });
}

/// The same of one that is a T. `needed`: the kind's name.
template <class T, class Out>
nnex_error* held(const nnex_attribute* attribute, Out* out, const char* needed) noexcept {
  return given(attribute, out, [&](const Attribute& value) -> Status {
    const T* found = std::get_if<T>(&value);
    if (!found) return wrong_attribute(attribute->key, &value, needed);
    if constexpr (std::is_same_v<T, std::string>)
      *out = found->c_str();
    else
      *out = static_cast<Out>(*found);
    return {};
  });
}

/// Whether it is a list of nothing, whose kind no file tells.
bool is_empty_list(const Attribute& value) {
  const auto none = [](const auto* list) { return list && list->empty(); };
  return none(std::get_if<Ints>(&value)) || none(std::get_if<Reals>(&value)) || none(std::get_if<Texts>(&value)) ||
         none(std::get_if<Pairs>(&value));
}

/// A list that the attribute keeps; `list` is null of another kind.
template <class Item>
nnex_error* listed(const nnex_attribute* attribute, const Item** out, size_t* count, const std::vector<Item>* list,
                   const char* needed) noexcept {
  return given(attribute, out, [&](const Attribute& value) -> Status {
    NNEX_C_NEED(count);
    if (is_empty_list(value)) return *out = nullptr, *count = 0, Status();
    if (!list) return wrong_attribute(attribute->key, &value, needed);
    *out = list->data(), *count = list->size();
    return {};
  });
}

template <class T>
const T* value_of(const nnex_attribute* a) {
  return a ? std::get_if<T>(&a->value) : nullptr;
}

}  // namespace
}  // namespace nnex::c

nnex_graph::nnex_graph(nnex::Graph g) : graph(std::move(g)) {}
nnex_graph::~nnex_graph() = default;

using namespace nnex;
using namespace nnex::c;

extern "C" {

const nnex_block* nnex_graph_network(const nnex_graph* graph) {
  const Walk* walk = walk_of(graph);
  return walk ? walk->network : nullptr;
}
const nnex_node* nnex_block_owner(const nnex_block* b) { return b ? b->owner : nullptr; }
size_t nnex_block_nodes(const nnex_block* b) { return b ? b->nodes.size() : 0; }
const nnex_node* nnex_block_node(const nnex_block* b, size_t i) { return b ? at(b->nodes, i) : nullptr; }
size_t nnex_block_parameters(const nnex_block* b) { return b ? b->parameters.size() : 0; }
const nnex_port* nnex_block_parameter(const nnex_block* b, size_t i) { return b ? at(b->parameters, i) : nullptr; }
size_t nnex_block_results(const nnex_block* b) { return b ? b->results.size() : 0; }
const nnex_port* nnex_block_result(const nnex_block* b, size_t i) { return b ? at(b->results, i) : nullptr; }

const nnex_node* nnex_graph_node(const nnex_graph* graph, size_t index) {
  return nnex_block_node(nnex_graph_network(graph), index);
}
const char* nnex_node_op(const nnex_node* n) { return n ? n->op.c_str() : nullptr; }
bool nnex_node_custom(const nnex_node* n) { return n && n->custom; }
const char* nnex_node_domain(const nnex_node* n) { return n ? n->domain.c_str() : nullptr; }
const char* nnex_node_place(const nnex_node* n) { return n ? n->place.c_str() : nullptr; }
size_t nnex_node_inputs(const nnex_node* n) { return n ? n->inputs.size() : 0; }
const nnex_port* nnex_node_input(const nnex_node* n, size_t i) { return n ? at(n->inputs, i) : nullptr; }
size_t nnex_node_outputs(const nnex_node* n) { return n ? n->outputs.size() : 0; }
const nnex_port* nnex_node_output(const nnex_node* n, size_t i) { return n ? at(n->outputs, i) : nullptr; }
size_t nnex_node_blocks(const nnex_node* n) { return n ? n->blocks.size() : 0; }
const nnex_block* nnex_node_block(const nnex_node* n, size_t i) { return n ? at(n->blocks, i) : nullptr; }
const nnex_block* nnex_node_parent(const nnex_node* n) { return n ? n->parent : nullptr; }
size_t nnex_node_attributes(const nnex_node* n) { return n ? n->attributes.size() : 0; }
const nnex_attribute* nnex_node_attribute(const nnex_node* n, size_t i) {
  return n && i < n->attributes.size() ? &n->attributes[i] : nullptr;
}
const nnex_attribute* nnex_node_attribute_named(const nnex_node* n, const char* key) {
  if (n && key)
    for (const nnex_attribute& a : n->attributes)
      if (a.key == key) return &a;
  return nullptr;
}

const char* nnex_attribute_key(const nnex_attribute* a) { return a ? a->key.c_str() : nullptr; }
const char* nnex_attribute_shown(const nnex_attribute* a) { return a ? a->shown.c_str() : nullptr; }
nnex_attribute_type nnex_attribute_kind(const nnex_attribute* a) {
  static_assert(std::is_same_v<std::variant_alternative_t<NNEX_ATTRIBUTE_BOOL, Attribute>, bool> &&
                std::is_same_v<std::variant_alternative_t<NNEX_ATTRIBUTE_TEXT, Attribute>, std::string> &&
                std::is_same_v<std::variant_alternative_t<NNEX_ATTRIBUTE_PAIRS, Attribute>, Pairs> &&
                std::is_same_v<std::variant_alternative_t<NNEX_ATTRIBUTE_TENSOR, Attribute>, Tensor>);
  return a ? static_cast<nnex_attribute_type>(a->value.index()) : NNEX_ATTRIBUTE_NONE;
}
nnex_error* nnex_attribute_bool(const nnex_attribute* a, bool* out) { return held<bool>(a, out, "bool"); }
nnex_error* nnex_attribute_int(const nnex_attribute* a, int64_t* out) {
  return value_of<bool>(a) ? held<bool>(a, out, "int") : held<int64_t>(a, out, "int");
}
nnex_error* nnex_attribute_real(const nnex_attribute* a, double* out) {
  return value_of<int64_t>(a) ? held<int64_t>(a, out, "real") : held<double>(a, out, "real");
}
nnex_error* nnex_attribute_text(const nnex_attribute* a, const char** out) { return held<std::string>(a, out, "str"); }
nnex_error* nnex_attribute_dtype(const nnex_attribute* a, nnex_dtype* out) { return held<DType>(a, out, "dtype"); }
nnex_error* nnex_attribute_ints(const nnex_attribute* a, const int64_t** out, size_t* count) {
  return listed(a, out, count, value_of<Ints>(a), "ints");
}
nnex_error* nnex_attribute_reals(const nnex_attribute* a, const double** out, size_t* count) {
  const Reals* list = value_of<Ints>(a) ? &a->reals : value_of<Reals>(a);
  return listed(a, out, count, list, "reals");
}
nnex_error* nnex_attribute_texts(const nnex_attribute* a, const char* const** out, size_t* count) {
  return listed(a, out, count, value_of<Texts>(a) ? &a->texts : nullptr, "strs");
}
nnex_error* nnex_attribute_pairs(const nnex_attribute* a, const int64_t** out, size_t* count) {
  nnex_error* e = listed(a, out, count, value_of<Pairs>(a) ? &a->pairs : nullptr, "pairs");
  if (!e) *count /= 2;
  return e;
}
nnex_error* nnex_attribute_tensor(const nnex_attribute* a, nnex_value** out) {
  if (out) *out = nullptr;
  return given(a, out, [&](const Attribute& value) -> Status {
    const Tensor* t = std::get_if<Tensor>(&value);
    if (!t) return wrong_attribute(a->key, &value, "tensor");
    *out = new nnex_value(Value(*t));
    return {};
  });
}

const nnex_port* nnex_graph_find(const nnex_graph* graph, const char* name) {
  const Walk* walk = name ? walk_of(graph) : nullptr;
  if (!walk) return nullptr;
  const auto found = walk->names.find(std::string_view(name));
  return found == walk->names.end() ? nullptr : found->second;
}
const nnex_node* nnex_port_producer(const nnex_port* value, size_t* output) {
  const Links* links = links_of(value);
  if (links && links->producer && output) *output = links->output;
  return links ? links->producer : nullptr;
}
const nnex_block* nnex_port_parameter_of(const nnex_port* value) {
  const Links* links = links_of(value);
  return links ? links->parameter_of : nullptr;
}
size_t nnex_port_users(const nnex_port* value) {
  const Links* links = links_of(value);
  return links ? links->users.size() : 0;
}
bool nnex_port_user(const nnex_port* value, size_t index, const nnex_node** node, const nnex_block** block,
                    size_t* at) {
  const Links* links = links_of(value);
  if (!links || index >= links->users.size()) return false;
  const User& user = links->users[index];
  if (node) *node = user.node;
  if (block) *block = user.block;
  if (at) *at = user.at;
  return true;
}
bool nnex_port_is_constant(const nnex_port* value) {
  const Links* links = links_of(value);
  return links && !links->constant.empty();
}
nnex_error* nnex_port_constant(const nnex_port* value, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(value);
    NNEX_C_NEED(out);
    const Links* links = links_of(value);
    if (!links || links->constant.empty())
      return Error(Code::invalid_argument, "'" + value->info.name + "' is no constant");
    *out = new nnex_value(links->constant);
    return {};
  });
}

size_t nnex_graph_states(const nnex_graph* graph) {
  const Walk* walk = walk_of(graph);
  return walk ? walk->states.size() : 0;
}
bool nnex_graph_state(const nnex_graph* graph, size_t index, const char** label, const nnex_port** before,
                      const nnex_port** after) {
  const Walk* walk = walk_of(graph);
  if (!walk || index >= walk->states.size()) return false;
  const State& state = walk->states[index];
  if (label) *label = state.label.c_str();
  if (before) *before = state.before;
  if (after) *after = state.after;
  return true;
}
const char* nnex_graph_symbol(const nnex_graph* graph, size_t index) {
  const Walk* walk = walk_of(graph);
  return walk ? text_at(walk->symbols, index) : nullptr;
}
const char* nnex_graph_function(const nnex_graph* graph, size_t index) {
  const Walk* walk = walk_of(graph);
  return walk ? text_at(walk->functions, index) : nullptr;
}

}  // extern "C"
