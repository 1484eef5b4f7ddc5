#pragma once
// A graph as an NNEF 1.0.5 document: flat text, the variables' tensors, and the quantisation file.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "nnex/source.h"
#include "standards/nnef/read_quant.h"
#include "standards/nnef/read_tensor.h"
#include "standards/unwritable.h"

namespace nnex::nnef_format {

struct WriteOptions {
  std::string name;     ///< Of the graph; empty: the graph's own.
  bool custom = false;  ///< What the standard cannot say becomes a custom operation (a fragment without body).
  /// A document that was read with fragments is written with them. The graph must be as it was read.
  bool keep_fragments = false;
  /// Where all of the graph's integers have 32 bits, the document says so in an extension of this engine's; without it,
  /// only where the document that the graph was read from did.
  bool integers32 = false;
  /// Arithmetic of integers, which NNEF has none of, is said as that of reals.
  bool integers_as_reals = true;
};

/// A document before it is saved.
struct Written {
  std::string graph, quant;                               ///< The texts; quant is empty where there is nothing to say.
  std::vector<std::pair<std::string, Tensor>> variables;  ///< By label.
  /// Variables whose files hold codes, by label: their lines of the quantisation file.
  std::map<std::string, QuantRecord, std::less<>> codes;
  /// On what the document means the same as the graph, a sentence each: what NNEF leaves undefined, and a run decides.
  std::vector<std::string> conditions;
  bool counts_from_start = false;    ///< One of them: indices that a run makes are not negative.
  bool has_whole_reals = false;      ///< One of them: whole numbers stay within those of float32;
  bool bytes_grow = false;           ///< those that are made of inputs of 8 bits may pass them too.
  std::vector<std::string> changes;  ///< What is another thing in the document, a sentence each.
  std::string renamed;               ///< Which inputs and outputs have other names there; empty: none.
};

/// The tensor file of one of the document's variables. Errors: those of write_tensor_file.
Result<TensorBytes> variable_file(const Written& model, const std::string& label, const Tensor& content);

/// Writes the graph, whose types must be inferred. Nodes that the standard cannot say are listed in `refused`; then the
/// document is not complete. Errors: invalid_argument (an extent that is no number: it names the input and symbol),
/// unsupported (an input or state that is no tensor of numbers or truth values).
Result<Written> write_document(const ir::Graph& graph, const WriteOptions& options, std::vector<Unwritable>& refused);

/// The document that the graph was read from (NnefProvenance::document) in canonical layout, with the graph's own data.
/// Errors: invalid_argument where the document does not say the same graph any more.
Result<Written> kept_document(const ir::Graph& graph);

/// Whether a document that was read has fragments with bodies.
bool has_fragment_bodies(std::string_view document);
/// Of a document with fragments what writers go by that need no more of it: its fragments without bodies; empty: it has
/// none.
std::string custom_fragments(std::string_view document);

/// Reads a document that was written as its users will: its text with every rule, the shapes of its variables, its
/// quantisation file. Error: unsupported, with what is wrong.
Status check_written(const Written& model);

enum class Packing : uint8_t { folder, tar, tgz };
/// How a path is packed by its ending: .tar; .tgz and .tar.gz; else a folder.
Packing packing_of(const std::string& path);

/// Writes the files of a model: the same bytes every time. An archive must not exist and a folder that exists be empty,
/// or with `replace` the archive, or the folder's files of these names, are replaced; its others stay, but for a
/// graph.quant, which is of the old model. Errors:
/// invalid_argument (it exists), unreadable, unsupported (a tensor that no file can hold).
Status save_model(const Written& model, const std::string& path, bool replace);

/// The names of the model's files, and the files themselves. Errors: as of save_model.
std::vector<std::string> file_names(const Written& model);
Result<std::vector<NamedBytes>> model_files(const Written& model);
/// The archive that save_model writes: tar, with gzip around it where `packed`. Errors: as of save_model.
Result<std::string> archive_bytes(const Written& model, bool packed);

}  // namespace nnex::nnef_format
