#pragma once
/// Errors as values: every function of nnex that can fail returns Result<T> or Status and throws nothing.
///
/// Whoever takes what is not there (the value of a failed Result, the error of one that succeeded, the content of an
/// empty handle) has made a mistake that no Error can hand back: the program ends with a sentence on standard error, in
/// every build.

#if __cplusplus < 202002L
#error "nnex needs C++20: compile with -std=c++20 or a later one"
#endif
#ifdef Status
#error "a header before nnex's defines Status as a macro (X11/Xlib.h does): include nnex first, or #undef Status"
#endif

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Behind a member function: what it returns lives as long as its object. Clang then warns of what points into a
/// temporary that is gone, as `const Tensor* t = f()->tensor();`; other compilers do not.
#if defined(__clang__)
#define NNEX_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define NNEX_LIFETIMEBOUND
#endif

#pragma GCC visibility push(default)
namespace nnex {

/// What kind of failure an Error is; the command line turns it into its exit code.
enum class Code : unsigned char {
  invalid_argument,  ///< The caller's request makes no sense (wrong shape, unknown name).
  invalid_model,     ///< The file or graph breaks a rule of its standard.
  unreadable,        ///< The file cannot be opened, read or written.
  unsupported,       ///< Legal, but nnex lacks it.
  limit,             ///< A limit on memory, size, depth or steps was reached.
  fault,             ///< The data of this run made an operator fail (an index outside, for example).
  cancelled,         ///< The caller asked the run to stop, or its deadline passed.
  internal,          ///< A mistake in nnex.
};

/// "invalid model", "unsupported", ...: the code in words.
std::string_view name(Code code);

/// An option that would let a refused call pass.
struct Remedy {
  std::string option;  ///< As the option structs call it: "overwrite", "nnef.dialect".
  std::string value;   ///< What it has to be: "replace", "tract"; empty: the caller knows what fits.
  std::string effect;  ///< What it does then: "replaces it".
};
/// "option nnef.dialect = tract": the option as C++ has it.
std::string option_words(const Remedy& remedy);
/// The same in the words of a front end whose options have names of its own: "--dialect tract".
using OptionWords = std::string (*)(const Remedy&);
/// A sentence with its remedies behind it: "'x' exists; option overwrite = replace replaces it". Behind a sentence of
/// several lines each has a line.
std::string with_remedies(std::string sentence, const std::vector<Remedy>& remedies, OptionWords words = option_words);

/// A failure: what was found and needed, where, and while doing what. Move-only, one pointer wide.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message);
  Error(Error&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Error& operator=(Error&& other) noexcept {
    Error taken(std::move(other));
    std::swap(body_, taken.body_);
    return *this;
  }
  ~Error() {
    if (body_) release(body_);
  }

  Code code() const;
  /// The sentence alone: what was found, what was needed.
  const std::string& message() const NNEX_LIFETIMEBOUND;
  /// The place, as "model.onnx: node 'conv1' (Conv), attribute 'pads'" or "graph.nnef:41:12"; empty when nobody knew.
  const std::string& where() const NNEX_LIFETIMEBOUND;
  /// Options that would let the call pass.
  const std::vector<Remedy>& remedies() const NNEX_LIFETIMEBOUND;
  /// What was being done, inner tasks first.
  const std::vector<std::string>& tasks() const NNEX_LIFETIMEBOUND;

  /// Adds the place, unless an inner function already knew it better.
  Error&& at(std::string_view place) &&;
  /// Adds a "while ..." line; inner tasks stand first.
  Error&& during(std::string_view task) &&;
  /// Adds an option that would let the call pass.
  Error&& helped_by(Remedy remedy) &&;
  Error&& helped_by(const std::vector<Remedy>& remedies) &&;
  /// Another sentence; all else stays.
  Error&& worded(std::string message) &&;

  /// "place: message; remedy", then one line "  while task" for every task.
  std::string text(OptionWords words = option_words) const;

 private:
  friend class Status;
  struct Body;
  Error() noexcept = default;  // none
  Body& body() const;
  static void release(Body* body) noexcept;
  Body* body_ = nullptr;
};

/// End the program (std::abort) with a sentence on standard error: the caller took what is not there.
[[noreturn]] void misused(std::string_view sentence);
[[noreturn]] void no_value(const Error& error);
[[noreturn]] void no_error();
[[noreturn]] void moved_error();

/// A value, or the Error that stood in its way.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_(true), value_(std::move(value)) {}       // NOLINT: implicit on purpose
  Result(Error error) : ok_(false), error_(std::move(error)) {}  // NOLINT
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
           !std::is_same_v<std::remove_cvref_t<U>, T> && !std::is_same_v<std::remove_cvref_t<U>, Error>)
      Result(U&& value)
      : ok_(true), value_(std::forward<U>(value)) {}  // NOLINT
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_(other.ok_) {
    if (ok_)
      std::construct_at(&value_, std::move(other.value_));
    else
      std::construct_at(&error_, std::move(other.error_));
  }
  Result& operator=(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this != &other) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  ~Result() {
    if (ok_)
      value_.~T();
    else
      error_.~Error();
  }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok(); }

  /// The value, which must be there: else the program ends, naming the error.
  T& value() & NNEX_LIFETIMEBOUND { return need_value(), value_; }
  const T& value() const& NNEX_LIFETIMEBOUND { return need_value(), value_; }
  T&& value() && NNEX_LIFETIMEBOUND { return need_value(), std::move(value_); }
  T& operator*() & NNEX_LIFETIMEBOUND { return value(); }
  const T& operator*() const& NNEX_LIFETIMEBOUND { return value(); }
  T&& operator*() && NNEX_LIFETIMEBOUND { return std::move(*this).value(); }
  T* operator->() NNEX_LIFETIMEBOUND { return &value(); }
  const T* operator->() const NNEX_LIFETIMEBOUND { return &value(); }
  T value_or(T other) && { return ok() ? std::move(*this).value() : std::move(other); }

  /// The error, which must be there: else the program ends.
  Error& error() & NNEX_LIFETIMEBOUND { return need_error(), error_; }
  const Error& error() const& NNEX_LIFETIMEBOUND { return need_error(), error_; }
  Error&& error() && NNEX_LIFETIMEBOUND { return need_error(), std::move(error_); }

 private:
  void need_value() const {
    if (!ok()) [[unlikely]]
      no_value(error_);
  }
  void need_error() const {
    if (ok()) [[unlikely]]
      no_error();
  }
  bool ok_;
  union {
    T value_;
    Error error_;
  };
};

/// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  /// An error that was moved elsewhere ends the program: nothing would tell it from success.
  Status(Error error) noexcept : error_(std::move(error)) {  // NOLINT: implicit on purpose
    if (!error_.body_) [[unlikely]]
      moved_error();
  }

  bool ok() const { return !error_.body_; }
  explicit operator bool() const { return ok(); }
  /// The error, which must be there: else the program ends.
  Error& error() & NNEX_LIFETIMEBOUND { return need_error(), error_; }
  const Error& error() const& NNEX_LIFETIMEBOUND { return need_error(), error_; }
  Error&& error() && NNEX_LIFETIMEBOUND { return need_error(), std::move(error_); }

 private:
  void need_error() const {
    if (ok()) [[unlikely]]
      no_error();
  }
  Error error_;
};

}  // namespace nnex
#pragma GCC visibility pop
