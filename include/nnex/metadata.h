#pragma once
/// What a model says of itself beside its network.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace nnex {

/// Facts about the whole model that no node needs and that survive reading and writing.
struct Metadata {
  std::string producer, producer_version, domain, doc, graph_name, graph_doc;
  int64_t ir_version = 0, model_version = 0;
  std::map<std::string, int64_t> opsets;                        ///< Version by domain; "" is ai.onnx.
  std::vector<std::pair<std::string, std::string>> properties;  ///< In the order they came.
  std::map<std::string, std::string> value_docs;                ///< By the value's name.
  std::map<std::string, std::string> node_docs;                 ///< Of the node that makes a value, by its name.
};

}  // namespace nnex
#pragma GCC visibility pop
