#include "standards/cvm/storage.h"

#include <algorithm>
#include <map>

#include "base/try.h"
#include "nnex/shape.h"

namespace nnex::cvm_format {
namespace {

constexpr int64_t kMaxStorage = int64_t{1} << 32;
constexpr int64_t kBefore = -1, kAlways = INT64_MAX;  ///< Of a life's begin and end.

/// From the moment an entry is written to the moment it is read last. Node i reads at 2i and writes at 2i + 1; an
/// inference writes `data` at -1.
struct Life {
  int64_t storage = 0, begin = kBefore, end = kBefore;
  size_t node = 0;
  bool head = false;
};

class Plan {
 public:
  Plan(const Symbol& symbol, std::span<const PlannedNode> nodes) : symbol_(symbol), nodes_(nodes) {}

  Status in_place() const {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const SymbolNode& n = symbol_.nodes[i];
      for (int64_t o = 0; o < nodes_[i].outputs(); ++o) {
        const int64_t id = storage(nodes_[i].first + o);
        if (id < 0) return logic_error("storage_id is {}; needed 0 or more", id).at(node_place(i, n));
        if (n.variable() || nodes_[i].rule->in_place) continue;
        for (const Entry& in : n.inputs)
          if (storage(entry_of(in)) == id)
            return logic_error("{} cannot write its output over its input in storage {}", n.op, id)
                .at(node_place(i, n));
      }
    }
    return {};
  }

  /// Two entries of one storage that live at the same time.
  Status apart() const {
    std::vector<Life> all = lives();
    std::stable_sort(all.begin(), all.end(), [](const Life& a, const Life& b) {
      return a.storage != b.storage ? a.storage < b.storage : a.begin < b.begin;
    });
    const Life* longest = nullptr;  // of those before, in this storage
    for (const Life& l : all) {
      if (longest && longest->storage == l.storage && longest->end >= l.begin) return meeting(*longest, l);
      if (!longest || longest->storage != l.storage || longest->end < l.end) longest = &l;
    }
    return {};
  }

  Result<int64_t> bytes() const {
    std::map<int64_t, int64_t> sizes;
    for (size_t e = 0; e < symbol_.storage_ids.size(); ++e) {
      int64_t& size = sizes[symbol_.storage_ids[e]];
      size = std::max(size, 4 * Shape(symbol_.shapes[e]).count());
    }
    int64_t sum = 0;
    for (const auto& [id, size] : sizes) sum += size;
    if (sum > kMaxStorage) return logic_error("the storage plan takes {} bytes; needed at most {}", sum, kMaxStorage);
    return sum;
  }

 private:
  int64_t entry_of(const Entry& e) const { return nodes_[static_cast<size_t>(e.node)].first + e.output; }
  int64_t storage(int64_t entry) const { return symbol_.storage_ids[static_cast<size_t>(entry)]; }

  std::vector<Life> lives() const {
    std::vector<Life> out(symbol_.storage_ids.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const SymbolNode& n = symbol_.nodes[i];
      for (int64_t o = 0; o < nodes_[i].outputs(); ++o) {
        Life& l = out[static_cast<size_t>(nodes_[i].first + o)];
        l.storage = storage(nodes_[i].first + o), l.node = i;
        if (!n.variable()) l.begin = 2 * static_cast<int64_t>(i) + 1;
        l.end = n.variable() && n.name != "data" ? kAlways : l.begin;
      }
      for (const Entry& e : n.inputs) extend(out[static_cast<size_t>(entry_of(e))], i);
    }
    for (const Entry& e : symbol_.heads) {
      Life& l = out[static_cast<size_t>(entry_of(e))];
      extend(l, nodes_.size()), l.head = true;
    }
    return out;
  }
  static void extend(Life& l, size_t reader) { l.end = std::max(l.end, 2 * static_cast<int64_t>(reader)); }

  std::string text(const Life& l) const {
    const SymbolNode& n = symbol_.nodes[l.node];
    const std::string who = node_place(l.node, n);
    if (l.end == kAlways) return fmt::format("{} always, a parameter being loaded once for every inference", who);
    const std::string from = n.variable() ? "before the first node, where the input is written" : "its node";
    if (l.head) return fmt::format("{} from {} to the end, being a head", who, from);
    if (l.end == l.begin)
      return n.variable() ? fmt::format("{} {}", who, from)
                          : fmt::format("{} at its node, which writes it unread", who);
    return fmt::format("{} from {} to node {}, which reads it last", who, from, l.end / 2);
  }

  Error meeting(const Life& a, const Life& b) const {
    const Life& later = a.node > b.node ? a : b;
    return logic_error("storage {} is needed by {}, and by {}; needed storages of their own", a.storage, text(a),
                       text(b))
        .at(node_place(later.node, symbol_.nodes[later.node]));
  }

  const Symbol& symbol_;
  std::span<const PlannedNode> nodes_;
};

}  // namespace

Result<int64_t> check_storage(const Symbol& symbol, std::span<const PlannedNode> nodes, bool compatible) {
  const Plan plan(symbol, nodes);
  NNEX_TRY(plan.in_place());
  if (!compatible) NNEX_TRY(plan.apart());
  return plan.bytes();
}

}  // namespace nnex::cvm_format
