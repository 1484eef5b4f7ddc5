#pragma once
// Memory that JavaScript is given.

#include <napi.h>

#include <new>
#include <string>

#include "nnex/tensor.h"

namespace nnex::js {

/// There is no memory, or no array of JavaScript's, for so many bytes.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(size_t bytes) : NoMemory("no memory for " + std::to_string(bytes) + " bytes") {}
  explicit NoMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// How JavaScript goes on with what it is given.
enum class Handing : uint8_t {
  in_turn,  ///< By a task of the event loop.
  at_once   ///< Within the call: garbage collection alone does not give memory of ours back, the next task does.
};

/// What the functions below need of an environment; called once in each.
void prepare_buffers(Napi::Env env);

/// An ArrayBuffer of so many bytes, or NoMemory; asked by an addon for too many, V8 would end the process.
Napi::ArrayBuffer make_buffer(Napi::Env env, size_t bytes);

/// An ArrayBuffer of the tensor's bytes, or NoMemory: its own memory where it is much and nobody else's, else a copy.
/// What was handed out at once and is not given back is bounded, by copies.
Napi::Value buffer_of(Napi::Env env, Tensor tensor, Handing handing);

/// The typed array of a whole buffer, or NoMemory where JavaScript has none so long.
Napi::Value view_of(Napi::Env env, napi_typedarray_type type, size_t length, napi_value buffer);

}  // namespace nnex::js
