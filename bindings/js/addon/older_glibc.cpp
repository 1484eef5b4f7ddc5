/// What the addon asks of glibc, by the names that glibc 2.28 has, as Node.js' own binaries do: built on a system of
/// today it would run on those of the last years alone. Each function stands here under its own name, hidden, and hands
/// on to the symbol of that age, which every later glibc keeps for programs built then. The C++ library, which is
/// inside the addon, finds them too.
#include <features.h>

#ifdef __GLIBC__

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#define BASE "GLIBC_2.2.5"
#define JUMP(symbol) "jmp *" symbol "@GOTPCREL(%rip)"
constexpr int kStatVersion = 1;
#elif defined(__aarch64__)
#define BASE "GLIBC_2.17"
#define JUMP(symbol) "b " symbol
constexpr int kStatVersion = 0;
#else
#error "older_glibc.cpp: the oldest version of glibc on this processor is missing"
#endif

/// NAME, of whatever arguments, is glibc's NAME of the first version.
#define HAND_ON(name)                                                                                               \
  __asm__(".symver of_glibc_" #name "," #name "@" BASE "\n.text\n.globl " #name "\n.hidden " #name "\n.type " #name \
          ",%function\n" #name ": " JUMP("of_glibc_" #name) "\n.size " #name ",.-" #name)

// libm had these anew in 2.29, without the wrapper that sets errno.
HAND_ON(exp);
HAND_ON(exp2);
HAND_ON(log);
HAND_ON(log2);
HAND_ON(pow);
// libpthread and libdl, which Node links, became part of libc in 2.34.
HAND_ON(__pthread_key_create);
HAND_ON(pthread_create);
HAND_ON(pthread_detach);
HAND_ON(pthread_getspecific);
HAND_ON(pthread_join);
HAND_ON(pthread_key_create);
HAND_ON(pthread_key_delete);
HAND_ON(pthread_once);
HAND_ON(pthread_setspecific);
HAND_ON(dlclose);
HAND_ON(dlerror);
HAND_ON(dlopen);
HAND_ON(dlsym);

__asm__(".symver of_glibc_stat,__xstat@" BASE);
__asm__(".symver of_glibc_lstat,__lxstat@" BASE);
__asm__(".symver of_glibc_fstat,__fxstat@" BASE);

extern "C" {
int of_glibc_stat(int version, const char* path, void* out);
int of_glibc_lstat(int version, const char* path, void* out);
int of_glibc_fstat(int version, int file, void* out);
int getentropy(void* buffer, size_t length);
[[noreturn]] void abort();

#define HIDDEN __attribute__((visibility("hidden")))

// The status of files had functions in 2.33; before, headers called these with the number of the structure.
HIDDEN int stat(const char* path, void* out) { return of_glibc_stat(kStatVersion, path, out); }
HIDDEN int lstat(const char* path, void* out) { return of_glibc_lstat(kStatVersion, path, out); }
HIDDEN int fstat(int file, void* out) { return of_glibc_fstat(kStatVersion, file, out); }
HIDDEN int fstat64(int file, void* out) { return of_glibc_fstat(kStatVersion, file, out); }

// 2.36, for std::random_device.
HIDDEN uint32_t arc4random() {
  uint32_t number;
  if (getentropy(&number, sizeof number)) abort();
  return number;
}

// 2.32, for counts of shared pointers. Node always has more than one thread.
HIDDEN char __libc_single_threaded = 0;
}

#endif
