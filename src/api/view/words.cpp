#include "api/view/words.h"

#include <array>
#include <cstdint>
#include <vector>

namespace nnex::drawing {
namespace {

/// Widths of the characters from space to tilde in thousandths of the size (Adobe's metrics of Helvetica).
constexpr std::array<uint16_t, 95> kWidths = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

/// The character at `at`, which moves behind it; 0xFFFD for bytes that are none.
uint32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at++);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 && first < 0xF5   ? 3
                   : first >= 0xE0 && first < 0xF0 ? 2
                   : first >= 0xC2 && first < 0xE0 ? 1
                                                   : 0;
  if (more == 0) return 0xFFFD;
  uint32_t c = first & (0x3F >> more);
  const size_t begin = at;
  for (int i = 0; i < more; ++i) {
    if (at >= text.size() || (byte(at) & 0xC0) != 0x80) return at = begin, 0xFFFD;
    c = c << 6 | (byte(at++) & 0x3F);
  }
  constexpr uint32_t kMin[] = {0, 0x80, 0x800, 0x10000};
  if (c < kMin[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return at = begin, 0xFFFD;
  return c;
}

void append(std::string& out, uint32_t c) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800)
    put(0xC0 | c >> 6);
  else if (c < 0x10000)
    put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F));
  else
    put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F));
  put(0x80 | (c & 0x3F));
}

/// Characters that reorder or hide what stands around them, and those that are none.
bool unseen(uint32_t c) {
  return (c >= 0x80 && c < 0xA0) || c == 0xAD || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c & 0xFFFE) == 0xFFFE ||
         (c >= 0xFDD0 && c <= 0xFDEF) || (c >= 0xE0000 && c <= 0xE0FFF);
}

double width_of(uint32_t c) {
  if (c >= 0x20 && c < 0x7F) return kWidths[c - 0x20] / 1000.0;
  return c < 0x1100 || (c >= 0x2000 && c < 0x2E80) ? 0.72 : 1.0;
}

}  // namespace

std::string cleaned(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const uint32_t c = next_character(text, at);
    append(out, c < 0x20 ? 0x2400 + c : c == 0x7F ? 0x2421 : unseen(c) ? 0xFFFD : c);
  }
  return out;
}

double width_of(std::string_view text, double size, bool bold) {
  double sum = 0;
  for (size_t at = 0; at < text.size();) sum += width_of(next_character(text, at));
  return sum * size * (bold ? 1.1 : 1.06);  // a little air for wider fonts
}

std::string fitted(std::string_view text, double width, double size, bool bold) {
  if (width_of(text, size, bold) <= width) return std::string(text);
  std::vector<size_t> ends{0};  // of characters
  // Longer texts than any line are not measured whole.
  for (size_t at = 0; at < text.size() && ends.size() < 200;) next_character(text, at), ends.push_back(at);
  std::vector<size_t> begins{text.size()};  // of characters, from the end
  while (begins.back() > 0 && begins.size() < 200) {
    size_t at = begins.back() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    begins.push_back(at);
  }
  std::string best = "…";
  for (size_t kept = 1; kept + 1 < ends.size() && kept + 1 < begins.size(); ++kept) {
    const size_t head = (kept * 3 + 4) / 5, tail = kept - head;
    std::string next(text.substr(0, ends[head]));
    next += "…";
    next += text.substr(begins[tail]);
    if (width_of(next, size, bold) > width) break;
    best = std::move(next);
  }
  return best;
}

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

}  // namespace nnex::drawing
