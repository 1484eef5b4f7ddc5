// Which documents are of the draft of 2017.

#include "standards/nnef/read_provisional.h"

#include "standards/nnef/read_provisional_words.h"

namespace nnex::nnef_format {
namespace {

/// What is_provisional() looks for behind a version statement with its ';': markers in fragments, then a body of
/// several statements of which none ends with ';'.
bool has_old_constructs(Lexer& lexer, Token t) {
  Token before;
  bool head = false;
  for (; t.kind != Tok::end && t.word != Word::graph; before = t, t = lexer.next()) {
    if (t.word == Word::extension) return false;
    if (t.word == Word::fragment) head = true;
    if (t.kind == Tok::open_curly) head = false;
    if (head && before.word == Word::tensor && t.kind != Tok::less) return true;
    if (head && t.text == "extent" && (before.kind == Tok::colon || before.kind == Tok::less)) return true;
    if (!head && t.word == Word::for_ && before.kind != Tok::open_square) return true;
  }
  int statements = 0, depth = 0;
  for (; t.kind != Tok::end && t.kind != Tok::semicolon; t = lexer.next()) {
    depth += opens(t.kind) ? 1 : closes(t.kind) ? -1 : 0;
    statements += depth == 0 && t.kind == Tok::assign;
  }
  return t.kind == Tok::end && statements > 1;
}

}  // namespace

bool is_provisional(std::string_view source) {
  if (source.size() > kMaxProvisionalBytes) return false;
  Faults faults;
  Lexer lexer(source, "", faults, graph_text::TextKind::document);
  if (lexer.next().word != Word::version || lexer.next().kind != Tok::real) return false;
  const Token t = lexer.next();
  if (t.word == Word::graph || t.word == Word::fragment) return true;
  return t.kind == Tok::semicolon && has_old_constructs(lexer, lexer.next()) && faults.none();
}

Edition::Edition(std::string_view source, std::string_view file, const EvaluateOptions& options, Faults& faults)
    : source_(source), options_(options) {
  if (options.dialect != Dialect::any || !is_provisional(source)) return;
  provisional_ = true;
  upgraded_ = nnef_format::upgraded(source, file, faults);
}

EvaluateOptions Edition::options() const {
  EvaluateOptions out = options_;
  if (provisional_) out.places = &upgraded_.places, out.draft = true;
  return out;
}

}  // namespace nnex::nnef_format
