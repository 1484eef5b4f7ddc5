#pragma once
// What a kernel is told of a `fused` node: which pattern its nodes are. src/fusion finds it once, where it makes the
// node; nobody reads the body again. Values are numbers of the node's inputs; -1: absent.

#include <memory>
#include <variant>
#include <vector>

#include "kernels/elementwise/chain.h"
#include "kernels/integer/chain.h"
#include "kernels/kernel.h"
#include "kernels/product/epilogue.h"
#include "ops/fused.h"

namespace nnex::kernels {

/// A node of the body.
struct FusedOp {
  const OpDef* op = nullptr;
  std::shared_ptr<const void> attrs;
  std::vector<int> in;

  /// Its attributes where they are of this type; null: it is another operator.
  template <class A>
  const A* as() const {
    return op && op->attrs.type == &nnex::detail::type_tag<A> ? static_cast<const A*>(attrs.get()) : nullptr;
  }
};

/// Constants that dequantize_linear, or dequantize_codebook, makes the right side of a product of; without a scale,
/// halves that cast does.
struct FusedCodes {
  int codes = -1, scale = -1, zero = -1, codebook = -1;
  int64_t axis = 0, block_size = 0;
  bool given() const { return codes >= 0; }
};

/// A product of float32 and what ends it: conv, linear or matmul, + one number a column, + a tensor of the result's
/// extents, a function.
struct FusedProduct {
  FusedOp product;
  EpilogueSpec end;
  FusedCodes w;  ///< Where given: of linear or matmul, instead of input 1 of the product.
};

/// Element-wise functions of float32; values of the steps are the inputs listed, then results of steps.
struct FusedChain {
  std::vector<int> inputs;
  std::vector<ChainStep> steps;
};

/// Codes of one byte with one scale and zero point.
struct ByteScale {
  float scale = 1;
  int32_t zero = 0;
  bool is_signed = false;
  int32_t low() const { return is_signed ? -128 : 0; }
  int32_t high() const { return is_signed ? 127 : 255; }
};

/// conv, linear or matmul of codes, to codes: sums + bias, times scale, within limits. Its inputs are the codes of x
/// and of w.
struct FusedByteProduct {
  FusedOp product;
  ByteScale x, y;
  bool w_signed = true;
  std::vector<int32_t> w_zero = {0};  ///< One, or one a column.
  std::vector<int32_t> bias;          ///< In units of the sums, one a column; perhaps none.
  std::vector<float> scale;           ///< From sums to codes, by column.
  int32_t low = 0, high = 255;
};

/// Element-wise functions of float32 between codes of one shape; values of the steps are the sources, then results of
/// steps.
struct FusedByteChain {
  struct Source {
    int input = 0;
    ByteScale scale;
  };
  std::vector<Source> sources;
  ByteScale y;
  std::vector<ChainStep> steps;
};

/// conv or linear of bytes, or a tensor, and steps of int32 behind it; stored as narrow as the numbers are.
struct FusedIntegers {
  /// What a tensor has for the result's rows and columns: one number, one a column, one a row, or one an element.
  enum class Spread : uint8_t { number, row, column, whole };
  struct Source {
    int input = -1;
    simd::IntType type = simd::IntType::i32;
    Spread spread = Spread::whole;
  };
  FusedOp product;  ///< Its inputs: x, w, bias. Null: the steps begin with `start`.
  Source start;
  IntSteps steps;
  std::vector<Source> operands;  ///< Of the steps.
  simd::IntType y_type = simd::IntType::i32;
};

struct Fused {
  std::variant<FusedProduct, FusedChain, FusedByteProduct, FusedByteChain, FusedIntegers> form;
};

/// The form of a request for a `fused` node where it is F; null: another one, or none.
template <class F>
const F* fused_as(const KernelRequest& r) {
  const Fused* fused = r.attr<FusedAttrs>().form.get();
  return fused ? std::get_if<F>(&fused->form) : nullptr;
}

/// The request for one node of the body by itself, whose result has the extents and the type of the whole.
struct FusedRequest {
  FusedRequest(const KernelRequest& r, const FusedOp& node)
      : request{*node.op, node.attrs.get(), {}, r.out, r.loops, r.packs, r.team} {
    for (int i : node.in) in.push_back(i < 0 ? Operand{} : r.in[static_cast<size_t>(i)]);
    request.in = in;
  }
  std::vector<Operand> in;
  KernelRequest request;
};

}  // namespace nnex::kernels
