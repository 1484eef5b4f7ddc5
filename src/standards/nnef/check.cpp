// Static checks: declarations, bodies, assignments.

#include "standards/nnef/check.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnex::nnef_format {

bool Checker::fault(Position at, std::string_view rule, const std::string& message,
                    const std::vector<Remedy>& remedies) {
  faults_.add(parser_.lexer().error(at, fmt::format("{}: {}", rule, message)).helped_by(remedies));
  return false;
}

// ---- Declarations

void Checker::declaration(const Declaration& d, const graph_text::FragmentText& f) {
  if (find_declaration(f.name)) fault(f.at, "D1", fmt::format("'{}' is an operation of the standard", f.name));
  std::unordered_map<std::string_view, int> seen;
  bool attributes = false, generic = false;
  for (const auto& p : f.params) {
    if (seen[p.name]++) fault(p.at, "D2", fmt::format("'{}' is declared twice in '{}'", p.name, f.name));
    const bool tensor = has_tensor(p.type);
    if (tensor && has_attribute(p.type))
      fault(p.at, "T8", fmt::format("'{}' mixes tensors and attributes: {}", p.name, text(p.type)));
    else if (tensor && attributes)
      fault(p.at, "D3", fmt::format("tensor '{}' stands behind an attribute; tensors come first", p.name));
    attributes |= !tensor;
    generic |= mentions(p.type, Of::generic);
  }
  for (const auto& r : f.results) {
    if (seen[r.name]++) fault(r.at, "D2", fmt::format("'{}' is declared twice in '{}'", r.name, f.name));
    if (has_attribute(r.type))
      fault(r.at, "D4", fmt::format("result '{}' is {}; results are tensors", r.name, text(r.type)));
    if (mentions(r.type, Of::unbound))
      fault(r.at, "T9", fmt::format("result '{}' is {}; a result has a data-type", r.name, text(r.type)));
    generic |= mentions(r.type, Of::generic);
  }
  if (generic != f.generic)
    fault(f.at, "D6",
          f.generic ? fmt::format("'{}' is declared with <?>, but no parameter or result has ?", f.name)
                    : fmt::format("'{}' has parameters or results of type ?; needed '{}<?>'", f.name, f.name));
  graph_text::Arena scratch;
  types_ = &scratch;
  for (size_t i = 0; i < f.params.size(); ++i) {
    if (!f.params[i].otherwise) continue;
    const DeclaredType* type = type_of(*f.params[i].otherwise, true);
    if (!castable(*type, f.params[i].type))
      fault(f.params[i].otherwise->at, "D5",
            fmt::format("the default of '{}' is {}; needed {}", f.params[i].name, text(*type), text(f.params[i].type)));
  }
  types_ = nullptr;
  (void)d;
}

void Checker::body(const Declaration& d) {
  graph_text::Arena types;
  types_ = &types;
  inside_ = &d;
  local_.clear();
  names_ = &local_;
  incomplete_ = false;
  for (const Parameter& p : d.parameters) *local_.add(p.name).first = {p.type, {}, true, true};
  for (const Assignment& a : d.body->body) {
    if (a.right.kind == Expr::Kind::none) {
      poison(a.left);
      continue;
    }
    const DeclaredType* type = type_of(a.right, false);
    if (type->kind == TypeKind::none)
      poison(a.left);
    else
      assign(a.left, *type, a.right);
  }
  for (size_t i = 0; i < d.results.size(); ++i) {
    const ResultPort& r = d.results[i];
    const Position at = d.body->results[i].at;
    const Name* known = local_.find(r.name);
    if (!known) {
      if (!incomplete_) fault(at, "A7", fmt::format("result '{}' of '{}' is not assigned", r.name, d.name));
    } else if (!known->parameter) {
      Generic g{Generic::Source::explicit_type, Of::generic};
      if (std::string_view rule = misfit(*known->type, *r.type, g); !rule.empty())
        fault(at, rule == "T11" ? "T7" : rule,
              fmt::format("result '{}' of '{}' is assigned {}; declared is {}", r.name, d.name, text(*known->type),
                          text(*r.type)));
    }
  }
  inside_ = nullptr, types_ = nullptr, names_ = &graph_;
}

// ---- The graph

void Checker::begin_graph(const graph_text::GraphText& g) {
  incomplete_ = parser_.skipped();
  for (const Target& p : g.params) {
    const auto [name, fresh] = graph_.add(p.name);
    name->parameter = true;
    if (!fresh) fault(p.at, "A3", fmt::format("graph parameter '{}' is named twice", p.name));
  }
  std::unordered_map<std::string_view, int> seen;
  for (const Target& r : g.results)
    if (seen[r.name]++) fault(r.at, "A10", fmt::format("graph result '{}' is named twice", r.name));
}

const DeclaredType* Checker::assignment(const Assignment& a, graph_text::Arena& types) {
  types_ = &types;
  const size_t before = faults_.count();
  const DeclaredType* type = type_of(a.right, false);
  if (type->kind == TypeKind::none) {
    poison(a.left);
    return nullptr;
  }
  if (!externals(a.left, a.right)) {
    poison(a.left);
    return nullptr;
  }
  assign(a.left, *type, a.right);
  return faults_.count() == before ? type : nullptr;
}

/// Parameters of the graph and results of externals are the same (A3).
bool Checker::externals(const Target& t, const Expr& from) {
  const bool external = is_call_of(from, "external");
  if (t.kind != Target::Kind::name) {
    for (const Target& i : t.items) externals(i, from);
    return true;
  }
  Name* const known = graph_.find(t.name);
  const bool parameter = known && known->parameter;
  if (external && !parameter)
    return fault(t.at, "A3", fmt::format("external '{}' is no parameter of the graph", t.name));
  if (!parameter) return true;
  if (!external)
    return fault(t.at, "A3", fmt::format("graph parameter '{}' is assigned by something else than external", t.name));
  known->made = true;
  return true;
}

void Checker::end_graph(const graph_text::GraphText& g) {
  if (incomplete_ || parser_.skipped()) return;
  for (const Target& p : g.params) {
    Name* const known = graph_.find(p.name);
    if (known && !known->made && !known->type) {
      fault(
          p.at, "A3",
          fmt::format("graph parameter '{}' is not assigned; needed '{} = external(shape = [...]);'", p.name, p.name));
      known->made = true;
    }
  }
  for (const Target& r : g.results)
    if (!graph_.has(r.name)) fault(r.at, "A10", fmt::format("graph result '{}' is not assigned", r.name));
}

// ---- Left sides

void Checker::poison(const Target& t) {
  if (t.kind == Target::Kind::name) {
    Name* const known = names_->add(t.name).first;
    if (!known->type) known->type = no_type();
    known->made = true;
    return;
  }
  if (t.items.empty()) incomplete_ = true;
  for (const Target& i : t.items) poison(i);
}

bool Checker::define(const Target& t, const DeclaredType& type) {
  // Types of the graph's names outlive the assignment: they are tensors, whose types are constants.
  const DeclaredType* kept = type.kind == TypeKind::tensor ? tensor_of(type.of) : &type;
  Name* const known = names_->add(t.name).first;
  if (!known->type) {
    known->type = kept;
    return true;
  }
  if (!inside_) return fault(t.at, "A9", fmt::format("'{}' is assigned a second time", t.name));
  if (known->parameter)
    return fault(t.at, "A6",
                 fmt::format("'{}' is a parameter of '{}'; parameters are not assigned", t.name, inside_->name));
  const bool result = std::any_of(inside_->results.begin(), inside_->results.end(),
                                  [&](const ResultPort& r) { return r.name == t.name; });
  return fault(t.at, result ? "A7" : "A9",
               fmt::format("{}'{}' is assigned a second time", result ? "result " : "", t.name));
}

bool Checker::assign(const Target& t, const DeclaredType& type, const Expr& from) {
  if (type.kind == TypeKind::none) {
    poison(t);
    return false;
  }
  if (t.kind == Target::Kind::name) return assign_name(t, type, from);
  const bool array = t.kind == Target::Kind::array;
  const bool matches =
      array ? type.kind == TypeKind::array || type.kind == TypeKind::empty : type.kind == TypeKind::tuple;
  if (!matches) {
    poison(t);
    return fault(t.at, "A1",
                 fmt::format("the left side is {} of {}; the right side is {}", array ? "an array" : "a tuple",
                             t.items.size(), text(type)));
  }
  if (!array && type.count != t.items.size()) {
    poison(t);
    return fault(t.at, "A2",
                 fmt::format("the left side has {} items; the right side is {}, with {}", t.items.size(), text(type),
                             type.count));
  }
  return assign_items(t, type);
}

bool Checker::assign_items(const Target& t, const DeclaredType& type) {
  bool fine = true;
  for (size_t i = 0; i < t.items.size(); ++i) {
    static const Expr kPart{};
    const DeclaredType& item = type.kind == TypeKind::tuple   ? type.items[i]
                               : type.kind == TypeKind::array ? *type.items
                                                              : *no_type();
    fine = assign(t.items[i], item, kPart) && fine;
  }
  return fine;
}

/// One identifier: a tensor; in fragments anything whose structure follows from the invocation (A1, A11, A12).
bool Checker::assign_name(const Target& t, const DeclaredType& type, const Expr& from) {
  const bool call = from.kind == Expr::Kind::call;
  if (call && type.kind == TypeKind::tuple) {
    poison(t);
    return fault(t.at, "A1", fmt::format("'{}' is one name; '{}' has {} results", t.name, from.text, type.count));
  }
  if (!inside_ && type.kind != TypeKind::tensor) {
    poison(t);
    return fault(t.at, "A11",
                 fmt::format("'{}' would be {}; a name of the graph body is a tensor", t.name, text(type)));
  }
  if (call && type.kind == TypeKind::array) {
    const Declaration* d = declared_.find(from.text);
    if (d && !d->body) {
      poison(t);
      return fault(t.at, "A12",
                   fmt::format("'{}' would be an array, but how long the result of '{}' is does not follow "
                               "from its call; needed [{}, ...]",
                               t.name, from.text, t.name));
    }
  }
  return define(t, type);
}

Name* Checker::flat_target(std::string_view left, const Declaration& d, ItemType generic) {
  if (d.results.size() != 1 || d.results[0].type->kind != TypeKind::tensor) return nullptr;
  const auto [known, fresh] = graph_.add(left);
  if (!fresh) return nullptr;
  const Of of = d.results[0].type->of;
  known->type = tensor_of(of == Of::generic ? of_item(generic) : of);
  return known;
}

}  // namespace nnex::nnef_format
