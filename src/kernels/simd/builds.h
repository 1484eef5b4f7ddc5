#pragma once
// How loops.cpp finds the builds of a loop: one constant table for each, filled by the loop's own file. No libhwy is
// linked, any build can be called beside any other.

#include "kernels/simd/loops.h"

/// Stands after a loop file's last namespace, inside `#if HWY_ONCE` and namespace nnex::kernels::simd.
#define NNEX_SIMD_BUILDS(name)                                                                       \
  extern constinit const Builds<decltype(HWY_STATIC_DISPATCH(name))> name##_builds;                  \
  constinit const Builds<decltype(HWY_STATIC_DISPATCH(name))> name##_builds = {                      \
      {NNEX_SCALAR_BUILD(name), HWY_CHOOSE_SSE4(name), HWY_CHOOSE_AVX2(name), HWY_CHOOSE_AVX3(name), \
       HWY_CHOOSE_NEON(name), HWY_CHOOSE_WASM(name)}}

#define NNEX_SCALAR_BUILD(name) NNEX_SCALAR_BUILD_(name)
#if defined(HWY_TARGETS)
#if HWY_TARGETS & HWY_EMU128
#define NNEX_SCALAR_BUILD_(name) &N_EMU128::name
#elif HWY_TARGETS & HWY_SCALAR
#define NNEX_SCALAR_BUILD_(name) &N_SCALAR::name
#else
#define NNEX_SCALAR_BUILD_(name) nullptr
#endif
#endif
