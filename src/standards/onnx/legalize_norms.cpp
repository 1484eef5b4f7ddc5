// Reductions, softmax, normalisations: sets of axes and parameters that are absent.

#include <algorithm>
#include <numeric>

#include "ops/attention.h"
#include "ops/norm.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "ops/softmax.h"
#include "standards/onnx/export_graph.h"
#include "standards/onnx/legalize.h"
#include "tensor/convert.h"
#include "tensor/has_memory.h"

namespace nnex::onnx_format {
namespace {

// ---- Reductions

Ints range(int64_t from, int64_t to) {
  Ints out(static_cast<size_t>(std::max<int64_t>(to - from, 0)));
  std::iota(out.begin(), out.end(), from);
  return out;
}

/// What an empty list of axes reduces, asked about only where there may be one.
WhenEmpty when_empty(const Legalized& l, WhenEmpty own) {
  const Tensor* axes = l.constant(1);
  return !l.has(1) || (axes && axes->count() > 0) ? WhenEmpty::all : own;
}

/// "This axis and every later one" is a list of them.
template <class A>
void reduce(Legalized& l) {
  A a = l.attrs<A>();
  const Tensor* axes = l.constant(1);
  const auto rank = l.rank(0);
  if (is_global_pool(l.graph, l.node())) return;
  if (a.to_end && axes && axes->count() == 1 && rank) {
    const int64_t first = int_at(*axes, 0);
    l.graph.set_input(l.id, 1, l.ints(range(first < 0 ? first + *rank : first, *rank)));
    a.to_end = false;
  }
  a.when_empty = when_empty(l, a.when_empty);
  if (axes && axes->dtype() != DType::i64 && !a.to_end)
    if (auto wide = convert(*axes, DType::i64); wide.ok() && l.constant(1) == axes)
      l.graph.set_input(l.id, 1, l.b.constant(std::move(*wide)));
  l.set(a);
}

/// A number that takes part in every set.
void extreme(Legalized& l) {
  reduce<ExtremeAttrs>(l);
  ExtremeAttrs a = l.attrs<ExtremeAttrs>();
  if (!a.initial) return;
  const double initial = *a.initial;
  a.initial.reset();
  l.set(a);
  const ValueId y = l.again(l.node().in);
  const bool max = l.node().op->name == "max_reduce";
  l.replace(l.b(max ? "max" : "min", {y, l.b.number(l.dtype(0), initial)}));
}

/// Truth values are numbers meanwhile.
void truth_reduce(Legalized& l) {
  const auto a = l.attrs<TruthReduceAttrs>();
  ExtremeAttrs as;
  as.keepdims = a.keepdims, as.when_empty = when_empty(l, a.when_empty), as.to_end = a.to_end;
  std::vector<ValueId> in = {l.cast(l.cast(l.in(0), DType::boolean), DType::i32)};
  if (l.has(1)) in.push_back(l.in(1));
  if (as.to_end) return;
  const ValueId y = l.b(l.node().op->name == "all_reduce" ? "min_reduce" : "max_reduce", std::move(in), as);
  l.graph.set_type(y, Type::tensor(DType::i32));
  l.replace(l.cast(y, a.result));
}

void moments(Legalized& l) {
  const auto a = l.attrs<MomentsAttrs>();
  if (a.to_end) return;
  ReduceAttrs keep, as;
  as.keepdims = a.keepdims, keep.when_empty = as.when_empty = when_empty(l, WhenEmpty::none);
  const auto mean_of = [&](ValueId x, const ReduceAttrs& how) {
    return l.b("mean_reduce", l.has(1) ? std::vector<ValueId>{x, l.in(1)} : std::vector<ValueId>{x}, how);
  };
  const ValueId d = l.b("sub", {l.in(0), mean_of(l.in(0), keep)});
  const ValueId mean = mean_of(l.in(0), as), variance = mean_of(l.b("mul", {d, d}), as);
  const bool second = l.node().out.size() > 1 && l.node().out[1].valid();
  if (second) l.replace(variance, 1);
  if (!l.graph[l.id].erased && l.node().out[0].valid()) l.replace(mean, 0);
}

// ---- Softmax

/// Until opset 12 the sum is over every axis from the one that is named on: another one lies last, and goes back.
void softmax_to_end(Legalized& l) {
  SoftmaxAttrs a = l.attrs<SoftmaxAttrs>();
  const auto x = l.type(0).dims;
  if (a.axes.size() != 1 || a.to_end || !x) return;
  const auto rank = static_cast<int64_t>(x->size()), axis = a.axes[0] < 0 ? a.axes[0] + rank : a.axes[0];
  a.to_end = true;
  if (std::all_of(x->begin() + axis + 1, x->end(), [](const Dim& d) { return d == Dim(1); })) return l.set(a);
  Ints exchanged = range(0, rank);
  std::swap(exchanged[static_cast<size_t>(axis)], exchanged.back());
  a.axes = {rank - 1};
  l.set(a);
  l.replace(l.transposed(l.again({l.transposed(l.in(0), exchanged)}), exchanged));
}

/// Several axes to the end: the elements as rows, and back.
void softmax(Legalized& l) {
  SoftmaxAttrs a = l.attrs<SoftmaxAttrs>();
  const auto rank = l.rank(0);
  if (a.axes.size() != 1 || !a.to_end) return;
  const int64_t axis = a.axes[0];
  if (axis == -1 || (rank && (axis == *rank - 1))) {
    a.to_end = false;
    return l.set(a);
  }
  FlattenAttrs rows;
  rows.axis = axis;
  a.axes = {-1}, a.to_end = false;
  l.set(a);
  const ValueId extents = l.b("shape", {l.in(0)}, ShapeAttrs{});
  const auto x = l.type(0).dims;
  ReshapeAttrs back;
  back.zero = zero_of(x && axis == 1 ? MaybeDims(Dims{(*x)[0]}) : std::nullopt, x);
  l.replace(l.b("reshape", {l.again({l.b("flatten", {l.in(0)}, rows)}), extents}, back));
}

// ---- Normalisations

constexpr int64_t kMaxParameters = 1 << 24;

/// As many ones (or zeros) as a vector of parameters has numbers.
ValueId parameters(Legalized& l, DType type, int64_t count, double value) {
  Tensor t = std::move(Tensor::make(type, Shape{count})).value();
  for (int64_t i = 0; i < count; ++i) set_real(t, i, value);
  return l.b.constant(std::move(t));
}

/// What made a value that nobody reads any more goes, as does what was made for it alone.
void erase_unused(ir::Graph& graph, ValueId v) {
  std::vector<ValueId> left = {v};
  while (!left.empty()) {
    const NodeId id = graph[left.back()].producer;
    left.pop_back();
    if (!id.valid() || graph[id].erased) continue;
    const std::vector<ValueId> in = graph[id].in, out = graph[id].out;
    const auto is_read = [&](ValueId o) { return o.valid() && !graph[o].uses.empty(); };
    if (!graph[id].blocks.empty() || std::any_of(out.begin(), out.end(), is_read)) continue;
    graph.erase(id);
    for (ValueId i : in)
      if (i.valid()) left.push_back(i);
  }
}

/// Channels lie on axis 1; scale and offset are there.
void batch_norm(Legalized& l) {
  BatchNormAttrs a = l.attrs<BatchNormAttrs>();
  const auto x = l.type(0).dims;
  const auto mean = l.shape(1);
  if (mean && mean->count() <= kMaxParameters) {
    const int64_t count = mean->count();
    if (!l.has(3)) l.graph.set_input(l.id, 3, parameters(l, l.dtype(0), count, 0));
    if (!l.has(4)) l.graph.set_input(l.id, 4, parameters(l, l.dtype(0), count, 1));
  }
  for (size_t i = 1; i < 5; ++i)
    if (l.has(i) && l.rank(i).value_or(1) != 1) l.graph.set_input(l.id, i, l.reshaped(l.in(i), {-1}));
  if (!x) return;
  const auto rank = static_cast<int64_t>(x->size()), axis = a.axis < 0 ? a.axis + rank : a.axis;
  if (rank == 1) {  // channels alone: those of one item
    a.axis = 1;
    l.set(a);
    std::vector<ValueId> in = l.node().in;
    in[0] = l.reshaped(in[0], {1, -1});
    return l.replace(l.reshaped(l.again(std::move(in)), {-1}));
  }
  if (rank < 1 || axis == 1) {
    a.axis = 1;
    return l.set(a);
  }
  Ints there = range(0, rank), back(static_cast<size_t>(rank));
  there.erase(there.begin() + axis);
  there.insert(there.begin() + 1, axis);
  if (rank == 2 && axis == 0) there = {1, 0};
  for (size_t i = 0; i < there.size(); ++i) back[static_cast<size_t>(there[i])] = static_cast<int64_t>(i);
  a.axis = 1;
  l.set(a);
  std::vector<ValueId> in = l.node().in;
  in[0] = l.transposed(in[0], there);
  l.replace(l.transposed(l.again(std::move(in)), back));
}

void instance_norm(Legalized& l) {
  const auto x = l.type(0).dims;
  if (!x || x->size() < 2 || !(*x)[1].is_number() || (*x)[1].value() > kMaxParameters) return;
  if (!l.has(1)) l.graph.set_input(l.id, 1, parameters(l, l.dtype(0), (*x)[1].value(), 1));
  if (!l.has(2)) l.graph.set_input(l.id, 2, parameters(l, l.dtype(0), (*x)[1].value(), 0));
}

/// A vector of one number a channel that has one a group in truth, by groups: what the reader made of such a vector,
/// or a constant. Nothing: it is not known to be so.
std::optional<ValueId> by_group(Legalized& l, ValueId wide, int64_t groups) {
  if (const Tensor* t = l.graph[wide].constant.tensor()) {
    const int64_t each = t->count() / groups;
    if (!has_memory(*t) || t->count() == 0 || t->count() != groups * each) return {};
    Tensor narrow = std::move(Tensor::make(t->dtype(), Shape{groups})).value();
    for (int64_t i = 0; i < t->count(); ++i) {
      if (!(real_at(*t, i) == real_at(*t, i - i % each))) return {};
      set_real(narrow, i / each, real_at(*t, i));
    }
    return l.b.constant(std::move(narrow));
  }
  const Node* const flat = l.graph.producer(wide);
  const Node* const expand = flat && flat->op->name == "reshape" ? l.graph.producer(flat->in[0]) : nullptr;
  const Node* const column = expand && expand->op->name == "expand" ? l.graph.producer(expand->in[0]) : nullptr;
  if (!column || column->op->name != "unsqueeze") return {};
  const auto rows = l.type_of_value(expand->in[0]).dims, both = l.type_of_value(flat->in[0]).dims;
  const auto is = [&](const MaybeDims& dims, size_t axis, int64_t n) {
    return dims && dims->size() == 2 && (*dims)[axis].is_number() && (*dims)[axis].value() == n;
  };
  const bool so = is(rows, 0, groups) && is(rows, 1, 1) && is(both, 0, groups);
  return so && l.type_of_value(column->in[0]).dims ? std::optional(column->in[0]) : std::nullopt;
}

/// Groups are the channels of an instance norm; then every channel has its own scale and offset, unless a group's have
/// the same:
///     y = group_normalization(x, scale, offset)   ->   g = reshape(x, shape = [0, groups, -1]);
///                                                      n = reshape(instance_normalization(g, 1.0, 0.0), shape_of(x));
///                                                      y = n * scale + offset
/// Until opset 20 GroupNormalization had scales by group.
void group_norm(Legalized& l) {
  const auto a = l.attrs<GroupNormAttrs>();
  const DType type = l.dtype(0);
  const auto x = l.type(0).dims;
  if (a.groups < 1 || a.groups > kMaxParameters || !x || x->size() < 2) return;
  std::vector<ValueId> in = {l.reshaped(l.cast(l.in(0), a.stash), {0, a.groups, -1})};
  bool grouped = type == a.stash;
  for (size_t i = 1; grouped && i < 3; ++i) {
    const auto narrow = by_group(l, l.in(i), a.groups);
    if ((grouped = narrow.has_value())) in.push_back(*narrow);
  }
  if (!grouped) {
    in.resize(1);
    for (const double value : {1.0, 0.0}) in.push_back(parameters(l, a.stash, a.groups, value));
  }
  InstanceNormAttrs how;
  how.epsilon = a.epsilon;
  const ValueId n = l.b("instance_normalization", std::move(in), how);
  l.graph.set_type(n, Type::tensor(a.stash));
  ReshapeAttrs back;
  back.zero = zero_of(Dims{(*x)[0]}, x);
  ValueId y = l.b("reshape", {n, l.b("shape", {l.in(0)}, ShapeAttrs{})}, back);
  l.graph.set_type(y, Type::tensor(a.stash, x));
  y = l.cast(y, type);
  const std::vector<ValueId> wide = {l.in(1), l.in(2)};
  if (!grouped) {
    Ints each(x->size() - 1, 1);
    each[0] = -1;
    y = l.b("add", {l.b("mul", {y, l.reshaped(wide[0], each)}), l.reshaped(wide[1], each)});
  }
  l.replace(y);
  for (ValueId v : wide) erase_unused(l.graph, v);
}

/// Axes are one and every later one; a scale is there.
void layer_norm(Legalized& l) {
  LayerNormAttrs a = l.attrs<LayerNormAttrs>();
  const auto x = l.type(0).dims;
  if (!a.to_end && x) {
    const auto rank = static_cast<int64_t>(x->size());
    Ints axes = a.axes;
    for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
    if (axes.empty() || axes != range(axes[0], rank)) return;
    a.axes = {axes[0]}, a.to_end = true;
    l.set(a);
  }
  if (l.has(1) || !x || a.axes.size() != 1) return;
  const auto rank = static_cast<int64_t>(x->size());
  int64_t count = 1;
  Ints extents;
  for (int64_t i = a.axes[0] < 0 ? a.axes[0] + rank : a.axes[0]; i < rank; ++i) {
    if (!(*x)[static_cast<size_t>(i)].is_number()) return;
    extents.push_back((*x)[static_cast<size_t>(i)].value());
    if (extents.back() > kMaxParameters || (count *= extents.back()) > kMaxParameters) return;
  }
  const ValueId ones = parameters(l, l.dtype(0), count, 1);
  l.graph.set_input(l.id, 1, l.b.constant(l.graph[ones].constant.tensor()->reshaped(Shape(extents))));
}

/// The formula in words of its own, where a norm of zero is divided by.
void l2_norm(Legalized& l) {
  const auto a = l.attrs<LpNormAttrs>();
  if (a.bias != 0 || a.epsilon != 0 || a.at_zero != AtZero::divide) return;
  ReduceAttrs how;
  how.when_empty = WhenEmpty::all;
  const bool two = l.node().op->name == "l2_normalization";
  const ValueId norm = l.b(two ? "reduce_l2" : "reduce_l1", {l.in(0), l.ints(a.axes)}, how);
  l.replace(l.b("div", {l.in(0), norm}));
}

/// The epsilon is the operator's own; another one is written out.
void mean_variance(Legalized& l) {
  const auto a = l.attrs<MeanVarianceNormAttrs>();
  if (a.epsilon == MeanVarianceNormAttrs().epsilon) return;
  ReduceAttrs how;
  how.when_empty = WhenEmpty::all;
  const ValueId axes = l.ints(a.axes), d = l.b("sub", {l.in(0), l.b("mean_reduce", {l.in(0), axes}, how)});
  const ValueId deviation = l.b("sqrt", {l.b("mean_reduce", {l.b("mul", {d, d}), axes}, how)});
  l.replace(l.b("div", {d, l.b("add", {deviation, l.b.number(l.dtype(0), a.epsilon)})}));
}

/// y = attention(q, k, v, ..., sink)   ->   scores, y' = attention(q, k, v, ...);
///                                           y = y' * sigmoid(reduce_log_sum_exp(scores, axes = [3]) - sink)
/// A sink takes exp(sink) / (exp(sink) + sum exp(scores)) of each query's probabilities.
void attention_sink(Legalized& l) {
  namespace port = attention_port;
  const auto wants = [&](size_t o) { return o < l.node().out.size() && l.node().out[o].valid(); };
  if (!l.has(port::sink) || l.rank(port::q) != 4 || wants(port::scores)) return;
  std::vector<ValueId> in = l.node().in;
  in.resize(port::sink);
  AttentionAttrs a = l.attrs<AttentionAttrs>();
  a.scores_at = ScoresAt::biased;
  const NodeId made = l.b.node(*l.node().op, std::move(in), 4, std::make_shared<AttentionAttrs>(a));
  const std::vector<ValueId> out = l.graph[made].out;
  ReduceAttrs of_keys;
  of_keys.keepdims = true;
  const ValueId all = l.b("reduce_log_sum_exp", {out[port::scores], l.ints({3})}, of_keys);
  const ValueId sink = l.reshaped(l.in(port::sink), {1, -1, 1, 1});
  const ValueId share = l.b("sigmoid", {l.b("sub", {all, sink})});
  for (size_t o : {port::key, port::value})
    if (wants(o))
      l.replace(out[o], o);
    else
      l.graph.drop_output(made, o);
  l.replace(l.b("mul", {out[port::y], share}));
}

constexpr LegalizeRow kNormRows[] = {
    {"attention", attention_sink},
    {"sum_reduce", reduce<ReduceAttrs>},
    {"mean_reduce", reduce<ReduceAttrs>},
    {"reduce_prod", reduce<ReduceAttrs>},
    {"reduce_l1", reduce<ReduceAttrs>},
    {"reduce_l2", reduce<ReduceAttrs>},
    {"reduce_sum_square", reduce<ReduceAttrs>},
    {"reduce_log_sum", reduce<ReduceAttrs>},
    {"reduce_log_sum_exp", reduce<ReduceAttrs>},
    {"max_reduce", extreme},
    {"min_reduce", extreme},
    {"all_reduce", truth_reduce},
    {"any_reduce", truth_reduce},
    {"moments", moments},
    {"softmax", softmax, 0, 13},
    {"softmax", softmax_to_end, 13},
    {"log_softmax", softmax, 0, 13},
    {"log_softmax", softmax_to_end, 13},
    {"hardmax", softmax, 0, 13},
    {"hardmax", softmax_to_end, 13},
    {"batch_normalization", batch_norm},
    {"instance_normalization", instance_norm},
    {"group_normalization", group_norm, 21},
    {"layer_normalization", layer_norm},
    {"rms_normalization", layer_norm},
    {"l1_normalization", l2_norm},
    {"l2_normalization", l2_norm},
    {"mean_variance_normalization", mean_variance},
};

}  // namespace

std::span<const LegalizeRow> legalize_norms() { return kNormRows; }

}  // namespace nnex::onnx_format
