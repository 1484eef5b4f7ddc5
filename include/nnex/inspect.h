#pragma once
/// What a model's file says of it: inputs, operators, sizes, work.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nnex/format.h"
#include "nnex/model.h"
#include "nnex/source.h"

#pragma GCC visibility push(default)
namespace nnex {

struct OperatorCount {
  std::string name;  ///< nnex's name of the operator (`nnex ops` lists them); of custom ones the file's.
  int64_t nodes = 0;
};

/// A short text that a file holds beside its network.
struct MetadataEntry {
  std::string key = {}, text = {};
  bool internal = false;  ///< nnex keeps it to write the model as it was, and no reader asked for it.
};

struct Inspection {
  Format format = Format::onnx;
  std::string graph_name, producer, producer_version;
  std::string domain, doc, graph_doc;                   ///< Of ONNX: whose model it is, and what is told of both.
  int64_t model_version = 0;                            ///< Of ONNX.
  int64_t ir_version = 0;                               ///< Of ONNX; 0: the file says none.
  std::vector<std::pair<std::string, int64_t>> opsets;  ///< Of ONNX, by domain; "" is ai.onnx.
  std::vector<std::string> external_files;              ///< Of ONNX: those that its tensors lie in, as it names them.
  /// Of ONNX: inputs whose default is an initializer. Here it is a constant: no run can be given another.
  std::vector<std::string> defaults;
  std::vector<MetadataEntry> metadata;
  std::vector<PortInfo> inputs, outputs, states;
  std::vector<std::string> symbols;      ///< Names of extents that are no numbers.
  int64_t nodes = 0;                     ///< Those of blocks, too; functions are called where they are used.
  std::vector<OperatorCount> operators;  ///< By name.
  int64_t parameters = 0;                ///< Elements of constants that are read, without operators' settings.
  int64_t parameter_bytes = 0;
  std::string multiply_adds;  ///< Of a run: a number, or a formula of symbols.
  std::optional<int64_t> multiply_add_count;
  std::vector<std::string> multiply_add_symbols;  ///< The symbols of the formula.
  /// Bytes of the results that live at once when the nodes run in the file's order, each from its node to its last
  /// reader, inputs included; nothing where an extent is no number. What a session takes is Session::memory(): less
  /// where nodes are fused, more where kernels need room.
  std::optional<int64_t> activation_bytes;
};

/// Looks into a model: its types are inferred, no pass runs. Structures without their weights are read, too. Errors: as
/// of load_graph.
Result<Inspection> inspect(const ModelSource& source, const LoadOptions& options = {});

/// How many nodes of which operators an ONNX model's file has, by their names there, those of branches and loops too
/// and those of functions not: what other tools count. Of another standard's model none. Errors: unreadable,
/// invalid_model, limit.
Result<std::vector<OperatorCount>> file_nodes(const ModelSource& source, const LoadOptions& options = {});

/// The operators of an ONNX model's nodes and of its functions' nodes as the file names them, each once, with those of
/// the standard by which other domains' are read (Conv for FusedConv); of another standard's model none. Errors:
/// unreadable, invalid_model, limit.
Result<std::vector<std::string>> file_operators(const ModelSource& source, const LoadOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
