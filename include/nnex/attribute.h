#pragma once
/// Attribute: what a node is told beside its inputs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nnex/result.h"
#include "nnex/tensor.h"

#pragma GCC visibility push(default)
namespace nnex {

using Ints = std::vector<int64_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;
/// (before, after) or (begin, end), one an axis.
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

/// The value of an attribute; monostate: absent. Words of an enumeration are texts.
using Attribute =
    std::variant<std::monostate, bool, int64_t, double, std::string, Ints, Reals, Texts, Pairs, DType, Tensor>;
/// Attributes by name, in the order they came.
using Attributes = std::vector<std::pair<std::string, Attribute>>;

/// Whether two attribute values are the same; tensors by type, shape and bytes.
bool same(const Attribute& a, const Attribute& b);
/// "[1,2]", "0.5", "'reflect'", "f32".
std::string text(const Attribute& v);
/// "int", "ints", "real", "reals", "bool", "str", "strs", "pairs", "dtype", "tensor", "none".
std::string_view kind_name(const Attribute& v);

/// The attribute of that name; null when there is none.
const Attribute* find_attribute(const Attributes& attributes, std::string_view name);
/// "attribute 'angle' is 'wide'; needed a real"
Error wrong_attribute(std::string_view name, const Attribute* found, std::string_view needed);

/// The attribute of that name as a T (int64_t, double, bool, std::string, Ints, ...; an integer counts as a real), or
/// `otherwise` where there is none. Error: invalid_argument, another kind; or none where `otherwise` is nothing.
template <class T>
Result<T> attribute_as(const Attributes& attributes, std::string_view name, std::optional<T> otherwise = std::nullopt) {
  const Attribute* found = find_attribute(attributes, name);
  if (found && std::holds_alternative<std::monostate>(*found)) found = nullptr;
  if (!found && otherwise) return *std::move(otherwise);
  if (found)
    if (const T* value = std::get_if<T>(found)) return *value;
  if constexpr (std::is_same_v<T, double>)
    if (const int64_t* whole = found ? std::get_if<int64_t>(found) : nullptr) return static_cast<double>(*whole);
  return wrong_attribute(name, found, kind_name(Attribute(T{})));
}

}  // namespace nnex
#pragma GCC visibility pop
