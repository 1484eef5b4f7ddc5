#include "standards/nnef/types.h"

#include <algorithm>

namespace nnex::nnef_format {
namespace {

template <TypeKind kind>
const DeclaredType* simple(Of of) {
  static constexpr DeclaredType kTypes[] = {{kind, Of::scalar}, {kind, Of::integer}, {kind, Of::logical},
                                            {kind, Of::string}, {kind, Of::generic}, {kind, Of::unbound}};
  return &kTypes[static_cast<size_t>(of)];
}

std::string_view name(Of of) {
  constexpr std::string_view kNames[] = {"scalar", "integer", "logical", "string", "?", ""};
  return kNames[static_cast<size_t>(of)];
}

/// The rule that a data-type breaks; "" when it fits. In the body of a generic fragment `?` is still open: every type
/// casts to it there (3.3.1), and each call of the fragment compares anew, with the type that it stands for.
std::string_view misfit(Of from, Of to, Generic& generic, std::string_view otherwise) {
  if (to == Of::unbound) return {};
  if (to != Of::generic) return from == to ? std::string_view{} : otherwise;
  if (generic.source == Generic::Source::open) {
    generic = {Generic::Source::argument, from};
    return {};
  }
  if (from == generic.of || generic.of == Of::generic) return {};
  if (generic.source == Generic::Source::explicit_type) return "T11";
  if (generic.source == Generic::Source::declared_default) return "T12";
  if (from != Of::generic) return "T10";
  generic.of = Of::generic;
  return {};
}

}  // namespace

std::string_view name(ItemType type) { return name(of_item(type)); }

std::string text(const DeclaredType& t) {
  switch (t.kind) {
    case TypeKind::primitive:
      return std::string(name(t.of));
    case TypeKind::tensor:
      return "tensor<" + std::string(name(t.of)) + ">";
    case TypeKind::array:
      return text(*t.items) + "[]";
    case TypeKind::tuple: {
      std::string out = "(";
      for (uint32_t i = 0; i < t.count; ++i) out += (i ? "," : "") + text(t.items[i]);
      return out + ")";
    }
    case TypeKind::empty:
      return "[]";
    case TypeKind::none:
      break;
  }
  return "a value";
}

const DeclaredType* primitive(Of of) { return simple<TypeKind::primitive>(of); }
const DeclaredType* tensor_of(Of of) { return simple<TypeKind::tensor>(of); }
const DeclaredType* no_type() { return simple<TypeKind::none>(Of::scalar); }
const DeclaredType* empty_array() { return simple<TypeKind::empty>(Of::scalar); }

bool has_tensor(const DeclaredType& t) {
  return t.kind == TypeKind::tensor || std::any_of(t.items, t.items + t.count, has_tensor);
}

bool has_attribute(const DeclaredType& t) {
  return t.kind == TypeKind::primitive || std::any_of(t.items, t.items + t.count, has_attribute);
}

bool mentions(const DeclaredType& t, Of of) {
  if (t.kind == TypeKind::primitive || t.kind == TypeKind::tensor) return t.of == of;
  return std::any_of(t.items, t.items + t.count, [&](const DeclaredType& i) { return mentions(i, of); });
}

const DeclaredType* replaced(const DeclaredType* t, Of generic, graph_text::Arena& arena) {
  if (generic == Of::generic || !mentions(*t, Of::generic)) return t;
  if (t->kind == TypeKind::primitive) return primitive(generic);
  if (t->kind == TypeKind::tensor) return tensor_of(generic);
  std::vector<DeclaredType> items;
  for (uint32_t i = 0; i < t->count; ++i) items.push_back(*replaced(&t->items[i], generic, arena));
  DeclaredType out = *t;
  out.items = arena.copy(items.data(), items.size()).data();
  return arena.make(out);
}

std::string_view misfit(const DeclaredType& from, const DeclaredType& to, Generic& generic) {
  if (from.kind == TypeKind::none || to.kind == TypeKind::none) return {};
  switch (to.kind) {
    case TypeKind::primitive:
      if (from.kind == TypeKind::primitive) return misfit(from.of, to.of, generic, "T2");
      return from.kind == TypeKind::tensor ? "I9" : "T2";
    case TypeKind::tensor:
      if (from.kind == TypeKind::tensor) return misfit(from.of, to.of, generic, "T7");
      if (from.kind == TypeKind::primitive) return misfit(from.of, to.of, generic, "T3");
      return from.kind == TypeKind::tuple ? "I9" : has_tensor(from) ? "I9" : "T13";
    case TypeKind::array:
      if (from.kind == TypeKind::empty) return {};
      if (from.kind == TypeKind::array) return misfit(*from.items, *to.items, generic);
      return from.kind == TypeKind::primitive ? "T2" : from.kind == TypeKind::tuple ? "T6" : "I9";
    case TypeKind::tuple:
      if (from.kind != TypeKind::tuple || from.count != to.count) return "T6";
      for (uint32_t i = 0; i < to.count; ++i)
        if (!misfit(from.items[i], to.items[i], generic).empty()) return "T6";
      return {};
    case TypeKind::empty:
      return from.kind == TypeKind::empty ? "" : "T5";
    case TypeKind::none:
      break;
  }
  return {};
}

bool castable(const DeclaredType& from, const DeclaredType& to) {
  Generic same{Generic::Source::explicit_type, Of::generic};
  return misfit(from, to, same).empty();
}

}  // namespace nnex::nnef_format
