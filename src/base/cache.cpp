#include "base/cache.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/system_text.h"

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace nnex {
namespace {

/// 0 where the system does not tell. Linux tells what a processor shares with its neighbours; the C library's sysconf
/// gives, on some machines, the sum of a whole package.
int64_t asked() {
  int64_t bytes = 0;
#if defined(__linux__)
  for (int level = 0; level < 8; ++level) {
    const std::string size = system_text("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(level) + "/size");
    if (size.empty()) break;
    char* unit = nullptr;
    const int64_t number = std::strtoll(size.c_str(), &unit, 10);
    if (number > 0 && (*unit == 'K' || *unit == 'M')) bytes = std::max(bytes, number << (*unit == 'K' ? 10 : 20));
  }
#elif defined(__APPLE__)
  size_t size = sizeof bytes;
  if (sysctlbyname("hw.l2cachesize", &bytes, &size, nullptr, 0) != 0 || size != sizeof bytes) bytes = 0;
#endif
  return bytes;
}

}  // namespace

int64_t cache_bytes() {
  static const int64_t bytes = [] {
    constexpr int64_t kUsual = int64_t{8} << 20, kLargest = int64_t{32} << 20;
    const int64_t found = asked();
    return found > 0 ? std::min(found, kLargest) : kUsual;
  }();
  return bytes;
}

}  // namespace nnex
