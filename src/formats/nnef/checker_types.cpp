// Static checks: types of expressions, and arguments of invocations.

#include <fmt/format.h>

#include <algorithm>

#include "formats/nnef/checker.h"

namespace nnex::nnef_format {
namespace {

using K = Expr::Kind;

bool is_comparison(Tok op) {
  return op == Tok::less || op == Tok::less_equal || op == Tok::greater || op == Tok::greater_equal ||
         op == Tok::equal || op == Tok::unequal;
}
bool is_number(const DeclaredType& t) { return is_primitive(t, Of::scalar) || is_primitive(t, Of::integer); }
bool is_array(const DeclaredType& t) { return t.kind == TypeKind::array || t.kind == TypeKind::empty; }

std::string shown_op(const Expr& e) {
  return e.op == Tok::word ? "'in'" : fmt::format("'{}'", graph_text::shown(e.op));
}

/// A name that differs by one or two letters, for hints.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + ((a[i] | 32) != (b[j] | 32));
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string did_you_mean(std::string_view best) {
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}

/// The hint to one of some named things, where one is a letter or two from the name.
template <class List>
std::string one_like(std::string_view name, const List& list) {
  std::string_view best;
  size_t least = 3;
  for (const auto& d : list)
    if (size_t n = distance(name.substr(0, 64), d.name); n < least && n < name.size()) least = n, best = d.name;
  return did_you_mean(best);
}
std::string operation_like(std::string_view name) { return one_like(name, standard_operations()); }

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

const DeclaredType* Checker::type_of(const Expr& e, bool nested) {
  switch (e.kind) {
    case K::boolean:
      return primitive(Of::logical);
    case K::integer:
      return primitive(Of::integer);
    case K::real:
      return primitive(Of::scalar);
    case K::string:
      return primitive(Of::string);
    case K::name:
      return name(e);
    case K::array:
      return array(e);
    case K::tuple:
      return tuple(e);
    case K::call:
      return graph_text::is_keyword(e.text) ? built_in(e) : call(e, nested);
    case K::unary:
      return unary(e);
    case K::binary:
      return binary(e);
    case K::index:
      return index(e);
    case K::slice:
      return slice(e);
    case K::choice:
      return choice(e, nested);
    case K::comprehension:
      return comprehension(e);
    default:
      return unknown();
  }
}

const DeclaredType* Checker::array_of(const DeclaredType* item) {
  if (item->kind == TypeKind::none) return item;
  DeclaredType t;
  t.kind = TypeKind::array, t.count = 1, t.items = item;
  return types_->make(t);
}

/// The type that both fit; null: none.
const DeclaredType* Checker::common(const DeclaredType* a, const DeclaredType* b) {
  if (castable(*b, *a)) return a;
  return castable(*a, *b) ? b : nullptr;
}

const DeclaredType* Checker::name(const Expr& e) {
  for (size_t i = loops_.size(); i-- > 0;)
    if (loops_[i].name == e.text) return loops_[i].type;
  const Name* known = names_->find(e.text);
  if (known && known->type) return known->type;
  if (known)
    fault(e.at, "A3", fmt::format("graph parameter '{}' is used before its external", e.text));
  else if (!incomplete_ && !parser_.skipped())
    fault(e.at, "A8", fmt::format("'{}' is not assigned before it is used{}", e.text, name_like(e.text, *names_)));
  return unknown();
}

const DeclaredType* Checker::array(const Expr& e) {
  const DeclaredType* item = nullptr;
  bool fine = true;
  for (const Expr& i : e.items) {
    const DeclaredType* t = type_of(i, true);
    if (t->kind == TypeKind::none) fine = false;
    if (!fine) continue;
    const DeclaredType* both = item ? common(item, t) : t;
    if (!both) {
      fault(i.at, "T4", fmt::format("an array of {} has an item that is {}", text(*item), text(*t)));
      fine = false;
    } else {
      item = both;
    }
  }
  if (!fine) return unknown();
  return item ? array_of(item) : empty_array();
}

const DeclaredType* Checker::tuple(const Expr& e) {
  std::vector<DeclaredType> items;
  bool fine = true, tensors = false, attributes = false;
  for (const Expr& i : e.items) {
    const DeclaredType* t = type_of(i, true);
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
  return types_->make(t);
}

const DeclaredType* Checker::unary(const Expr& e) {
  const DeclaredType* x = type_of(e.items[0], true);
  if (x->kind == TypeKind::none) return x;
  const Of wanted = e.op == Tok::bang ? Of::logical : Of::scalar;
  if (x->kind == TypeKind::tensor) {
    if (x->of == wanted || e.op == Tok::plus) return x;
    fault(e.at, "E14",
          fmt::format("{} of {}; needed tensor<{}>", shown_op(e), text(*x), nnef_format::name(item_type(wanted))));
    return unknown();
  }
  if (e.op == Tok::bang ? is_primitive(*x, Of::logical) : is_number(*x)) return x;
  fault(e.at, "E1", fmt::format("{} does not take {}", shown_op(e), text(*x)));
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

const DeclaredType* Checker::binary(const Expr& e) {
  const DeclaredType *x = type_of(e.items[0], true), *y = type_of(e.items[1], true);
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

const DeclaredType* Checker::index(const Expr& e) {
  const DeclaredType *x = type_of(e.items[0], true), *i = type_of(e.items[1], true);
  if (x->kind == TypeKind::none || i->kind == TypeKind::none) return unknown();
  if (x->kind == TypeKind::tuple) {
    const Expr& at = e.items[1];
    if (at.kind == K::integer && at.integer >= 0 && at.integer < x->count) return &x->items[at.integer];
    fault(e.at, "E7",
          at.kind == K::integer
              ? fmt::format("index {} is outside {}, which has {} items", at.integer, text(*x), x->count)
              : "a tuple takes an integer literal as subscript");
    return unknown();
  }
  const bool string = is_primitive(*x, Of::string);
  if (!string && !is_array(*x)) {
    fault(e.at, "E6", fmt::format("{} has no items", text(*x)));
    return unknown();
  }
  if (!is_primitive(*i, Of::integer)) {
    fault(e.at, "E6", fmt::format("the index is {}; needed integer", text(*i)));
    return unknown();
  }
  return string ? x : x->kind == TypeKind::array ? x->items : unknown();
}

const DeclaredType* Checker::slice(const Expr& e) {
  const DeclaredType* x = type_of(e.items[0], true);
  bool fine = x->kind != TypeKind::none;
  for (size_t k = 1; k <= 2; ++k) {
    if (e.items[k].kind == K::none) continue;
    const DeclaredType* i = type_of(e.items[k], true);
    if (i->kind != TypeKind::none && !is_primitive(*i, Of::integer))
      fine = fault(e.items[k].at, "E6", fmt::format("the end of a range is {}; needed integer", text(*i)));
    fine &= i->kind != TypeKind::none;
  }
  if (!fine) return unknown();
  if (is_primitive(*x, Of::string) || is_array(*x)) return x;
  fault(e.at, x->kind == TypeKind::tuple ? "E7" : "E6", fmt::format("{} has no ranges", text(*x)));
  return unknown();
}

const DeclaredType* Checker::choice(const Expr& e, bool nested) {
  const DeclaredType *x = type_of(e.items[0], nested), *c = type_of(e.items[1], true), *y = type_of(e.items[2], nested);
  if (c->kind != TypeKind::none && !is_primitive(*c, Of::logical)) {
    fault(e.items[1].at, "E9",
          fmt::format("the condition is {}; needed logical, known before a run{}", text(*c),
                      c->kind == TypeKind::tensor ? "; select() chooses in a run" : ""));
    return unknown();
  }
  if (x->kind == TypeKind::none || c->kind == TypeKind::none || y->kind == TypeKind::none) return unknown();
  if (const DeclaredType* both = common(x, y)) return both;
  fault(e.at, "E9", fmt::format("the branches are {} and {}; needed a common type", text(*x), text(*y)));
  return unknown();
}

const DeclaredType* Checker::comprehension(const Expr& e) {
  const size_t base = loops_.size();
  bool fine = true;
  std::vector<Loop> found;
  for (size_t i = 0; i < e.names.size(); ++i) {
    const DeclaredType* t = type_of(e.items[i], true);
    if (t->kind != TypeKind::none && !is_array(*t))
      fine = fault(e.items[i].at, "E10", fmt::format("a loop over {}; needed an array", text(*t)));
    if (std::any_of(found.begin(), found.end(), [&](const Loop& l) { return l.name == e.names[i]; }))
      fine = fault(e.at, "E10", fmt::format("'{}' stands for two loops", e.names[i]));
    found.push_back({e.names[i], t->kind == TypeKind::array ? t->items : no_type()});
  }
  loops_.insert(loops_.end(), found.begin(), found.end());
  const Expr& condition = e.items[e.items.size() - 2];
  if (condition.kind != K::none) {
    const DeclaredType* c = type_of(condition, true);
    if (c->kind != TypeKind::none && !is_primitive(*c, Of::logical))
      fine = fault(condition.at, "E10", fmt::format("the condition is {}; needed logical", text(*c)));
  }
  const DeclaredType* item = type_of(e.items.back(), true);
  loops_.resize(base);
  // A loop over [] alone yields nothing whose type could matter.
  if (fine && item->kind == TypeKind::none && !found.empty() && found[0].type->kind == TypeKind::none)
    return empty_array();
  return fine ? array_of(item) : unknown();
}

const DeclaredType* Checker::built_in(const Expr& e) {
  if (e.items.size() != 1 || !e.names[0].empty()) {
    fault(e.at, "E11", fmt::format("{} takes one argument, by position; found {}", e.text, e.items.size()));
    return unknown();
  }
  const DeclaredType* x = type_of(e.items[0], true);
  if (x->kind == TypeKind::none) return x;
  const bool sequence = is_array(*x) || is_primitive(*x, Of::string);
  auto is = [&](Of of) { return is_primitive(*x, of); };
  const DeclaredType* out = nullptr;
  if (e.text == "shape_of")
    out = array_of(primitive(Of::integer));
  else if (e.text == "length_of")
    out = sequence ? primitive(Of::integer) : nullptr;
  else if (e.text == "range_of")
    out = sequence ? array_of(primitive(Of::integer)) : nullptr;
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

// ---- Invocations

/// Arguments to parameters (I2 to I8): one expression a parameter, null for those left to their defaults.
bool Checker::bind(const Expr& e, const Declaration& d, std::vector<const Expr*>& args) {
  args.assign(d.parameters.size(), nullptr);
  bool fine = true, named = false;
  for (size_t i = 0; i < e.items.size(); ++i) {
    const Expr& value = e.items[i];
    if (e.names[i].empty()) {
      if (named) {
        fine = fault(value.at, "I4", "an argument without name stands behind one with a name");
      } else if (i >= d.parameters.size()) {
        fine = fault(value.at, "I2",
                     fmt::format("'{}' takes {} arguments; found {}", d.name, d.parameters.size(), e.items.size()));
        break;
      } else if (!has_tensor(*d.parameters[i].type) && dialect_ == Dialect::standard) {
        fine = fault(value.at, "I8",
                     fmt::format("attribute '{}' of '{}' is given without its name; needed '{} = ...'",
                                 d.parameters[i].name, d.name, d.parameters[i].name));
        args[i] = &value;
      } else {
        args[i] = &value;
      }
      continue;
    }
    named = true;
    const int p = d.find(e.names[i]);
    if (p < 0) {
      fine = fault(value.at, "I5",
                   fmt::format("'{}' has no parameter '{}'{}", d.name, e.names[i], one_like(e.names[i], d.parameters)));
    } else if (args[static_cast<size_t>(p)]) {
      const auto first = std::find(e.names.begin(), e.names.end(), e.names[i]);
      const bool twice = first != e.names.begin() + static_cast<std::ptrdiff_t>(i);
      fine = fault(value.at, twice ? "I6" : "I7",
                   fmt::format("'{}' is given {}", e.names[i], twice ? "twice" : "by position already"));
    } else {
      args[static_cast<size_t>(p)] = &value;
    }
  }
  if (!fine) return false;
  for (size_t p = 0; p < args.size(); ++p)
    if (!args[p] && !d.parameters[p].has_default)
      fine = fault(e.at, "I3",
                   fmt::format("'{}' needs '{}' ({})", d.name, d.parameters[p].name, text(*d.parameters[p].type)));
  return fine;
}

/// external, variable and update stand in the graph alone (A3 - A5).
bool Checker::introduces(const Expr& e, const Declaration& d) {
  if (!inside_ || !d.is_standard()) return true;
  if (d.name == "external") return fault(e.at, "A4", "an external stands in a fragment; it belongs into the graph");
  if (d.name == "variable" || d.name == "update")
    return fault(e.at, "A5", fmt::format("'{}' stands in a fragment; it belongs into the graph", d.name));
  return true;
}

const DeclaredType* Checker::call(const Expr& e, bool nested) {
  const Declaration* d = declared_.find(e.text);
  if (!d) {
    if (parser_.skipped()) return unknown();
    fault(e.at, "I1", fmt::format("no operation is called '{}'{}", e.text, operation_like(e.text)));
    for (const Expr& i : e.items) type_of(i, true);
    return unknown();
  }
  if (!broken_.empty() && broken_.count(d)) return unknown();
  bool fine = introduces(e, *d);
  Generic g;
  if (d->has_generic_default) g = {Generic::Source::declared_default, of_item(d->generic_default)};
  if (e.is_generic) {
    g = {Generic::Source::explicit_type, e.generic};
    if (!d->generic) fine = fault(e.at, "T11", fmt::format("'{}' is not generic; it takes no <>", d->name));
    if (e.generic == Of::generic && !(inside_ && inside_->generic))
      fine = fault(e.at, "T11", "<?> stands outside the body of a generic fragment");
  }
  std::vector<const Expr*> args;
  if (!bind(e, *d, args) || !fine) return unknown();
  for (size_t p = 0; p < args.size(); ++p)
    if (args[p]) fine = against(*args[p], *d->parameters[p].type, g, *d, d->parameters[p].name) && fine;
  if (!fine) return unknown();
  if (d->generic && g.source == Generic::Source::open) {
    if (d->rules.open_type != OwnRules().open_type)
      fault(e.at, d->rules.open_type, fmt::format("'{}' of no tensors; needed at least one", d->name));
    else
      fault(e.at, d->rules.open_type,
            fmt::format("nothing says which data-type '?' of '{}' stands for; needed '{}<type>'", d->name, d->name));
    return unknown();
  }
  if (!inside_ && nested && d->is_standard() && d->name == "external") {
    fault(e.at, "A3", "an external is not assigned to a graph parameter");
    return unknown();
  }
  if (nested && (d->results.size() != 1 || d->results[0].type->kind != TypeKind::tensor)) {
    fault(e.at, "E13", fmt::format("'{}' stands inside an expression, but its result is no single tensor", d->name));
    return unknown();
  }
  if (d->results.size() == 1) return replaced(d->results[0].type, g.of, *types_);
  std::vector<DeclaredType> items;
  for (const ResultPort& r : d->results) items.push_back(*replaced(r.type, g.of, *types_));
  DeclaredType t;
  t.kind = TypeKind::tuple, t.count = static_cast<uint32_t>(items.size());
  t.items = types_->copy(items.data(), items.size()).data();
  return types_->make(t);
}

bool Checker::against(const Expr& e, const DeclaredType& to, Generic& g, const Declaration& d,
                      std::string_view parameter) {
  if (e.kind == K::array && to.kind == TypeKind::array) {
    // Item by item: the first that does not fit says more than the whole array.
    for (size_t i = 0; i < e.items.size(); ++i) {
      const Expr& item = e.items[i];
      if (item.kind == K::array && to.items->kind == TypeKind::array) {
        if (!against(item, *to.items, g, d, parameter)) return false;
        continue;
      }
      const DeclaredType* t = type_of(item, true);
      if (t->kind == TypeKind::none) return false;
      std::string_view rule = misfit(*t, *to.items, g);
      if (rule.empty()) continue;
      if (i > 0 && (rule == "T2" || rule == "T12")) rule = "T4";
      if (rule == "T2" && item.kind == K::real && item.text.find_first_of("eE") != std::string_view::npos) rule = "T1";
      return report(item.at, rule, *t, *to.items, g, d, parameter);
    }
    return true;
  }
  const DeclaredType* t = type_of(e, true);
  if (t->kind == TypeKind::none) return false;
  const std::string_view rule = misfit(*t, to, g);
  return rule.empty() || report(e.at, rule, *t, to, g, d, parameter);
}

bool Checker::report(Position at, std::string_view rule, const DeclaredType& found, const DeclaredType& to,
                     const Generic& g, const Declaration& d, std::string_view parameter) {
  if (rule == "T3") rule = d.rules.literal;
  const bool bound = mentions(to, Of::generic) && g.source != Generic::Source::open;
  std::string needed = text(bound ? *replaced(&to, g.of, *types_) : to);
  std::string hint;
  if (rule == "T13") hint = "; an array is no tensor, constant() makes one (--dialect tract takes it as one)";
  const bool integer = is_primitive(found, Of::integer);
  if (integer && (to.kind == TypeKind::primitive || to.kind == TypeKind::tensor) && to.of == Of::scalar)
    hint = "; a scalar has a point, as 1.0";
  if (rule == "I9" && found.kind == TypeKind::tensor && to.kind == TypeKind::array)
    hint = "; an array has brackets: [x]";
  if (rule == "T12")
    hint = fmt::format("; write {}<{}>(...) for another data-type", d.name,
                       found.kind == TypeKind::primitive ? nnef_format::name(item_type(found.of)) : "type");
  return fault(at, rule, fmt::format("'{}' of '{}' is {}; needed {}{}", parameter, d.name, text(found), needed, hint));
}

}  // namespace nnex::nnef_format
