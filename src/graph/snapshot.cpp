#include "graph/snapshot.h"

#include <algorithm>
#include <unordered_map>

#include "base/failure.h"
#include "graph/verify.h"

namespace nnex {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr int kDeepestBlock = 1000;  ///< Blocks in blocks.

enum class ValueKind : uint8_t { none, tensor, sparse };

// ---- Tensors ----

Status write_tensor(const Tensor& t, ByteWriter& to, const Snapshot::Store& store) {
  if (!t.data() && t.bytes() > 0) return Error(Code::unsupported, "a constant whose content was given back");
  to.number(t.dtype());
  to.number(static_cast<uint32_t>(t.shape().rank()));
  for (const int64_t extent : t.shape()) to.number(extent);
  if (t.dtype() == DType::str) {
    for (const std::string& s : t.strings()) to.text(s);
    return {};
  }
  if (is_object(t.dtype())) return Error(Code::unsupported, "a constant of formulas");
  NNEX_ASSIGN(const uint64_t place, store(t));
  to.number(place);
  return {};
}

Tensor read_strings(ByteReader& from, Shape shape, int64_t count) {
  std::vector<std::string> strings;
  if (static_cast<uint64_t>(count) > from.remaining() / 4) return from.fail(), Tensor();
  for (int64_t i = 0; i < count; ++i) strings.emplace_back(from.text());
  return from.ok() ? Tensor::of<std::string>(std::move(shape), strings) : Tensor();
}

Tensor read_tensor(ByteReader& from, const SnapshotData& data) {
  const auto dtype = from.number<DType>();
  std::vector<int64_t> extents(from.count(8));
  for (int64_t& extent : extents) extent = from.number<int64_t>();
  const bool negative = std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; });
  if (dtype == DType::none || dtype > DType::str || negative || !from.ok()) return from.fail(), Tensor();
  Shape shape(extents);
  const auto count = shape.checked_count();
  if (!count) return from.fail(), Tensor();
  if (dtype == DType::str) return read_strings(from, std::move(shape), *count);
  const auto bytes = bytes_for(dtype, *count);
  const auto place = from.number<uint64_t>();
  if (!bytes || place % kAlignment != 0 || place > data.bytes.size() ||
      static_cast<uint64_t>(*bytes) > data.bytes.size() - place)
    return from.fail(), Tensor();
  return Tensor::borrow(dtype, std::move(shape), data.bytes.data() + place, data.owner);
}

Status write_value(const Value& value, ByteWriter& to, const Snapshot::Store& store) {
  if (value.empty()) {
    to.number(ValueKind::none);
  } else if (const Tensor* t = value.tensor()) {
    to.number(ValueKind::tensor);
    return write_tensor(*t, to, store);
  } else if (const SparseTensor* s = value.sparse()) {
    to.number(ValueKind::sparse);
    to.number(static_cast<uint32_t>(s->shape.rank()));
    for (const int64_t extent : s->shape) to.number(extent);
    NNEX_TRY(write_tensor(s->values, to, store));
    return write_tensor(s->indices, to, store);
  } else {
    return failure(Code::unsupported, "a constant that is a {}", value.text());
  }
  return {};
}

Value read_value(ByteReader& from, const SnapshotData& data) {
  switch (from.number<ValueKind>()) {
    case ValueKind::none:
      return {};
    case ValueKind::tensor:
      return read_tensor(from, data);
    case ValueKind::sparse: {
      SparseTensor s;
      std::vector<int64_t> extents(from.count(8));
      for (int64_t& extent : extents) extent = from.number<int64_t>();
      s.shape = Shape(extents);
      s.values = read_tensor(from, data);
      s.indices = read_tensor(from, data);
      return s;
    }
  }
  from.fail();
  return {};
}

// ---- Attributes ----

/// One alternative of an Attribute.
struct WriteAttribute {
  ByteWriter& to;
  const Snapshot::Store& store;
  Status status;

  void operator()(std::monostate) {}
  void operator()(bool v) { to.number(static_cast<uint8_t>(v)); }
  void operator()(int64_t v) { to.number(v); }
  void operator()(double v) { to.number(v); }
  void operator()(DType v) { to.number(v); }
  void operator()(const std::string& v) { to.text(v); }
  void operator()(const std::pair<int64_t, int64_t>& v) { to.number(v.first), to.number(v.second); }
  void operator()(const Tensor& v) { status = write_tensor(v, to, store); }
  template <class T>
  void operator()(const std::vector<T>& list) {
    to.number(static_cast<uint32_t>(list.size()));
    for (const T& item : list) (*this)(item);
  }
};

struct ReadAttribute {
  ByteReader& from;
  const SnapshotData& data;

  void operator()(std::monostate&) {}
  void operator()(bool& v) { v = from.number<uint8_t>() != 0; }
  void operator()(int64_t& v) { v = from.number<int64_t>(); }
  void operator()(double& v) { v = from.number<double>(); }
  void operator()(DType& v) {
    v = from.number<DType>();
    if (v > DType::str) from.fail();
  }
  void operator()(std::string& v) { v = from.text(); }
  void operator()(std::pair<int64_t, int64_t>& v) { v = {from.number<int64_t>(), from.number<int64_t>()}; }
  void operator()(Tensor& v) { v = read_tensor(from, data); }
  template <class T>
  void operator()(std::vector<T>& list) {
    list.resize(from.count(4));
    for (T& item : list) (*this)(item);
  }
};

/// The attribute whose alternative is number `index`.
template <size_t kIndex = 0>
Attribute alternative(size_t index) {
  if constexpr (kIndex < std::variant_size_v<Attribute>) {
    if (index == kIndex) return Attribute(std::in_place_index<kIndex>);
    return alternative<kIndex + 1>(index);
  }
  return {};
}

Status write_attributes(const OpDef& op, const void* attrs, ByteWriter& to, const Snapshot::Store& store) {
  for (const Field& field : op.attrs.fields) {
    const Attribute value = field.get(attrs);
    to.number(static_cast<uint8_t>(value.index()));
    WriteAttribute write{to, store, {}};
    std::visit(write, value);
    NNEX_TRY(std::move(write.status));
  }
  return {};
}

std::shared_ptr<const void> read_attributes(const OpDef& op, ByteReader& from, const SnapshotData& data) {
  std::shared_ptr<void> attrs = op.attrs.make();
  for (const Field& field : op.attrs.fields) {
    const auto kind = from.number<uint8_t>();
    if (kind >= std::variant_size_v<Attribute>) return from.fail(), attrs;
    Attribute value = alternative(kind);
    std::visit(ReadAttribute{from, data}, value);
    if (!from.ok() || !field.set(attrs.get(), value)) return from.fail(), attrs;
  }
  return attrs;
}

// ---- Ids ----

template <class Tag>
void write_ids(const std::vector<Id<Tag>>& ids, ByteWriter& to) {
  to.number(static_cast<uint32_t>(ids.size()));
  for (const Id<Tag> id : ids) to.number(id.n);
}

// ---- What a model says of itself ----

void write_metadata(const Metadata& meta, const Properties& more, ByteWriter& to) {
  for (const std::string* s :
       {&meta.producer, &meta.producer_version, &meta.domain, &meta.doc, &meta.graph_name, &meta.graph_doc})
    to.text(*s);
  to.number(meta.ir_version);
  to.number(meta.model_version);
  to.number(static_cast<uint32_t>(meta.opsets.size()));
  for (const auto& [domain, version] : meta.opsets) to.text(domain), to.number(version);
  for (const Properties* properties : {&meta.properties, &more}) {
    to.number(static_cast<uint32_t>(properties->size()));
    for (const auto& [name, text] : *properties) to.text(name), to.text(text);
  }
  for (const auto* docs : {&meta.value_docs, &meta.node_docs}) {
    to.number(static_cast<uint32_t>(docs->size()));
    for (const auto& [name, text] : *docs) to.text(name), to.text(text);
  }
}

void read_metadata(ByteReader& from, Metadata& meta, Properties& more) {
  for (std::string* s :
       {&meta.producer, &meta.producer_version, &meta.domain, &meta.doc, &meta.graph_name, &meta.graph_doc})
    *s = from.text();
  meta.ir_version = from.number<int64_t>();
  meta.model_version = from.number<int64_t>();
  const auto text = [&] { return std::string(from.text()); };
  for (size_t n = from.count(12); n > 0; --n) {
    std::string domain = text();
    meta.opsets[std::move(domain)] = from.number<int64_t>();
  }
  for (Properties* properties : {&meta.properties, &more})
    for (size_t n = from.count(8); n > 0; --n) {
      std::string name = text();
      properties->emplace_back(std::move(name), text());
    }
  for (auto* docs : {&meta.value_docs, &meta.node_docs})
    for (size_t n = from.count(8); n > 0; --n) {
      std::string name = text();
      (*docs)[std::move(name)] = text();
    }
}

Error damaged() { return {Code::invalid_model, "the bytes are no snapshot of a graph"}; }

}  // namespace

/// A graph on its way into bytes.
struct Snapshot::Writing {
  const ir::Graph& graph;
  const FormStorage& forms;
  ByteWriter& to;
  const Store& store;
  std::vector<bool> alive = {};  ///< By node. What stands in no block that somebody owns is as good as erased.
  std::unordered_map<const void*, uint32_t> known = {};  ///< Attributes that were written.

  void places() {
    to.number(static_cast<uint32_t>(graph.places_.size()));
    for (const std::string& place : graph.places_) to.text(place);
  }

  Status values() {
    to.number(static_cast<uint32_t>(graph.values_.size()));
    for (uint32_t id = 0; id < graph.values_.size(); ++id) {
      const ValueDef& v = graph.values_[id];
      to.text(v.name);
      write_type(v.type, to);
      NNEX_TRY(write_value(v.uses.empty() ? Value() : v.constant, to, store));
    }
    return {};
  }

  /// Nodes of one operator share attributes: each once, before the first node that has them.
  Status attributes(const OpDef& op, const std::shared_ptr<const void>& attrs) {
    if (!attrs) return {};
    const auto [at, fresh] = known.try_emplace(attrs.get(), static_cast<uint32_t>(known.size()));
    to.number(at->second);
    return fresh ? write_attributes(op, attrs.get(), to, store) : Status();
  }

  Status form(const FusedAttrs& attrs) {
    Status status;
    to.number(static_cast<uint8_t>(attrs.form != nullptr));
    if (!attrs.form) return status;
    forms.write(*attrs.form, to, [&](const FormStorage::Operation& operation) {
      const auto& [op, given] = operation;
      to.text(op ? op->name : "");
      if (op && status.ok()) status = attributes(*op, given);
    });
    return status;
  }

  Status nodes() {
    alive.resize(graph.nodes_.size());
    for (const NodeId id : graph.order_with_blocks()) alive[id.n] = true;
    to.number(static_cast<uint32_t>(graph.nodes_.size()));
    for (uint32_t id = 0; id < graph.nodes_.size(); ++id) {
      const Node& n = graph.nodes_[id];
      to.number(static_cast<uint8_t>(alive[id]));
      if (!alive[id]) continue;
      if (n.custom)
        return failure(Code::unsupported, "the custom operator {} is a function of the program's", n.custom->name);
      to.text(n.op->name);
      write_ids(n.in, to);
      write_ids(n.out, to);
      write_ids(n.blocks, to);
      to.number(n.where);
      NNEX_TRY(is_fused(*n.op) ? form(graph.attrs<FusedAttrs>(n)) : attributes(*n.op, n.attrs));
    }
    return {};
  }

  void blocks() {
    to.number(static_cast<uint32_t>(graph.blocks_.size()));
    for (uint32_t b = 0; b < graph.blocks_.size(); ++b) {
      const Block& block = graph.blocks_[b];
      const bool owned = b == 0 || (block.owner.valid() && alive[block.owner.n]);
      to.number(static_cast<uint8_t>(owned));
      if (!owned) continue;
      write_ids(block.params, to);
      write_ids(graph.order(BlockId{b}), to);
      write_ids(block.results, to);
    }
  }

  Status states() {
    to.number(static_cast<uint32_t>(graph.states.size()));
    for (const StateDef& s : graph.states) {
      to.text(s.label);
      NNEX_TRY(write_value(s.start, to, store));
    }
    return {};
  }
};

Status Snapshot::write(const ir::Graph& graph, const FormStorage& forms, ByteWriter& to, const Store& store) {
  write_metadata(graph.meta, properties_of(graph.provenance), to);
  Writing writing{graph, forms, to, store};
  writing.places();
  NNEX_TRY(writing.values());
  NNEX_TRY(writing.nodes());
  writing.blocks();
  return writing.states();
}

/// A graph that grows out of bytes of which nothing is believed: every id is looked at before it is followed.
struct Snapshot::Reading {
  ByteReader& from;
  const FormStorage& forms;
  const SnapshotData& data;
  ir::Graph graph = {};
  std::vector<FormStorage::Operation> known = {};  ///< Operators and attributes that were read.
  std::vector<bool> placed = {};                   ///< By node: a block has it.

  void places() {
    graph.places_.clear();
    for (size_t n = from.count(4); n > 0; --n) {
      graph.places_.emplace_back(from.text());
      graph.place_ids_.emplace(graph.places_.back(), static_cast<Where>(graph.places_.size() - 1));
    }
    if (graph.places_.empty()) from.fail();
  }

  void values() {
    graph.values_.resize(from.count(8));
    for (uint32_t id = 0; id < graph.values_.size(); ++id) {
      ValueDef& v = graph.values_[id];
      v.name = from.text();
      v.type = read_type(from);
      v.constant = read_value(from, data);
      if (!from.ok()) return;
    }
  }

  /// Ids below `end`; `absent`: or none.
  template <class Tag>
  std::vector<Id<Tag>> ids(size_t end, bool absent) {
    std::vector<Id<Tag>> out(from.count(4));
    for (Id<Tag>& id : out) {
      id.n = from.number<uint32_t>();
      if (id.n >= end && (id.valid() || !absent)) from.fail();
    }
    return from.ok() ? std::move(out) : std::vector<Id<Tag>>();
  }
  std::vector<ValueId> value_ids(bool absent) { return ids<ValueTag>(graph.values_.size(), absent); }

  /// The value is this node's output, and nothing else yet.
  void produce(ValueId v, NodeId node, uint32_t output) {
    ValueDef& def = graph.values_[v.n];
    if (def.producer.valid() || def.is_constant()) return from.fail();
    def.producer = node;
    def.output = output;
  }

  std::shared_ptr<const void> attributes(const OpDef& op) {
    if (!op.attrs.make) return nullptr;
    const auto at = from.number<uint32_t>();
    if (at == known.size()) known.emplace_back(&op, read_attributes(op, from, data));
    if (at >= known.size() || known[at].first != &op) return from.fail(), nullptr;
    return known[at].second;
  }

  std::shared_ptr<const void> form(size_t inputs) {
    if (from.number<uint8_t>() == 0) return std::make_shared<FusedAttrs>();
    return std::make_shared<FusedAttrs>(FusedAttrs{forms.read(from, inputs, [&]() -> FormStorage::Operation {
      const std::string_view name = from.text();
      const OpDef* op = name.empty() ? nullptr : find_op(name);
      if (!name.empty() && !op) from.fail();
      if (!op) return {};
      return {op, attributes(*op)};
    })});
  }

  void nodes() {
    graph.nodes_.resize(from.count(1));
    for (uint32_t n = 0; n < graph.nodes_.size() && from.ok(); ++n) {
      Node& node = graph.nodes_[n];
      node.erased = from.number<uint8_t>() == 0;
      if (node.erased) continue;
      node.op = find_op(from.text());
      if (!node.op) return from.fail();
      node.in = value_ids(true);
      node.out = value_ids(true);
      node.blocks = ids<BlockTag>(UINT32_MAX, false);  // whose count follows
      node.where = from.number<Where>();
      if (node.where >= graph.places_.size() || node.out.empty()) return from.fail();
      for (size_t o = 0; o < node.out.size(); ++o)
        if (node.out[o].valid()) produce(node.out[o], NodeId{n}, static_cast<uint32_t>(o));
      node.use.resize(node.in.size());
      for (size_t i = 0; i < node.in.size(); ++i) graph.add_use(node.in[i], {NodeId{n}, {}, static_cast<uint32_t>(i)});
      node.attrs = is_fused(*node.op) ? form(node.in.size()) : attributes(*node.op);
    }
  }

  void block(uint32_t b) {
    Block& block = graph.blocks_[b];
    block.params = value_ids(false);
    for (const ValueId v : block.params) {
      ValueDef& def = graph.values_[v.n];
      if (def.param_of.valid() || def.producer.valid() || def.is_constant()) return from.fail();
      def.param_of = BlockId{b};
    }
    for (const NodeId id : ids<NodeTag>(graph.nodes_.size(), false)) {
      if (placed[id.n] || graph.nodes_[id.n].erased) return from.fail();
      placed[id.n] = true;
      graph.link(id, BlockId{b}, {});
    }
    graph.set_results(BlockId{b}, value_ids(false));
  }

  void blocks() {
    placed.resize(graph.nodes_.size());
    const size_t count = from.count(1);
    if (count == 0) return from.fail();
    graph.blocks_.resize(count);
    for (uint32_t n = 0; n < graph.nodes_.size(); ++n)
      for (const BlockId b : graph.nodes_[n].blocks) {
        if (b.n == 0 || b.n >= count || graph.blocks_[b.n].owner.valid()) return from.fail();
        graph.blocks_[b.n].owner = NodeId{n};
      }
    for (uint32_t b = 0; b < count && from.ok(); ++b) {
      const bool owned = from.number<uint8_t>() != 0;
      if (owned != (b == 0 || graph.blocks_[b].owner.valid())) return from.fail();
      if (owned) block(b);
    }
  }

  /// Every node stands in a block, and no block in itself, however far around.
  void nesting() {
    for (uint32_t n = 0; n < graph.nodes_.size(); ++n)
      if (!placed[n] && !graph.nodes_[n].erased) return from.fail();
    std::vector<int> depths(graph.blocks_.size(), -1);
    depths[0] = 0;
    for (uint32_t b = 1; b < depths.size(); ++b) {
      std::vector<uint32_t> way;
      for (uint32_t at = b; depths[at] < 0 && graph.blocks_[at].owner.valid();
           at = graph[graph.blocks_[at].owner].parent.n) {
        way.push_back(at);
        if (way.size() > kDeepestBlock) return from.fail();
      }
      while (!way.empty()) {
        const uint32_t around = graph[graph.blocks_[way.back()].owner].parent.n;
        depths[way.back()] = depths[around] + 1;
        if (depths[way.back()] > kDeepestBlock) return from.fail();
        way.pop_back();
      }
    }
  }

  void states() {
    for (size_t n = from.count(5); n > 0 && from.ok(); --n) {
      StateDef& s = graph.states.emplace_back();
      s.label = from.text();
      s.start = read_value(from, data);
      if (!s.start.tensor()) from.fail();
    }
    if (graph.states.size() > std::min(graph.inputs().size(), graph.outputs().size())) from.fail();
  }
};

Result<ir::Graph> Snapshot::read(ByteReader& from, const FormStorage& forms, const SnapshotData& data) {
  Reading reading{from, forms, data};
  Properties provenance;
  read_metadata(from, reading.graph.meta, provenance);
  take_provenance(provenance, reading.graph.provenance);
  reading.places();
  reading.values();
  if (from.ok()) reading.nodes();
  if (from.ok()) reading.blocks();
  if (from.ok()) reading.nesting();
  if (from.ok()) reading.states();
  if (!from.ok()) return damaged();
  if (Status s = verify(reading.graph, "reading it"); !s.ok())
    return failure(Code::invalid_model, "the snapshot's graph is wrong: {}", s.error().message());
  return std::move(reading.graph);
}

}  // namespace nnex
