#pragma once
// Where exceptions end.

#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/float_mode.h"
#include "nnex/result.h"

namespace nnex {

/// Thrown where memory is missing and no Error can be returned: guarded() makes an Error of its sentence.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::string why) : why_(std::make_shared<const std::string>(std::move(why))) {}
  const char* what() const noexcept override { return why_->c_str(); }

 private:
  std::shared_ptr<const std::string> why_;  // exceptions are copied without throwing
};

/// In a handler of std::bad_alloc: "out of memory", or what a NoMemory says.
std::string out_of_memory();

/// Runs f, in the floating-point mode of every run: what is computed with a model's constants is no other where a host
/// rounds its own way. What the standard library or a third party throws becomes an Error, once.
template <class F>
auto guarded(F&& f) -> decltype(f()) {
  const FloatMode mode;
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Error(Code::limit, out_of_memory());
  } catch (const std::length_error&) {
    return Error(Code::limit, "more items than memory can hold");
  } catch (const std::exception& e) {
    return Error(Code::internal, e.what());
  }
}

/// Calls a function of the host program: what it throws becomes the Error that `failed` makes of a code (fault, or
/// limit where memory was missing) and a sentence.
template <class F, class Failed>
auto called(F&& f, Failed&& failed) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return failed(Code::limit, "out of memory");
  } catch (const std::exception& e) {
    return failed(Code::fault, e.what());
  } catch (...) {
    return failed(Code::fault, "the host threw what is no std::exception");
  }
}

/// The same function of the host, whose exceptions become faults "while `doing`"; none where there is none.
template <class R, class... A>
std::function<R(A...)> caught(std::function<R(A...)> f, std::string doing) {
  if (!f) return f;
  return [f = std::move(f), doing = std::move(doing)](A... args) -> R {
    return called([&] { return f(std::forward<A>(args)...); },
                  [&](Code code, const char* what) { return Error(code, what).during(doing); });
  };
}

}  // namespace nnex
