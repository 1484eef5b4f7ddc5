#pragma once
// What the parser makes of NNEF text: expressions, assignments, fragments and the graph, each with its place.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/text/lexer.h"
#include "nnex/tensor.h"
#include "tensor/type.h"

namespace nnex::graph_text {

struct GraphText;

struct Expr {
  enum class Kind : uint8_t {
    none,           ///< The word `none`: an absent value (dumps).
    boolean,        ///< integer: 0 or 1.
    integer,        ///< integer
    real,           ///< real
    string,         ///< text
    name,           ///< text
    array,          ///< items
    tuple,          ///< items, at least two
    call,           ///< text(items): arguments with their `names`
    unary,          ///< op items[0]
    binary,         ///< items[0] op items[1]; `in` is Tok::word
    index,          ///< items[0][items[1]]
    slice,          ///< items[0][items[1] : items[2]]; ends left out are none
    choice,         ///< items[0] if items[1] else items[2]
    comprehension,  ///< [for names[i] in items[i], ... if condition yield value]; the last two items, condition or none
    tensor,         ///< tensor (dumps)
    block,          ///< block (dumps)
  };
  Kind kind = Kind::none;
  Tok op = Tok::end;
  Position at;
  uint16_t depth = 1;  ///< Of the tree of items.
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::string label;               ///< Of a call: the string after its name, "domain:name:overload" (dumps).
  std::string generic;             ///< Of a call: the type in <>.
  std::vector<std::string> names;  ///< Of a call's arguments: "" for positional ones, which come first.
  std::vector<Expr> items;
  std::shared_ptr<const Tensor> tensor;
  std::shared_ptr<const GraphText> block;
};

/// A declared type of NNEF: of a fragment's parameters and results.
struct TypeText {
  enum class Kind : uint8_t { primitive, tensor, array, tuple };
  Kind kind = Kind::primitive;
  std::string primitive;  ///< "integer", "scalar", "logical", "string", "?"; of a tensor also "".
  std::vector<TypeText> items;
};

/// A declared type of NNEF, as checkers compare it. What it points to lives as long as the text it was parsed from.
struct DeclaredType {
  enum class Kind : uint8_t {
    primitive,
    tensor,
    array,  ///< items[0][]
    tuple,  ///< (items...)
    empty,  ///< Of `[]`, which fits every array.
    none,   ///< Of what has a fault already; fits everything.
  };
  enum class Of : uint8_t {
    scalar,
    integer,
    logical,
    string,
    generic,  ///< ?
    unbound,  ///< tensor<>
  };
  Kind kind = Kind::primitive;
  Of of = Of::scalar;  ///< Of primitives and tensors.
  uint32_t count = 0;
  const DeclaredType* items = nullptr;
};

/// The left side of an assignment, or a parameter.
struct Target {
  enum class Kind : uint8_t { none, name, array, tuple };
  Kind kind = Kind::name;
  Position at;
  std::string name;
  std::optional<std::string> label;  ///< The author's name where it is no identifier (dumps).
  std::optional<Type> type;          ///< "x: f32[N,3]" (dumps).
  std::vector<Target> items;
};

struct Assignment {
  Target left;
  Expr right;
};

struct GraphText {
  Position at;
  std::string name;
  std::optional<std::string> label;
  std::vector<Target> params, results;
  std::vector<Assignment> body;
};

struct FragmentParam {
  Position at;
  std::string name;
  TypeText type;
  std::optional<Expr> otherwise;  ///< Its default.
};

struct FragmentText {
  Position at;
  std::string name;
  bool generic = false;
  std::string generic_default;
  std::vector<FragmentParam> params, results;
  bool has_body = false;
  std::vector<Assignment> body;
};

struct Document {
  std::string version;  ///< Empty: none was given (dumps).
  std::vector<std::string> extensions;
  std::vector<FragmentText> fragments;
  GraphText graph;
};

}  // namespace nnex::graph_text
