#pragma once
// Parser of NNEF text (flat and compositional syntax, fragments) and of the additions of graph dumps:
//   - names of any characters beside the identifier:   conv1_out 'conv1/out:0'
//   - types on the left side:                          y: f32[N,3,2*H+1] = ...
//   - tensors as literals:                             f32[2,2](1.0, 2.0, 3.0, 4.0), or f32[2]('hex bytes')
//   - an absent value, and an output nobody named:     none
//   - blocks of a node:                                body = graph (i, go) -> (go) { ... }
//   - operators outside the table:                     custom 'domain:name:overload'(x, alpha = 1.0)
//   - nan and inf as numbers.
// Documents of NNEF are read by graph/text/rules.h, assignment by assignment.

#include <memory>

#include "base/try.h"
#include "graph/text/arena.h"
#include "graph/text/ast.h"

namespace nnex::graph_text {

struct ParseLimits {
  size_t bytes = size_t{64} << 20;       ///< Of the source.
  int nesting = 48;                      ///< Expressions in expressions.
  uint16_t depth = 200;                  ///< Of an expression's tree: a sum of 200 terms.
  size_t expressions = size_t{1} << 20;  ///< Of the whole text.
  int64_t elements = int64_t{64} << 20;  ///< Of one tensor literal.
};

// What was parsed, with the memory it lies in.
struct OwnedDocument : Document {
  std::shared_ptr<const Arena> memory;
};
struct OwnedExpr : Expr {
  std::shared_ptr<const Arena> memory;
};
struct Body {
  std::span<const Assignment> assignments;
  std::shared_ptr<const Arena> memory;
  auto begin() const { return assignments.begin(); }
  auto end() const { return assignments.end(); }
};

/// A whole document: [version] extension* fragment* graph.
/// Errors: the first one, with name:line:column, what was found and what was needed; limit.
Result<OwnedDocument> parse_document(std::string_view source, std::string_view name, const ParseLimits& limits = {});
/// The assignments of a compound operator's body.
Result<Body> parse_body(std::string_view source, std::string_view name, const ParseLimits& limits = {});
/// One expression and nothing else.
Result<OwnedExpr> parse_expression(std::string_view source, std::string_view name, const ParseLimits& limits = {});
/// A type as Type::text() and dumps print it: "f32[N,3]", "sequence(f32[?])".
Result<Type> parse_type(std::string_view source, std::string_view name);

}  // namespace nnex::graph_text
