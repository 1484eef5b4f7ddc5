#pragma once
// A graph as an ONNX model.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "graph/graph.h"
#include "standards/onnx/read_proto.h"
#include "standards/onnx/write_wire.h"
#include "standards/unwritable.h"

namespace nnex::onnx_format {

class KeptNodes;

struct WriteOptions {
  std::string name;     ///< Of the graph; empty: the graph's own.
  bool custom = false;  ///< Rows that ONNX cannot say become operators of the domain "nnex".
  /// Tensors of 1 KiB and more go into a file of this name beside the model; empty: none do.
  std::string external;
  int64_t opset = 0;   ///< Of the standard domain, exactly; 0: the lowest that takes the nodes, 17 at least.
  bool stays = false;  ///< It is the one that the model had: a later one is better than a row in simpler words.
  int64_t ir = 0;      ///< The IR version, where nothing needs a later one; 0: the one of the opset.
  bool texts = true;   ///< Descriptions of values inside, and what nodes that are kept say beside their operators.
};

/// A model before it is saved. Views of the graph's tensors: the graph must live as long.
struct Written {
  wire::Message model;
  std::vector<std::string_view> external;  ///< The other file's bytes, in order.
  std::string external_name;               ///< Of that file; empty: there is none.
  std::vector<Tensor> kept;                ///< Owners of bytes that are not the graph's,
  std::shared_ptr<const void> file;        ///< and of those that are another model's.
  std::set<const MappedFile*> files;       ///< Those that bytes are of, and that are kept.
  size_t nodes = 0, initializers = 0;
  int64_t opset = 0;
  std::vector<std::string> conditions;  ///< Where the model is the same only, a sentence each.
  bool bodies_fit = true;  ///< Functions are written as they are: their operators mean the same in these opsets.
  bool kept_fit = true;    ///< So are nodes that are kept.
};

/// Writes a graph whose types are inferred and that meets ONNX's conventions (legalize_for_onnx). The opset is the
/// lowest that has the forms and types it uses, or the one that is asked for. Nodes that cannot be said are listed in
/// `refused`; then the model is not complete. Errors: unsupported (values that ONNX has no type for, kept state).
/// `kept`: nodes that are written as their file has them, in options.opset.
Result<Written> write_graph(const ir::Graph& graph, const WriteOptions& options, const KeptNodes& kept,
                            std::vector<Unwritable>& refused);

/// The messages of a model once more, with every field of theirs, known here or not: functions that nobody calls,
/// training information, device configurations, texts. With `options.external` large initializers go into that file,
/// without it data of other files come into this one, and `options.name` renames the graph; the rest is the same bytes.
/// Errors: invalid_model (bytes that are no messages), those of read_tensor.
Result<Written> copy_model(std::string_view model, Source source, const WriteOptions& options);

/// Whether a copy is the model's messages field by field, but for where data of tensors lie, and their data byte by
/// byte; `name` as the copy's WriteOptions had it. It holds a piece of either in memory at a time. Errors: internal,
/// with what differs; those of read_tensor.
Status same_model(std::string_view model, const Source& source, std::string_view copy, const Source& of_copy,
                  const std::string& name);

/// The files that tensors of a model lie in, by the names it has for them, each once. Errors: as of copy_model.
Result<std::vector<std::string>> external_files(std::string_view model);
/// From IR version 4 on: inputs of the main graph whose default is an initializer: the default runs, nobody gives them.
/// In the file's order.
Result<std::vector<std::string>> default_inputs(std::string_view model);
/// The operators of a model's nodes and of its functions' nodes, each once.
Result<std::vector<std::string>> operator_names(std::string_view model);
/// How many nodes of each operator a model's graph and the graphs inside it have.
Result<std::map<std::string, int64_t>> node_counts(std::string_view model);

/// What a model's file can hold of constants: protocol buffers end at 2 GiB. More
/// needs external data.
inline constexpr int64_t kMaxInline = int64_t{2000} << 20;

/// Writes the file, and the other one beside it: each under a temporary name first. Errors: those of may_write;
/// unreadable.
Status save_model(const Written& model, const std::string& path, Existing existing = Existing::refuse);

/// Changes the graph so that ONNX's operators say it: what is said in other words there (conventions of borders, axes,
/// types) and rows that are sentences of simpler ones. Values must have their types; new ones get theirs. The graph
/// computes the same, but for the conventions of RoiAlign, which are ONNX's afterwards. Rows that nothing is known
/// for stay, so do those that are kept, and with `integers` false those of integer networks that ONNX says in many
/// words. `opset`: the one that is asked for, as in WriteOptions.
Status legalize_for_onnx(ir::Graph& graph, const KeptNodes& kept, bool integers = true, int64_t opset = 0);

}  // namespace nnex::onnx_format
