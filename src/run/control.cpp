// Control flow and fused regions: operators whose blocks the run interprets.

#include "ops/control.h"
#include "base/copy_bytes.h"
#include "base/failure.h"
#include "run/frame.h"
#include "tensor/convert.h"
#include "tensor/stack.h"

namespace nnex::run {
namespace {

constexpr int64_t kLoopLimit = int64_t{1} << 40;

Result<bool> truth(const Value& v, const OpDef& op, std::string_view what) {
  const Tensor* t = v.tensor();
  if (!t || t->count() != 1)
    return failure(Code::fault, "{}: {} is {}; needed a tensor of one element", op.name, what, v.text());
  return real_at(*t, 0) != 0;
}

}  // namespace

Status Frame::run_blocks(const plan::Step& step, const Bound::Wires& wires) {
  const Node& node = graph_[step.node];
  const auto is = [&](std::string_view op) { return is_known(op) && node.op->name == op; };
  if (is("if_else")) return run_if(node);
  if (is("loop")) return run_loop(node);
  if (is("scan")) return run_scan(node);
  if (is("sequence_map")) return run_sequence_map(node);
  return run_region(step, wires);
}

Status Frame::run_region(const plan::Step& step, const Bound::Wires& wires) {
  std::vector<Value> params;
  for (const Value* v : wires.in) params.push_back(*v);
  NNEX_ASSIGN(std::vector<Value> out, call_block(graph_[step.node].blocks[0], std::move(params)));
  for (size_t o = 0; o < out.size() && o < wires.out.size(); ++o) {
    if (!wires.out[o]) continue;
    if (step.slices < 0) {
      *wires.out[o] = std::move(out[o]);
    } else {  // its place was planned
      const Tensor& made = *out[o].tensor();
      copy_bytes(wires.out[o]->tensor()->mutable_data(), made.data(), made.bytes());
    }
  }
  return {};
}

Status Frame::run_if(const Node& node) {
  NNEX_ASSIGN(bool yes, truth(slots_[node.in[0].n], *node.op, "condition"));
  NNEX_ASSIGN(std::vector<Value> out, call_block(node.blocks[yes ? 0 : 1], {}));
  if (out.size() < node.out.size())
    return failure(Code::fault, "if_else: the branch gives {} results; needed {}", out.size(), node.out.size());
  for (size_t o = 0; o < node.out.size(); ++o)
    if (node.out[o].valid()) slots_[node.out[o].n] = std::move(out[o]);
  return {};
}

Type Frame::in_this_run(const Type& type) const {
  Type out = type;
  if (!out.dims) return out;
  std::vector<std::pair<std::string, int64_t>> known;
  for (size_t i = 0; i < given_.size(); ++i) {
    const MaybeDims& dims = graph_[graph_.inputs()[i]].type.dims;
    const Tensor* t = given_[i].tensor();
    for (size_t axis = 0; t && dims && axis < dims->size(); ++axis)
      if (!(*dims)[axis].number()) known.emplace_back((*dims)[axis].text(), t->shape()[static_cast<int64_t>(axis)]);
  }
  for (Dim& d : *out.dims) d = d.with(known);
  return out;
}

/// Inputs: count?, condition?, state...; body: (iteration, condition, state...) -> (condition, state..., scanned...).
Status Frame::run_loop(const Node& node) {
  const Block& body = graph_[node.blocks[0]];
  const auto given = [&](size_t i) { return i < node.in.size() && node.in[i].valid(); };
  const size_t states = std::max<size_t>(node.in.size(), 2) - 2;
  int64_t count = kLoopLimit;
  if (given(0)) {
    const Tensor* t = slots_[node.in[0].n].tensor();
    if (!t || t->count() != 1) return Error(Code::fault, "loop: count must be a tensor of one element");
    count = int_at(*t, 0);
  }
  bool go_on = true;
  if (given(1)) {
    NNEX_ASSIGN(go_on, truth(slots_[node.in[1].n], *node.op, "condition"));
  }
  std::vector<Value> state;
  for (size_t i = 0; i < states; ++i) {
    NNEX_ASSIGN(Value v, owned(slots_[node.in[i + 2].n]));
    state.push_back(std::move(v));
  }
  std::vector<Stacker> scanned(body.results.size() - 1 - states);
  int64_t turns = 0;
  for (; go_on && turns < count; ++turns) {
    NNEX_TRY(interrupted());
    std::vector<Value> params = {Value(Tensor::scalar<int64_t>(turns)), Value(Tensor::scalar<bool>(go_on))};
    params.insert(params.end(), state.begin(), state.end());
    NNEX_ASSIGN(std::vector<Value> out, call_block(node.blocks[0], std::move(params)));
    NNEX_ASSIGN(go_on, truth(out[0], *node.op, "the body's condition"));
    for (size_t i = 0; i < states; ++i) state[i] = std::move(out[i + 1]);
    for (size_t i = 0; i < scanned.size(); ++i) {
      const Tensor* t = out[1 + states + i].tensor();
      if (!t) return Error(Code::fault, "loop: a scan output must be a tensor");
      NNEX_TRY(scanned[i].add(*t));
    }
  }
  for (size_t o = 0; o < node.out.size(); ++o) {
    if (!node.out[o].valid()) continue;
    Value& slot = slots_[node.out[o].n];
    if (o < states) {
      slot = std::move(state[o]);
      continue;
    }
    const Type item = turns == 0 ? in_this_run(graph_[body.results[1 + o]].type) : Type();
    NNEX_ASSIGN(Tensor joined, scanned[o - states].take(0, item));
    slot = Value(std::move(joined));
  }
  return {};
}

/// Inputs: states, then scanned inputs; body: (states..., one slice of each) -> (states..., one slice of each output).
Status Frame::run_scan(const Node& node) {
  const auto& a = graph_.attrs<ScanAttrs>(node);
  const Block& body = graph_[node.blocks[0]];
  const size_t inputs = static_cast<size_t>(a.inputs), states = node.in.size() - inputs;
  auto setting = [](const Ints& list, size_t i) { return i < list.size() ? list[i] : 0; };
  std::vector<Value> state;
  for (size_t i = 0; i < states; ++i) {
    NNEX_ASSIGN(Value v, owned(slots_[node.in[i].n]));
    state.push_back(std::move(v));
  }
  int64_t steps = -1;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < inputs; ++i) {
    const Tensor* t = slots_[node.in[states + i].n].tensor();
    if (!t || t->shape().rank() == 0)
      return Error(Code::fault, "scan: a scanned input must be a tensor of at least one axis");
    int64_t axis = setting(a.input_axes, i);
    axes.push_back(axis < 0 ? axis + t->shape().rank() : axis);
    const int64_t extent = t->shape()[axes.back()];
    if (steps >= 0 && extent != steps)
      return failure(Code::fault, "scan: scanned inputs have {} and {} steps; needed one number", steps, extent);
    steps = extent;
  }
  std::vector<Stacker> scanned(body.results.size() - states, Stacker(steps));
  for (int64_t step = 0; step < steps; ++step) {
    NNEX_TRY(interrupted());
    std::vector<Value> params = state;
    for (size_t i = 0; i < inputs; ++i) {
      const Tensor& t = *slots_[node.in[states + i].n].tensor();
      NNEX_ASSIGN(Tensor slice, slice_at(t, axes[i], setting(a.input_reverse, i) ? steps - 1 - step : step));
      params.push_back(Value(std::move(slice)));
    }
    NNEX_ASSIGN(std::vector<Value> out, call_block(node.blocks[0], std::move(params)));
    for (size_t i = 0; i < states; ++i) state[i] = std::move(out[i]);
    for (size_t i = 0; i < scanned.size(); ++i) {
      const Tensor* t = out[states + i].tensor();
      if (!t) return Error(Code::fault, "scan: a scan output must be a tensor");
      NNEX_TRY(scanned[i].add(*t));
    }
  }
  for (size_t o = 0; o < node.out.size(); ++o) {
    if (!node.out[o].valid()) continue;
    if (o < states) {
      slots_[node.out[o].n] = std::move(state[o]);
      continue;
    }
    const bool reversed = setting(a.output_reverse, o - states) != 0;
    const Type item = steps == 0 ? in_this_run(graph_[body.results[o]].type) : Type();
    NNEX_ASSIGN(Tensor joined, scanned[o - states].take(setting(a.output_axes, o - states), item, reversed));
    slots_[node.out[o].n] = Value(std::move(joined));
  }
  return {};
}

/// Inputs: a sequence, then sequences of the same length or tensors shared by all items.
Status Frame::run_sequence_map(const Node& node) {
  const Sequence* first = slots_[node.in[0].n].sequence();
  if (!first) return Error(Code::fault, "sequence_map: the first input must be a sequence");
  const size_t items = first->items.size();
  std::vector<Sequence> out(node.out.size());
  for (size_t item = 0; item < items; ++item) {
    NNEX_TRY(interrupted());
    std::vector<Value> params;
    for (ValueId v : node.in) {
      const Value& value = slots_[v.n];
      const Sequence* s = value.sequence();
      if (s && s->items.size() != items)
        return failure(Code::fault, "sequence_map: sequences have {} and {} items; needed one number", items,
                       s->items.size());
      params.push_back(s ? s->items[item] : value);
    }
    NNEX_ASSIGN(std::vector<Value> made, call_block(node.blocks[0], std::move(params)));
    for (size_t o = 0; o < out.size(); ++o) out[o].items.push_back(std::move(made[o]));
  }
  for (size_t o = 0; o < node.out.size(); ++o) {
    if (!node.out[o].valid()) continue;
    out[o].element = graph_[graph_[node.blocks[0]].results[o]].type.dtype;
    slots_[node.out[o].n] = Value(std::move(out[o]));
  }
  return {};
}

}  // namespace nnex::run
