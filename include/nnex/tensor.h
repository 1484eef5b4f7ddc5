#pragma once
/// Tensor and the other values a graph can take in and give out.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nnex/dtype.h"
#include "nnex/half.h"
#include "nnex/result.h"
#include "nnex/shape.h"

#pragma GCC visibility push(default)
namespace nnex {

/// What Tensor::from(), of() and scalar() copy: float, double, f16, bf16, bool, std::string, and the integers of C++ by
/// their width (of characters signed char and unsigned char alone).
template <class T>
inline constexpr bool kIsElement =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, f16> || std::is_same_v<T, bf16> ||
    std::is_same_v<T, bool> || std::is_same_v<T, std::string> || std::is_same_v<T, signed char> ||
    std::is_same_v<T, unsigned char> || std::is_same_v<T, short> || std::is_same_v<T, unsigned short> ||
    std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, long> ||
    std::is_same_v<T, unsigned long> || std::is_same_v<T, long long> || std::is_same_v<T, unsigned long long>;

/// A dense, row-major, little-endian array. Copies share the bytes, and bytes that are shared are never written:
/// whoever made a tensor fills it while no copy exists, or writes a clone(). One that was moved elsewhere has no
/// elements, as Tensor() has none.
class Tensor {
 public:
  /// An f32 tensor of no elements.
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  /// Own, uninitialised bytes, 64-byte aligned (strings: empty). Errors: invalid_argument (no element type, a negative
  /// extent), limit when the bytes cannot be had.
  static Result<Tensor> make(DType type, Shape shape);
  /// Bytes of the caller's that outlive every copy of the tensor; any alignment. `owner`, when given, is kept alive
  /// with it. A shape that no tensor can have, or no bytes, is refused by whoever runs on the tensor.
  static Tensor borrow(DType type, Shape shape, const void* data, std::shared_ptr<const void> owner = nullptr);
  /// The same for memory that will be written through mutable_data(), by every copy: who shares it is the caller's
  /// care.
  static Tensor borrow_mutable(DType type, Shape shape, void* data, std::shared_ptr<const void> owner = nullptr);
  /// The same for memory that becomes this tensor's alone, as that of make(): `owner` frees it.
  static Tensor adopt(DType type, Shape shape, void* data, std::shared_ptr<const void> owner);
  /// A copy of C++ values (kIsElement). Errors: invalid_argument where values.size() is not the shape's product, limit.
  template <class T>
  static Result<Tensor> from(Shape shape, const std::vector<T>& values) {
    static_assert(kIsElement<T>, "no element of tensors is this type: see nnex::kIsElement");
    return copied(std::move(shape), values);
  }
  /// The same for a shape that is known to fit; the program ends where it does not. No memory is std::bad_alloc.
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    static_assert(kIsElement<T>, "no element of tensors is this type: see nnex::kIsElement");
    return surely_copied(std::move(shape), values);
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, {value});
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const NNEX_LIFETIMEBOUND { return shape_; }
  int64_t count() const { return count_; }
  /// Bytes of the elements (objects: of the C++ objects).
  int64_t bytes() const { return bytes_; }
  const std::byte* data() const { return data_; }
  /// Whether data() may be read as elements of the type.
  bool aligned() const;

  /// The elements as T, whose width must be the type's: else the program ends. data() must be aligned.
  template <class T>
  std::span<const T> as() const NNEX_LIFETIMEBOUND {
    need_element<T>();
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(count_)};
  }
  std::span<const std::string> strings() const NNEX_LIFETIMEBOUND { return as<std::string>(); }

  /// Whether mutable_data() may be asked for: the bytes are the caller's to write, or this tensor's alone.
  bool writable() const {
    return !(writing_ == Writing::never || (writing_ == Writing::alone && owner_.use_count() > 1));
  }
  /// Whether the bytes were borrowed to be read alone: no copy that goes makes them writable.
  bool read_only() const { return writing_ == Writing::never; }
  /// The bytes to write. They must be the caller's own (borrow_mutable) or of this tensor alone: the program ends where
  /// a copy shares them, or where they were borrowed to be read.
  std::byte* mutable_data() {
    need_writable();
    return data_;
  }
  /// The same as elements.
  template <class T>
  std::span<T> mutable_as() {
    need_element<T>();
    need_writable();
    return {reinterpret_cast<T*>(data_), static_cast<size_t>(count_)};
  }

  /// The same elements under another shape of equal product: else the program ends.
  Tensor reshaped(Shape shape) const;
  /// The same bytes under another type of equal width: else the program ends.
  Tensor reinterpreted(DType type) const;
  /// data() when it is aligned, else an aligned copy.
  Result<Tensor> aligned_copy() const;
  /// An owned copy. Error: invalid_argument for a tensor without memory.
  Result<Tensor> clone() const;
  /// Whether the memory is this tensor's own (or its owner's), not a caller's.
  bool owned() const { return owner_ != nullptr; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  template <class T>
  static Result<Tensor> copied(Shape shape, const std::vector<T>& values);
  template <class T>
  static Tensor surely_copied(Shape shape, const std::vector<T>& values);
  template <class T>
  void need_element() const {
    const bool fits = count_ * static_cast<int64_t>(sizeof(T)) == bytes_;
    if (!fits || is_object(dtype_) == std::is_trivially_copyable_v<T>) [[unlikely]]
      wrong_element(sizeof(T));
  }
  [[noreturn]] void wrong_element(size_t width) const;
  void need_writable() const {
    if (!writable()) [[unlikely]]
      not_writable();
  }
  [[noreturn]] void not_writable() const;

  DType dtype_ = DType::f32;
  Shape shape_{0};
  int64_t count_ = 0, bytes_ = 0;
  std::byte* data_ = nullptr;
  enum class Writing : uint8_t { alone, never, always } writing_ = Writing::alone;
  std::shared_ptr<const void> owner_;
};

class Value;

/// Indices are linear [nnz] or coordinates [nnz, rank], ascending; every other element is zero.
struct SparseTensor {
  Tensor values, indices;
  Shape shape;
};

/// Values of one kind, in order.
struct Sequence {
  DType element = DType::none;  ///< Element type when the items are tensors and none may be there to tell.
  std::vector<Value> items;
};

/// Keys (i64 or str, rank 1, ascending where an operator made them) and a value for each: of numbers a scalar tensor.
struct Map {
  Tensor keys;
  std::vector<Value> values;
};

/// Something or nothing.
struct Optional {
  std::shared_ptr<const Value> item;
};

/// Whatever an edge of a graph carries. Copies share; one that was moved elsewhere is empty. Whoever takes values
/// refuses those that nest deeper than 64 (Code::limit).
class Value {
 public:
  Value() = default;
  Value(Tensor t);        // NOLINT: implicit on purpose
  Value(SparseTensor t);  // NOLINT
  Value(Sequence s);      // NOLINT
  Value(Map m);           // NOLINT
  Value(Optional o);      // NOLINT
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  bool empty() const { return state_.index() == 0; }
  const Tensor* tensor() const NNEX_LIFETIMEBOUND { return std::get_if<Tensor>(&state_); }
  Tensor* tensor() NNEX_LIFETIMEBOUND { return std::get_if<Tensor>(&state_); }
  const SparseTensor* sparse() const NNEX_LIFETIMEBOUND { return shared<SparseTensor>(); }
  const Sequence* sequence() const NNEX_LIFETIMEBOUND { return shared<Sequence>(); }
  const Map* map() const NNEX_LIFETIMEBOUND { return shared<Map>(); }
  const Optional* optional() const NNEX_LIFETIMEBOUND { return std::get_if<Optional>(&state_); }

  /// "f32[1,3]", "sequence of 4", "map of 3", "empty optional".
  std::string text() const;

 private:
  template <class T>
  const T* shared() const {
    auto* p = std::get_if<std::shared_ptr<const T>>(&state_);
    return p ? p->get() : nullptr;
  }
  std::variant<std::monostate, Tensor, std::shared_ptr<const SparseTensor>, std::shared_ptr<const Sequence>,
               std::shared_ptr<const Map>, Optional>
      state_;
};

}  // namespace nnex
#pragma GCC visibility pop
