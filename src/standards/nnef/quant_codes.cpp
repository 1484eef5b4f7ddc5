// Codes of quantised tensor files, and the reals they stand for by their record (NNEF 1.0.5, 8.10 and 5.3).

#include <cmath>

#include "base/failure.h"
#include "base/pieces.h"
#include "base/try.h"
#include "standards/nnef/check_call.h"
#include "standards/nnef/read_quant.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

void flatten(const Literal& arg, std::vector<double>& out) {
  if (const Literals* items = arg.get<Literals>()) {
    for (const Literal& item : *items) flatten(item, out);
    return;
  }
  out.push_back(arg.get<double>()    ? *arg.get<double>()
                : arg.get<int64_t>() ? static_cast<double>(*arg.get<int64_t>())
                                     : 0);
}

/// A parameter read at any element of the tensor: it broadcasts from axis 0 on.
class Spread {
 public:
  static Result<Spread> of(const QuantRecord& r, std::string_view name, const Shape& to) {
    const Literal* arg = r.find(name);
    const auto extents = arg ? literal_extents(*arg) : std::nullopt;
    if (!extents || !broadcasts_to(*extents, Ints(to.begin(), to.end())))
      return failure(Code::invalid_model,
                     "Q8: quantisation of '{}': argument '{}' is missing or does "
                     "not broadcast to {}",
                     r.tensor, name, to.text());
    Spread out;
    flatten(*arg, out.values_);
    int64_t inner = 1;
    for (int64_t axis = to.rank() - 1; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      if (at < extents->size() && (*extents)[at] != 1) out.steps_.push_back({inner, to[axis], 0});
      inner *= to[axis];
    }
    int64_t stride = 1;
    for (Step& s : out.steps_) s.stride = stride, stride *= s.extent;
    out.run_ = out.steps_.empty() ? inner : out.steps_.front().inner;
    return out;
  }
  double operator[](int64_t i) const {
    int64_t at = 0;
    for (const Step& s : steps_) at += i / s.inner % s.extent * s.stride;
    return values_[static_cast<size_t>(at)];
  }
  /// How many elements in a row have the same value; the runs of two parameters divide one another.
  int64_t run() const { return run_; }

 private:
  struct Step {
    int64_t inner, extent, stride;
  };
  std::vector<double> values_;
  std::vector<Step> steps_;
  int64_t run_ = 1;
};

/// floor(x + 0.5), the standard's rounding.
double half_up(double x) { return std::floor(x + 0.5); }

/// What the codes of one record stand for.
class CodeRule {
 public:
  static Result<CodeRule> of(const QuantRecord& r, uint32_t stored_bits, const Shape& shape) {
    CodeRule out;
    const int64_t bits = r.integer("bits", stored_bits);
    if (bits < 1 || bits > 32) return failure(Code::unsupported, "codes of {} bits; 1 to 32 are known", bits);
    out.bits_ = static_cast<uint32_t>(bits);
    out.signed_ = r.flag("signed");
    const bool symmetric = r.flag("symmetric");
    const double all = std::ldexp(1.0, static_cast<int>(bits)) - 1, half = std::ldexp(1.0, static_cast<int>(bits) - 1);
    std::string_view first, second;
    if (r.operation == "linear_quantize" || r.operation == "min_max_linear_quantize") {
      out.kind_ = Kind::range, first = "min", second = "max";
      out.steps_ = all - (out.signed_ && symmetric ? 1 : 0);
      out.low_ = out.signed_ ? (symmetric ? 1 : 0) - half : 0;
      out.high_ = out.low_ + out.steps_;
    } else if (r.operation == "zero_point_linear_quantize") {
      out.kind_ = Kind::zero_point, first = "zero_point", second = "scale";
      out.high_ = out.signed_ ? half - 1 : all;
      out.low_ = !out.signed_ ? 0 : symmetric ? -out.high_ : -half;
    } else if (r.operation == "logarithmic_quantize") {
      out.kind_ = Kind::logarithmic, first = second = "max";
      out.steps_ = out.high_ = all;
    } else {
      return failure(Code::unsupported, "what codes '{}' makes is not defined", r.operation);
    }
    NNEX_ASSIGN(out.a_, Spread::of(r, first, shape));
    NNEX_ASSIGN(out.b_, Spread::of(r, second, shape));
    out.run_ = std::min(out.a_.run(), out.b_.run());
    return out;
  }

  bool is_signed() const { return signed_; }
  bool logarithmic() const { return kind_ == Kind::logarithmic; }
  uint32_t bits() const { return bits_; }
  int64_t run() const { return run_; }
  double a(int64_t i) const { return a_[i]; }
  double b(int64_t i) const { return b_[i]; }

  float real(double q, double a, double b) const {
    switch (kind_) {
      case Kind::range:
        return static_cast<float>((q - low_) / steps_ * (b - a) + a);
      case Kind::zero_point:
        return static_cast<float>((q - a) * b);
      default:
        return static_cast<float>(std::exp2(q + std::ceil(std::log2(a)) - steps_));
    }
  }
  /// The nearest code; for rules that are linear.
  double code(double x, double a, double b) const {
    const double q = kind_ == Kind::range ? half_up((x - a) / (b - a) * steps_) + low_ : half_up(x / b) + a;
    return std::fmax(std::fmin(q, high_), low_);
  }

 private:
  enum class Kind : uint8_t { range, zero_point, logarithmic };
  Kind kind_ = Kind::range;
  bool signed_ = false;
  uint32_t bits_ = 8;
  double steps_ = 1, low_ = 0, high_ = 0;
  Spread a_, b_;
  int64_t run_ = 1;
};

/// Codes of one byte as reals, in [begin, end): of long runs of equal parameters by a table that is made for each.
void reals_of_bytes(const CodeRule& rule, const uint8_t* codes, bool is_signed, float* out, int64_t begin,
                    int64_t end) {
  constexpr int64_t kWorthATable = 512;
  const auto number = [&](int c) { return is_signed && c > 127 ? c - 256 : c; };
  float table[256];
  for (int64_t from = begin, to; from < end; from = to) {
    to = std::min(from - from % rule.run() + rule.run(), end);
    const double a = rule.a(from), b = rule.b(from);
    if (to - from < kWorthATable) {
      for (int64_t i = from; i < to; ++i) out[i] = rule.real(number(codes[i]), a, b);
      continue;
    }
    for (int c = 0; c < 256; ++c) table[c] = rule.real(number(c), a, b);
    for (int64_t i = from; i < to; ++i) out[i] = table[codes[i]];
  }
}

}  // namespace

Result<Tensor> reals_of_codes(const TensorFile& file, const QuantRecord& r) {
  NNEX_ASSIGN(const CodeRule rule, CodeRule::of(r, file.header.bits, file.header.shape));
  if (rule.logarithmic() && !file.header.is(StoredItem::quantized_unsigned))
    return failure(Code::unsupported, "the codes of '{}' are stored as {}; what '{}' makes of them is not defined",
                   r.tensor, file.header.text(), r.operation);
  NNEX_ASSIGN(Tensor codes, items(file));
  NNEX_ASSIGN(Tensor out, Tensor::make(DType::f32, file.header.shape));
  const auto to = out.mutable_as<float>();
  for_pieces(out.count(), [&](int64_t begin, int64_t end) {
    if (bits(codes.dtype()) == 8)
      return reals_of_bytes(rule, reinterpret_cast<const uint8_t*>(codes.data()), codes.dtype() == DType::i8, to.data(),
                            begin, end);
    for (int64_t i = begin; i < end; ++i)
      to[static_cast<size_t>(i)] = rule.real(static_cast<double>(int_at(codes, i)), rule.a(i), rule.b(i));
  });
  return out;
}

std::optional<Codes> codes_of_reals(const Tensor& reals, const QuantRecord& record) {
  if (reals.dtype() != DType::f32) return std::nullopt;
  auto found = CodeRule::of(record, 8, reals.shape());
  if (!found.ok() || found->logarithmic()) return std::nullopt;
  const CodeRule& rule = *found;
  constexpr DType kSigned[] = {DType::i8, DType::i16, DType::i32}, kUnsigned[] = {DType::u8, DType::u16, DType::u32};
  const size_t width = rule.bits() <= 8 ? 0 : rule.bits() <= 16 ? 1 : 2;
  auto codes = Tensor::make(rule.is_signed() ? kSigned[width] : kUnsigned[width], reals.shape());
  if (!codes.ok()) return std::nullopt;
  for (int64_t from = 0; from < reals.count(); from += rule.run()) {
    const double a = rule.a(from), b = rule.b(from);
    for (int64_t i = from; i < from + rule.run(); ++i) {
      const double x = real_at(reals, i), q = rule.code(x, a, b);
      if (!(static_cast<double>(rule.real(q, a, b)) == x)) return std::nullopt;
      set_int(*codes, i, static_cast<int64_t>(q));
    }
  }
  const StoredItem item = rule.is_signed() ? StoredItem::quantized_signed : StoredItem::quantized_unsigned;
  return Codes{*std::move(codes), {item, rule.bits()}};
}

}  // namespace nnex::nnef_format
