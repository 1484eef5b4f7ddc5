#pragma once
/// NNEF beside its models: the layout of its text, a grammar for editors, quantisation files put to use.

#include <string>
#include <string_view>
#include <vector>

#include "nnex/model.h"
#include "nnex/source.h"

#pragma GCC visibility push(default)
namespace nnex {

/// A document laid out anew.
struct NnefLayout {
  std::string text;           ///< Empty where there are faults.
  std::vector<Error> faults;  ///< Of syntax, all of them, each with its line and column.
};

/// The canonical layout of an NNEF text: one statement a line, comments kept. Laying out twice changes nothing. `file`
/// is for messages; `tract`: the looser language of sonos/tract and torch-to-nnef, else the standard's.
NnefLayout format_nnef(std::string_view source, std::string_view file, bool tract = false);

/// A TextMate grammar (JSON) of NNEF's language, for editors.
std::string nnef_grammar();

/// Loads an NNEF model with its quantisation file (graph.quant) applied: its tensors take only the values that their
/// codes stand for, where Model::load takes the file as the hint that it is. Errors: those of Model::load;
/// invalid_argument (the model has no quantisation file).
Result<Model> load_quantized(const ModelSource& source, const LoadOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
