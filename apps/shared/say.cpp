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
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

void write(std::FILE* to, std::string_view text) { (void)!std::fwrite(text.data(), 1, text.size(), to); }

}  // namespace

void say_text(std::FILE* to, std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_plain))
    write(to, text);
  else
    write(to, visible(text));
}

}  // namespace nnex::cli
