// Another batch for a network that was exported with one, proven by runs.

#include <fmt/format.h>

#include <algorithm>

#include "api/graph_impl.h"
#include "api/layer_walk.h"
#include "api/random_runs.h"
#include "api/rows.h"
#include "api/set_shapes.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/symbols.h"
#include "nnex/edit.h"
#include "nnex/elements.h"

namespace nnex {
namespace {

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
      if (v.tensor()->shape().rank() == 0) {  // it has no batch
        out.push_back(v);
        continue;
      }
      NNEX_ASSIGN(Tensor part, rows_of(*v.tensor(), e, 1));
      out.emplace_back(std::move(part));
    }
    return out;
  }

  Status check(size_t o, const Value& alone, const Value& together, int64_t e, BatchReport& report) {
    const std::string& name = many_[many_.outputs()[o]].name;
    const Tensor *x = alone.tensor(), *y = together.tensor();
    if (!x || !y || is_object(x->dtype()) || !follows(x->shape(), y->shape(), batch_))
      return failure(Code::unsupported, "output '{}' is {} of a batch of 1 and {} of {}: it does not follow{}", name,
                     alone.text(), together.text(), batch_, first_that_parts(e));
    NNEX_ASSIGN(Tensor part, rows_of(*y, e * x->shape()[0], x->shape()[0]));
    const Difference d = difference(alone, Value(std::move(part)));
    report.max_absolute = std::max(report.max_absolute, d.max_absolute);
    if (d.same()) return {};
    return failure(Code::unsupported,
                   "element {} of a batch of {} is not what a run of it alone gives: "
                   "output '{}' differs by {:.3g}{}",
                   e, batch_, name, d.max_absolute, first_that_parts(e));
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
  for (auto& [name, extents] : shapes)
    if (!extents.empty()) extents[0] = batch;
  return shapes;
}

/// The inputs' shapes, which have one batch (where it is open, 1); those without axes have none. Error:
/// invalid_argument.
Result<Shapes> shapes_of_batch(const ir::Graph& g) {
  NNEX_ASSIGN(Shapes shapes, input_shapes(g));
  if (shapes.empty()) return Error(Code::invalid_argument, "the network has no inputs");
  const std::pair<const std::string, std::vector<int64_t>>* first = nullptr;
  for (auto& input : shapes) {
    if (input.second.empty()) continue;
    if (!is_given(input.second[0])) input.second[0] = 1;
    if (!first) first = &input;
    if (input.second[0] != first->second[0])
      return failure(Code::invalid_argument,
                     "input '{}' has a batch of {}, '{}' one of {}: needed one first extent in all", first->first,
                     first->second[0], input.first, input.second[0]);
  }
  if (!first) return Error(Code::invalid_argument, "no input has an axis, so the network has no batch");
  return shapes;
}

/// The first extent of every input with axes.
template <class Extent>
std::map<std::string, std::vector<Extent>> first_extents(const ir::Graph& g, const Extent& extent) {
  std::map<std::string, std::vector<Extent>> wanted;
  for (size_t i = 0; i + g.states.size() < g.inputs().size(); ++i) {
    const ValueDef& input = g[g.inputs()[i]];
    if (input.type.dims && !input.type.dims->empty()) wanted[input.name] = {extent};
  }
  return wanted;
}
SymbolicShapes open_batch_shapes(const ir::Graph& g, const std::string& symbol) {
  return first_extents(g, NewExtent{0, symbol});
}

/// Runs on random numbers would miss elements that meet only where numbers are large, say. What nothing tells of they
/// alone can prove.
Status check_apart(const ir::Graph& open, const std::string& symbol) {
  const RowsMeeting met = where_rows_meet(open, symbol);
  return met.why.empty() || !met.known
             ? Status()
             : failure(Code::unsupported, "the elements of a batch are not independent: {}", met.why);
}

/// The same of a network whose batch is a number, where it can be opened at all.
Status check_apart(const ir::Graph& g) {
  std::string symbol = "batch";
  const std::vector<std::string> taken = g.symbols();
  while (std::find(taken.begin(), taken.end(), symbol) != taken.end()) symbol += '_';
  ir::Graph open = g;
  return follow_symbols(open, open_batch_shapes(open, symbol)).ok() ? check_apart(open, symbol) : Status();
}

Result<BatchReport> batched(ir::Graph& g, int64_t batch, const RunOptions& run) {
  if (batch < 1) return failure(Code::invalid_argument, "found a batch of {}; needed at least 1", batch);
  NNEX_TRY(shapes_of_batch(g));
  NNEX_TRY(check_apart(g));
  BatchReport report;
  forget_extents(g);
  ir::Graph one = g;
  NNEX_TRY(give_symbols(one, first_extents(g, Dim(1))));
  NNEX_TRY(give_symbols(g, first_extents(g, Dim(batch))));
  NNEX_ASSIGN(const Shapes was, shapes_of_batch(one));
  NNEX_ASSIGN(const Shapes now, input_shapes(g));
  NNEX_TRY(follow_shapes(one, was, with_batch(was, 1)));
  NNEX_ASSIGN(report.rewritten, follow_shapes(g, was, with_batch(now, batch)));
  NNEX_TRY(BatchProof(one, g, batch, run).run(report));
  return report;
}

Result<BatchReport> batch_opened(ir::Graph& g, const std::string& symbol, const RunOptions& run) {
  constexpr int64_t kProven = 3;
  NNEX_TRY(check_symbol_name(symbol));
  NNEX_TRY(shapes_of_batch(g));
  BatchReport report;
  NNEX_ASSIGN(report.rewritten, follow_symbols(g, open_batch_shapes(g, symbol)));
  NNEX_TRY(check_apart(g, symbol));
  ir::Graph one = g, many = g;
  NNEX_TRY(fix_symbols(one, {{symbol, 1}}));
  NNEX_TRY(fix_symbols(many, {{symbol, kProven}}));
  NNEX_TRY(BatchProof(one, many, kProven, run).run(report));
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

Result<BatchReport> open_batch(Graph& graph, const std::string& symbol, const RunOptions& run) {
  return guarded([&]() -> Result<BatchReport> {
    ir::Graph work = graph.impl().graph;
    NNEX_ASSIGN(BatchReport report, batch_opened(work, symbol, run));
    graph.impl().graph = std::move(work);
    return report;
  });
}

}  // namespace nnex
