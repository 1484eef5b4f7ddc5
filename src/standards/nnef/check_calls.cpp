// Static checks: arguments of invocations (I1 - I9, T10 - T12).

#include <fmt/format.h>

#include <algorithm>

#include "standards/nnef/check.h"

namespace nnex::nnef_format {
namespace {

using ExprKind = Expr::Kind;

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

/// The hint to one of some named things, where one is a letter or two from the name.
template <class List>
std::string one_like(std::string_view name, const List& list) {
  std::string_view best;
  size_t min = 3;
  for (const auto& d : list)
    if (size_t n = distance(name.substr(0, 64), d.name); n < min && n < name.size()) min = n, best = d.name;
  return best.empty() ? std::string() : fmt::format("; did you mean '{}'?", best);
}
std::string operation_like(std::string_view name) { return one_like(name, standard_operations()); }

}  // namespace

/// Arguments to parameters (I2 to I8): one expression a parameter, null for those left to their defaults.
bool Checker::bind(const Expr& e, const Declaration& d, std::span<const Expr*> args) {
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
      } else if (!has_tensor(*d.parameters[i].type) && options_.dialect != Dialect::tract) {
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
                   fmt::format("'{}' has no parameter '{}'{}", d.name, e.names[i],
                               hints() ? one_like(e.names[i], d.parameters) : ""));
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
  if (!options_.draft && (d.name == "variable" || d.name == "update"))
    return fault(e.at, "A5", fmt::format("'{}' stands in a fragment; it belongs into the graph", d.name));
  return true;
}

/// Whether the call's arguments are to be typed: those of an operation that there is are in args_ then.
bool Checker::begin_call(Task& t) {
  const Expr& e = *t.e;
  const Declaration* d = declared_.find(e.text);
  if (!d) {
    if (parser_.skipped()) return false;
    fault(e.at, "I1", fmt::format("no operation is called '{}'{}", e.text, hints() ? operation_like(e.text) : ""));
    return true;
  }
  if (!broken_.empty() && broken_.count(d)) return false;
  bool fine = introduces(e, *d);
  if (d->has_generic_default) t.g = {Generic::Source::declared_default, of_item(d->generic_default)};
  if (e.is_generic) {
    t.g = {Generic::Source::explicit_type, e.generic};
    if (!d->generic) fine = fault(e.at, "T11", fmt::format("'{}' is not generic; it takes no <>", d->name));
    if (e.generic == Of::generic && !(inside_ && inside_->generic))
      fine = fault(e.at, "T11", "<?> stands outside the body of a generic fragment");
  }
  t.d = d, t.args = args_.size();
  args_.resize(t.args + d->parameters.size());
  if (bind(e, *d, {args_.data() + t.args, d->parameters.size()}) && fine) return true;
  args_.resize(t.args);
  return false;
}

const DeclaredType* Checker::call(const Task& t) {
  if (!t.fine) return unknown();
  const Expr& e = *t.e;
  const Declaration& d = *t.d;
  if (d.generic && t.g.source == Generic::Source::open) {
    if (d.rules.open_type != OwnRules().open_type)
      fault(e.at, d.rules.open_type, fmt::format("'{}' of no tensors; needed at least one", d.name));
    else
      fault(e.at, d.rules.open_type,
            fmt::format("nothing says which data-type '?' of '{}' stands for; needed '{}<type>'", d.name, d.name));
    return unknown();
  }
  if (!inside_ && t.nested && d.is_standard() && d.name == "external") {
    fault(e.at, "A3", "an external is not assigned to a graph parameter");
    return unknown();
  }
  if (t.nested && (d.results.size() != 1 || d.results[0].type->kind != TypeKind::tensor)) {
    fault(e.at, "E13", fmt::format("'{}' stands inside an expression, but its result is no single tensor", d.name));
    return unknown();
  }
  if (d.results.size() == 1) return replaced(d.results[0].type, t.g.of, *types_);
  std::vector<DeclaredType> items;
  for (const ResultPort& r : d.results) items.push_back(*replaced(r.type, t.g.of, *types_));
  DeclaredType all;
  all.kind = TypeKind::tuple, all.count = static_cast<uint32_t>(items.size());
  all.items = types_->copy(items.data(), items.size()).data();
  return made(all, e.at);
}

/// Whether the call's next argument, of that type, fits its parameter; faults carry the rule that fits best.
bool Checker::fits(Task& t, const DeclaredType& type) {
  if (type.kind == TypeKind::none) return false;
  const Expr& arg = *args_[t.args + t.next];
  const Parameter& p = t.d->parameters[t.next];
  if (arg.kind == ExprKind::array && p.type->kind == TypeKind::array) return true;  // Its items were compared.
  const std::string_view rule = misfit(type, *p.type, t.g);
  return rule.empty() || report(arg.at, rule, type, *p.type, t.g, *t.d, p.name);
}

/// An item of an array that is an argument, or an array in such.
void Checker::take_item(Task& t, const DeclaredType& type) {
  const Expr& item = t.e->items[t.next];
  const DeclaredType& to = *t.to->items;
  t.fine = type.kind != TypeKind::none;
  if (t.fine && !(item.kind == ExprKind::array && to.kind == TypeKind::array)) {
    size_t owner = tasks_.size() - 1;
    while (!tasks_[owner].d) --owner;
    Task& call = tasks_[owner];
    std::string_view rule = misfit(type, to, call.g);
    if (t.next > 0 && (rule == "T2" || rule == "T12")) rule = "T4";
    if (rule == "T2" && item.kind == ExprKind::real && item.text.find_first_of("eE") != std::string_view::npos)
      rule = "T1";
    t.fine = rule.empty() || report(item.at, rule, type, to, call.g, *call.d, call.d->parameters[call.next].name);
  }
  if (!t.fine) t.next = t.parts;  // The others are not looked at.
}

bool Checker::report(Position at, std::string_view rule, const DeclaredType& found, const DeclaredType& to,
                     const Generic& g, const Declaration& d, std::string_view parameter) {
  if (rule == "T3") rule = d.rules.literal;
  const bool bound = mentions(to, Of::generic) && g.source != Generic::Source::open;
  std::string needed = text(bound ? *replaced(&to, g.of, *types_) : to);
  std::string hint;
  std::vector<Remedy> remedies;
  if (rule == "T13") {
    hint = "; an array is no tensor, constant() makes one";
    remedies.push_back({"nnef.dialect", "tract", "takes it as one"});
  }
  const bool integer = is_primitive(found, Of::integer);
  if (integer && (to.kind == TypeKind::primitive || to.kind == TypeKind::tensor) && to.of == Of::scalar)
    hint = "; a scalar has a point, as 1.0";
  if (rule == "I9" && found.kind == TypeKind::tensor && to.kind == TypeKind::array)
    hint = "; an array has brackets: [x]";
  if (rule == "T12")
    hint = fmt::format("; write {}<{}>(...) for another data-type", d.name,
                       found.kind == TypeKind::primitive ? nnef_format::name(item_type(found.of)) : "type");
  return fault(at, rule, fmt::format("'{}' of '{}' is {}; needed {}{}", parameter, d.name, text(found), needed, hint),
               remedies);
}

}  // namespace nnex::nnef_format
