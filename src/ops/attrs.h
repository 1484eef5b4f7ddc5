#pragma once
// Attributes of operators: plain structs whose members the table names, so that readers, writers, text and bindings can
// reach them.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/list.h"
#include "nnex/attribute.h"
#include "nnex/tensor.h"

namespace nnex {

using AttrValue = Attribute;
using AttrMap = Attributes;

struct Field {
  std::string_view name = {};
  std::string_view doc = {};
  AttrValue (*get)(const void* attrs) = nullptr;
  /// False when the value does not fit the member (wrong kind, unknown enumerator, fraction for an integer).
  bool (*set)(void* attrs, const AttrValue& value) = nullptr;
  bool required = false;
  std::string_view kind = {};  ///< "int", "ints", "real", "bool", "dtype", "enum", "str", "tensor", ...
  std::span<const std::string_view> words = {};  ///< Enumerators, when it is an enum.
};

/// An attribute struct as the table knows it. Rows are written in lists and held as views (ops/stored.h).
template <template <class, size_t> class Some>
struct AttrTypeOf {
  Some<Field, 26> fields = {};
  std::shared_ptr<void> (*make)() = nullptr;  ///< A struct of defaults.
  std::shared_ptr<void> (*copy)(const void*) = nullptr;
  const void* type = nullptr;  ///< Identity of the C++ struct.

  constexpr const Field* find(std::string_view name) const {
    for (const Field& f : fields)
      if (f.name == name) return &f;
    return nullptr;
  }
};
using AttrType = AttrTypeOf<List>;

// An enum attribute E has, beside its definition, `constexpr std::array<std::string_view, N> enumerators(E)`: its words
// in order from 0.
template <class E>
concept WordEnum = std::is_enum_v<E> && requires {
  enumerators(E{});
};

namespace detail {

template <class T>
inline constexpr char type_tag = 0;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class M>
struct MemberOf;
template <class C, class T>
struct MemberOf<T C::*> {
  using Class = C;
  using Type = T;
};

bool set_bool(bool& to, const AttrValue& from);
bool set_int(int64_t& to, const AttrValue& from);
bool set_real(double& to, const AttrValue& from);
bool set_text(std::string& to, const AttrValue& from);
bool set_ints(Ints& to, const AttrValue& from);
bool set_reals(Reals& to, const AttrValue& from);
bool set_texts(Texts& to, const AttrValue& from);
bool set_pairs(Pairs& to, const AttrValue& from);
bool set_dtype(DType& to, const AttrValue& from);
bool set_tensor(Tensor& to, const AttrValue& from);
/// Index of a word, or of an int in range; -1 when there is none.
int word_index(std::span<const std::string_view> words, const AttrValue& from);

// GCC shows variables of templates, whatever it is told to hide by default.
template <WordEnum E>
[[gnu::visibility("hidden")]] inline constexpr auto words_of = enumerators(E{});

template <class T>
AttrValue get(const T& x) {
  if constexpr (IsOptional<T>::value)
    return x ? get(*x) : AttrValue{};
  else if constexpr (WordEnum<T>)
    return std::string(words_of<T>[static_cast<size_t>(x)]);
  else
    return AttrValue(x);
}

template <class T>
bool set(T& to, const AttrValue& from) {
  if constexpr (IsOptional<T>::value) {
    if (std::holds_alternative<std::monostate>(from)) return to.reset(), true;
    typename T::value_type item{};
    if (!set(item, from)) return false;
    to = std::move(item);
    return true;
  } else if constexpr (WordEnum<T>) {
    int i = word_index(words_of<T>, from);
    if (i >= 0) to = static_cast<T>(i);
    return i >= 0;
  } else if constexpr (std::is_same_v<T, bool>)
    return set_bool(to, from);
  else if constexpr (std::is_same_v<T, int64_t>)
    return set_int(to, from);
  else if constexpr (std::is_same_v<T, double>)
    return set_real(to, from);
  else if constexpr (std::is_same_v<T, std::string>)
    return set_text(to, from);
  else if constexpr (std::is_same_v<T, Ints>)
    return set_ints(to, from);
  else if constexpr (std::is_same_v<T, Reals>)
    return set_reals(to, from);
  else if constexpr (std::is_same_v<T, Texts>)
    return set_texts(to, from);
  else if constexpr (std::is_same_v<T, Pairs>)
    return set_pairs(to, from);
  else if constexpr (std::is_same_v<T, DType>)
    return set_dtype(to, from);
  else if constexpr (std::is_same_v<T, Tensor>)
    return set_tensor(to, from);
  else
    static_assert(!sizeof(T),
                  "an attribute struct holds bool, int64_t, double, std::string, lists of them, Pairs, DType, Tensor, "
                  "enums, optionals");
}

template <class T>
constexpr std::string_view kind_of() {
  if constexpr (IsOptional<T>::value)
    return kind_of<typename T::value_type>();
  else if constexpr (WordEnum<T>)
    return "enum";
  else if constexpr (std::is_same_v<T, bool>)
    return "bool";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "int";
  else if constexpr (std::is_same_v<T, double>)
    return "real";
  else if constexpr (std::is_same_v<T, std::string>)
    return "str";
  else if constexpr (std::is_same_v<T, Ints>)
    return "ints";
  else if constexpr (std::is_same_v<T, Reals>)
    return "reals";
  else if constexpr (std::is_same_v<T, Texts>)
    return "strs";
  else if constexpr (std::is_same_v<T, Pairs>)
    return "pairs";
  else if constexpr (std::is_same_v<T, DType>)
    return "dtype";
  else
    return "tensor";
}

template <class T>
constexpr std::span<const std::string_view> words() {
  if constexpr (IsOptional<T>::value)
    return words<typename T::value_type>();
  else if constexpr (WordEnum<T>)
    return words_of<T>;
  else
    return {};
}

/// A Field that remembers its struct, so that attrs_of<A> takes A's fields only.
template <class A>
struct FieldOf {
  Field field;
};

}  // namespace detail

struct Required {};
inline constexpr Required required;

/// One member of an attribute struct: field<&ConvAttrs::groups>("groups", "Channel groups.").
template <auto member>
constexpr auto field(std::string_view name, std::string_view doc) {
  using M = detail::MemberOf<decltype(member)>;
  using A = typename M::Class;
  using T = typename M::Type;
  return detail::FieldOf<A>{
      Field{name, doc, [](const void* attrs) { return detail::get(static_cast<const A*>(attrs)->*member); },
            [](void* attrs, const AttrValue& value) { return detail::set(static_cast<A*>(attrs)->*member, value); },
            false, detail::kind_of<T>(), detail::words<T>()}};
}
template <auto member>
constexpr auto field(std::string_view name, std::string_view doc, Required) {
  auto f = field<member>(name, doc);
  f.field.required = true;
  return f;
}

template <class A>
constexpr AttrType attrs_of(std::initializer_list<detail::FieldOf<A>> fields) {
  AttrType t;
  for (const auto& f : fields) t.fields.item[t.fields.n++] = f.field;
  t.make = []() -> std::shared_ptr<void> { return std::make_shared<A>(); };
  t.copy = [](const void* a) -> std::shared_ptr<void> { return std::make_shared<A>(*static_cast<const A*>(a)); };
  t.type = &detail::type_tag<A>;
  return t;
}

}  // namespace nnex
