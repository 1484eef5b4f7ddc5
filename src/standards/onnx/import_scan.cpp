// Scan of opset 8: every tensor has a batch axis first, and sequences may have lengths of their own.

#include <fmt/format.h>

#include <algorithm>

#include "ops/control.h"
#include "ops/join.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format {
namespace {

/// The type of one item of a batch.
Type item_of(const Type& t) {
  if (!t.is_tensor() || !t.dims || t.dims->empty()) return t.is_tensor() ? Type::tensor(t.dtype) : Type{};
  return Type::tensor(t.dtype, Dims(t.dims->begin() + 1, t.dims->end()));
}

/// The inner scan and what its lengths need, inside the block that runs once an item.
class BatchedScan {
 public:
  BatchedScan(NodeImport& n, size_t states)
      : n_(n), states_(states), block_(n.b.graph().add_block()), b_(n.b.graph(), block_, n.b.where()) {}

  BlockId block() const { return block_; }

  /// Results of the block: states at the end of the item's sequence, then stacked outputs.
  Result<size_t> build(std::string_view body) {
    ir::Graph& graph = b_.graph();
    std::vector<ValueId> items;
    for (size_t i = 1; i < n_.in.size(); ++i) items.push_back(graph.add_param(block_, "", item_of(n_.type(i))));
    const ValueId whole = items[states_];
    if (n_.has(0))
      length_ = b_("unsqueeze", {graph.add_param(block_, "", Type::tensor(DType::i64, Dims{})), b_.ints({0})});
    for (size_t i = states_; length_.valid() && i < items.size(); ++i)
      items[i] = b_("slice", {items[i], b_.ints({0}), length_, b_.ints({0})});
    std::vector<Type> given;
    for (size_t i = 1; i < n_.in.size(); ++i) given.push_back(Type::tensor(n_.type(i).dtype));
    NNEX_ASSIGN(BlockId inner, n_.importer.block(body, n_.importer.depth() + 1, given));
    ScanAttrs attrs;
    attrs.inputs = static_cast<int64_t>(items.size() - states_);
    attrs.input_reverse = n_.ints("directions");
    const size_t outputs = graph[inner].results.size();
    const NodeId scan = b_.node(op("scan"), items, outputs, std::make_shared<ScanAttrs>(std::move(attrs)), {inner});
    std::vector<ValueId> results = graph[scan].out;
    for (size_t o = states_; length_.valid() && o < results.size(); ++o) results[o] = filled(results[o], whole);
    graph.set_results(block_, std::move(results));
    return outputs;
  }

 private:
  /// y with zeros behind it, as long as `whole`.
  ValueId filled(ValueId y, ValueId whole) {
    const ValueId steps = b_("slice", {b_("shape", {whole}), b_.ints({0}), b_.ints({1}), b_.ints({0})});
    const ValueId amounts = b_("concat", {b_.ints({0}), b_("sub", {steps, length_})}, AxisAttrs{});
    return b_("pad", {y, amounts, ValueId{}, b_.ints({0})}, PadAttrs{});
  }

  NodeImport& n_;
  size_t states_;
  BlockId block_;
  Builder b_;
  ValueId length_;
};

/// A scan over the batch around one over time. What follows an item's own length is zero.
Result<Quirked> scan(NodeImport& n) {
  if (n.version >= 9) return Quirked::no;
  const int64_t scanned = n.integer("num_scan_inputs", 0);
  if (scanned < 1 || static_cast<size_t>(scanned) >= n.in.size())
    return n.error(fmt::format("{} scanned inputs; the node has {} inputs after the lengths, at least 1 is scanned",
                               scanned, n.in.empty() ? 0 : n.in.size() - 1));
  for (size_t i = 1; i < n.in.size(); ++i)
    if (!n.has(i)) return n.error(fmt::format("input {} is absent", i));
  const auto body =
      std::find_if(n.attrs.begin(), n.attrs.end(), [](const Attribute& a) { return a.name == "body" && a.is_graph; });
  if (body == n.attrs.end()) return n.error("attribute 'body' is required");
  BatchedScan batched(n, n.in.size() - 1 - static_cast<size_t>(scanned));
  NNEX_ASSIGN(size_t outputs, batched.build(body->graph));
  if (n.out.size() > outputs)
    return n.error(fmt::format("the node has {} results; its body gives {}", n.out.size(), outputs));
  std::vector<ValueId> in(n.in.begin() + 1, n.in.end());
  if (n.has(0)) in.push_back(n.in[0]);
  ScanAttrs attrs;
  attrs.inputs = static_cast<int64_t>(in.size());
  const NodeId node =
      n.b.node(op("scan"), in, outputs, std::make_shared<ScanAttrs>(std::move(attrs)), {batched.block()});
  for (size_t o = 0; o < n.out.size(); ++o)
    if (n.wants(o)) n.bind(o, n.b.graph()[node].out[o]);
  return Quirked::done;
}

constexpr QuirkRow kScanRows[] = {{"Scan", scan}};

}  // namespace

std::span<const QuirkRow> scan_quirks() { return read_of<kScanRows>(); }

}  // namespace nnex::onnx_format
