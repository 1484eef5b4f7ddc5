// Threads: JavaScript begins a worker on the same memory, which calls nnex_thread. What
// emscripten's own glue would do is here, as that glue wants a program with a page's globals around it.

#include <pthread.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "wire.h"

namespace nnex::wasm {
namespace {

constexpr int kStackBytes = 1 << 20;  // as much as the caller's

struct Start {
  pthread_t thread;
  void* (*entry)(void*);
  void* argument;
};

}  // namespace

extern "C" {

/// The linker's: sets this thread's variables to their first values, at an address.
void __wasm_init_tls(void* at);
/// Emscripten's: who this thread is. May it wait?
void _emscripten_thread_init(pthread_t thread, int is_main, int is_runtime, int may_wait, int profiled);
void _emscripten_thread_exit(void* result);

/// JavaScript's: begins a worker that sets its stack and calls nnex_thread(start). 0: there is none to be had.
__attribute__((import_module("env"), import_name("nnex_begin_thread"))) int nnex_begin_thread(const Start* start,
                                                                                              const void* stack);
}

namespace {

void init_variables() {
  const uintptr_t alignment = __builtin_wasm_tls_align();
  const auto block = reinterpret_cast<uintptr_t>(std::malloc(__builtin_wasm_tls_size() + alignment));
  if (!block) __builtin_trap();
  __wasm_init_tls(reinterpret_cast<void*>((block + alignment - 1) & ~(alignment - 1)));
}

/// The end of the stack that pthread_create() gave a thread, from which it grows down.
const void* stack_of(pthread_t thread) {
  pthread_attr_t attributes;
  void* from = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(thread, &attributes) != 0 || pthread_attr_getstack(&attributes, &from, &size) != 0)
    return nullptr;
  return static_cast<const char*>(from) + size;
}

}  // namespace

/// The worker's whole life.
NNEX_EXPORT void nnex_thread(Start* given) {
  const Start start = *given;
  _emscripten_thread_init(start.thread, false, false, true, false);
  init_variables();
  std::free(given);
  _emscripten_thread_exit(start.entry(start.argument));
}

// What musl's pthread_create() and start of a program ask for.
extern "C" {
int __pthread_create_js(pthread_t thread, const pthread_attr_t*, void* (*entry)(void*), void* argument) {
  const void* stack = stack_of(thread);
  auto* start = static_cast<Start*>(std::malloc(sizeof(Start)));
  if (!stack || !start) return EAGAIN;
  *start = {thread, entry, argument};
  if (nnex_begin_thread(start, stack)) return 0;
  std::free(start);
  return EAGAIN;
}
void __emscripten_init_main_thread_js(pthread_t thread) {
  _emscripten_thread_init(thread, false, false, true, false);
  init_variables();
}
int _emscripten_default_pthread_stack_size() { return kStackBytes; }
void __emscripten_thread_cleanup(pthread_t) {}  // workers end with their instance
void emscripten_check_blocking_allowed() {}
void emscripten_unwind_to_js_event_loop() { __builtin_trap(); }
}

}  // namespace nnex::wasm
