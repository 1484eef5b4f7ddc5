#include "api/numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "api/zip.h"
#include "base/byte_reader.h"
#include "base/failure.h"
#include "base/try.h"

namespace nnex {
namespace {

struct NpyType {
  std::string_view code;
  DType type;
};
constexpr NpyType kNpy[] = {{"f8", DType::f64}, {"f4", DType::f32},  {"f2", DType::f16}, {"i8", DType::i64},
                            {"i4", DType::i32}, {"i2", DType::i16},  {"i1", DType::i8},  {"u8", DType::u64},
                            {"u4", DType::u32}, {"u2", DType::u16},  {"u1", DType::u8},  {"b1", DType::boolean},
                            {"c8", DType::c64}, {"c16", DType::c128}};

Error broken(std::string_view what) { return failure(Code::unreadable, "not a .npy file: {}", what); }

/// A number of digits; nothing where it is none, or beyond int64.
std::optional<int64_t> number_of(std::string_view digits) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (error != std::errc() || end != digits.data() + digits.size() || n < 0) return std::nullopt;
  return n;
}

/// The header, a Python dict of three keys in any order (NumPy's format description, version 1.0).
class NpyHeader {
 public:
  std::string_view descr;
  bool columns = false;  ///< The first axis runs fastest.
  Shape shape;

  static Result<NpyHeader> read(std::string_view text) {
    NpyHeader header;
    header.rest_ = text, header.size_ = text.size();
    NNEX_TRY(header.dict());
    return header;
  }

 private:
  Status dict() {
    NNEX_TRY(sign('{'));
    bool has_descr = false, has_order = false, has_shape = false;
    while (!takes('}')) {
      NNEX_ASSIGN(const std::string_view key, quoted("a key"));
      NNEX_TRY(sign(':'));
      bool& given = key == "descr" ? has_descr : key == "fortran_order" ? has_order : has_shape;
      if ((&given == &has_shape && key != "shape") || given)
        return wrong("'descr', 'fortran_order' and 'shape', once each, before here");
      given = true;
      if (&given == &has_descr) {
        NNEX_ASSIGN(descr, quoted("the element type"));
      } else if (&given == &has_order) {
        NNEX_TRY(order());
      } else {
        NNEX_TRY(extents());
      }
      if (!takes(',') && !next_is('}')) return wrong("',' or '}'");
    }
    if (!(has_descr && has_order && has_shape))
      return broken("its header lacks one of 'descr', 'fortran_order' and 'shape'");
    return at_end() ? Status() : wrong("nothing behind it");
  }

  Status order() {
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)})
      if (word_is(word)) {
        columns = value;
        return {};
      }
    return wrong("True or False");
  }

  Status extents() {
    NNEX_TRY(sign('('));
    std::vector<int64_t> found;
    while (!takes(')')) {
      skip_spaces();
      const size_t length = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
      const auto n = number_of(rest_.substr(0, length));
      if (!n) return wrong("an extent");
      rest_.remove_prefix(length);
      if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);  // as Python 2 wrote long integers
      found.push_back(*n);
      if (!takes(',') && !next_is(')')) return wrong("',' or ')'");
    }
    shape = Shape(found);
    return {};
  }

  Result<std::string_view> quoted(std::string_view what) {
    skip_spaces();
    const size_t end =
        rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"') ? std::string_view::npos : rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return wrong(fmt::format("{} in quotes", what));
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool word_is(std::string_view word) {
    skip_spaces();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool next_is(char c) {
    skip_spaces();
    return !rest_.empty() && rest_[0] == c;
  }
  bool takes(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  Status sign(char c) { return takes(c) ? Status() : wrong(fmt::format("'{}'", c)); }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }
  Error wrong(std::string_view needed) const {
    const char next = rest_.empty() ? '\0' : rest_[0];
    const std::string found = rest_.empty()                 ? "its end"
                              : next > ' ' && next < '\x7f' ? fmt::format("'{}'", next)
                                                            : fmt::format("byte 0x{:02x}", static_cast<uint8_t>(next));
    return broken(fmt::format("byte {} of its header: found {}; needed {}", size_ - rest_.size(), found, needed));
  }

  std::string_view rest_;
  size_t size_ = 0;
};

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out += static_cast<char>((0xF80 >> more & 0xFF) | c >> (6 * more));
  for (int i = more; i-- > 0;) out += static_cast<char>(0x80 | (c >> (6 * i) & 0x3F));
}

/// A type that nnex has none for, and what to do about it.
Error no_type(std::string_view descr) {
  const std::string_view what =
      descr.ends_with('O') ? "Python objects, which it is pickled for: save it as numbers (astype('f4')) or texts"
                           : "which nnex does not read: needed numbers, booleans or texts of fixed width";
  return failure(Code::unreadable, "a .npy file of element type '{}', {}", descr, what);
}

/// Numbers of big-endian bytes, each `width` of them, in this machine's order.
void swap_bytes(std::byte* data, int64_t bytes, size_t width) {
  for (std::byte* end = data + bytes; data < end; data += width) std::reverse(data, data + width);
}

/// Fixed-width strings, padded with zeros: 'S' bytes, 'U' code points of 32 bits.
Result<Tensor> read_words(std::string_view descr, const Shape& shape, ByteReader& r) {
  const bool wide = descr[1] == 'U';
  const int64_t width = number_of(descr.substr(2)).value_or(-1);
  if (width < 0 || width > 1 << 20) return no_type(descr);
  const auto count = shape.checked_count();
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, width * (wide ? 4 : 1), &bytes) ||
      r.remaining() < static_cast<uint64_t>(bytes) || (width == 0 && *count > 1 << 20))
    return broken(fmt::format("its data end before shape {} is filled", shape.text()));
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::str, shape));
  for (std::string& s : t.mutable_as<std::string>()) {
    for (int64_t i = 0; i < width; ++i) {
      uint32_t c = wide ? r.number<uint32_t>() : r.number<uint8_t>();
      if (wide && descr[0] == '>') c = __builtin_bswap32(c);
      if (wide && c > 0x10FFFF) return broken("a string has a character outside Unicode");
      if (wide)
        append_utf8(s, c);
      else
        s += static_cast<char>(c);
    }
    while (!s.empty() && s.back() == '\0') s.pop_back();
  }
  return t;
}

/// The characters of UTF-8. Nothing: it is none.
std::optional<std::u32string> characters(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<uint8_t>(text[at++]);
    const int more = first < 0x80 ? 0 : first < 0xC2 ? -1 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : first < 0xF5 ? 3 : -1;
    if (more < 0 || text.size() - at < static_cast<size_t>(more)) return std::nullopt;
    uint32_t c = more == 0 ? first : first & (0x3FU >> more);
    for (int i = 0; i < more; ++i, ++at) {
      const auto next = static_cast<uint8_t>(text[at]);
      if ((next & 0xC0) != 0x80) return std::nullopt;
      c = c << 6 | (next & 0x3FU);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (c < kLeast[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return std::nullopt;
    out += static_cast<char32_t>(c);
  }
  return out;
}

/// Texts as code points of 32 bits, the longest of which says the width. Whether NumPy would give them back.
bool append_words(const Tensor& t, std::string& code, std::string& data) {
  std::vector<std::u32string> words;
  size_t width = 1;
  for (const std::string& text : t.strings()) {
    auto word = characters(text);
    if (!word || word->ends_with(U'\0')) return false;
    width = std::max(width, word->size());
    words.push_back(std::move(*word));
  }
  code = fmt::format("U{}", width);
  for (std::u32string& word : words) {
    word.resize(width);
    data.append(reinterpret_cast<const char*>(word.data()), width * sizeof(char32_t));
  }
  return true;
}

/// Elements whose first axis runs fastest, laid out so that the last one does.
Result<Tensor> row_major(const Tensor& from) {
  NNEX_ASSIGN(Tensor to, Tensor::make(from.dtype(), from.shape()));
  // Without elements the strides mean nothing, and the other extents may multiply beyond int64.
  if (from.count() == 0) return to;
  const auto width = static_cast<size_t>(bits(from.dtype()) / 8);
  const int64_t rank = from.shape().rank();
  std::vector<int64_t> at(static_cast<size_t>(rank)), stride(static_cast<size_t>(rank), 1);
  for (size_t a = 1; a < at.size(); ++a) stride[a] = stride[a - 1] * from.shape()[static_cast<int64_t>(a) - 1];
  for (int64_t i = 0; i < from.count(); ++i) {
    int64_t source = 0;
    for (size_t a = 0; a < at.size(); ++a) source += at[a] * stride[a];
    std::memcpy(to.mutable_data() + static_cast<size_t>(i) * width, from.data() + static_cast<size_t>(source) * width,
                width);
    for (int64_t a = rank; a-- > 0;) {
      if (++at[static_cast<size_t>(a)] < from.shape()[a]) break;
      at[static_cast<size_t>(a)] = 0;
    }
  }
  return to;
}

}  // namespace

Result<Tensor> read_npy(std::string_view bytes) {
  ByteReader r(bytes);
  if (r.bytes(6) != std::string_view("\x93NUMPY", 6)) return broken("the magic bytes are missing");
  const auto major = r.number<uint8_t>();
  r.number<uint8_t>();
  const uint64_t length = major == 1 ? r.number<uint16_t>() : r.number<uint32_t>();
  const std::string_view header = r.bytes(length);
  if (!r.ok()) return broken("its header is cut off");
  NNEX_ASSIGN(const NpyHeader known, NpyHeader::read(header));
  const std::string_view descr = known.descr;
  const Shape& shape = known.shape;
  const bool words = descr.size() > 2 && (descr[1] == 'U' || descr[1] == 'S');
  if (words && known.columns && shape.rank() > 1)
    return Error(Code::unreadable, "a .npy file of texts whose first axis runs fastest: save it in row-major order");
  if (words) return read_words(descr, shape, r);
  DType type = DType::none;
  for (const NpyType& t : kNpy)
    if (descr.size() > 1 && descr.substr(1) == t.code &&
        std::string_view("<>=|").find(descr[0]) != std::string_view::npos)
      type = t.type;
  if (type == DType::none) return no_type(descr);
  auto count = shape.checked_count();
  auto size = count ? bytes_for(type, *count) : std::nullopt;
  if (!size || r.remaining() < static_cast<uint64_t>(*size))
    return broken(fmt::format("its data end before shape {} is filled", shape.text()));
  NNEX_ASSIGN(Tensor t, Tensor::make(type, shape));
  if (*size > 0)
    std::memcpy(t.mutable_data(), r.bytes(static_cast<uint64_t>(*size)).data(), static_cast<size_t>(*size));
  if (descr[0] == '>')
    swap_bytes(t.mutable_data(), *size, static_cast<size_t>(bits(type) / (is_complex(type) ? 16 : 8)));
  return known.columns && shape.rank() > 1 ? row_major(t) : Result<Tensor>(std::move(t));
}

Result<std::string> npy_bytes(const Tensor& t, std::string_view name) {
  const std::string shown = name.empty() ? "it" : fmt::format("'{}'", name);
  std::string code, words;
  for (const NpyType& n : kNpy)
    if (n.type == t.dtype()) code = n.code;
  if (t.dtype() == DType::str && !append_words(t, code, words))
    return failure(Code::unsupported,
                   "NumPy has no text that is no UTF-8 or ends in a zero byte; save {} as .pb or .json", shown);
  if (code.empty())
    return failure(Code::unsupported, "NumPy has no element type {}; save {} as .pb or .json", nnex::name(t.dtype()),
                   shown);
  std::string shape;
  for (int64_t e : t.shape()) shape += fmt::format("{},", e);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   code[1] == '1' && code.size() == 2 ? '|' : '<', code, shape);
  while ((10 + header.size() + 1) % 64) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out += words;
  if (words.empty() && t.bytes() > 0)
    out.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  return out;
}

Result<ContainerLimits> npz_limits(int64_t archive_limit, int64_t archive_ratio) {
  ContainerLimits limits;
  for (const auto& [name, found] : {std::pair("archive_limit", archive_limit), {"archive_ratio", archive_ratio}})
    if (found < 0) return failure(Code::invalid_argument, "option '{}': found {}; needed 0 or more", name, found);
  if (archive_limit > 0) limits.bytes = static_cast<uint64_t>(archive_limit);
  if (archive_ratio > 0) limits.growth = static_cast<uint64_t>(archive_ratio);
  return limits;
}

Result<std::map<std::string, Tensor>> read_npz(const std::string& path, std::string_view bytes,
                                               const ContainerLimits& limits) {
  NNEX_ASSIGN(const auto files, read_zip(path, bytes, limits));
  std::map<std::string, Tensor> out;
  for (const auto& [name, content] : files) {
    if (name.size() < 4 || name.compare(name.size() - 4, 4, ".npy") != 0) continue;
    auto t = read_npy(content.bytes);
    if (!t.ok()) return std::move(t).error().during(fmt::format("reading '{}' of the archive", name));
    out.emplace(name.substr(0, name.size() - 4), std::move(t).value());
  }
  if (out.empty() && !files.empty()) return Error(Code::unreadable, "not a .npz file: it holds no array");
  return out;
}

Result<std::string> npz_bytes(const std::vector<std::pair<std::string, Tensor>>& arrays) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, t] : arrays) {
    NNEX_ASSIGN(std::string bytes, npy_bytes(t, name));
    files.emplace_back(name + ".npy", std::move(bytes));
  }
  return zip_bytes(files);
}

}  // namespace nnex
