#include "api/numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/zip.h"
#include "base/byte_reader.h"
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

Error broken(std::string_view what) { return Error(Code::unreadable, fmt::format("not a .npy file: {}", what)); }

/// What stands after a key of the header's Python dict.
std::string_view after(std::string_view header, std::string_view key) {
  const size_t at = header.find(key);
  const size_t colon = at == std::string_view::npos ? at : header.find(':', at);
  return colon == std::string_view::npos ? std::string_view() : header.substr(colon + 1);
}

std::vector<int64_t> numbers_in(std::string_view list) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < list.size();) {
    if (list[i] < '0' || list[i] > '9') {
      ++i;
      continue;
    }
    int64_t n = 0;
    for (; i < list.size() && list[i] >= '0' && list[i] <= '9'; ++i)
      n = std::min<int64_t>(n, int64_t{1} << 55) * 10 + (list[i] - '0');
    out.push_back(n);
  }
  return out;
}

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
    return;
  }
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  out += static_cast<char>((0xF00 >> more & 0xFF) | c >> (6 * more));
  for (int i = more; i-- > 0;) out += static_cast<char>(0x80 | (c >> (6 * i) & 0x3F));
}

/// Fixed-width strings, padded with zeros: 'S' bytes, 'U' code points of 32 bits.
Result<Tensor> read_words(std::string_view descr, const Shape& shape, ByteReader& r) {
  const auto length = numbers_in(descr.substr(2));
  const bool wide = descr[1] == 'U';
  const int64_t width = length.size() == 1 ? length[0] : -1;
  if (width < 0 || width > 1 << 20) return broken(fmt::format("element type '{}' is not supported", descr));
  const auto count = shape.checked_count();
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, width * (wide ? 4 : 1), &bytes) ||
      r.remaining() < static_cast<uint64_t>(bytes) || (width == 0 && *count > 1 << 20))
    return broken(fmt::format("its data end before shape {} is filled", shape.text()));
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::str, shape));
  for (std::string& s : t.mutable_as<std::string>()) {
    for (int64_t i = 0; i < width; ++i) {
      const uint32_t c = wide ? r.number<uint32_t>() : r.number<uint8_t>();
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
  std::string_view descr = after(header, "'descr'");
  descr.remove_prefix(std::min(descr.find('\'') + 1, descr.size()));
  descr = descr.substr(0, descr.find('\''));
  std::string_view list = after(header, "'shape'");
  const Shape shape(numbers_in(list.substr(0, list.find(')'))));
  const bool columns = after(header, "'fortran_order'").find("True") < 6;
  if (descr.size() > 2 && descr[0] != '>' && (descr[1] == 'U' || descr[1] == 'S') && !columns)
    return read_words(descr, shape, r);
  DType type = DType::none;
  for (const NpyType& t : kNpy)
    if (descr.size() > 1 && descr.substr(1) == t.code && descr[0] != '>') type = t.type;
  if (type == DType::none) return broken(fmt::format("element type '{}' is not supported", descr));
  auto count = shape.checked_count();
  auto size = count ? bytes_for(type, *count) : std::nullopt;
  if (!size || r.remaining() < static_cast<uint64_t>(*size))
    return broken(fmt::format("its data end before shape {} is filled", shape.text()));
  NNEX_ASSIGN(Tensor t, Tensor::make(type, shape));
  if (*size > 0)
    std::memcpy(t.mutable_data(), r.bytes(static_cast<uint64_t>(*size)).data(), static_cast<size_t>(*size));
  return columns && shape.rank() > 1 ? row_major(t) : Result<Tensor>(std::move(t));
}

Result<std::string> npy_bytes(const Tensor& t, std::string_view name) {
  std::string_view code;
  for (const NpyType& n : kNpy)
    if (n.type == t.dtype()) code = n.code;
  if (code.empty())
    return Error(Code::unsupported,
                 fmt::format("NumPy has no element type {}; save '{}' as .pb", nnex::name(t.dtype()), name));
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
  if (t.bytes() > 0) out.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  return out;
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
  if (out.empty()) return Error(Code::unreadable, "not a .npz file: it holds no array");
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
