#include "standards/c/legalize.h"

#include <algorithm>

#include "base/faults.h"
#include "fusion/fusion.h"
#include "graph/infer.h"
#include "graph/queries.h"
#include "nnex/elements.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/int_limits.h"
#include "ops/matmul.h"
#include "ops/quantize.h"
#include "ops/reduce.h"
#include "ops/window.h"
#include "passes/passes.h"

namespace nnex::c_format {
namespace {

/// A node that is replaced, and what replaces it.
class Rewrite {
 public:
  Rewrite(ir::Graph& graph, NodeId id) : graph_(graph), id_(id), build_(graph, id) {}

  const Node& node() const { return graph_[id_]; }
  bool given(size_t i) const { return i < node().in.size() && node().in[i].valid(); }
  ValueId in(size_t i) const { return node().in[i]; }
  DType type(ValueId v) const { return graph_[v].type.dtype; }
  template <class A>
  const A& attr() const {
    return graph_.attrs<A>(id_);
  }
  /// Whether something is known to have one element.
  bool is_one(ValueId v) const {
    if (const Tensor* t = graph_[v].constant.tensor()) return t->count() == 1;
    const auto shape = concrete(graph_[v].type);
    return shape && shape->count() == 1;
  }
  int64_t rank(ValueId v) const { return graph_[v].type.dims ? std::ssize(*graph_[v].type.dims) : 0; }

  ValueId cast(ValueId v, DType to) {
    CastAttrs a;
    a.to = to;
    return build_("cast", {v}, a);
  }
  template <class... A>
  ValueId row(std::string_view op, std::vector<ValueId> in, A... attrs) {
    return build_(op, std::move(in), std::move(attrs)...);
  }
  ValueId number(DType type, double value) { return build_.number(type, value); }
  ValueId constant(Tensor t, std::string name = {}) {
    const ValueId v = build_.constant(std::move(t));
    if (!name.empty()) graph_.set_name(v, std::move(name));
    return v;
  }
  const Tensor* tensor(ValueId v) const { return graph_[v].constant.tensor(); }
  const std::string& name(ValueId v) const { return graph_[v].name; }
  /// Numbers for each index of `axis` of a tensor of so many axes; one number as it is.
  ValueId along(ValueId v, int64_t axis, int64_t axes) {
    if (is_one(v)) return reshaped(v, {});
    Ints shape(static_cast<size_t>(axes), 1);
    shape[static_cast<size_t>(axis)] = -1;
    return reshaped(v, shape);
  }
  ValueId reshaped(ValueId v, const Ints& shape) { return build_("reshape", {v, build_.ints(shape)}); }

  void give(size_t o, ValueId v) {
    const ValueId old = node().out[o];
    graph_.set_type(v, graph_[old].type);
    graph_.replace_uses(old, v);
    graph_.set_name(v, graph_[old].name);
  }
  void done() { graph_.erase(id_); }

 private:
  ir::Graph& graph_;
  NodeId id_;
  Builder build_;
};

/// Codes as int32, less their zero point.
ValueId centred(Rewrite& r, size_t i, size_t zero, int64_t axis) {
  const ValueId x = r.cast(r.in(i), DType::i32);
  if (!r.given(zero)) return x;
  const ValueId z = r.cast(r.in(zero), DType::i32);
  return r.row("sub", {x, axis < 0 ? z : r.along(z, axis, r.rank(r.in(i)))});
}

/// Sums to the result's codes: rounded with ties to even, moved by the zero point, limited.
ValueId to_codes(Rewrite& r, ValueId sums, ValueId factor, ValueId zero, double low, double high) {
  const ValueId scaled = r.row("mul", {r.cast(sums, DType::f32), factor});
  const ValueId whole = r.row("round", {scaled}, RoundAttrs{Rounding::half_even});
  const ValueId moved = r.row("add", {whole, r.cast(zero, DType::f32)});
  const ValueId kept = r.row("clamp", {moved, r.number(DType::f32, low), r.number(DType::f32, high)});
  return r.cast(kept, r.type(r.node().out[0]));
}

ValueId to_codes(Rewrite& r, ValueId sums, ValueId factor, ValueId zero) {
  const IntLimits range = int_limits(r.type(r.node().out[0]));
  return to_codes(r, sums, factor, zero, static_cast<double>(range.low), static_cast<double>(range.high));
}

void rewrite_conv_integer(Rewrite& r) {
  r.give(0, r.row("conv", {centred(r, 0, 2, 0), centred(r, 1, 3, 0)}, r.attr<ConvAttrs>()));
}

void rewrite_matmul_integer(Rewrite& r) {
  r.give(0, r.row("matmul", {centred(r, 0, 2, -1), centred(r, 1, 3, -1)}, MatmulAttrs{}));
}

// Ports: x, its scale and zero; filter, its scale and zero; the result's scale and zero; the bias.
void rewrite_qlinear_conv(Rewrite& r) {
  const int64_t axes = r.rank(r.in(0));
  ValueId sums = r.row("conv_integer", {r.in(0), r.in(3), r.in(2), r.in(5)}, r.attr<ConvAttrs>());
  if (r.given(8)) sums = r.row("add", {sums, r.along(r.in(8), 1, axes)});
  const ValueId scales = r.row("mul", {r.along(r.in(1), 1, axes), r.along(r.in(4), 1, axes)});
  const ValueId factor = r.row("div", {scales, r.along(r.in(6), 1, axes)});
  r.give(0, to_codes(r, sums, factor, r.along(r.in(7), 1, axes)));
}

void rewrite_qlinear_matmul(Rewrite& r) {
  const ValueId sums = r.row("matmul_integer", {r.in(0), r.in(3), r.in(2), r.in(5)});
  const ValueId scales = r.row("mul", {r.cast(r.in(1), DType::f32), r.cast(r.in(4), DType::f32)});
  const ValueId factor = r.row("div", {scales, r.cast(r.in(6), DType::f32)});
  r.give(0, to_codes(r, sums, factor, r.in(7)));
}

/// The range of x widened to 0 is cut into 255 steps.
void rewrite_dynamic_quantize(Rewrite& r) {
  ExtremeAttrs from_zero;
  from_zero.keepdims = false, from_zero.when_empty = WhenEmpty::all, from_zero.initial = 0;
  const auto number = [&](double v) { return r.number(DType::f32, v); };
  const ValueId x = r.in(0), low = r.row("min_reduce", {x}, from_zero), high = r.row("max_reduce", {x}, from_zero);
  const ValueId range = r.row("sub", {high, low});
  const ValueId used = r.row("select", {r.row("eq", {high, low}), number(1), range});
  const ValueId scale = r.row("div", {used, number(255)});
  const RoundAttrs even{Rounding::half_even};
  const auto limited = [&](ValueId v) { return r.row("clamp", {v, number(0), number(255)}); };
  const ValueId zero = r.row("round", {limited(r.row("div", {r.row("sub", {number(0), low}), scale}))}, even);
  const ValueId codes = r.row("add", {r.row("round", {r.row("div", {x, scale})}, even), zero});
  const auto given = [&](size_t o) { return o < r.node().out.size() && r.node().out[o].valid(); };
  if (given(0)) r.give(0, r.cast(limited(codes), DType::u8));
  if (given(1)) r.give(1, scale);
  if (given(2)) r.give(2, r.cast(zero, DType::u8));
}

struct RewriteEntry {
  std::string_view row;
  void (*rewrite)(Rewrite&);
};
/// The second of these go over what the first make.
constexpr RewriteEntry kRewrites[] = {{"qlinear_conv", rewrite_qlinear_conv},
                                      {"qlinear_matmul", rewrite_qlinear_matmul},
                                      {"dynamic_quantize_linear", rewrite_dynamic_quantize}},
                       kWidened[] = {{"conv_integer", rewrite_conv_integer},
                                     {"matmul_integer", rewrite_matmul_integer}};

Result<bool> rewrite_all(ir::Graph& graph, std::span<const RewriteEntry> entries) {
  bool changed = false;
  for (NodeId id : graph.order())
    for (const RewriteEntry& entry : entries) {
      if (graph[id].erased || !graph[id].op || graph[id].op->name != entry.row || reads_codes(graph, graph[id]))
        continue;
      Rewrite r(graph, id);
      entry.rewrite(r);
      r.done();
      changed = true;
      break;
    }
  if (!changed) return false;
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return true;
}

// ---- Products between dequantize_linear and quantize_linear

/// One number, or one for each index of `axis`.
template <class T>
ValueId numbers(Rewrite& r, const std::vector<T>& values, int64_t axis, int64_t axes) {
  return r.along(r.constant(Tensor::of<T>({std::ssize(values)}, values)), axis, axes);
}

/// A matrix of bytes, columns as rows.
Tensor transposed(const Tensor& w) {
  const int64_t rows = w.shape()[0], columns = w.shape()[1];
  Tensor t = std::move(*Tensor::make(w.dtype(), {columns, rows}));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) t.mutable_data()[j * rows + i] = w.data()[i * columns + j];
  return t;
}

/// The sums of a product of codes.
ValueId code_sums(Rewrite& r, const Node& product, ValueId x, ValueId w, const kernels::FusedByteProduct& p) {
  const DType x_type = r.type(x), w_type = r.type(w);
  const auto* conv = attrs_if<ConvAttrs>(product);
  const auto* linear = attrs_if<LinearAttrs>(product);
  const auto* matmul = attrs_if<MatmulAttrs>(product);
  std::vector<Tensor> zeros;
  for (const auto& [values, type] : {std::pair(std::vector<int32_t>{p.x.zero}, x_type), std::pair(p.w_zero, w_type)}) {
    Tensor t = std::move(*Tensor::make(type, values.size() == 1 ? Shape{} : Shape{std::ssize(values)}));
    for (size_t i = 0; i < values.size(); ++i) set_int(t, static_cast<int64_t>(i), values[i]);
    zeros.push_back(std::move(t));
  }
  if ((linear && linear->transpose_b) || (matmul && matmul->transpose_b))
    w = r.constant(transposed(*r.tensor(w)), r.name(w));
  const std::vector<ValueId> in = {x, w, r.constant(std::move(zeros[0])), r.constant(std::move(zeros[1]))};
  return conv ? r.row("conv_integer", in, *conv) : r.row("matmul_integer", in);
}

/// quantize_linear(relu(conv(dequantize_linear(q), dequantize_linear(w), bias)))
///     ->   clamp(quantize_linear((conv_integer(q, w) + bias) scale, 1))
/// as nnex itself computes it.
bool rewrite_quantized(ir::Graph& graph, NodeId quantize) {
  const auto found = fusion::find_bytes(graph, quantize, fusion::ConvLayout::channels_first);
  const auto* p = found ? std::get_if<kernels::FusedByteProduct>(&found->form.form) : nullptr;
  if (!p) return false;
  const auto input = [&](size_t i) { return found->region.inputs[static_cast<size_t>(p->product.in[i])]; };
  const auto product = std::find_if(found->region.nodes.begin(), found->region.nodes.end(),
                                    [&](NodeId id) { return graph[id].op == p->product.op; });
  if (!graph[input(1)].is_constant() || product == found->region.nodes.end()) return false;
  Rewrite r(graph, quantize);
  const int64_t axes = r.rank(graph[*product].out[0]), axis = attrs_if<ConvAttrs>(graph[*product]) ? 1 : axes - 1;
  ValueId sums = code_sums(r, graph[*product], input(0), input(1), *p);
  if (!p->bias.empty()) sums = r.row("add", {sums, numbers(r, p->bias, axis, axes)});
  const DType type = r.type(r.node().out[0]);
  const ValueId scaled = r.row("mul", {r.cast(sums, DType::f32), numbers(r, p->scale, axis, axes)});
  ValueId y = r.row("quantize_linear", {scaled, r.number(DType::f32, 1), r.number(type, p->y.zero)}, QuantizeAttrs{});
  if (p->low > p->y.low() || p->high < p->y.high())
    y = r.row("clamp", {y, r.number(type, p->low), r.number(type, p->high)});
  r.give(0, y);
  r.done();
  return true;
}

/// The same where the result stays a float: its bias is one, too.
bool rewrite_decoded(ir::Graph& graph, NodeId id) {
  const auto p = fusion::find_code_sums(graph, graph[id], fusion::ConvLayout::channels_first);
  if (!p) return false;
  const Node product = graph[id];
  const auto codes = [&](size_t i) { return graph.producer(product.in[i])->in[0]; };
  Rewrite r(graph, id);
  const int64_t axes = r.rank(product.out[0]);
  const bool conv = attrs_if<ConvAttrs>(product);
  const ValueId sums = code_sums(r, product, codes(0), codes(1), *p);
  ValueId y = r.row("mul", {r.cast(sums, DType::f32), numbers(r, p->scale, conv ? 1 : axes - 1, axes)});
  if (r.given(2)) y = r.row("add", {y, conv ? r.along(r.in(2), 1, axes) : r.in(2)});
  r.give(0, y);
  r.done();
  return true;
}

Status rewrite_codes(ir::Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order())
    if (!graph[id].erased && graph[id].op && graph[id].op->name == "quantize_linear")
      changed |= rewrite_quantized(graph, id);
  for (NodeId id : graph.order())
    if (!graph[id].erased && graph[id].op) changed |= rewrite_decoded(graph, id);
  if (!changed) return {};
  NNEX_TRY(passes::drop_unused(graph));
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

}  // namespace

bool is_legalized(std::string_view row) {
  const auto is = [&](const RewriteEntry& entry) { return entry.row == row; };
  return std::any_of(std::begin(kRewrites), std::end(kRewrites), is) ||
         std::any_of(std::begin(kWidened), std::end(kWidened), is);
}

bool reads_codes(const ir::Graph& graph, const Node& node) {
  const bool conv = node.op->name == "conv_integer";
  if (!conv && node.op->name != "matmul_integer") return false;
  const auto is_byte = [](DType t) { return t == DType::u8 || t == DType::i8; };
  const auto given = [&](size_t i) { return i < node.in.size() && node.in[i].valid(); };
  const Tensor *w = graph.constant_in(node, 1), *zeros = given(3) ? graph.constant_in(node, 3) : nullptr;
  const auto x = concrete(graph[node.in[0]].type);
  if (!w || !x || !is_byte(w->dtype()) || !is_byte(graph[node.in[0]].type.dtype) || (given(3) && !zeros)) return false;
  if (zeros && zeros->count() != 1 && zeros->count() != w->shape()[conv ? 0 : w->shape().rank() - 1]) return false;
  if (given(2)) {
    const Tensor* zero = graph.constant_in(node, 2);
    const auto shape = zero ? zero->shape() : concrete(graph[node.in[2]].type);
    if (!shape || shape->count() != 1) return false;
  }
  constexpr int64_t kMaxSum = INT32_MAX / (255 * 255);  // products that int32 holds the sum of
  if (w->count() == 0 || w->count() / w->shape()[conv ? 0 : w->shape().rank() - 1] > kMaxSum) return false;
  if (!conv) return w->shape().rank() == 2 && x->rank() >= 1;
  const auto& a = graph.attrs<ConvAttrs>(node);
  return w->shape().rank() <= 5 && !a.channels_last && a.border == ConvBorder::constant;
}

Status legalize(ir::Graph& graph) {
  NNEX_TRY(passes::quantize_pools(graph));
  NNEX_TRY(passes::move_codes(graph));
  NNEX_TRY(rewrite_codes(graph));
  NNEX_ASSIGN(const bool rewritten, rewrite_all(graph, kRewrites));
  NNEX_TRY(passes::fold_constants(graph));  // zero points are known where they are computed from constants
  NNEX_ASSIGN(const bool widened, rewrite_all(graph, kWidened));
  if (rewritten || widened) NNEX_TRY(passes::fold_constants(graph));
  NNEX_TRY(passes::drop_unused(graph));
  return {};
}

}  // namespace nnex::c_format
