#pragma once
// What the parser makes of NNEF text: expressions, assignments, fragments and the graph, each with its place. All of it
// are views: of an Arena, and of the source text.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/text/lexer.h"
#include "nnex/tensor.h"
#include "tensor/type.h"

namespace nnex::graph_text {

struct GraphText;

/// A declared type of NNEF, as checkers compare it.
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
  uint16_t depth = 1;  ///< At most kDeepestType.
  uint32_t count = 0;
  const DeclaredType* items = nullptr;
};

/// Lists in lists. Functions that walk through types and their values call themselves.
inline constexpr uint16_t kDeepestType = 256;

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
  uint16_t depth = 1;  ///< Of the tree of items.
  Position at;
  bool is_generic = false;  ///< Of a call: whether a type in <> stands after the name.
  DeclaredType::Of generic = DeclaredType::Of::scalar;
  union {
    int64_t integer = 0;
    double real;
    const Tensor* tensor;
    const GraphText* block;
    const std::string_view* label;  ///< Of a call: the string after its name, "domain:name:overload" (dumps); or null.
  };
  std::string_view text;
  std::span<const Expr> items;
  std::span<const std::string_view> names;  ///< Of a call's arguments: "" for positional ones.
};

/// What only dumps say of a target.
struct TargetNote {
  std::optional<std::string> label;  ///< The author's name where it is no identifier.
  std::optional<Type> type;          ///< "x: f32[N,3]"
};

/// The left side of an assignment, or a parameter.
struct Target {
  enum class Kind : uint8_t { none, name, array, tuple };
  Kind kind = Kind::name;
  Position at;
  std::string_view name;
  const TargetNote* note = nullptr;
  std::span<const Target> items;

  const std::string* label() const { return note && note->label ? &*note->label : nullptr; }
  const Type* type() const { return note && note->type ? &*note->type : nullptr; }
};

struct Assignment {
  Target left;
  Expr right;
};

struct GraphText {
  Position at;
  std::string_view name;
  std::optional<std::string_view> label;
  std::span<const Target> params, results;
  std::span<const Assignment> body;
};

struct FragmentParam {
  Position at;
  std::string_view name;
  DeclaredType type;
  const Expr* otherwise = nullptr;  ///< Its default.
};

struct FragmentText {
  Position at;
  std::string_view name;
  bool generic = false;
  bool has_generic_default = false;
  DeclaredType::Of generic_default = DeclaredType::Of::scalar;
  bool has_body = false;
  std::span<const FragmentParam> params, results;
  std::span<const Assignment> body;
};

struct ExtensionText {
  Position at;
  std::span<const std::string_view> words;  ///< Of one statement.
};

/// This engine's own: the document's tensors of integers have 32 bits, where others leave the width to their reader.
inline constexpr std::string_view kIntegers32 = "NNEX_32_bit_integers";

struct Document {
  std::string_view version;  ///< Empty: none was given (dumps).
  std::vector<ExtensionText> extensions;
  std::vector<FragmentText> fragments;
  GraphText graph;
};

}  // namespace nnex::graph_text
