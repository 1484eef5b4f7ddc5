#include "plan/slices.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "graph/infer.h"

namespace nnex::plan {
namespace {

/// Bytes of a value; sums of these pass no limit.
double bytes_of(const Known& known, ValueId v) {
  const auto shape = concrete(known.type(v));
  return shape ? static_cast<double>(bytes_for(known.type(v).dtype, shape->count()).value_or(0)) : 0;
}

/// Items of a slice of at most `size`: as many slices, of nearly the same size; where these are few items, perhaps
/// less, so that fewer items run twice.
int64_t even_size(int64_t items, int64_t size) {
  constexpr int64_t kTried = 16;
  const auto slices = [&](int64_t s) { return (items + s - 1) / s; };
  const auto twice = [&](int64_t s) { return slices(s) * s - items; };
  int64_t best = slices(slices(size));
  for (int64_t s = best - 1; s >= std::max((size + 1) / 2, best - kTried); --s)
    if (twice(s) < twice(best)) best = s;
  return best;
}

/// The most items of a slice, in [least, most], of which `lanes` side by side leave little to wait for; 0: none. No
/// item runs twice: two threads would write it.
int64_t size_of_lanes(int64_t items, int64_t least, int64_t most, int lanes) {
  constexpr double kBusy = 0.85;    // about what threads that share each node get
  constexpr int64_t kTried = 1024;  // items may be millions of rows
  const int64_t first = (items + most - 1) / most, last = std::min(items / least, first + kTried);
  for (int64_t slices = first; slices <= last; ++slices) {
    const int64_t turns = (slices + lanes - 1) / lanes;
    if (items % slices == 0 && static_cast<double>(slices) >= kBusy * static_cast<double>(turns * lanes))
      return items / slices;
  }
  return 0;
}

/// A run that grows node by node.
class GrowingRun {
 public:
  GrowingRun(const ir::Graph& graph, const Known& known, double cache, size_t first, int64_t items, int threads)
      : graph_(graph),
        known_(known),
        all_cache_(cache),
        lanes_(items >= threads ? threads : 1),
        cache_(cache / lanes_) {
    run_.first = run_.end = first, run_.items = items, run_.size = items / lanes_;
  }

  int64_t items() const { return run_.items; }

  /// Whether node `id`, number `at`, goes on with the run; then it is part of it.
  bool add(NodeId id, size_t at) {
    const Node& node = graph_[id];
    const auto reads = reads_items(graph_, node, run_.items, known_);
    if (!reads || is_read_both_ways(node, *reads)) return false;
    double activations = 0, rest = 0;
    for (size_t i = 0; i < node.in.size(); ++i) {
      const ValueId v = node.in[i];
      if (!v.valid()) continue;
      const bool items = (*reads)[i];
      if (run_.made.count(v.n) ? !items : reads_.count(v.n) && reads_.at(v.n) != items) return false;
      (items ? activations : rest) += bytes_of(known_, v);
    }
    for (ValueId v : node.out)
      if (v.valid()) activations += bytes_of(known_, v);
    // As many items as fit; at least as many as have the bytes of what every slice reads again.
    const double of_item = std::max(1.0, activations / static_cast<double>(run_.items));
    const int64_t most = run_.items / lanes_;
    const auto fit = static_cast<int64_t>(std::clamp(cache_ / of_item, 1.0, static_cast<double>(most)));
    const auto pay = static_cast<int64_t>(std::clamp(std::ceil(rest / of_item), 1.0, static_cast<double>(fit)));
    if (std::max(pay_, pay) > std::min(run_.size, fit)) return false;
    pay_ = std::max(pay_, pay), run_.size = std::min(run_.size, fit), moved_ += activations;
    for (size_t i = 0; i < node.in.size(); ++i) {
      const ValueId v = node.in[i];
      if (!v.valid() || run_.made.count(v.n) || !reads_.emplace(v.n, (*reads)[i]).second) continue;
      ((*reads)[i] ? run_.sliced : run_.whole).push_back(v);
    }
    for (ValueId v : node.out)
      if (v.valid()) run_.made.insert(v.n);
    nodes_.insert(id.n);
    run_.end = at + 1;
    return true;
  }

  /// The run, where threads share nothing but its ends, or slices save more than the cache holds.
  std::optional<ItemRun> finish() {
    if (run_.end == run_.first) return std::nullopt;
    double saved = 0;
    for (uint32_t v : run_.made)
      if (stays(ValueId{v})) saved += bytes_of(known_, ValueId{v});
    const int64_t size = lanes_ > 1 && saved > 0 && moved_ >= kLaneBytes * lanes_
                             ? size_of_lanes(run_.items, pay_, run_.size, lanes_)
                             : 0;
    if (size > 0) {
      run_.size = size, run_.lanes = lanes_;
      return run_;
    }
    if (run_.size >= run_.items || saved < all_cache_) return std::nullopt;
    run_.size = even_size(run_.items, run_.size);
    return run_;
  }

 private:
  /// Whether a value is read in slices by one input and whole by another.
  template <class Reads>
  static bool is_read_both_ways(const Node& node, const Reads& reads) {
    constexpr size_t kFew = 8;
    if (node.in.size() <= kFew) {
      for (size_t i = 0; i < node.in.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          if (node.in[i].valid() && node.in[i] == node.in[j] && reads[i] != reads[j]) return true;
      return false;
    }
    std::vector<std::pair<uint32_t, bool>> all;
    for (size_t i = 0; i < node.in.size(); ++i)
      if (node.in[i].valid()) all.emplace_back(node.in[i].n, reads[i]);
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end(), [](const auto& a, const auto& b) {
             return a.first == b.first && a.second != b.second;
           }) != all.end();
  }

  /// Whether nodes of the run alone read v.
  bool stays(ValueId v) const {
    return std::all_of(graph_[v].uses.begin(), graph_[v].uses.end(),
                       [&](const Use& u) { return u.node.valid() && nodes_.count(u.node.n); });
  }

  static constexpr double kLaneBytes = 256 * 1024;  ///< Moved by a thread: less is not worth waking it.

  const ir::Graph& graph_;
  const Known& known_;
  double all_cache_;
  int lanes_;
  double cache_;  ///< A lane's.
  ItemRun run_;
  int64_t pay_ = 1;
  double moved_ = 0;                          ///< Bytes that the nodes read and write item by item.
  std::unordered_map<uint32_t, bool> reads_;  ///< Values from outside: whether item by item.
  std::unordered_set<uint32_t> nodes_;
};

}  // namespace

std::vector<ItemRun> find_item_runs(const ir::Graph& graph, std::span<const NodeId> nodes,
                                    FunctionRef<bool(NodeId)> ahead, const Known& known, int64_t cache_bytes,
                                    int threads) {
  std::vector<ItemRun> found;
  std::optional<GrowingRun> run;
  const auto finish = [&] {
    if (auto done = run ? run->finish() : std::nullopt) found.push_back(std::move(*done));
    run.reset();
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph[nodes[i]];
    if (ahead(nodes[i])) continue;
    const auto shape = !node.out.empty() && node.out[0].valid() ? concrete(known.type(node.out[0])) : std::nullopt;
    const int64_t items = shape && shape->rank() > 0 ? (*shape)[0] : 0;
    if (run && items == run->items() && run->add(nodes[i], i)) continue;
    finish();
    if (items < 2) continue;
    run.emplace(graph, known, static_cast<double>(cache_bytes), i, items, threads);
    if (!run->add(nodes[i], i)) run.reset();
  }
  finish();
  return found;
}

}  // namespace nnex::plan
