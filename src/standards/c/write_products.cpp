// Products of matrices, and convolutions.

#include <algorithm>

#include "base/joined.h"
#include "nnex/elements.h"
#include "ops/conv.h"
#include "ops/deconv.h"
#include "ops/einsum.h"
#include "ops/matmul.h"
#include "ops/product.h"
#include "ops/strided.h"
#include "standards/c/geometry.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

constexpr int64_t kTile = 16;  ///< Columns that are computed at a time (write_library.cpp).

bool has_products(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::i32 || type == DType::i64;
}

// ---- Products

/// Matrices of a constant in the order that the library's product reads them, [tile][row][column of the tile], and what
/// is read beyond the last row.
Tensor packed(const Tensor& b, int64_t matrices, int64_t k, int64_t n, const MatrixSteps& steps) {
  const auto bytes = static_cast<size_t>(width(b.dtype()));
  auto made = Tensor::make(b.dtype(), {matrices * n * k + kTile});
  NNEX_ASSERT(made.ok());
  std::byte* to = made->mutable_data();
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t j = 0; j < n; j += kTile)
      for (int64_t i = 0; i < k; ++i)
        for (int64_t c = j; c < std::min(j + kTile, n); ++c, to += bytes) {
          const int64_t at = m * k * n + i * steps.row + c * steps.column;
          std::copy_n(b.data() + static_cast<size_t>(at) * bytes, bytes, to);
        }
  std::fill_n(to, bytes * kTile, std::byte{0});
  return std::move(*made);
}

Shape without_matrices(const Shape& s) {
  return s.rank() <= 2 ? Shape{} : Shape(std::span<const int64_t>(s.begin(), s.begin() + (s.rank() - 2)));
}

/// y = a b, by matrices of the batch.
void write_product(StepWriter& w, bool transpose_a, bool transpose_b) {
  const Shape a = w.x(0), b = w.x(1);
  const DType type = w.x_type();
  const Product p(a, b, transpose_a, transpose_b);
  const Shape a_batch = without_matrices(a), b_batch = without_matrices(b);
  const Shape batch = broadcast(a_batch, b_batch).value_or(Shape{});
  const std::string product = w.need("product", type), out = w.out(), in = w.in(0);
  Ints a_steps = broadcast_steps(a_batch, batch), b_steps = broadcast_steps(b_batch, batch);
  Ints y_steps = row_major_strides(batch);
  for (size_t i = 0; i < y_steps.size(); ++i) a_steps[i] *= p.m * p.k, y_steps[i] *= p.m * p.n;
  const Tensor* constant = w.constant(1);
  const auto call = [&](const std::string& from, const std::string& matrix, const std::string& to) {
    w.body().line("{}({}, {}, {}, {}, {}, {}, {}, {});", product, p.m, p.k, p.n, from, p.a_steps.row, p.a_steps.column,
                  matrix, to);
  };
  const auto sum = [](const std::string& pointer, const std::string& offset) {
    return offset == "0" ? pointer : fmt::format("{} + {}", pointer, offset);
  };
  if (constant) {
    for (int64_t& s : b_steps) s *= p.k * p.n;
    const std::string name = w.graph()[w.node().in[1]].name;
    const std::string table = w.table(packed(*constant, b_batch.count(), p.k, p.n, p.b_steps), name);
    Nest(batch, {{in, a_steps}, {table, b_steps}, {out, y_steps}}).places(w.body(), [&](const auto& at) {
      call(sum(in, at[0]), sum(table, at[1]), sum(out, at[2]));
    });
    return;
  }
  for (int64_t& s : b_steps) s *= p.k * p.n;
  const std::string second = w.in(1), matrix = w.scratch(type, p.k * p.n + kTile), pack = w.need("pack", type);
  Nest(batch, {{in, a_steps}, {second, b_steps}, {out, y_steps}}).places(w.body(), [&](const auto& at) {
    w.body().line("{}({}, {}, {}, {}, {}, {});", pack, p.k, p.n, sum(second, at[1]), p.b_steps.row, p.b_steps.column,
                  matrix);
    call(sum(in, at[0]), matrix, sum(out, at[2]));
  });
}

bool fits_product(StepWriter& w) {
  if (has_products(w.x_type())) return true;
  w.refuse(fmt::format("{}: of {}", w.row(), name(w.x_type())));
  return false;
}

void write_matmul(StepWriter& w) {
  const auto& a = w.attr<MatmulAttrs>();
  if (fits_product(w)) write_product(w, a.transpose_a, a.transpose_b);
}

void write_linear(StepWriter& w) {
  const auto& a = w.attr<LinearAttrs>();
  if (!fits_product(w)) return;
  const DType type = w.x_type();
  if (!is_float(type) && (a.alpha != 1 || a.beta != 1)) return w.refuse("linear: integers with factors");
  write_product(w, a.transpose_a, a.transpose_b);
  const std::string out = w.out();
  if (!w.given(2)) {
    if (a.alpha != 1)
      w.body().line("for (long i = 0; i < {}; ++i) {}[i] *= {};", w.y().count(), out, literal(a.alpha, type));
    return;
  }
  const Shape y = w.y();
  const std::string bias = w.in(2);
  const std::string alpha = a.alpha == 1 ? "" : literal(a.alpha, type) + " * ";
  const std::string beta = a.beta == 1 ? "" : literal(a.beta, type) + " * ";
  Nest(y, {{out, row_major_strides(y)}, {bias, broadcast_steps(w.x(2), y)}}).write(w.body(), [&](const auto& at) {
    if (is_float(type))
      w.body().line("{0} = {1}{0} + {2}{3};", at[0], alpha, beta, at[1]);
    else
      w.body().line("{0} = ({1})((u{1}){0} + (u{1}){2});", at[0], c_type(type), at[1]);
  });
}

void write_einsum(StepWriter& w) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < w.node().in.size(); ++i) shapes.push_back(w.x(i));
  const auto loops = einsum_loops(w.attr<EinsumAttrs>().equation, shapes);
  const DType type = w.x_type();
  if (!loops.ok()) return w.refuse(loops.error().message());
  if (!is_float(type)) return w.refuse(fmt::format("einsum: of {}", name(type)));
  const auto nest = [&](const std::vector<EinsumLoop>& of, std::vector<int64_t>& extents, std::vector<Ints>& steps) {
    for (const EinsumLoop& l : of) {
      extents.push_back(l.extent);
      for (size_t i = 0; i < steps.size(); ++i) steps[i].push_back(l.step[i]);
    }
  };
  std::vector<int64_t> kept, gone;
  std::vector<Ints> outer(shapes.size()), inner(shapes.size());
  nest(loops->result, kept, outer), nest(loops->summed, gone, inner);
  std::vector<Access> reads;
  for (size_t i = 0; i < shapes.size(); ++i) reads.push_back({w.in(i), outer[i]});
  reads.push_back({w.out(), row_major_strides(Shape(kept))});
  Nest(Shape(kept), reads).places(w.body(), [&](const auto& at) {
    std::vector<Access> terms;
    for (size_t i = 0; i < shapes.size(); ++i) {
      w.body().line("const {} *const x{} = {} + {};", c_type(type), i, w.in(i), at[i]);
      terms.push_back({fmt::format("x{}", i), inner[i]});
    }
    w.body().line("{} sum = 0;", c_type(type));
    Nest(Shape(gone), terms, "r").write(w.body(), [&](const auto& factors) {
      w.body().line("sum += {};", joined(factors, " * "));
    });
    w.body().line("{}[{}] = sum;", w.out(), at.back());
  });
}

// ---- Convolutions

void write_conv(StepWriter& w) {
  const auto& a = w.attr<ConvAttrs>();
  const Shape x = w.x(), filter = w.x(1);
  const DType type = w.x_type();
  if (!fits_product(w)) return;
  const auto g = ConvGeometry::of(a, x, filter);
  if (!g.ok()) return w.refuse(g.error().message());
  if (g->windows.size() > 3) return w.refuse(fmt::format("conv: over {} axes; needed 1 to 3", g->windows.size()));
  const bool padded = std::any_of(g->windows.begin(), g->windows.end(),
                                  [](const AxisWindow& v) { return v.before != 0 || v.after != 0; });
  if (padded && a.border != ConvBorder::constant) return w.refuse("conv: a border other than zeros");
  if (a.channels_last) return w.refuse("conv: channels last");
  const int64_t channels = g->taken, filters = g->per_group;
  const bool each = channels == 1 && filters == 1;
  const std::string function = w.need(each ? "conv_each" : "conv", type);
  w.body().line("static const struct window window = {};", geometry(x[0], a.groups, channels, filters, g->windows));
  const std::string in = w.in(0), weights = w.in(1), bias = w.given(2) ? w.in(2) : "0", out = w.out();
  if (each) return w.body().line("{}(&window, {}, {}, {}, {});", function, in, weights, bias, out);
  w.body().line("{}(&window, {}, {}, {}, {}, {});", function, in, weights, bias, out,
                w.scratch(type, channels * g->taps() * kTile));
}

void write_deconv(StepWriter& w) {
  const auto& a = w.attr<DeconvAttrs>();
  const Shape x = w.x(), filter = w.x(1);
  if (a.border != ConvBorder::constant) return w.refuse("deconv: a border other than zeros");
  if (a.channels_last) return w.refuse("deconv: channels last");
  const auto windows = reverse_windows(a, x, filter);
  if (!windows.ok()) return w.refuse(windows.error().message());
  if (windows->size() > 3) return w.refuse(fmt::format("deconv: over {} axes; needed 1 to 3", windows->size()));
  const std::string function = w.need("conv_back", w.x_type());
  w.body().line("static const struct window window = {};",
                geometry(x[0], a.groups, x[1] / a.groups, filter[1], *windows));
  w.body().line("{}(&window, {}, {}, {}, {});", function, w.in(0), w.in(1), w.given(2) ? w.in(2) : "0", w.out());
}

constexpr RowEntry kProductRows[] = {
    {"matmul", write_matmul}, {"linear", write_linear}, {"einsum", write_einsum},
    {"conv", write_conv},     {"deconv", write_deconv},
};

}  // namespace

std::string geometry(int64_t batch, int64_t groups, int64_t channels, int64_t filters,
                     const std::vector<AxisWindow>& windows) {
  const auto list = [&](int64_t AxisWindow::*member, int64_t otherwise) {
    std::string text(windows.size() < 3 ? fmt::format("{}, ", otherwise) : "");
    if (windows.size() < 2) text += fmt::format("{}, ", otherwise);
    if (windows.empty()) return text + std::to_string(otherwise);
    for (size_t i = 0; i < windows.size(); ++i) text += fmt::format("{}{}", i ? ", " : "", windows[i].*member);
    return text;
  };
  return fmt::format("{{{}, {}, {}, {}, {{{}}}, {{{}}}, {{{}}}, {{{}}}, {{{}}}, {{{}}}}}", batch, groups, channels,
                     filters, list(&AxisWindow::input, 1), list(&AxisWindow::output, 1), list(&AxisWindow::size, 1),
                     list(&AxisWindow::stride, 1), list(&AxisWindow::dilation, 1), list(&AxisWindow::before, 0));
}

std::span<const RowEntry> product_rows() { return kProductRows; }

}  // namespace nnex::c_format
