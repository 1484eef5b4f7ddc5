// Another batch for a network that was exported with one, proven by runs.

#include <fmt/format.h>

#include <algorithm>

#include "api/graph_impl.h"
#include "api/layer_walk.h"
#include "api/random_runs.h"
#include "base/faults.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/symbols.h"
#include "nnex/edit.h"
#include "nnex/elements.h"
#include "run/inputs.h"

namespace nnex {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

Status infer_or_fault(ir::Graph& g) {
  Faults faults;
  infer_types(g, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// What a constant extent list becomes where the elements that it lays out become others; nothing: it may stay.
/// `was`, `now`: an extent of an input that changes.
struct ExtentChange {
  int64_t was = 0, now = 0;
};
std::optional<std::vector<int64_t>> followed(const std::vector<int64_t>& shape, int64_t count,
                                             const std::vector<ExtentChange>& changes) {
  const auto product = [](const std::vector<int64_t>& s) {
    int64_t n = 1;
    for (int64_t e : s) n *= e;
    return n;
  };
  const bool open = std::find(shape.begin(), shape.end(), -1) != shape.end();
  for (const ExtentChange& c : changes) {
    for (size_t i = 0; i < shape.size(); ++i) {  // an axis of that extent, the first one that fits
      if (shape[i] != c.was) continue;
      std::vector<int64_t> out = shape;
      out[i] = c.now;
      if (open ? i == 0 : product(out) == count) return out;
    }
  }
  if (open) return std::nullopt;
  for (const ExtentChange& c : changes) {  // an axis in which it is a factor
    for (size_t i = 0; i < shape.size(); ++i) {
      if (c.was <= 0 || shape[i] % c.was != 0) continue;
      std::vector<int64_t> out = shape;
      out[i] = shape[i] / c.was * c.now;
      if (product(out) == count) return out;
    }
  }
  return std::nullopt;
}

/// Gives the inputs the shapes `now`, where they had `was` when constants were made, and lets reshapes follow.
Result<std::vector<BakedShape>> follow_shapes(ir::Graph& g, const Shapes& was, const Shapes& now) {
  ir::Graph before = g;
  NNEX_TRY(set_input_shapes(before, was));
  NNEX_TRY(infer_or_fault(before));
  std::vector<ExtentChange> changes;
  for (const auto& [name, extents] : now)
    for (size_t i = 0; i < extents.size(); ++i)
      if (const int64_t old = was.at(name)[i]; old != extents[i]) changes.push_back({old, extents[i]});
  NNEX_TRY(set_input_shapes(g, now));
  std::vector<BakedShape> out;
  for (NodeId id : g.order()) {
    if (g[id].op->name != "reshape" || g[id].in.size() < 2) continue;
    const Tensor* shape = g.constant_in(g[id], 1);
    const auto old_in = concrete(before[before[id].in[0]].type);
    if (!shape || !old_in) continue;
    Faults later;  // nodes that have yet to follow
    infer_types(g, later);
    const auto new_in = concrete(g[g[id].in[0]].type);
    if (!new_in || new_in->count() == old_in->count()) continue;
    const std::vector<int64_t> from = ints_of(*shape);
    const auto to = followed(from, new_in->count(), changes);
    if (!to || *to == from) continue;
    g.set_input(id, 1, g.add_constant(Tensor::of(shape->shape(), *to)));
    out.push_back({g.place_of(id), from, *to});
  }
  NNEX_TRY(infer_or_fault(g));
  return out;
}

/// The shapes of all inputs; extents that are no numbers are `unknown`. Error: invalid_argument (an input without
/// axes).
Result<Shapes> input_shapes(const ir::Graph& g, int64_t unknown) {
  Shapes out;
  for (size_t i = 0; i + g.states.size() < g.inputs().size(); ++i) {
    const PortInfo port = port_info(g, g.inputs()[i]);
    if (!port.known_rank)
      return Error(Code::invalid_argument,
                   fmt::format("input '{}' is {}: needed a tensor of known rank", port.name, port.type));
    std::vector<int64_t> extents = port.extents;
    for (int64_t& e : extents)
      if (e < 0) e = unknown;
    out[port.name] = extents;
  }
  return out;
}

/// Elements [at, at + extent) of the first axis.
Result<Tensor> rows_of(const Tensor& t, int64_t at, int64_t extent) {
  std::vector<int64_t> extents(t.shape().begin(), t.shape().end());
  const int64_t bytes = extents[0] > 0 ? t.bytes() / extents[0] : 0;
  extents[0] = extent;
  return Tensor::borrow(t.dtype(), Shape(extents), t.data() + at * bytes, t.owner()).clone();
}

bool follows(const Shape& one, const Shape& many, int64_t batch) {
  if (one.rank() == 0 || one.rank() != many.rank() || many[0] != one[0] * batch) return false;
  return std::equal(one.begin() + 1, one.end(), many.begin() + 1);
}

/// The proof that a network of a batch computes what as many runs of one compute.
class BatchProof {
 public:
  BatchProof(const ir::Graph& one, const ir::Graph& many, int64_t batch, const RunOptions& run)
      : one_(one), many_(many), batch_(batch), run_(run) {}

  Status run(BatchReport& report) {
    NNEX_ASSIGN(RandomRun ran, random_run(many_, run_));
    inputs_ = std::move(ran.inputs);
    const std::vector<Value> together = std::move(ran.outputs);
    report.batch = batch_;
    for (int64_t e = 0; e < batch_; ++e) {
      NNEX_ASSIGN(const auto alone_inputs, inputs_of(e));
      NNEX_ASSIGN(const auto alone, plain_run(one_, alone_inputs, run_));
      ++report.runs;
      for (size_t o = 0; o < alone.size(); ++o) NNEX_TRY(check(o, alone[o], together[o], e, report));
    }
    return {};
  }

 private:
  Result<std::vector<Value>> inputs_of(int64_t e) const {
    std::vector<Value> out;
    for (const Value& v : inputs_) {
      NNEX_ASSIGN(Tensor part, rows_of(*v.tensor(), e, 1));
      out.emplace_back(std::move(part));
    }
    return out;
  }

  Status check(size_t o, const Value& alone, const Value& together, int64_t e, BatchReport& report) {
    const std::string& name = many_[many_.outputs()[o]].name;
    const Tensor *x = alone.tensor(), *y = together.tensor();
    if (!x || !y || is_object(x->dtype()) || !follows(x->shape(), y->shape(), batch_))
      return Error(Code::unsupported,
                   fmt::format("output '{}' is {} of a batch of 1 and {} of {}: it does not follow{}", name,
                               alone.text(), together.text(), batch_, first_that_parts(e)));
    NNEX_ASSIGN(Tensor part, rows_of(*y, e * x->shape()[0], x->shape()[0]));
    const Difference d = difference(alone, Value(std::move(part)));
    report.max_absolute = std::max(report.max_absolute, d.max_absolute);
    if (d.same()) return {};
    return Error(Code::unsupported, fmt::format("element {} of a batch of {} is not what a run of it alone gives: "
                                                "output '{}' differs by {:.3g}{}",
                                                e, batch_, name, d.max_absolute, first_that_parts(e)));
  }

  /// The first node whose tensor for the element is not that of its run alone, as the end of a sentence.
  std::string first_that_parts(int64_t e) const {
    auto place = [&]() -> Result<std::string> {
      NNEX_ASSIGN(const auto alone_inputs, inputs_of(e));
      NNEX_ASSIGN(const LayerNetwork one, LayerNetwork::of(ir::Graph(one_), alone_inputs));
      NNEX_ASSIGN(const LayerNetwork many, LayerNetwork::of(ir::Graph(many_), inputs_));
      constexpr int64_t kHeld = int64_t{24} << 20;
      LayerWalk alone(one, order_by(one, {}), {}, {}, kHeld), together(many, order_by(many, {}), {}, {}, kHeld);
      std::map<size_t, Value> waiting;
      while (!together.done()) {
        NNEX_ASSIGN(auto seen, together.next(run_));
        for (auto& s : seen) {
          while (!waiting.count(s.layer) && !alone.done()) {
            NNEX_ASSIGN(auto more, alone.next(run_));
            for (auto& m : more) waiting[m.layer] = std::move(m.content);
          }
          if (parts(waiting[s.layer], s.content, e))
            return fmt::format("{} ({})", many.layers[s.layer].label, many.op(s.layer));
          waiting.erase(s.layer);
        }
      }
      return std::string();
    }();
    return place.ok() && !place->empty() ? fmt::format("; the first tensor that does not: {}", *place) : "";
  }
  /// Tensors that no batch reaches are the same whole.
  bool parts(const Value& alone, const Value& together, int64_t e) const {
    const Tensor *x = alone.tensor(), *y = together.tensor();
    if (!x || !y || is_object(x->dtype()) || is_int(x->dtype())) return false;
    if (follows(x->shape(), y->shape(), batch_)) {
      auto part = rows_of(*y, e * x->shape()[0], x->shape()[0]);
      return part.ok() && !difference(alone, Value(std::move(*part))).same();
    }
    return !difference(alone, together).same();
  }

  const ir::Graph &one_, &many_;
  int64_t batch_;
  const RunOptions& run_;
  std::vector<Value> inputs_;
};

Shapes with_batch(Shapes shapes, int64_t batch) {
  for (auto& [name, extents] : shapes) extents[0] = batch;
  return shapes;
}

Result<BatchReport> batched(ir::Graph& g, int64_t batch, const RunOptions& run) {
  if (batch < 1) return Error(Code::invalid_argument, fmt::format("found a batch of {}; needed at least 1", batch));
  NNEX_ASSIGN(const Shapes was, input_shapes(g, 1));
  if (was.empty()) return Error(Code::invalid_argument, "the network has no inputs");
  const int64_t had = was.begin()->second.empty() ? 0 : was.begin()->second[0];
  for (const auto& [name, extents] : was) {
    if (extents.empty()) return Error(Code::invalid_argument, fmt::format("input '{}' has no axes, so no batch", name));
    if (extents[0] != had)
      return Error(Code::invalid_argument, fmt::format("input '{}' has a batch of {}, '{}' one of {}: needed the same",
                                                       was.begin()->first, had, name, extents[0]));
  }
  BatchReport report;
  ir::Graph one = g;
  NNEX_TRY(follow_shapes(one, was, with_batch(was, 1)));
  NNEX_ASSIGN(report.rewritten, follow_shapes(g, was, with_batch(was, batch)));
  NNEX_TRY(BatchProof(one, g, batch, run).run(report));
  return report;
}

}  // namespace

Result<BatchReport> set_batch(Graph& graph, int64_t batch, const RunOptions& run) {
  return guarded([&]() -> Result<BatchReport> {
    ir::Graph work = graph.impl().graph;
    NNEX_ASSIGN(BatchReport report, batched(work, batch, run));
    graph.impl().graph = std::move(work);
    return report;
  });
}

Result<std::vector<BakedShape>> set_shapes(Graph& graph, const Shapes& shapes) {
  return guarded([&]() -> Result<std::vector<BakedShape>> {
    ir::Graph work = graph.impl().graph;
    ir::Graph checked = work;  // names and ranks
    NNEX_TRY(set_input_shapes(checked, shapes));
    NNEX_ASSIGN(const Shapes was, input_shapes(work, 1));
    Shapes now = was;
    for (const auto& [name, extents] : shapes) now[name] = extents;
    NNEX_ASSIGN(auto rewritten, follow_shapes(work, was, now));
    graph.impl().graph = std::move(work);
    return rewritten;
  });
}

}  // namespace nnex
