// Control flow: operators that own blocks. The run interprets them; here are their rows and the types of their results.

#include "ops/control.h"

#include <algorithm>
#include <set>

#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

constexpr int kRounds = 8;  ///< Passes over a body until its carried types must hold.
constexpr int kDeep = 6;    ///< Nesting from which carried extents are not searched for: every round doubles the work.

Type scalar(DType type) { return Type::tensor(type, Dims{}); }

Status need_results(const InferCall& c, size_t given) {
  if (c.outputs() > given) return c.error("the node has {} results; its block gives {}", c.outputs(), given);
  return {};
}

/// What a body says of going on is one truth value.
Status need_condition(const InferCall& c, const Type& made) {
  const bool is_bool = made.is_tensor() && (made.dtype == DType::none || made.dtype == DType::boolean);
  const Dim n = made.dims ? product(*made.dims) : Dim(1);
  if (made.kind == Kind::unknown || (is_bool && (!n.is_number() || n.value() == 1))) return {};
  return c.error("result 0 of the body is {}; needed a condition, one bool", made.text());
}

// ---- if_else ----

void give(InferCall& c, const std::vector<Type>& types) {
  for (size_t o = 0; o < c.outputs(); ++o) c.result_type(o, types[o]);
}

/// A branch that cannot work at these extents is an error only where the condition may choose it: where the condition
/// is computed, the results are those of the branch that works.
Status infer_if_else(InferCall& c) {
  NNEX_TRY(need_number(c, 0));
  if (auto known = c.values(0); known && known->size() == 1 && (*known)[0].is_number()) {
    NNEX_ASSIGN(std::vector<Type> chosen, c.block((*known)[0].value() ? 0 : 1, {}));
    NNEX_TRY(need_results(c, chosen.size()));
    give(c, chosen);
    return {};
  }
  auto yes = c.block(0, {}), no = c.block(1, {});
  if (!yes.ok() && !no.ok()) return std::move(yes).error();
  std::vector<Type> types = yes.ok() ? *yes : *no;
  NNEX_TRY(need_results(c, types.size()));
  if (yes.ok() && no.ok()) {
    if (yes->size() != no->size())
      return c.error("then_branch gives {} results, else_branch {}", yes->size(), no->size());
    for (size_t o = 0; o < types.size(); ++o) {
      auto both = join((*yes)[o], (*no)[o], c.op().name);
      if (!both)
        return c.error("result {} is {} by then_branch, {} by else_branch", o, (*yes)[o].text(), (*no)[o].text());
      types[o] = std::move(*both);
    }
  }
  give(c, types);
  return {};
}

// ---- loop, scan: what is carried from step to step ----

/// Types of carried values: an extent that a step may change becomes unknown and stays that one unknown.
class Carried {
 public:
  Carried(InferCall& c, size_t first, size_t count) : c_(c) {
    for (size_t i = 0; i < count; ++i) types_.push_back(c.has(first + i) ? c.in(first + i) : Type{});
    if (c.nesting() >= kDeep)
      for (Type& t : types_) t.dims.reset();
  }

  const std::vector<Type>& types() const { return types_; }

  /// Takes in what a step makes of value i. Returns whether the type became wider.
  Result<bool> take(size_t i, const Type& made) {
    if (loose_.count(i)) return false;
    if (of_optional(types_[i], made) || of_optional(made, types_[i])) {
      types_[i] = Type{};
      loose_.insert(i);
      return true;
    }
    if (!join(types_[i], made, c_.op().name))
      return c_.error("carried value {} is {}; the body makes {} of it", i, types_[i].text(), made.text());
    return widen(types_[i], made);
  }

  /// Gives up: nothing is known of any extent.
  void forget() {
    for (Type& t : types_) t.dims.reset();
  }

 private:
  /// Whether one is an optional and the other what it may hold: then a step may turn one into the other.
  bool of_optional(const Type& optional, const Type& item) const {
    return optional.kind == Kind::optional && item.kind != Kind::optional && item.kind != Kind::unknown &&
           (!optional.element || join(*optional.element, item, c_.op().name));
  }

  bool widen(Type& t, const Type& made) {
    if (made.kind == Kind::unknown) return false;
    if (t.kind == Kind::unknown) return t = made, true;
    bool wider = false;
    if (t.dtype == DType::none && made.dtype != DType::none) t.dtype = made.dtype, wider = true;
    if (t.element && made.element) {
      Type element = *t.element;
      if (widen(element, *made.element)) t.element = std::make_shared<const Type>(std::move(element)), wider = true;
    }
    if (!t.dims) return wider;
    if (!made.dims || made.dims->size() != t.dims->size()) return t.dims.reset(), true;
    for (size_t a = 0; a < t.dims->size(); ++a) {
      Dim& d = (*t.dims)[a];
      if (d == (*made.dims)[a] || ours_.count(d.text())) continue;
      d = c_.unknown();
      ours_.insert(d.text());
      wider = true;
    }
    return wider;
  }

  InferCall& c_;
  std::vector<Type> types_;
  std::set<std::string> ours_;  ///< Extents a step may change.
  std::set<size_t> loose_;      ///< Values whose kind a step may change.
};

/// Infers the body until the carried types hold; its results. `offset`: results before the carried ones.
Result<std::vector<Type>> settle(InferCall& c, Carried& carried, const std::vector<Type>& before,
                                 const std::vector<Type>& after, size_t offset, std::span<const Tensor> contents) {
  const size_t count = carried.types().size();
  for (int round = 0;; ++round) {
    if (round == kRounds) carried.forget();
    std::vector<Type> params = before;
    params.insert(params.end(), carried.types().begin(), carried.types().end());
    params.insert(params.end(), after.begin(), after.end());
    NNEX_ASSIGN(std::vector<Type> made, c.block(0, params, contents));
    if (made.size() < offset + count)
      return c.error("the body gives {} results; needed {} for its carried values", made.size(), offset + count);
    bool wider = false;
    for (size_t i = 0; i < count; ++i) {
      NNEX_ASSIGN(bool w, carried.take(i, made[offset + i]));
      wider |= w;
    }
    if (!wider || round > kRounds) return made;
  }
}

/// A stack of such items along a new axis of extent n.
Result<Type> stacked(InferCall& c, const Type& item, const Dim& n, int64_t axis, size_t o) {
  if (item.kind == Kind::unknown) return Type{};
  if (!item.is_tensor()) return c.error("result {} is stacked; the body gives {}, needed a tensor", o, item.text());
  if (!item.dims) return Type::tensor(item.dtype);
  NNEX_ASSIGN(int64_t at, positive_axis(c, axis, static_cast<int64_t>(item.dims->size()) + 1, "output axis"));
  Dims dims = *item.dims;
  dims.insert(dims.begin() + at, n);
  return Type::tensor(item.dtype, std::move(dims));
}

/// Steps of the loop where they are known: a constant count that no condition cuts short.
Dim trips(InferCall& c, bool endless) {
  if (!c.has(0)) return c.unknown();
  auto count = c.values(0);
  if (!count || count->size() != 1 || !endless) return c.unknown();
  const Dim& n = (*count)[0];
  if (n.is_number()) return Dim(std::max<int64_t>(n.value(), 0));
  return compare(n, Dim(0)).value_or(-1) >= 0 ? n : c.unknown();
}

Status infer_loop(InferCall& c) {
  NNEX_TRY(need_number(c, 0));
  NNEX_TRY(need_number(c, 1));
  const size_t states = c.inputs() > 2 ? c.inputs() - 2 : 0;
  Carried carried(c, 2, states);
  // Whenever the body runs, the condition it is given holds.
  const Tensor contents[] = {Tensor(), Tensor::scalar<bool>(true)};
  NNEX_ASSIGN(std::vector<Type> made,
              settle(c, carried, {scalar(DType::i64), scalar(DType::boolean)}, {}, 1, contents));
  NNEX_TRY(need_results(c, made.size() - 1));
  NNEX_TRY(need_condition(c, made[0]));
  bool endless = true;
  if (c.has(1)) {
    auto first = c.values(1);
    endless = first && first->size() == 1 && (*first)[0] == Dim(1);
  }
  const Tensor* again = c.block_content(0, 0);
  endless = endless && again && again->dtype() == DType::boolean && again->count() == 1 && again->as<uint8_t>()[0];
  const Dim n = trips(c, endless);
  for (size_t o = 0; o < c.outputs(); ++o) {
    if (o < states) {
      c.result_type(o, carried.types()[o]);
      continue;
    }
    NNEX_ASSIGN(Type t, stacked(c, made[1 + o], n, 0, o));
    c.result_type(o, std::move(t));
  }
  return {};
}

// ---- scan ----

int64_t setting(const Ints& list, size_t i) { return i < list.size() ? list[i] : 0; }

Status check_scan(const InferCall& c, const ScanAttrs& a, size_t outputs) {
  auto fits = [](const Ints& list, size_t n) { return list.empty() || list.size() == n; };
  const auto inputs = static_cast<size_t>(a.inputs);
  if (!fits(a.input_axes, inputs)) return c.error("input_axes has {} numbers; needed {}", a.input_axes.size(), inputs);
  if (!fits(a.input_reverse, inputs))
    return c.error("input_reverse has {} numbers; needed {}", a.input_reverse.size(), inputs);
  if (!fits(a.output_axes, outputs))
    return c.error("output_axes has {} numbers; needed {}", a.output_axes.size(), outputs);
  if (!fits(a.output_reverse, outputs))
    return c.error("output_reverse has {} numbers; needed {}", a.output_reverse.size(), outputs);
  for (const Ints* list : {&a.input_reverse, &a.output_reverse})
    for (const int64_t n : *list)
      if (n != 0 && n != 1)
        return c.error("{} has {}; needed 0 or 1", list == &a.input_reverse ? "input_reverse" : "output_reverse", n);
  return {};
}

/// One step's share of each scanned input; their common extent goes to n.
Result<std::vector<Type>> slices(InferCall& c, const ScanAttrs& a, size_t first, std::optional<Dim>& n) {
  std::vector<Type> out;
  for (size_t i = 0; i < static_cast<size_t>(a.inputs); ++i) {
    const Type& t = c.in(first + i);
    if (t.kind == Kind::unknown || (t.is_tensor() && !t.dims)) {
      out.push_back(t.is_tensor() ? Type::tensor(t.dtype) : Type{});
      continue;
    }
    if (!t.is_tensor()) return c.error("scanned input {} is {}; needed a tensor", i, t.text());
    Dims dims = *t.dims;
    NNEX_ASSIGN(int64_t axis,
                positive_axis(c, setting(a.input_axes, i), static_cast<int64_t>(dims.size()), "input axis"));
    const Dim extent = dims[static_cast<size_t>(axis)];
    if (n) {
      NNEX_ASSIGN(n, meet(c, extent, *n, fmt::format("steps of scanned input {}", i)));
    } else {
      n = extent;
    }
    dims.erase(dims.begin() + axis);
    out.push_back(Type::tensor(t.dtype, std::move(dims)));
  }
  return out;
}

Status infer_scan(InferCall& c) {
  const auto& a = c.attr<ScanAttrs>();
  if (a.inputs < 1 || static_cast<size_t>(a.inputs) > c.inputs())
    return c.error("{} scanned inputs; the node has {} inputs, at least 1 is scanned", a.inputs, c.inputs());
  const size_t states = c.inputs() - static_cast<size_t>(a.inputs);
  std::optional<Dim> n;
  NNEX_ASSIGN(std::vector<Type> parts, slices(c, a, states, n));
  Carried carried(c, 0, states);
  NNEX_ASSIGN(std::vector<Type> made, settle(c, carried, {}, parts, 0, {}));
  NNEX_TRY(need_results(c, made.size()));
  NNEX_TRY(check_scan(c, a, made.size() - states));
  for (size_t o = 0; o < c.outputs(); ++o) {
    if (o < states) {
      c.result_type(o, carried.types()[o]);
      continue;
    }
    NNEX_ASSIGN(Type t, stacked(c, made[o], n ? *n : c.unknown(), setting(a.output_axes, o - states), o));
    c.result_type(o, std::move(t));
  }
  return {};
}

// ---- sequence_map ----

Status infer_sequence_map(InferCall& c) {
  std::vector<Type> params;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const Type& t = c.has(i) ? c.in(i) : Type{};
    if (i == 0 && t.kind != Kind::sequence && t.kind != Kind::unknown)
      return c.error("sequence is {}; needed a sequence", t.text());
    params.push_back(t.kind == Kind::sequence ? (t.element ? *t.element : Type{}) : t);
  }
  NNEX_ASSIGN(std::vector<Type> made, c.block(0, params));
  NNEX_TRY(need_results(c, made.size()));
  for (size_t o = 0; o < c.outputs(); ++o) c.result_type(o, Type::sequence(made[o]));
  return {};
}

constexpr std::string_view kIfElse = "if_else", kLoop = "loop";

constexpr OpRow kControlOps[] = {
    {.name = kIfElse,
     .summary = "The results of one of two blocks.",
     .source = "ONNX If-25",
     .inputs = {{"condition", kL}},
     .outputs = {{"y", any_value(), Arity::variadic}},
     .blocks = {"then_branch", "else_branch"},
     .infer = infer_if_else,
     .spelled = {{onnx, "If"}}},
    {.name = kLoop,
     .summary =
         "A block again and again: values carried from step to step, and results stacked along a new first axis.",
     .source = "ONNX Loop-25",
     .inputs = {{.name = "count", .type = kI64, .arity = Arity::optional, .by_value = true, .doc = "Absent: no limit."},
                {.name = "condition", .type = kB, .arity = Arity::optional, .doc = "Absent: true."},
                {"state", any_value(), Arity::variadic}},
     .outputs = {{"y", any_value(), Arity::variadic}},
     .blocks = {"body"},
     .infer = infer_loop,
     .spelled = {{onnx, "Loop"}}},
    {.name = "scan",
     .summary = "A block for each slice of tensors along an axis: carried values, and results stacked along an axis.",
     .source = "ONNX Scan-25 (8: batch first)",
     .inputs = {{"state_and_input", any_value(), Arity::variadic}},
     .outputs = {{"y", any_value(), Arity::variadic}},
     .blocks = {"body"},
     .attrs = attrs_of<ScanAttrs>(
         {field<&ScanAttrs::inputs>("inputs", "How many inputs are scanned: the last ones.", required),
          field<&ScanAttrs::input_axes>("input_axes", "Axis of each scanned input; empty: 0."),
          field<&ScanAttrs::output_axes>("output_axes", "New axis of each stacked result; empty: 0."),
          field<&ScanAttrs::input_reverse>("input_reverse", "1: the input is scanned from its end; empty: 0."),
          field<&ScanAttrs::output_reverse>("output_reverse", "1: slices are put in front; empty: 0.")}),
     .infer = infer_scan,
     .spelled = {{onnx,
                  "Scan",
                  {{"inputs", "num_scan_inputs"},
                   {"input_axes", "scan_input_axes"},
                   {"output_axes", "scan_output_axes"},
                   {"input_reverse", "scan_input_directions"},
                   {"output_reverse", "scan_output_directions"}},
                  9}}},
    {.name = "sequence_map",
     .summary = "A block for each item of a sequence; sequences of its results.",
     .source = "ONNX SequenceMap-17",
     .inputs = {{"sequence", any_value()}, {"more", any_value(), Arity::variadic}},
     .outputs = {{"y", any_value(), Arity::variadic}},
     .blocks = {"body"},
     .infer = infer_sequence_map,
     .spelled = {{onnx, "SequenceMap"}}},
};
}  // namespace

size_t block_params(const OpDef& op, size_t inputs) {
  if (op.name == kIfElse) return 0;  // a branch reads what stands around it
  return op.name == kLoop ? std::max<size_t>(inputs, 2) : inputs;
}

std::span<const OpDef> control_ops() { return stored<kControlOps>(); }

}  // namespace nnex
