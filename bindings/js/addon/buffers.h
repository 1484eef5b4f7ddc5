#pragma once
// Memory that JavaScript is given.

#include <napi.h>

#include <new>
#include <string>

namespace nnex::js {

/// There is no memory for so many bytes.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(size_t bytes) : what_("no memory for " + std::to_string(bytes) + " bytes") {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

/// What make_buffer() needs of an environment; called once in each.
void prepare_buffers(Napi::Env env);

/// An ArrayBuffer of so many bytes, or NoMemory; asked by an addon for too many, V8 would end the process.
Napi::ArrayBuffer make_buffer(Napi::Env env, size_t bytes);

}  // namespace nnex::js
