// The nodes that make a difference, as models of their own.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/compare_layers.h"
#include "api/graph_impl.h"
#include "api/subgraph.h"
#include "base/failure.h"
#include "base/try.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "nnex/tensor_file.h"

namespace nnex {
namespace {

/// "out.onnx" and an ending: "out" + ending.
std::string beside(const std::string& path, std::string_view ending) {
  const std::string stem = has_ending(path, ".onnx") ? path.substr(0, path.size() - 5) : path;
  return stem + std::string(ending);
}

/// A file of the cut whose inputs and output have these names.
Status write_cut(const LayerNetwork& network, const Cut& cut, ValueId layer, std::span<const ValueId> inputs,
                 std::span<const std::string> names, std::span<const Value> contents, const std::string& output,
                 const std::string& path, bool replace) {
  std::map<uint32_t, Type> types;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].valid()) types[inputs[i].n] = type_of(contents[i]);
  std::vector<ValueId> there;
  std::vector<std::string> named;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].valid()) there.push_back(inputs[i]), named.push_back(names[i]);
  Subgraph part = subgraph(network.graph, cut.nodes, there, std::span(&layer, 1), [&](ValueId v) {
    const auto it = types.find(v.n);
    return it == types.end() ? network.graph[v].type : it->second;
  });
  for (size_t i = 0; i < part.graph.inputs().size(); ++i)
    part.graph.set_name(part.graph.inputs()[i], i < named.size() ? named[i] : fmt::format("input_{}", i));
  part.graph.set_name(part.graph.outputs()[0], output);
  SaveOptions options;
  options.format = Format::onnx;
  options.overwrite = replace ? Overwrite::replace : Overwrite::refuse;
  NNEX_TRY(save(wrap(std::move(part.graph)), path, options));
  return {};
}

/// The only output of a model file on these inputs.
Result<Value> answer_of(const std::string& path, const std::map<std::string, Value>& inputs, const LoadOptions& load,
                        const CompareOptions& options) {
  LoadOptions plain;
  plain.isa = load.isa, plain.portable = load.portable, plain.optimize = load.optimize,
  plain.custom_operators = load.custom_operators;
  NNEX_ASSIGN(const Model model, load_model(path, plain));
  std::vector<Value> given;
  for (const PortInfo& port : model.inputs()) {
    const auto it = inputs.find(port.name);
    if (it == inputs.end())
      return failure(Code::internal, "'{}' was written with an input '{}' beside those that were cut", path, port.name);
    given.push_back(it->second);
  }
  NNEX_ASSIGN(auto out, model.session(options.session).run(given, options.run));
  return std::move(out.at(0));
}

/// Names for the values, each another.
std::vector<std::string> names_for(const LayerNetwork& network, std::span<const ValueId> values,
                                   const std::string& taken) {
  std::set<std::string> used = {taken};
  std::vector<std::string> out;
  for (ValueId v : values) {
    const std::string& name = network.graph[v].name;
    std::string unique = name.empty() ? fmt::format("input_{}", out.size()) : name;
    while (!used.insert(unique).second) unique += "_";
    out.push_back(unique);
  }
  return out;
}

class Isolation {
 public:
  Isolation(const LayerNetwork& a, const LayerNetwork* b, const Others* others, const CompareOptions& options)
      : a_(a), b_(b), others_(others), options_(options) {}

  Status run(const Cut& cut_a, ValueId layer_a, const Cut& cut_b, ValueId layer_b, const ValuePairs& inputs,
             Isolated& out) {
    std::vector<ValueId> of_a, of_b;
    for (const auto& [x, y] : inputs) of_a.push_back(x), of_b.push_back(y);
    NNEX_ASSIGN(const auto contents, contents_of(a_, of_a, options_.a, options_));
    const std::string& name = a_.graph[layer_a].name;
    const std::string output = name.empty() ? "output" : name;
    const std::vector<std::string> names = names_for(a_, of_a, output);
    const std::string path = options_.isolate, other = beside(path, ".other.onnx");
    NNEX_TRY(write_cut(a_, cut_a, layer_a, of_a, names, contents, output, path, options_.overwrite));
    out.model = path, out.nodes_a = cut_a.nodes.size();
    if (b_) {
      NNEX_TRY(write_cut(*b_, cut_b, layer_b, of_b, names, contents, output, other, options_.overwrite));
      out.other = other, out.nodes_b = cut_b.nodes.size();
    }
    NNEX_TRY(write_inputs(names, contents, out));
    return run_again(names, contents, output, out);
  }

 private:
  Status write_inputs(std::span<const std::string> names, std::span<const Value> contents, Isolated& out) {
    std::vector<NamedTensor> tensors;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!contents[i].tensor())
        return failure(Code::unsupported, "'{}' is a {}; only tensors can be saved", names[i], contents[i].text());
      tensors.push_back({names[i], *contents[i].tensor()});
    }
    const std::string path = beside(options_.isolate, ".inputs.npz");
    NNEX_TRY(write_tensors(path, tensors, options_.overwrite ? Existing::replace : Existing::refuse));
    out.inputs = path;
    return {};
  }

  Status run_again(std::span<const std::string> names, std::span<const Value> contents, const std::string& output,
                   Isolated& out) {
    std::map<std::string, Value> inputs;
    for (size_t i = 0; i < names.size(); ++i) inputs[names[i]] = contents[i];
    NNEX_ASSIGN(const Value x, answer_of(out.model, inputs, options_.a, options_));
    Value y;
    if (b_) {
      NNEX_ASSIGN(y, answer_of(out.other, inputs, options_.b, options_));
    } else if (others_ && others_->run) {
      const std::vector<std::string> wanted = {output};
      NNEX_ASSIGN(auto answers, others_->run(out.model, inputs, wanted));
      const auto it = answers.find(output);
      if (it == answers.end()) return failure(Code::fault, "no tensor '{}' came back", output);
      y = it->second;
    } else {
      out.note = "stored tensors cannot be computed anew: the sub-model was not run against them";
      return {};
    }
    out.reproduced = !difference(x, y, options_.tolerance).same();
    return {};
  }

  const LayerNetwork& a_;
  const LayerNetwork* b_;
  const Others* others_;
  const CompareOptions& options_;
};

}  // namespace

Isolated isolate(const LayerNetwork& a, const Cut& cut_a, ValueId layer_a, const LayerNetwork* b, const Cut& cut_b,
                 ValueId layer_b, const ValuePairs& inputs, const Others* others, const CompareOptions& options) {
  Isolated out;
  if (Status s = Isolation(a, b, others, options).run(cut_a, layer_a, cut_b, layer_b, inputs, out); !s.ok())
    out.note = s.error().text();
  return out;
}

}  // namespace nnex
