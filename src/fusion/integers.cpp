#include "fusion/integers.h"

#include <algorithm>
#include <limits>

#include "graph/infer.h"
#include "graph/queries.h"
#include "ops/matmul.h"
#include "ops/traits.h"
#include "ops/window.h"
#include "tensor/convert.h"

namespace nnex::fusion {
namespace {

using kernels::FusedIntegers;
using kernels::IntChain;
using kernels::IntSteps;
using kernels::range_of;
using kernels::simd::IntStepKind;
using kernels::simd::IntType;

// ---- Operators as steps

constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = std::numeric_limits<int32_t>::max();

int64_t number_of(const Node& node, std::string_view field) {
  return std::get<int64_t>(node.op->attrs.find(field)->get(node.attrs.get()));
}

/// The greatest number of the node's precision.
std::optional<int32_t> max_of(const Node& node) {
  const int64_t precision = number_of(node, "precision");
  if (precision < 1 || precision > 32) return std::nullopt;
  return static_cast<int32_t>((int64_t{1} << (precision - 1)) - 1);
}

bool clip(const ir::Graph& /*graph*/, const Node& node, IntSteps& steps) {
  const auto max = max_of(node);
  if (max) steps.clamp(-*max, *max);
  return max.has_value();
}

bool right_shift(const ir::Graph& /*graph*/, const Node& node, IntSteps& steps) {
  const auto max = max_of(node);
  const int64_t bits = number_of(node, "shift_bit");
  if (!max || bits < 1 || bits > 32) return false;
  steps.shift_right(static_cast<int32_t>(bits));
  steps.clamp(-*max, *max);
  return true;
}

/// x * 2^bits within the limits: what is out of them already before the shift is clamped first, so that int32 holds it.
bool left_shift(const ir::Graph& /*graph*/, const Node& node, IntSteps& steps) {
  const auto max = max_of(node);
  const int64_t bits = number_of(node, "shift_bit");
  if (!max || bits < 1 || bits > 30) return false;
  const int64_t beyond = (int64_t{*max} >> bits) + 1;
  if ((beyond << bits) > kMax) return false;
  steps.clamp(static_cast<int32_t>(-beyond), static_cast<int32_t>(beyond));
  steps.multiply(int32_t{1} << bits);
  steps.clamp(-*max, *max);
  return true;
}

bool clamp(const ir::Graph& graph, const Node& node, IntSteps& steps) {
  int64_t limits[2] = {kMin, kMax};
  for (size_t i = 0; i < 2; ++i) {
    if (i + 1 >= node.in.size() || !node.in[i + 1].valid()) continue;
    const Tensor* t = graph.constant_in(node, i + 1);
    if (!t || t->count() != 1 || t->dtype() != DType::i32) return false;
    limits[i] = int_at(*t, 0);
  }
  if (limits[0] > limits[1]) return false;
  steps.clamp(static_cast<int32_t>(limits[0]), static_cast<int32_t>(limits[1]));
  return true;
}

/// Rows of one tensor, and what they append: the row's own arithmetic on int32. False: a chain cannot say it exactly,
/// or its limits are not constant; nothing was appended.
constexpr struct {
  std::string_view op;
  bool (*append)(const ir::Graph& graph, const Node& node, IntSteps& steps);
} kUnaries[] = {{"relu", [](const ir::Graph&, const Node&, IntSteps& steps) { return steps.clamp(0, kMax), true; }},
                {"neg", [](const ir::Graph&, const Node&, IntSteps& steps) { return steps.multiply(-1), true; }},
                {"clamp", clamp},
                {"cvm_clip", clip},
                {"cvm_right_shift", right_shift},
                {"cvm_left_shift", left_shift}};

constexpr struct {
  std::string_view op;
  IntStepKind kind;
} kBinaries[] = {{"add", IntStepKind::add},
                 {"sub", IntStepKind::subtract},
                 {"mul", IntStepKind::multiply},
                 {"max", IntStepKind::maximum},
                 {"min", IntStepKind::minimum}};

template <class Rows>
auto row_of(const Rows& rows, const Node& node) {
  const auto at =
      std::find_if(std::begin(rows), std::end(rows), [&](const auto& row) { return row.op == node.op->name; });
  return at == std::end(rows) ? nullptr : &*at;
}

/// Appends element ∘ number (subtract: element - number); false where that needs an operand.
bool with_number(IntStepKind kind, int64_t number, IntSteps& steps) {
  const auto n = static_cast<int32_t>(number);
  switch (kind) {
    case IntStepKind::multiply:
      return steps.multiply(n), true;
    case IntStepKind::maximum:
      return steps.clamp(n, kMax), true;
    case IntStepKind::minimum:
      return steps.clamp(kMin, n), true;
    default:
      return false;
  }
}

IntType int_type(DType t) {
  return t == DType::i8 ? IntType::i8 : t == DType::u8 ? IntType::u8 : t == DType::i16 ? IntType::i16 : IntType::i32;
}

// ---- Finding

class IntFinder {
 public:
  IntFinder(const ir::Graph& graph, const IntStorage& storage, const std::set<NodeId>& taken)
      : graph_(graph), storage_(storage), taken_(taken) {}

  std::optional<FoundIntegers> from_product(NodeId id) {
    if (!is_biased_product(*graph_[id].op) || !stands_at(id) || !product(id)) return std::nullopt;
    take(id);
    return rest();
  }

  std::optional<FoundIntegers> from_element(NodeId id) {
    if (!stands_at(id) || !start(id) || !step(id)) return std::nullopt;
    return rest();
  }

 private:
  FoundIntegers rest() {
    for (NodeId next = only_reader(graph_, element_); next.valid() && !taken_.count(next) && step(next);)
      next = only_reader(graph_, element_);
    return std::move(out_);
  }

  /// Takes the extents of the node's result for those of all.
  bool stands_at(NodeId id) {
    const Node& node = graph_[id];
    if (node.out.size() != 1 || !storage_.is_i32(node.out[0])) return false;
    shape_ = *concrete(graph_[node.out[0]].type);
    if (shape_.count() == 0) return false;
    columns_ = shape_.rank() > 0 ? shape_[shape_.rank() - 1] : 1;
    return true;
  }

  bool product(NodeId id) {
    const Node& node = graph_[id];
    const DType x = graph_[node.in[0]].is_constant() ? DType::i32 : storage_.of(node.in[0]);
    if ((x != DType::i8 && x != DType::u8) || !storage_.is_filter(node.in[1])) return false;
    const ValueId bias = node.in.size() > 2 ? node.in[2] : ValueId{};
    if (bias.valid() && !storage_.is_i32(bias)) return false;
    if (const auto* conv = attrs_if<ConvAttrs>(node)) {
      if (!conv->channels_last || conv->border != ConvBorder::constant) return false;
    } else {
      const auto& a = graph_.attrs<LinearAttrs>(node);
      if (a.transpose_a || a.alpha != 1 || a.beta != 1 || graph_[node.in[0]].type.dims->size() != 2) return false;
      if (bias.valid() && !is_row(*concrete(graph_[bias].type))) return false;
    }
    out_.form.product = {node.op, node.attrs, {}};
    out_.begins = sums(node, bias);
    return true;
  }

  void take(NodeId id) {
    out_.nodes.push_back(id);
    element_ = graph_[id].out[0];
  }

  /// What the sums of a product of bytes lie in.
  kernels::IntRange sums(const Node& node, ValueId bias) const {
    const int64_t weights = concrete(graph_[node.in[1]].type)->count();
    if (weights > (int64_t{1} << 40)) return {};
    const int64_t max = weights / columns_ * 255 * 128;
    kernels::IntRange r = {-max, max};
    if (bias.valid()) {
      const Tensor* t = graph_[bias].constant.tensor();
      if (!t) return {};
      int64_t min = 0, greatest = 0;
      for (int64_t i = 0; i < t->count(); ++i) {
        const int64_t b = int_at(*t, i);
        min = std::min(min, b), greatest = std::max(greatest, b);
      }
      r.low += min, r.high += greatest;
    }
    return r.inside(INT32_MIN, INT32_MAX) ? r : kernels::IntRange{};
  }

  /// The chain goes on from an input that the first node computes with.
  bool start(NodeId id) {
    const Node& node = graph_[id];
    const size_t tensors = row_of(kBinaries, node) ? 2 : 1;
    for (size_t i = 0; i < std::min(tensors, node.in.size()); ++i) {
      const ValueId v = node.in[i];
      if (!storage_.is_i32(v) || graph_[v].is_constant() || !(*concrete(graph_[v].type) == shape_)) continue;
      out_.start = {id, {}, static_cast<uint32_t>(i)}, out_.form.start = *source_of(v);
      out_.begins = range_of(out_.form.start.type);
      element_ = v;
      return true;
    }
    return false;
  }

  /// Goes on from element_ to the result of a node, if the node is a step.
  bool step(NodeId id) {
    const Node& node = graph_[id];
    if (node.out.size() != 1 || !storage_.is_i32(node.out[0]) || !(*concrete(graph_[node.out[0]].type) == shape_))
      return false;
    if (const auto* row = row_of(kBinaries, node)) {
      if (!binary(id, row->kind)) return false;
    } else {
      const auto* unary = row_of(kUnaries, node);
      if (!unary || !(node.in[0] == element_) || !unary->append(graph_, node, out_.form.steps)) return false;
    }
    take(id);
    return true;
  }

  bool binary(NodeId id, IntStepKind kind) {
    const std::vector<ValueId>& in = graph_[id].in;
    const bool first = in[0] == element_;
    if ((!first && !(in[1] == element_)) || (in[0] == in[1] && !out_.nodes.empty())) return false;
    const size_t other = first ? 1 : 0;
    const auto source = source_of(in[other]);
    if (!source) return false;
    const Tensor* number = graph_[in[other]].constant.tensor();
    if (number && number->count() == 1 && with_number(kind, int_at(*number, 0), out_.form.steps)) return true;
    if (kind == IntStepKind::subtract && !first) kind = IntStepKind::subtract_from;
    if (out_.form.operands.size() == IntChain::kMaxOperands) return false;
    out_.form.steps.combine(kind, static_cast<int>(out_.form.operands.size()), range_of(source->type));
    out_.form.operands.push_back(*source);
    out_.operands.push_back({id, {}, static_cast<uint32_t>(other)});
    return true;
  }

  /// One number a column.
  bool is_row(const Shape& s) const { return s.count() == columns_ && (s.rank() == 0 || s[s.rank() - 1] == columns_); }

  /// v as an operand beside elements of shape_: one number, a row, a column, or all of it.
  std::optional<FusedIntegers::Source> source_of(ValueId v) const {
    using Spread = FusedIntegers::Spread;
    if (!storage_.is_i32(v)) return std::nullopt;
    const Shape s = *concrete(graph_[v].type);
    const IntType type = int_type(graph_[v].is_constant() ? DType::i32 : storage_.of(v));
    const int64_t rank = s.rank();
    if (s == shape_) return FusedIntegers::Source{-1, type, Spread::whole};
    if (rank > shape_.rank()) return std::nullopt;
    if (s.count() == 1) return FusedIntegers::Source{-1, type, Spread::number};
    if (is_row(s)) return FusedIntegers::Source{-1, type, Spread::row};
    if (rank == shape_.rank() && s[rank - 1] == 1 && std::equal(s.begin(), s.end() - 1, shape_.begin()))
      return FusedIntegers::Source{-1, type, Spread::column};
    return std::nullopt;
  }

  const ir::Graph& graph_;
  const IntStorage& storage_;
  const std::set<NodeId>& taken_;
  ValueId element_;  ///< The value that the chain stands at.
  Shape shape_;
  int64_t columns_ = 1;  ///< shape_'s last extent.
  FoundIntegers out_;
};

}  // namespace

bool IntStorage::is_i32(ValueId v) const {
  return v.valid() && graph_[v].type.is_tensor() && graph_[v].type.dtype == DType::i32 && concrete(graph_[v].type);
}

DType IntStorage::of(ValueId v) const {
  const auto i = intervals_.of(v);
  if (!i || !is_i32(v)) return DType::i32;
  if (i->inside(0, 255)) return DType::u8;
  if (i->inside(-128, 127)) return DType::i8;
  if (i->inside(-32768, 32767)) return DType::i16;
  return DType::i32;
}

bool IntStorage::is_filter(ValueId v) const {
  const auto i = intervals_.of(v);
  return is_i32(v) && (graph_[v].constant.tensor() || bytes_of(v).valid()) && i && i->inside(-128, 127);
}

ValueId IntStorage::bytes_of(ValueId v) const {
  const Node* producer = made_by(graph_, v, "cast");
  if (!producer) return {};
  const Tensor* t = graph_[producer->in[0]].constant.tensor();
  return t && t->dtype() == DType::i8 ? producer->in[0] : ValueId{};
}

std::optional<FoundIntegers> find_int_product(const ir::Graph& graph, const IntStorage& storage, NodeId product,
                                              const std::set<NodeId>& taken) {
  return IntFinder(graph, storage, taken).from_product(product);
}

std::optional<FoundIntegers> find_int_chain(const ir::Graph& graph, const IntStorage& storage, NodeId first,
                                            const std::set<NodeId>& taken) {
  return IntFinder(graph, storage, taken).from_element(first);
}

Found finished(const ir::Graph& graph, FoundIntegers found, NodeId last, const std::set<NodeId>& all) {
  Region region(graph, last, all);
  // What a node reads is an input of the region, or a cast of one.
  const auto input = [&](NodeId id, size_t i) {
    const std::vector<ValueId>& in = graph[id].in;
    if (i >= in.size() || !in[i].valid()) return -1;
    const int direct = region.input(in[i]);
    return direct >= 0 ? direct : region.input(graph.producer(in[i])->in[0]);
  };
  FusedIntegers& form = found.form;
  if (found.has_product())
    for (size_t i = 0; i < 3; ++i) form.product.in.push_back(input(found.nodes[0], i));
  else
    form.start.input = input(found.start.node, found.start.index);
  for (size_t i = 0; i < form.operands.size(); ++i)
    form.operands[i].input = input(found.operands[i].node, found.operands[i].index);
  form.y_type = int_type(graph[graph[last].out[0]].type.dtype);
  form.steps.finish(found.begins, found.has_product() ? IntType::i32 : form.start.type, form.y_type);
  return {std::move(region), {std::move(form)}};
}

}  // namespace nnex::fusion
