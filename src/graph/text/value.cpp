#include "graph/text/value.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/failure.h"
#include "base/try.h"
#include "tensor/convert.h"

namespace nnex::graph_text {
namespace {

using ItemKind = Item::Kind;

constexpr size_t kMaxItems = size_t{1} << 20;  ///< Of an array made by range_of or +.

Error misfit(std::string_view what, const Item& x) {
  return failure(Code::invalid_model, "{} does not take {}", what, x.text_of());
}

bool equal(const Item& x, const Item& y) {
  if (x.is_number() && y.is_number())
    return x.kind == ItemKind::integer && y.kind == ItemKind::integer ? x.integer == y.integer
                                                                      : x.number() == y.number();
  if (x.kind != y.kind) return false;
  switch (x.kind) {
    case ItemKind::none:
      return true;
    case ItemKind::boolean:
      return x.integer == y.integer;
    case ItemKind::string:
      return x.text == y.text;
    case ItemKind::array:
    case ItemKind::tuple:
      return x.items.size() == y.items.size() && std::equal(x.items.begin(), x.items.end(), y.items.begin(),
                                                            [](const Item& a, const Item& b) { return equal(a, b); });
    default:
      return false;
  }
}

int64_t integer_power(int64_t x, int64_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 ? -1 : 1) : 0;
  int64_t y = 1;
  for (; n > 0; n >>= 1, x = wrap_mul(x, x))
    if (n & 1) y = wrap_mul(y, x);
  return y;
}

Result<Item> arithmetic(Tok op, const Item& x, const Item& y) {
  if (x.kind == ItemKind::integer && y.kind == ItemKind::integer) {
    const int64_t a = x.integer, b = y.integer;
    switch (op) {
      case Tok::plus:
        return Item::of(wrap_add(a, b));
      case Tok::minus:
        return Item::of(wrap_sub(a, b));
      case Tok::star:
        return Item::of(wrap_mul(a, b));
      case Tok::slash:
        if (b == 0) return failure(Code::invalid_model, "{} / 0 has no value", a);
        return Item::of(b == -1 ? wrap_sub(0, a) : a / b);
      default:
        return Item::of(integer_power(a, b));
    }
  }
  const double a = x.number(), b = y.number();
  switch (op) {
    case Tok::plus:
      return Item::of(a + b);
    case Tok::minus:
      return Item::of(a - b);
    case Tok::star:
      return Item::of(a * b);
    case Tok::slash:
      return Item::of(a / b);
    default:
      return Item::of(std::pow(a, b));
  }
}

template <class T>
Item ordered(Tok op, const T& a, const T& b) {
  switch (op) {
    case Tok::less:
      return Item::boolean(a < b);
    case Tok::less_equal:
      return Item::boolean(a <= b);
    case Tok::greater:
      return Item::boolean(a > b);
    default:
      return Item::boolean(a >= b);
  }
}

bool is_comparison(Tok op) {
  return op == Tok::less || op == Tok::less_equal || op == Tok::greater || op == Tok::greater_equal;
}
bool is_arithmetic(Tok op) {
  return op == Tok::plus || op == Tok::minus || op == Tok::star || op == Tok::slash || op == Tok::caret;
}

}  // namespace

Item Item::boolean(bool x) {
  Item i;
  i.kind = Kind::boolean, i.integer = x;
  return i;
}
Item Item::of(int64_t x) {
  Item i;
  i.kind = Kind::integer, i.integer = x;
  return i;
}
Item Item::of(double x) {
  Item i;
  i.kind = Kind::real, i.real = x;
  return i;
}
Item Item::of(std::string x) {
  Item i;
  i.kind = Kind::string, i.text = std::move(x);
  return i;
}
Item Item::of(ValueId x) {
  Item i;
  i.kind = x.valid() ? Kind::value : Kind::none, i.value = x;
  return i;
}
Item Item::list(std::vector<Item> items, Kind kind) {
  Item list;
  list.kind = kind, list.items = std::move(items);
  for (const Item& i : list.items) {
    list.depth = std::max<uint16_t>(list.depth, static_cast<uint16_t>(i.depth + 1));
    list.weight += i.weight;
  }
  return list;
}

bool literal(const Expr& e, Item& out) {
  switch (e.kind) {
    case Expr::Kind::boolean:
      return out = Item::boolean(e.integer != 0), true;
    case Expr::Kind::integer:
      return out = Item::of(e.integer), true;
    case Expr::Kind::real:
      return out = Item::of(e.real), true;
    case Expr::Kind::string:
      return out = Item::of(e.text), true;
    default:
      return false;
  }
}

std::vector<Item> moved(std::span<Item> items) {
  return {std::make_move_iterator(items.begin()), std::make_move_iterator(items.end())};
}

bool Item::has_value() const {
  if (kind == Kind::value) return true;
  for (const Item& i : items)
    if (i.has_value()) return true;
  return false;
}

std::string Item::text_of() const {
  switch (kind) {
    case Kind::none:
      return "none";
    case Kind::tensor:
      return nnex::text(AttrValue(*tensor));
    case Kind::block:
      return "a block";
    case Kind::value:
      return "a value of the graph";
    case Kind::array:
    case Kind::tuple: {
      std::string out = kind == Kind::array ? "[" : "(";
      for (size_t i = 0; i < items.size() && i < 8; ++i) out += (i ? ", " : "") + items[i].text_of();
      if (items.size() > 8) out += ", ...";
      return out + (kind == Kind::array ? "]" : ")");
    }
    default: {
      auto v = attr_of(*this);
      return v.ok() ? nnex::text(*v) : "a value";
    }
  }
}

namespace {

template <class List>
Item each(const List& x) {
  std::vector<Item> out;
  for (const auto& e : x) out.push_back(Item::of(e));
  return Item::list(std::move(out));
}

}  // namespace

Item item_of(const AttrValue& v) {
  struct Make {
    Item operator()(std::monostate) const { return {}; }
    Item operator()(bool x) const { return Item::boolean(x); }
    Item operator()(int64_t x) const { return Item::of(x); }
    Item operator()(double x) const { return Item::of(x); }
    Item operator()(const std::string& x) const { return Item::of(x); }
    Item operator()(DType x) const { return Item::of(std::string(name(x))); }
    Item operator()(const Ints& x) const { return each(x); }
    Item operator()(const Reals& x) const { return each(x); }
    Item operator()(const Texts& x) const { return each(x); }
    Item operator()(const Pairs& x) const {
      std::vector<Item> out;
      for (const auto& [a, b] : x) out.push_back(Item::list({Item::of(a), Item::of(b)}, ItemKind::tuple));
      return Item::list(std::move(out));
    }
    Item operator()(const Tensor& x) const {
      Item i;
      i.kind = ItemKind::tensor, i.tensor = std::make_shared<const Tensor>(x);
      return i;
    }
  };
  return std::visit(Make{}, v);
}

namespace {

/// A list of integers, reals, strings or pairs.
Result<AttrValue> attr_of_list(const Item& item) {
  const auto all = [&](auto is) { return std::all_of(item.items.begin(), item.items.end(), is); };
  if (all([](const Item& i) { return i.kind == ItemKind::integer || i.kind == ItemKind::boolean; })) {
    Ints out;
    for (const Item& i : item.items) out.push_back(i.integer);
    return AttrValue(std::move(out));
  }
  if (all([](const Item& i) { return i.is_number(); })) {
    Reals out;
    for (const Item& i : item.items) out.push_back(i.number());
    return AttrValue(std::move(out));
  }
  if (all([](const Item& i) { return i.kind == ItemKind::string; })) {
    Texts out;
    for (const Item& i : item.items) out.push_back(i.text);
    return AttrValue(std::move(out));
  }
  if (all([](const Item& i) {
        return i.kind == ItemKind::tuple && i.items.size() == 2 && i.items[0].kind == ItemKind::integer &&
               i.items[1].kind == ItemKind::integer;
      })) {
    Pairs out;
    for (const Item& i : item.items) out.emplace_back(i.items[0].integer, i.items[1].integer);
    return AttrValue(std::move(out));
  }
  return failure(Code::invalid_model, "{} is no list of one kind", item.text_of());
}

}  // namespace

Result<AttrValue> attr_of(const Item& item) {
  switch (item.kind) {
    case ItemKind::none:
      return AttrValue{};
    case ItemKind::boolean:
      return AttrValue(item.integer != 0);
    case ItemKind::integer:
      return AttrValue(item.integer);
    case ItemKind::real:
      return AttrValue(item.real);
    case ItemKind::string:
      return AttrValue(item.text);
    case ItemKind::tensor:
      return AttrValue(*item.tensor);
    case ItemKind::array:
    case ItemKind::tuple:
      return attr_of_list(item);
    default:
      return failure(Code::invalid_model, "{} is no attribute", item.text_of());
  }
}

Result<Item> unary(Tok op, const Item& x) {
  if (op == Tok::bang) {
    if (x.kind != ItemKind::boolean) return misfit("!", x);
    return Item::boolean(x.integer == 0);
  }
  if (!x.is_number()) return misfit(shown(op), x);
  if (op == Tok::plus) return x;
  return x.kind == ItemKind::integer ? Item::of(wrap_sub(0, x.integer)) : Item::of(-x.real);
}

Result<Item> binary(Tok op, const Item& x, const Item& y) {
  if (op == Tok::equal) return Item::boolean(equal(x, y));
  if (op == Tok::unequal) return Item::boolean(!equal(x, y));
  if (op == Tok::word) {  // in
    if (y.kind != ItemKind::array) return misfit("'in'", y);
    return Item::boolean(std::any_of(y.items.begin(), y.items.end(), [&](const Item& i) { return equal(x, i); }));
  }
  if (op == Tok::both || op == Tok::either) {
    for (const Item* i : {&x, &y})
      if (i->kind != ItemKind::boolean) return misfit(shown(op), *i);
    return Item::boolean(op == Tok::both ? x.integer && y.integer : x.integer || y.integer);
  }
  if (op == Tok::plus && x.kind == ItemKind::array && y.kind == ItemKind::array) {
    if (x.items.size() + y.items.size() > kMaxItems)
      return failure(Code::limit, "an array of more than {} items", kMaxItems);
    std::vector<Item> joined = x.items;
    joined.insert(joined.end(), y.items.begin(), y.items.end());
    return Item::list(std::move(joined));
  }
  if (op == Tok::plus && x.kind == ItemKind::string && y.kind == ItemKind::string) {
    if (x.text.size() + y.text.size() > kMaxItems)
      return failure(Code::limit, "a string of more than {} characters", kMaxItems);
    return Item::of(x.text + y.text);
  }
  if (is_comparison(op) && x.kind == ItemKind::string && y.kind == ItemKind::string) return ordered(op, x.text, y.text);
  for (const Item* i : {&x, &y})
    if (!i->is_number()) return misfit(shown(op), *i);
  if (is_arithmetic(op)) return arithmetic(op, x, y);
  if (x.kind == ItemKind::integer && y.kind == ItemKind::integer) return ordered(op, x.integer, y.integer);
  return ordered(op, x.number(), y.number());
}

Result<Item> at_index(const Item& x, const Item& i) {
  if (x.kind != ItemKind::array && x.kind != ItemKind::tuple) return misfit("[ ]", x);
  if (i.kind != ItemKind::integer) return misfit("an index", i);
  if (i.integer < 0 || i.integer >= static_cast<int64_t>(x.items.size()))
    return failure(Code::invalid_model, "index {} is outside [0, {})", i.integer, x.items.size());
  return x.items[static_cast<size_t>(i.integer)];
}

Result<Item> slice(const Item& x, const Item& begin, const Item& end) {
  if (x.kind != ItemKind::array) return misfit("[ : ]", x);
  const auto n = static_cast<int64_t>(x.items.size());
  auto bound = [&](const Item& i, int64_t otherwise) -> Result<int64_t> {
    if (i.kind == ItemKind::none) return otherwise;
    if (i.kind != ItemKind::integer) return misfit("a slice", i);
    return i.integer;
  };
  NNEX_ASSIGN(int64_t from, bound(begin, 0));
  NNEX_ASSIGN(int64_t to, bound(end, n));
  if (from < 0 || to > n || from > to)
    return failure(Code::invalid_model, "[{} : {}] is outside an array of {} items", from, to, n);
  return Item::list(std::vector<Item>(x.items.begin() + from, x.items.begin() + to));
}

Result<Item> built_in(std::string_view f, const Item& x) {
  if (f == "length_of") {
    if (x.kind == ItemKind::string) return Item::of(static_cast<int64_t>(x.text.size()));
    if (x.kind != ItemKind::array) return misfit(f, x);
    return Item::of(static_cast<int64_t>(x.items.size()));
  }
  if (f == "range_of") {
    if (x.kind != ItemKind::array) return misfit(f, x);
    std::vector<Item> out;
    for (size_t i = 0; i < x.items.size(); ++i) out.push_back(Item::of(static_cast<int64_t>(i)));
    return Item::list(std::move(out));
  }
  if (f == "string") {
    if (x.kind == ItemKind::string) return x;
    if (x.kind != ItemKind::boolean && !x.is_number()) return misfit(f, x);
    return Item::of(x.text_of());
  }
  double number = x.number();
  if (x.kind == ItemKind::string) {
    if (f == "logical") return Item::boolean(!x.text.empty());
    auto [end, fault] = fast_float::from_chars(x.text.data(), x.text.data() + x.text.size(), number);
    if (fault != std::errc() || end != x.text.data() + x.text.size()) return misfit(f, x);
  } else if (!x.is_number() && x.kind != ItemKind::boolean) {
    return misfit(f, x);
  }
  if (f == "scalar") return Item::of(number);
  if (f == "logical") return Item::boolean(number != 0);
  if (x.kind == ItemKind::integer || x.kind == ItemKind::boolean) return Item::of(x.integer);
  if (!(std::fabs(number) < 9.2e18)) return misfit(f, x);
  return Item::of(static_cast<int64_t>(number));
}

namespace {

/// Whether nested arrays have these extents everywhere.
bool has_extents(const Item& item, const std::vector<int64_t>& extents, size_t level) {
  if (item.kind != ItemKind::array) return level == extents.size();
  if (level == extents.size() || extents[level] != static_cast<int64_t>(item.items.size())) return false;
  return std::all_of(item.items.begin(), item.items.end(),
                     [&](const Item& i) { return has_extents(i, extents, level + 1); });
}

Status put(Tensor& t, int64_t& at, const Item& item) {
  if (item.kind == ItemKind::array) {
    for (const Item& i : item.items) NNEX_TRY(put(t, at, i));
    return {};
  }
  const int64_t i = at++;
  const DType d = t.dtype();
  if (d == DType::str) {
    if (item.kind != ItemKind::string) return misfit("a tensor of strings", item);
    t.mutable_as<std::string>()[static_cast<size_t>(i)] = item.text;
    return {};
  }
  if (!(item.is_number() || item.kind == ItemKind::boolean) || !(is_real(d) || is_int(d) || d == DType::boolean))
    return misfit(fmt::format("a tensor of {}", name(d)), item);
  if (is_real(d)) {
    set_real(t, i, item.number());
    return {};
  }
  if (item.kind == ItemKind::real) {
    if (!(std::fabs(item.real) < 9.2e18) || item.real != std::trunc(item.real))
      return misfit(fmt::format("a tensor of {}", name(d)), item);
    set_int(t, i, static_cast<int64_t>(item.real));
  } else {
    set_int(t, i, item.integer);
  }
  const int64_t wanted = item.kind == ItemKind::real ? static_cast<int64_t>(item.real) : item.integer;
  if (d != DType::boolean && int_at(t, i) != wanted) return misfit(fmt::format("a tensor of {}", name(d)), item);
  return {};
}

}  // namespace

Result<Tensor> tensor_of(const Item& item, DType type) {
  if (item.kind == ItemKind::tensor) {
    if (item.tensor->dtype() != type)
      return failure(Code::invalid_model, "a tensor of {}; needed {}", name(item.tensor->dtype()), name(type));
    return *item.tensor;
  }
  std::vector<int64_t> extents;
  const Item* first = &item;
  for (; first->kind == ItemKind::array; first = &first->items[0]) {
    extents.push_back(static_cast<int64_t>(first->items.size()));
    if (first->items.empty()) break;
  }
  if (!has_extents(item, extents, 0))
    return failure(Code::invalid_model, "{} has items of unequal lengths", item.text_of());
  NNEX_ASSIGN(Tensor t, Tensor::make(type, Shape(extents)));
  int64_t at = 0;
  NNEX_TRY(put(t, at, item));
  return t;
}

}  // namespace nnex::graph_text
