#include "shared/say.h"

#include <algorithm>
#include <string>

namespace nnex::cli {
namespace {

/// The bytes of the first character of a text, which is not empty; 0: they are no UTF-8.
size_t character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i)
    if (byte(i) >> 6 != 2) return 0;
  return size;
}

bool is_plain(char c) { return (c >= ' ' && c < 0x7F) || c == '\n' || c == '\t'; }

/// Whether a character of three bytes parts lines or paragraphs, or turns the direction of what stands around it.
bool turns_or_parts(std::string_view c) {
  if (c[0] != '\xE2') return false;
  const auto point = (static_cast<unsigned char>(c[1]) & 0x3Fu) << 6 | (static_cast<unsigned char>(c[2]) & 0x3Fu);
  return (point >= 0x28 && point <= 0x2E) || (point >= 0x66 && point <= 0x69);  // U+2028 to U+202E, U+2066 to U+2069
}

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t size = character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (size == 0)
      out += fmt::format("\\x{:02x}", first);
    else if (size == 1 && !is_plain(text[0]))
      out += fmt::format("\\u{:04x}", first);
    else if (size == 2 && first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0)  // C1, as ESC [ in one
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[1]));
    else if (size == 3 && turns_or_parts(text))
      out += fmt::format("\\u20{:02x}", (static_cast<unsigned char>(text[1]) & 1u) << 6 |
                                            (static_cast<unsigned char>(text[2]) & 0x3Fu));
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

void write(std::FILE* to, std::string_view text) { (void)!std::fwrite(text.data(), 1, text.size(), to); }

bool is_own_end(std::string_view text, size_t at) { return text.substr(at + 1, 2) == "  "; }

std::string shown(std::string_view text, bool keeps_own) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c != '\n' && c != '\t') || (c == '\n' && keeps_own && is_own_end(text, i)))
      out += c;
    else
      out += fmt::format("\\u{:04x}", c);
  }
  return out;
}

}  // namespace

std::string one_line(std::string_view name) { return shown(name, false); }

std::string own_lines(std::string_view message) { return shown(message, true); }

void say_text(std::FILE* to, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_plain))
    write(to, text);
  else
    write(to, visible(text));
}

}  // namespace nnex::cli
