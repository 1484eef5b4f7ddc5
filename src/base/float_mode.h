#pragma once
// The floating-point mode every run computes in, whatever mode the caller's thread was in.

#include <cstdint>

namespace nnex {

/// While it lives, this thread rounds to nearest and keeps subnormals (no flush to zero, no denormals-are-zero), with
/// all floating-point exceptions masked; the caller's mode comes back when it ends. Register: MXCSR on x86, FPCR on
/// 64-bit Arm, nothing elsewhere (WebAssembly has only this mode).
class FloatMode {
 public:
  FloatMode();
  ~FloatMode();
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  uint64_t saved_ = 0;
};

}  // namespace nnex
