#include "graph/text/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/failure.h"
#include "graph/text/rules.h"

namespace nnex::graph_text {
namespace {

/// Whether a text begins as those of UTF-16 and UTF-32 do.
bool is_wide(std::string_view text) {
  const std::string_view begin = text.substr(0, 4);
  return begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff") || begin.find('\0') != begin.npos;
}

}  // namespace

Parser::Parser(std::string_view source, std::string_view name, const ParseLimits& limits, Faults& faults, Arena& arena,
               TextKind kind)
    : source_(source),
      kind_(kind),
      lexer_(source, name, faults, kind),
      limits_(limits),
      faults_(faults),
      arena_(&arena),
      operators_(kind != TextKind::document),
      fragments_(kind != TextKind::document) {}

// ---- Tokens and faults

bool Parser::start() {
  if (source_.size() > limits_.bytes)
    return add(failure(Code::limit, "text of {} bytes; at most {} are read", source_.size(), limits_.bytes));
  if (kind_ == TextKind::document && is_wide(source_)) {
    lexer_.fault({1, 1}, "L1", "the text is of characters of 2 or 4 bytes (UTF-16, UTF-32); needed ASCII");
    skipped_ = true;
    return false;
  }
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (kind_ == TextKind::document && source_.starts_with(kMark)) {
    lexer_.fault({1, 1}, "L1", "the text begins with a byte order mark (EF BB BF); save it without one");
    const char* const behind = source_.data() + kMark.size();
    lexer_.seek({behind, source_.data(), 1});
  }
  lexer_.next(*now_);
  lexer_.next(*next_);
  return true;
}

bool Parser::add(Error e) {
  if (!stopped_) faults_.add(std::move(e));
  return false;
}

/// A fault at a place; one rule of NNEF is broken there.
bool Parser::fault(Position at, std::string_view rule, std::string message, const std::vector<Remedy>& remedies) {
  if (!stopped_ && now_->kind != Tok::bad) lexer_.fault(at, rule, std::move(message), remedies);
  return false;
}

/// A limit ends the text: nothing behind it is read.
bool Parser::limit(Position at, std::string message) {
  add(Error(Code::limit, std::move(message)).at(error(at, {}).where()));
  stopped_ = skipped_ = true;
  *now_ = *next_ = Token{Tok::end, Word::none, true, at, {}};
  return false;
}

bool Parser::wanted(std::string_view rule, std::string_view what) {
  return fault(now_->at, rule, needed(what).message());
}

bool Parser::missing(Tok kind, std::string_view rule, std::string_view what) {
  if (!what.empty()) return wanted(rule, what);
  return wanted(rule, kind > Tok::string ? fmt::format("'{}'", shown(kind)) : std::string(shown(kind)));
}

bool Parser::word(Word which, std::string_view rule) {
  if (!at(which)) return wanted(rule, fmt::format("'{}'", keywords()[static_cast<size_t>(which) - 1]));
  step();
  return true;
}

bool Parser::identifier(std::string_view& out, std::string_view rule, std::string_view what) {
  if (at(Tok::string) && kind_ == TextKind::tract) return text(out);
  if (!at(Tok::word)) return wanted(rule, what);
  if (now_->word != Word::none)
    return fault(now_->at, "L4", fmt::format("'{}' is a keyword; needed {}", now_->text, what));
  out = step().text;
  return true;
}

/// The content of a string. NNEF has two escapes: the delimiter and the backslash.
bool Parser::text(std::string_view& out) {
  if (!at(Tok::string)) return wanted("L3", shown(Tok::string));
  const Token t = step();
  out = t.text;
  if (t.text.find('\\') == std::string_view::npos) return true;
  std::string plain;
  bool fine = unescape(t.text, plain);
  if (fine && !dump()) {
    const char quote = *(t.text.data() - 1);
    for (size_t i = 0; i < t.text.size(); ++i)
      if (t.text[i] == '\\' && t.text[++i] != quote && t.text[i] != '\\') fine = false;
  }
  if (!fine)
    return fault(t.at, "L3",
                 dump() ? "the string has an escape other than \\', \\\", \\\\ and \\xNN"
                        : "the string has a '\\' that is neither before its delimiter nor before another");
  out = arena_->copy(std::string_view(plain));
  return true;
}

/// Of rules that call themselves: left sides, types and blocks.
bool Parser::deeper() {
  const int deepest = std::min(limits_.nesting, static_cast<int>(kDeepestType));
  if (nesting_ < deepest) return true;
  return limit(now_->at, fmt::format("nested deeper than {}", deepest));
}

void Parser::extended(Position at, std::string_view what, const std::vector<Remedy>& remedies) {
  if (operators_ || told_extended_ || in_default_) return;
  told_extended_ = true;
  fault(at, any_extension_ ? "S17" : "S8",
        fmt::format("{} in flat syntax; it needs 'extension KHR_enable_operator_expressions;'", what), remedies);
}

/// After a fault in a statement: behind its ';', or before what begins the next.
void Parser::recover() {
  skipped_ = true;
  int depth = 0;
  while (!at(Tok::end)) {
    if (at(Tok::open_round) || at(Tok::open_square)) ++depth;
    if (at(Tok::close_round) || at(Tok::close_square)) --depth;
    if (at(Tok::semicolon)) {
      step();
      return;
    }
    if (at(Tok::close_curly) || at(Tok::open_curly)) return;
    if (at(Word::graph) || at(Word::fragment)) return;
    if (depth <= 0 && now_->starts_line && now_->kind == Tok::word && next_->kind == Tok::assign) return;
    step();
  }
}

// ---- Assignments

/// <assignment>* up to the token `end`, which stays.
bool Parser::body(Tok end, std::span<const Assignment>& out) {
  std::vector<Assignment> list;
  bool fine = true;
  while (!at(end) && !stopped_ && (dump() || more())) {
    if (!dump() && (at(Word::graph) || at(Word::fragment))) break;
    Assignment a;
    if (assignment(a)) {
      list.push_back(a);
    } else if (dump()) {
      return false;
    } else {
      fine = false;
      if (at(Tok::open_curly)) step();
      // What could not be read still gives its names something to mean.
      a.right = Expr{};
      list.push_back(a);
    }
  }
  out = arena_->copy(list.data(), list.size());
  return fine && !stopped_;
}

bool Parser::assignment(Assignment& a) {
  const char* const begin = now_->text.data();
  const bool fine = statement(a);
  // Whatever stands there, the text gets shorter.
  if (!fine && !at(Tok::end) && now_->text.data() == begin) {
    step();
    if (!dump()) recover();
  }
  return fine;
}

/// <assignment> ::= <left side> "=" <expression> ";"
bool Parser::statement(Assignment& a) {
  a = Assignment{};
  told_extended_ = false;
  nesting_ = dump() ? nesting_ : 0, calls_ = 0;
  if (!dump()) {
    stack_.clear(), names_.clear(), targets_.clear();
    if (at(Tok::semicolon)) {
      fault(now_->at, "S6", "an empty statement");
      step();
      return false;
    }
    if (at(Tok::open_curly)) {
      fault(now_->at, "S10", "found '{'; needed an assignment");
      step();
      return false;
    }
  }
  a.left.kind = Target::Kind::tuple;  // Nothing, until it is read.
  Target left;
  if (!left_side(left)) {
    if (!dump()) recover();
    return false;
  }
  a.left = left;
  if (!dump() && !at(Tok::assign)) {
    wanted("S10", "'='; the left side has names, arrays and tuples of them");
    a.left = Target{};
    a.left.kind = Target::Kind::tuple;
    recover();
    return false;
  }
  bool fine = want(Tok::assign, "S10") && right_side(a.right);
  if (fine && !at(Tok::semicolon)) {
    if (!dump() && a.right.kind == Expr::Kind::name && !operators_)
      fine = wanted("S7", fmt::format("'(' and the arguments of '{}'", a.right.text));
    else
      fine = wanted("S6", !dump() && now_->starts_line ? "';' behind the line before" : "';'");
    if (!dump() && (at(Tok::close_curly) || now_->starts_line)) return false;
  } else if (fine) {
    step();
  }
  if (!fine && !dump()) recover();
  return fine && !told_extended_;
}

bool Parser::right_side(Expr& out) {
  const Position begin = now_->at;
  if (!expression(out)) return false;
  if (operators_ || out.kind == Expr::Kind::call) return true;
  if (out.kind == Expr::Kind::name && !at(Tok::semicolon)) return true;  // assignment() says what is missing.
  if (out.kind == Expr::Kind::array)
    extended(begin, "an array as the right side", {{"nnef.dialect", "tract", "takes it as a tensor"}});
  else
    extended(begin, "the right side is no invocation");
  return true;
}

/// <left side> ::= <target> ("," <target>)*
bool Parser::left_side(Target& t) {
  if (!target(t)) return false;
  if (!at(Tok::comma)) return true;
  const size_t base = targets_.size();
  targets_.push_back(t);
  while (at(Tok::comma)) {
    step();
    if (at(Tok::assign)) return fault(now_->at, "S16", "found '=' behind ','; needed a name");
    Target item;
    if (!target(item)) return false;
    targets_.push_back(item);
  }
  Target tuple;
  tuple.kind = Target::Kind::tuple, tuple.at = t.at;
  tuple.items = arena_->copy(targets_.data() + base, targets_.size() - base);
  targets_.resize(base);
  t = tuple;
  return true;
}

/// <target> ::= <identifier> [<string>] [":" <type>] | "[" [<targets>] "]" | "(" <targets> ")" | "none"
bool Parser::target(Target& t) {
  t.at = now_->at;
  if (at(Tok::open_square) || at(Tok::open_round)) {
    if (!deeper()) return false;
    Depth depth(nesting_);
    const bool array = at(Tok::open_square);
    t.kind = array ? Target::Kind::array : Target::Kind::tuple;
    step();
    if (!targets(array ? Tok::close_square : Tok::close_round, t.items)) return false;
    if (!array && t.items.size() < 2)
      return fault(t.at, "S9", fmt::format("a tuple has at least two items; found {}", t.items.size()));
    return true;
  }
  if (dump() && at_plain("none")) {
    step();
    t.kind = Target::Kind::none;
    return true;
  }
  if (!identifier(t.name, "S10", "a name")) return false;
  if (!dump()) return true;
  TargetNote note;
  if (at(Tok::string)) {
    std::string_view label;
    if (!text(label)) return false;
    note.label = label;
  }
  if (at(Tok::colon)) {
    step();
    auto declared = type();
    if (!declared.ok()) return add(std::move(declared).error());
    note.type = std::move(declared).value();
  }
  if (note.label || note.type) t.note = arena_->own(std::move(note));
  return true;
}

/// [ <target> ("," <target>)* ] and the closing token.
bool Parser::targets(Tok close, std::span<const Target>& out) {
  const size_t base = targets_.size();
  while (!at(close)) {
    if (targets_.size() > base) {
      if (!want(Tok::comma, "S10")) return false;
      if (at(close) && !dump()) return fault(now_->at, "S16", "found a ',' with nothing behind it; needed a name");
    }
    Target t;
    if (!target(t)) return false;
    targets_.push_back(t);
  }
  out = arena_->copy(targets_.data() + base, targets_.size() - base);
  targets_.resize(base);
  step();
  return true;
}

// ---- Entries

namespace {

/// A parse of a dump, with memory of its own; the source is copied, since names are views of it.
template <class T, class Read>
Result<T> parse(std::string_view source, std::string_view name, const ParseLimits& limits, Read read) {
  if (source.size() > limits.bytes)
    return failure(Code::limit, "text of {} bytes; at most {} are read", source.size(), limits.bytes);
  auto memory = std::make_shared<Arena>();
  Faults faults(1);
  Parser p(memory->copy(source), name, limits, faults, *memory, TextKind::dump);
  T out;
  const bool fine = p.start() && read(p, out);
  if (!faults.none()) return std::move(faults).first();
  if (!fine) return Error(Code::internal, "a text that does not parse has no fault");
  if constexpr (!std::is_same_v<T, Type>) out.memory = std::move(memory);
  return out;
}

}  // namespace

Result<OwnedDocument> parse_document(std::string_view source, std::string_view name, const ParseLimits& limits) {
  return parse<OwnedDocument>(source, name, limits, [](Parser& p, OwnedDocument& d) { return p.document(d); });
}

Result<Body> parse_body(std::string_view source, std::string_view name, const ParseLimits& limits) {
  return parse<Body>(source, name, limits, [](Parser& p, Body& b) { return p.body(Tok::end, b.assignments); });
}

Result<OwnedExpr> parse_expression(std::string_view source, std::string_view name, const ParseLimits& limits) {
  return parse<OwnedExpr>(source, name, limits,
                          [](Parser& p, OwnedExpr& e) { return p.expression(e) && p.want(Tok::end, {}); });
}

Result<Type> parse_type(std::string_view source, std::string_view name) {
  Status failed;
  auto read = [&](Parser& p, Type& out) {
    auto t = p.type();
    if (!t.ok()) {
      failed = std::move(t).error();
      return false;
    }
    out = std::move(t).value();
    return p.want(Tok::end, {});
  };
  auto made = parse<Type>(source, name, {}, read);
  if (!failed.ok()) return std::move(failed).error();
  return made;
}

}  // namespace nnex::graph_text
