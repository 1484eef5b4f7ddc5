#include "standards/nnef/format.h"

#include <algorithm>
#include <vector>

#include "graph/text/rules.h"

namespace nnex::nnef_format {
namespace {

using graph_text::Tok;
using graph_text::Token;
using graph_text::Word;

/// Comments and blank lines between two tokens.
struct Gap {
  struct Comment {
    std::string_view text;
    bool own_line = false;
    bool blank_before = false;
  };
  std::vector<Comment> comments;
  bool blank_after = false;  ///< An empty line stands before the next token.
};

Gap gap_of(std::string_view s, bool line_begins) {
  Gap gap;
  int newlines = 0;
  bool own = line_begins;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\n') {
      ++newlines, own = true;
    } else if (s[i] == '#') {
      const size_t end = std::min(s.find_first_of("\n\f", i), s.size());
      std::string_view text = s.substr(i, end - i);
      while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
      gap.comments.push_back({text, own, newlines > 1});
      newlines = 0;
      i = end - 1;
    }
  }
  gap.blank_after = newlines > 1;
  return gap;
}

bool is_operator(Tok k) {
  return k == Tok::plus || k == Tok::minus || k == Tok::star || k == Tok::slash || k == Tok::caret || k == Tok::less ||
         k == Tok::less_equal || k == Tok::greater || k == Tok::greater_equal || k == Tok::equal || k == Tok::unequal ||
         k == Tok::both || k == Tok::either || k == Tok::assign || k == Tok::arrow;
}
/// Whether a value may end with the token, so that a sign behind it is binary.
bool ends_value(const Token& t) {
  if (t.kind == Tok::word)
    return t.word != Word::in && t.word != Word::if_ && t.word != Word::else_ && t.word != Word::yield;
  return t.kind == Tok::integer || t.kind == Tok::real || t.kind == Tok::string || t.kind == Tok::close_round ||
         t.kind == Tok::close_square;
}
bool is_joining(Word w) {
  return w == Word::in || w == Word::if_ || w == Word::else_ || w == Word::yield || w == Word::for_;
}

class Layout {
 public:
  Layout(std::string_view source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}

  std::string text() {
    size_t end = 0;
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token& t = tokens_[at_];
      const size_t begin = offset(t);
      comments(gap_of(source_.substr(end, begin - end), end == 0));
      if (t.kind == Tok::end) break;
      token(t);
      end = begin + width(t);
    }
    new_line();
    return std::move(out_);
  }

 private:
  size_t offset(const Token& t) const { return static_cast<size_t>(t.text.data() - source_.data()) - quotes_before(t); }
  size_t width(const Token& t) const {
    const size_t before = quotes_before(t);
    return t.text.size() + before + (before > 0 ? 1 : 0);
  }
  /// Characters of the token before its text: a quote, or the i" of a name.
  size_t quotes_before(const Token& t) const {
    if (t.kind == Tok::string) return 1;
    const size_t begin = static_cast<size_t>(t.text.data() - source_.data()), end = begin + t.text.size();
    const bool quoted =
        t.kind == Tok::word && begin >= 2 && source_.substr(begin - 2, 2) == "i\"" && source_.substr(end, 1) == "\"";
    return quoted ? 2 : 0;
  }

  /// Ends the line that is being written, if there is one.
  void new_line() {
    if (line_.find_first_not_of(' ') != std::string::npos) out_ += line_ + "\n";
    line_.clear();
  }
  void blank_line() {
    if (!out_.empty() && !out_.ends_with("\n\n") && !out_.ends_with("{\n")) out_ += "\n";
  }
  std::string indent() const { return std::string(body_ ? 4 : 0, ' '); }

  void comments(const Gap& gap) {
    for (const Gap::Comment& c : gap.comments) {
      const bool trailing = !c.own_line;
      if (trailing && line_.empty() && out_.ends_with("\n") && out_.size() > 1 && !out_.ends_with("\n\n")) {
        out_.pop_back();
        out_ += "  " + std::string(c.text) + "\n";
        continue;
      }
      if (line_.empty()) {
        if (c.blank_before || section_) blank_line();
        section_ = false;
        out_ += indent() + std::string(c.text) + "\n";
      } else {
        // Inside a statement: the line ends with the comment, and the statement goes on below.
        while (line_.ends_with(" ")) line_.pop_back();
        out_ += line_ + "  " + std::string(c.text) + "\n";
        line_ = indent() + "    ";
      }
    }
    if (line_.empty() && gap.blank_after) wants_blank_ = true;
  }

  void token(const Token& t) {
    if (line_.empty()) begin_line(t);
    if (in_extensions_ && t.kind == Tok::comma) return;
    if (in_extensions_ && t.kind == Tok::word && t.word == Word::none) {
      if (extension_named_) line_ += ";", new_line(), line_ = "extension";
      line_ += " " + std::string(t.text);
      extension_named_ = true;
      return;
    }
    switch (t.kind) {
      case Tok::open_curly:
        new_line();
        out_ += "{\n";
        body_ = true, wants_blank_ = false;
        return;
      case Tok::close_curly:
        new_line();
        body_ = false, section_ = true, wants_blank_ = false;
        out_ += "}\n";
        return;
      case Tok::semicolon:
        line_ += ";";
        new_line();
        in_extensions_ = extension_named_ = false;
        return;
      default:
        break;
    }
    if (line_.find_first_not_of(' ') != std::string::npos && space_before(t) && !line_.ends_with(" ")) line_ += " ";
    line_ += source_.substr(offset(t), width(t));
    if (t.kind == Tok::open_square || t.kind == Tok::open_round) brackets_.push_back(t.kind);
    if ((t.kind == Tok::close_square || t.kind == Tok::close_round) && !brackets_.empty()) brackets_.pop_back();
    in_angle_ = t.kind == Tok::less && angle(at_) ? true : t.kind == Tok::greater ? false : in_angle_;
  }

  void begin_line(const Token& t) {
    const bool head = t.word == Word::fragment || t.word == Word::graph;
    if (t.kind == Tok::open_curly || t.kind == Tok::close_curly) return;
    if (wants_blank_ || section_ || (head && !body_ && !out_.ends_with("#"))) {
      if (!(head && after_comment())) blank_line();
    }
    wants_blank_ = section_ = false;
    in_extensions_ = t.word == Word::extension && lists_extensions();
    line_ = indent();
  }
  /// Whether each word of the statement is an extension. A vendor's may have words of their own behind their names:
  /// `extension tract_registry tract_core;`.
  bool lists_extensions() const {
    for (size_t i = at_ + 1; tokens_[i].kind != Tok::semicolon && tokens_[i].kind != Tok::end; ++i)
      if (tokens_[i].kind == Tok::word && !tokens_[i].text.starts_with("KHR_") &&
          tokens_[i].text != graph_text::kIntegers32)
        return false;
    return true;
  }
  /// Whether the text so far ends with a comment line, which belongs to what follows.
  bool after_comment() const {
    if (out_.size() < 2) return false;
    const size_t begin = out_.rfind('\n', out_.size() - 2);
    const size_t from = begin == std::string::npos ? 0 : begin + 1;
    const size_t first = out_.find_first_not_of(' ', from);
    return first != std::string::npos && out_[first] == '#' && !wants_blank_;
  }

  /// Whether the '<' at a position opens a type: tensor<...>, name<type>(...).
  bool angle(size_t i) const {
    if (i == 0 || tokens_[i].kind != Tok::less) return false;
    if (tokens_[i - 1].word == Word::tensor) return true;
    const Token& next = tokens_[i + 1];
    const bool type = next.kind == Tok::question || next.word == Word::integer || next.word == Word::scalar ||
                      next.word == Word::logical || next.word == Word::string;
    return tokens_[i - 1].kind == Tok::word && type && i + 2 < tokens_.size() &&
           (tokens_[i + 2].kind == Tok::greater || tokens_[i + 2].kind == Tok::assign);
  }

  bool space_before(const Token& t) const {
    const Token& p = tokens_[at_ - 1];
    if (p.kind == Tok::open_round || p.kind == Tok::open_square || t.kind == Tok::close_round ||
        t.kind == Tok::close_square || t.kind == Tok::comma || t.kind == Tok::semicolon || t.kind == Tok::colon)
      return false;
    if (in_angle_ && t.kind != Tok::assign && p.kind != Tok::assign) return false;
    if (t.kind == Tok::less && angle(at_)) return false;
    if (p.kind == Tok::comma) return true;
    if (p.kind == Tok::colon) return brackets_.empty() || brackets_.back() != Tok::open_square;
    if (is_joining(t.word) || is_joining(p.word)) return true;
    if (t.kind == Tok::open_round) return is_binary(at_ - 1) || p.word == Word::none ? is_binary(at_ - 1) : false;
    if (t.kind == Tok::open_square) return is_binary(at_ - 1);
    if (is_operator(t.kind)) return is_binary(at_) || is_binary(at_ - 1);
    if (is_operator(p.kind) || p.kind == Tok::bang) return is_binary(at_ - 1);
    if (t.kind == Tok::bang) return true;
    return p.kind == Tok::word || ends_value(p);
  }
  /// Whether an operator at a position stands between two values.
  bool is_binary(size_t i) const {
    const Tok k = tokens_[i].kind;
    if (k == Tok::greater && in_angle_just_closed(i)) return false;
    return is_operator(k) && (k == Tok::assign || k == Tok::arrow || (i > 0 && ends_value(tokens_[i - 1])));
  }
  bool in_angle_just_closed(size_t i) const {
    for (size_t back = 1; back <= 4 && back <= i; ++back)
      if (tokens_[i - back].kind == Tok::less) return angle(i - back);
    return false;
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::string out_, line_;
  std::vector<Tok> brackets_;
  bool body_ = false, section_ = false, wants_blank_ = false, in_extensions_ = false, extension_named_ = false;
  bool in_angle_ = false;
};

}  // namespace

std::string format_text(std::string_view source, std::string_view file, Faults& faults, Dialect dialect) {
  const auto kind = dialect == Dialect::tract ? graph_text::TextKind::tract : graph_text::TextKind::document;
  graph_text::Arena memory, scratch;
  graph_text::Parser parser(source, file, {}, faults, memory, kind);
  graph_text::Document d;
  if (!parser.start() || !parser.head(d)) return {};
  parser.use(scratch);
  bool empty = true;
  while (parser.more()) {
    graph_text::Assignment a;
    scratch.reset();
    parser.assignment(a);
    empty = false;
  }
  parser.tail(empty);
  if (!faults.none()) return {};
  graph_text::Lexer lexer(source, file, faults, kind);
  std::vector<Token> tokens;
  do tokens.push_back(lexer.next());
  while (tokens.back().kind != Tok::end);
  return Layout(source, std::move(tokens)).text();
}

}  // namespace nnex::nnef_format
