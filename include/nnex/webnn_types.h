#pragma once
/// The values of the W3C Web Neural Network API in C++: error kinds, futures, descriptors, handles.
///
/// Names are the specification's, in its camelCase; their ML prefix is the namespace nnex::ml. Nothing throws: what
/// throws in JavaScript returns a Result with an Error here, what gives a promise there gives a Future here.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nnex/result.h"

#pragma GCC visibility push(default)
namespace nnex::ml {

/// What a binding throws: TypeError, or the DOMException of that name.
enum class ErrorKind : uint8_t {
  TypeError,
  InvalidStateError,
  NotSupportedError,
  OperationError,
  UnknownError,
  SecurityError,
};
/// "TypeError", "InvalidStateError", ...
std::string_view name(ErrorKind kind);

/// Why a call did not succeed.
struct Error {
  ErrorKind kind = ErrorKind::UnknownError;
  std::string message;

  /// "TypeError: message".
  std::string text() const;
};

/// Ends the program with a sentence on standard error: the caller took the value of a failed Result.
[[noreturn]] void no_value(const Error& error);

/// A value, or the Error that stood in its way.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value, which must be there: else the program ends, naming the error.
  T& value() & { return need_value(), *std::get_if<0>(&state_); }
  const T& value() const& { return need_value(), *std::get_if<0>(&state_); }
  T&& value() && { return need_value(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error, which must be there: else the program ends.
  const Error& error() const& { return need_error(), *std::get_if<1>(&state_); }
  Error&& error() && { return need_error(), std::move(*std::get_if<1>(&state_)); }

 private:
  void need_value() const {
    if (!ok()) [[unlikely]]
      no_value(*std::get_if<1>(&state_));
  }
  void need_error() const {
    if (ok()) [[unlikely]]
      no_error();
  }
  std::variant<T, Error> state_;
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  /// The error, which must be there: else the program ends.
  const Error& error() const& { return need_error(), *error_; }
  Error&& error() && { return need_error(), std::move(*error_); }

 private:
  void need_error() const {
    if (ok()) [[unlikely]]
      no_error();
  }
  std::unique_ptr<Error> error_;
};

/// The value of a Future<Nothing>: a promise of undefined.
struct Nothing {};

/// Calls a function of the host that nobody waits for: what it throws ends here, with a sentence on standard error.
void call_back(const std::function<void()>& function);

/// The other end of a Future: settled once, by whoever comes first. Copies share.
template <class T>
class Promise;

/// A result that comes later, from the context's timeline. Copies share. Safe from any thread.
template <class T>
class Future {
 public:
  using Callback = std::function<void(const Result<T>&)>;

  bool settled() const {
    std::lock_guard lock(state_->mutex);
    return state_->result.has_value();
  }
  /// Waits. A context with a loop of its own settles its futures from that loop: whoever runs it must not wait here.
  const Result<T>& wait() const {
    std::unique_lock lock(state_->mutex);
    state_->settled.wait(lock, [&] { return state_->result.has_value(); });
    return *state_->result;
  }
  /// Waits and copies the result.
  Result<T> get() const { return wait(); }
  /// Calls back once, when it is settled: on the thread that settles it, or here and now when it is already. What the
  /// callback throws ends there, with a sentence on standard error: nobody could take it.
  void then(Callback callback) const {
    {
      std::lock_guard lock(state_->mutex);
      if (!state_->result) {
        state_->callbacks.push_back(std::move(callback));
        return;
      }
    }
    call_back([&] { callback(*state_->result); });
  }

 private:
  friend class Promise<T>;
  struct State {
    std::mutex mutex;
    std::condition_variable settled;
    std::optional<Result<T>> result;  ///< Never changes once it is there.
    std::vector<Callback> callbacks;
  };
  explicit Future(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

template <class T>
class Promise {
 public:
  Promise() : state_(std::make_shared<typename Future<T>::State>()) {}
  Future<T> future() const { return Future<T>(state_); }
  bool settled() const { return future().settled(); }
  /// Whether this call settled it; later ones change nothing.
  bool settle(Result<T> result) const {
    std::vector<typename Future<T>::Callback> callbacks;
    {
      std::lock_guard lock(state_->mutex);
      if (state_->result) return false;
      state_->result.emplace(std::move(result));
      callbacks.swap(state_->callbacks);
      state_->settled.notify_all();
    }
    for (const auto& callback : callbacks) call_back([&] { callback(*state_->result); });
    return true;
  }

 private:
  std::shared_ptr<typename Future<T>::State> state_;
};

/// MLOperandDataType, and the two 4-bit types that browsers still carry (two elements a byte, low half first).
enum class DataType : uint8_t { float32, float16, int32, uint32, int64, uint64, int8, uint8, int4, uint4 };
inline constexpr int kDataTypes = 10;
/// "float32", ...
std::string_view name(DataType type);
std::optional<DataType> data_type_named(std::string_view text);

enum class PowerPreference : uint8_t { default_, high_performance, low_power };
enum class InputOperandLayout : uint8_t { nchw, nhwc };

/// MLContextOptions. Hints: everything runs on the processor.
struct ContextOptions {
  PowerPreference powerPreference = PowerPreference::default_;
  bool accelerated = true;
};

/// MLContextLostInfo.
struct ContextLostInfo {
  std::string message;
};

/// MLOperandDescriptor.
struct OperandDescriptor {
  DataType dataType = DataType::float32;
  std::vector<uint32_t> shape = {};
};

/// MLTensorDescriptor.
struct TensorDescriptor {
  DataType dataType = DataType::float32;
  std::vector<uint32_t> shape = {};
  bool readable = false;
  bool writable = false;
};

/// The members that MLTensorDescriptor adds to MLOperandDescriptor.
struct TensorUsage {
  bool readable = false;
  bool writable = false;
};

/// MLOperatorOptions. The options of every operation begin with this member.
struct OperatorOptions {
  std::string label = {};
};

/// A BigInt. What does not fit in 64 bits of magnitude is kept as the largest that does: every cast clamps it.
struct BigInt {
  bool negative = false;
  uint64_t magnitude = 0;
};

/// MLNumber: a BigInt stays exact, a Number is any double.
class Number {
 public:
  Number(double value = 0) : state_(value) {}  // NOLINT: implicit on purpose
  Number(BigInt value) : state_(value) {}      // NOLINT
  const double* number() const { return std::get_if<double>(&state_); }
  const BigInt* big_int() const { return std::get_if<BigInt>(&state_); }

 private:
  std::variant<double, BigInt> state_;
};

/// What a buffer source is in JavaScript: an array of C++ has its kind, bytes are an ArrayBuffer.
enum class BufferKind : uint8_t {
  ArrayBuffer,
  SharedArrayBuffer,
  DataView,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  BigInt64Array,
  BigUint64Array,
  Float16Array,
  Float32Array,
  Float64Array,
};

/// Bytes of the caller's to read (AllowSharedBufferSource): copied before the call returns. A detached buffer is empty.
struct BufferSource {
  BufferKind kind = BufferKind::ArrayBuffer;
  std::span<const std::byte> bytes;

  BufferSource() = default;
  BufferSource(BufferKind k, std::span<const std::byte> b) : kind(k), bytes(b) {}
  /// An array of numbers, of the kind that JavaScript has for them; of other types its bytes alone.
  template <class T>
  BufferSource(const std::vector<T>& values)  // NOLINT: implicit on purpose
      : kind(kind_of<T>()), bytes(std::as_bytes(std::span<const T>(values))) {}
  BufferSource(std::span<const std::byte> b) : bytes(b) {}  // NOLINT
  template <size_t n>
  BufferSource(std::span<const std::byte, n> b) : bytes(b) {}  // NOLINT: as std::as_bytes() gives of an array

 private:
  template <class T>
  static constexpr BufferKind kind_of() {
    using K = BufferKind;
    if constexpr (std::is_floating_point_v<T>)
      return sizeof(T) == 4 ? K::Float32Array : sizeof(T) == 8 ? K::Float64Array : K::ArrayBuffer;
    else if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>)
      return K::ArrayBuffer;
    else if constexpr (std::is_signed_v<T>)
      return sizeof(T) == 1   ? K::Int8Array
             : sizeof(T) == 2 ? K::Int16Array
             : sizeof(T) == 4 ? K::Int32Array
                              : K::BigInt64Array;
    else
      return sizeof(T) == 1   ? K::Uint8Array
             : sizeof(T) == 2 ? K::Uint16Array
             : sizeof(T) == 4 ? K::Uint32Array
                              : K::BigUint64Array;
  }
};

/// MLRankRange, MLTensorLimits.
struct RankRange {
  uint32_t min = 0, max = 0;
};
struct TensorLimits {
  std::vector<DataType> dataTypes;
  RankRange rankRange;
};
/// Limits of one operation, in the specification's order: {"input", ...}, {"output", ...}.
struct OperationLimits {
  std::string name;
  std::vector<std::pair<std::string, TensorLimits>> operands;
};
/// MLOpSupportLimits.
struct OpSupportLimits {
  InputOperandLayout preferredInputLayout = InputOperandLayout::nhwc;
  uint64_t maxTensorByteLength = 0;
  TensorLimits input, constant, output;
  std::vector<OperationLimits> operations;
};

struct [[gnu::visibility("hidden")]] BuilderState;
struct [[gnu::visibility("hidden")]] ContextState;
struct [[gnu::visibility("hidden")]] OperandState;
struct [[gnu::visibility("hidden")]] TensorState;
struct [[gnu::visibility("hidden")]] GraphState;

/// MLOperand: a value of the graph that one builder is making. A handle: copies are the same operand.
class Operand {
 public:
  Operand() = default;
  explicit Operand(std::shared_ptr<const OperandState> state) : state_(std::move(state)) {}

  DataType dataType() const;
  const std::vector<uint32_t>& shape() const;
  /// A handle to nothing, as a default-constructed one: no operand of any builder.
  bool empty() const { return !state_; }
  const std::shared_ptr<const OperandState>& state() const { return state_; }
  friend bool operator==(const Operand& a, const Operand& b) { return a.state_ == b.state_; }

 private:
  std::shared_ptr<const OperandState> state_;
};

/// Record of operands by name: what build() takes.
using NamedOperands = std::map<std::string, Operand>;

}  // namespace nnex::ml
#pragma GCC visibility pop
