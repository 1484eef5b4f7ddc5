#include "tensor/convert.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "base/pieces.h"
#include "base/sha256.h"
#include "base/try.h"
#include "tensor/dim.h"
#include "tensor/element.h"
#include "tensor/has_memory.h"

namespace nnex {
namespace {

template <class T>
inline constexpr bool kNarrowFloat =
    std::is_same_v<T, f16> || std::is_same_v<T, bf16> || std::is_same_v<T, f8e4m3fn> || std::is_same_v<T, f8e4m3fnuz> ||
    std::is_same_v<T, f8e5m2> || std::is_same_v<T, f8e5m2fnuz> || std::is_same_v<T, f8e8m0>;

/// Toward zero or down, into I's range; NaN gives 0.
template <class I, class F>
I integer_from(F x, FloatToInt how) {
  if (std::isnan(x)) return 0;
  x = how == FloatToInt::floor ? std::floor(x) : std::trunc(x);
  constexpr I kHalf = std::numeric_limits<I>::max() / 2 + 1;  // a power of two, which F has exactly
  constexpr F kEnd = static_cast<F>(kHalf) * 2;
  if (x >= kEnd) return std::numeric_limits<I>::max();
  if (x < static_cast<F>(std::numeric_limits<I>::min())) return std::numeric_limits<I>::min();
  return static_cast<I>(x);
}

template <class To, class From>
To element(From from, const CastOptions& o) {
  if constexpr (std::is_same_v<From, Flag>) {
    return element<To>(static_cast<uint8_t>(from.bits != 0), o);
  } else if constexpr (kNarrowFloat<From>) {
    return element<To>(static_cast<float>(from), o);
  } else if constexpr (std::is_same_v<To, Flag>) {
    return Flag{static_cast<uint8_t>(from != From{} ? 1 : 0)};
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    if constexpr (std::is_same_v<From, float>)
      return To(from);
    else
      return To(static_cast<double>(from));
  } else if constexpr (std::is_same_v<To, f8e8m0>) {
    return To(static_cast<float>(from), o.overflow, o.power);
  } else if constexpr (kNarrowFloat<To>) {
    return To(static_cast<float>(from), o.overflow);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return integer_from<To>(from, o.float_to_int);
  } else {
    return static_cast<To>(from);
  }
}

/// y[i] = x[i] for i in [0, n), converted. Numbers that the machine converts go by whole blocks, which compilers turn
/// into vectors.
template <class To, class From>
void convert_items(const From* __restrict x, To* __restrict y, int64_t n, const CastOptions& options) {
  int64_t i = 0;
  if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To> &&
                (std::is_floating_point_v<To> || std::is_integral_v<From>)) {
    constexpr int64_t kBlock = 64;
    for (; i + kBlock <= n; i += kBlock)
      for (int64_t k = 0; k < kBlock; ++k) y[i + k] = static_cast<To>(x[i + k]);
  }
  for (; i < n; ++i) y[i] = element<To>(x[i], options);
}

uint8_t packed_bits(const Tensor& t, int64_t i) {
  const int width = bits(t.dtype()), per_byte = 8 / width;
  const auto byte = std::to_integer<uint8_t>(t.data()[i / per_byte]);
  return static_cast<uint8_t>((byte >> (width * static_cast<int>(i % per_byte))) & ((1 << width) - 1));
}

void set_packed_bits(Tensor& t, int64_t i, uint8_t value) {
  const int width = bits(t.dtype()), per_byte = 8 / width, shift = width * static_cast<int>(i % per_byte);
  const auto mask = static_cast<uint8_t>(((1 << width) - 1) << shift);
  std::byte& b = t.mutable_data()[i / per_byte];
  b = std::byte{static_cast<uint8_t>((std::to_integer<uint8_t>(b) & ~mask) | ((value << shift) & mask))};
}

bool sub_byte(DType type) { return bits(type) > 0 && bits(type) < 8; }

int64_t packed_int(const Tensor& t, int64_t i) {
  const uint8_t b = packed_bits(t, i);
  const int width = bits(t.dtype());
  return is_signed_int(t.dtype()) && (b >> (width - 1)) ? static_cast<int64_t>(b) - (1 << width) : b;
}

/// Elements narrower than a byte are written into bytes that are there.
void clear(Tensor& t) {
  if (t.bytes() > 0) std::memset(t.mutable_data(), 0, static_cast<size_t>(t.bytes()));
}

/// Sub-byte types on either side: element by element.
Result<Tensor> convert_packed(const Tensor& from, DType to, const CastOptions& options) {
  const DType middle = from.dtype() == DType::f4e2m1 ? DType::f32 : DType::i64;
  if (sub_byte(from.dtype())) {
    NNEX_ASSIGN(Tensor wide, Tensor::make(middle, from.shape()));
    for (int64_t i = 0; i < from.count(); ++i) {
      if (middle == DType::f32)
        wide.mutable_as<float>()[static_cast<size_t>(i)] = f4e2m1_value(packed_bits(from, i));
      else
        wide.mutable_as<int64_t>()[static_cast<size_t>(i)] = packed_int(from, i);
    }
    return convert(wide, to, options);
  }
  NNEX_ASSIGN(Tensor out, Tensor::make(to, from.shape()));
  clear(out);
  for (int64_t i = 0; i < from.count(); ++i) {
    if (to == DType::f4e2m1)
      set_packed_bits(out, i, f4e2m1_bits(static_cast<float>(real_at(from, i))));
    else if (is_real(from.dtype()))
      set_packed_bits(
          out, i, static_cast<uint8_t>(integer_from<int64_t>(std::nearbyint(real_at(from, i)), options.float_to_int)));
    else
      set_packed_bits(out, i, static_cast<uint8_t>(int_at(from, i)));
  }
  return out;
}

Result<double> parsed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) text.remove_suffix(1);
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  double x = 0;
  auto [end, error] = fast_float::from_chars(digits.data(), digits.data() + digits.size(), x);
  // Beyond double's range fast_float gives infinity or 0: what rounding gives, too.
  if (digits.empty() || end != digits.data() + digits.size()) return failure(Code::fault, "'{}' is no number", text);
  (void)error;
  return x;
}

/// Decimal digits behind an optional sign, and nothing else; the magnitude of more than 64 bits is their greatest
/// number.
struct WholeText {
  bool negative = false;
  uint64_t magnitude = 0;
};
std::optional<WholeText> whole_text(std::string_view s) {
  WholeText w;
  w.negative = !s.empty() && s[0] == '-';
  if (s.size() > 1 && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
  if (s.empty() || s.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  constexpr uint64_t kMax = ~uint64_t{0};
  for (const char c : s) {
    const auto digit = static_cast<uint64_t>(c - '0');
    w.magnitude = w.magnitude > (kMax - digit) / 10 ? kMax : w.magnitude * 10 + digit;
  }
  return w;
}

/// The number of the integer type that is nearest to a text's, as 64 bits.
Result<int64_t> integer_of(const std::string& s, DType to, const CastOptions& options) {
  const bool is_signed = is_signed_int(to);
  const uint64_t high = ~uint64_t{0} >> (64 - bits(to) + is_signed), low = is_signed ? high + 1 : 0;
  if (const auto w = whole_text(s))
    return static_cast<int64_t>(w->negative ? 0 - std::min(w->magnitude, low) : std::min(w->magnitude, high));
  NNEX_ASSIGN(const double x, parsed(s));
  if (to == DType::u64) return static_cast<int64_t>(integer_from<uint64_t>(x, options.float_to_int));
  const auto whole = integer_from<int64_t>(x, options.float_to_int);
  return std::clamp(whole, static_cast<int64_t>(0 - low), static_cast<int64_t>(high));
}

Result<double> real_of(const std::string& s, DType to) {
  if (to == DType::boolean && (s == "True" || s == "False")) return s == "True" ? 1.0 : 0.0;  // as booleans are written
  return parsed(s);
}

Result<Tensor> from_text(const Tensor& from, DType to, const CastOptions& options) {
  const bool whole = is_int(to);
  NNEX_ASSIGN(Tensor out, Tensor::make(!whole ? DType::f64 : to == DType::u64 ? to : DType::i64, from.shape()));
  for (int64_t i = 0; i < from.count(); ++i) {
    const std::string& s = from.strings()[static_cast<size_t>(i)];
    if (whole) {
      NNEX_ASSIGN(reinterpret_cast<int64_t*>(out.mutable_data())[i], integer_of(s, to, options));
    } else {
      NNEX_ASSIGN(out.mutable_as<double>()[static_cast<size_t>(i)], real_of(s, to));
    }
  }
  return convert(out, to, options);
}

/// Numbers as ONNX writes them in strings.
std::string text_element(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::boolean) return int_at(t, i) ? "True" : "False";
  if (!is_real(t.dtype()))
    return t.dtype() == DType::u64 ? std::to_string(static_cast<uint64_t>(int_at(t, i))) : std::to_string(int_at(t, i));
  const double x = real_at(t, i);
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  return t.dtype() == DType::f64 ? number_text(x) : number_text(static_cast<float>(x));
}

Result<Tensor> to_text(const Tensor& from) {
  NNEX_ASSIGN(Tensor out, Tensor::make(DType::str, from.shape()));
  for (int64_t i = 0; i < from.count(); ++i)
    out.mutable_as<std::string>()[static_cast<size_t>(i)] = text_element(from, i);
  return out;
}

Result<Tensor> convert_complex(const Tensor& from, DType to) {
  if (!is_complex(from.dtype()) || !is_complex(to))
    return failure(Code::unsupported, "conversion from {} to {}", name(from.dtype()), name(to));
  NNEX_ASSIGN(Tensor out, Tensor::make(to, from.shape()));
  for (size_t i = 0; i < static_cast<size_t>(from.count()) * 2; ++i) {
    const double x = from.dtype() == DType::c64 ? reinterpret_cast<const float*>(from.data())[i]
                                                : reinterpret_cast<const double*>(from.data())[i];
    if (to == DType::c64)
      reinterpret_cast<float*>(out.mutable_data())[i] = static_cast<float>(x);
    else
      reinterpret_cast<double*>(out.mutable_data())[i] = x;
  }
  return out;
}

}  // namespace

Result<Tensor> convert(const Tensor& given, DType to, const CastOptions& options) {
  if (given.dtype() == to) return given;
  NNEX_ASSIGN(Tensor from, given.aligned_copy());
  if (from.dtype() == DType::str) return from_text(from, to, options);
  if (is_complex(from.dtype()) || is_complex(to)) return convert_complex(from, to);
  if (sub_byte(from.dtype())) return convert_packed(from, to, options);
  if (to == DType::str) return to_text(from);
  if (sub_byte(to)) return convert_packed(from, to, options);
  NNEX_ASSIGN(Tensor out, Tensor::make(to, from.shape()));
  bool done = visit_element(from.dtype(), [&]<class From>() {
    if constexpr (std::is_void_v<From>) {
      return false;
    } else {
      const From* x = from.as<From>().data();
      return visit_element(to, [&]<class To>() {
        if constexpr (std::is_void_v<To>) {
          return false;
        } else {
          To* y = out.mutable_as<To>().data();
          for_pieces(from.count(),
                     [&](int64_t begin, int64_t end) { convert_items(x + begin, y + begin, end - begin, options); });
          return true;
        }
      });
    }
  });
  if (!done) return failure(Code::unsupported, "conversion from {} to {}", name(from.dtype()), name(to));
  return out;
}

double real_at(const Tensor& t, int64_t i) {
  return visit_element(t.dtype(), [&]<class T>() -> double {
    if constexpr (std::is_void_v<T>) {
      if (t.dtype() == DType::f4e2m1) return f4e2m1_value(packed_bits(t, i));
      return sub_byte(t.dtype()) ? static_cast<double>(packed_int(t, i)) : 0.0;
    } else {
      T x;
      __builtin_memcpy(&x, t.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      return element<double>(x, {});
    }
  });
}

int64_t int_at(const Tensor& t, int64_t i) {
  return visit_element(t.dtype(), [&]<class T>() -> int64_t {
    if constexpr (std::is_void_v<T>) {
      if (t.dtype() == DType::f4e2m1) return static_cast<int64_t>(f4e2m1_value(packed_bits(t, i)));
      return sub_byte(t.dtype()) ? packed_int(t, i) : 0;
    } else {
      T x;
      __builtin_memcpy(&x, t.data() + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      return element<int64_t>(x, {});
    }
  });
}

std::vector<int64_t> ints_of(const Tensor& t) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < t.count(); ++i) out.push_back(int_at(t, i));
  return out;
}

std::vector<double> reals_of(const Tensor& t) {
  std::vector<double> out;
  for (int64_t i = 0; i < t.count(); ++i) out.push_back(real_at(t, i));
  return out;
}

void set_real(Tensor& t, int64_t i, double x) {
  visit_element(t.dtype(), [&]<class T>() {
    if constexpr (std::is_void_v<T>) {
      if (t.dtype() == DType::f4e2m1)
        set_packed_bits(t, i, f4e2m1_bits(static_cast<float>(x)));
      else if (sub_byte(t.dtype()))
        set_packed_bits(t, i, static_cast<uint8_t>(integer_from<int64_t>(std::nearbyint(x), FloatToInt::truncate)));
    } else {
      t.mutable_as<T>()[static_cast<size_t>(i)] = element<T>(x, {});
    }
  });
}

void set_int(Tensor& t, int64_t i, int64_t x) {
  visit_element(t.dtype(), [&]<class T>() {
    if constexpr (std::is_void_v<T>) {
      if (t.dtype() == DType::f4e2m1)
        set_packed_bits(t, i, f4e2m1_bits(static_cast<float>(x)));
      else if (sub_byte(t.dtype()))
        set_packed_bits(t, i, static_cast<uint8_t>(x));
      else if (t.dtype() == kDimType)
        t.mutable_as<Dim>()[static_cast<size_t>(i)] = Dim(x);
    } else {
      t.mutable_as<T>()[static_cast<size_t>(i)] = element<T>(x, {});
    }
  });
}

std::string element_text(const Tensor& t, int64_t i) {
  if (i < 0 || i >= t.count() || !t.data()) return {};
  if (t.dtype() == DType::str) return "\"" + t.strings()[static_cast<size_t>(i)] + "\"";
  if (t.dtype() == kDimType) return t.as<Dim>()[static_cast<size_t>(i)].text();
  if (t.dtype() == DType::boolean) return int_at(t, i) ? "true" : "false";
  if (t.dtype() == DType::u64) return std::to_string(static_cast<uint64_t>(int_at(t, i)));
  if (t.dtype() == DType::f64) return number_text(real_at(t, i));
  if (is_real(t.dtype())) return number_text(static_cast<float>(real_at(t, i)));
  if (is_complex(t.dtype())) {
    auto part = [&](int64_t k) {
      if (t.dtype() == DType::c64) {
        float x;
        __builtin_memcpy(&x, t.data() + (2 * i + k) * 4, 4);
        return number_text(x);
      }
      double x;
      __builtin_memcpy(&x, t.data() + (2 * i + k) * 8, 8);
      return number_text(x);
    };
    return "(" + part(0) + "," + part(1) + ")";
  }
  return std::to_string(int_at(t, i));
}

std::string number_text(float x) { return x != x ? "nan" : fmt::format("{}", x); }
std::string number_text(double x) { return x != x ? "nan" : fmt::format("{}", x); }

Result<Tensor> cast(const Tensor& from, DType to) {
  NNEX_TRY(need_memory(from));
  return convert(from, to);
}

namespace {

std::string sha256_of_texts(std::span<const std::string> texts) {
  Sha256 h;
  for (const std::string& text : texts) {
    char length[8];
    for (size_t i = 0; i < sizeof length; ++i) length[i] = static_cast<char>(uint64_t{text.size()} >> (8 * i) & 255);
    h.add(length, sizeof length);
    h.add(text.data(), text.size());
  }
  return h.text();
}

}  // namespace

std::string sha256(const Tensor& t) {
  if (!t.data() && t.count() > 0) return {};
  if (t.dtype() == DType::str) return sha256_of_texts(t.strings());
  if (is_object(t.dtype())) return {};
  constexpr size_t kPiece = size_t{32} << 20;
  const MappedFile* const file = file_of(t.owner());
  Sha256 h;
  std::string_view bytes(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  for (; !bytes.empty(); bytes.remove_prefix(std::min(kPiece, bytes.size()))) {
    const std::string_view piece = bytes.substr(0, kPiece);
    h.add(piece.data(), piece.size());
    // Of a large file no more than a piece stays in memory.
    if (file) file->release_pages(static_cast<uint64_t>(piece.data() - file->bytes().data()), piece.size());
  }
  return h.text();
}

}  // namespace nnex
