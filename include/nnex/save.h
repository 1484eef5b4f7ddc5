#pragma once
/// Saving: a graph or a model of any standard in the form of any other, into files or into memory.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/compare.h"
#include "nnex/format.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/source.h"

#pragma GCC visibility push(default)
namespace nnex {

/// What becomes of a file that has the name already.
enum class Overwrite : uint8_t {
  refuse,  ///< It stays: an error.
  replace  ///< It is replaced; in a folder of NNEF or CVM the model's own files are, others stay.
};

/// The model's files in a folder of their own, or in one archive.
enum class NnefPacking : uint8_t { folder, tar, tgz };

/// What builds a graph of WebNN.
enum class WebnnForm : uint8_t {
  program,  ///< A .webnn text (docs/webnn-file.md).
  module,   ///< A JavaScript module.
  script    ///< A JavaScript script with the weights in it, for pages from a disk.
};

struct OnnxSaveOptions {
  /// Tensors of 1 KiB and more go into a file of their own beside the model, as models of more than 2 GB have them
  /// anyway.
  bool external_data = false;
  /// The opset of the standard domain, exactly; 0: the lowest that takes the operations, 17 at least, and from ONNX to
  /// ONNX the model's own. What that opset does not take as it must be said is refused.
  int64_t opset = 0;
  /// The textual syntax of ONNX, as models in .onnxtxt have it anyway.
  bool text = false;
};

struct NnefSaveOptions {
  /// A document that was read with fragments is written with them. The graph must be as it was read.
  bool keep_fragments = false;
  NnefPacking packing = NnefPacking::folder;  ///< In memory; a path's ending tells, and must not tell another.
};

struct WebnnSaveOptions {
  WebnnForm form = WebnnForm::program;  ///< In memory; a path's ending tells, and must not tell another.
};

struct SaveOptions {
  /// Nothing: what the path's ending says (.onnx; .nnef, .tar, .tgz, .tar.gz and no ending: NNEF; .webnn, .mjs, .js;
  /// .c).
  std::optional<Format> format = {};
  std::string name = {};  ///< Of the graph; empty: its own.
  bool custom = false;    ///< Operations that the standard lacks are carried as custom ones (ONNX, NNEF).
  Overwrite overwrite = Overwrite::refuse;
  OnnxSaveOptions onnx = {};
  NnefSaveOptions nnef = {};
  WebnnSaveOptions webnn = {};
};

/// Asks for a form by its word: "onnx", "onnxtxt" (ONNX's textual syntax), "nnef" (its files), "tar", "tgz" (them in
/// one archive), "webnn", "mjs", "js" (JavaScript that builds the graph), "cvm", "c". A path that is written to must
/// end as the word says. Error: invalid_argument, with all words.
Status set_form(std::string_view word, SaveOptions& options);
/// The words that set_form() knows.
std::span<const std::string_view> form_words();

/// How a written model is proven: it is run beside its source before its files have their names.
struct ProofOptions {
  Tolerance tolerance = {};
  SessionOptions session = {};
  RunOptions run = {};
  uint64_t seed = 1;  ///< Of the numbers that inputs are made of.
};

struct ConvertOptions {
  LoadOptions load = {};  ///< How the source is read.
  SaveOptions save = {};
  std::optional<ProofOptions> proof = {};  ///< Nothing: what was written is not run.
};

enum class ProbeOutcome : uint8_t {
  same,     ///< Outputs agree within the tolerance.
  differs,  ///< They do not, or what was written refuses what the source takes.
  refused   ///< The source itself refuses these inputs.
};
/// "same", "differs", "refused".
std::string_view name(ProbeOutcome outcome);

/// A run of both models on the same inputs.
struct Probe {
  std::string name;                 ///< "usual", "odd extents", "edges", "NaN and infinity".
  std::vector<std::string> inputs;  ///< Their types: "f32[1,3,224,224]".
  ProbeOutcome outcome = ProbeOutcome::same;
  /// Whether a difference keeps the file from being written. Not of NaN and infinity, of which standards say little.
  bool counts = true;
  std::vector<ComparedTensor> outputs;
  std::string note;  ///< Why it was refused, or what differs beside numbers.
};

/// What is known of a conversion.
struct Proof {
  std::vector<Probe> probes;
  /// What was written says the same as the source, field by field, and its tensors have the same bytes (ONNX to ONNX):
  /// no run is needed, and there are no probes.
  bool identical = false;
  /// The runs are of both without fusing and folding: with it they differ, since it rounds otherwise and codes that are
  /// rounded behind a sum may lie a step apart for it.
  bool plain = false;
  std::string
      unproven;  ///< Why nothing can be said: it draws random numbers, or no inputs could be made; empty: it can.

  /// No probe that counts differs.
  bool holds() const;
};

/// What was written. Numbers that the format does not have are 0.
struct SaveReport {
  Format format = Format::onnx;
  std::vector<std::string> files;              ///< Their paths.
  int64_t bytes = 0;                           ///< Of all files.
  int64_t operations = 0;                      ///< Nodes of ONNX, calls of WebNN, steps of C.
  int64_t operands = 0;                        ///< Of WebNN.
  int64_t opset = 0;                           ///< Of ONNX.
  int64_t initializers = 0;                    ///< Of ONNX.
  std::string external_file;                   ///< Of ONNX: the name of the file of tensors; empty: there is none.
  int64_t variables = 0, variable_bytes = 0;   ///< Of NNEF.
  int64_t symbol_bytes = 0, params_bytes = 0;  ///< Of CVM.
  int64_t weight_bytes = 0, arena_bytes = 0;   ///< Of C: constants, and the memory that a run is given.
  std::vector<std::string> notes;              ///< For people: what was upgraded, and what that changed.
  std::optional<Proof> proof;                  ///< Where ConvertOptions::proof asked for one.
};

/// Writes the model of a source in the form of a standard. Where nothing else is asked for, a WebNN program stays as it
/// is, and an NNEF model of the provisional draft of 2017 keeps its names, labels and fragments. CVM takes a folder's
/// path, C a name in .c (the header beside it has the same in .h). Nothing is left of a file that could not be written
/// whole, and an older one stays; so where a proof was asked for and does not hold. Errors: those of load_graph;
/// internal, a proof that does not hold (the run, the tensor and by how much); invalid_argument (the path exists, its
/// ending says no format, an extent is no number where the standard needs one); unsupported, naming every operation
/// that the standard cannot say; unreadable.
Result<SaveReport> convert(const ModelSource& source, const std::string& path, const ConvertOptions& options = {});

/// The standard that a model written there is of, by the path's ending; a name without one is a folder of NNEF. A
/// number behind a point is no ending ("net-1.0"). Error: invalid_argument for an ending that says nothing.
Result<Format> format_of_path(const std::string& path);

/// Whether a graph may be saved there, as far as it can be told before there is one: the name says a standard, nothing
/// is in the way, and the folder is there. Errors: invalid_argument, unreadable.
Status may_save(const std::string& path, const SaveOptions& options = {});

/// Writes a graph. Errors: as of convert.
Result<SaveReport> save(const Graph& graph, const std::string& path, const SaveOptions& options = {});

/// The same into memory: the files by the names that they have beside each other: "model.onnx" ("model.onnx.data");
/// "graph.nnef" with its tensors ("model.tar", "model.tgz"); "model.webnn", "model.mjs" ("model.weights"), "model.js";
/// "symbol" and "params"; "model.c" and "model.h". ModelSource::memory takes them, but for C and JavaScript (.mjs,
/// .js), which are written and not read. options.format is not asked. Errors: as of convert.
Result<std::vector<NamedBytes>> to_bytes(const Graph& graph, Format format, const SaveOptions& options = {});

/// A model's files in memory, and what is known of them; report.files are their names.
struct SavedBytes {
  std::vector<NamedBytes> files;
  SaveReport report;
};

/// convert() into memory, for programs that keep files their own way. `path`: where they will lie: its ending tells
/// what it tells convert(), files beside the model's are named after it, and nothing is opened there; empty: as
/// to_bytes() does, ONNX where no format is asked for. options.proof is not asked. Errors: as of convert, those of
/// files aside.
Result<SavedBytes> convert_to_bytes(const ModelSource& source, const ConvertOptions& options = {},
                                    const std::string& path = {});

}  // namespace nnex
#pragma GCC visibility pop
