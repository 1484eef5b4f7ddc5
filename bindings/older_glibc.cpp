/// What modules of Node.js and Python ask of glibc, by the names that glibc 2.28 has, as Node.js' own binaries and
/// wheels do: built on a system of today they would run on those of the last years alone. Each function stands here
/// under its own name, hidden, and hands on to the symbol of that age, which every later glibc keeps for programs built
/// then. The C++ library, which is inside, finds them too.
#include <features.h>

#ifdef __GLIBC__

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

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
// libpthread and libdl, which Node.js and Python link, became part of libc in 2.34.
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

// 2.30, for std::condition_variable::wait_for: the same on the clock of the day. Who waits looks at the time again, so
// that a clock which is set meanwhile makes it look early or late.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const timespec* until) {
  constexpr int64_t kSecond = 1'000'000'000;
  timespec now = {}, today = {};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &today);
  const int64_t nanoseconds = int64_t{until->tv_nsec} - now.tv_nsec + today.tv_nsec + 2 * kSecond;  // above 0
  timespec then;
  then.tv_sec = until->tv_sec - now.tv_sec + today.tv_sec - 2 + nanoseconds / kSecond;
  then.tv_nsec = nanoseconds % kSecond;
  return pthread_cond_timedwait(condition, mutex, &then);
}

// 2.32, for counts of shared pointers. Node always has more than one thread, and Python may have.
HIDDEN char __libc_single_threaded = 0;
}

#endif
