// CVM's own operators: exact integers, the formulas of cvm.md section 9 word for word in 64 bits.

#include "ops/cvm.h"

#include <algorithm>
#include <numeric>

#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"

namespace nnex {

int64_t cvm_overlap_percent(const int32_t* a, const int32_t* b) {
  // 128 bits hold every product of 33-bit differences; up to 30 bits of input the formula's 64 do.
  using Wide = __int128;
  const auto side = [](int32_t low, int32_t high) { return static_cast<Wide>(high) - low; };
  const Wide areas = side(a[0], a[2]) * side(a[1], a[3]) + side(b[0], b[2]) * side(b[1], b[3]);
  if (areas <= 0) return 0;
  const Wide w = std::max<Wide>(0, side(std::max(a[0], b[0]), std::min(a[2], b[2])));
  const Wide h = std::max<Wide>(0, side(std::max(a[1], b[1]), std::min(a[3], b[3])));
  const Wide common = w * h, both = areas - common;
  if (both <= 0) return 0;
  if (common > INT64_MAX / 100) return both < 100 ? 100 : static_cast<int64_t>(common / (both / 100));
  return static_cast<int64_t>(100 * common / both);
}

namespace {

constexpr Types kI32 = only(DType::i32);

Status check_bits(const InferCall& c, std::string_view what, int64_t n) {
  if (n < 1 || n > 32) return c.error("{} is {}; needed 1 to 32", what, n);
  return {};
}

int32_t clamped(int64_t x, int64_t bound) { return static_cast<int32_t>(std::clamp(x, -bound, bound)); }

/// y[i] = f(x[i]).
template <class F>
Status map_elements(Call& c, F f) {
  auto x = c.in<int32_t>(0);
  auto y = c.out<int32_t>(0);
  for (size_t i = 0; i < y.size(); ++i) y[i] = f(int64_t{x[i]});
  return {};
}

// ---- Clip and shifts

Status infer_clip(InferCall& c) {
  NNEX_TRY(check_bits(c, "precision", c.attr<CvmClipAttrs>().precision));
  return same_shape(c);
}

Status infer_shift(InferCall& c) {
  NNEX_TRY(check_bits(c, "precision", c.attr<CvmShiftAttrs>().precision));
  NNEX_TRY(check_bits(c, "shift_bit", c.attr<CvmShiftAttrs>().shift_bit));
  return same_shape(c);
}

Status run_clip(Call& c) {
  const int64_t bound = bound_of_bits(c.attr<CvmClipAttrs>().precision);
  return map_elements(c, [=](int64_t x) { return clamped(x, bound); });
}

Status run_right_shift(Call& c) {
  const auto& a = c.attr<CvmShiftAttrs>();
  const int64_t bound = bound_of_bits(a.precision), shift = a.shift_bit;
  return map_elements(c, [=](int64_t x) { return clamped(cvm_right_shifted(x, shift), bound); });
}

Status run_left_shift(Call& c) {
  const auto& a = c.attr<CvmShiftAttrs>();
  const int64_t bound = bound_of_bits(a.precision), factor = int64_t{1} << a.shift_bit;
  return map_elements(c, [=](int64_t x) { return clamped(x * factor, bound); });
}

Status clip_precision(PrecisionCall& c) {
  c.result(0, c.attr<CvmClipAttrs>().precision);
  return {};
}

Status shift_precision(PrecisionCall& c) {
  c.result(0, c.attr<CvmShiftAttrs>().precision);
  return {};
}

Status left_shift_precision(PrecisionCall& c) {
  const auto& a = c.attr<CvmShiftAttrs>();
  if (c.bits(0) + a.shift_bit > 32)
    return c.error("{} bits shifted by {} need {}; needed at most 32", c.bits(0), a.shift_bit, c.bits(0) + a.shift_bit);
  return shift_precision(c);
}

/// x between the limits of a precision, which may be one that no tensor has.
void clip_result(IntervalCall& c, int64_t precision, const Interval& x) {
  if (precision < 1 || precision > 32) return;
  const int64_t max = bound_of_bits(precision);
  c.result(clamped(x, -max, max));
}

void clip_interval(IntervalCall& c) {
  if (const auto x = c.in(0)) clip_result(c, c.attr<CvmClipAttrs>().precision, *x);
}

/// Both ends, shifted: neither way turns their order around.
template <class F>
void shift_interval(IntervalCall& c, F shifted) {
  const auto& a = c.attr<CvmShiftAttrs>();
  const auto x = c.in(0);
  if (!x || a.shift_bit < 1 || a.shift_bit > 32) return;
  clip_result(c, a.precision, {shifted(x->low, a.shift_bit), shifted(x->high, a.shift_bit)});
}

void right_shift_interval(IntervalCall& c) {
  shift_interval(c, [](int64_t x, int64_t bits) { return ((x >> (bits - 1)) + 1) >> 1; });
}

void left_shift_interval(IntervalCall& c) {
  shift_interval(c, [](int64_t x, int64_t bits) {
    const int64_t end = kIntervalLimit >> bits;
    return std::clamp(x, -end, end) * (int64_t{1} << bits);
  });
}

// ---- Digits

Status run_digits(Call& c) {
  return map_elements(
      c, [](int64_t x) { return x == 0 ? 1 : static_cast<int32_t>(digits(static_cast<uint64_t>(x < 0 ? -x : x))); });
}

Status digits_precision(PrecisionCall& c) {
  c.result(0, 6);
  return {};
}

void digits_interval(IntervalCall& c) {
  const auto x = c.in(0);
  if (!x) return;
  const auto digits_of = [](int64_t n) { return std::max<int64_t>(1, digits(static_cast<uint64_t>(n))); };
  c.result({digits_of(x->low > 0 ? x->low : x->high < 0 ? -x->high : 0), digits_of(x->magnitude())});
}

// ---- Detection

Status infer_valid_counts(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 3));
  if (!c.dims(0)) return c.result(0, c.unknowns(1)), c.result(1, c.unknowns(3)), Status{};
  const Dims& x = *c.dims(0);
  if (x[2].is_number() && (x[2].value() < 2 || x[2].value() > 31))
    return c.error("a row has {} numbers; needed 2 to 31", x[2].value());
  c.result(0, Dims{x[0]});
  c.result(1, x);
  return {};
}

Status run_valid_counts(Call& c) {
  const Shape& shape = c.shape(0);
  const int64_t rows = shape[1], width = shape[2], threshold = c.attr<ValidCountsAttrs>().score_threshold;
  const int32_t* x = c.in<int32_t>(0).data();
  int32_t* y = c.wants(1) ? c.out<int32_t>(1).data() : nullptr;
  if (y) std::fill_n(y, shape.count(), -1);
  for (int64_t b = 0; b < shape[0]; ++b) {
    int32_t count = 0;
    for (int64_t n = 0; n < rows; ++n) {
      const int32_t* row = x + (b * rows + n) * width;
      if (row[1] <= threshold) continue;
      if (y) std::copy_n(row, width, y + (b * rows + count) * width);
      ++count;
    }
    if (c.wants(0)) c.out<int32_t>(0)[static_cast<size_t>(b)] = count;
  }
  return {};
}

/// Rows of x among rows of -1, which one bit does not hold; upstream's rule forgets those.
int64_t filled_bits(const PrecisionCall& c) { return c.compatible() ? c.bits(0) : std::max<int64_t>(c.bits(0), 2); }

Status valid_counts_precision(PrecisionCall& c) {
  c.result(0, digits(static_cast<uint64_t>(c.shape(0)[1] * c.shape(0)[2] + 1)) + 1);
  c.result(1, filled_bits(c));
  return {};
}

void valid_counts_interval(IntervalCall& c) {
  const auto shape = c.shape(0);
  if (shape && shape->rank() == 3) c.result({0, (*shape)[1]});
  if (const auto x = c.in(0)) c.other_results(hull(*x, {-1, -1}));
}

Status infer_suppress(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 3));
  NNEX_TRY(need_rank(c, 1, 1));
  if (c.attr<CvmSuppressAttrs>().iou_threshold <= 0)
    return c.error("iou_threshold is {}; needed more than 0", c.attr<CvmSuppressAttrs>().iou_threshold);
  if (c.dims(0)) NNEX_TRY(meet(c, (*c.dims(0))[2], Dim(6), "numbers of a row"));
  if (c.dims(0) && c.dims(1)) NNEX_TRY(meet(c, (*c.dims(1))[0], (*c.dims(0))[0], "batches of count"));
  return same_shape(c);
}

/// One batch: rows {id, score, x1, y1, x2, y2}; those kept go to y, which is all -1.
void suppress(const CvmSuppressAttrs& a, const int32_t* x, int64_t rows, int32_t* y) {
  const int64_t max = a.max_output_size < 0 ? rows : std::min(rows, a.max_output_size);
  const int64_t visited = a.top_k < 0 ? rows : std::min(rows, a.top_k);
  std::vector<int64_t> order(static_cast<size_t>(rows));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) { return x[p * 6 + 1] > x[q * 6 + 1]; });
  int64_t kept = 0;
  for (int64_t i = 0; i < visited && kept < max; ++i) {
    const int32_t* row = x + order[static_cast<size_t>(i)] * 6;
    if (row[0] < 0) continue;
    bool drop = false;
    for (int64_t k = 0; k < kept && !drop; ++k) {
      const int32_t* other = y + k * 6;
      drop = (a.force_suppress || other[0] == row[0]) && cvm_overlap_percent(other + 2, row + 2) >= a.iou_threshold;
    }
    if (!drop) std::copy_n(row, 6, y + kept++ * 6);
  }
}

Status run_suppress(Call& c) {
  const auto& a = c.attr<CvmSuppressAttrs>();
  const Shape& shape = c.shape(0);
  auto y = c.out<int32_t>(0);
  std::fill(y.begin(), y.end(), -1);
  for (int64_t b = 0; b < shape[0]; ++b) {
    const int64_t rows = std::clamp<int64_t>(c.in<int32_t>(1)[static_cast<size_t>(b)], 0, shape[1]);
    suppress(a, c.in<int32_t>(0).data() + b * shape[1] * 6, rows, y.data() + b * shape[1] * 6);
  }
  return {};
}

/// Differences of 31-bit coordinates and products of those leave 64 bits.
Status suppress_precision(PrecisionCall& c) {
  if (!c.compatible() && c.bits(0) > 30) return c.error("x has {} bits; needed at most 30", c.bits(0));
  c.result(0, filled_bits(c));
  return {};
}

/// Coordinates are subtracted from one another.
void suppress_interval(IntervalCall& c) {
  if (const auto x = c.in(0)) c.result(hull(*x, {-1, -1}), x->high - x->low);
}

// ---- Entries

constexpr AttrType kShiftFields =
    attrs_of<CvmShiftAttrs>({field<&CvmShiftAttrs::precision>("precision", "Bits of the result, 1 to 32.", required),
                             field<&CvmShiftAttrs::shift_bit>("shift_bit", "Bits shifted by, 1 to 32.", required),
                             field<&CvmShiftAttrs::is_sign>("is_sign", "Kept; without effect.")});

constexpr OpRow kCvmOps[] = {
    {.name = "cvm_clip",
     .summary = "x, but not beyond +-(2^(precision-1) - 1).",
     .source = "CVM cvm_clip",
     .inputs = {{"x", kI32}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs =
         attrs_of<CvmClipAttrs>({field<&CvmClipAttrs::precision>("precision", "Bits of the result, 1 to 32.", required),
                                 field<&CvmClipAttrs::is_sign>("is_sign", "Kept; without effect.")}),
     .infer = infer_clip,
     .precision = clip_precision,
     .interval = clip_interval,
     .reference = typed<int32_t>([]<class T>(Call& c) -> Status { return run_clip(c); }),
     .spelled = {{cvm, "cvm_clip"}},
     .elementwise = true},
    {.name = "cvm_right_shift",
     .summary = "x / 2^shift_bit, halves rounded up, then not beyond +-(2^(precision-1) - 1).",
     .source = "CVM cvm_right_shift",
     .inputs = {{"x", kI32}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kShiftFields,
     .infer = infer_shift,
     .precision = shift_precision,
     .interval = right_shift_interval,
     .reference = typed<int32_t>([]<class T>(Call& c) -> Status { return run_right_shift(c); }),
     .spelled = {{cvm, "cvm_right_shift"}},
     .elementwise = true},
    {.name = "cvm_left_shift",
     .summary = "x 2^shift_bit, then not beyond +-(2^(precision-1) - 1).",
     .source = "CVM cvm_left_shift",
     .inputs = {{"x", kI32}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = kShiftFields,
     .infer = infer_shift,
     .precision = left_shift_precision,
     .interval = left_shift_interval,
     .reference = typed<int32_t>([]<class T>(Call& c) -> Status { return run_left_shift(c); }),
     .spelled = {{cvm, "cvm_left_shift"}},
     .elementwise = true},
    {.name = "cvm_precision",
     .summary = "Binary digits of the magnitude of x; 1 for 0.",
     .source = "CVM cvm_precision",
     .inputs = {{"x", kI32}},
     .outputs = {{"y", same_type_as("x")}},
     .infer = same_shape,
     .precision = digits_precision,
     .interval = digits_interval,
     .reference = typed<int32_t>([]<class T>(Call& c) -> Status { return run_digits(c); }),
     .spelled = {{cvm, "cvm_precision"}},
     .elementwise = true},
    {.name = "get_valid_counts",
     .summary = "Rows whose second number is above a threshold, moved to the front; how many there are; -1 elsewhere.",
     .source = "CVM get_valid_counts",
     .inputs = {{.name = "x", .type = kI32, .doc = "[batch, rows, 2 to 31 numbers]"}},
     .outputs = {{"count", same_type_as("x")}, {"y", same_type_as("x")}},
     .attrs = attrs_of<ValidCountsAttrs>(
         {field<&ValidCountsAttrs::score_threshold>("score_threshold", "Scores above it count.")}),
     .infer = infer_valid_counts,
     .precision = valid_counts_precision,
     .interval = valid_counts_interval,
     .reference = typed<int32_t>([]<class T>(Call& c) -> Status { return run_valid_counts(c); }),
     .spelled = {{cvm, "get_valid_counts"}}},
    {.name = "cvm_non_max_suppression",
     .summary = "Of rows that overlap, the one with the highest score, by integer percent; -1 elsewhere.",
     .source = "CVM non_max_suppression",
     .inputs = {{.name = "x", .type = kI32, .doc = "[batch, rows, 6]: id, score, x1, y1, x2, y2"},
                {.name = "count", .type = kI32, .doc = "Rows of each batch that count."}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<CvmSuppressAttrs>(
         {field<&CvmSuppressAttrs::iou_threshold>("iou_threshold", "Percent of overlap from which a row is dropped."),
          field<&CvmSuppressAttrs::max_output_size>("max_output_size", "Rows kept at most; negative: all."),
          field<&CvmSuppressAttrs::top_k>("top_k", "Rows looked at, highest scores first; negative: all."),
          field<&CvmSuppressAttrs::force_suppress>("force_suppress", "Rows of other ids suppress, too.")}),
     .infer = infer_suppress,
     .precision = suppress_precision,
     .interval = suppress_interval,
     .reference = typed<int32_t>([]<class T>(Call& c) -> Status { return run_suppress(c); }),
     .spelled = {{cvm, "non_max_suppression"}}},
};
}  // namespace

std::span<const OpDef> cvm_ops() { return stored<kCvmOps>(); }

}  // namespace nnex
