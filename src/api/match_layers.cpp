#include "api/match_layers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <unordered_map>

#include "api/match_codes.h"
#include "graph/infer.h"
#include "nnex/elements.h"

namespace nnex {
namespace {

/// Of many layers with one content (zeros, copies) so many are looked at.
constexpr size_t kMaxCandidates = 32;

/// Sixty-four bits that look random, of a number (splitmix64).
uint64_t scrambled(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// A name with what identifiers lack as underscores.
std::string plain_name(const std::string& name) {
  std::string out = name;
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return out;
}

using Naming = std::string (*)(const std::string&);

/// Layers by name; of names that several have none.
std::unordered_map<std::string, size_t> layers_by_name(const LayerNetwork& n, Naming naming) {
  std::unordered_map<std::string, size_t> out;
  std::set<std::string> doubled;
  for (size_t l = 0; l < n.layers.size(); ++l) {
    const std::string& name = n.graph[n.layers[l].value].name;
    if (name.empty()) continue;
    if (!out.try_emplace(naming(name), l).second) doubled.insert(naming(name));
  }
  for (const std::string& name : doubled) out.erase(name);
  return out;
}

std::optional<std::vector<LayerPair>> pairs_by_name(const LayerNetwork& a, const LayerNetwork& b, Naming naming) {
  const auto in_a = layers_by_name(a, naming), in_b = layers_by_name(b, naming);
  const CodedNetwork coded_a(a), coded_b(b);
  std::vector<LayerPair> out;
  size_t alike = 0;
  const auto counted = [](const auto& named, const CodedNetwork& n) {
    return std::count_if(named.begin(), named.end(), [&](const auto& x) { return !n.is_of_codes(x.second); });
  };
  for (const auto& [name, l] : in_a) {
    const auto other = in_b.find(name);
    if (other == in_b.end()) continue;
    out.push_back({l, other->second, MatchedBy::name});
    alike += !coded_a.is_of_codes(l) && !coded_b.is_of_codes(other->second) &&
             same_maker(coded_a, l, coded_b, other->second);
  }
  const auto smaller = static_cast<size_t>(std::min(counted(in_a, coded_a), counted(in_b, coded_b)));
  if (out.empty() || alike * 5 < smaller * 4) return std::nullopt;
  std::sort(out.begin(), out.end(), [](const LayerPair& x, const LayerPair& y) { return x.a < y.a; });
  return out;
}

/// What matching by value knows so far.
class ValueMatch {
 public:
  ValueMatch(const LayerNetwork& a, const LayerNetwork& b, const ValuePairs& ports)
      : a_(a), b_(b), coded_a_(a), coded_b_(b) {
    of_a_.assign(a.layers.size(), kNone), of_b_.assign(b.layers.size(), kNone);
    for (const auto& [x, y] : ports) values_[x.n] = y.n, paired_b_.insert(y.n);
  }

  void by_content(std::span<const Fingerprint> in_a, std::span<const Fingerprint> in_b);
  void by_structure();
  std::vector<LayerPair> take() {
    std::sort(pairs_.begin(), pairs_.end(), [](const LayerPair& x, const LayerPair& y) { return x.a < y.a; });
    return std::move(pairs_);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;

  void pair(size_t l, size_t m, MatchedBy matched) {
    of_a_[l] = m, of_b_[m] = l;
    const ValueId value = coded_b_.origin(b_.layers[m].value);
    values_[coded_a_.origin(a_.layers[l].value).n] = value.n, paired_b_.insert(value.n);
    pairs_.push_back({l, m, matched});
  }
  std::vector<std::vector<size_t>> candidates(std::span<const Fingerprint> in_a,
                                              std::span<const Fingerprint> in_b) const;
  /// Whether what node x reads is paired with what y reads, in any order.
  bool same_reads(NodeId x, NodeId y) const;
  /// The layer of b that `l` corresponds to by what makes both; kNone: there is none.
  size_t same_structure(size_t l, const std::unordered_map<uint32_t, std::vector<NodeId>>& readers) const;
  /// What stands for the value of b that a limit of a limits, where codes hold the limit; kNone: there is none.
  size_t held_limit(size_t l) const;
  /// The layer of b that has the name of `l` and is made of what corresponds to what `l` is made of, by whatever
  /// operators; kNone: there is none.
  size_t same_name(size_t l, const std::unordered_map<std::string, size_t>& named) const;

  const LayerNetwork &a_, &b_;
  const CodedNetwork coded_a_, coded_b_;
  std::vector<size_t> of_a_, of_b_;
  std::unordered_map<uint32_t, uint32_t> values_;  ///< b's value by a's.
  std::set<uint32_t> paired_b_;                    ///< Those of b.
  std::vector<LayerPair> pairs_;
};

/// By layer of a: layers of b that may hold the same, in order.
std::vector<std::vector<size_t>> ValueMatch::candidates(std::span<const Fingerprint> in_a,
                                                        std::span<const Fingerprint> in_b) const {
  std::map<std::vector<int64_t>, std::vector<size_t>> by_extents;  // of b, by length
  for (size_t m = 0; m < in_b.size(); ++m)
    if (in_b[m].dtype != DType::none) by_extents[in_b[m].extents].push_back(m);
  for (auto& [extents, list] : by_extents)
    std::stable_sort(list.begin(), list.end(), [&](size_t x, size_t y) { return in_b[x].length < in_b[y].length; });
  std::vector<std::vector<size_t>> out(in_a.size());
  for (size_t l = 0; l < in_a.size(); ++l) {
    const auto list = by_extents.find(in_a[l].extents);
    if (in_a[l].dtype == DType::none || list == by_extents.end()) continue;
    constexpr double kLengths = 0.8;  // far wider than near() takes
    const auto first = std::lower_bound(list->second.begin(), list->second.end(), in_a[l].length * kLengths,
                                        [&](size_t m, double length) { return in_b[m].length < length; });
    for (auto m = first; m != list->second.end() && in_b[*m].length * kLengths <= in_a[l].length; ++m)
      if (in_a[l].near(in_b[*m]) && out[l].size() < kMaxCandidates) out[l].push_back(*m);
    std::sort(out[l].begin(), out[l].end());
  }
  return out;
}

/// The longest list of (l, candidate of l) that ascends in both: by its last candidates, the least of each length.
std::vector<std::pair<size_t, size_t>> longest_ascending(const std::vector<std::vector<size_t>>& candidates) {
  struct Step {
    size_t l, m, before;
  };
  std::vector<Step> steps;
  std::vector<size_t> ends;  // steps, by length
  for (size_t l = 0; l < candidates.size(); ++l) {
    for (size_t k = candidates[l].size(); k-- > 0;) {  // descending, so that l counts once
      const size_t m = candidates[l][k];
      const auto at = std::lower_bound(ends.begin(), ends.end(), m, [&](size_t s, size_t x) { return steps[s].m < x; });
      steps.push_back({l, m, at == ends.begin() ? SIZE_MAX : *(at - 1)});
      if (at == ends.end())
        ends.push_back(steps.size() - 1);
      else
        *at = steps.size() - 1;
    }
  }
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t s = ends.empty() ? SIZE_MAX : ends.back(); s != SIZE_MAX; s = steps[s].before)
    out.emplace_back(steps[s].l, steps[s].m);
  std::reverse(out.begin(), out.end());
  return out;
}

void ValueMatch::by_content(std::span<const Fingerprint> in_a, std::span<const Fingerprint> in_b) {
  const auto may = candidates(in_a, in_b);
  for (const auto& [l, m] : longest_ascending(may)) pair(l, m, MatchedBy::value);
  for (size_t l = 0; l < may.size(); ++l)
    if (of_a_[l] == kNone && may[l].size() == 1 && of_b_[may[l][0]] == kNone) pair(l, may[l][0], MatchedBy::value);
}

bool ValueMatch::same_reads(NodeId x, NodeId y) const {
  std::vector<uint32_t> paired, there;
  for (ValueId v : coded_a_.reads(x)) {
    const auto it = values_.find(v.n);
    if (it == values_.end()) return false;
    paired.push_back(it->second);
  }
  for (ValueId v : coded_b_.reads(y)) there.push_back(v.n);
  std::sort(paired.begin(), paired.end()), std::sort(there.begin(), there.end());
  return paired == there;
}

size_t ValueMatch::same_structure(size_t l, const std::unordered_map<uint32_t, std::vector<NodeId>>& readers) const {
  const NodeId own = a_.layers[l].node;
  NodeId node = own;
  const auto& in = a_.graph[own].in;
  if (a_.op_of(own) == "batch_normalization" && !in.empty()) {  // b's product may hold it
    const NodeId product = a_.graph[in[0]].producer;
    if (product.valid() && coded_a_.norm_after(product) == own && !values_.count(in[0].n)) node = product;
  }
  const auto reads = coded_a_.reads(node);
  if (reads.empty()) return kNone;
  const auto first = values_.find(reads.front().n);
  const auto there = first == values_.end() ? readers.end() : readers.find(first->second);
  if (there == readers.end()) return kNone;
  const bool norm = coded_a_.norm_after(node).valid();
  for (NodeId other : there->second) {
    if (a_.op_of(node) != b_.op_of(other) || !same_reads(node, other)) continue;
    NodeId made = other;
    if (node == own && !norm) {
      if (const NodeId after = coded_b_.norm_after(other); after.valid()) made = after;  // which a's product holds
    } else if (norm && (node == own) != coded_b_.norm_after(other).valid()) {
      continue;
    }
    const uint32_t output = a_.graph[a_.layers[l].value].output;
    if (output >= b_.graph[made].out.size() || !b_.graph[made].out[output].valid()) continue;
    const size_t m = b_.layer_of.at(b_.graph[made].out[output].n);
    if (of_b_[m] == kNone) return m;
  }
  return kNone;
}

size_t ValueMatch::held_limit(size_t l) const {
  const Node& node = a_.graph[a_.layers[l].node];
  if (node.in.empty() || !(coded_a_.limit_after(node.in[0]) == a_.layers[l].node)) return kNone;
  const auto limited = values_.find(node.in[0].n);
  const ValueId decoded = limited == values_.end() ? ValueId{} : coded_b_.stand_in(ValueId{limited->second});
  if (!decoded.valid() || coded_a_.stand_in(node.in[0]).valid()) return kNone;
  const size_t m = b_.layer_of.at(decoded.n);
  return of_b_[m] == kNone ? m : kNone;
}

/// The nearest values behind a node that `is_paired`; nothing: it is made of others as well.
template <class IsPaired>
std::optional<std::set<uint32_t>> paired_sources(const LayerNetwork& n, const CodedNetwork& coded, NodeId id,
                                                 const IsPaired& is_paired) {
  std::set<uint32_t> out, seen;
  std::vector<NodeId> open = {id};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (ValueId v : coded.reads(node)) {
      if (!seen.insert(v.n).second) continue;
      if (is_paired(v))
        out.insert(v.n);
      else if (const NodeId producer = n.graph[v].producer; producer.valid())
        open.push_back(producer);
      else
        return std::nullopt;
    }
  }
  return out;
}

size_t ValueMatch::same_name(size_t l, const std::unordered_map<std::string, size_t>& named) const {
  const std::string& name = a_.graph[a_.layers[l].value].name;
  const auto it = name.empty() ? named.end() : named.find(name);
  if (it == named.end() || of_b_[it->second] != kNone) return kNone;
  const size_t m = it->second;
  const auto extents = [](const LayerNetwork& n, size_t layer) {
    std::vector<int64_t> out;
    if (const auto shape = concrete(n.graph[n.layers[layer].value].type))
      std::copy_if(shape->begin(), shape->end(), std::back_inserter(out), [](int64_t e) { return e != 1; });
    return out;
  };
  if (extents(a_, l) != extents(b_, m)) return kNone;
  const auto in_a = paired_sources(a_, coded_a_, a_.layers[l].node, [&](ValueId v) { return values_.count(v.n) > 0; });
  const auto in_b =
      paired_sources(b_, coded_b_, b_.layers[m].node, [&](ValueId v) { return paired_b_.count(v.n) > 0; });
  if (!in_a || !in_b || in_a->empty()) return kNone;
  std::set<uint32_t> there;
  for (uint32_t v : *in_a) there.insert(values_.at(v));
  return there == *in_b ? m : kNone;
}

void ValueMatch::by_structure() {
  std::unordered_map<uint32_t, std::vector<NodeId>> readers;  // of b's values
  for (NodeId id : b_.graph.order()) {
    const auto reads = coded_b_.reads(id);
    if (!reads.empty()) readers[reads.front().n].push_back(id);
    for (ValueId v : std::span(reads).subspan(reads.empty() ? 0 : 1))
      if (v.n != reads.front().n) readers[v.n].push_back(id);
  }
  const auto named = layers_by_name(b_, [](const std::string& name) { return name; });
  for (size_t l = 0; l < a_.layers.size(); ++l) {
    if (of_a_[l] != kNone) continue;
    size_t m = same_structure(l, readers);
    if (m == kNone) m = held_limit(l);
    if (m != kNone)
      pair(l, m, MatchedBy::structure);
    else if (m = same_name(l, named); m != kNone)
      pair(l, m, MatchedBy::name);
  }
}

}  // namespace

Fingerprint Fingerprint::of(const Value& value) {
  Fingerprint out;
  const Tensor* t = value.tensor();
  if (!t || is_object(t->dtype()) || is_complex(t->dtype())) return out;
  out.dtype = t->dtype();
  for (int64_t extent : t->shape())
    if (extent != 1) out.extents.push_back(extent);
  double squares = 0;
  for (int64_t i = 0; i < t->count(); ++i) {
    double x = real_at(*t, i);
    if (!std::isfinite(x)) x = std::isnan(x) ? 3 : x > 0 ? 5 : -5;  // somewhere, so that their places count
    squares += x * x;
    uint64_t signs = scrambled(static_cast<uint64_t>(i));
    for (double& product : out.products) product += signs & 1 ? x : -x, signs >>= 1;
  }
  out.length = std::sqrt(squares);
  return out;
}

bool Fingerprint::near(const Fingerprint& other) const {
  if (dtype == DType::none || other.dtype == DType::none || extents != other.extents) return false;
  const bool floats = is_real(dtype) || is_real(other.dtype);
  // A product with signs is as far off as the tensors are apart, within a few times.
  const double far =
      floats ? 40 * std::max(default_tolerance(dtype), default_tolerance(other.dtype)) * std::max(length, other.length)
             : 0;
  for (size_t i = 0; i < products.size(); ++i)
    if (!(std::abs(products[i] - other.products[i]) <= far)) return false;
  return true;
}

std::optional<std::vector<LayerPair>> match_by_name(const LayerNetwork& a, const LayerNetwork& b) {
  auto pairs = pairs_by_name(a, b, [](const std::string& name) { return name; });
  if (!pairs) pairs = pairs_by_name(a, b, plain_name);
  if (pairs) pair_stand_ins(a, b, *pairs);
  return pairs;
}

std::vector<LayerPair> match_by_value(const LayerNetwork& a, const LayerNetwork& b, std::span<const Fingerprint> in_a,
                                      std::span<const Fingerprint> in_b, const ValuePairs& ports) {
  ValueMatch match(a, b, ports);
  match.by_content(in_a, in_b);
  match.by_structure();
  auto pairs = match.take();
  pair_stand_ins(a, b, pairs);
  return pairs;
}

}  // namespace nnex
