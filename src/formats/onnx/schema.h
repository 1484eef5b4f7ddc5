#pragma once
// What ONNX's operators are called with: the attributes of their newest forms, and from which opset on a form is valid.
// Source of the facts: onnx/docs/Operators.md and Operators-ml.md.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace nnex::onnx_format {

/// The domain of the table's own rows, for those that no standard operator says: a row's name, its ports in order, its
/// fields under their names.
inline constexpr std::string_view kRowDomain = "nnex";

/// An attribute of an operator. Kinds as AttributeProto has them: i f s t g, I F S lists of them, T a type.
struct SchemaAttribute {
  std::string_view name;
  char kind = 0;
  bool required = false;
  int since = 0;  ///< The opset that brought it, where the form is older.
};

/// One operator in the form that the writer uses.
struct Schema {
  std::string_view domain, name;
  int since = 1;  ///< The first opset whose form says the same with the same inputs and attributes.
  std::string_view attributes;

  std::vector<SchemaAttribute> list() const;
  std::optional<SchemaAttribute> find(std::string_view attribute) const;
};

/// Null: the writer does not use such an operator.
const Schema* find_schema(std::string_view domain, std::string_view name);

}  // namespace nnex::onnx_format
