#include "standards/onnx/text_scanner.h"

#include <algorithm>

#include "base/failure.h"
#include "standards/onnx/text_words.h"

namespace nnex::onnx_format {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace

char TextScanner::peek() {
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '#')
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    if (at_ == text_.size()) break;
    if (!is_space(text_[at_])) return text_[at_];
  }
  return 0;
}

bool TextScanner::take(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

Status TextScanner::need_arrow() {
  if (peek() != '=' || text_.substr(at_, 2) != "=>") return needed("'=>'");
  at_ += 2;
  return {};
}

std::string_view TextScanner::word() {
  if (!begins_identifier(peek())) return {};
  const size_t begin = at_;
  while (at_ < text_.size() && in_identifier(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view TextScanner::peek_word() {
  peek();
  const size_t begin = at_;
  const std::string_view w = word();
  at_ = begin;
  return w;
}

Result<std::string> TextScanner::identifier(std::string_view what) {
  const std::string_view w = word();
  if (w.empty()) return needed(what);
  return std::string(w);
}

Result<std::optional<std::string>> TextScanner::name_if_any() {
  if (peek() == '"') {
    NNEX_ASSIGN(std::string quoted, text("a name"));
    return std::optional(std::move(quoted));
  }
  const std::string_view w = word();
  return w.empty() ? std::nullopt : std::optional(std::string(w));
}

Result<std::string> TextScanner::name(std::string_view what) {
  NNEX_ASSIGN(auto found, name_if_any());
  if (!found) return needed(what);
  return std::move(*found);
}

Result<std::string> TextScanner::text(std::string_view what) {
  if (peek() != '"') return needed(fmt::format("{} in quotes", what));
  const size_t begin = at_;
  std::string out;
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\\' && ++at_ == text_.size()) break;
    out += text_[at_];
  }
  if (at_ >= text_.size()) {
    at_ = begin;
    return fault("a text whose closing quote is missing");
  }
  ++at_;
  return out;
}

bool TextScanner::digits() {
  const size_t from = at_;
  while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
  return at_ > from;
}

Result<TextScanner::Number> TextScanner::number() {
  peek();
  const size_t begin = at_;
  if (at_ < text_.size() && text_[at_] == '-') ++at_;
  const std::string_view w = at_ < text_.size() && begins_identifier(text_[at_]) ? word() : std::string_view();
  bool real = !w.empty();
  if (real && !is_real_word(w)) {
    at_ = begin;
    return needed("a number");
  }
  if (!real) {
    if (!digits()) {
      at_ = begin;
      return needed("a number");
    }
    if (at_ < text_.size() && text_[at_] == '.') ++at_, digits(), real = true;
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      real = true, ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return needed("digits of an exponent");
    }
  }
  return Number{text_.substr(begin, at_ - begin), real};
}

Error TextScanner::needed(std::string_view what) {
  std::string found = "the end of the text";
  if (peek() != 0 || at_ < text_.size()) {
    const std::string_view w = peek_word();
    found = w.empty() ? fmt::format("'{}'", text_.substr(at_, 1)) : fmt::format("'{}'", w.substr(0, 40));
  }
  return fault(fmt::format("{}; needed {}", found, what));
}

Error TextScanner::fault(std::string_view found) {
  const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  return failure(Code::invalid_model, "found {}", found)
      .at(fmt::format("line {}, column {}", line, before.size() - line_start + 1));
}

bool TextScanner::is_real_word(std::string_view w) {
  const auto is = [&](std::string_view other) {
    return w.size() == other.size() &&
           std::equal(w.begin(), w.end(), other.begin(), [](char a, char b) { return (a | 0x20) == b; });
  };
  return is("inf") || is("infinity") || is("nan");
}

}  // namespace nnex::onnx_format
