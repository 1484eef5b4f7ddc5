#pragma once
// The provisional draft of NNEF (December 2017): recognised, and rewritten as a 1.0 document (reference section 11.1).

#include <string>
#include <string_view>
#include <vector>

#include "base/faults.h"
#include "standards/nnef/evaluate.h"
#include "standards/nnef/read_tensor.h"

namespace nnex::nnef_format {

/// Whether a text is of the draft. It has no extension statement, and either its version ends without ';' where the
/// document goes on, or a fragment uses `extent`, a bare `tensor` or [f(i) for i in a], or no statement at all of
/// several ends with ';'.
bool is_provisional(std::string_view source);

/// A document of the draft as NNEF 1.0.
struct Upgraded {
  std::string text;
  graph_text::PlaceMap places;     ///< From characters of `text` to the draft's.
  std::vector<std::string> notes;  ///< What was changed beyond spelling, a sentence each.
};

/// Rewrites the text token by token: semicolons, extensions, `extent` and bare `tensor` as 1.0 has them, comprehensions
/// with yield, tuples in parentheses, whole numbers where scalars are declared, operations and parameters that were
/// renamed; operations that 1.0 dropped come as fragments. Comments go. What 1.0 has no word for stays, for the reader
/// to report. Faults: those of the draft's lexical rules; then the text is empty.
Upgraded upgraded(std::string_view source, std::string_view file, Faults& faults);

/// A tensor file of the draft: magic and version as today, the offset of the items, rank, extents, an item type in
/// eight bits, bits an item, and a text of quantisation. Its header as 1.0 has it. Errors: invalid_model (the header
/// and the file's size do not say this), unsupported (a text of quantisation).
Result<TensorFile> read_provisional_tensor_file(std::string_view bytes, std::shared_ptr<const void> owner);

/// A document as it is evaluated: as it stands, or upgraded where it is of the draft.
class Edition {
 public:
  /// `dialect` is what the reader was asked for: the draft is looked for under Dialect::any alone.
  Edition(std::string_view source, std::string_view file, const EvaluateOptions& options, Faults& faults);

  bool provisional() const { return provisional_; }
  /// Lives as long as the Edition and the source.
  std::string_view text() const { return provisional_ ? std::string_view(upgraded_.text) : source_; }
  /// The options with the places of the text.
  EvaluateOptions options() const;
  const std::vector<std::string>& notes() const { return upgraded_.notes; }

 private:
  std::string_view source_;
  const EvaluateOptions& options_;
  bool provisional_ = false;
  Upgraded upgraded_;
};

}  // namespace nnex::nnef_format
