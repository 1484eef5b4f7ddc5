// Evaluation: calls, fragments, and what they come down to.

#include "standards/nnef/import_evaluator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"

namespace nnex::nnef_format {
namespace {

using ExprKind = Expr::Kind;

Of of_kind(Arg::Kind k) {
  return k == Arg::Kind::logical   ? Of::logical
         : k == Arg::Kind::integer ? Of::integer
         : k == Arg::Kind::string  ? Of::string
                                   : Of::scalar;
}

bool same(Of from, Of to, Generic& generic) {
  if (to == Of::unbound) return true;
  if (to != Of::generic) return from == to;
  if (generic.source != Generic::Source::open) return from == generic.of;
  generic = {Generic::Source::argument, from};
  return true;
}

/// Of `variable` in the standard's list; `update` stands behind it.
uint16_t variable_index() {
  static const uint16_t index = find_declaration("variable")->index;
  return index;
}

constexpr size_t kMaxCallsTold = 16;

}  // namespace

// ---- Places and faults

std::string Evaluator::place() const { return fmt::format("{}:{}:{}", file_, at_.line, at_.column); }

Error Evaluator::placed(Error e) const {
  Error out = std::move(e).at(place());
  size_t told = 0;
  for (size_t i = scopes().size(); i-- > 1;) {
    const BodyCall& f = scopes()[i]->call;
    if (f.fragment->is_standard()) continue;
    if (++told > kMaxCallsTold) return std::move(out).during(fmt::format("in {} calls more", i));
    out = std::move(out).during(
        fmt::format("in {} at {}:{}:{}", f.fragment->name, file_, f.called.line, f.called.column));
  }
  return out;
}

bool Evaluator::fault(Position at, std::string_view rule, const std::string& message, Code code) {
  if (stopped_) return false;
  if (!in_standard_) at_ = at;
  faults_.add(placed(failure(code, "{}: {}", rule, message)));
  return false;
}

/// Counts work, so that every text ends.
bool Evaluator::step(Position at, size_t n) {
  steps_ += n;
  if (steps_ <= options_.limits.steps) return !stopped_;
  fault(at, "E16", fmt::format("evaluation takes more than {} steps", options_.limits.steps), Code::limit);
  stopped_ = true;
  return false;
}

TensorId Evaluator::tensor(std::string_view name) const {
  const Arg* known = of_graph(name);
  return known && known->is_tensor() ? known->tensor() : TensorId{};
}

// ---- Assignments of the graph

bool Evaluator::fits(const Arg& x, const DeclaredType& type, Generic& generic) const {
  switch (type.kind) {
    case TypeKind::primitive:
      return !x.is_tensor() && !x.is_list() && same(of_kind(x.kind()), type.of, generic);
    case TypeKind::tensor:
      return !x.is_list() &&
             same(x.is_tensor() ? of_item(tensors_[x.tensor()].type) : of_kind(x.kind()), type.of, generic);
    case TypeKind::array:
    case TypeKind::tuple: {
      const bool array = type.kind == TypeKind::array;
      if (!x.is(array ? Arg::Kind::array : Arg::Kind::tuple)) return false;
      const auto items = x.items();
      if (array && type.items->kind == TypeKind::primitive && type.items->of != Of::generic) {
        for (const Arg& item : items)
          if (item.is_tensor() || item.is_list() || of_kind(item.kind()) != type.items->of) return false;
        return true;
      }
      if (!array && items.size() != type.count) return false;
      for (size_t i = 0; i < items.size(); ++i)
        if (!fits(items[i], array ? *type.items : type.items[i], generic)) return false;
      return true;
    }
    default:
      return false;
  }
}

void Evaluator::assignment(const Assignment& a, const DeclaredType& type) {
  values_.reset();
  stack_.clear();
  at_ = a.right.at;
  Arg value;
  if (!evaluated(a.right, value, {&a.left, 1}) || !as_tensors(type, value) || !bind(a.left, value))
    unknown(a.left, type);
}

/// Names whose values are not known, after a fault: tensors without shapes.
void Evaluator::unknown(const Target& t, const DeclaredType& type) {
  if (t.kind == Target::Kind::name) {
    Name& name = *names_.add(t.name).first;
    const Of of = type.kind == TypeKind::tensor ? type.of : Of::scalar;
    if (name.value.is(Arg::Kind::none)) name.value = Arg(tensors_.add(item_type(of), t.name));
    return;
  }
  for (size_t i = 0; i < t.items.size(); ++i)
    unknown(t.items[i], type.kind == TypeKind::tuple && i < type.count ? type.items[i]
                        : type.kind == TypeKind::array                 ? *type.items
                                                                       : *no_type());
}

/// The name of the graph's body stands for the value.
void Evaluator::bind(std::string_view name, Name& to, const Arg& value) {
  to.value = value;
  if (!value.is_tensor()) return;
  TensorInfo& info = tensors_[value.tensor()];
  if (info.name.empty()) info.name = name;
  sink_.assigned(name, value.tensor(), tensors_);
}

bool Evaluator::bind(const Target& t, const Arg& value) {
  if (t.kind == Target::Kind::name) {
    if (in_body())
      add(t.name, value);
    else
      bind(t.name, *names_.add(t.name).first, value);
    return true;
  }
  const auto items = value.items();
  if (items.size() != t.items.size())
    return fault(t.at, "A2",
                 fmt::format("the left side has {} items; the right side {}", t.items.size(), items.size()));
  for (size_t i = 0; i < items.size(); ++i)
    if (!bind(t.items[i], items[i])) return false;
  return true;
}

// ---- Calls

bool Evaluator::call(const Expr& e, Values parts, Arg& out, const Goal& goal) {
  return graph_text::is_keyword(e.text) ? built_in(e, parts[0], out) : named_call(e, parts, out, goal.target);
}

bool Evaluator::named_call(const Expr& e, Values parts, Arg& out, const Target* target) {
  const Declaration* d = declared.find(e.text);
  if (!d) return false;
  std::vector<Arg> args(d->parameters.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const int p = e.names[i].empty() ? static_cast<int>(i) : d->find(e.names[i]);
    if (p < 0 || static_cast<size_t>(p) >= args.size()) return false;
    args[static_cast<size_t>(p)] = parts[i];
  }
  for (size_t p = 0; p < args.size(); ++p)
    if (args[p].is(Arg::Kind::none)) args[p] = d->parameters[p].otherwise;
  Generic generic;
  if (d->has_generic_default) generic = {Generic::Source::declared_default, of_item(d->generic_default)};
  if (e.is_generic)
    generic = {Generic::Source::explicit_type,
               e.generic == Of::generic && in_body() ? of_item(scope().call.generic) : e.generic};
  // Where nothing is generic, the checker has compared the types.
  const bool compare = d->generic || (in_body() && scope().call.fragment->generic);
  for (size_t p = 0; compare && p < args.size(); ++p)
    if (!fits(args[p], *d->parameters[p].type, generic))
      return fault(
          e.at, "I9",
          fmt::format("'{}' of '{}' does not fit {}", d->parameters[p].name, d->name, text(*d->parameters[p].type)));
  return invoke(*d, args, item_type(generic.of), e.at, target, out);
}

/// Arguments of the draft of 2017: where lists of a window are shorter than the rank, what is missing is 1, and (0, 0)
/// of padding.
Evaluator::Values Evaluator::completed(const Declaration& d, Values args, std::vector<Arg>& out) {
  if (!d.is_standard() || d.find("size") < 0 || !args[0].is_tensor() || !tensors_[args[0].tensor()].shaped) return args;
  const size_t rank = tensors_[args[0].tensor()].extents.size();
  out.assign(args.begin(), args.end());
  const Arg none[] = {Arg(int64_t{0}), Arg(int64_t{0})};
  for (std::string_view name : {"size", "stride", "dilation", "padding"}) {
    const int p = d.find(name);
    if (p < 0) continue;
    Arg& list = out[static_cast<size_t>(p)];
    if (!list.is_list() || list.items().empty() || list.items().size() >= rank) continue;
    std::vector<Arg> items(list.items().begin(), list.items().end());
    items.resize(rank, name == "padding" ? Arg(values_.copy(none, 2), Arg::Kind::tuple) : Arg(int64_t{1}));
    list = Arg(values_.copy(items.data(), items.size()));
  }
  return out;
}

bool Evaluator::invoke(const Declaration& d, Values args, ItemType generic, Position at, const Target* target,
                       Arg& out) {
  if (!in_standard_) at_ = at;
  std::vector<Arg> all;
  if (options_.draft) args = completed(d, args, all);
  if (d.body && (!d.is_standard() || (options_.expanded && options_.expanded(d))))
    return begin_fragment(d, args, generic, at);
  return emit(d, args, generic, target, out);
}

bool Evaluator::begin_fragment(const Declaration& d, Values args, ItemType generic, Position at) {
  if (broken_.count(&d)) return false;
  if (scopes().size() > options_.limits.depth) {
    fault(at, "E16",
          fmt::format("calls nested deeper than {}; '{}' may call itself without end", options_.limits.depth, d.name),
          Code::limit);
    stopped_ = true;
    return false;
  }
  auto& names = begin_body(d.body->body, {&d, generic, in_standard_ ? at_ : at, at, in_standard_}).names;
  for (size_t p = 0; p < args.size(); ++p) names.add(d.parameters[p].name, args[p]);
  in_standard_ |= d.is_standard();
  return true;
}

bool Evaluator::end_body(BodyCall& call, Arg& out) {
  const Declaration& d = *call.fragment;
  std::vector<Arg> results;
  for (const ResultPort& r : d.results) {
    const Arg* known = scope().names.find(r.name);
    if (!known) return false;
    Generic generic{Generic::Source::explicit_type, of_item(call.generic)};
    if (d.generic && !fits(*known, *r.type, generic))
      return fault(call.at, "T7",
                   fmt::format("result '{}' of '{}<{}>' has another data-type than {}", r.name, d.name,
                               name(call.generic), name(call.generic)));
    results.push_back(*known);
    if (!as_tensors(*r.type, results.back())) return false;
  }
  in_standard_ = call.in_standard;
  if (!in_standard_) at_ = call.at;
  out = results.size() == 1 ? results[0] : list(results, false);
  return true;
}

/// Literals that stand where tensors are declared become constants of rank 0 (T3).
bool Evaluator::as_tensors(const DeclaredType& type, Arg& value) {
  if (value.is_tensor()) return true;
  if (type.kind == TypeKind::array || type.kind == TypeKind::tuple) {
    if (!has_tensor(type)) return true;
    if (!step(at_, value.items().size())) return false;
    std::vector<Arg> items(value.items().begin(), value.items().end());
    for (size_t i = 0; i < items.size(); ++i)
      if (!as_tensors(type.kind == TypeKind::array ? *type.items : type.items[i], items[i])) return false;
    value = Arg(values_.copy(items.data(), items.size()), value.kind());
    return true;
  }
  if (type.kind != TypeKind::tensor) return true;
  const Arg list = Arg(values_.copy(&value, 1));
  const Arg args[] = {Arg(std::span<const Arg>{}), list};
  return emit(*find_declaration("constant"), args, item_type(of_kind(value.kind())), nullptr, value);
}

/// Tensors for the results, in results_: named as the left side has it.
bool Evaluator::make_results(const Declaration& d, std::span<const Arg> args, ItemType generic, const Target* target) {
  results_.clear();
  const bool tuple = target && target->kind == Target::Kind::tuple && d.results.size() > 1;
  for (size_t r = 0; r < d.results.size(); ++r) {
    const Target* left = tuple && r < target->items.size() ? &target->items[r]
                         : d.results.size() == 1           ? target
                                                           : nullptr;
    const DeclaredType& type = *d.results[r].type;
    auto tensor = [&](const DeclaredType& t, const Target* to) {
      const bool named = to && to->kind == Target::Kind::name && !in_body();
      return Arg(tensors_.add(t.of == Of::generic ? generic : item_type(t.of), named ? to->name : std::string_view()));
    };
    if (type.kind == TypeKind::tensor) {
      results_.push_back(tensor(type, left));
      continue;
    }
    const bool array = left && left->kind == Target::Kind::array;
    int64_t count = array ? static_cast<int64_t>(left->items.size()) : -1;
    if (const int times = array ? -1 : d.find("times"); times >= 0 && d.is_standard())
      count = args[static_cast<size_t>(times)].integer();
    if (type.kind != TypeKind::array || type.items->kind != TypeKind::tensor || count < 0 ||
        static_cast<size_t>(count) > options_.limits.items)
      return fault(at_, "A12", fmt::format("how many results '{}' has does not follow from its call", d.name));
    if (!step(at_, static_cast<size_t>(count))) return false;
    const size_t base = stack_.size();
    for (int64_t i = 0; i < count; ++i)
      stack_.push_back(tensor(*type.items, array ? &left->items[static_cast<size_t>(i)] : nullptr));
    const Arg list(values_.copy(stack_.data() + base, stack_.size() - base));
    stack_.resize(base);
    results_.push_back(list);
  }
  return true;
}

bool Evaluator::emit(const Declaration& d, std::span<const Arg> args, ItemType generic, const Target* target,
                     Arg& out) {
  if (++operations_ > most_operations_) {
    fault(at_, "E16", fmt::format("more than {} operations", most_operations_), Code::limit);
    stopped_ = true;
  }
  if (stopped_ || !make_results(d, args, generic, target)) return false;
  std::vector<Arg> results;
  if (results_.size() > 1) results = results_;
  const Arg first = results_.empty() ? Arg() : results_[0];
  if (d.index == variable_index()) variables_.push_back(first.tensor().n);
  if (d.index == variable_index() + 1 &&
      !(args[0].is_tensor() && std::binary_search(variables_.begin(), variables_.end(), args[0].tensor().n)))
    return fault(at_, "A13", "the first argument of update is no variable; needed the result of variable()");
  std::vector<Arg> replaced;
  if (d.index == 0 && !options_.shapes.empty()) {
    const auto it = options_.shapes.find(tensors_[first.tensor()].name);
    if (it != options_.shapes.end()) {
      for (int64_t extent : it->second) replaced.emplace_back(extent);
      replaced = {Arg(values_.copy(replaced.data(), replaced.size()))};
      args = replaced;
    }
  }
  Operation op;
  op.declaration = &d, op.generic = generic, op.args = args, op.places = this;
  op.results = results.empty() ? std::span<const Arg>(&first, results_.size()) : std::span<const Arg>(results);
  sink_.operation(op, tensors_, faults_);
  out = results.empty() ? first : Arg(values_.copy(results.data(), results.size()), Arg::Kind::tuple);
  return true;
}

// ---- Documents

namespace {

bool has_extension(const graph_text::Document& d, std::string_view name) {
  return std::any_of(d.extensions.begin(), d.extensions.end(), [&](const graph_text::ExtensionText& e) {
    return std::find(e.words.begin(), e.words.end(), name) != e.words.end();
  });
}

}  // namespace

bool evaluate(std::string_view source, std::string_view file, Sink& sink, Tensors& tensors, Faults& faults,
              const EvaluateOptions& options) {
  graph_text::ParseLimits limits;
  limits.bytes = options.limits.bytes;
  limits.nesting = static_cast<int>(options.limits.depth);
  limits.depth = static_cast<uint16_t>(options.limits.depth);
  graph_text::Arena memory, scratch;
  const auto kind = options.dialect == Dialect::tract ? graph_text::TextKind::tract : graph_text::TextKind::document;
  graph_text::Parser parser(source, file, limits, faults, memory, kind);
  parser.use(options.places);
  if (!parser.start()) return false;
  graph_text::Document d;
  const bool graph = parser.head(d);
  Names names;
  Evaluator evaluator(parser.lexer(), file, sink, tensors, faults, options, names);
  std::vector<Declaration> declarations;
  declarations.reserve(d.fragments.size());
  for (const auto& f : d.fragments) declarations.push_back(declare(f, memory));
  Checker checker(evaluator.declared, parser, faults, options, names);
  for (const Declaration& one : declarations) {
    const auto& f = d.fragments[static_cast<size_t>(&one - declarations.data())];
    if (evaluator.declared.has(one.name))
      checker.fault(f.at, "D1", fmt::format("fragment '{}' is declared twice", one.name));
    else
      evaluator.declared.add(&one);
  }
  for (const Declaration& one : declarations) {
    const auto& f = d.fragments[static_cast<size_t>(&one - declarations.data())];
    const size_t before = faults.count();
    checker.declaration(one, f);
    if (one.body) checker.body(one);
    if (faults.count() == before) continue;
    evaluator.break_fragment(&one);
    checker.break_fragment(&one);
  }
  if (!graph) {
    if (!faults.none()) parser.blame_vendor();
    return faults.none();
  }
  checker.begin_graph(d.graph);
  std::vector<std::string_view> parameters, results;
  for (const Target& t : d.graph.params) parameters.push_back(t.name);
  for (const Target& t : d.graph.results) results.push_back(t.name);
  sink.begin({d.graph.name, parameters, results, declarations, has_extension(d, graph_text::kIntegers32)});
  parser.use(scratch);
  bool empty = true;
  Assignment a;
  const bool plain = kind == graph_text::TextKind::document && !options.places;
  while (parser.more()) {
    if (plain && parser.at(Tok::word)) {
      graph_text::FlatReader in(parser.cursor(), source.data() + source.size());
      if (evaluator.flat(in, checker) > 0) {
        empty = false;
        parser.go_on(in.cursor());
        continue;
      }
    }
    scratch.reset();
    empty = false;
    if (!parser.assignment(a)) {
      checker.poison(a.left);
      continue;
    }
    if (const DeclaredType* type = checker.assignment(a, scratch)) evaluator.assignment(a, *type);
  }
  parser.tail(empty);
  if (!empty) checker.end_graph(d.graph);
  if (!faults.none()) {
    parser.blame_vendor();
    return false;
  }
  std::vector<TensorId> ids;
  for (std::string_view name : results) ids.push_back(evaluator.tensor(name));
  sink.end(ids, tensors);
  return true;
}

}  // namespace nnex::nnef_format
