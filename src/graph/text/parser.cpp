#include "graph/text/parser.h"

#include <fmt/format.h>

#include "graph/text/rules.h"

namespace nnex::graph_text {

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
    return add(Error(Code::limit, fmt::format("text of {} bytes; at most {} are read", source_.size(), limits_.bytes)));
  now_ = lexer_.next();
  next_ = lexer_.next();
  return true;
}

Token Parser::step() {
  Token t = now_;
  now_ = next_;
  if (now_.kind != Tok::end) next_ = lexer_.next();
  return t;
}

bool Parser::add(Error e) {
  if (!stopped_) faults_.add(std::move(e));
  return false;
}

/// A fault at a place; one rule of NNEF is broken there.
bool Parser::fault(Position at, std::string_view rule, std::string message) {
  if (!stopped_ && now_.kind != Tok::bad) lexer_.fault(at, rule, std::move(message));
  return false;
}

/// A limit ends the text: nothing behind it is read.
bool Parser::limit(Position at, std::string message) {
  add(Error(Code::limit, std::move(message)).at(error(at, {}).where()));
  stopped_ = skipped_ = true;
  now_ = next_ = Token{Tok::end, Word::none, true, at, {}};
  return false;
}

bool Parser::wanted(std::string_view rule, std::string_view what) {
  return fault(now_.at, rule, needed(what).message());
}

bool Parser::want(Tok kind, std::string_view rule, std::string_view what) {
  if (at(kind)) {
    step();
    return true;
  }
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
  if (now_.word != Word::none)
    return fault(now_.at, "L4", fmt::format("'{}' is a keyword; needed {}", now_.text, what));
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

bool Parser::deeper() {
  if (nesting_ < limits_.nesting) return true;
  return limit(now_.at, fmt::format("nested deeper than {}", limits_.nesting));
}

void Parser::extended(Position at, std::string_view what) {
  if (operators_ || told_extended_ || in_default_) return;
  told_extended_ = true;
  fault(at, any_extension_ ? "S17" : "S8",
        fmt::format("{} in flat syntax; it needs 'extension KHR_enable_operator_expressions;'", what));
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
    if (depth <= 0 && now_.starts_line && now_.kind == Tok::word && next_.kind == Tok::assign) return;
    step();
  }
}

// ---- Documents

/// <document> ::= "version" <number> ";" <extension>* <fragment>* <graph>
bool Parser::head(Document& d) {
  if (at(Word::version)) {
    version(d);
  } else if (!dump()) {
    fault(now_.at, "S1", fmt::format("{}; put 'version 1.0;' first", needed("the version of the document").message()));
  }
  while (at(Word::extension) || at(Word::version)) {
    if (at(Word::version)) {
      if (!d.version.empty()) fault(now_.at, "S1", "the version stands twice");
      version(d);
    } else {
      extension(d);
    }
  }
  while (at(Word::fragment)) {
    const Position at_fragment = now_.at;
    if (!fragments_) fault(at_fragment, "S11", "a fragment needs 'extension KHR_enable_fragment_definitions;'");
    FragmentText f;
    if (fragment(f)) {
      d.fragments.push_back(f);
      continue;
    }
    skipped_ = true;
    if (dump()) return false;
    int depth = 0;
    while (!at(Tok::end) && !(depth <= 0 && (at(Word::fragment) || at(Word::graph)))) {
      depth += at(Tok::open_curly) ? 1 : at(Tok::close_curly) ? -1 : 0;
      if (now_.starts_line && (at(Word::fragment) || at(Word::graph))) break;
      step();
    }
  }
  if (!at(Word::graph)) {
    wanted("S1", "'graph'");
    skipped_ = true;
    while (!at(Tok::end) && !at(Word::graph)) step();
    if (at(Tok::end)) return false;
  }
  return graph_head(d.graph, true);
}

/// <version> ::= "version" <number> ";"
bool Parser::version(Document& d) {
  step();
  if (at(Tok::real) || at(Tok::integer) || at(Tok::string)) {
    const Token t = step();
    if (t.kind != Tok::real || t.text.find_first_of("eE") != std::string_view::npos)
      fault(t.at, "S2", fmt::format("found '{}'; needed a version as 1.0", t.text));
    else if (!dump() && t.text != "1.0")
      fault(t.at, "S2", fmt::format("version {} is not known; needed 1.0", t.text));
    d.version = t.text;
  } else {
    wanted("S2", "a version as 1.0");
  }
  return want(Tok::semicolon, "S2", "';' behind the version");
}

/// <extension> ::= "extension" <identifier>+ ";"          commas between the names are read too
bool Parser::extension(Document& d) {
  ExtensionText e;
  e.at = now_.at;
  step();
  const size_t base = names_.size();
  while (!at(Tok::semicolon) && !at(Tok::end)) {
    const Position where = now_.at;
    std::string_view name;
    if (kind_ == TextKind::tract && !at(Tok::word)) {
      step();
      continue;
    }
    if (kind_ == TextKind::tract) {
      name = step().text;
    } else if (!identifier(name, "S3", "the name of an extension")) {
      names_.resize(base);
      recover();
      return false;
    }
    names_.push_back(name);
    know(name, where);
    if (at(Tok::comma)) step();
  }
  e.words = arena_->copy(names_.data() + base, names_.size() - base);
  names_.resize(base);
  if (e.words.empty()) fault(now_.at, "S3", "found ';'; needed the name of an extension");
  d.extensions.push_back(e);
  return want(Tok::semicolon, "S3", "';' behind the extensions");
}

void Parser::know(std::string_view name, Position where) {
  any_extension_ = true;
  if (name == "KHR_enable_fragment_definitions") {
    fragments_ = true;
  } else if (name == "KHR_enable_operator_expressions") {
    operators_ = true;
  } else if (kind_ == TextKind::document && name.starts_with("tract_")) {
    if (vendor_.empty()) vendor_ = name, vendor_at_ = where;
  } else if (kind_ == TextKind::document) {
    fault(where, "S18",
          fmt::format("extension '{}' is not known; known are KHR_enable_fragment_definitions and "
                      "KHR_enable_operator_expressions",
                      name));
  }
}

/// A document may say that it was made for a vendor's reader and use nothing of it; where it does not hold, that is
/// why.
void Parser::blame_vendor() {
  if (!vendor_.empty())
    lexer_.fault(vendor_at_, "S18",
                 fmt::format("extension '{}' is sonos/tract's; --dialect tract reads what tract writes", vendor_));
}

/// <fragment> ::= "fragment" <identifier> [ "<" "?" [ "=" <type-name> ] ">" ] "(" <parameters> ")" "->" "(" <results>
/// ")"
///                ( "{" <assignment>+ "}" | ";" )
bool Parser::fragment(FragmentText& f) {
  f.at = now_.at;
  step();
  if (!identifier(f.name, "S11", "the fragment's name")) return false;
  if (at(Tok::less)) {
    step();
    if (!want(Tok::question, "S12")) return false;
    f.generic = true;
    if (at(Tok::assign)) {
      step();
      f.has_generic_default = true;
      if (!type_name(f.generic_default, "S12")) return false;
    }
    if (!want(Tok::greater, "S12")) return false;
  }
  if (!fragment_params(f.params, false) || !want(Tok::arrow, "S11") || !fragment_params(f.results, true)) return false;
  if (at(Tok::semicolon)) {
    step();
    return true;
  }
  if (!want(Tok::open_curly, "S5", "'{' or ';'")) return false;
  f.has_body = true;
  const Position open = now_.at;
  if (!body(Tok::close_curly, f.body) && dump()) return false;
  if (f.body.empty() && !skipped_)
    return fault(dump() ? f.at : open, "S5", fmt::format("fragment '{}' has an empty body", f.name));
  return want(Tok::close_curly, "S5");
}

bool Parser::fragment_params(std::span<const FragmentParam>& out, bool results) {
  const std::string_view rule = "S11";
  if (!want(Tok::open_round, rule)) return false;
  std::vector<FragmentParam> list;
  if (kind_ == TextKind::tract && at(Tok::close_round)) return step(), true;
  while (true) {
    if (at(Tok::close_round) && !list.empty()) return fault(now_.at, "S16", "found ')' behind ','; needed a name");
    FragmentParam p;
    if (!fragment_param(p, results)) return false;
    list.push_back(p);
    if (!at(Tok::comma)) break;
    step();
  }
  out = arena_->copy(list.data(), list.size());
  return want(Tok::close_round, rule);
}

/// <parameter> ::= <identifier> ":" <type> [ "=" <literal> ]        a result has no default
bool Parser::fragment_param(FragmentParam& p, bool result) {
  p.at = now_.at;
  if (!identifier(p.name, "S11", "a name") || !want(Tok::colon, "S12") || !declared_type(p.type)) return false;
  if (result || !at(Tok::assign)) return true;
  step();
  Expr e;
  in_default_ = true;
  const bool fine = expression(e);
  in_default_ = false;
  if (!fine) return false;
  p.otherwise = arena_->make(dump() || only_literals(e) ? e : Expr{});
  return true;
}

/// A default is a literal: no names, operators or calls.
bool Parser::only_literals(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::boolean:
    case Expr::Kind::integer:
    case Expr::Kind::real:
    case Expr::Kind::string:
      return true;
    case Expr::Kind::array:
    case Expr::Kind::tuple:
      for (const Expr& i : e.items)
        if (!only_literals(i)) return false;
      return true;
    default:
      return fault(e.at, "S13", "a default is a literal; found a name, an operator or a call");
  }
}

bool Parser::type_name(DeclaredType::Of& of, std::string_view rule) {
  using Of = DeclaredType::Of;
  if (at(Tok::question)) {
    of = Of::generic;
  } else if (at(Word::integer)) {
    of = Of::integer;
  } else if (at(Word::scalar)) {
    of = Of::scalar;
  } else if (at(Word::logical)) {
    of = Of::logical;
  } else if (at(Word::string)) {
    of = Of::string;
  } else {
    return wanted(rule, "a type: integer, scalar, logical, string or ?");
  }
  step();
  return true;
}

/// <type> ::= ( <type-name> | "tensor" "<" [<type-name>] ">" | "(" <type> ("," <type>)+ ")" ) ( "[" "]" )*
bool Parser::declared_type(DeclaredType& t) {
  if (!deeper()) return false;
  Depth depth(nesting_);
  if (at(Tok::open_round)) {
    std::vector<DeclaredType> items;
    do {
      step();
      DeclaredType item;
      if (!declared_type(item)) return false;
      items.push_back(item);
    } while (at(Tok::comma));
    if (items.size() < 2) return wanted("S12", "','; a tuple has at least two items");
    t.kind = DeclaredType::Kind::tuple;
    t.count = static_cast<uint32_t>(items.size());
    t.items = arena_->copy(items.data(), items.size()).data();
    if (!want(Tok::close_round, "S12")) return false;
  } else if (at(Word::tensor)) {
    t.kind = DeclaredType::Kind::tensor, t.of = DeclaredType::Of::unbound;
    step();
    if (!want(Tok::less, "S12", "'<': tensor<scalar>, tensor<?> or tensor<>")) return false;
    if (!at(Tok::greater) && !type_name(t.of, "S12")) return false;
    if (!want(Tok::greater, "S12")) return false;
  } else if (!type_name(t.of, "S12")) {
    return false;
  }
  for (int arrays = 0; at(Tok::open_square); ++arrays) {
    if (arrays == limits_.nesting) return limit(now_.at, fmt::format("arrays nested deeper than {}", limits_.nesting));
    step();
    if (!want(Tok::close_square, "S12", "']': an array type has no length")) return false;
    DeclaredType array;
    array.kind = DeclaredType::Kind::array, array.count = 1;
    array.items = arena_->make(t);
    t = array;
  }
  return true;
}

/// <graph> ::= "graph" <identifier> [<string>] "(" <targets> ")" "->" "(" <targets> ")" "{" <assignment>* "}"
/// A block of a node has no name.
bool Parser::graph(GraphText& g, bool named) {
  if (!deeper()) return false;
  Depth depth(nesting_);
  return graph_head(g, named) && body(Tok::close_curly, g.body) && want(Tok::close_curly, "S5");
}

bool Parser::graph_head(GraphText& g, bool named) {
  g.at = now_.at;
  if (!word(Word::graph, "S1")) return false;
  if (named) {
    if (!identifier(g.name, "S4", "the graph's name")) {
      if (dump()) return false;
      if (!at(Tok::open_round)) step();
    }
    if (dump() && at(Tok::string)) {
      std::string_view label;
      if (!text(label)) return false;
      g.label = label;
    }
  }
  if (dump()) {
    if (!want(Tok::open_round, {}) || !targets(Tok::close_round, g.params)) return false;
    if (!want(Tok::arrow, {}) || !want(Tok::open_round, {}) || !targets(Tok::close_round, g.results)) return false;
    return want(Tok::open_curly, {});
  }
  bool fine = graph_names(g.params, "a graph parameter");
  auto body_begins = [&] { return at(Tok::open_curly) || (now_.starts_line && next_.kind == Tok::assign); };
  while (!fine && !at(Tok::end) && !at(Tok::arrow) && !body_begins()) step();
  if (fine || at(Tok::arrow)) {
    fine = want(Tok::arrow, "S4") && fine;
    fine = graph_names(g.results, "a graph result") && fine;
  }
  if (!fine) {
    skipped_ = true;
    while (!at(Tok::end) && !body_begins()) step();
  }
  if (at(Tok::end)) return wanted("S5", "'{'");
  want(Tok::open_curly, "S5", "'{' before the body");
  return true;
}

/// "(" <identifier> ("," <identifier>)* ")": at least one, without types.
bool Parser::graph_names(std::span<const Target>& out, std::string_view what) {
  const size_t base = targets_.size();
  auto done = [&](bool fine) {
    out = arena_->copy(targets_.data() + base, targets_.size() - base);
    targets_.resize(base);
    return fine;
  };
  if (!want(Tok::open_round, "S4")) return done(false);
  while (true) {
    Target t;
    t.at = now_.at;
    if (at(Tok::close_round) && targets_.size() > base)
      return done(fault(now_.at, "S16", fmt::format("found ')' behind ','; needed {}", what)));
    if (!identifier(t.name, "S4", what)) {
      if (!at(Tok::word)) return done(false);
      t.name = step().text;  // A keyword: reported, and the rest can be read.
    }
    targets_.push_back(t);
    if (at(Tok::colon) && kind_ == TextKind::document)
      return done(fault(now_.at, "S4", fmt::format("found ':'; {} has no type", what)));
    if (!at(Tok::comma)) break;
    step();
  }
  return done(want(Tok::close_round, "S4"));
}

bool Parser::tail(bool empty) {
  if (stopped_) return false;
  if (at(Tok::close_curly)) {
    if (empty && !skipped_) fault(now_.at, "S5", "the graph has an empty body; needed at least one assignment");
    step();
  } else {
    wanted("S5", "'}' behind the body");
  }
  if (at(Tok::end)) return true;
  if (at(Word::graph)) return fault(now_.at, "S1", "a second graph; a document has one");
  if (at(Word::fragment)) return fault(now_.at, "S1", "a fragment behind the graph; fragments stand before it");
  return wanted("S1", "the end of the document");
}

bool Parser::document(Document& d) {
  if (!head(d)) return false;
  return body(Tok::close_curly, d.graph.body) && tail(false);
}

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
  const char* const begin = now_.text.data();
  const bool fine = statement(a);
  // Whatever stands there, the text gets shorter.
  if (!fine && !at(Tok::end) && now_.text.data() == begin) {
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
      fault(now_.at, "S6", "an empty statement");
      step();
      return false;
    }
    if (at(Tok::open_curly)) {
      fault(now_.at, "S10", "found '{'; needed an assignment");
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
      fine = wanted("S6", "';'");
    if (!dump() && (at(Tok::close_curly) || now_.starts_line)) return false;
  } else if (fine) {
    step();
  }
  if (!fine && !dump()) recover();
  return fine && !told_extended_;
}

bool Parser::right_side(Expr& out) {
  const Position begin = now_.at;
  if (!expression(out)) return false;
  if (operators_ || out.kind == Expr::Kind::call) return true;
  if (out.kind == Expr::Kind::name && !at(Tok::semicolon)) return true;  // assignment() says what is missing.
  extended(begin, out.kind == Expr::Kind::array ? "an array (a tensor to --dialect tract) as the right side"
                                                : "the right side is no invocation");
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
    if (at(Tok::assign)) return fault(now_.at, "S16", "found '=' behind ','; needed a name");
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
  t.at = now_.at;
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
      if (at(close) && !dump()) return fault(now_.at, "S16", "found a ',' with nothing behind it; needed a name");
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
    return Error(Code::limit, fmt::format("text of {} bytes; at most {} are read", source.size(), limits.bytes));
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
