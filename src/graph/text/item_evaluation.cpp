#include "graph/text/item_evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "graph/text/signs.h"

namespace nnex::graph_text {
namespace {

using ItemKind = Item::Kind;

constexpr int kMaxCallsTold = 16;

/// The parameter that argument i of a call is for, by name or position; their number: none.
size_t parameter_of(const Expr& call, size_t i, std::span<const FragmentParam> params) {
  if (call.names[i].empty()) return std::min(i, params.size());
  const auto is = [&](const FragmentParam& p) { return p.name == call.names[i]; };
  return static_cast<size_t>(std::find_if(params.begin(), params.end(), is) - params.begin());
}

}  // namespace

Result<Item> ItemEvaluation::evaluate(const Expr& e, const Goal& goal) {
  Item out;
  if (!evaluated(e, out, goal)) return *std::move(error_);
  return out;
}

bool ItemEvaluation::fail(Error e) {
  error_.emplace(std::move(e));
  told_ = 0;
  return false;
}

void ItemEvaluation::begin_statement(const Assignment& a) {
  const bool several = a.left.kind != Target::Kind::name && !a.left.items.empty();
  left_ = several ? a.left.items[0].name : a.left.name;
}

// ---- Operators

bool ItemEvaluation::unary(const Expr& e, Parts parts, Item& out, const Goal&) {
  if (e.op == Tok::plus && plus_keeps(parts[0])) return out = std::move(parts[0]), true;
  if (parts[0].kind != ItemKind::value) return done(placed(graph_text::unary(e.op, parts[0]), e.at), out);
  return done(operate(operation_of(e.op, true), moved(parts), e.at), out);
}

bool ItemEvaluation::binary(const Expr& e, Parts parts, Item& out, const Goal&) {
  if (is_computed(e.op, parts[0], parts[1])) return done(operate(operation_of(e.op, false), moved(parts), e.at), out);
  return done(placed(graph_text::binary(e.op, parts[0], parts[1]), e.at), out);
}

bool ItemEvaluation::index(const Expr& e, Parts parts, Item& out, const Goal&) {
  if (parts[0].kind == ItemKind::value) return done(part_of(parts[0], parts[1], {}, true, e.at), out);
  return done(placed(at_index(parts[0], parts[1]), e.at), out);
}

bool ItemEvaluation::slice(const Expr& e, Parts parts, Item& out, const Goal&) {
  if (parts[0].kind == ItemKind::value) return done(part_of(parts[0], parts[1], parts[2], false, e.at), out);
  return done(placed(graph_text::slice(parts[0], parts[1], parts[2]), e.at), out);
}

/// Only the chosen side is evaluated; on a condition that a run computes it is a select.
Branch ItemEvaluation::branch(const Expr& e, const Item& condition) {
  if (condition.kind == ItemKind::boolean) return condition.integer ? Branch::first : Branch::second;
  auto branch = computed_branch(e, condition);
  if (branch.ok()) return *branch;
  fail(std::move(branch).error());
  return Branch::fault;
}

bool ItemEvaluation::loop(const Expr& e, size_t i, const Item& first, const Item& over) {
  if (over.kind != ItemKind::array)
    return fail(error(e.items[i].at, fmt::format("a loop over {}; needed an array", over.text_of())));
  if (over.items.size() == first.items.size()) return true;
  return fail(error(e.items[i].at,
                    fmt::format("a loop over arrays of {} and {} items", first.items.size(), over.items.size())));
}

bool ItemEvaluation::twice(const Expr& e, size_t i) {
  return fail(error(e.at, fmt::format("'{}' stands for two loops", e.names[i])));
}

bool ItemEvaluation::truth(const Expr& condition, const Item& item, bool& out) {
  out = item.integer != 0;
  return item.kind == ItemKind::boolean ||
         fail(error(condition.at, fmt::format("the condition is {}", item.text_of())));
}

// ---- Calls

CallForm ItemEvaluation::begin_call(const Expr& e) {
  auto form = form_of(e);
  if (form.ok()) return *form;
  fail(std::move(form).error());
  return CallForm::fault;
}

ArgumentUse ItemEvaluation::argument(const Expr& e, size_t i) {
  const Callee to = callee(e);
  if (!to.text) return ArgumentUse::evaluated;
  const auto& params = to.text->params;
  const size_t p = parameter_of(e, i, params);
  if (p == params.size()) {
    if (to.lenient) return ArgumentUse::left_out;
    const bool by_name = !e.names[i].empty();
    fail(broken(e.items[i].at, by_name ? "I5" : "I2",
                by_name ? fmt::format("'{}' has no parameter '{}'", e.text, e.names[i])
                        : fmt::format("'{}' takes {} arguments", e.text, params.size())));
    return ArgumentUse::fault;
  }
  for (size_t k = 0; k < i; ++k) {
    if (e.names[k].empty() ? k != p : e.names[k] != params[p].name) continue;
    fail(broken(e.items[i].at, "I6", fmt::format("'{}' of '{}' is given twice", params[p].name, e.text)));
    return ArgumentUse::fault;
  }
  return ArgumentUse::evaluated;
}

Result<std::vector<Item>> ItemEvaluation::bound(const Expr& e, std::span<const FragmentParam> params, Parts given) {
  std::vector<std::optional<Item>> values(params.size());
  for (size_t i = 0; i < given.size(); ++i)
    if (const size_t p = parameter_of(e, i, params); p < params.size()) values[p] = std::move(given[i]);
  std::vector<Item> args;
  for (size_t p = 0; p < params.size(); ++p) {
    if (!values[p]) {
      if (!params[p].otherwise) return broken(e.at, "I3", fmt::format("'{}' needs '{}'", e.text, params[p].name));
      NNEX_ASSIGN(values[p], evaluate(*params[p].otherwise));
    }
    args.push_back(*std::move(values[p]));
  }
  return args;
}

bool ItemEvaluation::call(const Expr& e, Parts parts, Item& out, const Goal& goal) {
  const Callee to = callee(e);
  if (!to.text) return done(make_call(e, moved(parts), goal), out);
  auto args = bound(e, to.text->params, parts);
  if (!args.ok()) return fail(std::move(args).error());
  if (!to.is_fragment) return done(make_call(e, *std::move(args), goal), out);
  begin_body(to.text->body, {to.text, e.at, left_});
  ++bodies_;
  for (size_t p = 0; p < args->size(); ++p)
    if (const FragmentParam& param = to.text->params[p]; !add(param.name, std::move((*args)[p])))
      return fail(broken(param.at, "D2", fmt::format("'{}' is declared twice in '{}'", param.name, to.text->name)));
  return true;
}

bool ItemEvaluation::end_body(FragmentCall& call, Item& out) {
  std::vector<Item> results;
  for (const FragmentParam& r : call.fragment->results) {
    const Item* found = find(r.name);
    if (!found) return fail(broken(r.at, "A7", fmt::format("result '{}' is not assigned", r.name)));
    results.push_back(*found);
  }
  left_ = call.left, --bodies_;
  out = results.size() == 1 ? std::move(results[0]) : Item::list(std::move(results), ItemKind::tuple);
  return true;
}

void ItemEvaluation::abandon(FragmentCall& call) {
  left_ = call.left, --bodies_;
  if (told_++ < kMaxCallsTold)
    error_ = std::move(*error_).during(fmt::format("in {} at {}", call.fragment->name, place(call.at)));
}

}  // namespace nnex::graph_text
