#pragma once
// Functions of a model (FunctionProto): kept as their bytes, expanded where they are called.

#include <map>
#include <memory>
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
};

Result<FunctionParts> function_parts(std::string_view message);
Result<std::pair<std::string, std::string>> read_pair(std::string_view message);
Result<std::pair<std::string, int64_t>> read_opset(std::string_view message);

/// Functions that call themselves, over others or not: an error for each circle, which names its functions. `messages`:
/// the FunctionProtos of a model.
std::vector<Error> function_cycles(const std::vector<std::string_view>& messages);

class OnnxFunction : public Function {
 public:
  OnnxFunction(std::string key, std::string_view message, Source source, Limits limits)
      : key_(std::move(key)), message_(message), source_(std::move(source)), limits_(limits) {}
  const std::string& key() const { return key_; }
  /// The FunctionProto.
  std::string_view message() const { return message_; }
  Status expand(ir::Graph& graph, NodeId call) const override;

 private:
  std::string key_;
  std::string_view message_;  ///< In the file, which source_ keeps alive.
  Source source_;
  Limits limits_;
};

Result<std::shared_ptr<const OnnxFunction>> read_function(std::string_view message, const Source& source,
                                                          Limits limits);

}  // namespace nnex::onnx_format
