// Products of codes, as they are stored: sums of int32.

#include "nnex/elements.h"
#include "ops/conv.h"
#include "ops/product.h"
#include "standards/c/geometry.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

constexpr int64_t kBlock = 4;   ///< Rows of x that meet a column at a time.
constexpr int64_t kChunk = 16;  ///< Codes that compilers multiply at a time: as loops of a known length.

/// A filter's codes less their zero points, `rows` for each sum, in bytes where they fit: [columns][rows]. Of a matrix,
/// [rows][columns], the columns.
Tensor centred(const Tensor& codes, const Tensor* zeros, int64_t columns, int64_t rows, bool matrix) {
  std::vector<int64_t> values(static_cast<size_t>(columns * rows));
  bool small = true;
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t zero = zeros ? int_at(*zeros, zeros->count() == 1 ? 0 : c) : 0;
      const int64_t v = int_at(codes, matrix ? r * columns + c : c * rows + r) - zero;
      values[static_cast<size_t>(c * rows + r)] = v;
      small &= v >= INT8_MIN && v <= INT8_MAX;
    }
  Tensor out = std::move(*Tensor::make(small ? DType::i8 : DType::i16, {columns, rows}));
  for (size_t i = 0; i < values.size(); ++i) set_int(out, static_cast<int64_t>(i), values[i]);
  return out;
}

/// The zero point of x: a number, or where it is read.
std::string zero_of(StepWriter& w) {
  if (!w.given(2)) return "0";
  const Tensor* known = w.constant(2);
  return known ? std::to_string(int_at(*known, 0)) : w.in(2) + "[0]";
}

std::string filter_of(StepWriter& w, int64_t columns, int64_t rows, bool matrix, DType& type) {
  Tensor t = centred(*w.constant(1), w.constant(3), columns, rows, matrix);
  type = t.dtype();
  return w.table(std::move(t), w.graph()[w.node().in[1]].name);
}

/// The results of `block` rows of k centred codes in `rows`, `used` of which count, and a column of the filter.
/// `place`: of row c's result.
void write_dots(StepWriter& w, int64_t block, int64_t k, std::string_view codes_type, const std::string& codes,
                const std::string& rows, const std::string& used, const std::string& place, const std::string& column) {
  Text& b = w.body();
  const int64_t whole = k - k % kChunk, half = whole + (k - whole) / (kChunk / 2) * (kChunk / 2);
  b.line("const {} *const codes = {} + ({}) * {};", codes_type, codes, column, k);
  std::string sums;
  for (int64_t c = 0; c < block; ++c) {
    b.line("int32_t s{} = 0;", c);
    sums += fmt::format("{}s{}", c ? ", " : "", c);
  }
  for (const auto& [from, to] : {std::pair(int64_t{0}, whole), std::pair(whole, half), std::pair(half, k)}) {
    if (from == to) continue;
    b.open("for (long i = {}; i < {}; ++i)", from, to);
    b.line("const int16_t v = codes[i];");
    for (int64_t c = 0; c < block; ++c) b.line("s{} += v * {}[i + {}];", c, rows, c * k);
    b.close();
  }
  if (block == 1) return w.result({"s0", fmt::format(fmt::runtime(place), "0"), column});
  b.line("const int32_t sums[{}] = {{{}}};", block, sums);
  b.open("for (long c = 0; c < {}; ++c)", used);
  w.result({"sums[c]", fmt::format(fmt::runtime(place), "c"), column});
  b.close();
}

void write_conv_integer(StepWriter& w) {
  const auto& a = w.attr<ConvAttrs>();
  const Shape x = w.x();
  const auto g = ConvGeometry::of(a, x, w.x(1));
  if (!g.ok()) return w.refuse(g.error().message());
  const int64_t channels = g->taken, filters = g->per_group, k = channels * g->taps();
  int64_t plane = 1, places = 1;
  for (const AxisWindow& v : g->windows) plane *= v.input, places *= v.output;
  const int64_t block = std::min(kBlock, places);
  const std::string read = w.need("codes_row", w.x_type()), in = w.in(), zero = zero_of(w);
  DType type = DType::none;
  const std::string codes = filter_of(w, filters * a.groups, k, false, type), rows = w.scratch(DType::i16, block * k);
  Text& b = w.body();
  b.line("static const struct window window = {};", geometry(x[0], a.groups, channels, filters, g->windows));
  b.open("for (long n = 0; n < {}; ++n)", x[0] * a.groups);
  b.open("for (long p = 0; p < {}; p += {})", places, block);
  b.line("const long used = {0} - p < {1} ? {0} - p : {1};", places, block);
  b.open("for (long c = 0; c < {}; ++c)", block);
  b.line("{}(&window, {} + n * {}, {}, p + (c < used ? c : 0), {} + c * {});", read, in, channels * plane, zero, rows,
         k);
  b.close();
  b.open("for (long m = 0; m < {}; ++m)", filters);
  write_dots(w, block, k, c_type(type), codes, rows, "used",
             fmt::format("(n * {} + m) * {} + p + {{}}", filters, places),
             a.groups == 1 ? "m" : fmt::format("n % {} * {} + m", a.groups, filters));
  for (int i = 0; i < 3; ++i) b.close();
}

void write_matmul_integer(StepWriter& w) {
  const Shape y = w.x(1);
  const int64_t k = y[0], n = y[1], m = n == 0 ? 0 : w.y().count() / n, block = std::min(kBlock, m);
  const std::string in = w.in(), zero = zero_of(w);
  DType type = DType::none;
  const std::string codes = filter_of(w, n, k, true, type), rows = w.scratch(DType::i16, block * k);
  Text& b = w.body();
  b.open("for (long p = 0; p < {}; p += {})", m, block);
  b.line("const long used = {0} - p < {1} ? {0} - p : {1};", m, block);
  b.open("for (long c = 0; c < {}; ++c)", block);
  b.line("for (long i = 0; i < {0}; ++i) {1}[c * {0} + i] = (int16_t)({2}[(p + (c < used ? c : 0)) * {0} + i] - {3});",
         k, rows, in, zero);
  b.close();
  b.open("for (long j = 0; j < {}; ++j)", n);
  write_dots(w, block, k, c_type(type), codes, rows, "used", fmt::format("(p + {{}}) * {} + j", n), "j");
  b.close();
  b.close();
}

constexpr RowEntry kCodeRows[] = {
    {.name = "conv_integer", .write = write_conv_integer, .column_axis = 1},
    {.name = "matmul_integer", .write = write_matmul_integer, .column_axis = -1},
};

}  // namespace

std::span<const RowEntry> code_rows() { return kCodeRows; }

}  // namespace nnex::c_format
