#pragma once
// How many of a test's many like cases run. Where code is instrumented and not optimised, one in ten: each takes a
// hundred times as long there, and all of them run without. NNEX_TEST_SHARE=1 runs all, 100 one in a hundred.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace nnex::test {

inline int64_t share() {
  if (const char* wish = std::getenv("NNEX_TEST_SHARE")) return std::max(std::strtoll(wish, nullptr, 10), 1LL);
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return 10;
#endif
#endif
  return 1;
}

/// Of n like cases, so many.
inline int64_t some_of(int64_t n) { return std::max<int64_t>(n / share(), 1); }

}  // namespace nnex::test
