// What an argument is worth where a parameter is declared: tensors, attributes, lists that a run computes.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/cast.h"
#include "standards/nnef/tract/interpreter.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {

using K = Item::Kind;

namespace {

/// The first number, truth value or text in a literal.
const Item& leaf(const Item& item) {
  const Item* at = &item;
  while ((at->kind == K::array || at->kind == K::tuple) && !at->items.empty()) at = &at->items[0];
  return *at;
}

bool any_real(const Item& item) {
  if (item.kind == K::real) return true;
  for (const Item& i : item.items)
    if (any_real(i)) return true;
  return false;
}

DType natural_type(const Item& item) {
  const Item& first = leaf(item);
  if (first.kind == K::boolean) return DType::boolean;
  if (first.kind == K::string) return DType::str;
  return first.kind == K::integer && !any_real(item) ? DType::i64 : DType::f32;
}

/// The element type two operands are computed in: reals before integers, wide before narrow.
DType common_type(DType a, DType b) {
  if (a == b || b == DType::none) return a;
  if (a == DType::none) return b;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  return bits(a) >= bits(b) ? a : b;
}

bool is_logical(std::string_view operation) {
  return operation == "and" || operation == "or" || operation == "not" || operation == "tract_core_xor";
}

}  // namespace

Result<NodeId> TractReader::add(Builder& b, const OpDef& op, std::vector<ValueId> in, size_t outputs,
                                std::shared_ptr<const void> attrs, std::vector<BlockId> blocks, Position at) {
  const NodeId id = b.node(op, std::move(in), outputs, std::move(attrs), std::move(blocks));
  types_.grow();
  if (Status s = types_.node(id); !s.ok()) {
    const Error e = std::move(s).error();
    return error(at, fmt::format("{}: {}", op.name, e.message()), e.code());
  }
  return id;
}

/// Infers nodes that were added one after another.
void TractReader::settle(size_t first_node) {
  types_.grow();
  for (size_t n = first_node; n < graph_.node_count(); ++n) (void)types_.node(NodeId{static_cast<uint32_t>(n)}).ok();
}

DType TractReader::type_of(const Item& item) const {
  return item.kind == K::value ? types_.type(item.value).dtype : DType::none;
}

std::optional<size_t> TractReader::rank_of(const Item& item) const {
  if (item.kind != K::value) return 0;
  const auto& dims = types_.type(item.value).dims;
  return dims ? std::optional(dims->size()) : std::nullopt;
}

std::optional<std::vector<int64_t>> TractReader::known(const Item& item) const {
  if (item.kind == K::integer || item.kind == K::boolean) return std::vector<int64_t>{item.integer};
  if (item.kind == K::real) {
    if (item.real != std::floor(item.real)) return std::nullopt;
    return std::vector<int64_t>{static_cast<int64_t>(item.real)};
  }
  const Tensor* t = item.kind == K::value ? types_.content(item.value) : nullptr;
  if (!t || t->count() > 64 || t->dtype() == DType::str) return std::nullopt;
  if (t->dtype() == kDimType) return std::nullopt;
  return ints_of(*t);
}

Result<ValueId> TractReader::value(const Item& item, Position at) {
  if (item.kind == K::value) return item.value;
  if (item.kind == K::tuple && item.items.size() == 1) return value(item.items[0], at);
  if (item.has_value()) {  // an array of tensors: one tensor, with an axis more
    std::vector<ValueId> parts;
    for (const Item& i : item.items) {
      NNEX_ASSIGN(const ValueId v, value(i, at));
      parts.push_back(v);
    }
    Builder b = builder(where(at, "stack"));
    NNEX_ASSIGN(const NodeId id, add(b, op("stack"), std::move(parts), 1, nullptr, {}, at));
    return graph_[id].out[0];
  }
  auto t = graph_text::tensor_of(item, natural_type(item));
  if (!t.ok()) return error(at, fmt::format("found {}; needed a tensor ({})", item.text_of(), t.error().message()));
  const ValueId v = graph_.add_constant(std::move(t).value());
  types_.grow();
  return v;
}

Result<Item> TractReader::typed(const Item& item, DType type, Position at) {
  if (item.kind != K::value && !item.has_value()) {
    auto t = graph_text::tensor_of(item, natural_type(item));
    if (!t.ok()) return error(at, fmt::format("found {}; needed a tensor", item.text_of()));
    NNEX_ASSIGN(Tensor converted, convert(*t, type));
    const ValueId v = graph_.add_constant(std::move(converted));
    types_.grow();
    return Item::of(v);
  }
  NNEX_ASSIGN(const ValueId v, value(item, at));
  if (types_.type(v).dtype == type) return Item::of(v);
  CastAttrs attrs;
  attrs.to = type;
  Builder b = builder(where(at, "cast"));
  NNEX_ASSIGN(const NodeId id, add(b, op("cast"), {v}, 1, std::make_shared<CastAttrs>(attrs), {}, at));
  return Item::of(graph_[id].out[0]);
}

/// An argument as its parameter declares it.
Result<Item> TractReader::fitted(const DeclaredType& type, Item item, Position at) {
  using Kind = DeclaredType::Kind;
  using Of = DeclaredType::Of;
  if (item.kind == K::none) return item;
  if (item.kind == K::tuple && item.items.size() == 1) return fitted(type, Item(item.items[0]), at);
  if (type.kind == Kind::tensor) {
    if (item.kind != K::array && item.kind != K::string) return item;
    NNEX_ASSIGN(const ValueId v, value(item, at));
    return Item::of(v);
  }
  if (type.kind == Kind::array && type.items->kind == Kind::primitive && type.items->of == Of::integer)
    return int_list(item, at);
  if (type.kind == Kind::array || type.kind == Kind::tuple) {
    if (item.kind != K::array && item.kind != K::tuple) item = Item::list({item});
    std::vector<Item> items;
    for (size_t i = 0; i < item.items.size(); ++i) {
      const bool tuple = type.kind == Kind::tuple;
      NNEX_ASSIGN(Item one, fitted(tuple && i < type.count ? type.items[i] : *type.items, item.items[i], at));
      items.push_back(std::move(one));
    }
    return Item::list(std::move(items), type.kind == Kind::tuple ? K::tuple : K::array);
  }
  if (type.of == Of::integer) return whole(item, at);
  if (type.of == Of::scalar && item.kind == K::integer) return Item::of(static_cast<double>(item.integer));
  if (type.of == Of::scalar && item.kind == K::value) {
    const Tensor* t = types_.content(item.value);
    if (t && t->count() == 1 && t->dtype() != kDimType) return Item::of(real_at(*t, 0));
  }
  if (type.of == Of::logical) {
    if (const auto n = known(item); n && n->size() == 1) return Item::boolean((*n)[0] != 0);
  }
  return item;
}

Result<Item> TractReader::whole(const Item& item, Position at) {
  if (const auto n = known(item); n && n->size() == 1) return Item::of((*n)[0]);
  if (item.kind == K::value) return typed(item, DType::i64, at);
  return error(at, fmt::format("found {}; needed an integer", item.text_of()));
}

Result<Item> TractReader::int_list(const Item& item, Position at) {
  std::vector<Item> flat;
  bool computed = false;
  const std::vector<Item> one = {item};
  const bool list = item.kind == K::array || item.kind == K::tuple;
  for (const Item& i : list ? item.items : one) {
    if (i.kind == K::array || i.kind == K::tuple) {
      NNEX_ASSIGN(Item inner, int_list(i, at));
      if (inner.kind == K::value) return error(at, "a list in a list that only a run knows", Code::unsupported);
      for (Item& n : inner.items) flat.push_back(std::move(n));
    } else if (const auto numbers = known(i)) {
      for (int64_t n : *numbers) flat.push_back(Item::of(n));
    } else if (i.kind == K::value) {
      computed = true;
      flat.push_back(i);
    } else {
      return error(at, fmt::format("found {}; needed integers", i.text_of()));
    }
  }
  if (!computed) return Item::list(std::move(flat));
  Builder b = builder(where(at, "concat"));
  std::vector<ValueId> parts;
  for (const Item& i : flat) {
    if (i.kind == K::integer) {
      parts.push_back(b.ints({i.integer}));
      types_.grow();
      continue;
    }
    NNEX_ASSIGN(const Item wide, typed(i, DType::i64, at));
    NNEX_ASSIGN(const NodeId id, add(b, op("reshape"), {wide.value, b.ints({-1})}, 1, nullptr, {}, at));
    parts.push_back(graph_[id].out[0]);
  }
  if (parts.size() == 1) return Item::of(parts[0]);
  const OpDef& concat = op("concat");
  auto attrs = concat.attrs.make();
  NNEX_ASSERT(concat.attrs.find("axis")->set(attrs.get(), AttrValue(int64_t{0})));
  NNEX_ASSIGN(const NodeId id, add(b, concat, std::move(parts), 1, std::move(attrs), {}, at));
  return Item::of(graph_[id].out[0]);
}

Status TractReader::align(std::vector<Item>& args, std::string_view operation, Position at) {
  const bool select = operation == "select";
  const size_t first = select ? 1 : 0;
  // The type: of what a run computes; of constants where there is nothing else.
  DType computed = DType::none, constant = DType::none, number = DType::none;
  bool fraction = false;
  for (size_t i = first; i < args.size(); ++i) {
    if (args[i].kind != K::value) {
      number = common_type(number, natural_type(args[i]));
      fraction |= args[i].kind == K::real && args[i].real != std::floor(args[i].real);
      continue;
    }
    DType& to = graph_[args[i].value].is_constant() ? constant : computed;
    to = common_type(to, type_of(args[i]));
  }
  DType type = computed != DType::none ? computed : constant != DType::none ? constant : number;
  if (fraction && !is_float(type)) type = DType::f32;
  if (is_logical(operation)) type = DType::boolean;
  size_t rank = 0, ranks_known = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool condition = i < first;
    if (args[i].kind != K::value || type_of(args[i]) != (condition ? DType::boolean : type)) {
      NNEX_ASSIGN(args[i], typed(args[i], condition ? DType::boolean : type, at));
    }
    if (const auto r = rank_of(args[i])) rank = std::max(rank, *r), ++ranks_known;
  }
  if (ranks_known != args.size()) return {};  // nobody knows: as they come
  for (Item& a : args) {
    const size_t have = *rank_of(a);
    if (have == 0 || have == rank) continue;
    Ints axes;
    for (size_t i = have; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    Builder b = builder(where(at, "unsqueeze"));
    const ValueId list = b.ints(axes);
    NNEX_ASSIGN(const NodeId id, add(b, op("unsqueeze"), {a.value, list}, 1, nullptr, {}, at));
    a = Item::of(graph_[id].out[0]);
  }
  return {};
}

}  // namespace nnex::nnef_format
