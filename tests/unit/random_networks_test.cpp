// Networks of several nodes, made at random, in every way to run them: what goes wrong between nodes (memory given away
// too early, workspace of blocks, fusions, layouts, results that nobody reads or that several do). The oracle is the
// same network as it was made, without passes, on one thread and at known extents. NNEX_NETWORK_CASES says how many
// networks, NNEX_NETWORK_SEED which is the first; with the latter each is named before it runs.

#include "random_networks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "base/try.h"
#include "kernels/kernel.h"
#include "nnex/elements.h"
#include "nnex/file.h"
#include "nnex/model.h"
#include "plan/plan.h"
#include "share.h"
#include "source.h"

namespace nnex::test {
namespace {

using Values = std::vector<Value>;

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

/// How far apart numbers may be that need not be the same.
struct Allowed {
  double relative = 1e-4;  ///< Of the largest magnitude in their tensor, or of `floor` where that is larger.
  double floor = 0.1;
  double steps = 0;  ///< Of bytes.
};

Allowed bound_of(const RandomFamily& family, DType type) {
  // A sum beside the middle of two codes becomes either, and what is made of it moves by as many steps as it weighs.
  // Most networks of codes are on a grid, where sums have one value: there nothing may differ.
  if (family.codes) return {0.2, 0.1, 48};
  return type == DType::f16 ? Allowed{2e-2, 1, 0} : Allowed{};
}

/// "" where found is wanted, as far as it has to be.
std::string apart(const Tensor& wanted, const Tensor& found, bool exact, const Allowed& bound) {
  if (wanted.dtype() != found.dtype() || !(wanted.shape() == found.shape()))
    return fmt::format("found {}, needed {}", Value(found).text(), Value(wanted).text());
  if (same_bytes(wanted, found)) return "";
  double largest = bound.floor;
  for (int64_t i = 0; i < wanted.count(); ++i)
    if (std::isfinite(real_at(wanted, i))) largest = std::max(largest, std::abs(real_at(wanted, i)));
  const bool byte = wanted.dtype() == DType::u8 || wanted.dtype() == DType::i8;
  const double slack = exact ? 0 : byte ? bound.steps : bound.relative * largest;
  // Of halves those that several operators compute in one go are rounded less often, and pass their end elsewhere.
  const bool half = wanted.dtype() == DType::f16 && !exact;
  int64_t first = -1, beyond = 0;
  for (int64_t i = 0; i < wanted.count(); ++i) {
    const double a = real_at(wanted, i), b = real_at(found, i);
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= slack) continue;
    if (half && !(std::isfinite(a) && std::isfinite(b))) continue;
    if (beyond++ == 0) first = i;
  }
  if (beyond == 0) return "";
  return fmt::format("{} elements of {} differ, the first of them {}: found {}, needed {}; the largest is {}", beyond,
                     Value(wanted).text(), first, element_text(found, first), element_text(wanted, first), largest);
}

/// A network, and what it has to compute.
class Trial {
 public:
  explicit Trial(uint32_t seed) : family_(random_family(seed)), net_(random_network(seed)) {}

  const RandomNet& net() const { return net_; }
  /// Whether it computes something: numbers, not NaN and infinities alone.
  bool answered() const {
    return wanted_[0].ok() && std::any_of(wanted_[0]->begin(), wanted_[0]->end(), [](const Value& v) {
             const Tensor& t = *v.tensor();
             for (int64_t i = 0; i < t.count(); ++i)
               if (!std::isfinite(real_at(t, i))) return false;
             return true;
           });
  }
  std::string text() const {
    PrintOptions short_constants;
    short_constants.elements = 16;
    return net_.forms()[0].text(short_constants);
  }

  /// The first fault; "": none.
  std::string run(InstructionSet other) {
    ask_oracle();
    if (const std::string wrong = run_optimized(InstructionSet::best, true); !wrong.empty()) return wrong;
    return other == InstructionSet::best ? "" : run_optimized(other, false);
  }

 private:
  static constexpr const char* kRuns[] = {"first run", "second run", "first run again"};

  static Result<Model> compiled(const Graph& graph, bool optimize, InstructionSet isa = InstructionSet::best) {
    LoadOptions options;
    options.optimize = optimize, options.isa = isa;
    return Model::compile(graph, options);
  }

  /// Of each size by itself; what it refuses the others have to refuse with the same words.
  void ask_oracle() {
    const std::vector<Graph>& forms = net_.forms();
    for (size_t size = 0; size < 2; ++size) {
      in_.push_back(net_.inputs(size == 1));
      wanted_.push_back([&]() -> Result<Values> {
        NNEX_ASSIGN(const Model model, compiled(forms[forms.size() == 1 ? 0 : size + 1], false));
        SessionOptions options;
        options.threads = 1;
        return model.session(options).run(in_.back());
      }());
    }
  }

  std::string run_optimized(InstructionSet isa, bool threads) {
    const std::string how = fmt::format("optimised, {}", name(isa));
    const auto model = compiled(net_.forms()[0], true, isa);
    if (!model.ok()) {
      const bool both = !wanted_[0].ok() && wanted_[0].error().message() == model.error().message();
      return both ? "" : fmt::format("{}: {}", how, model.error().text());
    }
    std::vector<Result<Values>> one = runs(*model, 1);
    for (size_t i = 0; i < one.size(); ++i)
      if (std::string wrong = against_oracle(one[i], i % 2); !wrong.empty())
        return fmt::format("{}, {}: {}", how, kRuns[i], wrong);
    if (std::string wrong = repeated(one[0], one[2]); !wrong.empty())
      return fmt::format("{}, {}: {}", how, kRuns[2], wrong);
    if (!threads) return "";
    const std::vector<Result<Values>> two = runs(*model, 2);
    for (size_t i = 0; i < two.size(); ++i)
      if (std::string wrong = repeated(one[i], two[i]); !wrong.empty())
        return fmt::format("{}, 2 threads, {}: {}", how, kRuns[i], wrong);
    return "";
  }

  /// Both sizes in one session, and the first again; with several threads into memory that is given.
  std::vector<Result<Values>> runs(const Model& model, int threads) const {
    SessionOptions options;
    options.threads = threads;
    Session session = model.session(options);
    std::vector<Result<Values>> out;
    for (size_t i = 0; i < 2; ++i) out.push_back(session.run(in_[i]));
    out.push_back(threads > 1 && out[0].ok() ? into(session, *out[0]) : session.run(in_[0]));
    return out;
  }

  Result<Values> into(Session& session, const Values& like) const {
    std::vector<Tensor> memory;
    for (const Value& v : like) {
      NNEX_ASSIGN(Tensor t, Tensor::make(v.tensor()->dtype(), v.tensor()->shape()));
      memory.push_back(std::move(t));
    }
    NNEX_TRY(session.run_into(in_[0], memory));
    return Values(memory.begin(), memory.end());
  }

  std::string against_oracle(const Result<Values>& found, size_t size) const {
    const Result<Values>& wanted = wanted_[size];
    if (!found.ok() || !wanted.ok()) {
      const std::string a = wanted.ok() ? "an answer" : wanted.error().message();
      const std::string b = found.ok() ? "an answer" : found.error().message();
      return a == b ? "" : fmt::format("found {}; needed {}", b, a);
    }
    for (size_t o = 0; o < wanted->size(); ++o) {
      const Tensor &a = *(*wanted)[o].tensor(), &b = *(*found)[o].tensor();
      const DType type = a.dtype() == DType::f16 ? DType::f16 : net_.type;
      if (std::string wrong = apart(a, b, net_[net_.outputs()[o]].exact, bound_of(family_, type)); !wrong.empty())
        return fmt::format("output {}: {}", o, wrong);
    }
    return "";
  }

  static std::string repeated(const Result<Values>& first, const Result<Values>& again) {
    if (!first.ok() || !again.ok()) return first.ok() == again.ok() ? "" : "an answer in one run alone";
    for (size_t o = 0; o < first->size(); ++o)
      if (!same_bytes(*(*first)[o].tensor(), *(*again)[o].tensor())) return fmt::format("output {} has other bytes", o);
    return "";
  }

  const RandomFamily& family_;
  RandomNet net_;
  std::vector<Values> in_;
  std::vector<Result<Values>> wanted_;
};

/// Instruction sets below the best one; scalar builds are not everywhere.
std::vector<InstructionSet> others() {
  std::vector<InstructionSet> out;
  for (const InstructionSet isa : {InstructionSet::avx2, InstructionSet::scalar, InstructionSet::sse4}) {
    Graph g;
    LoadOptions options;
    options.isa = isa;
    (void)g.set_outputs({{"y", *g.add("relu", {*g.add_input("x", "f32[1]")})}});
    if (Model::compile(g, options).ok()) out.push_back(isa);
  }
  if (out.empty()) out.push_back(InstructionSet::best);
  return out;
}

int64_t from_environment(const char* name, int64_t otherwise) {
  const char* wish = std::getenv(name);
  return wish ? std::strtoll(wish, nullptr, 10) : otherwise;
}

/// Operators of a network's nodes, those of blocks too.
void count_operators(const Graph& g, const std::vector<NodeId>& nodes, std::set<std::string>& seen) {
  for (NodeId id : nodes) {
    const NodeInfo node = *g.node(id);
    seen.insert(node.op);
    for (BlockId b : node.blocks) count_operators(g, *g.nodes(b), seen);
  }
}

/// Kernels of regions that no family makes, with the test that compares them and asks for them by name.
bool is_tried_elsewhere(std::string_view kernel) {
  constexpr std::pair<std::string_view, std::string_view> kTests[] = {
      {"conv_int", "cvm_kernels_test"},  // of values that CVM proves to be narrow
      {"gemm_int", "cvm_kernels_test"},
      {"chain_int", "cvm_kernels_test"},
      {"gemm_codebook", "code_products_test"},
      {"gemm_halves", "code_products_test"},
      {"gather_gemm_codes", "gather_matmul_test"},  // of mixtures of experts
      {"gather_gemm_halves", "gather_matmul_test"}};
  for (const auto& [name, test] : kTests) {
    if (name != kernel) continue;
    const auto source = read_file(fmt::format("{}/tests/unit/{}.cpp", source_dir(), test));
    return source.ok() && source->find(fmt::format("\"{}\"", kernel)) != std::string::npos;
  }
  return false;
}

TEST(RandomNetworks, EveryWayToRunThemGivesTheSame) {
  const int64_t wanted = from_environment("NNEX_NETWORK_CASES", some_of(1200));
  ASSERT_GT(wanted, 0) << "NNEX_NETWORK_CASES is no number of networks";
  const bool told = std::getenv("NNEX_NETWORK_SEED") != nullptr;
  const auto first = static_cast<uint32_t>(from_environment("NNEX_NETWORK_SEED", 1));
  const std::vector<InstructionSet> sets = others();
  std::map<std::string, int64_t> networks;
  std::set<std::string> operators;
  int64_t nodes = 0, refused = 0, answered = 0, faults = 0;
  std::set<const kernels::KernelDef*> ran;
  const plan::PlanWatch watch([&](NodeId, const kernels::KernelRequest&, const kernels::KernelDef* chosen) {
    if (chosen) ran.insert(chosen);
  });
  for (uint32_t seed = first; seed - first < wanted && faults < 20; ++seed) {
    const std::string family(random_family(seed).name);
    if (told) std::fprintf(stderr, "network %u (%s)\n", seed, family.c_str());
    Trial trial(seed);
    const std::string wrong = trial.run(sets[seed / random_families().size() % sets.size()]);
    const Graph& graph = trial.net().forms()[0];
    ++networks[family];
    if (trial.answered()) ++answered;
    nodes += static_cast<int64_t>(graph.nodes().size()), refused += static_cast<int64_t>(trial.net().said.size());
    if (told)
      for (const std::string& message : trial.net().said) std::fprintf(stderr, "  refused: %s\n", message.c_str());
    count_operators(graph, graph.nodes(), operators);
    if (wrong.empty()) continue;
    ++faults;
    ADD_FAILURE() << "network " << seed << " (" << family << "): " << wrong << "\n" << trial.text();
  }
  for (const auto& [family, count] : networks) RecordProperty(family, std::to_string(count));
  RecordProperty("nodes", std::to_string(nodes));
  RecordProperty("operators", std::to_string(operators.size()));
  if (told) return;  // one seed says nothing of all
  EXPECT_LE(refused * 100, nodes) << "the generator makes many nodes that are refused";
  EXPECT_GE(answered * 100, wanted * 95) << "many networks compute nothing";
  if (some_of(1200) < 1200) return;
  for (const kernels::KernelDef* def : kernels::all_kernels()) {
    if (def->op != "fused" || ran.count(def)) continue;  // those of rows: all_kernels_test
    EXPECT_TRUE(is_tried_elsewhere(def->name))
        << def->name
        << ", a kernel of regions, ran in no network: needed is a recipe of a family that makes such a region";
  }
}

}  // namespace
}  // namespace nnex::test
