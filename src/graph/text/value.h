#pragma once
// What an expression of graph text is worth: something known now, or a value of the graph.

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/text/ast.h"
#include "nnex/result.h"

namespace nnex::graph_text {

struct Item {
  enum class Kind : uint8_t { none, boolean, integer, real, string, array, tuple, tensor, block, value };
  Kind kind = Kind::none;
  uint16_t depth = 0;   ///< Of lists in lists.
  uint32_t weight = 1;  ///< Items in it, its own included.
  int64_t integer = 0;  ///< Also of booleans.
  double real = 0;
  std::string text;
  std::vector<Item> items;
  std::shared_ptr<const Tensor> tensor;
  const GraphText* block = nullptr;  ///< Lives as long as the parsed text.
  ValueId value;

  static Item boolean(bool x);
  static Item of(int64_t x);
  static Item of(double x);
  static Item of(std::string x);
  static Item of(std::string_view x) { return of(std::string(x)); }
  static Item of(ValueId x);
  static Item list(std::vector<Item> items, Kind kind = Kind::array);

  bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  double number() const { return kind == Kind::real ? real : static_cast<double>(integer); }
  /// Whether a value of the graph is in it.
  bool has_value() const;
  /// "3", "[1, 2]", "a value": for messages.
  std::string text_of() const;
};

/// The value of a number, string or truth; false for every other expression.
bool literal(const Expr& e, Item& out);
/// The items of a span, which are left without content.
std::vector<Item> moved(std::span<Item> items);

/// An attribute's value as an item, and back. The way back fails for values of the graph and for lists of mixed kinds.
Item item_of(const AttrValue& v);
Result<AttrValue> attr_of(const Item& item);

/// Operators on what is known now (NNEF 1.0.5, 3.3): numbers, booleans and strings as everywhere; + joins arrays;
/// integers wrap, division truncates. Errors: operands that do not fit, division by zero; without a place.
Result<Item> unary(Tok op, const Item& x);
Result<Item> binary(Tok op, const Item& x, const Item& y);
/// x[i], and x[begin : end] of arrays and strings; none: from the start, to the end.
Result<Item> at_index(const Item& x, const Item& i);
Result<Item> slice(const Item& x, const Item& begin, const Item& end);
/// length_of, range_of, integer, scalar, logical, string. Error: not one of them, or an argument that does not fit.
Result<Item> built_in(std::string_view function, const Item& x);

/// The item as a tensor of an element type: a number or boolean, arrays of them of one length (rank by rank), or a
/// tensor of that type. Errors: a number that the type cannot hold, arrays of unequal lengths.
Result<Tensor> tensor_of(const Item& item, DType type);

}  // namespace nnex::graph_text
