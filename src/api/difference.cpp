// How two values differ, in numbers.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "api/tolerance.h"
#include "base/failure.h"
#include "nnex/elements.h"

namespace nnex {
namespace {

/// The larger tolerance of the two types.
double coarser(DType a, DType b) { return std::max(default_tolerance(a), default_tolerance(b)); }

int64_t bits_at(const Tensor& t, int64_t i, int width) {
  const std::byte* p = t.data() + i * width;
  switch (width) {
    case 2: {
      int16_t x;
      return std::memcpy(&x, p, 2), x;
    }
    case 4: {
      int32_t x;
      return std::memcpy(&x, p, 4), x;
    }
    default: {
      int64_t x;
      return std::memcpy(&x, p, 8), x;
    }
  }
}

/// How many floats of the type lie between elements i, the second one counted: bits of floats are sign and magnitude.
int64_t ulps_between(const Tensor& a, const Tensor& b, int64_t i) {
  const int width = bits(a.dtype()) / 8;
  const int64_t sign = width == 8 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (width * 8 - 1));
  const auto rank = [&](const Tensor& t) {
    const int64_t x = bits_at(t, i, width);
    return x < 0 ? static_cast<uint64_t>(sign) - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  };
  const auto x = static_cast<int64_t>(rank(a)), y = static_cast<int64_t>(rank(b));
  const uint64_t apart =
      x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y) : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
  return static_cast<int64_t>(std::min<uint64_t>(apart, std::numeric_limits<int64_t>::max()));
}

/// Whole numbers that a double does not hold are subtracted as they are.
double whole_apart(const Tensor& a, const Tensor& b, int64_t i) {
  const int64_t x = int_at(a, i), y = int_at(b, i);
  const bool swapped =
      a.dtype() == DType::u64 && b.dtype() == DType::u64 ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
  return static_cast<double>(swapped ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
                                     : static_cast<uint64_t>(x) - static_cast<uint64_t>(y));
}

bool is_whole(DType t) { return is_int(t) || t == DType::boolean; }

/// Sums that several tensors share: items of a sequence are compared as one.
struct Sums {
  double aa = 0, bb = 0, ab = 0, apart = 0;
  double worst = -1;
  int64_t finite = 0;  ///< Pairs of elements that are finite in both.
};

class Comparison {
 public:
  explicit Comparison(const Tolerance& tolerance) : tolerance_(tolerance) {}

  void values(const Value& a, const Value& b);
  Difference take() &&;

 private:
  void tensors(const Tensor& a, const Tensor& b);
  void texts(const Tensor& a, const Tensor& b);
  void numbers(const Tensor& a, const Tensor& b);
  void complex_numbers(const Tensor& a, const Tensor& b);
  void limits(const Tensor& a, const Tensor& b);
  void element(const Tensor& a, const Tensor& b, int64_t i, double x, double y);
  void remember(const Tensor& a, const Tensor& b, int64_t i, double apart);
  void mismatch(const std::string& found, const std::string& needed) {
    if (out_.mismatch.empty()) out_.mismatch = fmt::format("found {}; needed {}", found, needed);
  }

  const Tolerance& tolerance_;
  Difference out_;
  Sums sums_;
};

void Comparison::remember(const Tensor& a, const Tensor& b, int64_t i, double apart) {
  ++out_.differing;
  if (apart <= sums_.worst) return;
  sums_.worst = apart;
  out_.worst = i, out_.worst_a = element_text(a, i), out_.worst_b = element_text(b, i);
}

/// What is tolerated of this pair: given, or of the types and the magnitude of `a`.
void Comparison::limits(const Tensor& a, const Tensor& b) {
  const bool given = tolerance_.atol || tolerance_.rtol || tolerance_.ulp;
  const double usual = given ? 0 : coarser(a.dtype(), b.dtype());
  double rms = 0;
  if (usual > 0) {
    double squares = 0;
    int64_t finite = 0;
    for (int64_t i = 0; i < a.count(); ++i) {
      const double x = real_at(a, i);
      if (std::isfinite(x)) squares += x * x, ++finite;
    }
    rms = finite ? std::sqrt(squares / static_cast<double>(finite)) : 0;
  }
  out_.rtol = tolerance_.rtol.value_or(usual), out_.atol = tolerance_.atol.value_or(usual * rms);
}

void Comparison::element(const Tensor& a, const Tensor& b, int64_t i, double x, double y) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (std::isnan(x) || std::isnan(y)) {
    if (std::isnan(x) == std::isnan(y)) return void(++out_.nan_both);
    ++out_.nan_mismatch;
    return remember(a, b, i, kFar);
  }
  if (std::isinf(x) || std::isinf(y)) {
    if (x == y) return;
    ++out_.infinity_mismatch;
    return remember(a, b, i, kFar);
  }
  sums_.aa += x * x, sums_.bb += y * y, sums_.ab += x * y, ++sums_.finite;
  const bool whole = is_whole(a.dtype()) && is_whole(b.dtype());
  const double apart = whole ? whole_apart(a, b, i) : std::abs(x - y);
  if (apart == 0) return;
  sums_.apart += apart * apart;
  out_.max_absolute = std::max(out_.max_absolute, apart);
  out_.max_relative = std::max(out_.max_relative, apart / std::max(std::abs(x), std::abs(y)));
  const bool floats = is_float(a.dtype()) && a.dtype() == b.dtype();
  int64_t ulps = 0;
  if (floats) {
    ulps = ulps_between(a, b, i);
    out_.max_ulp = std::max(out_.max_ulp.value_or(0), ulps);
  }
  if (apart <= out_.atol + out_.rtol * std::abs(x)) return;
  if (tolerance_.ulp && floats && ulps <= *tolerance_.ulp) return;
  remember(a, b, i, apart);
}

void Comparison::numbers(const Tensor& a, const Tensor& b) {
  limits(a, b);
  if (is_float(a.dtype()) && a.dtype() == b.dtype()) out_.max_ulp = out_.max_ulp.value_or(0);
  for (int64_t i = 0; i < a.count(); ++i) element(a, b, i, real_at(a, i), real_at(b, i));
}

void Comparison::texts(const Tensor& a, const Tensor& b) {
  const auto x = a.strings(), y = b.strings();
  for (size_t i = 0; i < x.size(); ++i)
    if (x[i] != y[i]) remember(a, b, static_cast<int64_t>(i), 0);
}

/// The parts of complex numbers as an axis of their own.
Tensor parts(const Tensor& t) {
  std::vector<int64_t> extents(t.shape().begin(), t.shape().end());
  extents.push_back(2);
  return Tensor::borrow(t.dtype() == DType::c64 ? DType::f32 : DType::f64, Shape(extents), t.data(), t.owner());
}

/// Their parts are compared one by one, and what is counted and shown are elements.
void Comparison::complex_numbers(const Tensor& a, const Tensor& b) {
  const Tensor x = parts(a), y = parts(b);
  limits(x, y);
  out_.max_ulp = out_.max_ulp.value_or(0);
  for (int64_t i = 0; i < a.count(); ++i) {
    const int64_t differing = out_.differing;
    const double worst = sums_.worst;
    for (int64_t part : {2 * i, 2 * i + 1}) element(x, y, part, real_at(x, part), real_at(y, part));
    out_.differing = std::min(out_.differing, differing + 1);
    if (sums_.worst > worst) out_.worst = i, out_.worst_a = element_text(a, i), out_.worst_b = element_text(b, i);
  }
}

/// Numbers of one kind may differ in type: standards lack some.
bool comparable(DType a, DType b) {
  const auto kind = [](DType t) { return is_real(t) ? 1 : is_whole(t) ? 2 : is_complex(t) ? 3 : 4; };
  return kind(a) == kind(b);
}

void Comparison::tensors(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || !comparable(a.dtype(), b.dtype()) ||
      (is_complex(a.dtype()) && a.dtype() != b.dtype()))
    return mismatch(Value(b).text(), Value(a).text());
  out_.count += a.count();
  if (is_object(a.dtype())) return texts(a, b);
  if (is_complex(a.dtype())) return complex_numbers(a, b);
  numbers(a, b);
}

void Comparison::values(const Value& a, const Value& b) {
  if (a.tensor() && b.tensor()) return tensors(*a.tensor(), *b.tensor());
  if (a.sequence() && b.sequence() && a.sequence()->items.size() == b.sequence()->items.size()) {
    for (size_t i = 0; i < a.sequence()->items.size(); ++i) values(a.sequence()->items[i], b.sequence()->items[i]);
    return;
  }
  if (a.map() && b.map() && a.map()->values.size() == b.map()->values.size()) {
    tensors(a.map()->keys, b.map()->keys);
    for (size_t i = 0; i < a.map()->values.size(); ++i) values(a.map()->values[i], b.map()->values[i]);
    return;
  }
  if (a.optional() && b.optional()) {
    const auto &x = a.optional()->item, &y = b.optional()->item;
    if (!x && !y) return;
    if (x && y) return values(*x, *y);
  }
  if (a.sparse() && b.sparse() && a.sparse()->shape == b.sparse()->shape) {
    tensors(a.sparse()->indices, b.sparse()->indices);
    return tensors(a.sparse()->values, b.sparse()->values);
  }
  if (a.empty() && b.empty()) return;
  mismatch(b.text(), a.text());
}

Difference Comparison::take() && {
  const double lengths = std::sqrt(sums_.aa) * std::sqrt(sums_.bb);
  out_.cosine = lengths > 0 ? sums_.ab / lengths : sums_.aa == sums_.bb ? 1 : 0;
  out_.sqnr_db = sums_.apart > 0 ? 10 * std::log10(sums_.aa / sums_.apart) : std::numeric_limits<double>::infinity();
  if (!out_.mismatch.empty() && out_.count == 0)  // no gate on one of these lets it through
    out_.max_absolute = out_.max_relative = out_.cosine = out_.sqnr_db = std::numeric_limits<double>::quiet_NaN();
  if (sums_.finite == 0 && out_.nan_both > 0) out_.cosine = out_.sqnr_db = std::numeric_limits<double>::quiet_NaN();
  return std::move(out_);
}

}  // namespace

double default_tolerance(DType type) {
  if (!is_real(type)) return is_complex(type) ? default_tolerance(type == DType::c64 ? DType::f32 : DType::f64) : 0;
  switch (type) {
    case DType::f64:
      return 1e-9;
    case DType::f32:
      return 1e-4;
    case DType::f16:
      return 1e-2;
    case DType::bf16:
      return 5e-2;
    default:
      return 0.25;
  }
}

std::string_view name(MatchedBy matched) {
  switch (matched) {
    case MatchedBy::port:
      return "port";
    case MatchedBy::name:
      return "name";
    case MatchedBy::value:
      return "value";
    case MatchedBy::structure:
      return "structure";
    case MatchedBy::none:
      break;
  }
  return "none";
}

Status check_tolerance(const Tolerance& tolerance) {
  const auto wrong = [](const char* name, auto found) {
    return failure(Code::invalid_argument, "tolerance '{}': found {}; needed 0 or more", name, found);
  };
  if (tolerance.atol && !(*tolerance.atol >= 0)) return wrong("atol", *tolerance.atol);
  if (tolerance.rtol && !(*tolerance.rtol >= 0)) return wrong("rtol", *tolerance.rtol);
  if (tolerance.ulp && *tolerance.ulp < 0) return wrong("ulp", *tolerance.ulp);
  return {};
}

Difference difference(const Value& a, const Value& b, const Tolerance& tolerance) {
  if (const Status known = check_tolerance(tolerance); !known.ok()) {
    Difference none;
    none.mismatch = known.error().message();
    return none;
  }
  Comparison comparison(tolerance);
  comparison.values(a, b);
  return std::move(comparison).take();
}

}  // namespace nnex
