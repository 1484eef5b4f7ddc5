// Products and convolutions of bytes, on the exact integer kernels.

#include <cmath>

#include "kernels/conv/int8.h"
#include "kernels/kernel.h"
#include "kernels/moves/transposed.h"
#include "kernels/product/batch_i8.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm_i8.h"
#include "ops/window.h"
#include "tensor/convert.h"

namespace nnex::kernels {
namespace {

/// Ports of a node of either kind; kNone: it has no such port.
struct ByteNode {
  static constexpr size_t kNone = ~size_t{0};
  size_t x = 0, x_zero = 2, w = 1, w_zero = 3;
  size_t x_scale = kNone, w_scale = kNone, y_scale = kNone, y_zero = kNone, bias = kNone;
  bool to_bytes() const { return y_scale != kNone; }
};
constexpr ByteNode kSums;
constexpr ByteNode kQuantised = {0, 2, 3, 5, 1, 4, 6, 7, 8};

bool given(const KernelRequest& r, size_t i) { return i != ByteNode::kNone && r.has(i); }

/// Numbers of a constant: one, or n of them.
std::optional<Reals> numbers(const Operand& o, int64_t n) {
  if (!o.constant || (o.shape.count() != 1 && o.shape.count() != n)) return std::nullopt;
  Reals out;
  for (int64_t i = 0; i < o.shape.count(); ++i) out.push_back(real_at(*o.constant, i));
  return out;
}

/// What both kinds share: the constants' side of a product with `columns` columns.
struct Constants {
  std::vector<int32_t> w_zero = {0};
  std::vector<float> scale;  ///< From sums to bytes, by column.
  bool w_signed = true;
};

/// `zeros`: those of w must be constants too, else one is enough.
std::optional<Constants> constants_of(const KernelRequest& r, const ByteNode& node, int64_t columns, bool zeros) {
  const Operand& w = r.in[node.w];
  if (w.shape.count() == 0 || r.in[node.x].shape.count() == 0) return std::nullopt;
  if (given(r, node.x_zero) && r.in[node.x_zero].shape.count() != 1) return std::nullopt;
  Constants k;
  k.w_signed = w.dtype == DType::i8;
  if (given(r, node.w_zero) && !zeros && r.in[node.w_zero].shape.count() != 1) return std::nullopt;
  if (given(r, node.w_zero) && zeros) {
    const auto zeros = numbers(r.in[node.w_zero], columns);
    if (!zeros) return std::nullopt;
    k.w_zero.assign(zeros->begin(), zeros->end());
  }
  if (!node.to_bytes()) return k;
  const auto x = numbers(r.in[node.x_scale], 1), y = numbers(r.in[node.y_scale], 1);
  const auto by_column = numbers(r.in[node.w_scale], columns);
  if (!x || !y || !by_column || r.in[node.y_zero].shape.count() != 1 ||
      (r.out[0].dtype != DType::u8 && r.out[0].dtype != DType::i8))
    return std::nullopt;
  for (int64_t m = 0; m < columns; ++m) {
    const auto s = static_cast<float>((*by_column)[by_column->size() == 1 ? 0 : static_cast<size_t>(m)]);
    k.scale.push_back(static_cast<float>((*x)[0]) * s / static_cast<float>((*y)[0]));
    if (!std::isfinite(k.scale.back())) return std::nullopt;
  }
  return k;
}

int32_t zero_of(const Call& c, size_t port) {
  return port != ByteNode::kNone && c.has(port) ? static_cast<int32_t>(int_at(c.in(port), 0)) : 0;
}

/// Where sums go: to y of `columns` columns a row.
IntEpilogue epilogue(const Call& c, const ByteNode& node, const Constants& k, int64_t columns, std::byte* y) {
  IntEpilogue end;
  if (node.bias != ByteNode::kNone && c.has(node.bias)) end.bias = c.in<int32_t>(node.bias).data();
  if (!node.to_bytes()) {
    end.c = reinterpret_cast<int32_t*>(y), end.c_row_stride = columns;
    return end;
  }
  const bool is_signed = c.out(0).dtype() == DType::i8;
  end.y = y, end.y_row_stride = columns;
  end.to_bytes = {k.scale.data(), 1, zero_of(c, node.y_zero), is_signed ? -128 : 0, is_signed ? 127 : 255};
  return end;
}

// ---- Convolutions

class IntegerConv : public Kernel {
 public:
  IntegerConv(const simd::Loops& loops, const ByteNode& node, const ConvShape& shape, bool channels_last, Constants k,
              Packs::Bytes filter)
      : loops_(loops), node_(node), shape_(shape), constants_(std::move(k)), filter_(std::move(filter)) {
    if (!channels_last)
      transposed_ = Transposed(shape.batch, shape.in_channels, shape.in_pixels(), shape.out_channels,
                               shape.out_pixels(), 1, node.to_bytes() ? 1 : 4);
  }
  bool packed(size_t input) const override { return input == node_.w; }
  int64_t workspace() const override {
    return transposed_.bytes() + conv_i8_workspace(loops_, shape_, node_.to_bytes());
  }
  Status run(Call& c) const override {
    transposed_.around_bytes(loops_, c, node_.x, [&](const std::byte* x, std::byte* y) {
      ConvI8 conv;
      conv.x = x, conv.x_signed = c.in(node_.x).dtype() == DType::i8, conv.x_zero = zero_of(c, node_.x_zero);
      conv.packed = filter_.get();
      conv.end = epilogue(c, node_, constants_, shape_.out_channels, y);
      conv_i8(loops_, *c.team, shape_, conv, c.workspace + transposed_.bytes());
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  ByteNode node_;
  ConvShape shape_;
  Constants constants_;
  Packs::Bytes filter_;
  Transposed transposed_;
};

Result<std::unique_ptr<Kernel>> conv_kernel(const KernelRequest& r, const ByteNode& node) {
  const auto& a = r.attr<ConvAttrs>();
  const Operand& w = r.in[node.w];
  if (a.border != ConvBorder::constant || r.out[0].shape.count() == 0) return nullptr;
  auto k = w.constant ? constants_of(r, node, w.shape[0], true) : std::nullopt;
  const auto shape = conv_shape(a, r.in[node.x].shape, w.shape);
  if (!k || !shape) return nullptr;
  const ByteFilter filter{w.constant->data(), k->w_signed, k->w_zero.data(), k->w_zero.size() > 1 ? 1 : 0};
  const std::string key = filter_key(conv_i8_packing(r.loops, *shape), r, w, *shape, k->w_zero);
  NNEX_ASSIGN(auto packed, r.packs.get(key, conv_i8_filter_bytes(r.loops, *shape), [&](std::byte* to) {
    conv_i8_pack_filter(r.loops, r.team, *shape, filter, to);
  }));
  return made<IntegerConv>(r.loops, node, *shape, a.channels_last, std::move(*k), std::move(packed));
}

Result<std::unique_ptr<Kernel>> make_conv_integer(const KernelRequest& r) { return conv_kernel(r, kSums); }
Result<std::unique_ptr<Kernel>> make_qlinear_conv(const KernelRequest& r) { return conv_kernel(r, kQuantised); }

// ---- Matrices

class IntegerProduct : public Kernel {
 public:
  IntegerProduct(const simd::Loops& loops, const ByteNode& node, int64_t m, int64_t n, int64_t k, Constants constants,
                 Packs::Bytes b)
      : loops_(loops), node_(node), m_(m), n_(n), k_(k), constants_(std::move(constants)), b_(std::move(b)) {}
  bool packed(size_t input) const override { return input == node_.w; }
  int64_t workspace() const override { return gemm_i8_workspace(loops_, m_, n_, k_, node_.to_bytes()); }
  Status run(Call& c) const override {
    GemmI8 g;
    g.m = m_, g.n = n_, g.k = k_;
    g.a = c.in(node_.x).data(), g.a_row_stride = k_;
    g.a_signed = c.in(node_.x).dtype() == DType::i8, g.a_zero = zero_of(c, node_.x_zero);
    g.b = b_.get();
    g.end = epilogue(c, node_, constants_, n_, c.out(0).mutable_data());
    gemm_i8(loops_, *c.team, g, c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  ByteNode node_;
  int64_t m_, n_, k_;
  Constants constants_;
  Packs::Bytes b_;
};

/// Products of bytes of which w is made by the run.
class IntegerProducts : public Kernel {
 public:
  IntegerProducts(const ByteNode& node, ByteProducts products, Constants constants)
      : node_(node), products_(std::move(products)), constants_(std::move(constants)) {}
  int64_t workspace() const override { return products_.workspace(node_.to_bytes()); }
  Status run(Call& c) const override {
    const auto side = [&](size_t port, size_t zero) {
      return ByteProducts::Side{c.in(port).data(), c.in(port).dtype() == DType::i8, zero_of(c, zero)};
    };
    const IntEpilogue end = epilogue(c, node_, constants_, products_.columns(), c.out(0).mutable_data());
    products_.run(*c.team, side(node_.x, node_.x_zero), side(node_.w, node_.w_zero), end, c.workspace);
    return {};
  }

 private:
  ByteNode node_;
  ByteProducts products_;
  Constants constants_;
};

/// x [..., k] times a matrix [k, n] of bytes. Numbers of a constant matrix' side are one, or one a column, those of
/// others one.
Result<std::unique_ptr<Kernel>> product_kernel(const KernelRequest& r, const ByteNode& node) {
  const Operand &x = r.in[node.x], &w = r.in[node.w];
  const auto is_byte = [](DType t) { return t == DType::u8 || t == DType::i8; };
  if (!is_byte(x.dtype) || !is_byte(w.dtype) || w.shape.rank() < 1 || x.shape.rank() < 1) return nullptr;
  const int64_t n = w.shape.rank() == 1 ? 1 : w.shape[w.shape.rank() - 1];
  for (size_t i : {node.w_zero, node.w_scale})
    if (given(r, i) && r.in[i].shape.count() != 1 && r.in[i].shape[r.in[i].shape.rank() - 1] != n) return nullptr;
  if (auto constants = constants_of(r, node, n, true); constants && w.constant && w.shape.rank() == 2) {
    const int64_t k = w.shape[0];
    const int64_t zeros = constants->w_zero.size() > 1 ? 1 : 0;
    const ByteMatrix b{w.constant->data(), k, n, n, 1, constants->w_signed, constants->w_zero.data(), zeros};
    const std::string key = pack_key("gemm_i8", r, w, constants->w_zero);
    NNEX_ASSIGN(auto packed, r.packs.get(key, packed_bytes_i8(r.loops, k, n),
                                         [&](std::byte* to) { pack_b_i8(r.loops, r.team, b, to); }));
    return made<IntegerProduct>(r.loops, node, x.shape.count() / k, n, k, std::move(*constants), std::move(packed));
  }
  auto constants = constants_of(r, node, n, false);
  if (!constants) return nullptr;
  return made<IntegerProducts>(node, ByteProducts(r.loops, products_of(x.shape, w.shape, false, false)),
                               std::move(*constants));
}

Result<std::unique_ptr<Kernel>> make_matmul_integer(const KernelRequest& r) { return product_kernel(r, kSums); }
Result<std::unique_ptr<Kernel>> make_qlinear_matmul(const KernelRequest& r) {
  ByteNode node = kQuantised;
  node.bias = ByteNode::kNone;
  return product_kernel(r, node);
}

constexpr KernelDef kIntegerKernels[] = {{"conv_integer", "conv_i8", make_conv_integer},
                                         {"qlinear_conv", "conv_i8", make_qlinear_conv},
                                         {"matmul_integer", "gemm_i8", make_matmul_integer},
                                         {"qlinear_matmul", "gemm_i8", make_qlinear_matmul}};

}  // namespace

std::span<const KernelDef> integer_kernels() { return built<kIntegerKernels>(); }

}  // namespace nnex::kernels
