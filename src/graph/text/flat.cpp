#include "graph/text/flat.h"

#include <fast_float/fast_float.h>

#include <cmath>

namespace nnex::graph_text {

void FlatReader::skip() {
  for (; now_.at != end_; ++now_.at) {
    const uint8_t c = class_of(*now_.at);
    if (c == kSpace) continue;
    if (c > kComment) return;
    if (c == kLine) {
      ++now_.line, now_.line_start = now_.at + 1;
      continue;
    }
    while (now_.at + 1 != end_ && now_.at[1] != '\n' && now_.at[1] != '\f') ++now_.at;
  }
}

/// digits [ "." digits ] [ ("e" | "E") [ "+" | "-" ] digits ], from behind the first digits on.
Number FlatReader::real(const char* begin, bool minus) {
  const auto digits = [&] {
    const char* const from = now_.at;
    while (class_of(peek()) == kDigit) ++now_.at;
    return now_.at != from;
  };
  Number out;
  if (peek() == '.') {
    ++now_.at;
    if (!digits()) return out;
  }
  if (peek() == 'e' || peek() == 'E') {
    ++now_.at;
    if (peek() == '+' || peek() == '-') ++now_.at;
    if (!digits()) return out;
  }
  if (class_of(peek()) == kLetter || peek() == '.') return out;
  double x = 0;
  const auto read = fast_float::from_chars(begin, now_.at, x);
  if (read.ptr != now_.at || std::isinf(x)) return out;
  out.kind = Number::Kind::real, out.real = minus ? -x : x;
  return out;
}

}  // namespace nnex::graph_text
