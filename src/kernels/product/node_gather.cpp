// Rows by matrices that indices choose: the rows of each matrix are gathered, and multiplied with it as one.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/fused.h"
#include "kernels/product/codes.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm.h"
#include "ops/matmul.h"
#include "tensor/convert.h"

namespace nnex::kernels {
namespace {

/// The matrices, packed: floats, or where `codes` are given those.
struct PackedMatrices {
  Gemm one;  ///< Of one row.
  int64_t count = 0;
  Packs::Bytes packed;
  int64_t step = 0;  ///< Floats from one to the next.
  std::vector<CodeColumns> codes;
  std::vector<int> inputs;  ///< Which `packed` stands for.
};

class GatherMatmulKernel : public Kernel {
 public:
  /// `repeat`: neighbouring indices that read the same row of input x.
  GatherMatmulKernel(const simd::Loops& loops, PackedMatrices w, int x, int index, int64_t rows, int64_t repeat)
      : loops_(loops), w_(std::move(w)), x_(x), index_(index), rows_(rows), repeat_(repeat) {
    order_ = round_up(w_.count * 8, 64);
    gathered_ = order_ + round_up(rows * 8, 64);
    products_ = gathered_ + round_up(together() * w_.one.k * 4, 64);
    unpacked_ = products_ + round_up(together() * w_.one.n * 4, 64);
  }

  bool packed(size_t input) const override {
    return std::find(w_.inputs.begin(), w_.inputs.end(), static_cast<int>(input)) != w_.inputs.end();
  }
  int64_t workspace() const override {
    return unpacked_ + (w_.codes.empty() ? 0 : unpacked_floats(usable_threads()) * 4);
  }

  Status run(Call& c) const override {
    auto* const end = reinterpret_cast<int64_t*>(c.workspace);
    auto* const order = reinterpret_cast<int64_t*>(c.workspace + order_);
    NNEX_TRY(sort(c, end, order));
    for (int64_t matrix = 0, first = 0; matrix < w_.count; ++matrix)
      while (first < end[matrix]) {
        NNEX_TRY(c.interrupted());
        const int64_t count = std::min(end[matrix] - first, kTogether);
        multiply(c, matrix, {order + first, static_cast<size_t>(count)});
        first += count;
      }
    return {};
  }

 private:
  static constexpr int64_t kTogether = 256;  ///< Rows whose copies stay in a cache.
  int64_t together() const { return std::min(rows_, kTogether); }

  /// The rows in the order of their matrices, and where those of each end.
  Status sort(Call& c, int64_t* end, int64_t* order) const {
    const Tensor& index = c.in(static_cast<size_t>(index_));
    const auto matrix_of = [&](int64_t row) {
      const int64_t i = int_at(index, row);
      return i < 0 ? i + w_.count : i;
    };
    std::fill(end, end + w_.count, int64_t{0});
    for (int64_t row = 0; row < rows_; ++row) {
      const int64_t matrix = matrix_of(row);
      if (matrix < 0 || matrix >= w_.count)
        return c.fault("index {} is outside [{}, {}) of axis 0", int_at(index, row), -w_.count, w_.count);
      ++end[matrix];
    }
    for (int64_t matrix = 0, sum = 0; matrix < w_.count; ++matrix) sum += std::exchange(end[matrix], sum);
    for (int64_t row = 0; row < rows_; ++row) order[end[matrix_of(row)]++] = row;
    return {};
  }

  void multiply(Call& c, int64_t matrix, std::span<const int64_t> rows) const {
    const float* const x = c.in<float>(static_cast<size_t>(x_)).data();
    float* const y = c.out<float>(0).data();
    Gemm g = w_.one;
    g.m = static_cast<int64_t>(rows.size());
    if (w_.codes.empty())
      g.b = reinterpret_cast<const float*>(w_.packed.get()) + matrix * w_.step;
    else
      g.codes = &w_.codes[static_cast<size_t>(matrix)], g.unpacked = reinterpret_cast<float*>(c.workspace + unpacked_);
    if (g.m == 1) {
      g.a = x + rows[0] / repeat_ * g.k, g.c = y + rows[0] * g.n;
      return gemm(loops_, *c.team, g);
    }
    auto* const a = reinterpret_cast<float*>(c.workspace + gathered_);
    auto* const product = reinterpret_cast<float*>(c.workspace + products_);
    for (size_t i = 0; i < rows.size(); ++i)
      std::copy_n(x + rows[i] / repeat_ * g.k, g.k, a + static_cast<int64_t>(i) * g.k);
    g.a = a, g.c = product;
    gemm(loops_, *c.team, g);
    for (size_t i = 0; i < rows.size(); ++i)
      std::copy_n(product + static_cast<int64_t>(i) * g.n, g.n, y + rows[i] * g.n);
  }

  const simd::Loops& loops_;
  PackedMatrices w_;
  int x_, index_;
  int64_t rows_, repeat_;
  int64_t order_, gathered_, products_, unpacked_;  ///< Where they begin in the workspace.
};

/// How many indices in a row read one row of x, where its axes are those of the indices, or 1 from some axis on.
std::optional<int64_t> repeats(const Shape& x, const Shape& index) {
  if (x.rank() - 1 != index.rank()) return std::nullopt;
  int64_t axis = 0, repeat = 1;
  while (axis < index.rank() && x[axis] == index[axis]) ++axis;
  for (; axis < index.rank(); ++axis) {
    if (x[axis] != 1) return std::nullopt;
    repeat *= index[axis];
  }
  return repeat;
}

PackedMatrices unpacked_matrices(const Shape& w, bool transposed) {
  PackedMatrices m;
  m.count = w[0];
  m.one.k = w[transposed ? 2 : 1], m.one.n = w[transposed ? 1 : 2];
  m.one.a_row_stride = m.one.k, m.one.c_row_stride = m.one.n;
  return m;
}

Result<std::unique_ptr<Kernel>> make_gather_matmul(const KernelRequest& r) {
  const Operand& w = r.in[1];
  const bool transposed = r.attr<GatherMatmulAttrs>().transpose_b;
  const auto repeat = repeats(r.in[0].shape, r.in[2].shape);
  if (!repeat || r.out[0].dtype != DType::f32 || r.out[0].shape.count() == 0 || !w.constant || w.shape.count() == 0)
    return nullptr;
  PackedMatrices m = unpacked_matrices(w.shape, transposed);
  const int64_t k = m.one.k, n = m.one.n;
  m.step = round_up(packed_floats(r.loops, k, n), 16), m.inputs = {1};
  const std::string key = pack_key(transposed ? "matrices transposed" : "matrices", r, w);
  NNEX_ASSIGN(m.packed, r.packs.get(key, m.count * m.step * 4, [&](std::byte* to) {
    for (int64_t i = 0; i < m.count; ++i)
      pack_constant_b(r.loops, r.team, w.constant->owner(), w.constant->data() + i * k * n * 4, k, n,
                      transposed ? 1 : n, transposed ? k : 1, reinterpret_cast<float*>(to) + i * m.step);
  }));
  return made<GatherMatmulKernel>(r.loops, std::move(m), 0, 2, r.in[2].shape.count(), *repeat);
}

/// Matrix i of those along the first axis.
Tensor matrix_of(const Tensor& all, int64_t i) {
  const Shape one = {all.shape()[1], all.shape()[2]};
  return Tensor::borrow(all.dtype(), one, all.data() + i * (one.count() * bits(all.dtype()) / 8));
}

Result<std::unique_ptr<Kernel>> narrow_matrices(const KernelRequest& r, bool halves) {
  const auto* fused = fused_as<FusedProduct>(r);
  const auto* a = fused ? fused->product.as<GatherMatmulAttrs>() : nullptr;
  if (!a || !fused->w.given() || (fused->w.scale < 0) != halves || r.out[0].shape.count() == 0) return nullptr;
  const FusedCodes& w = fused->w;
  const int x = fused->product.in[0], index = fused->product.in[2];
  const auto in = [&](int i) { return i < 0 ? Operand{} : r.in[static_cast<size_t>(i)]; };
  const Operand codes = in(w.codes), scale = in(w.scale), zero = in(w.zero);
  if (!codes.constant || (!halves && !scale.constant) || (zero.given() && !zero.constant)) return nullptr;
  const auto repeat = repeats(in(x).shape, in(index).shape);
  const Shape* const zeros = zero.given() ? &zero.shape : nullptr;
  const auto shape =
      halves ? CodeShape::of_halves(codes.dtype, Shape{codes.shape[1], codes.shape[2]}, a->transpose_b)
             : CodeShape::of_each(codes.dtype, codes.shape, scale.shape, zeros, w.axis, w.block_size, a->transpose_b);
  if (!shape || !repeat) return nullptr;
  PackedMatrices m = unpacked_matrices(codes.shape, a->transpose_b);
  m.inputs = {w.codes, w.scale, w.zero};
  const auto zero_of = [&](int64_t i) { return zero.given() ? matrix_of(*zero.constant, i) : Tensor(); };
  const auto columns = [&](const Tensor& points, const std::byte* packed) {
    return CodeColumns(r.loops, *shape, zeros ? &points : nullptr, packed);
  };
  const int64_t bytes = columns(zero_of(0), nullptr).bytes();
  const std::string key =
      fmt::format("{} {} {} {}", pack_key(a->transpose_b ? "code matrices transposed" : "code matrices", r, codes),
                  halves ? 0 : scale.id, zero.given() ? zero.id : 0, shape->block);
  NNEX_ASSIGN(m.packed, r.packs.get(key, m.count * bytes, [&](std::byte* to) {
    for (int64_t i = 0; i < m.count; ++i) {
      const Tensor one = matrix_of(*codes.constant, i), zero_points = zero_of(i);
      const CodeColumns to_pack = columns(zero_points, nullptr);
      halves ? to_pack.pack(r.team, one, to + i * bytes)
             : to_pack.pack(r.team, one, matrix_of(*scale.constant, i), zeros ? &zero_points : nullptr, to + i * bytes);
    }
  }));
  for (int64_t i = 0; i < m.count; ++i) m.codes.push_back(columns(zero_of(i), m.packed.get() + i * bytes));
  return made<GatherMatmulKernel>(r.loops, std::move(m), x, index, in(index).shape.count(), *repeat);
}

Result<std::unique_ptr<Kernel>> make_gather_codes(const KernelRequest& r) { return narrow_matrices(r, false); }
Result<std::unique_ptr<Kernel>> make_gather_halves(const KernelRequest& r) {
  if (!kHasHalfWeights) return nullptr;
  return narrow_matrices(r, true);
}

constexpr KernelDef kGatherMatmulKernels[] = {{"gather_matmul", "gather_gemm", make_gather_matmul},
                                              {"fused", "gather_gemm_codes", make_gather_codes, "gather_matmul"},
                                              {"fused", "gather_gemm_halves", make_gather_halves, "gather_matmul"}};

}  // namespace

std::span<const KernelDef> gather_matmul_kernels() { return built<kGatherMatmulKernels>(); }

}  // namespace nnex::kernels
