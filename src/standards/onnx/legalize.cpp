#include "standards/onnx/legalize.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/try.h"
#include "graph/precision.h"
#include "ops/shape.h"
#include "standards/onnx/own_nodes.h"
#include "standards/onnx/write.h"
#include "tensor/has_memory.h"

namespace nnex::onnx_format {

Type Legalized::type_of_value(ValueId v) const {
  if (!v.valid()) return {};
  return graph[v].is_constant() ? type_of(graph[v].constant) : graph[v].type;
}

std::optional<int64_t> Legalized::rank(size_t i) const {
  const Type t = type(i);
  return t.dims ? std::optional(static_cast<int64_t>(t.dims->size())) : std::nullopt;
}

std::optional<Shape> Legalized::shape(size_t i) const { return has(i) ? concrete(type(i)) : std::nullopt; }

std::optional<Shape> Legalized::out_shape(size_t o) const {
  return o < node().out.size() && node().out[o].valid() ? concrete(graph[node().out[o]].type) : std::nullopt;
}

ValueId Legalized::cast(ValueId x, DType to) {
  if (type_of_value(x).dtype == to) return x;
  CastAttrs a;
  a.to = to;
  const ValueId y = b("cast", {x}, a);
  graph.set_type(y, Type::tensor(to, type_of_value(x).dims));
  return y;
}

ValueId Legalized::reshaped(ValueId x, const Ints& extents) {
  ReshapeAttrs a;
  a.zero = ZeroExtent::copy;
  return b("reshape", {x, ints(extents)}, a);
}

ValueId Legalized::constant_as(ValueId constant, const Shape& shape) {
  const Tensor& t = *graph[constant].constant.tensor();
  if (t.shape() == shape) return constant;
  std::string name;
  if (graph.read_once(constant)) {
    name = graph[constant].name;
    graph.set_name(constant, "");
  }
  return graph.add_constant(t.reshaped(shape), std::move(name));
}

ValueId Legalized::transposed(ValueId x, Ints axes) {
  TransposeAttrs a;
  a.axes = std::move(axes);
  return b("transpose", {x}, a);
}

ValueId Legalized::again(std::vector<ValueId> in) {
  const NodeId made = b.node(*node().op, std::move(in), 1, node().attrs);
  return graph[made].out[0];
}

void Legalized::keep_bits(ValueId of, ValueId v) {
  const int64_t known = bits_of(of);
  if (known == 0) return;
  bits.resize(graph.value_count());
  bits[v.n] = known;
}

void Legalized::replace(ValueId v, size_t o) {
  const ValueId old = node().out[o];
  if (!graph[v].producer.valid() || !graph[v].name.empty()) v = b("copy", {v});
  keep_bits(old, v);
  graph.set_name(v, graph[old].name);
  graph.set_type(v, graph[old].type);
  graph.replace_uses(old, v);
  graph.drop_output(id, o);
  for (ValueId other : node().out)
    if (other.valid()) return;
  graph.erase(id);
}

void Legalized::cast_result(DType made, size_t o) {
  const ValueId old = node().out[o];
  const Type wanted = graph[old].type;
  if (wanted.dtype == made) return;
  CastAttrs a;
  a.to = wanted.dtype;
  // After the node: before the one that follows it, or at the end of the block.
  const Node& n = node();
  Builder after = n.next.valid() ? Builder(graph, n.next, n.where) : Builder(graph, n.parent, n.where);
  const std::string name = graph[old].name;
  graph.set_name(old, "");
  graph.set_type(old, Type::tensor(made, wanted.dims));
  const ValueId back = after("cast", {ValueId{}}, a);
  graph.replace_uses(old, back);
  graph.set_input(graph[back].producer, 0, old);
  graph.set_name(back, name);
  graph.set_type(back, wanted);
  keep_bits(old, back);
}

namespace {

/// Bits of every value where the graph is one of integers, by the rules of their rows; else nothing.
std::vector<int64_t> integer_bits(const ir::Graph& graph) {
  bool integers = false;
  for (NodeId id : graph.order()) {
    const Node& n = graph[id];
    if (n.custom || !n.blocks.empty()) return {};
    for (ValueId v : n.out) {
      if (!v.valid()) continue;
      if (!concrete(graph[v].type)) return {};
      integers |= (n.op->name == "conv" || n.op->name == "max_pool") && graph[v].type.dtype == DType::i32;
    }
  }
  if (!integers) return {};
  Faults ignored;  // a node without a rule leaves 0 behind it
  return infer_precision(graph, {}, ignored);
}

/// Whether CVM alone has the row: carried as it is, it becomes CVM's again.
bool is_of_cvm_alone(const OpDef& op) {
  return !op.spelled.empty() &&
         std::all_of(op.spelled.begin(), op.spelled.end(), [](const Spelling& s) { return s.format == Format::cvm; });
}

/// Whether every tensor that the node reads has an element type: the rules ask for them.
bool is_typed(const ir::Graph& graph, const Node& node) {
  return std::all_of(node.in.begin(), node.in.end(), [&](ValueId v) {
    if (!v.valid() || graph[v].is_constant()) return true;
    const Type& t = graph[v].type;
    return t.kind != Kind::unknown && (!t.is_tensor() || t.dtype != DType::none);
  });
}

/// Small constants without names that hold the same become one: importers make one for each literal.
void merge_constants(ir::Graph& graph) {
  constexpr int64_t kSmall = 64;  // bytes
  std::map<std::tuple<DType, std::vector<int64_t>, std::string>, ValueId> known;
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    const Tensor* t = v.name.empty() && !v.uses.empty() ? v.constant.tensor() : nullptr;
    if (!t || is_object(t->dtype()) || t->bytes() > kSmall || !has_memory(*t)) continue;
    const Shape shape = t->shape();
    std::string bytes(reinterpret_cast<const char*>(t->data()), static_cast<size_t>(t->bytes()));
    const auto [it, fresh] =
        known.try_emplace({t->dtype(), std::vector<int64_t>(shape.begin(), shape.end()), std::move(bytes)}, ValueId{n});
    if (!fresh) graph.replace_uses(ValueId{n}, it->second);
  }
}

/// The rules of an opset, by their rows.
class Rules {
 public:
  explicit Rules(int64_t opset) : opset_(opset) {}

  void add(std::span<const LegalizeRow> theme) {
    for (const LegalizeRow& r : theme)
      if ((r.below == 0 || (opset_ > 0 && opset_ < r.below)) && (opset_ == 0 || opset_ >= r.from))
        rules_.emplace(r.row, r.rule);
  }

  void apply(ir::Graph& graph, NodeId id, std::vector<int64_t>& bits) const {
    const auto [first, last] = rules_.equal_range(graph[id].op->name);
    for (auto it = first; it != last && !graph[id].erased; ++it) {
      Legalized l(graph, id, bits);
      it->second(l);
    }
  }

 private:
  int64_t opset_;
  std::multimap<std::string_view, LegalizeRule> rules_;
};

constexpr int kDeepestOlder = 8;  ///< Rules of older opsets over what such rules made.

Status infer_again(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first().during("bringing the graph into ONNX's conventions");
  return {};
}

}  // namespace

ZeroExtent zero_of(const MaybeDims& from, const MaybeDims& to) {
  if (!to) return ZeroExtent::literal;
  for (size_t i = 0; i < to->size(); ++i) {
    const bool copied = from && i < from->size() && (*from)[i] == (*to)[i];
    if (!copied && (*to)[i].number().value_or(0) == 0) return ZeroExtent::literal;
  }
  return ZeroExtent::copy;
}

Status legalize_for_onnx(ir::Graph& graph, const KeptNodes& kept, bool integers, int64_t opset) {
  std::vector<int64_t> bits = integer_bits(graph);
  Rules rules(opset);
  rules.add(legalize_composed());
  rules.add(legalize_moves());
  rules.add(legalize_windows());
  rules.add(legalize_norms());
  if (integers) rules.add(legalize_integers());
  rules.add(legalize_numbers());
  const auto each = [&](uint32_t from, auto apply) {
    for (NodeId id : graph.order_with_blocks()) {
      if (id.n < from || graph[id].erased || kept.has(id) || !graph[id].op || !is_typed(graph, graph[id])) continue;
      if (!integers && is_of_cvm_alone(*graph[id].op)) continue;
      apply(id);
    }
  };
  each(0, [&](NodeId id) { rules.apply(graph, id, bits); });
  if (opset > 0) {
    Rules older(opset);
    older.add(legalize_older());
    uint32_t made = 0;
    for (int depth = 0; depth < kDeepestOlder && made < graph.node_count(); ++depth) {
      NNEX_TRY(infer_again(graph));
      const uint32_t from = std::exchange(made, static_cast<uint32_t>(graph.node_count()));
      each(from, [&](NodeId id) { older.apply(graph, id, bits); });
    }
    NNEX_TRY(infer_again(graph));
    each(0, [&](NodeId id) {
      Legalized l(graph, id, bits);
      fit_operands(l, opset);
    });
  }
  merge_constants(graph);
  return infer_again(graph);
}

}  // namespace nnex::onnx_format
