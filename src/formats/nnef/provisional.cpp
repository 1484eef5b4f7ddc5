#include "formats/nnef/provisional.h"

#include <algorithm>
#include <span>
#include <vector>

#include "graph/text/lexer.h"

namespace nnex::nnef_format {
namespace {

using graph_text::Lexer;
using graph_text::Tok;
using graph_text::Token;
using graph_text::Word;

struct Renamed {
  std::string_view old, now;
};
/// Operations of the draft, by their names of 1.0.
constexpr Renamed kOperations[] = {{"idn", "copy"}, {"planewise_conv", "conv"}, {"planewise_deconv", "deconv"}};
constexpr Renamed kParameters[] = {{"perm", "axes"}, {"trA", "transposeA"}, {"trB", "transposeB"}};

std::string_view renamed(std::string_view word, std::span<const Renamed> table) {
  for (const Renamed& r : table)
    if (r.old == word) return r.now;
  return {};
}

bool opens(Tok k) { return k == Tok::open_round || k == Tok::open_square; }
bool closes(Tok k) { return k == Tok::close_round || k == Tok::close_square; }

/// Whether a statement goes on behind the token, or before it.
bool continues(const Token& last, const Token& next) {
  auto joins = [](const Token& t) {
    return (t.kind >= Tok::plus && t.kind <= Tok::either) || t.kind == Tok::comma || t.kind == Tok::assign ||
           t.kind == Tok::arrow || t.word == Word::if_ || t.word == Word::else_ || t.word == Word::in;
  };
  return joins(last) || joins(next) || last.kind == Tok::bang;
}

class Upgrade {
 public:
  explicit Upgrade(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::string text() {
    while (at_ < tokens_.size() && now().kind != Tok::end) {
      if (now().word == Word::version)
        version();
      else if (now().kind == Tok::open_curly)
        body();
      else if (now().word == Word::fragment)
        out_ += "\n", fragments_ = true, head();
      else
        copy();
    }
    std::string extensions;
    if (fragments_) extensions += "extension KHR_enable_fragment_definitions;\n";
    if (operators_) extensions += "extension KHR_enable_operator_expressions;\n";
    return version_ + extensions + out_;
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead(size_t n = 1) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }

  void put(std::string_view s) {
    if (!out_.empty() && out_.back() != '\n' && out_.back() != '(' && out_.back() != '[' && s != "," && s != ";" &&
        s != ")" && s != "]" && s != "(" && s != ":")
      out_ += ' ';
    out_ += s;
  }
  void copy() {
    const Token& t = tokens_[at_++];
    put(t.kind == Tok::string ? std::string_view(t.text.data() - 1, t.text.size() + 2) : t.text);
  }

  void version() {
    ++at_;
    version_ = "version 1.0;\n";
    if (now().kind == Tok::real) ++at_;
    if (now().kind == Tok::semicolon) ++at_;
  }

  /// A fragment up to its body: `extent` is integer, a bare `tensor` one of scalars.
  void head() {
    while (now().kind != Tok::end && now().kind != Tok::open_curly) {
      const bool tensor = now().word == Word::tensor;
      if (now().kind == Tok::word && now().text == "extent") {
        put("integer");
        ++at_;
      } else {
        copy();
        if (tensor && now().kind != Tok::less) out_ += "<scalar>";
      }
    }
  }

  void body() {
    out_ += "\n{\n";
    ++at_;
    while (now().kind != Tok::end && now().kind != Tok::close_curly) statement();
    if (now().kind == Tok::close_curly) ++at_;
    out_ += "}\n";
  }

  /// One assignment: it ends at a ';', or with its line where all brackets are closed.
  void statement() {
    const size_t begin = at_;
    int depth = 0;
    size_t end = at_;
    while (tokens_[end].kind != Tok::end && tokens_[end].kind != Tok::semicolon) {
      if (tokens_[end].kind == Tok::close_curly && depth == 0) break;
      if (end > begin && depth == 0 && tokens_[end].starts_line && !continues(tokens_[end - 1], tokens_[end])) break;
      depth += opens(tokens_[end].kind) ? 1 : closes(tokens_[end].kind) ? -1 : 0;
      ++end;
    }
    expressions(end);
    if (now().kind == Tok::semicolon) ++at_;
    out_ += ";\n";
  }

  void expressions(size_t end) {
    while (at_ < end) {
      const Token& t = now();
      const bool call = t.kind == Tok::word && ahead().kind == Tok::open_round;
      if (call) {
        this->call();
      } else if (t.kind == Tok::open_square && comprehension(end)) {
        continue;
      } else {
        operators_ |= (t.kind >= Tok::plus && t.kind <= Tok::bang && t.kind != Tok::minus) ||
                      (t.kind == Tok::minus && ahead().kind != Tok::integer && ahead().kind != Tok::real) ||
                      t.word == Word::if_;
        copy();
      }
    }
  }

  /// The position behind the bracket that closes the one at `open`.
  size_t behind(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens_.size(); ++i) {
      depth += opens(tokens_[i].kind) ? 1 : closes(tokens_[i].kind) ? -1 : 0;
      if (depth == 0) return i + 1;
    }
    return tokens_.size() - 1;
  }

  void call() {
    const std::string_view name = now().text;
    const std::string_view other = renamed(name, kOperations);
    const size_t close = behind(at_ + 1) - 1;
    put(other.empty() ? name : other);
    at_ += 1;
    copy();
    bool epsilon = false;
    while (at_ < close) {
      if (now().kind == Tok::word && ahead().kind == Tok::assign) {
        const std::string_view parameter = renamed(now().text, kParameters);
        epsilon |= now().text == "epsilon";
        put(parameter.empty() ? now().text : parameter);
        ++at_;
        copy();
        continue;
      }
      expressions(std::min(next_argument(), close));
    }
    if (name.starts_with("planewise_")) out_ += ", groups = 0";
    if (name == "batch_normalization" && !epsilon) out_ += ", epsilon = 0.0";
    if (at_ == close && now().kind != Tok::end) copy();
  }

  /// The position behind the ',' that ends this argument.
  size_t next_argument() const {
    int depth = 0;
    for (size_t i = at_; i < tokens_.size(); ++i) {
      if (depth == 0 && tokens_[i].kind == Tok::comma) return i + 1;
      depth += opens(tokens_[i].kind) ? 1 : closes(tokens_[i].kind) ? -1 : 0;
    }
    return tokens_.size() - 1;
  }

  /// [f(i) for i in a if c] is [for i in a if c yield f(i)].
  bool comprehension(size_t end) {
    const size_t close = std::min(behind(at_), end) - 1;
    size_t middle = at_ + 1;
    for (int depth = 0; middle < close; ++middle) {
      if (depth == 0 && tokens_[middle].word == Word::for_) break;
      depth += opens(tokens_[middle].kind) ? 1 : closes(tokens_[middle].kind) ? -1 : 0;
    }
    if (middle >= close || middle == at_ + 1) return false;
    operators_ = true;
    copy();
    const size_t value = at_;
    at_ = middle;
    expressions(close);
    put("yield");
    at_ = value;
    expressions(middle);
    at_ = close;
    copy();
    return true;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::string version_, out_;
  bool fragments_ = false, operators_ = false;
};

std::vector<Token> tokens_of(std::string_view source, std::string_view file, Faults& faults, size_t most) {
  Lexer lexer(source, file, faults, graph_text::TextKind::document);
  std::vector<Token> out;
  do out.push_back(lexer.next());
  while (out.back().kind != Tok::end && out.size() < most);
  return out;
}

}  // namespace

bool is_provisional(std::string_view source) {
  Faults faults;
  const std::vector<Token> t = tokens_of(source.substr(0, size_t{1} << 16), "", faults, 3);
  return t.size() == 3 && t[0].word == Word::version && t[1].kind == Tok::real &&
         (t[2].word == Word::graph || t[2].word == Word::fragment);
}

std::string upgraded(std::string_view source, std::string_view file, Faults& faults) {
  return Upgrade(tokens_of(source, file, faults, size_t{1} << 26)).text();
}

}  // namespace nnex::nnef_format
