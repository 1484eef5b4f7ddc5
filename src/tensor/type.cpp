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
      if (dtype == DType::none && !dims) return "unknown";
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
    for (size_t i = 1; i < s->items.size(); ++i) {
      auto both = join(item, type_of(s->items[i]), "sequence");
      if (!both) return Type::sequence({});
      item = *std::move(both);
    }
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

void write_type(const Type& type, ByteWriter& to) {
  to.number(type.kind);
  to.number(type.dtype);
  to.number(static_cast<uint8_t>((type.dims ? 1 : 0) | (type.element ? 2 : 0)));
  if (type.dims) {
    to.number(static_cast<uint32_t>(type.dims->size()));
    for (const Dim& d : *type.dims) write_dim(d, to);
  }
  if (type.element) write_type(*type.element, to);
}

Type read_type(ByteReader& from, int depth) {
  constexpr int kDeepest = 64;
  Type type;
  type.kind = from.number<Kind>();
  type.dtype = from.number<DType>();
  const auto parts = from.number<uint8_t>();
  if (type.kind > Kind::optional || type.dtype > DType::str || parts > 3 || depth > kDeepest) from.fail();
  if (parts & 1) {
    type.dims.emplace();
    for (size_t n = from.count(1); n > 0 && from.ok(); --n) type.dims->push_back(read_dim(from));
  }
  if ((parts & 2) && from.ok()) type.element = std::make_shared<const Type>(read_type(from, depth + 1));
  return from.ok() ? type : Type();
}

}  // namespace nnex

template class std::vector<nnex::Type>;
