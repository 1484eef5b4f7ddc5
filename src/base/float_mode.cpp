#include "base/float_mode.h"

#if defined(__SSE__) || defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace nnex {

#if defined(__SSE__) || defined(__x86_64__)
namespace {
constexpr unsigned kKnownMode = 0x1f80;  // all exceptions masked, round to nearest, FTZ and DAZ off, no sticky flags
}
// Writing MXCSR costs some 10 ns and drains nothing else; a thread already in the known mode (sticky flags aside) pays
// a read.
FloatMode::FloatMode() : saved_(_mm_getcsr()) {
  if ((saved_ & ~0x3fU) != kKnownMode) _mm_setcsr(kKnownMode);
}
FloatMode::~FloatMode() {
  if ((saved_ & ~0x3fU) != kKnownMode) _mm_setcsr(static_cast<unsigned>(saved_));
}
#elif defined(__aarch64__)
namespace {
constexpr uint64_t kModeBits = (uint64_t{3} << 22) | (uint64_t{1} << 24) | (uint64_t{1} << 19);  // RMode, FZ, FZ16
constexpr uint64_t kDefaultNan = uint64_t{1} << 25;
uint64_t read_fpcr() {
  uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
void write_fpcr(uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
}  // namespace
FloatMode::FloatMode() : saved_(read_fpcr()) {
  if (saved_ & (kModeBits | kDefaultNan)) write_fpcr(saved_ & ~(kModeBits | kDefaultNan));
}
FloatMode::~FloatMode() {
  if (saved_ & (kModeBits | kDefaultNan)) write_fpcr(saved_);
}
#else
FloatMode::FloatMode() = default;
FloatMode::~FloatMode() { (void)saved_; }
#endif

}  // namespace nnex
