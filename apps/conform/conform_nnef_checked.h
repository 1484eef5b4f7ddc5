#pragma once
// A document of NNEF checked for a conformance case: its faults, and the shape of every tensor by name.

#include <map>

#include "conform.h"
#include "standards/nnef/import_calls.h"

namespace nnex::cli {

/// What checking a document gave.
struct Checked {
  std::string source;
  nnef_format::Tensors tensors;
  Faults faults;
  std::map<std::string, nnef_format::TensorId, std::less<>> names;  ///< Of the graph's body.
};

/// The text of a file.
Status read_text(const std::string& path, Checked& c);
/// Checks the text as NNEF 1.0.
void check_text(Checked& c, const std::string& file);
/// What differs from the index's entry of a valid document, or nothing.
std::string compare_valid(const Checked& c, const Json& one);
/// An invalid document is refused, and one of its faults has the rule's number. What differs, or nothing.
std::string compare_invalid(const Checked& c, const std::string& rule);

}  // namespace nnex::cli
