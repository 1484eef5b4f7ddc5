#pragma once
// InferCall: what a shape and type rule sees of one node. Implemented by graph/ (symbols) and plan/ (numbers).

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/failure.h"
#include "base/try.h"
#include "ops/table.h"
#include "tensor/type.h"

namespace nnex {

/// Axes that a value may have.
inline constexpr int64_t kMaxRank = 1 << 17;

class InferCall {
 public:
  virtual ~InferCall() = default;

  const OpDef& op() const { return *op_; }
  size_t inputs() const { return in_.size(); }
  /// Whether input i was given.
  bool has(size_t i) const { return i < in_.size() && in_[i] != nullptr; }
  const Type& in(size_t i) const { return *in_[i]; }
  DType dtype(size_t i) const { return in_[i]->dtype; }
  const MaybeDims& dims(size_t i) const { return in_[i]->dims; }
  /// Rank of input i, or nothing.
  std::optional<int64_t> rank(size_t i) const {
    return dims(i) ? std::optional<int64_t>(static_cast<int64_t>(dims(i)->size())) : std::nullopt;
  }
  template <class A>
  const A& attr() const {
    NNEX_ASSERT(op_->attrs.type == &detail::type_tag<A>);
    return *static_cast<const A*>(attrs_);
  }

  /// Elements of a small integer (or bool) input, row-major: a constant's, or formulas that were propagated; nullopt
  /// when only a run knows.
  virtual std::optional<Dims> values(size_t i) = 0;
  /// The input's content, when it is constant.
  virtual const Tensor* constant(size_t i) = 0;
  /// Infers block b with these parameter types, and these contents of the first parameters where they are known (empty
  /// tensors: unknown); the types of its results.
  virtual Result<std::vector<Type>> block(size_t b, std::span<const Type> params,
                                          std::span<const Tensor> contents = {}) = 0;
  /// What the last block(b, ...) found of the content of result i; null when only a run knows.
  virtual const Tensor* block_content(size_t b, size_t i) = 0;
  /// How many block() calls of other nodes this one stands in.
  virtual int nesting() const = 0;

  size_t outputs() const { return out_.size(); }
  /// Whether anybody named output o.
  bool wants(size_t o) const { return o < out_.size() && out_[o] != nullptr; }

  /// Output o has these extents and the element type its port's rule gives. Outputs nobody wants are ignored.
  void result(size_t o, MaybeDims dims);
  void result(size_t o, DType type, MaybeDims dims);
  void result_type(size_t o, Type type);
  /// Output o, an integer tensor, holds these elements.
  virtual void result_values(size_t o, Dims elements) = 0;

  /// An extent nobody can know before the run; `why` becomes part of its printed name ("?reshape0").
  Dim unknown() const { return Dim::unknown(op_->name); }
  /// `rank` unknown extents.
  Dims unknowns(int64_t rank) const;
  /// The same for a rank that somebody's data name: where no value may have so many axes, an unknown rank.
  MaybeDims unknowns_if_possible(int64_t rank) const;

  /// "conv: input has 24 channels; ...": an invalid_model Error named after the operator.
  template <class... A>
  Error error(fmt::format_string<A...> format, A&&... args) const {
    return failure_of(Code::invalid_model, op_->name, format, std::forward<A>(args)...);
  }

  /// The element type that output o's port rule gives for these inputs and attributes.
  DType rule_type(size_t o) const;
  /// Whether output o can have that type: at most kMaxRank axes, no extent below 0, no more bytes than 63 bits count.
  /// Errors: invalid_model, limit.
  Status check_extents(size_t o, const Type& type) const;

 protected:
  const OpDef* op_ = nullptr;
  const void* attrs_ = nullptr;
  std::vector<const Type*> in_;
  std::vector<Type*> out_;
};

// ---- Rules many operators share (ops/infer_call.cpp)
// ------------------------------------------------------------------------

/// Output 0 has the extents of input 0; its type follows the port rule.
Status same_shape(InferCall& c);
/// Output 0 is the broadcast of all inputs given (numpy: extents meet from the last axis).
Status broadcast_shape(InferCall& c);

/// The broadcast of two shapes; symbols that differ meet as follows: 1 gives way; equal formulas stay; a number > 1
/// wins over a symbol (which must then be 1 or that number); two different symbols give an unknown. Error text when
/// numbers differ.
Result<MaybeDims> broadcast(InferCall& c, const MaybeDims& a, const MaybeDims& b);
/// Two extents that must be equal: the better known of both. Error: "<what>: found 3, needed 4" when they are different
/// numbers.
Result<Dim> meet(InferCall& c, const Dim& a, const Dim& b, std::string_view what);
/// axis counted from 0, when rank is known. Error: "axis 5 is outside [-4, 3] for x of 4 axes".
Result<int64_t> positive_axis(const InferCall& c, int64_t axis, int64_t rank, std::string_view what = "axis");
/// All axes positive, distinct. `twice` names the fault.
Result<Ints> positive_axes(const InferCall& c, const Ints& axes, int64_t rank, std::string_view what = "axes");
/// The rank of input i must be `rank` (when known).
Status need_rank(const InferCall& c, size_t i, int64_t rank);
/// Input i is one number: where it is given and its extents are known, it has one element.
Status need_number(const InferCall& c, size_t i);

}  // namespace nnex
