#include "nnex/tensor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/checked.h"
#include "base/try.h"
#include "tensor/dim.h"
#include "tensor/half.h"
#include "tensor/memory_account.h"
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nnex {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = int64_t{2} << 20;
constexpr int64_t kHugeFrom = int64_t{4} << 20;

/// Raw memory whose owner frees it; huge pages are asked for where it is large.
std::shared_ptr<void> allocate(int64_t bytes) {
  const int64_t alignment = bytes >= kHugeFrom ? kHugePage : kAlignment;
  auto rounded = checked_add(std::max<int64_t>(bytes, 1), alignment - 1);
  if (!rounded) return nullptr;
  const auto size = static_cast<size_t>(*rounded & ~(alignment - 1));
  void* p = std::aligned_alloc(static_cast<size_t>(alignment), size);
  if (!p) return nullptr;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (bytes >= kHugeFrom) madvise(p, size, MADV_HUGEPAGE);
#endif
  return {p, [](void* q) { std::free(q); }};
}

template <class T>
std::shared_ptr<void> allocate_objects(int64_t count) {
  T* p = new (std::nothrow) T[static_cast<size_t>(count)];
  return p ? std::shared_ptr<void>(p, [](void* q) { delete[] static_cast<T*>(q); }) : nullptr;
}

/// The memory, counted by the account until its last owner is gone.
std::shared_ptr<void> counted(std::shared_ptr<void> memory, const std::shared_ptr<MemoryAccount>& account,
                              int64_t bytes) {
  void* p = memory.get();
  return {p, [memory = std::move(memory), account, bytes](void*) { account->give_back(bytes); }};
}

}  // namespace

Result<Tensor> Tensor::make(DType type, Shape shape) {
  auto count = shape.checked_count();
  auto bytes = count ? bytes_for(type, *count) : std::nullopt;
  if (!bytes) return Error(Code::limit, fmt::format("a tensor {}{} is too large", name(type), shape.text()));
  const auto& account = AccountScope::current();
  if (account && !account->take(*bytes))
    return Error(Code::limit, fmt::format("a tensor {}{} of {} bytes on top of {} held passes the run's limit of {}",
                                          name(type), shape.text(), *bytes, account->held(), account->limit()));
  std::shared_ptr<void> owner = type == DType::str   ? allocate_objects<std::string>(*count)
                                : type == DType::dim ? allocate_objects<Dim>(*count)
                                                     : allocate(*bytes);
  if (!owner) {
    if (account) account->give_back(*bytes);
    return Error(Code::limit, fmt::format("no memory for a tensor {}{} of {} bytes", name(type), shape.text(), *bytes));
  }
  if (account) owner = counted(std::move(owner), account, *bytes);
  return borrow_mutable(type, std::move(shape), owner.get(), owner);
}

Tensor Tensor::borrow(DType type, Shape shape, const void* data, std::shared_ptr<const void> owner) {
  return borrow_mutable(type, std::move(shape), const_cast<void*>(data), std::move(owner));
}

Tensor Tensor::borrow_mutable(DType type, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Tensor t;
  t.dtype_ = type;
  t.count_ = shape.count();
  t.bytes_ = bytes_for(type, t.count_).value_or(0);
  t.shape_ = std::move(shape);
  t.data_ = static_cast<std::byte*>(data);
  t.owner_ = std::move(owner);
  return t;
}

bool Tensor::aligned() const {
  const size_t width = bits(dtype_) >= 64 ? 8 : bits(dtype_) >= 8 ? static_cast<size_t>(bits(dtype_) / 8) : 1;
  return is_object(dtype_) || reinterpret_cast<uintptr_t>(data_) % width == 0;
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor t = *this;
  NNEX_ASSERT(shape.count() == count_);
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::reinterpreted(DType type) const {
  NNEX_ASSERT(bits(type) == bits(dtype_));
  Tensor t = *this;
  t.dtype_ = type;
  return t;
}

Result<Tensor> Tensor::aligned_copy() const {
  if (aligned()) return *this;
  return clone();
}

Result<Tensor> Tensor::clone() const {
  NNEX_ASSIGN(Tensor t, make(dtype_, shape_));
  if (dtype_ == DType::str)
    std::copy(strings().begin(), strings().end(), t.mutable_as<std::string>().begin());
  else if (dtype_ == DType::dim)
    std::copy(as<Dim>().begin(), as<Dim>().end(), t.mutable_as<Dim>().begin());
  else if (bytes_ > 0)
    std::memcpy(t.data_, data_, static_cast<size_t>(bytes_));
  return t;
}

namespace {
template <class T>
inline constexpr DType kTypeOf = DType::none;
template <>
inline constexpr DType kTypeOf<double> = DType::f64;
template <>
inline constexpr DType kTypeOf<float> = DType::f32;
template <>
inline constexpr DType kTypeOf<f16> = DType::f16;
template <>
inline constexpr DType kTypeOf<bf16> = DType::bf16;
template <>
inline constexpr DType kTypeOf<int64_t> = DType::i64;
template <>
inline constexpr DType kTypeOf<int32_t> = DType::i32;
template <>
inline constexpr DType kTypeOf<int16_t> = DType::i16;
template <>
inline constexpr DType kTypeOf<int8_t> = DType::i8;
template <>
inline constexpr DType kTypeOf<uint64_t> = DType::u64;
template <>
inline constexpr DType kTypeOf<uint32_t> = DType::u32;
template <>
inline constexpr DType kTypeOf<uint16_t> = DType::u16;
template <>
inline constexpr DType kTypeOf<uint8_t> = DType::u8;
template <>
inline constexpr DType kTypeOf<bool> = DType::boolean;
template <>
inline constexpr DType kTypeOf<std::string> = DType::str;
template <>
inline constexpr DType kTypeOf<Dim> = DType::dim;
}  // namespace

template <class T>
Tensor Tensor::of(Shape shape, const std::vector<T>& values) {
  auto made = make(kTypeOf<T>, std::move(shape));
  NNEX_ASSERT(made.ok() && made->count() == static_cast<int64_t>(values.size()));
  using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  std::copy(values.begin(), values.end(), made->template mutable_as<Element>().begin());
  return std::move(made).value();
}

template Tensor Tensor::of(Shape, const std::vector<double>&);
template Tensor Tensor::of(Shape, const std::vector<float>&);
template Tensor Tensor::of(Shape, const std::vector<f16>&);
template Tensor Tensor::of(Shape, const std::vector<bf16>&);
template Tensor Tensor::of(Shape, const std::vector<int64_t>&);
template Tensor Tensor::of(Shape, const std::vector<int32_t>&);
template Tensor Tensor::of(Shape, const std::vector<int16_t>&);
template Tensor Tensor::of(Shape, const std::vector<int8_t>&);
template Tensor Tensor::of(Shape, const std::vector<uint64_t>&);
template Tensor Tensor::of(Shape, const std::vector<uint32_t>&);
template Tensor Tensor::of(Shape, const std::vector<uint16_t>&);
template Tensor Tensor::of(Shape, const std::vector<uint8_t>&);
template Tensor Tensor::of(Shape, const std::vector<bool>&);
template Tensor Tensor::of(Shape, const std::vector<std::string>&);
template Tensor Tensor::of(Shape, const std::vector<Dim>&);

std::string Value::text() const {
  if (const Tensor* t = tensor()) return std::string(name(t->dtype())) + t->shape().text();
  if (const SparseTensor* s = sparse()) return fmt::format("sparse {}{}", name(s->values.dtype()), s->shape.text());
  if (const Sequence* s = sequence()) return fmt::format("sequence of {}", s->items.size());
  if (const Map* m = map()) return fmt::format("map of {}", m->values.size());
  if (const Optional* o = optional()) return o->item ? "optional " + o->item->text() : "empty optional";
  return "nothing";
}

}  // namespace nnex
