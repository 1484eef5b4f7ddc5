#include "graph/graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/late.h"
#include "ops/stored.h"
#include "tensor/convert.h"

namespace nnex {

ir::Graph::Graph() {
  blocks_.emplace_back();
  places_.emplace_back();
}

ir::Graph::Graph(const ir::Graph& other) = default;
ir::Graph::Graph(Graph&&) noexcept = default;
ir::Graph& ir::Graph::operator=(Graph&&) noexcept = default;
ir::Graph::~Graph() = default;

std::vector<NodeId> ir::Graph::order(BlockId block) const {
  std::vector<NodeId> out;
  out.reserve(blocks_[block.n].size);
  for (NodeId id = blocks_[block.n].first; id.valid(); id = nodes_[id.n].next) out.push_back(id);
  return out;
}

std::vector<NodeId> ir::Graph::order_with_blocks(BlockId block) const {
  std::vector<NodeId> out;
  out.reserve(blocks_[block.n].size);
  std::vector<NodeId> next = {blocks_[block.n].first};  // where the block and those inside it go on
  while (!next.empty()) {
    const NodeId id = next.back();
    if (!id.valid()) {
      next.pop_back();
      continue;
    }
    out.push_back(id);
    next.back() = nodes_[id.n].next;
    const auto& blocks = nodes_[id.n].blocks;
    for (size_t b = blocks.size(); b-- > 0;) next.push_back(blocks_[blocks[b].n].first);
  }
  return out;
}

const Node* ir::Graph::producer(ValueId v) const {
  if (!v.valid() || !values_[v.n].producer.valid()) return nullptr;
  return &nodes_[values_[v.n].producer.n];
}

bool ir::Graph::read_once(ValueId v) const {
  return values_[v.n].uses.size() == 1 && values_[v.n].uses[0].node.valid();
}

const Tensor* ir::Graph::constant_in(const Node& node, size_t i) const {
  if (i >= node.in.size() || !node.in[i].valid()) return nullptr;
  return values_[node.in[i].n].constant.tensor();
}

const LateConstant* ir::Graph::late(ValueId v) const {
  const auto at = late_.find(v.n);
  return at == late_.end() ? nullptr : at->second.get();
}

ValueId ir::Graph::add_late(LateConstant late) {
  const ValueId v = add_constant(Tensor::borrow(late.source.dtype(), late.source.shape(), nullptr));
  late_[v.n] = std::make_shared<LateConstant>(std::move(late));
  return v;
}

std::vector<ValueId> ir::Graph::captures(NodeId id) const {
  std::set<ValueId> inside, captured;
  auto reads = [&](ValueId v) {
    if (v.valid() && !values_[v.n].is_constant() && !inside.count(v)) captured.insert(v);
  };
  for (BlockId b : nodes_[id.n].blocks) {
    std::vector<NodeId> nodes = order_with_blocks(b);
    std::vector<BlockId> blocks = {b};
    for (NodeId n : nodes) blocks.insert(blocks.end(), nodes_[n.n].blocks.begin(), nodes_[n.n].blocks.end());
    for (BlockId inner : blocks) inside.insert(blocks_[inner.n].params.begin(), blocks_[inner.n].params.end());
    for (NodeId n : nodes) inside.insert(nodes_[n.n].out.begin(), nodes_[n.n].out.end());
    for (NodeId n : nodes)
      for (ValueId v : nodes_[n.n].in) reads(v);
    for (BlockId inner : blocks)
      for (ValueId v : blocks_[inner.n].results) reads(v);
  }
  return {captured.begin(), captured.end()};
}

ValueId ir::Graph::add_param(BlockId block, std::string name, Type type) {
  ValueId id{static_cast<uint32_t>(values_.size())};
  ValueDef& v = values_.emplace_back();
  v.name = std::move(name), v.type = std::move(type), v.param_of = block;
  blocks_[block.n].params.push_back(id);
  return id;
}

ValueId ir::Graph::add_constant(Tensor content, std::string name) {
  return add_constant(nnex::Value(std::move(content)), std::move(name));
}

ValueId ir::Graph::add_constant(nnex::Value content, std::string name) {
  ValueId id{static_cast<uint32_t>(values_.size())};
  ValueDef& v = values_.emplace_back();
  v.name = std::move(name), v.type = type_of(content), v.constant = std::move(content);
  return id;
}

BlockId ir::Graph::add_block() {
  blocks_.emplace_back();
  return BlockId{static_cast<uint32_t>(blocks_.size() - 1)};
}

namespace {

/// Appends bytes that tell a value from every other of its kind.
struct Tell {
  std::string& key;

  void operator()(std::monostate) const {}
  void operator()(const std::string& x) const {
    (*this)(x.size());
    key += x;
  }
  template <class T>
  void operator()(const std::vector<T>& x) const {
    (*this)(x.size());
    for (const T& element : x) (*this)(element);
  }
  void operator()(const std::pair<int64_t, int64_t>& x) const { (*this)(x.first), (*this)(x.second); }
  void operator()(const Tensor&) const {}
  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void operator()(T x) const {
    key.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
};

}  // namespace

std::shared_ptr<const void> ir::Graph::interned(const OpDef& op, std::shared_ptr<const void> attrs) {
  if (!op.attrs.make) return kKnowsAll ? nullptr : attrs;
  if (!attrs) attrs = op.attrs.make();
  if (op.attrs.fields.size() == 0) return attrs;  // nothing tells them apart
  std::string key(op.name);
  for (const Field& f : op.attrs.fields) {
    AttrValue v = f.get(attrs.get());
    if (std::holds_alternative<Tensor>(v)) return attrs;  // told apart by their bytes: not worth a key
    key += static_cast<char>(v.index());
    std::visit(Tell{key}, v);
  }
  return attr_pool_.try_emplace(std::move(key), std::move(attrs)).first->second;
}

NodeId ir::Graph::make_node(BlockId block, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                            std::shared_ptr<const void> attrs, std::vector<BlockId> blocks, Where where) {
  NodeId id{static_cast<uint32_t>(nodes_.size())};
  Node& n = nodes_.emplace_back();
  n.op = &op, n.in = std::move(in), n.attrs = interned(op, std::move(attrs)), n.blocks = std::move(blocks),
  n.parent = block;
  n.where = where;
  n.use.resize(n.in.size());
  for (size_t i = 0; i < n.in.size(); ++i) add_use(n.in[i], {id, {}, static_cast<uint32_t>(i)});
  n.out.resize(std::max<size_t>(outputs, 1));  // a node has a first output, named or not
  for (size_t o = 0; o < outputs; ++o) add_output(id, o);
  for (BlockId b : nodes_[id.n].blocks) blocks_[b.n].owner = id;
  return id;
}

NodeId ir::Graph::add_node(BlockId block, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                           std::shared_ptr<const void> attrs, std::vector<BlockId> blocks, Where where) {
  NodeId id = make_node(block, op, std::move(in), outputs, std::move(attrs), std::move(blocks), where);
  link(id, block, {});
  return id;
}

NodeId ir::Graph::insert_node(NodeId before, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                              std::shared_ptr<const void> attrs, std::vector<BlockId> blocks, Where where) {
  BlockId block = nodes_[before.n].parent;
  NodeId id = make_node(block, op, std::move(in), outputs, std::move(attrs), std::move(blocks), where);
  link(id, block, before);
  return id;
}

void ir::Graph::link(NodeId id, BlockId block, NodeId before) {
  Node& n = nodes_[id.n];
  Block& b = blocks_[block.n];
  n.parent = block, n.next = before, n.prev = before.valid() ? nodes_[before.n].prev : b.last;
  (n.prev.valid() ? nodes_[n.prev.n].next : b.first) = id;
  (before.valid() ? nodes_[before.n].prev : b.last) = id;
  ++b.size;
}

void ir::Graph::unlink(NodeId id) {
  Node& n = nodes_[id.n];
  Block& b = blocks_[n.parent.n];
  (n.prev.valid() ? nodes_[n.prev.n].next : b.first) = n.next;
  (n.next.valid() ? nodes_[n.next.n].prev : b.last) = n.prev;
  n.prev = n.next = {};
  --b.size;
}

void ir::Graph::move_before(NodeId id, NodeId before) {
  unlink(id);
  link(id, nodes_[before.n].parent, before);
}

void ir::Graph::move_to_end(NodeId id, BlockId block) {
  unlink(id);
  link(id, block, {});
}

void ir::Graph::set_results(BlockId block, std::vector<ValueId> results) {
  Block& b = blocks_[block.n];
  for (size_t i = 0; i < b.results.size(); ++i) drop_use(b.results[i], {{}, block, static_cast<uint32_t>(i)});
  b.results = std::move(results);
  b.use.resize(b.results.size());
  for (size_t i = 0; i < b.results.size(); ++i) add_use(b.results[i], {{}, block, static_cast<uint32_t>(i)});
}

Where ir::Graph::add_place(std::string text) {
  auto [it, fresh] = place_ids_.try_emplace(std::move(text), static_cast<Where>(places_.size()));
  if (fresh) places_.push_back(it->first);
  return it->second;
}

uint32_t& ir::Graph::standing(const Use& use) {
  return use.node.valid() ? nodes_[use.node.n].use[use.index] : blocks_[use.block.n].use[use.index];
}

void ir::Graph::add_use(ValueId v, Use use) {
  if (!v.valid()) return;
  auto& uses = values_[v.n].uses;
  standing(use) = static_cast<uint32_t>(uses.size());
  uses.push_back(use);
}

/// The last use takes the place of the one that goes.
void ir::Graph::drop_use(ValueId v, Use use) {
  if (!v.valid()) return;
  auto& uses = values_[v.n].uses;
  const uint32_t at = standing(use);
  uses[at] = uses.back();
  standing(uses[at]) = at;
  uses.pop_back();
}

void ir::Graph::set_input(NodeId id, size_t index, ValueId v) {
  Node& n = nodes_[id.n];
  if (index >= n.in.size()) n.in.resize(index + 1), n.use.resize(index + 1);
  drop_use(n.in[index], {id, {}, static_cast<uint32_t>(index)});
  n.in[index] = v;
  add_use(v, {id, {}, static_cast<uint32_t>(index)});
}

void ir::Graph::set_inputs(NodeId id, std::vector<ValueId> in) {
  Node& n = nodes_[id.n];
  for (size_t i = 0; i < n.in.size(); ++i) drop_use(n.in[i], {id, {}, static_cast<uint32_t>(i)});
  n.in = std::move(in);
  n.use.resize(n.in.size());
  for (size_t i = 0; i < n.in.size(); ++i) add_use(n.in[i], {id, {}, static_cast<uint32_t>(i)});
}

void ir::Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  if (record_) record_->push_back({from, to});
  std::vector<Use> uses = std::move(values_[from.n].uses);
  values_[from.n].uses.clear();
  for (const Use& use : uses) {
    if (use.node.valid())
      nodes_[use.node.n].in[use.index] = to;
    else
      blocks_[use.block.n].results[use.index] = to;
    add_use(to, use);
  }
}

ValueId ir::Graph::add_output(NodeId id, size_t index) {
  Node& n = nodes_[id.n];
  if (index >= n.out.size()) n.out.resize(index + 1);
  ValueId v{static_cast<uint32_t>(values_.size())};
  ValueDef& def = values_.emplace_back();
  def.producer = id, def.output = static_cast<uint32_t>(index);
  n.out[index] = v;
  return v;
}

void ir::Graph::drop_output(NodeId id, size_t index) {
  Node& n = nodes_[id.n];
  NNEX_ASSERT(!n.out[index].valid() || values_[n.out[index].n].uses.empty());
  if (n.out[index].valid()) values_[n.out[index].n].producer = {};
  n.out[index] = {};
}

void ir::Graph::set_type(ValueId v, Type type) { values_[v.n].type = std::move(type); }

void ir::Graph::set_attrs(NodeId id, std::shared_ptr<const void> attrs) {
  nodes_[id.n].attrs = interned(*nodes_[id.n].op, std::move(attrs));
}

void ir::Graph::erase(NodeId id) {
  Node& n = nodes_[id.n];
  for (ValueId v : n.out) {
    if (!v.valid()) continue;
    NNEX_ASSERT(values_[v.n].uses.empty());
    values_[v.n].producer = {};
  }
  for (BlockId b : n.blocks) {
    set_results(b, {});
    std::vector<NodeId> inner = order(b);
    for (size_t i = inner.size(); i-- > 0;) erase(inner[i]);
  }
  set_inputs(id, {});
  unlink(id);
  n.erased = true;
}

std::vector<BlockId> ir::Graph::release_blocks(NodeId id) {
  std::vector<BlockId> blocks = std::exchange(nodes_[id.n].blocks, {});
  for (BlockId b : blocks) blocks_[b.n].owner = {};
  return blocks;
}

void ir::Graph::make_constant(ValueId v, nnex::Value content) {
  if (record_) record_->push_back({v, v});
  ValueDef& def = values_[v.n];
  if (def.producer.valid()) nodes_[def.producer.n].out[def.output] = {};
  def.producer = {};
  def.type = type_of(content);
  def.constant = std::move(content);
  late_.erase(v.n);
}

void ir::Graph::remove_param(BlockId block, size_t index) {
  auto& params = blocks_[block.n].params;
  values_[params[index].n].param_of = {};
  params.erase(params.begin() + static_cast<std::ptrdiff_t>(index));
}

void ir::Graph::move_param(BlockId block, size_t from, size_t to) {
  auto& params = blocks_[block.n].params;
  const ValueId v = params[from];
  params.erase(params.begin() + static_cast<std::ptrdiff_t>(from));
  params.insert(params.begin() + static_cast<std::ptrdiff_t>(to), v);
}

std::vector<std::string> ir::Graph::symbols() const {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (ValueId v : inputs()) {
    const Type& t = (*this)[v].type;
    if (!t.dims) continue;
    for (const Dim& d : *t.dims)
      for (const std::string& s : d.symbols())
        if (seen.insert(s).second) out.push_back(s);
  }
  return out;
}

namespace {

Status infer_nothing(InferCall&) { return {}; }

constexpr OpRow kOutside[] = {{.name = "custom",
                               .summary = "An operator outside the table, kept as it came.",
                               .inputs = {{"x", any_value(), Arity::variadic}},
                               .outputs = {{"y", any_value(), Arity::variadic}},
                               .infer = infer_nothing,
                               .pure = false},
                              {.name = "call",
                               .summary = "A call of a function of the model.",
                               .inputs = {{"x", any_value(), Arity::variadic}},
                               .outputs = {{"y", any_value(), Arity::variadic}},
                               .infer = infer_nothing,
                               .pure = false}};

}  // namespace

const OpDef& custom_op() { return stored<kOutside>()[0]; }
const OpDef& call_op() { return stored<kOutside>()[1]; }

ValueId Builder::operator()(std::string_view op_name, std::vector<ValueId> in) {
  return first(node(op(op_name), std::move(in), 1, nullptr));
}

ValueId Builder::operator()(std::string_view op_name, std::initializer_list<ValueId> in) {
  return (*this)(op_name, std::vector<ValueId>(in));
}

ValueId Builder::made(std::string_view op_name, std::vector<ValueId> in, const void* type,
                      std::shared_ptr<const void> attrs) {
  const OpDef& row = op(op_name);
  NNEX_ASSERT(row.attrs.type == type);
  return first(node(row, std::move(in), 1, std::move(attrs)));
}

NodeId Builder::node(const OpDef& op, std::vector<ValueId> in, size_t outputs, std::shared_ptr<const void> attrs,
                     std::vector<BlockId> blocks) {
  if (before_.valid())
    return graph_->insert_node(before_, op, std::move(in), outputs, std::move(attrs), std::move(blocks), where_);
  return graph_->add_node(block_, op, std::move(in), outputs, std::move(attrs), std::move(blocks), where_);
}

ValueId Builder::ints(const Ints& values) {
  return constant(Tensor::of(Shape{static_cast<int64_t>(values.size())}, values));
}
ValueId Builder::ints(std::initializer_list<int64_t> values) { return ints(Ints(values)); }
ValueId Builder::integer(int64_t value) { return constant(Tensor::scalar<int64_t>(value)); }

ValueId Builder::number(DType type, double value) {
  auto t = Tensor::make(type, Shape{});
  NNEX_ASSERT(t.ok());
  set_real(*t, 0, value);
  return constant(std::move(t).value());
}

}  // namespace nnex
