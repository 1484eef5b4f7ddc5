#pragma once
// What the parts of a check share: what the model says of itself, where a message stands, and what was found.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "standards/onnx/check_rules.h"
#include "standards/onnx/import.h"

namespace nnex::onnx_format {

/// Where a message stands: its path, and the node, tensor or value in which it does.
struct Site {
  std::string place, owner;

  static Site of(std::string place) { return {place, place}; }
  /// A part of it.
  Site part(std::string_view name) const { return {place + " > " + std::string(name), owner}; }
};

/// A function of the model, as those who call it see it.
struct FunctionFace {
  size_t inputs = 0, outputs = 0;
  std::set<std::string, std::less<>> attributes;
};

struct CheckContext {
  const Source& source;
  BrokenRules& broken;
  Findings& findings;
  int64_t ir = 0;
  std::map<std::string, int64_t> opsets = {};  ///< That the model imports; the standard domain's name is empty.
  std::map<std::string, FunctionFace> functions = {};
  std::set<std::string> configurations = {};           ///< Of devices.
  std::map<std::string, Result<External>> files = {};  ///< Of external data, by location: opened once.

  void tell(Rule rule, const Site& at, std::string message, std::string found = {}, std::string needed = {}) {
    refuse(rule, Code::invalid_model, at, std::move(message), std::move(found), std::move(needed));
  }
  /// What may be right, and is not known here or passes a limit.
  void refuse(Rule rule, Code code, const Site& at, std::string message, std::string found = {},
              std::string needed = {}) {
    broken.add(at.owner, {rule, Error(code, std::move(message)).at(at.place), std::move(found), std::move(needed)});
  }
  /// Something that came with an IR version.
  void needs_ir(int64_t version, const Site& at, std::string_view what);
};

/// Whether every message is whole and every field of the kind that onnx.proto says, down to the last tensor.
void check_wire(CheckContext& context, std::string_view model);
/// A TensorProto.
void check_tensor(CheckContext& context, std::string_view message, const Site& site);
/// A SparseTensorProto.
void check_sparse_tensor(CheckContext& context, std::string_view message, const Site& site);
/// A TypeProto; `whole`: one of the main graph's inputs or outputs, which must say element type and shape.
void check_type(CheckContext& context, std::string_view message, const Site& site, bool whole, int depth = 0);
/// Properties: pairs of key and value.
void check_properties(CheckContext& context, const std::vector<std::string_view>& messages, const Site& site);

/// The first field of bytes of that number; empty: there is none.
std::string_view field_text(std::string_view message, wire::FieldNumber number);
/// All of them.
std::vector<std::string_view> fields_of(std::string_view message, wire::FieldNumber number);

/// The names that stand in a graph, and the graph around it.
struct NameScope {
  std::unordered_set<std::string_view> names;  ///< Given so far.
  std::unordered_set<std::string_view> later;  ///< Made by any node of the graph.
  const NameScope* outer = nullptr;

  bool here(std::string_view name) const { return names.count(name) != 0; }
  bool around(std::string_view name) const { return outer && (outer->here(name) || outer->around(name)); }
  bool comes(std::string_view name) const { return later.count(name) || (outer && outer->comes(name)); }
};

/// What is around the nodes of a graph or of a function's body.
struct Surroundings {
  const std::map<std::string, int64_t>* opsets = nullptr;  ///< Those that its nodes are of.
  const FunctionFace* function = nullptr;                  ///< The function whose body it is; null: none.
  std::string prefix;                                      ///< Of the places of what stands there.
  int depth = 0;                                           ///< Graphs in graphs.
};

enum class GraphRole : uint8_t { main, inner, training };

/// A GraphProto. `scope` has no names yet.
void check_graph(CheckContext& context, std::string_view message, NameScope& scope, GraphRole role,
                 const Surroundings& around);
/// The nodes of a graph or of a function, in their order; `scope` has the inputs and initializers.
void check_nodes(CheckContext& context, const std::vector<std::string_view>& messages, NameScope& scope,
                 const Surroundings& around);
/// One NodeProto, by all rules but those of names in its graph.
void check_node(CheckContext& context, std::string_view message, const NameScope& scope, const Surroundings& around,
                const Site& site);
/// The FunctionProtos of a model.
void check_functions(CheckContext& context, const std::vector<std::string_view>& messages);
/// TrainingInfoProtos; `main`: the names of the inference graph, whose values the algorithm sees.
void check_training(CheckContext& context, const std::vector<std::string_view>& messages, std::string_view graph,
                    const NameScope& main);

}  // namespace nnex::onnx_format
