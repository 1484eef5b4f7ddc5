#include "api/csv.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/failure.h"
#include "base/try.h"
#include "nnex/elements.h"

namespace nnex {
namespace {

/// A row of the text, and which line of the file it is.
struct Line {
  size_t number = 0;
  std::string_view text;
};

struct Cell {
  std::string text;
  bool quoted = false;
};

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

/// The rows, without comments and empty lines. Tabs at their ends stay: they may stand before an empty cell.
std::vector<Line> lines_of(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<Line> lines;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (!trimmed(line).empty() && line.front() != '#') lines.push_back({number, line});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

char separator_of(std::string_view line) {
  for (const char c : {',', ';', '\t'})
    if (line.find(c) != std::string_view::npos) return c;
  return ' ';
}

/// A cell as messages show it.
std::string shown(std::string_view cell) {
  constexpr size_t kShown = 40;
  return cell.empty() ? "nothing" : fmt::format("'{}'{}", cell.substr(0, kShown), cell.size() > kShown ? "..." : "");
}

Error at_cell(size_t line, size_t column, const std::string& message, Code code = Code::invalid_argument) {
  return {code, fmt::format("line {}, column {}: {}", line, column + 1, message)};
}

/// A cell in quotes, behind the first of them; two quotes are one. Nothing: it does not end.
std::optional<std::string> quoted(std::string_view& rest) {
  std::string out;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '"') {
      out += c;
    } else if (rest.starts_with('"')) {
      out += c, rest.remove_prefix(1);
    } else {
      return out;
    }
  }
  return std::nullopt;
}

/// The cells of a row. Error: unreadable, a quote that does not end, or after which something comes.
Result<std::vector<Cell>> cells_of(const Line& line, char separator) {
  std::vector<Cell> cells;
  std::string_view rest = line.text;
  while (true) {
    if (separator == ' ') rest = trimmed(rest);
    const size_t column = cells.size();
    Cell cell;
    if (const std::string_view inner = trimmed(rest); inner.starts_with('"') && separator != '\t') {
      rest = inner.substr(1);
      auto text = quoted(rest);
      if (!text) return at_cell(line.number, column, "a quote does not end on its line", Code::unreadable);
      cell = {*std::move(text), true};
      if (const std::string_view after = trimmed(rest.substr(0, rest.find(separator))); !after.empty())
        return at_cell(line.number, column, fmt::format("found {} behind a quote", shown(after)), Code::unreadable);
    } else {
      cell.text = trimmed(rest.substr(0, rest.find(separator)));
    }
    cells.push_back(std::move(cell));
    const size_t end = rest.find(separator);
    if (end == std::string_view::npos) return cells;
    rest.remove_prefix(end + 1);
  }
}

std::optional<double> real_of(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  double x = 0;
  const auto [end, fault] = fast_float::from_chars(cell.data(), cell.data() + cell.size(), x);
  if (fault != std::errc() || end != cell.data() + cell.size() || cell.empty()) return std::nullopt;
  const bool digits = cell.find_first_of("0123456789") != std::string_view::npos;
  if (std::isinf(x) && digits) return std::nullopt;  // beyond what a double holds
  return x;
}

template <class T>
std::optional<T> whole_of(std::string_view cell) {
  if (cell.starts_with('+')) cell.remove_prefix(1);
  T x{};
  const auto [end, fault] = std::from_chars(cell.data(), cell.data() + cell.size(), x);
  if (fault != std::errc() || end != cell.data() + cell.size() || cell.empty()) return std::nullopt;
  return x;
}

std::optional<bool> truth_of(std::string_view cell) {
  if (cell == "1" || cell == "true" || cell == "True") return true;
  if (cell == "0" || cell == "false" || cell == "False") return false;
  return std::nullopt;
}

/// One element from a cell. Error: invalid_argument, found and needed.
class Element {
 public:
  /// A type of none is f32, to which whole numbers are not rounded.
  Element(DType type, bool cast)
      : type_(type == DType::none ? DType::f32 : type), typed_(type != DType::none), cast_(cast) {}

  Status set(Tensor& t, int64_t at, const Cell& cell) const {
    if (type_ == DType::str) return t.mutable_as<std::string>()[static_cast<size_t>(at)] = cell.text, Status();
    if (type_ == DType::boolean) {
      const auto truth = truth_of(cell.text);
      return truth ? (set_int(t, at, *truth), Status()) : refused(cell, "0, 1, true or false");
    }
    return is_real(type_) ? set_number(t, at, cell) : set_whole(t, at, cell);
  }

 private:
  static Error refused(const Cell& cell, const std::string& needed) {
    return {Code::invalid_argument, fmt::format("found {}; needed {}", shown(cell.text), needed)};
  }
  std::string held() const { return fmt::format("a number that {} holds", name(type_)); }

  Status set_number(Tensor& t, int64_t at, const Cell& cell) const {
    const auto x = real_of(cell.text);
    if (!x) return refused(cell, "a number");
    set_real(t, at, *x);
    const auto n = typed_ ? std::nullopt : whole_of<int64_t>(cell.text);
    if (n && (real_at(t, at) == kBeyond || static_cast<int64_t>(real_at(t, at)) != *n))
      return refused(cell, "a number that f32 holds, which numbers become that are read without a type");
    return std::isfinite(*x) && !std::isfinite(real_at(t, at)) ? refused(cell, held()) : Status();
  }

  /// "3", or "3.0" and "3e0", which are whole, too.
  Status set_whole(Tensor& t, int64_t at, const Cell& cell) const {
    if (const auto n = type_ == DType::u64 ? whole_of<uint64_t>(cell.text) : std::nullopt)
      return set_int(t, at, static_cast<int64_t>(*n)), Status();
    const auto n = whole_of<int64_t>(cell.text);
    const auto x = n ? std::nullopt : real_of(cell.text);
    if (!n && !x) return refused(cell, "a whole number");
    constexpr double kExact = 9007199254740992;  // 2^53
    const bool whole = n || (std::trunc(*x) == *x && std::abs(*x) <= kExact);
    if (!whole && !cast_) return refused(cell, "a whole number").helped_by({"cast", "true", "converts it"});
    if (!whole) return set_real(t, at, *x), Status();
    const int64_t value = n ? *n : static_cast<int64_t>(*x);
    set_int(t, at, value);
    const bool fits = int_at(t, at) == value && !(type_ == DType::u64 && value < 0);
    return fits || cast_ ? Status() : refused(cell, held()).helped_by({"cast", "true", "converts it"});
  }

  static constexpr double kBeyond = 9223372036854775808.0;  // 2^63
  DType type_;
  bool typed_, cast_;
};

/// Whether the first row names columns: none of its cells is a number.
bool is_header(const std::vector<Cell>& cells, DType type) {
  if (type == DType::str) return false;
  return std::none_of(cells.begin(), cells.end(),
                      [](const Cell& c) { return real_of(c.text).has_value() || truth_of(c.text).has_value(); });
}

/// The input's own shape for so many numbers in reading order: one extent may be open.
std::optional<Shape> filled(const PortInfo& port, int64_t count) {
  std::vector<int64_t> extents = port.extents;
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] < 0 && open >= 0) return std::nullopt;
    if (extents[i] < 0)
      open = static_cast<int64_t>(i);
    else if (__builtin_mul_overflow(known, extents[i], &known))
      return std::nullopt;
  }
  if (open >= 0 && (known == 0 || count % known != 0)) return std::nullopt;
  if (open >= 0) extents[static_cast<size_t>(open)] = count / known;
  return open >= 0 || known == count ? std::optional(Shape(extents)) : std::nullopt;
}

Result<Shape> shape_for(const PortInfo& port, int64_t rows, int64_t columns) {
  const size_t rank = port.known_rank ? port.extents.size() : 2;
  if (rank == 2 || (rank == 1 && rows != 1 && columns != 1)) return Shape{rows, columns};
  if (rank == 1) return Shape{rows * columns};
  if (const auto shape = filled(port, rows * columns)) return *shape;
  return failure(Code::invalid_argument, "found {} rows of {} numbers, which do not fill {}", rows, columns, port.type);
}

Error longer(const Line& line, size_t found, size_t needed) {
  return {Code::unreadable,
          fmt::format("line {}: found {} cells; needed {}, as in the rows before", line.number, found, needed)};
}

}  // namespace

bool begins_csv(std::string_view bytes) {
  constexpr size_t kLookedAt = 256;
  const std::string_view begin = bytes.substr(0, kLookedAt);
  if (begin.empty() || (!std::isdigit(static_cast<unsigned char>(begin[0])) && begin.find_first_of("+-.\"#") != 0))
    return false;
  return std::all_of(begin.begin(), begin.end(), [](char c) {
    return (c >= ' ' && static_cast<unsigned char>(c) < 0x7f) || c == '\t' || c == '\n' || c == '\r';
  });
}

Result<Tensor> read_csv(std::string_view text, const PortInfo& port, bool cast) {
  const DType type = port.dtype == DType::none ? DType::f32 : port.dtype;
  if (is_complex(type)) return Error(Code::unsupported, "CSV has no complex numbers; give them as .npy");
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
    return failure(Code::unreadable, "byte {} is zero; needed a table of text", zero);
  std::vector<Line> lines = lines_of(text);
  if (lines.empty()) return Error(Code::unreadable, "found no rows; needed numbers");
  const char separator = separator_of(lines[0].text);
  NNEX_ASSIGN(const std::vector<Cell> first, cells_of(lines[0], separator));
  const size_t columns = first.size();
  const bool named = is_header(first, type);
  if (named && lines.size() == 1)
    return at_cell(lines[0].number, 0, fmt::format("found {}; needed a number", shown(first[0].text)));
  if (named) lines.erase(lines.begin());
  const auto rows = static_cast<int64_t>(lines.size());
  NNEX_ASSIGN(Shape shape, shape_for(port, rows, static_cast<int64_t>(columns)));
  NNEX_ASSIGN(Tensor t, Tensor::make(type, std::move(shape)));
  if (bits(type) < 8 && t.bytes() > 0) std::memset(t.mutable_data(), 0, static_cast<size_t>(t.bytes()));
  const Element element(port.dtype, cast);
  int64_t at = 0;
  for (const Line& line : lines) {
    NNEX_ASSIGN(const std::vector<Cell> cells, cells_of(line, separator));
    if (cells.size() != columns) return longer(line, cells.size(), columns);
    for (size_t c = 0; c < columns; ++c)
      if (Status set = element.set(t, at++, cells[c]); !set.ok())
        return at_cell(line.number, c, set.error().message()).helped_by(set.error().remedies());
  }
  return t;
}

Result<std::string> csv_text(const Tensor& t) {
  if (is_complex(t.dtype())) return Error(Code::unsupported, "CSV has no complex numbers; .npy has");
  if (t.count() == 0)
    return failure(Code::unsupported, "a table has rows; found {}{}", name(t.dtype()), t.shape().text());
  const int64_t columns = t.shape().rank() < 2 ? 1 : t.shape()[t.shape().rank() - 1];
  std::string out;
  for (int64_t i = 0; i < t.count(); ++i) {
    if (t.dtype() != DType::str) {
      out += element_text(t, i);
    } else {
      const std::string& text = t.strings()[static_cast<size_t>(i)];
      if (text.find_first_of("\r\n") != std::string::npos)
        return failure(Code::unsupported, "CSV has no text of several lines: found element {}", i);
      out += '"';
      for (const char c : text) out.append(c == '"' ? 2 : 1, c);
      out += '"';
    }
    out += (i + 1) % columns == 0 ? '\n' : ',';
  }
  return out;
}

}  // namespace nnex
