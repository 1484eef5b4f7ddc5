#pragma once
// Types of NNEF's values, and what fits where (reference section 4).

#include <string>
#include <string_view>

#include "graph/text/arena.h"
#include "standards/nnef/signatures.h"

namespace nnex::nnef_format {

using TypeKind = DeclaredType::Kind;
using Of = DeclaredType::Of;

inline ItemType item_type(Of of) {
  return of == Of::integer   ? ItemType::integer
         : of == Of::logical ? ItemType::logical
         : of == Of::string  ? ItemType::string
                             : ItemType::scalar;
}
inline Of of_item(ItemType t) { return static_cast<Of>(t); }

const DeclaredType* primitive(Of of);
const DeclaredType* tensor_of(Of of);
/// Of what has a fault already; fits everything.
const DeclaredType* no_type();
const DeclaredType* empty_array();

inline bool is_primitive(const DeclaredType& t, Of of) { return t.kind == TypeKind::primitive && t.of == of; }
/// Whether a tensor is in it.
bool has_tensor(const DeclaredType& t);
/// Whether something else than tensors is in it.
bool has_attribute(const DeclaredType& t);
bool mentions(const DeclaredType& t, Of of);
/// `?` replaced by a data-type.
const DeclaredType* replaced(const DeclaredType* t, Of generic, graph_text::Arena& arena);

/// What the `?` of a call stands for, as far as it is known.
struct Generic {
  enum class Source : uint8_t { open, explicit_type, declared_default, argument };
  Source source = Source::open;
  Of of = Of::scalar;
};

/// Whether a value of one type may stand where the other is wanted (T2, T3, T5, T6, T7, T10 - T13); binds `?`.
/// The rule that is broken, or "".
std::string_view misfit(const DeclaredType& from, const DeclaredType& to, Generic& generic);
/// The same for types without `?` to bind.
bool castable(const DeclaredType& from, const DeclaredType& to);

/// A fragment as a declaration, in the arena's memory; `f` must live as long.
Declaration declare(const graph_text::FragmentText& f, graph_text::Arena& arena);
/// A literal as a value; its content lies in the arena.
Arg literal(const graph_text::Expr& e, graph_text::Arena& arena);
/// The value of a number, string or truth; false for every other expression.
inline bool atom(const graph_text::Expr& e, Arg& out) {
  switch (e.kind) {
    case graph_text::Expr::Kind::boolean:
      return out = Arg(e.integer != 0), true;
    case graph_text::Expr::Kind::integer:
      return out = Arg(e.integer), true;
    case graph_text::Expr::Kind::real:
      return out = Arg(e.real), true;
    case graph_text::Expr::Kind::string:
      return out = Arg(e.text), true;
    default:
      return false;
  }
}

}  // namespace nnex::nnef_format
