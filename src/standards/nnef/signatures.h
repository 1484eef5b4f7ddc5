#pragma once
// The standard's operations as NNEF declares them (1.0.5): names, parameters with types and defaults, results; and the
// bodies of the compound ones (reference 8.10).

#include <memory>
#include <span>
#include <string_view>

#include "graph/text/ast.h"
#include "standards/nnef/operation.h"

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

/// Where an operation's own rules go beyond those of all invocations (reference section 8).
struct OwnRules {
  std::string_view literal = "T3";     ///< Broken by a literal of another data-type in a tensor's place.
  std::string_view open_type = "T10";  ///< Broken where nothing says what `?` stands for.
  /// Whether the body accepts all that the operation does. Pools hand the border 'ignore' on to sample, which has none
  /// such (reference section 12, 45).
  bool body_fits = true;
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
  OwnRules rules;
  std::shared_ptr<const NameTable<uint32_t>> positions;  ///< Of the parameters, where they are many.

  bool is_standard() const { return index != kOwn; }
  /// A fragment without body: its meaning and shapes are somebody else's business (D7).
  bool is_custom() const { return !is_standard() && !body; }
  /// Position of the parameter; -1: there is none. `near` is where it is likely to stand.
  int find(std::string_view parameter, size_t near = 0) const {
    const auto is = [&](size_t i) {  // most names differ in their first character or length
      const std::string_view name = parameters[i].name;
      return name.size() == parameter.size() && !name.empty() && name[0] == parameter[0] && name == parameter;
    };
    if (near < parameters.size() && is(near)) return static_cast<int>(near);
    if (positions) {
      const uint32_t* at = positions->find(parameter);
      return at ? static_cast<int>(*at) : -1;
    }
    for (size_t i = 0; i < parameters.size(); ++i)
      if (is(i)) return static_cast<int>(i);
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
