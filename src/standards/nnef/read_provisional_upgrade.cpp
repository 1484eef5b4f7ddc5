// Documents of the draft of 2017, rewritten token by token.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/failure.h"
#include "standards/nnef/read_provisional.h"
#include "standards/nnef/read_provisional_words.h"
#include "standards/nnef/types.h"

namespace nnex::nnef_format {
namespace {

/// Between two operands.
bool is_binary(const Token& t) {
  return (t.kind >= Tok::plus && t.kind <= Tok::either) || t.word == Word::if_ || t.word == Word::else_ ||
         t.word == Word::in;
}
bool is_number(const Token& t) { return t.kind == Tok::integer || t.kind == Tok::real; }

/// Whether a value of the type is a scalar, or an array of them: a whole number there lacks its point.
bool takes_scalars(const DeclaredType& t) {
  if (t.kind == TypeKind::array) return takes_scalars(*t.items);
  return (t.kind == TypeKind::primitive || t.kind == TypeKind::tensor) && t.of == Of::scalar;
}

class Upgrade {
 public:
  explicit Upgrade(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
    match_brackets();
    read_heads();
  }

  Upgraded made() {
    while (now().kind != Tok::end) {
      if (now().word == Word::version)
        version();
      else if (now().kind == Tok::open_curly)
        body();
      else if (now().word == Word::fragment)
        fragment();
      else
        copy();
    }
    std::string front = version_;
    if (fragments_ || !added_.empty()) front += "extension KHR_enable_fragment_definitions;\n";
    if (operators_ || !added_.empty()) front += "extension KHR_enable_operator_expressions;\n";
    for (const auto& [name, text] : added_) front += fmt::format("fragment {}{}\n", name, text);
    Upgraded u;
    u.places.add(0, version_at_);
    for (const auto& [offset, at] : places_) u.places.add(offset + front.size(), at);
    u.text = front + out_;
    u.notes = std::move(notes_);
    return u;
  }

 private:
  static constexpr int kNesting = 100;  ///< Of brackets; what is deeper stays as it is.

  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(size_t n = 1) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  /// The position of the bracket that closes the one at `open`; the end where none does.
  size_t closing(size_t open) const { return match_[open]; }

  void match_brackets() {
    match_.assign(tokens_.size(), tokens_.size() - 1);
    std::vector<size_t> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const Tok k = tokens_[i].kind;
      if (k == Tok::open_curly || k == Tok::close_curly) open.clear();
      if (opens(k)) open.push_back(i);
      if (closes(k) && !open.empty()) match_[open.back()] = i, open.pop_back();
    }
  }

  /// Which fragments the document has, and which of their parameters take scalars.
  void read_heads() {
    for (size_t i = 0; i + 2 < tokens_.size(); ++i) {
      if (tokens_[i].word == Word::fragment && tokens_[i + 1].kind == Tok::word) {
        auto& scalars = heads_[tokens_[i + 1].text];
        const size_t close = tokens_[i + 2].kind == Tok::open_round ? closing(i + 2) : i;
        for (size_t p = i + 3; p + 2 < close; ++p) {
          if (tokens_[p].kind != Tok::word || tokens_[p + 1].kind != Tok::colon) continue;
          const Token& type = tokens_[p + 2];
          if (type.word == Word::scalar || (type.word == Word::tensor && tokens_[p + 3].kind != Tok::less))
            scalars.insert(tokens_[p].text);
        }
      }
      if (tokens_[i].kind == Tok::word) words_.emplace(tokens_[i].text);
    }
  }

  // ---- Output

  void put(std::string_view s) { put(s, now().at); }
  void put(std::string_view s, Position at) {
    if (!out_.empty() && out_.back() != '\n' && out_.back() != '(' && out_.back() != '[' && s != "," && s != ";" &&
        s != ")" && s != "]" && s != "(" && s != ":" && s != "<" && s != ">" && out_.back() != '<')
      out_ += ' ';
    places_.emplace_back(out_.size(), at);
    out_ += s;
  }
  void copy() {
    const Token& t = tokens_[at_];
    if (t.kind == Tok::end) return;
    if (t.kind == Tok::string)
      put({t.text.data() - 1, t.text.size() + 2});
    else if (t.kind == Tok::word)
      put(word(t));
    else
      put(t.text);
    ++at_;
  }
  /// A word of the draft, as 1.0 spells it.
  std::string word(const Token& t) {
    if (t.text == "extent") return "integer";
    if (std::find(std::begin(kNewKeywords), std::end(kNewKeywords), t.text) == std::end(kNewKeywords))
      return std::string(t.text);
    std::string name(t.text);
    do name += '_';
    while (words_.count(name));
    note(fmt::format("'{}' is a keyword of 1.0; the name became '{}'", t.text, name));
    return name;
  }
  void note(std::string text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
  }

  // ---- Documents

  void version() {
    version_at_ = now().at;
    ++at_;
    version_ = "version 1.0;\n";
    if (is_number(now())) {
      if (now().text != "1.0") version_ = fmt::format("version {};\n", now().text);
      ++at_;
    }
    if (now().kind == Tok::semicolon) ++at_;
  }

  /// A fragment up to its body: types and defaults. One without a body is the declaration of a custom operation.
  void fragment() {
    out_ += "\n";
    fragments_ = true;
    copy();
    while (now().kind != Tok::end && now().kind != Tok::open_curly) {
      if (now().word == Word::fragment || now().word == Word::graph || now().kind == Tok::semicolon) {
        if (now().kind == Tok::semicolon) ++at_;
        out_ += ";\n";
        return;
      }
      if (now().word == Word::tensor) {
        const bool bare = ahead().kind != Tok::less;
        copy();
        if (bare) out_ += "<scalar>";
      } else if (now().text == "coordinate" && ahead().kind != Tok::colon) {
        put("integer");
        ++at_;
      } else if (now().kind == Tok::assign) {
        fallback();
      } else {
        copy();
      }
    }
  }

  /// "= literal" of a parameter: up to the next "name :" or the list's end; a tuple gets its parentheses.
  void fallback() {
    const bool scalars = at_ >= 1 && is_scalar_type(at_);
    copy();
    size_t end = at_;
    while (tokens_[end].kind != Tok::end && tokens_[end].kind != Tok::close_round) {
      if (tokens_[end].kind == Tok::comma && tokens_[end + 1].kind == Tok::word &&
          tokens_[std::min(end + 2, tokens_.size() - 1)].kind == Tok::colon)
        break;
      end = opens(tokens_[end].kind) ? closing(end) + 1 : end + 1;
      end = std::min(end, tokens_.size() - 1);
    }
    value(end, scalars);
  }
  /// Whether the type in front of the '=' at `i` takes scalars.
  bool is_scalar_type(size_t i) const {
    while (i > 0 && (tokens_[i - 1].kind == Tok::open_square || tokens_[i - 1].kind == Tok::close_square)) --i;
    return i > 0 && (tokens_[i - 1].word == Word::scalar || tokens_[i - 1].word == Word::tensor);
  }

  void body() {
    out_ += "\n{\n";
    ++at_;
    while (now().kind != Tok::end && now().kind != Tok::close_curly) statement();
    if (now().kind == Tok::close_curly) put("}"), ++at_;
    out_ += "\n";
  }

  /// One assignment, with or without its ';'.
  void statement() {
    const size_t begin = at_;
    size_t assign = begin;
    while (!ends_left_side(assign)) ++assign;
    if (tokens_[assign].kind != Tok::assign) {  // no assignment: as it stands, up to where the next may begin
      do copy();
      while (now().kind != Tok::end && now().kind != Tok::semicolon && now().kind != Tok::close_curly &&
             !now().starts_line);
    } else {
      while (at_ <= assign) copy();
      const size_t end = expression_end(at_);
      const bool plain = now().kind == Tok::word && ahead().kind == Tok::open_round && closing(at_ + 1) + 1 == end &&
                         now().text != "extent" && !graph_text::is_keyword(now().text);
      operators_ |= !plain;
      value(end, false);
    }
    if (now().kind == Tok::semicolon) ++at_;
    put(";", tokens_[std::max(at_, size_t{1}) - 1].at);
    out_ += "\n";
  }

  bool ends_left_side(size_t i) const {
    const Token& t = tokens_[i];
    const bool part = (t.kind == Tok::word && (t.word == Word::none || t.word == Word::integer ||
                                               t.word == Word::yield || t.word == Word::extension)) ||
                      t.kind == Tok::comma || opens(t.kind) || closes(t.kind);
    return !part;
  }

  /// Where the expression that begins at `i` ends: behind an operand that nothing continues.
  size_t expression_end(size_t i) const {
    bool operand = true;  // one is needed
    while (tokens_[i].kind != Tok::end) {
      const Token& t = tokens_[i];
      if (operand) {
        if (t.kind == Tok::plus || t.kind == Tok::minus || t.kind == Tok::bang) {
          ++i;
          continue;
        }
        if (t.kind != Tok::word && t.kind != Tok::string && !is_number(t) && !opens(t.kind)) return i;
        i = opens(t.kind) ? std::min(closing(i) + 1, tokens_.size() - 1) : i + 1;
        operand = false;
        continue;
      }
      if (is_binary(t) || t.kind == Tok::comma) {
        operand = true;
        ++i;
      } else if (opens(t.kind) && tokens_[std::min(closing(i) + 1, tokens_.size() - 1)].kind != Tok::assign) {
        i = std::min(closing(i) + 1, tokens_.size() - 1);
      } else {
        return i;
      }
    }
    return i;
  }

  // ---- Expressions

  /// The tokens up to `end`, one value: items between commas are a tuple. `scalars`: whole numbers get a point.
  void value(size_t end, bool scalars) {
    const bool tuple = comma_before(end) < end;
    if (tuple) put("(");
    pieces(end, scalars);
    if (tuple) put(")");
  }

  /// The first ',' outside brackets from here to `end`; `end`: there is none.
  size_t comma_before(size_t end) const {
    for (size_t i = at_; i < end; ++i) {
      if (tokens_[i].kind == Tok::comma) return i;
      if (opens(tokens_[i].kind)) i = closing(i);
    }
    return end;
  }

  void pieces(size_t end, bool scalars) {
    while (at_ < end && now().kind != Tok::end) {
      const Token& t = now();
      if (t.kind == Tok::word && ahead().kind == Tok::open_round && t.word != Word::if_ && t.word != Word::else_ &&
          t.word != Word::in && t.word != Word::for_) {
        call();
      } else if (t.kind == Tok::open_square && at_ > 0 && is_operand_end(tokens_[at_ - 1])) {
        operators_ = true;
        bracket(false);
      } else if (opens(t.kind)) {
        if (t.kind != Tok::open_square || !comprehension()) bracket(scalars);
      } else if (t.kind == Tok::integer && scalars) {
        put(fmt::format("{}.0", t.text));
        ++at_;
      } else {
        operators_ |= (t.kind >= Tok::plus && t.kind <= Tok::bang && t.kind != Tok::minus) ||
                      (t.kind == Tok::minus && !is_number(ahead())) || t.word == Word::if_ || t.word == Word::in;
        copy();
      }
    }
  }
  static bool is_operand_end(const Token& t) {
    return (t.kind == Tok::word && t.word == Word::none) || closes(t.kind) || t.kind == Tok::string;
  }

  /// What stands in one pair of brackets.
  void bracket(bool scalars) {
    const size_t close = closing(at_);
    if (++nesting_ > kNesting) {
      while (at_ < close) copy();
    } else {
      const bool round = now().kind == Tok::open_round;
      copy();
      operators_ |= round && comma_before(close) == close;
      pieces(close, scalars);
    }
    --nesting_;
    copy();
  }

  /// Whether every token up to `end` is part of a literal.
  bool only_numbers(size_t end) const {
    for (size_t i = at_; i < end; ++i)
      if (!is_number(tokens_[i]) && tokens_[i].kind != Tok::minus && tokens_[i].kind != Tok::comma &&
          !opens(tokens_[i].kind) && !closes(tokens_[i].kind))
        return false;
    return true;
  }

  /// The parameter takes scalars, by the document's declaration or the standard's; positional ones by their place.
  bool scalar_parameter(std::string_view operation, std::string_view parameter, size_t position) const {
    if (auto own = heads_.find(operation); own != heads_.end()) return own->second.count(parameter) > 0;
    const Declaration* d = find_declaration(operation);
    if (!d) return false;
    const int p = parameter.empty() ? static_cast<int>(position) : d->find(parameter);
    if (p < 0 || static_cast<size_t>(p) >= d->parameters.size()) return false;
    const DeclaredType& type = *d->parameters[static_cast<size_t>(p)].type;
    return takes_scalars(type) || (d->name == "constant" && parameter == "value");
  }

  void call() {
    const std::string_view old = now().text;
    const bool own = heads_.count(old) > 0;
    std::string name(old);
    for (const Renamed& r : kOperations)
      if (!own && r.old == old) name = r.now;
    const size_t close = closing(at_ + 1);
    if (const Dropped* d = own ? nullptr : find_dropped(old, at_ + 2, close)) {
      if (!d->parameter.empty()) {
        name = fmt::format("provisional_{}", old);
        while (words_.count(name)) name += '_';
        note(fmt::format("'{}' with a {} meant something else; its old meaning is the fragment '{}'", old, d->parameter,
                         name));
      }
      added_.emplace(name, d->fragment);
    }
    if (old == "shape_of" && shape_of(close)) return;
    const bool builtin = graph_text::is_keyword(old) || old == "extent";
    operators_ |= builtin || calls_ > 0;
    if (old == "extent") name = "integer";
    put(name);
    ++at_;
    copy();
    ++calls_;
    if (++nesting_ > kNesting) {
      while (at_ < close) copy();
    } else {
      arguments(name, close);
    }
    --nesting_;
    --calls_;
    if (!own && old.starts_with("planewise_")) out_ += ", groups = 0";
    if (!own && old == "batch_normalization" && !has_epsilon_) out_ += ", epsilon = 0.0";
    if (at_ == close && now().kind != Tok::end) copy();
  }

  /// The draft's shape_of gives two extents at least. False where no name is its argument: it stays as it is.
  bool shape_of(size_t close) {
    if (close != at_ + 3 || tokens_[at_ + 2].kind != Tok::word) return false;
    operators_ = true;
    put(fmt::format(fmt::runtime(kShapeOf), word(tokens_[at_ + 2])));
    at_ = close + 1;
    return true;
  }

  const Dropped* find_dropped(std::string_view name, size_t from, size_t close) const {
    for (const Dropped& d : kDropped) {
      if (d.name != name) continue;
      if (d.parameter.empty()) return &d;
      for (size_t i = from; i + 1 < close; ++i) {
        if (opens(tokens_[i].kind))
          i = closing(i);
        else if (tokens_[i].text == d.parameter && tokens_[i + 1].kind == Tok::assign)
          return &d;
      }
    }
    return nullptr;
  }

  /// Arguments up to the bracket at `close`. Values without a name behind a named one are the rest of its tuple.
  void arguments(const std::string& operation, size_t close) {
    bool epsilon = false;
    for (size_t position = 0; at_ < close; ++position) {
      std::string_view parameter;
      if (now().kind == Tok::word && ahead().kind == Tok::assign) {
        parameter = now().text;
        epsilon |= parameter == "epsilon";
        std::string_view other = parameter;
        for (const RenamedParameter& r : kParameters)
          if (r.operation == operation && r.old == parameter && !heads_.count(operation)) other = r.now;
        put(other == parameter ? word(now()) : std::string(other));
        ++at_;
        copy();
      }
      const size_t end = argument_end(close, !parameter.empty());
      if (operation == "external" && parameter == "shape")
        open_extents(end);
      else
        value(end, scalar_parameter(operation, parameter, position) && only_numbers(end));
      if (at_ < close && now().kind == Tok::comma) copy();
    }
    has_epsilon_ = epsilon;
  }
  size_t argument_end(size_t close, bool named) const {
    for (size_t i = at_; i < close; ++i) {
      if (opens(tokens_[i].kind)) i = closing(i);
      if (tokens_[i].kind == Tok::comma &&
          (!named || (tokens_[i + 1].kind == Tok::word && tokens_[std::min(i + 2, close)].kind == Tok::assign)))
        return i;
    }
    return close;
  }

  /// Extents of an external; the draft leaves one open by a 0.
  void open_extents(size_t end) {
    while (at_ < end) {
      if (now().kind == Tok::integer && now().text == "0") {
        put("1");
        ++at_;
        note("an extent that the draft leaves open by a 0 became 1, unless a shape is set");
      } else {
        copy();
      }
    }
  }

  /// [f(i) for i in a if c] is [for i in a if c yield f(i)]. False: no comprehension stands here.
  bool comprehension() {
    const size_t close = closing(at_);
    size_t middle = at_ + 1;
    for (; middle < close && tokens_[middle].word != Word::for_; ++middle)
      if (opens(tokens_[middle].kind)) middle = closing(middle);
    if (middle >= close || middle == at_ + 1 || nesting_ >= kNesting) return false;
    operators_ = true;
    ++nesting_;
    copy();
    const size_t first = at_;
    at_ = middle;
    pieces(close, false);
    put("yield");
    at_ = first;
    value(middle, false);
    at_ = close;
    copy();
    --nesting_;
    return true;
  }

  std::vector<Token> tokens_;
  std::vector<size_t> match_;
  size_t at_ = 0;
  std::string version_, out_;
  Position version_at_;
  std::vector<std::pair<size_t, Position>> places_;
  std::vector<std::string> notes_;
  std::map<std::string_view, std::set<std::string_view>> heads_;  ///< Fragments, and their parameters of scalars.
  std::set<std::string, std::less<>> words_;
  std::map<std::string, std::string_view> added_;
  int nesting_ = 0, calls_ = 0;
  bool fragments_ = false, operators_ = false, has_epsilon_ = false;
};

std::vector<Token> tokens_of(std::string_view source, std::string_view file, Faults& faults) {
  Lexer lexer(source, file, faults, graph_text::TextKind::document);
  std::vector<Token> out;
  do out.push_back(lexer.next());
  while (out.back().kind != Tok::end);
  return out;
}

}  // namespace

Upgraded upgraded(std::string_view source, std::string_view file, Faults& faults) {
  if (source.size() > kMaxProvisionalBytes) {
    faults.add(failure(Code::limit, "a text of the draft of 2017 of {} bytes; at most {} are read", source.size(),
                       kMaxProvisionalBytes));
    return {};
  }
  const size_t before = faults.count();
  std::vector<Token> tokens = tokens_of(source, file, faults);
  if (faults.count() > before) return {};
  return Upgrade(std::move(tokens)).made();
}

}  // namespace nnex::nnef_format
