// slow: promises that hold for whole networks: the same bytes whatever the threads, the batch and the run; instruction
// sets and passes agree within a bound.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <regex>

#include "api/read.h"
#include "graph/text/printer.h"
#include "kernels/simd/loops.h"
#include "nnex/model.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "run/compile.h"
#include "stored.h"
#include "stored_networks.h"
#include "tensor/convert.h"
#include "true_types.h"

namespace nnex {
namespace simd = kernels::simd;
namespace {

namespace fs = std::filesystem;

using stored::Network, stored::networks;

Model load(const Network& n, const LoadOptions& options = {}) {
  auto model = Model::load((n.folder / "model.onnx").string(), options);
  EXPECT_TRUE(model.ok()) << model.error().text();
  return std::move(model).value();
}

std::vector<Value> inputs_of(const Network& n) {
  return stored::inputs(n.folder, read_model((n.folder / "model.onnx").string(), {}).value());
}

std::vector<Value> answers(const Model& model, const std::vector<Value>& in, int threads = 1) {
  SessionOptions options;
  options.threads = threads;
  auto out = model.session(options).run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return out.ok() ? std::move(*out) : std::vector<Value>();
}

/// Whether two values are the same to the last bit.
bool same(const Value& a, const Value& b) {
  if (a.tensor() && b.tensor()) {
    const Tensor &x = *a.tensor(), &y = *b.tensor();
    if (x.dtype() != y.dtype() || !(x.shape() == y.shape())) return false;
    if (!is_object(x.dtype()))
      return x.bytes() == 0 || std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())) == 0;
    for (int64_t i = 0; i < x.count(); ++i)
      if (element_text(x, i) != element_text(y, i)) return false;
    return true;
  }
  if (a.sequence() && b.sequence()) {
    const auto &x = a.sequence()->items, &y = b.sequence()->items;
    return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), same);
  }
  if (a.map() && b.map()) {
    const auto &x = *a.map(), &y = *b.map();
    return same(Value(x.keys), Value(y.keys)) && x.values.size() == y.values.size() &&
           std::equal(x.values.begin(), x.values.end(), y.values.begin(), same);
  }
  return a.text() == b.text();
}

void expect_same(const std::vector<Value>& a, const std::vector<Value>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same(a[i], b[i])) << "output " << i;
}

/// The largest difference of two floating-point tensors, in parts of the largest magnitude (0 up to the difference
/// `granted`); other types must be equal.
double apart(const Value& a, const Value& b, double granted) {
  if (!a.tensor() || !is_real(a.tensor()->dtype())) return same(a, b) ? 0 : 1;
  const Tensor &x = *a.tensor(), &y = *b.tensor();
  if (!(x.shape() == y.shape())) return 1;
  double largest = 0, difference = 0;
  for (int64_t i = 0; i < x.count(); ++i) {
    if (std::isfinite(real_at(x, i))) largest = std::max(largest, std::abs(real_at(x, i)));
    const double u = real_at(x, i), v = real_at(y, i);
    if (u == v || (std::isnan(u) && std::isnan(v))) continue;
    difference = std::max(difference, std::abs(u - v));
    if (!std::isfinite(u - v)) return 1;
  }
  if (difference <= granted) return 0;
  return largest > 0 ? difference / largest : difference;
}

TEST(Networks, SameBytesWithAnyNumberOfThreadsAndInEveryRun) {
  for (const Network& n : networks()) {
    SCOPED_TRACE(n.name);
    const Model model = load(n);
    const std::vector<Value> in = inputs_of(n);
    const std::vector<Value> first = answers(model, in);
    for (int threads : {2, 3}) expect_same(first, answers(model, in, threads));
    Session session = model.session();
    for (int run = 0; run < 2; ++run) {
      auto out = session.run(in);
      ASSERT_TRUE(out.ok());
      expect_same(first, *out);
    }
  }
}

/// Text in which extents that nobody knows have one name.
std::string unnumbered(const std::string& text) {
  return std::regex_replace(text, std::regex("(\\?[a-z_]+)[0-9]+"), "$1");
}

/// Types are inferred again only where passes say that they changed something, and left some open.
TEST(Networks, PassesSayWhetherTheyChangedAnything) {
  constexpr graph_text::PrintOptions kShort = {.elements = 16};
  for (const Network& n : networks()) {
    SCOPED_TRACE(n.name);
    auto graph = read_model((n.folder / "model.onnx").string(), {});
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    ASSERT_TRUE(passes::prepare(*graph).ok());
    std::string before = graph_text::print(*graph, kShort);
    for (const passes::PassDef& pass : passes::pipeline()) {
      auto applied = pass.run(*graph);
      ASSERT_TRUE(applied.ok()) << applied.error().text();
      std::string after = graph_text::print(*graph, kShort);
      EXPECT_TRUE(*applied > 0 || pass.name == "infer_types" || before == after) << pass.name;
      before = std::move(after);
    }
    auto optimized = read_model((n.folder / "model.onnx").string(), {});
    ASSERT_TRUE(passes::prepare(*optimized).ok());
    ASSERT_TRUE(passes::optimize(*optimized, {}).ok());
    EXPECT_EQ(unnumbered(graph_text::print(*optimized, kShort)), unnumbered(before));
    test::expect_true_types(*optimized);
  }
}

/// The symbol that is the first extent of every input and output, if there is one.
std::string batch_symbol(const Model& model) {
  std::string symbol;
  for (const auto* ports : {&model.inputs(), &model.outputs()})
    for (const PortInfo& p : *ports) {
      if (!p.known_rank || p.dims.empty() || p.extents[0] >= 0 || is_object(p.dtype)) return {};
      if (!symbol.empty() && symbol != p.dims[0]) return {};
      symbol = p.dims[0];
    }
  return symbol;
}

Value stacked(const std::vector<Tensor>& parts) {
  Shape shape = parts[0].shape();
  shape.set(0, shape[0] * static_cast<int64_t>(parts.size()));
  Tensor all = Tensor::make(parts[0].dtype(), shape).value();
  std::byte* to = all.mutable_data();
  for (const Tensor& t : parts) to = std::copy_n(t.data(), t.bytes(), to);
  return Value(std::move(all));
}

TEST(Networks, SameBytesAloneAndInABatch) {
  int tried = 0;
  for (const Network& n : networks()) {
    SCOPED_TRACE(n.name);
    const Model model = load(n);
    if (batch_symbol(model).empty()) continue;
    const std::vector<Value> in = inputs_of(n);
    // The stored example between others, made of it by turning its bytes' order of elements around.
    std::vector<Value> batch;
    int64_t count = 0;
    for (const Value& v : in) {
      const Tensor& t = *v.tensor();
      Tensor other = t.clone().value();
      const auto width = static_cast<size_t>(bits(t.dtype()) / 8);
      for (int64_t i = 0; i < t.count(); ++i)
        std::memcpy(other.mutable_data() + static_cast<size_t>(i) * width,
                    t.data() + static_cast<size_t>(t.count() - 1 - i) * width, width);
      count = t.shape()[0];
      batch.push_back(stacked({other, t, other, other}));
    }
    const std::vector<Value> alone = answers(model, in), together = answers(model, batch, 2);
    auto sliced = compile(read_model((n.folder / "model.onnx").string(), {}).value(), {}, 0);
    ASSERT_TRUE(sliced.ok()) << sliced.error().text();
    expect_same(together, answers(*sliced, batch));
    ASSERT_EQ(alone.size(), together.size());
    for (size_t i = 0; i < alone.size(); ++i) {
      const Tensor &a = *alone[i].tensor(), &b = *together[i].tensor();
      ASSERT_EQ(b.shape()[0], 4 * count);
      ASSERT_EQ(b.bytes(), 4 * a.bytes());
      EXPECT_EQ(std::memcmp(a.data(), b.data() + a.bytes(), static_cast<size_t>(a.bytes())), 0) << "output " << i;
    }
    ++tried;
  }
  EXPECT_GE(tried, 1);
}

/// The absolute difference that the network's own tolerance.json grants (one that takes logarithms of small sums grants
/// much).
double granted(const Network& n) {
  std::ifstream in(n.folder / "tolerance.json");
  const auto json = nlohmann::json::parse(in, nullptr, false);
  return json.is_object() ? json.value("atol", 0.0) : 0.0;
}

TEST(Networks, EveryInstructionSetAndTheGraphAsItWasReadAgree) {
  for (const Network& n : networks()) {
    SCOPED_TRACE(n.name);
    const double grant = granted(n);
    const std::vector<Value> in = inputs_of(n);
    const std::vector<Value> best = answers(load(n), in);
    const auto check = [&](const LoadOptions& options, const std::string& what) {
      const std::vector<Value> other = answers(load(n, options), in);
      ASSERT_EQ(best.size(), other.size());
      for (size_t i = 0; i < best.size(); ++i)
        EXPECT_LE(apart(best[i], other[i], grant), 1e-4) << what << ", output " << i;
    };
    LoadOptions options;
    for (int i = 0; i < static_cast<int>(simd::Isa::count); ++i) {
      const auto isa = static_cast<simd::Isa>(i);
      if (!simd::can_run(isa)) continue;
      options.isa = *instruction_set_named(simd::name(isa));
      check(options, std::string(simd::name(isa)));
    }
    options = {};
    options.optimize = false;
    check(options, "without passes");
  }
}

/// Where products and sums are rounded one by one, no instruction set shows in the bytes.
TEST(Networks, PortableNumbersAreTheSameBytesOnEveryInstructionSet) {
  for (const Network& n : networks()) {
    SCOPED_TRACE(n.name);
    const std::vector<Value> in = inputs_of(n);
    std::vector<Value> first;
    for (int i = 0; i < static_cast<int>(simd::Isa::count); ++i) {
      const auto isa = static_cast<simd::Isa>(i);
      if (!simd::can_run(isa)) continue;
      LoadOptions options;
      options.isa = *instruction_set_named(simd::name(isa)), options.portable = true;
      const std::vector<Value> other = answers(load(n, options), in);
      if (first.empty()) first = other;
      ASSERT_EQ(first.size(), other.size());
      for (size_t k = 0; k < first.size(); ++k) {
        const Tensor &a = *first[k].tensor(), &b = *other[k].tensor();
        ASSERT_EQ(a.bytes(), b.bytes());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())), 0)
            << simd::name(isa) << ", output " << k;
      }
    }
  }
}

}  // namespace
}  // namespace nnex
