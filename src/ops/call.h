#pragma once
// Call: one node being run. Every kernel, reference or fast, sees its inputs, attributes and outputs through it.

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/interrupt.h"
#include "base/threads.h"
#include "base/try.h"
#include "nnex/tensor.h"
#include "ops/table.h"
#include "tensor/convert.h"
#include "tensor/dim.h"

namespace nnex {

/// Where random numbers of one node in one run come from.
struct RandomKey {
  uint64_t seed = 0, node = 0, run = 0;
};

class Call {
 public:
  Call(const OpDef& op, const void* attrs, std::span<const Value* const> in, std::span<Value* const> out)
      : op_(&op), attrs_(attrs), in_(in), out_(out) {}

  const OpDef& op() const { return *op_; }
  template <class A>
  const A& attr() const {
    NNEX_ASSERT(op_->attrs.type == &detail::type_tag<A>);
    return *static_cast<const A*>(attrs_);
  }
  const void* attrs() const { return attrs_; }

  size_t inputs() const { return in_.size(); }
  bool has(size_t i) const { return i < in_.size() && in_[i] != nullptr; }
  const Value& value(size_t i) const { return *in_[i]; }
  /// Input i, a tensor whose elements are aligned.
  const Tensor& in(size_t i) const { return *in_[i]->tensor(); }
  template <class T>
  std::span<const T> in(size_t i) const {
    return in(i).as<T>();
  }
  const Shape& shape(size_t i) const { return in(i).shape(); }

  size_t outputs() const { return out_.size(); }
  /// Whether anybody reads output o; a kernel may skip the others.
  bool wants(size_t o) const { return o < out_.size() && out_[o] != nullptr; }
  /// Output o when its type and extents followed from infer: memory is ready. Throws std::logic_error where there is
  /// none: a rule that says too little of the extents must not become a write to nowhere.
  Tensor& out(size_t o) const {
    Tensor* t = out_[o]->tensor();
    if (!t) [[unlikely]]
      no_memory(o);
    return *t;
  }
  template <class T>
  std::span<T> out(size_t o) const {
    return out(o).mutable_as<T>();
  }
  /// Output o's planned memory; null when its extents depend on data or nobody wants it.
  const Tensor* ready(size_t o) const { return wants(o) ? out_[o]->tensor() : nullptr; }
  /// Output o with extents that the kernel computed from data: memory of the plan when it fits, else new.
  Result<Tensor*> make(size_t o, DType type, const Shape& shape) const;
  /// Output o is this value (sequences, optionals, maps, shared tensors).
  void set(size_t o, Value v) const {
    if (wants(o)) *out_[o] = std::move(v);
  }

  /// "gather: index 7 is outside [0, 5) of axis 0": a fault of this run's data.
  template <class... A>
  Error fault(fmt::format_string<A...> format, A&&... args) const {
    return failure_of(Code::fault, op_->name, format, std::forward<A>(args)...);
  }

  Team* team = nullptr;  ///< Threads of this run; null: the caller's alone.
  RandomKey random;
  DType narrowed = DType::none;    ///< The elements' real type where a wider one stands in for it; none: no other.
  std::byte* workspace = nullptr;  ///< Scratch memory of a fast kernel, 64-byte aligned, as large as it asked for.

  /// Asked now and then by kernels that may work long on little: whether the run shall stop (base/interrupt.h).
  Status interrupted() const;

 private:
  [[noreturn]] void no_memory(size_t o) const;

  const OpDef* op_;
  const void* attrs_;
  std::span<const Value* const> in_;
  std::span<Value* const> out_;
};

/// SeldomAsked of a kernel, which tells the operator.
class Asked {
 public:
  explicit Asked(const Call& c) : call_(c) {}
  Status now_and_then(int64_t steps) { return asked_.stop(steps) ? call_.interrupted() : Status(); }

 private:
  const Call& call_;
  SeldomAsked asked_;
};

// ---- Making reference kernels
// ---------------------------------------------------------------------------------------------

namespace detail {
template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<double>() {
  return DType::f64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::f32;
}
template <>
constexpr DType dtype_of<f16>() {
  return DType::f16;
}
template <>
constexpr DType dtype_of<bf16>() {
  return DType::bf16;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::i64;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::i32;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::i16;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::i8;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::u64;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::u32;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::u16;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::u8;
}
template <>
constexpr DType dtype_of<bool>() {
  return DType::boolean;
}
template <>
constexpr DType dtype_of<std::string>() {
  return DType::str;
}
template <>
constexpr DType dtype_of<Dim>() {
  return kDimType;
}
}  // namespace detail

/// The element type of C++ type T.
template <class T>
inline constexpr DType dtype_for = detail::dtype_of<T>();

/// A kernel for each element type: typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { ... }).
/// bool elements are uint8_t (0 or 1) in memory; use `bool` in the list and uint8_t for access.
template <class... T, class F>
constexpr Reference typed(F, int port = 0) {
  Reference r;
  r.choice = Reference::Choice::by_type;
  r.port = port;
  (...,
   (r.kernels.item[r.kernels.n++] = {dtype_for<T>, [](Call& c) -> Status { return F{}.template operator()<T>(c); }}));
  return r;
}

struct Bytes16 {
  uint64_t half[2];
};

/// A kernel that moves elements without looking at them, for every type: by width, strings and Dims as objects.
/// Sub-byte types are unpacked to bytes around it.
template <class F>
constexpr Reference moving(F, int port = 0) {
  Reference r;
  r.choice = Reference::Choice::by_width;
  r.port = port;
  r.kernels = {{DType::u8, [](Call& c) -> Status { return F{}.template operator()<uint8_t>(c); }},
               {DType::u16, [](Call& c) -> Status { return F{}.template operator()<uint16_t>(c); }},
               {DType::u32, [](Call& c) -> Status { return F{}.template operator()<uint32_t>(c); }},
               {DType::u64, [](Call& c) -> Status { return F{}.template operator()<uint64_t>(c); }},
               {DType::c128, [](Call& c) -> Status { return F{}.template operator()<Bytes16>(c); }},
               {DType::str, [](Call& c) -> Status { return F{}.template operator()<std::string>(c); }},
               {kDimType, [](Call& c) -> Status { return F{}.template operator()<Dim>(c); }}};
  return r;
}

/// One kernel for whatever comes (it looks at types itself: real_at, int_at, set_real, ...).
constexpr Reference any(KernelFn run) {
  Reference r;
  r.choice = Reference::Choice::any;
  r.kernels = {{DType::none, run}};
  return r;
}

/// Runs the operator's reference kernel, widening where the element type has none of its own.
/// Errors: the kernel's; unsupported when the operator has no reference kernel for the type.
Status run_reference(Call& c);
/// The same with kernels of the caller's choice, for an operator whose attributes decide how its elements are seen.
Status run_reference(Call& c, const Reference& r);
/// Whether run_reference can run the operator for that element type of its choosing port.
bool has_reference(const OpDef& op, DType type);

}  // namespace nnex
