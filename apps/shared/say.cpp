#include "shared/say.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

namespace nnex::cli {
namespace {

struct Character {
  size_t size = 0;  ///< Bytes; 0: they are no UTF-8.
  uint32_t point = 0;
};

/// The first character of a text, which is not empty.
Character character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  uint32_t point = first & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2) return {};
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  return {size, point};
}

/// Whether a character commands a terminal, parts lines or paragraphs, turns the direction of what stands around it, or
/// is not seen where it stands. Those that join letters are writing.
bool is_hidden(uint32_t c) {
  if (c < 0x80) return (c < ' ' && c != '\n' && c != '\t') || c == 0x7F;
  constexpr std::pair<uint32_t, uint32_t> kHidden[] = {{0x80, 0x9F},     {0x61C, 0x61C},   {0x200B, 0x200B},
                                                       {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x2060},
                                                       {0x2066, 0x2069}, {0xFEFF, 0xFEFF}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

std::string visible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [size, point] = character(text);
    if (size == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (is_hidden(point))
      out += fmt::format("\\u{:04x}", point);
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
  const auto is_plain = [](char c) { return static_cast<signed char>(c) >= 0 && !is_hidden(static_cast<uint32_t>(c)); };
  if (std::all_of(text.begin(), text.end(), is_plain))
    write(to, text);
  else
    write(to, visible(text));
}

}  // namespace nnex::cli
