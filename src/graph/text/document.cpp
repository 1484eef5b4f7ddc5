// Rules of documents (NNEF 1.0.5, 3.1 and 3.2 of the grammar): version, extensions, fragments, the graph's head.

#include <fmt/format.h>

#include <algorithm>

#include "graph/text/rules.h"

namespace nnex::graph_text {

/// <document> ::= "version" <number> ";" <extension>* <fragment>* <graph>
bool Parser::head(Document& d) {
  if (at(Word::version)) {
    version(d);
  } else if (!dump()) {
    fault(now_->at, "S1", fmt::format("{}; put 'version 1.0;' first", needed("the version of the document").message()));
    if (at(Tok::end)) return false;
  }
  while (at(Word::extension) || at(Word::version)) {
    if (at(Word::version)) {
      if (!d.version.empty()) fault(now_->at, "S1", "the version stands twice");
      version(d);
    } else {
      extension(d);
    }
  }
  while (at(Word::fragment)) {
    const Position at_fragment = now_->at;
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
      if (now_->starts_line && (at(Word::fragment) || at(Word::graph))) break;
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
    while (!at(Tok::semicolon) && !at(Tok::end) && !now_->starts_line) step();
    if (!at(Tok::semicolon)) return false;
  }
  return want(Tok::semicolon, "S2", "';' behind the version");
}

/// <extension> ::= "extension" <identifier>+ ";"          commas between the names are read too
bool Parser::extension(Document& d) {
  ExtensionText e;
  e.at = now_->at;
  step();
  const size_t base = names_.size();
  while (!at(Tok::semicolon) && !at(Tok::end)) {
    const Position where = now_->at;
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
  if (e.words.empty()) fault(now_->at, "S3", "found ';'; needed the name of an extension");
  d.extensions.push_back(e);
  return want(Tok::semicolon, "S3", "';' behind the extensions");
}

void Parser::know(std::string_view name, Position where) {
  any_extension_ = true;
  if (name == "KHR_enable_fragment_definitions") {
    fragments_ = true;
  } else if (name == "KHR_enable_operator_expressions") {
    operators_ = true;
  } else if (name == kIntegers32) {
    // what it says is the reader's to do
  } else if (kind_ == TextKind::document && name.starts_with("tract_")) {
    if (vendor_.empty()) vendor_ = name, vendor_at_ = where;
  } else if (kind_ == TextKind::document) {
    fault(where, "S18",
          fmt::format("extension '{}' is not known; known are KHR_enable_fragment_definitions, "
                      "KHR_enable_operator_expressions and {}",
                      name, kIntegers32));
  }
}

/// A document may say that it was made for a vendor's reader and use nothing of it; where it does not hold, that is
/// why.
void Parser::blame_vendor() {
  if (!vendor_.empty())
    lexer_.fault(vendor_at_, "S18", fmt::format("extension '{}' is sonos/tract's", vendor_),
                 {{"nnef.dialect", "tract", "reads what tract writes"}});
}

/// <fragment> ::= "fragment" <identifier> [ "<" "?" [ "=" <type-name> ] ">" ] "(" <parameters> ")" "->" "(" <results>
/// ")"
///                ( "{" <assignment>+ "}" | ";" )
bool Parser::fragment(FragmentText& f) {
  f.at = now_->at;
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
  const Position open = now_->at;
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
    if (at(Tok::close_round) && !list.empty()) return fault(now_->at, "S16", "found ')' behind ','; needed a name");
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
  p.at = now_->at;
  if (!identifier(p.name, "S11", "a name") || !want(Tok::colon, "S12") || !declared_type(p.type)) return false;
  if (result || !at(Tok::assign)) return true;
  step();
  Expr e;
  in_default_ = true;
  const bool fine = expression(e);
  in_default_ = false;
  if (!fine) return false;
  if (e.depth > kDeepestType) return limit(e.at, fmt::format("a default of more than {} levels", kDeepestType));
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
    case Expr::Kind::name:
      if (kind_ == TextKind::tract && e.text == "inf") return true;
      [[fallthrough]];
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
  for (uint32_t i = 0; i < t.count; ++i) t.depth = std::max(t.depth, static_cast<uint16_t>(t.items[i].depth + 1));
  while (at(Tok::open_square)) {
    if (t.depth >= kDeepestType) return limit(now_->at, fmt::format("a type of more than {} levels", kDeepestType));
    step();
    if (!want(Tok::close_square, "S12", "']': an array type has no length")) return false;
    DeclaredType array;
    array.kind = DeclaredType::Kind::array, array.count = 1, array.depth = static_cast<uint16_t>(t.depth + 1);
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
  g.at = now_->at;
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
  auto body_begins = [&] { return at(Tok::open_curly) || (now_->starts_line && next_->kind == Tok::assign); };
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
    t.at = now_->at;
    if (at(Tok::close_round) && targets_.size() > base)
      return done(fault(now_->at, "S16", fmt::format("found ')' behind ','; needed {}", what)));
    if (!identifier(t.name, "S4", what)) {
      if (!at(Tok::word)) return done(false);
      t.name = step().text;  // A keyword: reported, and the rest can be read.
    }
    targets_.push_back(t);
    if (at(Tok::colon) && kind_ == TextKind::document)
      return done(fault(now_->at, "S4", fmt::format("found ':'; {} has no type", what)));
    if (!at(Tok::comma)) break;
    step();
  }
  return done(want(Tok::close_round, "S4"));
}

bool Parser::tail(bool empty) {
  if (stopped_) return false;
  if (at(Tok::close_curly)) {
    if (empty && !skipped_) fault(now_->at, "S5", "the graph has an empty body; needed at least one assignment");
    step();
  } else {
    wanted("S5", "'}' behind the body");
  }
  if (at(Tok::end)) return true;
  if (at(Word::graph)) return fault(now_->at, "S1", "a second graph; a document has one");
  if (at(Word::fragment)) return fault(now_->at, "S1", "a fragment behind the graph; fragments stand before it");
  return wanted("S1", "the end of the document");
}

bool Parser::document(Document& d) {
  if (!head(d)) return false;
  return body(Tok::close_curly, d.graph.body) && tail(false);
}

}  // namespace nnex::graph_text
