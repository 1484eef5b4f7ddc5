// What code built with WebAssembly's exceptions calls to find its handler. Emscripten 3.1.6 has it for programs with
// threads too, but keeps `__wasm_lpad_context` in each thread's own memory, where Debian's compiler does not look for
// it: there no handler is ever found. Here it stands once, which serves one thread that catches. That is so: JavaScript
// calls exports from one thread, and parts of work, which others do, throw nothing.

#include <cstdint>

namespace {

/// The head of every exception (the Itanium C++ ABI's _Unwind_Exception).
struct Exception {
  uint64_t kind;
  void (*cleanup)(int reason, Exception*);
};
/// Compiled code writes where it stands, and reads which of its handlers is meant.
struct Landing {
  uintptr_t index;
  const void* table;
  uintptr_t handler;
};
constexpr int kVersion = 1, kCleanupPhase = 2, kCaughtElsewhere = 1, kHandlerRegister = 1;

}  // namespace

extern "C" {

Landing __wasm_lpad_context;

int __gxx_personality_wasm0(int version, int phase, uint64_t kind, Exception* exception, Landing* at);

int _Unwind_CallPersonality(void* thrown) {
  auto* exception = static_cast<Exception*>(thrown);
  __wasm_lpad_context.handler = 0;
  return __gxx_personality_wasm0(kVersion, kCleanupPhase, exception->kind, exception, &__wasm_lpad_context);
}
int _Unwind_RaiseException(Exception* exception) { __builtin_wasm_throw(0, exception); }
void _Unwind_DeleteException(Exception* exception) {
  if (exception->cleanup) exception->cleanup(kCaughtElsewhere, exception);
}
void _Unwind_SetGR(Landing* at, int number, uintptr_t value) {
  if (number == kHandlerRegister) at->handler = value;
}
/// The personality takes 1 off, and counts from 1.
uintptr_t _Unwind_GetIP(const Landing* at) { return at->index + 2; }
const void* _Unwind_GetLanguageSpecificData(const Landing* at) { return at->table; }
void _Unwind_SetIP(Landing*, uintptr_t) {}
uintptr_t _Unwind_GetRegionStart(const Landing*) { return 0; }

}  // extern "C"
