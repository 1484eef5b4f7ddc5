// FlexAttention of ai.onnx.preview: attention whose scores and probabilities pass through graphs of the author's.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/attention.h"
#include "ops/cast.h"
#include "ops/codecs.h"
#include "ops/join.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format {
namespace {

/// Extent of an axis of input i where it is a number.
std::optional<int64_t> extent(const NodeImport& n, size_t i, size_t axis) {
  const Type& t = n.type(i);
  return t.dims && axis < t.dims->size() ? (*t.dims)[axis].number() : std::nullopt;
}

ValueId extent_of(NodeImport& n, size_t i, int64_t axis) {
  ShapeAttrs a;
  a.start = axis, a.end = axis + 1;
  return n.b("shape", {n.in[i]}, a);
}

ValueId cast_to(NodeImport& n, ValueId x, DType to) {
  CastAttrs a;
  a.to = to;
  return n.b("cast", {x}, a);
}

const Attribute* graph_attribute(const NodeImport& n, std::string_view name) {
  for (const Attribute& a : n.attrs)
    if (a.name == name && a.is_graph) return &a;
  return nullptr;
}

/// x passed through a graph of one input and one output, if there is one.
Result<ValueId> passed_through(NodeImport& n, std::string_view graph, ValueId x) {
  const Attribute* a = graph_attribute(n, graph);
  if (!a) return x;
  auto results = n.importer.inlined(a->graph, n, {&x, 1});
  if (!results.ok()) return std::move(results).error().at(std::string(graph));
  if (results->size() != 1) return n.error(fmt::format("{} gives {} results; needed 1", graph, results->size()));
  return results->front();
}

/// The rows that stand for a group of query heads at one key head: [batch, kv_heads, group, ...] between `split` and
/// `joined`. Nothing to do where all heads have their own keys.
class Groups {
 public:
  explicit Groups(NodeImport& n) : n_(n) {
    const auto of_q = extent(n, 0, 1), of_k = extent(n, 1, 1);
    if (of_q && of_q == of_k) return;
    if (of_k) {
      shape_ = n.b.ints({*of_k, -1});
    } else {
      AxisAttrs a;
      a.axis = 0;
      shape_ = n.b("concat", {extent_of(n, 1, 1), n.b.ints({-1})}, a);
    }
  }

  ValueId split(ValueId x) { return shape_.valid() ? n_.b("reshape", {x, shape_}, axes(1)) : x; }
  ValueId shared(ValueId x) { return shape_.valid() ? n_.b("unsqueeze", {x, n_.b.ints({2})}) : x; }
  ValueId joined(ValueId x) { return shape_.valid() ? n_.b("reshape", {x, n_.b.ints({-1})}, axes(2)) : x; }

 private:
  static ReshapeAttrs axes(int64_t count) {
    ReshapeAttrs a;
    a.axis_start = 1, a.axis_count = count;
    return a;
  }

  NodeImport& n_;
  ValueId shape_;
};

/// 1 / sqrt(depth), in the type of q.
ValueId default_scale(NodeImport& n, DType type) {
  if (auto depth = extent(n, 0, 3))
    return n.b.number(type, *depth > 0 ? 1 / std::sqrt(static_cast<double>(*depth)) : 1);
  return n.b("rcp", {n.b("sqrt", {cast_to(n, extent_of(n, 0, 3), type)})});
}

Result<ValueId> expanded(NodeImport& n, std::optional<DType> softmax_type) {
  const DType type = n.type(0).dtype == DType::none ? DType::f32 : n.type(0).dtype;
  Groups groups(n);
  MatmulAttrs by_rows;
  by_rows.transpose_b = true;
  ValueId scores = groups.joined(n.b("matmul", {groups.split(n.in[0]), groups.shared(n.in[1])}, by_rows));
  scores = n.b("mul", {scores, n.given("scale") ? n.b.number(type, n.real("scale", 0)) : default_scale(n, type)});
  NNEX_ASSIGN(scores, passed_through(n, "score_mod", scores));
  if (softmax_type) scores = cast_to(n, scores, *softmax_type);
  ValueId probabilities = n.b("softmax", {scores}, SoftmaxAttrs{});
  if (softmax_type) probabilities = cast_to(n, probabilities, type);
  NNEX_ASSIGN(probabilities, passed_through(n, "prob_mod", probabilities));
  return groups.joined(n.b("matmul", {groups.split(probabilities), groups.shared(n.in[2])}));
}

Result<Quirked> flex_attention(NodeImport& n) {
  for (size_t i = 0; i < 3; ++i) {
    if (!n.has(i)) return n.error("q, k and v are required");
    if (auto rank = n.rank(i); rank && *rank != 4)
      return n.error(fmt::format("input {} has {} axes; needed 4", i, *rank));
  }
  for (const Attribute& a : n.attrs)
    if (a.name != "scale" && a.name != "softmax_precision" && a.name != "score_mod" && a.name != "prob_mod")
      return n.error(fmt::format("attribute '{}' is not known", a.name));
  std::optional<DType> softmax_type;
  if (const int64_t number = n.integer("softmax_precision", 0)) {
    softmax_type = dtype_of_onnx(number);
    if (!(only(*softmax_type) & kF))
      return n.error(fmt::format("attribute 'softmax_precision': {} is no type of real numbers", number));
  }
  if (graph_attribute(n, "score_mod") || graph_attribute(n, "prob_mod")) {
    NNEX_ASSIGN(ValueId y, expanded(n, softmax_type));
    n.bind(0, y);
    return Quirked::done;
  }
  AttentionAttrs a;
  a.scale = n.real("scale", 0), a.softmax_type = softmax_type;
  n.bind(0, n.b("attention", {n.in[0], n.in[1], n.in[2]}, a));
  return Quirked::done;
}

constexpr QuirkRow kAttentionRows[] = {{"FlexAttention", flex_attention, "ai.onnx.preview"}};

}  // namespace

std::span<const QuirkRow> attention_quirks() { return read_of<kAttentionRows>(); }

}  // namespace nnex::onnx_format
