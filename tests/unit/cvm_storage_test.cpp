// Storage plans of CVM models: whatever is accepted gives the right answers, run after run.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "standards/cvm/storage.h"

namespace nnex::cvm_format {
namespace {

using Random = std::mt19937;

int64_t below(Random& random, size_t n) { return static_cast<int64_t>(random() % n); }

/// A network and its plan: operators of each kind that storage is about, on single numbers.
struct Network {
  Symbol symbol;
  std::vector<PlannedNode> nodes;

  size_t entry(const Entry& e) const {
    return static_cast<size_t>(nodes[static_cast<size_t>(e.node)].first + e.output);
  }
};

Network random_network(Random& random) {
  static constexpr struct {
    const char* op;
    size_t inputs;
  } kOps[] = {
      {"", 0}, {"negative", 1}, {"relu", 1}, {"elemwise_add", 2}, {"broadcast_add", 2}, {"get_valid_counts", 1}};
  Network n;
  std::vector<Entry> known;
  const size_t count = 3 + random() % 7, data = random() % 3;
  const int64_t storages = 2 + below(random, count);
  int64_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto& op = kOps[i == data || known.empty() ? 0 : random() % std::size(kOps)];
    SymbolNode node{i == data ? "data" : fmt::format("n{}", i), op.op, {}};
    for (size_t k = 0; k < op.inputs; ++k) node.inputs.push_back(known[random() % known.size()]);
    n.nodes.push_back({find_signature(op.op), first});
    for (int64_t o = 0; o < n.nodes.back().outputs(); ++o, ++first) {
      known.push_back({static_cast<int64_t>(i), o});
      n.symbol.shapes.push_back({1});
      n.symbol.storage_ids.push_back(below(random, static_cast<size_t>(storages)));
    }
    n.symbol.nodes.push_back(std::move(node));
  }
  for (size_t h = 0; h < 1 + random() % 2; ++h) n.symbol.heads.push_back(known[random() % known.size()]);
  return n;
}

/// What two inferences after one load answer, as the original runs them in the memory that `places` names: each value
/// is a number that says how it was made.
std::vector<uint64_t> answers(const Network& n, const Ints& places) {
  std::map<int64_t, uint64_t> memory;
  const auto at = [&](size_t entry) -> uint64_t& { return memory[places[entry]]; };
  const auto mixed = [](uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15u + (h >> 7); };
  std::vector<uint64_t> out;
  const auto each = [&](auto what) {
    for (size_t i = 0; i < n.nodes.size(); ++i) what(n.symbol.nodes[i], static_cast<size_t>(n.nodes[i].first), i);
  };
  each([&](const SymbolNode& node, size_t entry, size_t i) {
    if (node.variable() && node.name != "data") at(entry) = mixed(1, i);
  });
  for (uint64_t run = 0; run < 2; ++run) {
    each([&](const SymbolNode& node, size_t entry, size_t i) {
      if (node.name == "data") at(entry) = mixed(2 + run, i);
    });
    each([&](const SymbolNode& node, size_t entry, size_t i) {
      if (node.variable()) return;
      uint64_t made = mixed(9, i);
      for (const Entry& e : node.inputs) made = mixed(made, at(n.entry(e)));
      for (int64_t o = 0; o < n.nodes[i].outputs(); ++o) at(entry + static_cast<size_t>(o)) = mixed(made, o);
    });
    for (const Entry& e : n.symbol.heads) out.push_back(at(n.entry(e)));
  }
  return out;
}

TEST(CvmStorage, AcceptedPlansAnswerAsIfNothingWereShared) {
  Random random(7);
  int accepted = 0, shared = 0;
  for (int i = 0; i < 50000; ++i) {
    const Network n = random_network(random);
    auto bytes = check_storage(n.symbol, n.nodes, false);
    if (!bytes.ok()) continue;
    ++accepted;
    shared += *bytes < 4 * static_cast<int64_t>(n.symbol.shapes.size());
    Ints apart;
    for (size_t e = 0; e < n.symbol.shapes.size(); ++e) apart.push_back(static_cast<int64_t>(e));
    ASSERT_EQ(answers(n, n.symbol.storage_ids), answers(n, apart)) << write_symbol(n.symbol);
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(shared, 500);
}

/// Entries of one storage count once, by the largest.
TEST(CvmStorage, BytesOfThePlan) {
  Symbol s;
  s.nodes = {{"data", "", {}}, {"a", "relu", {{0, 0}}}, {"b", "negative", {{1, 0}}}};
  s.heads = {{2, 0}};
  s.shapes = {{2, 3}, {2, 3}, {5}};
  s.storage_ids = {4, 4, 9};
  const std::vector<PlannedNode> nodes = {{nullptr, 0}, {find_signature("relu"), 1}, {find_signature("negative"), 2}};
  auto bytes = check_storage(s, nodes, false);
  ASSERT_TRUE(bytes.ok()) << bytes.error().text();
  EXPECT_EQ(*bytes, 4 * (6 + 5));
  s.shapes[2] = {1 << 24, 64};
  EXPECT_FALSE(check_storage(s, nodes, false).ok()) << "more than 2^32 bytes";
}

}  // namespace
}  // namespace nnex::cvm_format
