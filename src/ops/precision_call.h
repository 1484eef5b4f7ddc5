#pragma once
// PrecisionCall: what a precision rule sees of one node. Bits count a sign: a value of p bits lies within
// +-(2^(p-1) - 1). The rules are those of the CVM formalisation's runtime (cvm.md section 7).

#include <fmt/format.h>

#include <span>
#include <vector>

#include "base/failure.h"
#include "base/try.h"
#include "nnex/shape.h"
#include "ops/table.h"

namespace nnex {

/// Binary digits of n: 0 for 0, floor(log2 n) + 1 for n >= 1.
constexpr int64_t digits(uint64_t n) {
  int64_t d = 0;
  for (; n; n >>= 1) ++d;
  return d;
}
/// The largest magnitude that p bits promise, p in 1..32.
constexpr int64_t bound_of_bits(int64_t p) { return (int64_t{1} << (p - 1)) - 1; }

class PrecisionCall {
 public:
  struct Operand {
    bool given = false;
    int64_t bits = 0;                  ///< 0: nobody knows.
    Shape shape = {};                  ///< Concrete extents.
    const Tensor* constant = nullptr;  ///< The content, when it is constant.
  };

  /// `compatible`: upstream's rule where ours is deliberately stricter.
  PrecisionCall(const OpDef& op, const void* attrs, std::vector<Operand> in, std::vector<Shape> out, bool compatible)
      : op_(op), attrs_(attrs), in_(std::move(in)), out_(std::move(out)), compatible_(compatible) {
    bits_.resize(out_.size());
  }

  template <class A>
  const A& attr() const {
    NNEX_ASSERT(op_.attrs.type == &detail::type_tag<A>);
    return *static_cast<const A*>(attrs_);
  }
  size_t inputs() const { return in_.size(); }
  bool has(size_t i) const { return i < in_.size() && in_[i].given; }
  int64_t bits(size_t i) const { return in_[i].bits; }
  const Shape& shape(size_t i) const { return in_[i].shape; }
  const Tensor* constant(size_t i) const { return has(i) ? in_[i].constant : nullptr; }
  size_t outputs() const { return out_.size(); }
  const Shape& out_shape(size_t o) const { return out_[o]; }
  bool compatible() const { return compatible_; }

  /// Output o needs that many bits; whether 32 hold them is checked by the caller.
  void result(size_t o, int64_t bits) {
    if (o < bits_.size()) bits_[o] = bits;
  }
  int64_t result(size_t o) const { return bits_[o]; }

  template <class... A>
  Error error(fmt::format_string<A...> format, A&&... args) const {
    return failure_of(Code::invalid_model, op_.name, format, std::forward<A>(args)...);
  }

 private:
  const OpDef& op_;
  const void* attrs_;
  std::vector<Operand> in_;
  std::vector<Shape> out_;
  std::vector<int64_t> bits_;
  bool compatible_;
};

// ---- Rules that rows share (ops/precision_call.cpp)

/// Every output has the bits of input 0.
Status keeps_precision(PrecisionCall& c);
/// The most bits of any input.
Status widest_precision(PrecisionCall& c);
/// One bit more than the wider of two.
Status sum_precision(PrecisionCall& c);
/// The bits of both factors together.
Status product_precision(PrecisionCall& c);
/// The wider of inputs 1 and 2; the compatible rule takes input 0, the condition.
Status select_precision(PrecisionCall& c);
/// The bits of the larger limit, both constant.
Status clamp_precision(PrecisionCall& c);
/// Input 0 and the digits of the number of elements that are summed for each result.
Status reduced_sum_precision(PrecisionCall& c);
/// A sum of `terms` products of inputs 0 and 1, of 8 bits at most each, plus input 2 when it is given.
Status dot_precision(PrecisionCall& c, int64_t terms);

}  // namespace nnex
