// Matrix products: of rows and a constant, packed once, or of two activations.

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "kernels/fused.h"
#include "kernels/product/codes.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm.h"
#include "kernels/product/matrices.h"
#include "ops/matmul.h"

namespace nnex::kernels {
namespace {

/// What linear adds to its product: factor * input.
struct Addend {
  enum class Form : uint8_t { none, row, matrix, column };
  int input = -1;
  Form form = Form::none;
  bool one_number = false;  ///< Of a column: the same for every row.
  float factor = 1;
};

/// Which matrices a product has, and where.
struct Operands {
  BatchGemm products;
  bool swapped = false;  ///< What multiplies from the left is the node's second input.
  Packs::Bytes packed;   ///< The right side, where it is constant.
  std::vector<int> packed_inputs;
  std::optional<CodeColumns> codes;  ///< What `packed` is, where it is not floats.
};

class ProductKernel : public Kernel {
 public:
  ProductKernel(const simd::Loops& loops, Operands of, const EpilogueSpec& spec, const Addend& addend)
      : loops_(loops), of_(std::move(of)), spec_(spec), addend_(addend) {
    if (addend_.form == Addend::Form::column) column_ = round_up(rows() * 4, 64);
  }

  bool packed(size_t input) const override {
    const auto& all = of_.packed_inputs;
    const int i = static_cast<int>(input);
    return std::find(all.begin(), all.end(), i) != all.end() && !spec_.reads(i) && addend_.input != i;
  }
  int64_t workspace() const override {
    if (of_.codes) return column_ + unpacked_floats(usable_threads()) * 4;
    return column_ + gemm_batch_workspace(loops_, of_.products, usable_threads());
  }

  Status run(Call& c) const override {
    BatchGemm g = of_.products;
    const auto operand = [&](int input) { return c.in<float>(static_cast<size_t>(input)).data(); };
    g.one.a = operand(of_.swapped ? spec_.constant : spec_.x);
    if (of_.codes)
      g.one.codes = &*of_.codes, g.one.unpacked = reinterpret_cast<float*>(c.workspace + column_);
    else
      g.one.b = of_.packed ? reinterpret_cast<const float*>(of_.packed.get())
                           : operand(of_.swapped ? spec_.x : spec_.constant);
    g.one.c = c.out<float>(0).data();
    const float scale = g.one.end.scale;
    g.one.end = spec_.epilogue(c, g.one.n);
    g.one.end.scale = scale;
    add(c, g.one.end);
    if (of_.swapped) turn(g.one.end);
    gemm_batch(loops_, *c.team, g, c.workspace + column_);
    return {};
  }

 private:
  int64_t rows() const { return of_.swapped ? of_.products.one.n : of_.products.one.m; }

  void add(Call& c, Epilogue& end) const {
    if (addend_.form == Addend::Form::none) return;
    const float* const x = c.in<float>(static_cast<size_t>(addend_.input)).data();
    if (addend_.form == Addend::Form::column) {
      auto* const column = reinterpret_cast<float*>(c.workspace);
      for (int64_t i = 0; i < rows(); ++i) column[i] = addend_.factor * x[addend_.one_number ? 0 : i];
      end.row_bias = column;
      return;
    }
    end.residual = x;
    end.residual_stride = addend_.form == Addend::Form::row ? 0 : of_.products.one.n;
    end.residual_scale = addend_.factor;
  }

  /// The epilogue of a row of results as that of a column.
  static void turn(Epilogue& end) {
    std::swap(end.bias, end.row_bias);
    end.residual_stride = 1;
  }

  const simd::Loops& loops_;
  Operands of_;
  EpilogueSpec spec_;
  Addend addend_;
  int64_t column_ = 0;  ///< Bytes of the addend as a column.
};

/// A row times b whose columns lie as rows: those rows times a column, so that nothing is packed but the row.
void swap_sides(Operands& of) {
  BatchGemm& g = of.products;
  const Gemm one = g.one;
  g.one.m = one.n, g.one.n = 1;
  g.one.a_row_stride = g.b_col_stride, g.one.a_col_stride = g.b_row_stride;
  g.b_row_stride = one.a_col_stride, g.b_col_stride = 1;
  g.one.c_row_stride = 1;
  for (BatchAxis& axis : g.axes) std::swap(axis.a, axis.b);
  of.swapped = true;
}

/// A right side that a region makes of codes.
struct CodeSource {
  const KernelRequest& region;
  const FusedCodes& w;
  Operand in(int i) const { return i < 0 ? Operand{} : region.in[static_cast<size_t>(i)]; }
};

/// As floats a matrix of few weights stays in the second level cache, and takes less work.
constexpr int64_t kFewWeights = 64 * 1024;

/// Packs it; whether there is a form for it.
Result<bool> take_codes(const CodeSource& from, bool transposed, Operands& of) {
  const KernelRequest& r = from.region;
  const FusedCodes& w = from.w;
  const Operand codes = from.in(w.codes), scale = from.in(w.scale), zero = from.in(w.zero), book = from.in(w.codebook);
  const bool halves = w.scale < 0;
  const Operand& beside = book.given() ? book : zero;
  if (!codes.constant || (!halves && !scale.constant) || (beside.given() && !beside.constant) ||
      !of.products.axes.empty())
    return false;
  const Shape* const zeros = zero.given() ? &zero.shape : nullptr;
  auto shape = halves ? CodeShape::of_halves(codes.dtype, codes.shape, transposed)
                      : CodeShape::of(codes.dtype, codes.shape, scale.shape, zeros, w.axis, w.block_size, transposed);
  if (!shape) return false;
  if (book.given() &&
      (zero.given() || codes.dtype != DType::u4 || book.dtype != DType::f32 || book.shape.count() != 16))
    return false;
  shape->codebook = book.given();
  const CodeColumns columns(r.loops, *shape, zero.constant, nullptr);
  const std::string key = fmt::format("{} {} {} {}", pack_key(transposed ? "codes transposed" : "codes", r, codes),
                                      halves ? 0 : scale.id, beside.given() ? beside.id : 0, shape->block);
  const auto pack = [&](std::byte* to) {
    halves ? columns.pack(r.team, *codes.constant, to)
           : columns.pack(r.team, *codes.constant, *scale.constant, beside.constant, to);
  };
  of.packed_inputs = {w.codes, w.scale, w.zero, w.codebook};
  of.products.packed = true;
  if (shape->k * shape->n > kFewWeights) {
    NNEX_ASSIGN(of.packed, r.packs.get(key, columns.bytes(), pack));
    of.codes.emplace(r.loops, *shape, zero.constant, of.packed.get());
    return true;
  }
  const int64_t floats = packed_floats(r.loops, shape->k, shape->n);
  NNEX_ASSIGN(of.packed, r.packs.get(key, floats * 4, [&](std::byte* to) {
    std::vector<uint32_t> packed(static_cast<size_t>(columns.bytes() / 4));
    pack(reinterpret_cast<std::byte*>(packed.data()));
    CodeColumns(r.loops, *shape, zero.constant, reinterpret_cast<const std::byte*>(packed.data()))
        .unpack(r.loops, reinterpret_cast<float*>(to));
  }));
  return true;
}

Result<std::unique_ptr<Kernel>> product_kernel(const KernelRequest& r, BatchGemm g, bool b_transposed,
                                               const EpilogueSpec& spec, const Addend& addend,
                                               const CodeSource* codes) {
  const Operand& w = r.in[1];
  Operands of;
  of.products = std::move(g);
  if (codes) {
    NNEX_ASSIGN(const bool taken, take_codes(*codes, b_transposed, of));
    return taken ? made<ProductKernel>(r.loops, std::move(of), spec, addend) : nullptr;
  }
  if (!w.constant) {
    if (of.products.one.m == 1 && b_transposed && w.shape.rank() > 1) swap_sides(of);
    return made<ProductKernel>(r.loops, std::move(of), spec, addend);
  }
  BatchGemm& p = of.products;
  const int64_t floats = round_up(packed_floats(r.loops, p.one.k, p.one.n), 16), step = p.one.k * p.one.n;
  const int64_t count = w.shape.count() / step;
  const std::string key = pack_key(b_transposed ? "gemm transposed" : "gemm", r, w);
  NNEX_ASSIGN(of.packed, r.packs.get(key, count * floats * 4, [&](std::byte* to) {
    for (int64_t i = 0; i < count; ++i)
      pack_constant_b(r.loops, r.team, w.constant->owner(), w.constant->data() + i * step * 4, p.one.k, p.one.n,
                      p.b_row_stride, p.b_col_stride, reinterpret_cast<float*>(to) + i * floats);
  }));
  p.packed = true;
  of.packed_inputs = {spec.constant};
  for (BatchAxis& axis : p.axes) axis.b = axis.b / step * floats;
  return made<ProductKernel>(r.loops, std::move(of), spec, addend);
}

/// How linear's third input meets the product [m, n]; nothing where the epilogue has no room for it.
std::optional<Addend> addend_of(const KernelRequest& r, int64_t m, int64_t n, EpilogueSpec& spec) {
  if (!r.has(2)) return Addend{};
  const auto& a = r.attr<LinearAttrs>();
  const Shape& s = r.in[2].shape;
  const int64_t rows = s.rank() > 1 ? s[s.rank() - 2] : 1, columns = s.rank() > 0 ? s[s.rank() - 1] : 1;
  if (columns == n && rows == 1 && a.beta == 1) return Addend{};  // spec.bias
  Addend addend{spec.bias, Addend::Form::column, s.count() == 1, static_cast<float>(a.beta)};
  if (columns == n && s.count() > 1) addend.form = rows == m && m > 1 ? Addend::Form::matrix : Addend::Form::row;
  spec.bias = -1;
  if (addend.form != Addend::Form::column && spec.residual >= 0) return std::nullopt;
  return addend;
}

Result<std::unique_ptr<Kernel>> linear_kernel(const KernelRequest& r, EpilogueSpec spec,
                                              const CodeSource* codes = nullptr) {
  const auto& a = r.attr<LinearAttrs>();
  const Shape &x = r.in[0].shape, &w = r.in[1].shape;
  if (!r.all_f32() || x.rank() != 2 || w.rank() != 2 || x.count() == 0 || w.count() == 0) return nullptr;
  BatchGemm g = products_of(x, w, a.transpose_a, a.transpose_b);
  g.one.end.scale = static_cast<float>(a.alpha);
  const auto addend = addend_of(r, g.one.m, g.one.n, spec);
  if (!addend) return nullptr;
  return product_kernel(r, std::move(g), a.transpose_b, spec, *addend, codes);
}

Result<std::unique_ptr<Kernel>> make_linear(const KernelRequest& r) {
  EpilogueSpec spec;
  if (r.has(2)) spec.bias = 2;
  return linear_kernel(r, spec);
}

Result<std::unique_ptr<Kernel>> matmul_kernel(const KernelRequest& r, const EpilogueSpec& spec,
                                              const CodeSource* codes = nullptr) {
  const auto& a = r.attr<MatmulAttrs>();
  const Shape &x = r.in[0].shape, &w = r.in[1].shape;
  if (!r.all_f32() || x.count() == 0 || w.count() == 0) return nullptr;
  BatchGemm g = products_of(x, w, a.transpose_a, a.transpose_b);
  // What follows a product in its region counts columns of one matrix.
  const bool ends = spec.bias >= 0 || spec.residual >= 0;
  if (ends && !g.axes.empty()) return nullptr;
  return product_kernel(r, std::move(g), a.transpose_b, spec, {}, codes);
}

Result<std::unique_ptr<Kernel>> make_matmul(const KernelRequest& r) { return matmul_kernel(r, {}); }

Result<std::unique_ptr<Kernel>> make_gemm_region(const KernelRequest& r) {
  const auto* fused = fused_as<FusedProduct>(r);
  if (!fused || fused->w.given()) return nullptr;
  const FusedRequest product(r, fused->product);
  if (fused->product.as<LinearAttrs>()) return linear_kernel(product.request, fused->end);
  return fused->product.as<MatmulAttrs>() ? matmul_kernel(product.request, fused->end) : nullptr;
}

enum class Stored : uint8_t { codes, codebook, halves };
Stored stored_as(const FusedCodes& w) {
  return w.scale < 0 ? Stored::halves : w.codebook < 0 ? Stored::codes : Stored::codebook;
}

Result<std::unique_ptr<Kernel>> narrow_region(const KernelRequest& r, Stored stored) {
  const auto* fused = fused_as<FusedProduct>(r);
  if (!fused || !fused->w.given() || stored_as(fused->w) != stored) return nullptr;
  const CodeSource codes = {r, fused->w};
  FusedRequest product(r, fused->product);
  product.in[1].dtype = DType::f32, product.in[1].shape = codes.in(fused->w.codes).shape;
  if (fused->product.as<LinearAttrs>()) return linear_kernel(product.request, fused->end, &codes);
  return fused->product.as<MatmulAttrs>() ? matmul_kernel(product.request, fused->end, &codes) : nullptr;
}

Result<std::unique_ptr<Kernel>> make_code_region(const KernelRequest& r) { return narrow_region(r, Stored::codes); }
Result<std::unique_ptr<Kernel>> make_codebook_region(const KernelRequest& r) {
  if (!kHasCodebooks) return nullptr;
  return narrow_region(r, Stored::codebook);
}
Result<std::unique_ptr<Kernel>> make_half_region(const KernelRequest& r) {
  if (!kHasHalfWeights) return nullptr;
  return narrow_region(r, Stored::halves);
}

constexpr KernelDef kProductKernels[] = {{"linear", "gemm_f32", make_linear},
                                         {"matmul", "gemm_f32", make_matmul},
                                         {"fused", "gemm_f32", make_gemm_region},
                                         {"fused", "gemm_codes", make_code_region, "dequantize_linear"},
                                         {"fused", "gemm_codebook", make_codebook_region, "dequantize_codebook"},
                                         {"fused", "gemm_halves", make_half_region, "cast"}};

}  // namespace

std::span<const KernelDef> product_kernels() { return built<kProductKernels>(); }

}  // namespace nnex::kernels
