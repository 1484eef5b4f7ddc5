#include "standards/c/legalize.h"

#include "base/faults.h"
#include "graph/infer.h"
#include "ops/arithmetic.h"
#include "ops/cast.h"
#include "ops/int_limits.h"
#include "ops/matmul.h"
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
ValueId to_codes(Rewrite& r, ValueId sums, ValueId factor, ValueId zero, DType type) {
  const IntLimits range = int_limits(type);
  const ValueId scaled = r.row("mul", {r.cast(sums, DType::f32), factor});
  const ValueId whole = r.row("round", {scaled}, RoundAttrs{Rounding::half_even});
  const ValueId moved = r.row("add", {whole, r.cast(zero, DType::f32)});
  const ValueId kept = r.row("clamp", {moved, r.number(DType::f32, static_cast<double>(range.low)),
                                       r.number(DType::f32, static_cast<double>(range.high))});
  return r.cast(kept, type);
}

void rewrite_conv_integer(Rewrite& r) {
  r.give(0, r.row("conv", {centred(r, 0, 2, 0), centred(r, 1, 3, 0)}, r.attr<ConvAttrs>()));
}

void rewrite_matmul_integer(Rewrite& r) {
  r.give(0, r.row("matmul", {centred(r, 0, 2, -1), centred(r, 1, 3, -1)}, MatmulAttrs{}));
}

// Ports: x, its scale and zero; filter, its scale and zero; the result's scale and zero; the bias.
void rewrite_qlinear_conv(Rewrite& r) {
  std::vector<ValueId> in = {centred(r, 0, 2, 0), centred(r, 3, 5, 0)};
  if (r.given(8)) in.push_back(r.in(8));
  const int64_t axes = r.rank(r.in(0));
  const ValueId sums = r.row("conv", in, r.attr<ConvAttrs>());
  const ValueId scales = r.row("mul", {r.along(r.in(1), 1, axes), r.along(r.in(4), 1, axes)});
  const ValueId factor = r.row("div", {scales, r.along(r.in(6), 1, axes)});
  r.give(0, to_codes(r, sums, factor, r.along(r.in(7), 1, axes), r.type(r.node().out[0])));
}

void rewrite_qlinear_matmul(Rewrite& r) {
  const ValueId sums = r.row("matmul", {centred(r, 0, 2, -1), centred(r, 3, 5, -1)}, MatmulAttrs{});
  const ValueId scales = r.row("mul", {r.cast(r.in(1), DType::f32), r.cast(r.in(4), DType::f32)});
  const ValueId factor = r.row("div", {scales, r.cast(r.in(6), DType::f32)});
  r.give(0, to_codes(r, sums, factor, r.in(7), r.type(r.node().out[0])));
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

constexpr struct {
  std::string_view row;
  void (*rewrite)(Rewrite&);
} kRewrites[] = {
    {"conv_integer", rewrite_conv_integer},
    {"matmul_integer", rewrite_matmul_integer},
    {"qlinear_conv", rewrite_qlinear_conv},
    {"qlinear_matmul", rewrite_qlinear_matmul},
    {"dynamic_quantize_linear", rewrite_dynamic_quantize},
};

}  // namespace

bool is_legalized(std::string_view row) {
  for (const auto& entry : kRewrites)
    if (entry.row == row) return true;
  return false;
}

Status legalize(ir::Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.order()) {
    for (const auto& [row, rewrite] : kRewrites) {
      if (!graph[id].op || graph[id].op->name != row) continue;
      Rewrite r(graph, id);
      rewrite(r);
      r.done();
      changed = true;
      break;
    }
  }
  if (!changed) return {};
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  NNEX_TRY(passes::fold_constants(graph));
  NNEX_TRY(passes::drop_unused(graph));
  return {};
}

}  // namespace nnex::c_format
