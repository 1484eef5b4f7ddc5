#include "base/system_text.h"

#include <algorithm>
#include <cstdio>
#include <memory>

namespace nnex {

std::string system_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  constexpr size_t kMax = size_t{64} << 10;
  std::string text;
  char part[512];
  for (size_t n = 1; file && n > 0 && text.size() < kMax; text.append(part, n))
    n = std::fread(part, 1, sizeof part, file.get());
  return text;
}

std::string_view take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& text) {
  constexpr std::string_view kSpaces = " \t\n\r\f\v";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  const std::string_view word = text.substr(0, std::min(text.find_first_of(kSpaces), text.size()));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace nnex
