// slow: networks damaged in one node each; compare() must name the tensor that the node makes.

#include "nnex/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>

#include "nnex/elements.h"
#include "nnex/input_file.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "stored_networks.h"

namespace nnex {
namespace {

namespace fs = std::filesystem;

/// The stored input beside the model, else numbers of a seed.
std::vector<Value> inputs_of(const std::string& path, const Model& model) {
  std::vector<Value> out;
  std::mt19937_64 random(7);
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const PortInfo& port = model.inputs()[i];
    const std::string stored =
        fs::path(path).parent_path().string() + "/test_data_set_0/input_" + std::to_string(i) + ".pb";
    if (fs::exists(stored)) {
      const auto file = InputFile::open(stored);
      auto value = file.ok() ? file->value(port) : Result<Value>(Error(Code::unreadable, stored));
      if (value.ok()) {
        out.push_back(std::move(*value));
        continue;
      }
    }
    std::vector<int64_t> extents = port.extents;
    for (int64_t& e : extents) e = std::max<int64_t>(e, 1);
    Tensor t = *Tensor::make(port.dtype, Shape(extents));
    for (int64_t k = 0; k < t.count(); ++k) set_real(t, k, static_cast<double>(random() >> 11) * 0x1p-53);
    out.emplace_back(std::move(t));
  }
  return out;
}

enum class Damage { weight, attribute, order };

/// What was done to a network, and which tensor shows it first: the first output of the damaged node.
struct Damaged {
  Graph graph;
  NodeId node;
  std::string tensor, what;
};

/// One element of a constant that the node reads.
bool damage_weight(Graph& g, NodeId id, const NodeInfo& node, std::mt19937_64& random) {
  std::vector<size_t> weights;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    const auto value = g.value(node.inputs[i]);
    const Tensor* t = value->constant.tensor();
    if (t && t->dtype() == DType::f32 && t->count() > 0) weights.push_back(i);
  }
  if (weights.empty()) return false;
  const size_t input = weights[random() % weights.size()];
  auto copy = g.value(node.inputs[input])->constant.tensor()->clone();
  if (!copy.ok()) return false;
  const auto at = static_cast<int64_t>(random() % static_cast<uint64_t>(copy->count()));
  set_real(*copy, at, real_at(*copy, at) * -2 + 1.5);
  const auto constant = g.add_constant(Value(std::move(*copy)));
  return constant.ok() && g.set_input(id, input, *constant).ok();
}

/// A real attribute is another number; padding moves from the end to the beginning, so that extents stay.
bool damage_attribute(Graph& g, NodeId id, const NodeInfo& node, std::mt19937_64& random) {
  Attributes changed;
  for (const auto& [name, value] : node.attributes) {
    if (const double* x = std::get_if<double>(&value)) changed.emplace_back(name, *x * 3 + 0.5);
    if (const Pairs* pairs = std::get_if<Pairs>(&value)) {
      Pairs moved = *pairs;
      bool any = false;
      for (auto& [before, after] : moved)
        if (after > 0) ++before, --after, any = true;
      if (any) changed.emplace_back(name, moved);
    }
  }
  if (changed.empty()) return false;
  const auto& [name, value] = changed[random() % changed.size()];
  return g.set_attribute(id, name, value).ok();
}

/// Two inputs change places, or one is an earlier tensor of the same type.
bool damage_order(Graph& g, NodeId id, const NodeInfo& node, std::mt19937_64& random) {
  const auto& in = node.inputs;
  if (in.size() >= 2 && in[0].valid() && in[1].valid() && !(in[0] == in[1]) && random() % 2) {
    Graph before = g;
    if (g.set_input(id, 0, in[1]).ok() && g.set_input(id, 1, in[0]).ok()) return true;
    g = before;
  }
  std::vector<ValueId> earlier;
  for (NodeId other : g.nodes()) {
    if (other == id) break;
    const NodeInfo there = *g.node(other);
    for (ValueId v : there.outputs)
      if (v.valid() && !(v == in[0]) && in[0].valid() && g.value(v)->type.text == g.value(in[0])->type.text)
        earlier.push_back(v);
  }
  return !earlier.empty() && g.set_input(id, 0, earlier[random() % earlier.size()]).ok();
}

bool damage(Graph& g, NodeId id, Damage kind, std::mt19937_64& random) {
  const NodeInfo node = *g.node(id);
  if (node.custom || !node.blocks.empty() || node.inputs.empty()) return false;
  switch (kind) {
    case Damage::weight:
      return damage_weight(g, id, node, random);
    case Damage::attribute:
      return damage_attribute(g, id, node, random);
    case Damage::order:
      return damage_order(g, id, node, random);
  }
  return false;
}

/// What a network makes of one tensor inside, by running it with that tensor as its only output.
std::optional<Tensor> tensor_inside(Graph g, ValueId v, const std::vector<Value>& inputs) {
  if (!g.set_outputs({{"seen", v}}).ok()) return std::nullopt;
  LoadOptions plain;
  plain.optimize = false;
  const auto model = Model::compile(std::move(g), plain);
  if (!model.ok()) return std::nullopt;
  auto out = model->session().run(inputs);
  if (!out.ok() || !(*out)[0].tensor()) return std::nullopt;
  return *(*out)[0].tensor();
}

/// Whether somebody would call the tensors different, by a plain formula: far beyond any tolerance.
bool clearly_differ(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype() || is_object(a.dtype())) return false;
  double max = 0, apart = 0;
  for (int64_t i = 0; i < a.count(); ++i) {
    const double x = real_at(a, i), y = real_at(b, i);
    if (!std::isfinite(x) || !std::isfinite(y)) return false;
    max = std::max(max, std::abs(x)), apart = std::max(apart, std::abs(x - y));
  }
  return apart > 0.01 * max && apart > 1e-6;
}

/// A network with one node damaged so that its output shows it; nothing where none was found.
std::optional<Damaged> damaged(const Graph& whole, Damage kind, const std::vector<Value>& inputs,
                               std::mt19937_64& random) {
  const std::vector<NodeId> nodes = whole.nodes();
  for (int attempt = 0; attempt < 40; ++attempt) {
    Damaged out{whole, nodes[random() % nodes.size()], "", ""};
    const auto node = whole.node(out.node);
    if (node->outputs.empty() || !node->outputs[0].valid()) continue;
    out.tensor = whole.value(node->outputs[0])->name;
    if (out.tensor.empty() || !damage(out.graph, out.node, kind, random)) continue;
    const auto before = tensor_inside(whole, node->outputs[0], inputs);
    const auto after = tensor_inside(out.graph, node->outputs[0], inputs);
    if (!before || !after || !clearly_differ(*before, *after)) continue;
    const auto model = Model::compile(out.graph);
    if (!model.ok() || !model->session().run(inputs).ok()) continue;  // damaged so that it does not run at all
    out.what = node->op + " makes " + out.tensor;
    return out;
  }
  return std::nullopt;
}

ModelSource as_onnx(const Graph& graph) {
  auto files = to_bytes(graph, Format::onnx);
  EXPECT_TRUE(files.ok()) << files.error().text();
  return files.ok() ? ModelSource::memory(std::move(*files)) : ModelSource("nowhere");
}

/// The network without the names of what is inside it.
Graph nameless(Graph g) {
  std::vector<ValueId> outputs = g.outputs();
  for (NodeId id : g.nodes()) {
    const NodeInfo node = *g.node(id);
    for (ValueId v : node.outputs)
      if (v.valid() && std::find(outputs.begin(), outputs.end(), v) == outputs.end()) (void)g.set_name(v, "").ok();
  }
  return g;
}

TEST(Compare, NamesTheDamagedTensor) {
  size_t by_name = 0, by_value = 0, shown = 0, total = 0;
  std::mt19937_64 random(2024);
  const fs::path scratch = fs::path(testing::TempDir()) / "compare_test";
  fs::create_directories(scratch);
  const auto networks = stored::networks();
  for (const auto& network : networks) {
    const std::string path = (network.folder / "model.onnx").string();
    const auto model = Model::load(path);
    ASSERT_TRUE(model.ok()) << path << model.error().text();
    const auto inputs = inputs_of(path, *model);
    if (!model->session().run(inputs).ok()) continue;
    auto whole = load_graph(path);
    ASSERT_TRUE(whole.ok());
    (void)whole->infer().ok();
    const InputsOf given = [&](const Model&) { return Result<std::vector<Value>>(inputs); };
    for (Damage kind : {Damage::weight, Damage::attribute, Damage::order, Damage::weight, Damage::order}) {
      const auto bad = damaged(*whole, kind, inputs, random);
      if (!bad) continue;
      SCOPED_TRACE(path + ": " + bad->what);
      ++total;
      CompareOptions options;
      options.layers = true;  // outputs may be the same where a later node hides the damage
      options.overwrite = true;
      options.isolate = (scratch / "cut.onnx").string();
      const auto found = compare(path, as_onnx(bad->graph), given, options);
      ASSERT_TRUE(found.ok()) << found.error().text();
      EXPECT_FALSE(found->same);
      ASSERT_TRUE(found->first);
      EXPECT_EQ(found->first->tensor.a, bad->tensor);
      by_name += found->first->tensor.a == bad->tensor;
      ASSERT_TRUE(found->isolated);
      EXPECT_EQ(found->isolated->note, "");
      EXPECT_LE(found->isolated->nodes_a, 5u);
      EXPECT_LE(found->isolated->nodes_b, 5u);
      EXPECT_TRUE(found->isolated->reproduced);
      // The same without names: what is inside is found by its content.
      const auto anonymous = compare(path, as_onnx(nameless(bad->graph)), given, [&] {
        CompareOptions o;
        o.layers = true;
        return o;
      }());
      ASSERT_TRUE(anonymous.ok()) << anonymous.error().text();
      const bool hidden = std::all_of(found->outputs.begin(), found->outputs.end(),
                                      [](const ComparedTensor& t) { return t.difference.same(); });
      EXPECT_TRUE(hidden || !anonymous->same);  // the verdict never hangs on what was matched inside
      const bool right = !hidden && anonymous->first && anonymous->first->tensor.a == bad->tensor;
      by_value += right, shown += !hidden;
      if (!right && !hidden)
        std::printf("by value: %s: %s: found %s\n", path.c_str(), bad->what.c_str(),
                    anonymous->first ? anonymous->first->tensor.a.c_str() : "nothing");
    }
  }
  std::printf("%zu damaged networks: %zu named and isolated; %zu with other outputs, %zu of them named by value\n",
              total, by_name, shown, by_value);
  EXPECT_EQ(by_name, total);
  EXPECT_GE(total, networks.size() > 15 ? 60u : 3u);
}

}  // namespace
}  // namespace nnex
