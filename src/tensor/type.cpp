#include "tensor/type.h"

#include <fmt/format.h>

namespace nnex {

Type::Type(Kind kind, DType dtype, MaybeDims dims, std::shared_ptr<const Type> element)
    : kind(kind), dtype(dtype), dims(std::move(dims)), element(std::move(element)) {}
Type::Type(const Type& other) = default;
Type::Type(Type&& other) noexcept = default;
Type& Type::operator=(const Type& other) = default;
Type& Type::operator=(Type&& other) noexcept = default;
Type::~Type() = default;

Type Type::tensor(DType dtype, MaybeDims dims) { return {Kind::tensor, dtype, std::move(dims), nullptr}; }
Type Type::sequence(Type of) { return {Kind::sequence, DType::none, {}, std::make_shared<const Type>(std::move(of))}; }
Type Type::optional(Type of) { return {Kind::optional, DType::none, {}, std::make_shared<const Type>(std::move(of))}; }
Type Type::map(DType key, Type of) { return {Kind::map, key, {}, std::make_shared<const Type>(std::move(of))}; }

std::string Type::text() const {
  switch (kind) {
    case Kind::unknown:
      return "unknown";
    case Kind::tensor:
      return std::string(name(dtype)) + nnex::text(dims);
    case Kind::sparse:
      return "sparse " + std::string(name(dtype)) + nnex::text(dims);
    case Kind::sequence:
      return fmt::format("sequence({})", element ? element->text() : "unknown");
    case Kind::map:
      return fmt::format("map({}, {})", name(dtype), element ? element->text() : "unknown");
    case Kind::optional:
      return fmt::format("optional({})", element ? element->text() : "unknown");
  }
  return "unknown";
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.dims != b.dims) return false;
  if (!a.element || !b.element) return a.element == b.element;
  return *a.element == *b.element;
}

Type type_of(const Value& value) {
  if (const Tensor* t = value.tensor()) return Type::tensor(t->dtype(), dims_of(t->shape()));
  if (const SparseTensor* s = value.sparse()) return {Kind::sparse, s->values.dtype(), dims_of(s->shape), nullptr};
  if (const Sequence* s = value.sequence()) {
    if (s->items.empty()) return Type::sequence(Type::tensor(s->element));
    Type item = type_of(s->items[0]);
    for (const Value& v : s->items) item = join(item, type_of(v), "sequence").value_or(Type{});
    return Type::sequence(std::move(item));
  }
  if (const Map* m = value.map()) return Type::map(m->keys.dtype(), m->values.empty() ? Type{} : type_of(m->values[0]));
  if (const Optional* o = value.optional()) return Type::optional(o->item ? type_of(*o->item) : Type{});
  return {};
}

std::optional<Type> join(const Type& a, const Type& b, std::string_view why) {
  if (a.kind == Kind::unknown) return b;
  if (b.kind == Kind::unknown) return a;
  if (a.kind != b.kind) return std::nullopt;
  if (a.dtype != b.dtype) {
    if (a.dtype == DType::none) return b;
    if (b.dtype == DType::none) return a;
    return std::nullopt;
  }
  Type out = a;
  if (a.element && b.element) {
    auto element = join(*a.element, *b.element, why);
    if (!element) return std::nullopt;
    out.element = std::make_shared<const Type>(std::move(*element));
  }
  if (!a.dims || !b.dims || a.dims->size() != b.dims->size()) {
    out.dims.reset();
    return out;
  }
  for (size_t i = 0; i < a.dims->size(); ++i)
    if (!((*a.dims)[i] == (*b.dims)[i])) (*out.dims)[i] = Dim::unknown(why);
  return out;
}

}  // namespace nnex

template class std::vector<nnex::Type>;
