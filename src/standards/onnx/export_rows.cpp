// Rows that ONNX says with attributes of another make: the reverse of the reader's quirks.

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "base/try.h"
#include "graph/infer.h"
#include "ops/codecs.h"
#include "ops/join.h"
#include "ops/norm.h"
#include "ops/random.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/sequence.h"
#include "ops/shape.h"
#include "standards/onnx/export_rows.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

// ---- Shapes and numbers

/// A computed shape is that of another tensor.
Said random_like(const ir::Graph& graph, const Node& node, std::string_view like, DType dtype, AttrMap attrs) {
  const Node* producer = node.in.empty() ? nullptr : graph.producer(node.in[0]);
  if (!producer || producer->op->name != "shape") return std::optional<OnnxNode>();
  const auto& a = graph.attrs<ShapeAttrs>(*producer);
  if (a.start != 0 || a.end) return std::optional<OnnxNode>();
  OnnxNode out{std::string(like), "", {producer->in[0]}, std::move(attrs)};
  out.set("dtype", onnx_number(dtype));
  return std::optional(std::move(out));
}
Said uniform(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<UniformAttrs>(node);
  AttrMap attrs = {{"low", a.low}, {"high", a.high}};
  if (a.seed) attrs.emplace_back("seed", *a.seed);
  return random_like(graph, node, "RandomUniformLike", a.dtype, std::move(attrs));
}
Said normal(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<NormalAttrs>(node);
  AttrMap attrs = {{"mean", a.mean}, {"scale", a.scale}};
  if (a.seed) attrs.emplace_back("seed", *a.seed);
  return random_like(graph, node, "RandomNormalLike", a.dtype, std::move(attrs));
}

/// One element in a list.
Said constant_of_shape(const ir::Graph& graph, const Node& node) {
  OnnxNode out{"ConstantOfShape", "", node.in, {}};
  out.set("value", graph.attrs<ConstantOfShapeAttrs>(node).value.reshaped(Shape{1}));
  return std::optional(std::move(out));
}

/// A norm of the axis, p in the name.
Said lp_norm(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<LpNormAttrs>(node);
  if (a.axes.size() != 1 || a.bias != 0 || a.epsilon != 0 || a.at_zero != AtZero::zero)
    return cannot(node, "LpNormalization has one axis, and no bias or epsilon");
  OnnxNode out{"LpNormalization", "", node.in, {}};
  const MaybeDims& x = graph[node.in[0]].type.dims;  // -1 is the last axis; of other negative ones nothing is said
  out.set("axis", a.axes[0] < -1 && x ? a.axes[0] + static_cast<int64_t>(x->size()) : a.axes[0]);
  out.set("p", int64_t{node.op->name == "l1_normalization" ? 1 : 2});
  return std::optional(std::move(out));
}

/// Parts of ceil(extent / parts).
Said split(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<SplitAttrs>(node);
  if (a.chunks == 0) return std::optional<OnnxNode>();
  if (!a.ratios.empty() || (node.in.size() > 1 && node.in[1].valid())) return cannot(node, "parts given twice");
  OnnxNode out{"Split", "", {node.in[0]}, {}};
  out.set("axis", a.axis);
  out.set("num_outputs", a.chunks);
  return std::optional(std::move(out));
}

Said global_pool(const ir::Graph& graph, const Node& node) {
  if (!is_global_pool(graph, node)) return std::optional<OnnxNode>();
  return std::optional(
      OnnxNode{node.op->name == "mean_reduce" ? "GlobalAveragePool" : "GlobalMaxPool", "", {node.in[0]}, {}});
}

/// "leaky_relu" as "LeakyRelu".
std::string camel_case(std::string_view words) {
  std::string out;
  bool begins = true;
  for (const char c : words) {
    if (c != '_') out += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return out;
}

/// The words of the file are in camel case, and the number of hidden units is said again.
Said recurrent(const ir::Graph& graph, const Node& node) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"direction", "direction"}, {"activation_alpha", "activation_alpha"}, {"activation_beta", "activation_beta"},
      {"clip", "clip"},           {"reset_after", "linear_before_reset"},   {"input_forget", "input_forget"}};
  OnnxNode out{capitals(node.op->name), "", node.in, {}};
  const std::shared_ptr<void> usual = node.op->attrs.make();
  const Texts words = std::get<Texts>(node.op->attrs.find("activations")->get(node.attrs.get()));
  Texts theirs;
  for (const std::string& word : words) theirs.push_back(camel_case(word));
  if (!theirs.empty()) out.set("activations", std::move(theirs));
  for (const auto& [ours, onnx] : kNames) {
    const Field* f = node.op->attrs.find(ours);
    if (!f) continue;
    AttrValue value = f->get(node.attrs.get());
    if (!same(value, f->get(usual.get()))) out.set(onnx, std::move(value));
  }
  const Tensor* r = graph.constant_in(node, 2);
  const auto shape = r ? std::optional(r->shape()) : concrete(graph[node.in[2]].type);
  const AttrValue given = node.op->attrs.find("hidden")->get(node.attrs.get());
  if (shape && shape->rank() == 3)
    out.set("hidden_size", (*shape)[2]);
  else if (std::holds_alternative<int64_t>(given))
    out.set("hidden_size", given);
  return std::optional(std::move(out));
}

Said sequence_construct(const ir::Graph& graph, const Node& node) {
  if (!node.in.empty()) return std::optional<OnnxNode>();
  OnnxNode out{"SequenceEmpty", "", {}, {}};
  out.set("dtype", onnx_number(graph.attrs<SequenceConstructAttrs>(node).dtype.value_or(DType::f32)));
  return std::optional(std::move(out));
}

/// Nothing of a type: the type is the result's.
Said optional(const ir::Graph& graph, const Node& node) {
  OnnxNode out{"Optional", "", node.in, {}};
  const std::string& type = graph.attrs<OptionalAttrs>(node).type;
  if (node.in.empty() || !node.in[0].valid() || !type.empty()) out.set("type", type);
  return std::optional(std::move(out));
}

/// Resize before it had words for coordinates: from the corner, the nearest element below.
Said old_resize(const ir::Graph& graph, const Node& node, std::string_view op) {
  const auto& a = graph.attrs<ResizeAttrs>(node);
  const auto given = [&](size_t i) { return i < node.in.size() && node.in[i].valid(); };
  const bool nearest = a.mode == ResizeMode::nearest;
  if (!given(2) || given(3) || !a.axes.empty() || a.antialias || a.border != ResizeBorder::replicate ||
      a.transform != Transform::asymmetric || !(nearest || a.mode == ResizeMode::linear) ||
      (nearest && a.nearest_rounding != NearestRounding::floor))
    return cannot(node, fmt::format("{} of that opset takes scales, and the nearest element below or linear ones from "
                                    "asymmetric coordinates",
                                    op));
  const Tensor* const scales = graph.constant_in(node, 2);
  const Reals by = scales ? reals_of(*scales) : Reals{};
  if (!scales || std::any_of(by.begin(), by.end(), [](double s) { return s < 1; }))
    return cannot(node, fmt::format("{} of that opset grows by known scales", op));
  OnnxNode out{std::string(op), "", {node.in[0], node.in[2]}, {}};
  out.set("mode", std::string(nearest ? "nearest" : "linear"));
  return std::optional(std::move(out));
}
Said resize_10(const ir::Graph& graph, const Node& node) { return old_resize(graph, node, "Resize"); }
Said upsample_9(const ir::Graph& graph, const Node& node) { return old_resize(graph, node, "Upsample"); }
Said upsample_7(const ir::Graph& graph, const Node& node) {
  NNEX_ASSIGN(auto out, old_resize(graph, node, "Upsample"));
  out->set("scales", reals_of(*graph.constant_in(node, 2)));
  out->in.resize(1);
  return out;
}

}  // namespace

bool is_global_pool(const ir::Graph& graph, const Node& node) {
  const bool mean = node.op->name == "mean_reduce";
  if ((!mean && node.op->name != "max_reduce") || node.in.size() < 2) return false;
  const Tensor* axes = graph.constant_in(node, 1);
  const Type& x = graph[node.in[0]].type;
  if (!axes || axes->count() < 1 || int_at(*axes, 0) != 2 || !is_float(x.dtype)) return false;
  const bool keepdims = mean ? graph.attrs<ReduceAttrs>(node).keepdims : graph.attrs<ExtremeAttrs>(node).keepdims;
  const bool to_end = mean ? graph.attrs<ReduceAttrs>(node).to_end : graph.attrs<ExtremeAttrs>(node).to_end;
  if (!keepdims || (!mean && graph.attrs<ExtremeAttrs>(node).initial)) return false;
  if (to_end) return axes->count() == 1;
  if (!x.dims || static_cast<int64_t>(x.dims->size()) != axes->count() + 2) return false;
  for (int64_t i = 0; i < axes->count(); ++i)
    if (int_at(*axes, i) != i + 2) return false;
  return true;
}

Say find_older_say(std::string_view row, int64_t opset) {
  static constexpr struct {
    std::string_view row;
    int64_t below;
    Say say;
  } kOlder[] = {{"resize", 9, upsample_7}, {"resize", 10, upsample_9}, {"resize", 11, resize_10}};
  for (const auto& o : kOlder)
    if (o.row == row && opset < o.below) return o.say;
  return nullptr;
}

Say find_say(std::string_view row) {
  static const std::map<std::string_view, Say> table = {{"random_uniform", uniform},
                                                        {"random_normal", normal},
                                                        {"constant_of_shape", constant_of_shape},
                                                        {"l1_normalization", lp_norm},
                                                        {"l2_normalization", lp_norm},
                                                        {"split", split},
                                                        {"mean_reduce", global_pool},
                                                        {"max_reduce", global_pool},
                                                        {"max_roi_pool", max_roi_pool_node},
                                                        {"roi_align", roi_align_node},
                                                        {"rnn", recurrent},
                                                        {"gru", recurrent},
                                                        {"lstm", recurrent},
                                                        {"sequence_construct", sequence_construct},
                                                        {"optional", optional}};
  const auto it = table.find(row);
  return it == table.end() ? find_ml_say(row) : it->second;
}

}  // namespace nnex::onnx_format
