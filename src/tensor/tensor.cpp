#include "nnex/tensor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/failure.h"
#include "base/guarded.h"
#include "base/large_memory.h"
#include "base/try.h"
#include "tensor/dim.h"
#include "tensor/half.h"
#include "tensor/has_memory.h"
#include "tensor/memory_account.h"

namespace nnex {
namespace {

constexpr int64_t kBlockFrom = 16 << 10;  ///< Smaller tensors come from the heap everywhere.

/// Raw memory whose owner frees it.
std::shared_ptr<void> allocate(int64_t bytes) {
  if (SharedBlocks* blocks = BlockScope::current(); blocks && bytes >= kBlockFrom) return blocks->take(bytes);
  void* p = allocate_aligned(bytes);
  return p ? std::shared_ptr<void>(p, [](void* q) { std::free(q); }) : nullptr;
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

namespace {

/// A shape of no elements; the cheapest, as every value of a run is moved.
void make_empty(Shape& shape) {
  if (shape.scalar())
    shape = Shape{0};
  else
    shape.set(0, 0);
}

}  // namespace

Tensor::Tensor(const Tensor& other) = default;
Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(other.dtype_),
      shape_(std::move(other.shape_)),
      count_(std::exchange(other.count_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      writing_(other.writing_),
      owner_(std::move(other.owner_)) {
  make_empty(other.shape_);
}
Tensor& Tensor::operator=(const Tensor& other) = default;
Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  this->~Tensor();
  return *new (this) Tensor(std::move(other));
}
Tensor::~Tensor() = default;

Result<Tensor> Tensor::make(DType type, Shape shape) {
  if (bits(type) == 0)
    return failure(Code::invalid_argument, "a tensor of type {}; needed an element type", name(type));
  for (int64_t extent : shape)
    if (extent < 0)
      return failure(Code::invalid_argument, "a tensor {}{}; needed extents of 0 or more", name(type), shape.text());
  auto count = shape.checked_count();
  auto bytes = count ? bytes_for(type, *count) : std::nullopt;
  if (!bytes) return failure(Code::limit, "a tensor {}{} is too large", name(type), shape.text());
  const auto& account = AccountScope::current();
  if (account && !account->take(*bytes))
    return failure(Code::limit, "a tensor {}{} of {} bytes on top of {} held passes the limit of {}", name(type),
                   shape.text(), *bytes, account->held(), account->limit());
  std::shared_ptr<void> owner = type == DType::str ? allocate_objects<std::string>(*count)
                                : type == kDimType ? allocate_objects<Dim>(*count)
                                                   : allocate(*bytes);
  if (!owner) {
    if (account) account->give_back(*bytes);
    return failure(Code::limit, "no memory for a tensor {}{} of {} bytes", name(type), shape.text(), *bytes);
  }
  if (account) owner = counted(std::move(owner), account, *bytes);
  void* const data = owner.get();
  return adopt(type, std::move(shape), data, std::move(owner));
}

Tensor Tensor::adopt(DType type, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Tensor t = borrow_mutable(type, std::move(shape), data, std::move(owner));
  t.writing_ = Writing::alone;
  return t;
}

Tensor Tensor::borrow(DType type, Shape shape, const void* data, std::shared_ptr<const void> owner) {
  Tensor t = borrow_mutable(type, std::move(shape), const_cast<void*>(data), std::move(owner));
  t.writing_ = Writing::never;
  return t;
}

Tensor Tensor::borrow_mutable(DType type, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Tensor t;
  t.dtype_ = type;
  const int64_t count = shape.checked_count().value_or(0);
  t.bytes_ = bytes_for(type, count).value_or(0);
  t.count_ = t.bytes_ > 0 ? count : 0;
  t.shape_ = std::move(shape);
  t.data_ = static_cast<std::byte*>(data);
  t.writing_ = Writing::always;
  t.owner_ = std::move(owner);
  return t;
}

bool Tensor::aligned() const {
  const size_t width = bits(dtype_) >= 64 ? 8 : bits(dtype_) >= 8 ? static_cast<size_t>(bits(dtype_) / 8) : 1;
  return is_object(dtype_) || reinterpret_cast<uintptr_t>(data_) % width == 0;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (shape.checked_count() != count_)
    misused(fmt::format("Tensor::reshaped: {} into {}; needed as many elements", shape_.text(), shape.text()));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::reinterpreted(DType type) const {
  if (bits(type) != bits(dtype_) || (type != dtype_ && (is_object(type) || is_object(dtype_))))
    misused(fmt::format("Tensor::reinterpreted: {} as {}; needed a type of equal width", name(dtype_), name(type)));
  Tensor t = *this;
  t.dtype_ = type;
  return t;
}

Result<Tensor> Tensor::aligned_copy() const {
  if (aligned()) return *this;
  return clone();
}

void Tensor::wrong_element(size_t width) const {
  misused(fmt::format("Tensor::as: a tensor {}{} was read as elements of another kind, of {} bytes; ask dtype() first",
                      name(dtype_), shape_.text(), width));
}

void Tensor::not_writable() const {
  misused(fmt::format("Tensor::mutable_data: {} a tensor {}{}; write its clone()",
                      writing_ == Writing::never ? "found borrowed, constant bytes of" : "copies share the bytes of",
                      name(dtype_), shape_.text()));
}

bool has_memory(const Tensor& t) { return t.count() > 0 ? t.data() != nullptr : t.shape().checked_count() == 0; }

Status need_memory(const Tensor& t) {
  if (has_memory(t)) return {};
  return failure(Code::invalid_argument, "a tensor {}{} without memory", name(t.dtype()), t.shape().text());
}

Result<Tensor> Tensor::clone() const {
  NNEX_TRY(need_memory(*this));
  NNEX_ASSIGN(Tensor t, make(dtype_, shape_));
  if (dtype_ == DType::str)
    std::copy(strings().begin(), strings().end(), t.mutable_as<std::string>().begin());
  else if (dtype_ == kDimType)
    std::copy(as<Dim>().begin(), as<Dim>().end(), t.mutable_as<Dim>().begin());
  else if (bytes_ > 0)
    std::memcpy(t.data_, data_, static_cast<size_t>(bytes_));
  return t;
}

namespace {
/// Of whole numbers by their width.
template <class T>
constexpr DType whole_type() {
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? DType::i8 : DType::u8;
    case 2:
      return is_signed ? DType::i16 : DType::u16;
    case 4:
      return is_signed ? DType::i32 : DType::u32;
    default:
      return is_signed ? DType::i64 : DType::u64;
  }
}
template <class T>
inline constexpr DType kTypeOf = whole_type<T>();
template <>
inline constexpr DType kTypeOf<double> = DType::f64;
template <>
inline constexpr DType kTypeOf<float> = DType::f32;
template <>
inline constexpr DType kTypeOf<f16> = DType::f16;
template <>
inline constexpr DType kTypeOf<bf16> = DType::bf16;
template <>
inline constexpr DType kTypeOf<bool> = DType::boolean;
template <>
inline constexpr DType kTypeOf<std::string> = DType::str;
template <>
inline constexpr DType kTypeOf<Dim> = kDimType;
}  // namespace

template <class T>
Result<Tensor> Tensor::copied(Shape shape, const std::vector<T>& values) {
  if (const auto count = shape.checked_count(); count && *count != static_cast<int64_t>(values.size()))
    return failure(Code::invalid_argument, "found {} values; shape {} takes {}", values.size(), shape.text(), *count);
  NNEX_ASSIGN(Tensor made, make(kTypeOf<T>, std::move(shape)));
  using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  std::copy(values.begin(), values.end(), made.mutable_as<Element>().begin());
  return made;
}

template <class T>
Tensor Tensor::surely_copied(Shape shape, const std::vector<T>& values) {
  const bool possible = shape.checked_count().has_value();
  auto made = copied(std::move(shape), values);
  if (made.ok()) return std::move(made).value();
  if (possible && made.error().code() == Code::limit) throw NoMemory(made.error().message());
  misused("Tensor::of: " + made.error().text());
}

#define NNEX_VALUES_OF(T)                                               \
  template Result<Tensor> Tensor::copied(Shape, const std::vector<T>&); \
  template Tensor Tensor::surely_copied(Shape, const std::vector<T>&);
NNEX_VALUES_OF(double)
NNEX_VALUES_OF(float)
NNEX_VALUES_OF(f16)
NNEX_VALUES_OF(bf16)
NNEX_VALUES_OF(signed char)
NNEX_VALUES_OF(short)
NNEX_VALUES_OF(int)
NNEX_VALUES_OF(long)
NNEX_VALUES_OF(long long)
NNEX_VALUES_OF(unsigned char)
NNEX_VALUES_OF(unsigned short)
NNEX_VALUES_OF(unsigned)
NNEX_VALUES_OF(unsigned long)
NNEX_VALUES_OF(unsigned long long)
NNEX_VALUES_OF(bool)
NNEX_VALUES_OF(std::string)
NNEX_VALUES_OF(Dim)
#undef NNEX_VALUES_OF

Value::Value(Tensor t) : state_(std::move(t)) {}
Value::Value(SparseTensor t) : state_(std::make_shared<const SparseTensor>(std::move(t))) {}
Value::Value(Sequence s) : state_(std::make_shared<const Sequence>(std::move(s))) {}
Value::Value(Map m) : state_(std::make_shared<const Map>(std::move(m))) {}
Value::Value(Optional o) : state_(std::move(o)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept : state_(std::move(other.state_)) { other.state_.emplace<0>(); }
Value& Value::operator=(const Value& other) { return *this = Value(other); }
Value& Value::operator=(Value&& other) noexcept {
  if (this == &other) return *this;
  const Value former = std::move(*this);
  state_ = std::move(other.state_);
  other.state_.emplace<0>();
  return *this;
}

namespace {

using Held = std::shared_ptr<const void>;

/// Ends what a value holds. A program may nest values as deep as it has memory, and the stack is no place for that:
/// those below 64 others wait for the outermost.
void let_go(Held held) {
  constexpr int deepest = 64;
  thread_local int depth = 0;
  thread_local std::vector<Held>* waiting = nullptr;  // a pointer: values end after a thread's objects too
  if (depth == deepest) return waiting->push_back(std::move(held));
  std::vector<Held> own;
  const bool outermost = depth++ == 0;
  if (outermost) waiting = &own;
  held.reset();
  while (outermost && !own.empty()) {
    held = std::move(own.back());
    own.pop_back();
    held.reset();
  }
  --depth;
}

}  // namespace

Value::~Value() {
  Held held;
  if (auto* s = std::get_if<std::shared_ptr<const Sequence>>(&state_)) held = std::move(*s);
  if (auto* m = std::get_if<std::shared_ptr<const Map>>(&state_)) held = std::move(*m);
  if (auto* o = std::get_if<Optional>(&state_)) held = std::move(o->item);
  if (held) let_go(std::move(held));
}

std::string Value::text() const {
  if (const Tensor* t = tensor()) return std::string(name(t->dtype())) + t->shape().text();
  if (const SparseTensor* s = sparse()) return fmt::format("sparse {}{}", name(s->values.dtype()), s->shape.text());
  if (const Sequence* s = sequence()) return fmt::format("sequence of {}", s->items.size());
  if (const Map* m = map()) return fmt::format("map of {}", m->values.size());
  if (const Optional* o = optional()) return o->item ? "optional " + o->item->text() : "empty optional";
  return "nothing";
}

}  // namespace nnex
