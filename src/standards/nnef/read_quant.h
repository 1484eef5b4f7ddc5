#pragma once
// The quantisation file of NNEF (graph.quant): which quantisation operation belongs to which tensor
// (NNEF 1.0.5, chapter 5.3; rules Q1 to Q10).

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/faults.h"
#include "graph/text/lexer.h"
#include "standards/nnef/operation.h"
#include "standards/nnef/read_tensor.h"

namespace nnex::nnef_format {

struct Literal;
using Literals = std::vector<Literal>;

/// A number, string, truth value, or an array or tuple of them.
struct Literal {
  std::variant<std::monostate, bool, int64_t, double, std::string, Literals> value;
  bool tuple = false;  ///< Of lists: (1, 2), not [1, 2].

  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
};

/// One line: the tensor, the operation, and its arguments but for the tensor, as literals.
struct QuantRecord {
  graph_text::Position at;
  std::string tensor, operation;
  std::vector<std::pair<std::string, Literal>> args;

  const Literal* find(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool flag(std::string_view name) const;
};
using QuantFile = std::vector<QuantRecord>;

/// Reads the text; `name` is the file's, for messages. Errors: invalid_model at "name:line:column": Q1 (what is no
/// line), Q5 (arguments without a name, or that are no literals); limit.
Result<QuantFile> parse_quant(std::string_view source, std::string_view name);

/// What a line may say of an operation: its parameters, the quantised tensor first.
struct QuantParameter {
  std::string_view name;
  ItemType type = ItemType::scalar;
  bool tensor = false;    ///< Takes nested arrays, too.
  bool optional = false;  ///< Has a default.
  int arrays = 0;         ///< Of an attribute: integer[][] is 2.
  bool any = false;       ///< Its type is another than these can say, or `?`.
};
using QuantParameters = std::vector<QuantParameter>;

/// What the lines are checked against.
struct QuantContext {
  /// The tensor of the graph's body of that name; null where there is none.
  std::function<const TensorInfo*(std::string_view)> tensor;
  /// Parameters of a fragment of the document; nothing where there is none. The standard's own are known.
  std::function<std::optional<QuantParameters>(std::string_view)> fragment;
};

/// Checks every line; all faults, each with its place and the rule's number (Q2 to Q10). `notes`: what the standard
/// allows and nobody can mean, or run.
void check_quant(const QuantFile& file, std::string_view name, const QuantContext& context, Faults& faults,
                 std::vector<std::string>& notes);

/// The text of the records, one a line, in the order given: what parse_quant reads back.
std::string quant_text(const QuantFile& file);

/// The reals that the codes of a quantised tensor file stand for by its record. The parameters broadcast from axis 0.
/// Errors: unsupported (an operation that stores no codes: a fragment), invalid_model (a parameter that is missing or
/// does not broadcast).
Result<Tensor> reals_of_codes(const TensorFile& file, const QuantRecord& record);

/// Codes as a tensor file stores them.
struct Codes {
  Tensor items;
  StoreAs as;
};
/// The codes of a tensor by its record, the reverse of reals_of_codes. Nothing where the operation stores no codes, or
/// where an element is not exactly what its code stands for.
std::optional<Codes> codes_of_reals(const Tensor& reals, const QuantRecord& record);

/// The extents of a literal: of a number none, of nested arrays theirs; nothing where they are jagged (Q7).
std::optional<Ints> literal_extents(const Literal& arg);
/// "[[0.0, 1.0]]", "true": a literal of the language.
std::string literal_text(const Literal& arg);

}  // namespace nnex::nnef_format
