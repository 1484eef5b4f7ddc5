#pragma once
// A document while it is written: names, lines, and what the rows of the table need before they are spelled.

#include <map>
#include <optional>
#include <set>
#include <span>

#include "graph/intervals.h"
#include "standards/export_spelling.h"
#include "standards/nnef/signatures.h"
#include "standards/nnef/write.h"

namespace nnex::nnef_format {

/// Where NNEF takes reals alone, integers may be computed as reals where those give the same whole numbers.
enum class Whole : uint8_t {
  none,   ///< They do not.
  kept,   ///< Results are among the operands, or places or truths.
  grown,  ///< Results are sums, differences or products.
};

/// A node of the graph on its way into text.
struct WriteNode {
  const Node* node = nullptr;
  PlainNode plain;                ///< Its attributes are `attrs`.
  std::shared_ptr<void> attrs;    ///< A copy that may be changed.
  std::vector<ValueId> out;       ///< In the order of the operation's results.
  std::vector<std::string> text;  ///< Instead of an operand's name, by position in plain.in.
  std::string_view want;          ///< The one spelling that fits; empty: any.
  std::string generic;            ///< "integer" in cast<integer>.
  Ints squeeze;                   ///< Axes taken away after the operation.
  bool reshape = false;           ///< The result takes the extents of the value afterwards.
  bool written = false;           ///< The row has written its own lines.
  Whole whole = Whole::none;

  AttrValue get(std::string_view field) const;
  void set(std::string_view field, const AttrValue& value);
  bool has(std::string_view field) const { return plain.op->attrs.find(field) != nullptr; }
  /// Back to the row's default.
  void reset(std::string_view field);
  void know(std::string_view port, AttrValue value) { plain.known.emplace_back(std::string(port), std::move(value)); }
  Ints ints(std::string_view field) const;
  std::string word(std::string_view field) const;
  bool flag(std::string_view field) const;
  bool given(size_t i) const { return i < plain.in.size() && plain.in[i].valid(); }
};

/// A fragment without body as the document that was read has it: the interface to whoever implements the operation.
struct OwnFragment {
  std::vector<std::optional<ItemType>> tensors;  ///< Data-types of its first parameters; nothing: any.
  std::set<std::string, std::less<>> attributes;
  size_t results = 0;
  std::string declared;  ///< "(x: tensor<scalar>, k: integer = 3) -> (y: tensor<scalar>)"
};
/// Those of a document by name, but for such with <?> or lists of tensors, whose calls do not tell the arguments apart.
std::map<std::string, OwnFragment, std::less<>> own_fragments(std::string_view document);

class Document {
 public:
  Document(const ir::Graph& graph, const WriteOptions& options);

  Result<Written> write(std::vector<Unwritable>& refused);

  const ir::Graph& graph() const { return graph_; }
  /// The concrete extents of a value.
  Ints extents(ValueId v) const;
  size_t rank(ValueId v) const { return extents(v).size(); }
  /// The content of a parameter port, which must be constant. Error: unsupported.
  Result<Ints> numbers(const WriteNode& w, size_t port, std::string_view name) const;

  /// A value as an operand: its name (a constant gets its line first), or the literal of a constant of rank 0.
  Result<std::string> operand(ValueId v, bool literals);
  /// Whether the value is an unnamed reshape of another.
  bool is_view(ValueId v) const;
  /// The value, and what it is a view of, step by step; long chains are cut.
  std::vector<ValueId> views(ValueId v) const;
  /// Whether the value's line is written where somebody needs it: reshapes and repetitions that nobody named are mostly
  /// how the engine meets NNEF's conventions, and are not said then.
  bool waits(ValueId v) const;
  /// The tensor of one element that the value repeats, as documents may write it; invalid: it is something else.
  ValueId repeated_element(ValueId v) const;
  /// Whether the value only adds extents of 1 behind another's, which broadcasting does by itself; that other one.
  ValueId without_trailing_ones(ValueId v) const;
  /// "constant<integer>(shape = [2], value = [1, 2])"; nothing where it is no text: no numbers, or not finite ones.
  std::optional<std::string> constant_text(const Tensor& content, const Ints& shape) const;
  /// The value under other extents of the same elements.
  Result<std::string> view(ValueId v, const Ints& extents);
  /// A number for each of `count` channels: [1, count], or what the value is a view of where that has more extents
  /// of 1.
  Result<std::string> channels(ValueId v, int64_t count);
  /// The value with extents of 1 in front, so that it broadcasts from axis 0 as it did from the last.
  Result<std::string> aligned(ValueId v, size_t rank, bool literals);
  /// The name of a tensor that the graph does not have.
  Result<std::string> written(const Tensor& content, const std::string& hint) { return constant({}, content, hint); }
  /// Writes a line; the name of its result.
  std::string line(const std::string& hint, const std::string& call);
  /// An integer as reals: `text` is its operand, or empty.
  Result<std::string> reals(ValueId v, std::string text);
  /// The document means the same only where the node's indices, which a run makes, are not negative.
  void count_from_start(const WriteNode& w);
  /// Whether the document's own integers are what the value is cast to: places, where those have 32 bits.
  bool gives_places(ValueId v) const;
  /// Whether both have the same line.
  bool is_shared(ValueId a, ValueId b) const;
  /// Writes a line for a named value.
  void define(ValueId v, const std::string& call);
  /// One value is the other one's line.
  Status stand_for(ValueId v, ValueId of);

 private:
  static constexpr size_t kMaxViews = 8;

  Status check_types() const;
  void name_values();
  void share_names();
  void note_names(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);
  bool as_reals(const WriteNode& w) const;
  void note_whole(const WriteNode& w);
  bool is_proven(const WriteNode& w, const Intervals& known) const;
  void note_types();
  std::string unique(std::string wanted);
  std::string label_for(const std::string& wanted);
  std::string named_line(std::string name, const std::string& call);
  Status externals();
  Status variables();
  Result<std::vector<std::string>> results();
  Status updates();
  Result<std::string> constant(ValueId v, const Tensor& content, const std::string& hint);
  Status node(NodeId id);
  Status node_now(NodeId id);
  Status spelled(WriteNode& w);
  Status spelled_as(WriteNode& w, const Declaration& d, const ExportedNode& u);
  Result<std::string> arguments(WriteNode& w, const Declaration& d, const ExportedNode& u);
  Status custom(const Node& node);
  const std::string* own_declaration(const Node& node, size_t inputs) const;
  std::string quant();
  void add_record(QuantRecord r, const std::string& name, const Ints& own, const Ints& written, QuantFile& to);

  const ir::Graph& graph_;
  const WriteOptions& options_;
  Written out_;
  std::string fragments_, body_;
  std::map<uint32_t, std::string> names_;            ///< Of values.
  std::map<size_t, std::string> constant_results_;   ///< Names of results that are constants, by their number.
  std::map<std::string, std::string> made_;          ///< Views that were written already.
  std::map<std::string, std::string> custom_names_;  ///< By the fragment's parameters and results.
  std::set<std::string> fragment_names_;
  std::map<std::string, int> fragment_numbers_;  ///< The last ones behind their names.
  std::set<std::string> taken_, labels_;
  std::map<std::string, int> numbers_, label_numbers_;  ///< The last ones behind names, and labels, that were taken.
  DType integers_ = DType::i64;                         ///< What a reader makes of integers.
  std::vector<std::string> whole_;      ///< What computes integers as reals, and is not known to stay small.
  std::optional<Intervals> intervals_;  ///< Made when they are first asked for.
  std::optional<Intervals> of_bytes_;   ///< Those of a run on whole numbers of 8 bits.
  bool from_nnef_ = false;              ///< Constants are constants, variables variables.
  std::map<std::string, std::string, std::less<>> variable_labels_;  ///< By the value's name.
  std::map<std::string, std::string> written_labels_;  ///< Of values that became variables, by their lines.
  /// A constant's line under other extents than its own.
  struct Viewed {
    std::string name;
    Ints extents;
  };
  std::map<uint32_t, Viewed> viewed_;  ///< Of constants that were first needed so.
  std::map<std::string, OwnFragment, std::less<>> own_fragments_;
};

/// "a, b, c"
std::string with_commas(const std::vector<std::string>& items);
/// An identifier made of a name of any characters.
std::string identifier(std::string_view name);
/// The data-type of an element type; nothing where NNEF has none.
std::optional<ItemType> item_type_of(DType type);
/// "[1, 2]", "0.5", "'constant'", "[(1, 1)]".
std::string attribute_text(const AttrValue& value, bool real);
std::string extents_text(const Ints& extents);
/// A number that reads back to the same f32.
std::string real_text(double x);

/// What a row needs before it is spelled; null: nothing.
using Prepare = Status (*)(Document&, WriteNode&);
Prepare find_prepare(std::string_view row);
struct PrepareRow {
  std::string_view name;
  Prepare prepare;
};
std::span<const PrepareRow> window_prepares();
/// What NNEF has no words for. Error: unsupported.
Error cannot(const WriteNode& w, std::string_view why);
/// Axes made positive, sets "to the end" listed, reduced axes taken away by a squeeze: for rows with such fields.
Status prepare_axes(Document& to, WriteNode& w);

}  // namespace nnex::nnef_format
