#pragma once
// Networks and their stored inputs, as files.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "graph/graph.h"
#include "nnex/model.h"
#include "source.h"
#include "standards/onnx/read_proto.h"

namespace nnex::stored {

/// The folder of shared vectors: NNEX_SHARED, else beside the sources.
inline std::filesystem::path shared() {
  const char* set = std::getenv("NNEX_SHARED");
  return set ? std::filesystem::path(set) : std::filesystem::path(test::source_dir() + "/../shared");
}

/// The value of a .pb file that holds what a port of type `type` takes.
inline Value value(const std::filesystem::path& path, const Type& type) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  auto owner = std::make_shared<const std::string>(bytes.str());
  return std::move(onnx_format::read_value(*owner, type, {owner, nullptr})).value().value;
}

/// test_data_set_0/input_I.pb of a network's folder, in the order of its inputs.
inline std::vector<Value> inputs(const std::filesystem::path& folder, const ir::Graph& graph) {
  std::vector<Value> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    out.push_back(
        value(folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"), graph[graph.inputs()[i]].type));
  return out;
}

}  // namespace nnex::stored
