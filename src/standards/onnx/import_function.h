#pragma once
// Functions of a model (FunctionProto): kept as their bytes, expanded where they are called.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "standards/onnx/import.h"

namespace nnex::onnx_format {

struct FunctionParts {
  std::string name, domain, overload;
  std::vector<std::string> inputs, outputs, attributes;  ///< attributes: those without a default.
  std::vector<std::string_view> nodes, defaults;
  std::map<std::string, int64_t> opsets;

  /// "domain:name:overload", the key of graphs' functions.
  std::string key() const;
};

Result<FunctionParts> function_parts(std::string_view message);
Result<std::pair<std::string, std::string>> read_pair(std::string_view message);
Result<std::pair<std::string, int64_t>> read_opset(std::string_view message);

/// What each function of a model calls, functions or operators, by keys.
using FunctionCalls = std::map<std::string, std::set<std::string>>;
FunctionCalls function_calls(const std::vector<std::string_view>& messages);

/// A function that calls itself, over others or not.
struct FunctionCycle {
  std::string function;  ///< Its key.
  std::string text;      ///< The sentence that names all in the circle.
};
std::vector<FunctionCycle> function_cycles(const FunctionCalls& calls);

class OnnxFunction : public Function {
 public:
  OnnxFunction(std::string key, std::string_view message, Source source, Limits limits,
               std::shared_ptr<Findings> findings)
      : key_(std::move(key)),
        message_(message),
        source_(std::move(source)),
        limits_(limits),
        findings_(std::move(findings)) {}
  Format format() const override { return Format::onnx; }
  const std::string& key() const { return key_; }
  /// The FunctionProto.
  std::string_view message() const { return message_; }
  Status expand(ir::Graph& graph, NodeId call) const override;

 private:
  std::string key_;
  std::string_view message_;  ///< In the file, which source_ keeps alive.
  Source source_;
  Limits limits_;
  std::shared_ptr<Findings> findings_;  ///< Of a checker, which goes on past faults; null: a fault ends the expansion.
};

/// null: a function of another standard, or none.
inline const OnnxFunction* onnx_function(const Function* function) {
  return function && function->format() == Format::onnx ? static_cast<const OnnxFunction*>(function) : nullptr;
}

/// Whether every operator in the bodies of a graph's functions is the same one in the opsets of the model that calls
/// them; domains that the model does not import cannot differ.
bool bodies_fit(const ir::Graph& graph, const std::map<std::string, int64_t>& opsets);

/// A call of the function with arguments of which nothing is known, and no attributes. Its place is the function's.
void add_call(const OnnxFunction& function, ir::Graph& graph);

Result<std::shared_ptr<const OnnxFunction>> read_function(std::string_view message, const Source& source, Limits limits,
                                                          std::shared_ptr<Findings> findings);

}  // namespace nnex::onnx_format
