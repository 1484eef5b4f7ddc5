// Evaluation of flat statements straight from the text: "y = conv(x, w, stride = [1, 1]);" becomes a call without
// tokens or expressions between. A statement counts as flat only if the parser and the checker would find no fault in
// it; all others are left to them, from their first character on.

#include "standards/nnef/import_evaluator.h"

namespace nnex::nnef_format {
namespace {

using graph_text::FlatReader;
using graph_text::Number;

constexpr int kDeepest = 8;  ///< Lists in lists; deeper ones are the parser's.

/// ["<" type ">"] behind an operation's name.
bool flat_generic(FlatReader& in, const Declaration& d, Generic& out) {
  if (d.has_generic_default) out = {Generic::Source::declared_default, of_item(d.generic_default)};
  if (!in.take('<')) return true;
  std::string_view word;
  in.space();
  if (!d.generic || !in.word(word) || !in.take('>')) return false;
  for (ItemType type : {ItemType::scalar, ItemType::integer, ItemType::logical, ItemType::string}) {
    if (word != name(type)) continue;
    out = {Generic::Source::explicit_type, of_item(type)};
    return true;
  }
  return false;
}

}  // namespace

size_t Evaluator::flat(FlatReader& in, Checker& checker) {
  for (size_t n = 0;; ++n) {
    const graph_text::Cursor begin = in.cursor();
    if (flat_statement(in, checker)) continue;
    in.go_back(begin);
    return n;
  }
}

/// <identifier> "=" <operation> ["<" type ">"] "(" <arguments> ")" ";"
bool Evaluator::flat_statement(FlatReader& in, Checker& checker) {
  values_.reset();
  stack_.clear();
  Target left;
  std::string_view called;
  in.space();
  left.at = in.cursor().position();
  if (!in.word(left.name) || graph_text::is_keyword(left.name) || !in.take('=')) return false;
  in.space();
  const Position begin = in.cursor().position();
  if (!in.word(called)) return false;
  const Declaration* d = declared.find(called);
  if (!d || !d->is_standard() || d->index == 0) return false;
  Generic generic;
  if (!flat_generic(in, *d, generic) || !in.take('(') || !flat_arguments(in, *d, generic) || !in.take(';'))
    return false;
  if (d->generic && generic.source == Generic::Source::open) return false;
  const ItemType type = item_type(generic.of);
  Name* const to = checker.flat_target(left.name, *d, type);
  if (!to) return false;
  at_ = begin;
  Arg out;
  const auto call = [&](Arg& made) { return invoke(*d, flat_args_, type, begin, &left, made); };
  if (evaluated_call(call, out))
    bind(left.name, *to, out);
  else
    unknown(left, *to->type);
  return true;
}

/// [<identifier> "="] <value> ("," [<identifier> "="] <value>)* ")", into flat_args_ with the defaults of the others.
bool Evaluator::flat_arguments(FlatReader& in, const Declaration& d, Generic& generic) {
  flat_args_.assign(d.parameters.size(), Arg());
  bool named = false;
  size_t p = 0;
  do {
    in.space();
    const graph_text::Cursor begin = in.cursor();
    std::string_view word;
    if (in.word(word) && in.take('=')) {
      const int found = d.find(word, p);
      if (found < 0) return false;
      p = static_cast<size_t>(found), named = true;
      in.space();
    } else if (named || p >= d.parameters.size() || !has_tensor(*d.parameters[p].type)) {
      return false;
    } else {
      in.go_back(begin);
    }
    Arg& to = flat_args_[p];
    if (!to.is(Arg::Kind::none) || !flat_value(in, to, 0) || !fits(to, *d.parameters[p].type, generic)) return false;
    ++p;
  } while (in.take(','));
  if (!in.take(')')) return false;
  for (p = 0; p < flat_args_.size(); ++p) {
    if (!flat_args_[p].is(Arg::Kind::none)) continue;
    if (!d.parameters[p].has_default) return false;
    flat_args_[p] = d.parameters[p].otherwise;
  }
  return true;
}

/// A number, a string, true, false, the name of a value, or a list of such.
bool Evaluator::flat_value(FlatReader& in, Arg& out, int depth) {
  const char c = in.peek();
  std::string_view text;
  switch (graph_text::class_of(c)) {
    case graph_text::kLetter: {
      in.word(text);
      if (const Arg* known = of_graph(text))
        out = *known;
      else if (text == "true" || text == "false")
        out = Arg(text == "true");
      else
        return false;
      return true;
    }
    case graph_text::kQuote:
      if (!in.string(text)) return false;
      out = Arg(text);
      return true;
    default:
      break;
  }
  if (c == '[' || c == '(') return flat_list(in, out, depth + 1);
  const Number n = in.number();
  if (n.kind == Number::Kind::integer) out = Arg(n.integer);
  if (n.kind == Number::Kind::real) out = Arg(n.real);
  return n.kind != Number::Kind::none;
}

/// "[" [<values>] "]" | "(" <value> "," <values> ")"
bool Evaluator::flat_list(FlatReader& in, Arg& out, int depth) {
  if (depth > kDeepest) return false;
  const bool array = in.peek() == '[';
  const char close = array ? ']' : ')';
  in.take(in.peek());
  const size_t base = stack_.size();
  if (!array || !in.take(']')) {
    do {
      in.space();
      Arg item;
      if (!flat_value(in, item, depth)) return false;
      stack_.push_back(item);
    } while (in.take(','));
    if (!in.take(close)) return false;
  }
  const size_t count = stack_.size() - base;
  if (!array && count < 2) return false;
  out = Arg(values_.copy(stack_.data() + base, count), array ? Arg::Kind::array : Arg::Kind::tuple);
  stack_.resize(base);
  return true;
}

}  // namespace nnex::nnef_format
