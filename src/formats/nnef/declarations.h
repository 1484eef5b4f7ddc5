#pragma once
// The standard's operations as NNEF declares them (1.0.5): names, parameters with types and defaults, results; and the
// bodies of the compound ones (reference 8.10).

#include <span>
#include <string_view>

#include "formats/nnef/operation.h"
#include "graph/text/ast.h"

namespace nnex::nnef_format {

using graph_text::DeclaredType;

struct Parameter {
  std::string_view name;
  const DeclaredType* type = nullptr;
  bool has_default = false;
  Arg otherwise;  ///< Its default.
};

struct ResultPort {
  std::string_view name;
  const DeclaredType* type = nullptr;
};

/// An operation: of the standard, or a fragment of the document.
struct Declaration {
  static constexpr uint16_t kOwn = 0xffff;

  std::string_view name;
  uint16_t index = kOwn;  ///< In standard_operations(); kOwn: a fragment of the document.
  bool generic = false;   ///< Declared with <?>.
  bool has_generic_default = false;
  ItemType generic_default = ItemType::scalar;
  std::span<const Parameter> parameters;
  std::span<const ResultPort> results;
  /// What it means in simpler operations; null for primitives and custom operations.
  const graph_text::FragmentText* body = nullptr;

  bool is_standard() const { return index != kOwn; }
  /// A fragment without body: its meaning and shapes are somebody else's business (D7).
  bool is_custom() const { return !is_standard() && !body; }
  /// Position of the parameter; -1: there is none.
  int find(std::string_view parameter) const {
    for (size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].name == parameter) return static_cast<int>(i);
    return -1;
  }
};

/// All operations of the standard, in its order.
std::span<const Declaration> standard_operations();
/// The standard's operation of that name; null: there is none.
const Declaration* find_declaration(std::string_view name);

/// "tensor<scalar>", "(integer,integer)[]"
std::string text(const DeclaredType& type);
std::string_view name(ItemType type);

}  // namespace nnex::nnef_format
