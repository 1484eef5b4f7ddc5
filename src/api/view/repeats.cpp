#include "api/view/repeats.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

namespace nnex::drawing {
namespace {

constexpr size_t kMaxPeriod = 1500, kMinPeriod = 3, kMinSaved = 6;

/// A type with names of extents left out, which differ from copy to copy.
std::string form_of(const Type& type) {
  std::string out = fmt::format("{}:{}", static_cast<int>(type.kind), name(type.dtype));
  if (type.dims)
    for (const Dim& d : *type.dims) out += d.number() ? fmt::format(",{}", *d.number()) : ",?";
  return out;
}

class Finder {
 public:
  Finder(const ir::Graph& graph, const std::vector<NodeId>& order) : graph_(graph), order_(order) {}

  std::vector<Repeat> run() {
    number();
    std::vector<Repeat> stretches = find_stretches();
    std::stable_sort(stretches.begin(), stretches.end(), [](const Repeat& a, const Repeat& b) {
      const size_t x = (a.copies - 1) * a.period, y = (b.copies - 1) * b.period;
      return x != y ? x > y : a.period < b.period;
    });
    for (const Repeat& s : stretches) choose_in(s);
    std::sort(chosen_.begin(), chosen_.end(), [](const Repeat& a, const Repeat& b) { return a.first < b.first; });
    return std::move(chosen_);
  }

 private:
  /// What a node is, apart from where its inputs come from.
  std::string signature(const Node& node) const {
    if (!node.blocks.empty()) return {};
    std::string out = node.custom ? node.custom->domain + ":" + node.custom->name : std::string(node.op->name);
    if (node.attrs)
      for (const Field& f : node.op->attrs.fields) out += fmt::format(";{}", text(f.get(node.attrs.get())));
    if (node.custom)
      for (const auto& [name, value] : node.custom->attrs) out += fmt::format(";{}={}", name, text(value));
    for (ValueId v : node.in)
      out += !v.valid() ? "|-" : fmt::format("|{}{}", graph_[v].is_constant() ? "c" : "v", form_of(graph_[v].type));
    for (ValueId v : node.out) out += v.valid() ? ">" + form_of(graph_[v].type) : ">-";
    return out;
  }

  void number() {
    std::unordered_map<std::string, size_t> known;
    place_.assign(graph_.node_count(), order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      place_[order_[i].n] = i;
      std::string s = signature(graph_[order_[i]]);
      // Nodes with blocks are like no other.
      if (s.empty()) s = fmt::format("#{}", i);
      kinds_.push_back(known.emplace(std::move(s), known.size()).first->second);
    }
    used_.assign(order_.size(), 0);
  }

  /// Stretches in which every node is like the one a period later.
  std::vector<Repeat> find_stretches() const {
    std::vector<Repeat> out;
    const size_t n = order_.size();
    for (size_t p = kMinPeriod; p <= std::min(n / 2, kMaxPeriod); ++p) {
      size_t run = 0;
      for (size_t i = 0; i + p <= n; ++i) {
        if (i + p < n && kinds_[i] == kinds_[i + p]) {
          ++run;
          continue;
        }
        if (run >= p && out.size() < kMaxStretches) out.push_back({i - run, p, (run + p) / p});
        run = 0;
      }
    }
    return out;
  }

  /// Copies in what is free of a stretch: as many as can be, beginning where the fewest values cross.
  void choose_in(const Repeat& s) {
    size_t end = s.end();  // with the rest that is no whole copy
    while (end < order_.size() && kinds_[end] == kinds_[end - s.period]) ++end;
    for (size_t i = s.first; i < end;) {
      if (used_[i]) {
        ++i;
        continue;
      }
      size_t free_end = i;
      while (free_end < end && !used_[free_end]) ++free_end;
      std::optional<Repeat> best;
      size_t best_crossing = 0;
      for (size_t b = i; b < i + s.period && b + 2 * s.period <= free_end && work_ < kMaxWork; ++b) {
        size_t crossing = 0;
        const size_t copies = sound_copies({b, s.period, (free_end - b) / s.period}, crossing);
        if (copies < 2 || (copies - 1) * s.period < kMinSaved) continue;
        if (!best || copies > best->copies || (copies == best->copies && crossing < best_crossing))
          best = Repeat{b, s.period, copies}, best_crossing = crossing;
      }
      if (best) {
        chosen_.push_back(*best);
        for (size_t k = best->first; k < best->end(); ++k) used_[k] = 1;
      }
      i = best ? best->end() : free_end;
    }
  }

  size_t place_of(ValueId v) const {
    const NodeId producer = graph_[v].producer;
    return producer.valid() ? place_[producer.n] : order_.size();
  }

  /// Whether node `o` of copy `j` reads what copies 0 and 1 say.
  bool same_wires(const Repeat& r, size_t j, size_t o) const {
    const auto in = [&](size_t copy) -> const std::vector<ValueId>& {
      return graph_[order_[r.first + copy * r.period + o]].in;
    };
    const auto begin = [&](size_t copy) { return r.first + copy * r.period; };
    for (size_t k = 0; k < in(j).size(); ++k) {
      const ValueId v = in(j)[k], first = in(0)[k];
      if (!v.valid() || graph_[v].is_constant()) continue;
      const size_t at = place_of(v), first_at = place_of(first);
      const bool first_inside = first_at >= begin(0) && first_at < begin(1);
      const bool of_others = at >= r.end() || at < begin(0);
      if (first_inside != (!of_others && at >= begin(j))) return false;
      if (!of_others && graph_[v].output != graph_[j > 1 ? in(1)[k] : v].output) return false;
      if (first_inside) {
        if (at - begin(j) != first_at - begin(0) || graph_[v].output != graph_[first].output) return false;
      } else if (of_others) {
        if (!(v == first)) return false;
      } else {  // of the copy before, the same in all
        if (at < begin(j - 1)) return false;
        const size_t second = place_of(in(1)[k]);
        if (second < begin(0) || second >= begin(1) || at - begin(j - 1) != second - begin(0)) return false;
      }
    }
    return true;
  }

  /// Whether what a copy makes is read by itself and the next one alone.
  bool kept_inside(const Repeat& r, size_t j, size_t o) const {
    for (ValueId v : graph_[order_[r.first + j * r.period + o]].out) {
      if (!v.valid()) continue;
      for (const Use& use : graph_[v].uses) {
        const size_t at = use.node.valid() ? place_[use.node.n] : order_.size();
        if (at < r.first + j * r.period || at >= r.first + (j + 2) * r.period) return false;
      }
    }
    return true;
  }

  /// How many copies from the first on belong together, and how many values go from one to the next.
  size_t sound_copies(Repeat r, size_t& crossing) {
    std::set<std::pair<size_t, size_t>> across;
    size_t copies = 1;
    for (; copies < r.copies; ++copies) {
      bool sound = true;
      for (size_t o = 0; o < r.period && sound; ++o) {
        ++work_;
        sound = same_wires(r, copies, o) && kept_inside(r, copies - 1, o);
      }
      if (!sound) break;
    }
    for (size_t o = 0; o < r.period && copies > 1; ++o)
      for (ValueId v : graph_[order_[r.first + r.period + o]].in) {
        if (!v.valid()) continue;
        const size_t at = place_of(v);
        if (at >= r.first && at < r.first + r.period) across.insert({at, graph_[v].output});
      }
    crossing = across.size();
    return copies;
  }

  static constexpr size_t kMaxWork = 20'000'000, kMaxStretches = 20'000;
  const ir::Graph& graph_;
  const std::vector<NodeId>& order_;
  std::vector<size_t> kinds_, place_;  ///< By order; by node.
  std::vector<char> used_;
  std::vector<Repeat> chosen_;
  size_t work_ = 0;
};

}  // namespace

std::vector<Repeat> repeats_of(const ir::Graph& graph, const std::vector<NodeId>& order) {
  return Finder(graph, order).run();
}

}  // namespace nnex::drawing
