#pragma once
// An NNEF model as its container has it: structure, data, quantisation.

#include "standards/container.h"
#include "standards/nnef/import.h"
#include "standards/nnef/read_quant.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {

/// Whether a text begins as a document of NNEF does: comments and white space, then "version".
bool is_document(std::string_view text);

/// Reads the model: graph.nnef (C1), the variables' tensor files (C2, C6, C7), graph.quant (C5), whose records turn
/// stored codes into reals and are kept in the graph's metadata. `options.lowering.variable` is set here. Under
/// Dialect::tract the model is read as sonos/tract reads it.
Result<ir::Graph> read_nnef(const Container& from, ImportOptions options = {});

/// A model of the provisional draft of 2017 as NNEF 1.0, its text upgraded and its tensor files in the form of today.
struct UpgradedModel {
  Written model;
  std::vector<std::string> notes;  ///< What was changed beyond spelling, and which files were missing.
};
/// Nothing where the model is of NNEF 1.0, or has what only operations without fragments can say in 1.0 (variables in
/// fragments, lists of windows shorter than the rank). Errors: faults of the document, the first with the count of the
/// others.
Result<std::optional<UpgradedModel>> upgraded_model(const Container& from);

/// All faults of a document alone: of syntax, types, names and shapes. `notes` are for people: what was upgraded.
/// Errors: invalid_argument (a shape for an external that there is not).
Status check_document(std::string_view text, std::string_view file, const EvaluateOptions& options, Faults& faults,
                      std::vector<std::string>& notes);
/// All faults of a model: of its document, of graph.quant and of the variables' tensor files. A model that has none of
/// these files is noted alone. Errors: as check_document; C1.
Status check_model(const Container& from, const EvaluateOptions& options, Faults& faults,
                   std::vector<std::string>& notes);

/// The same of a document that came alone: of what it names, files that lie beside it are checked, and those that do
/// not are noted.
Status check_lone_document(const Container& from, const EvaluateOptions& options, Faults& faults,
                           std::vector<std::string>& notes);

/// The same of a document of tract (`lone`: one that came alone), and its graph where there are no faults.
Result<std::optional<ir::Graph>> check_tract(const Container& from, const EvaluateOptions& options, bool lone,
                                             Faults& faults, std::vector<std::string>& notes);

/// Checks a quantisation file against a document. Faults of either are appended, and notes of lines that nobody can
/// mean or run.
void check_quant_file(std::string_view quant, std::string_view quant_name, std::string_view document,
                      std::string_view document_name, Faults& faults, std::vector<std::string>& notes,
                      const EvaluateOptions& options = {});

}  // namespace nnex::nnef_format
