// Static checks: types of expressions, and arguments of invocations.

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/nearest.h"
#include "standards/nnef/check.h"

namespace nnex::nnef_format {
namespace {

using ExprKind = Expr::Kind;

bool is_comparison(Tok op) {
  return op == Tok::less || op == Tok::less_equal || op == Tok::greater || op == Tok::greater_equal ||
         op == Tok::equal || op == Tok::unequal;
}
bool is_number(const DeclaredType& t) { return is_primitive(t, Of::scalar) || is_primitive(t, Of::integer); }
bool is_array(const DeclaredType& t) { return t.kind == TypeKind::array || t.kind == TypeKind::empty; }

std::string shown_op(const Expr& e) {
  return e.op == Tok::word ? "'in'" : fmt::format("'{}'", graph_text::shown(e.op));
}

std::string did_you_mean(std::string_view best) {
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}

/// The hint to a name of a body, where one is a letter from the name that nobody assigned.
std::string name_like(std::string_view name, const Names& known) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr size_t kLongest = 64;
  if (name.size() > kLongest || name.size() < 2) return {};
  const auto has = [&](const std::string& s) { return known.has(s); };
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    std::string s(name);
    std::swap(s[i], s[i + 1]);
    if (has(s)) return did_you_mean(s);
  }
  for (size_t i = 0; i < name.size(); ++i)
    if (std::string s(name); has(s.erase(i, 1))) return did_you_mean(s);
  for (size_t i = 0; i <= name.size(); ++i)
    for (char c : kLetters) {
      std::string more(name), other(name);
      if (has(more.insert(i, 1, c))) return did_you_mean(more);
      if (i < name.size() && (other[i] = c, has(other))) return did_you_mean(other);
    }
  return {};
}

}  // namespace

// ---- Expressions, part by part. What waits for its parts lies in tasks_, not on the stack of calls: texts nest deep.

const DeclaredType* Checker::type_of(const Expr& e, bool nested) {
  tasks_.clear(), known_.clear(), args_.clear();
  const DeclaredType* type = begin(e, nested, nullptr);
  while (!type || !tasks_.empty()) {
    if (type) take(*type);
    type = go_on();
  }
  return type;
}

/// The type of an expression without parts; null: its parts are to be typed first. `to` is what an array literal is
/// wanted as, where it is an argument: its items are compared with that one by one, since the first that does not fit
/// says more than the whole array.
const DeclaredType* Checker::begin(const Expr& e, bool nested, const DeclaredType* to) {
  Task t;
  t.e = &e, t.nested = nested, t.base = known_.size();
  switch (e.kind) {
    case ExprKind::boolean:
      return primitive(Of::logical);
    case ExprKind::integer:
      return primitive(Of::integer);
    case ExprKind::real:
      return primitive(Of::scalar);
    case ExprKind::string:
      return primitive(Of::string);
    case ExprKind::name:
      return name(e);
    case ExprKind::none:
      return unknown();
    case ExprKind::array:
      if (to && to->kind == TypeKind::array) t.to = to;
      break;
    case ExprKind::call:
      if (graph_text::is_keyword(e.text) ? !takes_one(e) : !begin_call(t)) return unknown();
      break;
    default:
      break;
  }
  t.parts = t.d ? t.d->parameters.size() : e.items.size();
  tasks_.push_back(t);
  return nullptr;
}

/// Begins the next part of the newest task. Or ends the task: its type.
const DeclaredType* Checker::go_on() {
  const Task& t = tasks_.back();
  for (; t.next < t.parts; ++tasks_.back().next) {
    if (t.d) {
      if (const Expr* arg = args_[t.args + t.next]) return begin(*arg, true, t.d->parameters[t.next].type);
      continue;
    }
    const Expr& part = t.e->items[t.next];
    if (t.e->kind == ExprKind::comprehension && t.next + 2 == t.parts) begin_loops(t);
    if (part.kind == ExprKind::none) {
      known_.push_back(unknown());
      continue;
    }
    return begin(part, t.e->kind == ExprKind::choice && t.next != 1 ? t.nested : true, t.to ? t.to->items : nullptr);
  }
  const Task whole = t;
  const DeclaredType* type = whole_of(whole, {known_.data() + whole.base, known_.size() - whole.base});
  tasks_.pop_back();
  known_.resize(whole.base);
  if (whole.d) args_.resize(whole.args);
  return type;
}

/// The type of the part that go_on() began.
void Checker::take(const DeclaredType& type) {
  Task& t = tasks_.back();
  if (t.d)
    t.fine = fits(t, type) && t.fine;
  else if (t.to)
    take_item(t, type);
  else
    known_.push_back(&type);
  ++t.next;
}

const DeclaredType* Checker::whole_of(const Task& t, Types parts) {
  const Expr& e = *t.e;
  switch (e.kind) {
    case ExprKind::array:
      if (t.to) return t.fine ? t.to : unknown();
      return array(e, parts);
    case ExprKind::tuple:
      return tuple(e, parts);
    case ExprKind::call:
      return t.d ? call(t) : graph_text::is_keyword(e.text) ? built_in(e, *parts[0]) : unknown();
    case ExprKind::unary:
      return unary(e, *parts[0]);
    case ExprKind::binary:
      return binary(e, parts[0], parts[1]);
    case ExprKind::index:
      return index(e, *parts[0], *parts[1]);
    case ExprKind::slice:
      return slice(e, parts);
    case ExprKind::choice:
      return choice(e, *parts[0], *parts[1], *parts[2]);
    case ExprKind::comprehension:
      return comprehension(t, parts);
    default:
      return unknown();
  }
}

const DeclaredType* Checker::array_of(const DeclaredType* item, Position at) {
  if (item->kind == TypeKind::none) return item;
  DeclaredType t;
  t.kind = TypeKind::array, t.count = 1, t.items = item;
  return made(t, at);
}

const DeclaredType* Checker::made(DeclaredType t, Position at) {
  for (uint32_t i = 0; i < t.count; ++i) t.depth = std::max(t.depth, static_cast<uint16_t>(t.items[i].depth + 1));
  if (t.depth <= graph_text::kDeepestType) return types_->make(t);
  fault(at, "E16", fmt::format("lists nested deeper than {}", graph_text::kDeepestType));
  return unknown();
}

/// The type that both fit; null: none.
const DeclaredType* Checker::common(const DeclaredType* a, const DeclaredType* b) {
  if (castable(*b, *a)) return a;
  return castable(*a, *b) ? b : nullptr;
}

const DeclaredType* Checker::name(const Expr& e) {
  for (size_t i = loops_.size(); i-- > 0;)
    if (loops_[i].name == e.text) return loops_[i].type;
  Name* const known = names_->find(e.text);
  if (known && known->type) return known->type;
  if (known) {
    fault(e.at, "A3", fmt::format("graph parameter '{}' is used before its external", e.text));
    known->made = true;
  } else if (!incomplete_ && !parser_.skipped()) {
    fault(e.at, "A8",
          fmt::format("'{}' is not assigned before it is used{}", e.text, hints() ? name_like(e.text, *names_) : ""));
  }
  return unknown();
}

const DeclaredType* Checker::array(const Expr& e, Types items) {
  const DeclaredType* item = nullptr;
  for (size_t i = 0; i < items.size(); ++i) {
    const DeclaredType* t = items[i];
    if (t->kind == TypeKind::none) return unknown();
    const DeclaredType* both = item ? common(item, t) : t;
    if (!both) {
      fault(e.items[i].at, "T4", fmt::format("an array of {} has an item that is {}", text(*item), text(*t)));
      return unknown();
    }
    item = both;
  }
  return item ? array_of(item, e.at) : empty_array();
}

const DeclaredType* Checker::tuple(const Expr& e, Types parts) {
  std::vector<DeclaredType> items;
  bool fine = true, tensors = false, attributes = false;
  for (const DeclaredType* t : parts) {
    fine &= t->kind != TypeKind::none;
    tensors |= has_tensor(*t), attributes |= has_attribute(*t);
    items.push_back(*t);
  }
  if (!fine) return unknown();
  if (tensors && attributes) {
    fault(e.at, "T8", "the tuple mixes tensors and attributes");
    return unknown();
  }
  DeclaredType t;
  t.kind = TypeKind::tuple, t.count = static_cast<uint32_t>(items.size());
  t.items = types_->copy(items.data(), items.size()).data();
  return made(t, e.at);
}

const DeclaredType* Checker::unary(const Expr& e, const DeclaredType& x) {
  if (x.kind == TypeKind::none) return &x;
  const Of wanted = e.op == Tok::bang ? Of::logical : Of::scalar;
  if (x.kind == TypeKind::tensor) {
    if (x.of == wanted || e.op == Tok::plus) return &x;
    fault(e.at, "E14",
          fmt::format("{} of {}; needed tensor<{}>", shown_op(e), text(x), nnef_format::name(item_type(wanted))));
    return unknown();
  }
  if (e.op == Tok::bang ? is_primitive(x, Of::logical) : is_number(x)) return &x;
  fault(e.at, "E1", fmt::format("{} does not take {}", shown_op(e), text(x)));
  return unknown();
}

/// An operator on tensors is the operation of that meaning, and checked as it (E14).
const DeclaredType* Checker::tensor_operator(const Expr& e, const DeclaredType& x, const DeclaredType& y) {
  const bool logic = e.op == Tok::both || e.op == Tok::either;
  const DeclaredType* wanted = tensor_of(logic ? Of::logical : Of::scalar);
  for (const DeclaredType* t : {&x, &y}) {
    if (e.op != Tok::word && castable(*t, *wanted)) continue;
    fault(e.at, "E14",
          fmt::format("{} of {} and {}; on tensors it needs {}", shown_op(e), text(x), text(y),
                      e.op == Tok::word ? "none" : text(*wanted)));
    return unknown();
  }
  return tensor_of(logic || is_comparison(e.op) ? Of::logical : Of::scalar);
}

const DeclaredType* Checker::binary(const Expr& e, const DeclaredType* x, const DeclaredType* y) {
  if (x->kind == TypeKind::none || y->kind == TypeKind::none) return unknown();
  auto refuse = [&](std::string_view rule, std::string_view why = {}) {
    fault(e.at, rule, fmt::format("{} does not take {} and {}{}", shown_op(e), text(*x), text(*y), why));
    return unknown();
  };
  if (e.op == Tok::word) {
    if (!is_array(*y)) return refuse("E8", "; the right side is an array");
    if (y->kind == TypeKind::array && !common(x, y->items)) return refuse("E1");
    if (has_tensor(*x)) return refuse("E1");
    return primitive(Of::logical);
  }
  if (x->kind == TypeKind::tensor || y->kind == TypeKind::tensor) return tensor_operator(e, *x, *y);
  if (e.op == Tok::plus && is_array(*x) && is_array(*y)) {
    if (x->kind == TypeKind::empty) return y;
    const DeclaredType* both = y->kind == TypeKind::empty ? x : common(x, y);
    return both ? both : refuse("E5", "; the items have no common type");
  }
  if (e.op == Tok::star && (is_array(*x) || is_primitive(*x, Of::string)) && is_primitive(*y, Of::integer)) return x;
  if (x->kind != TypeKind::primitive || y->kind != TypeKind::primitive) return refuse("E1");
  if (e.op == Tok::equal || e.op == Tok::unequal)
    return x->of == y->of ? primitive(Of::logical) : refuse("E3", "; both sides have one type");
  if (e.op == Tok::both || e.op == Tok::either)
    return x->of == Of::logical && y->of == Of::logical ? x : refuse("E1", "; needed logical");
  if (e.op == Tok::plus && x->of == Of::string && y->of == Of::string) return x;
  if (!is_number(*x) || !is_number(*y)) return refuse("E1");
  if (x->of != y->of) return refuse("E2", "; write scalar(n) for an integer n");
  return is_comparison(e.op) ? primitive(Of::logical) : x;
}

const DeclaredType* Checker::index(const Expr& e, const DeclaredType& x, const DeclaredType& i) {
  if (x.kind == TypeKind::none || i.kind == TypeKind::none) return unknown();
  if (x.kind == TypeKind::tuple) {
    const Expr& at = e.items[1];
    if (at.kind == ExprKind::integer && at.integer >= 0 && at.integer < x.count) return &x.items[at.integer];
    fault(e.at, "E7",
          at.kind == ExprKind::integer
              ? fmt::format("index {} is outside {}, which has {} items", at.integer, text(x), x.count)
              : "a tuple takes an integer literal as subscript");
    return unknown();
  }
  const bool string = is_primitive(x, Of::string);
  if (!string && !is_array(x)) {
    fault(e.at, "E6", fmt::format("{} has no items", text(x)));
    return unknown();
  }
  if (!is_primitive(i, Of::integer)) {
    fault(e.at, "E6", fmt::format("the index is {}; needed integer", text(i)));
    return unknown();
  }
  if (string) return &x;
  if (x.kind == TypeKind::array) return x.items;
  fault(e.at, "E6", "[] has no items");
  return unknown();
}

const DeclaredType* Checker::slice(const Expr& e, Types parts) {
  const DeclaredType& x = *parts[0];
  bool fine = x.kind != TypeKind::none;
  for (size_t k = 1; k <= 2; ++k) {
    if (e.items[k].kind == ExprKind::none) continue;
    const DeclaredType& i = *parts[k];
    if (i.kind != TypeKind::none && !is_primitive(i, Of::integer))
      fine = fault(e.items[k].at, "E6", fmt::format("the end of a range is {}; needed integer", text(i)));
    fine &= i.kind != TypeKind::none;
  }
  if (!fine) return unknown();
  if (is_primitive(x, Of::string) || is_array(x)) return &x;
  fault(e.at, x.kind == TypeKind::tuple ? "E7" : "E6", fmt::format("{} has no ranges", text(x)));
  return unknown();
}

const DeclaredType* Checker::choice(const Expr& e, const DeclaredType& x, const DeclaredType& c,
                                    const DeclaredType& y) {
  if (c.kind != TypeKind::none && !is_primitive(c, Of::logical)) {
    fault(e.items[1].at, "E9",
          fmt::format("the condition is {}; needed logical, known before a run{}", text(c),
                      c.kind == TypeKind::tensor ? "; select() chooses in a run" : ""));
    return unknown();
  }
  if (x.kind == TypeKind::none || c.kind == TypeKind::none || y.kind == TypeKind::none) return unknown();
  if (const DeclaredType* both = common(&x, &y)) return both;
  fault(e.at, "E9", fmt::format("the branches are {} and {}; needed a common type", text(x), text(y)));
  return unknown();
}

/// The arrays of a comprehension are typed: its names stand for their items from here on.
void Checker::begin_loops(const Task& t) {
  const Expr& e = *t.e;
  std::set<std::string_view> names;
  for (size_t i = 0; i < e.names.size(); ++i) {
    const DeclaredType* type = known_[t.base + i];
    if (type->kind != TypeKind::none && !is_array(*type))
      tasks_.back().fine = fault(e.items[i].at, "E10", fmt::format("a loop over {}; needed an array", text(*type)));
    if (!names.insert(e.names[i]).second)
      tasks_.back().fine = fault(e.at, "E10", fmt::format("'{}' stands for two loops", e.names[i]));
    loops_.push_back({e.names[i], type->kind == TypeKind::array ? type->items : no_type()});
  }
}

const DeclaredType* Checker::comprehension(const Task& t, Types parts) {
  const Expr& e = *t.e;
  bool fine = t.fine;
  loops_.resize(loops_.size() - e.names.size());
  const DeclaredType &c = *parts[parts.size() - 2], *item = parts.back();
  if (c.kind != TypeKind::none && !is_primitive(c, Of::logical))
    fine = fault(e.items[parts.size() - 2].at, "E10", fmt::format("the condition is {}; needed logical", text(c)));
  // A loop over [] alone yields nothing whose type could matter.
  if (fine && item->kind == TypeKind::none && parts[0]->kind != TypeKind::array) return empty_array();
  return fine ? array_of(item, e.at) : unknown();
}

bool Checker::takes_one(const Expr& e) {
  if (e.items.size() == 1 && e.names[0].empty()) return true;
  return fault(e.at, "E11", fmt::format("{} takes one argument, by position; found {}", e.text, e.items.size()));
}

const DeclaredType* Checker::built_in(const Expr& e, const DeclaredType& type) {
  const DeclaredType* x = &type;
  if (x->kind == TypeKind::none) return x;
  const bool sequence = is_array(*x) || is_primitive(*x, Of::string);
  auto is = [&](Of of) { return is_primitive(*x, of); };
  const DeclaredType* out = nullptr;
  if (e.text == "shape_of")
    out = array_of(primitive(Of::integer), e.at);
  else if (e.text == "length_of")
    out = sequence ? primitive(Of::integer) : nullptr;
  else if (e.text == "range_of")
    out = sequence ? array_of(primitive(Of::integer), e.at) : nullptr;
  else if (e.text == "scalar")
    out = is(Of::logical) || is(Of::integer) || is(Of::string) ? primitive(Of::scalar) : nullptr;
  else if (e.text == "integer")
    out = is(Of::logical) || is(Of::scalar) || is(Of::string) ? primitive(Of::integer) : nullptr;
  else if (e.text == "logical")
    out = is(Of::integer) || is(Of::scalar) || is(Of::string) ? primitive(Of::logical) : nullptr;
  else if (e.text == "string")
    out = x->kind == TypeKind::primitive ? primitive(Of::string) : nullptr;
  if (out) return out;
  fault(e.at, "E11", fmt::format("{} does not take {}", e.text, text(*x)));
  return unknown();
}

}  // namespace nnex::nnef_format
