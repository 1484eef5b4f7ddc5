#include "base/quota.h"

#if defined(__unix__)
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "base/built.h"
#include "base/system_text.h"

namespace nnex {
namespace {

std::string first_line(const std::string& path) {
  const std::string text = system_text(path);
  std::string_view rest = text;
  return std::string(take_line(rest));
}

/// Whole processors of `quota` microseconds in each `period`; 0 = unlimited (text "max", "-1", missing or nonsense).
int processors(const std::string& quota, const std::string& period) {
  const int64_t q = std::strtoll(quota.c_str(), nullptr, 10), p = std::strtoll(period.c_str(), nullptr, 10);
  if (q <= 0 || p <= 0) return 0;
  return static_cast<int>(std::clamp<int64_t>(q / p + (q % p != 0), 1, 1 << 20));
}

int64_t cpu_v1(const std::string& folder) {
  return processors(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
}

int64_t cpu_v2(const std::string& folder) {
  const std::string line = first_line(folder + "/cpu.max");
  std::string_view rest = line;
  const std::string quota(take_word(rest)), period(take_word(rest));
  return processors(quota, period);
}

/// Bytes; 0 = unlimited (text "max", numbers near the largest, missing or nonsense).
int64_t bytes_in(const std::string& file) {
  const int64_t n = std::strtoll(first_line(file).c_str(), nullptr, 10);
  return n > 0 && n < int64_t{1} << 60 ? n : 0;
}

int64_t memory_v1(const std::string& folder) { return bytes_in(folder + "/memory.limit_in_bytes"); }
int64_t memory_v2(const std::string& folder) { return bytes_in(folder + "/memory.max"); }

int64_t smaller_limit(int64_t a, int64_t b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

using Limit = int64_t (*)(const std::string& folder);

/// The smallest limit of mount/a/b/c, mount/a/b, mount/a, mount.
int64_t min_over_path(const std::string& mount, std::string path, Limit limit) {
  int64_t min = limit(mount);
  while (path.size() > 1) {
    min = smaller_limit(min, limit(mount + path));
    path.resize(path.find_last_of('/'));
  }
  return min;
}

/// The smallest limit of a controller over this process's groups; 0 = unlimited.
int64_t min_of_groups(const std::string& root, const std::string& controller, Limit v1, Limit v2) {
  if (!kOpensFiles) return 0;
  const std::string mounts = root + "/sys/fs/cgroup";
  const std::string groups = system_text(root + "/proc/self/cgroup");
  int64_t min = 0;
  for (std::string_view rest = groups; !rest.empty();) {  // "4:cpu,cpuacct:/user/a" (v1), "0::/user/a" (v2)
    const std::string line(take_line(rest));
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers.empty()) {
      min = smaller_limit(min, min_over_path(mounts, path, v2));
      min = smaller_limit(min, min_over_path(mounts + "/unified", path, v2));
    } else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos) {
      for (const std::string& mount : {controller, controllers})
        min = smaller_limit(min, min_over_path(mounts + "/" + mount, path, v1));
    }
  }
  return min;
}

}  // namespace

int quota_threads(const std::string& root) { return static_cast<int>(min_of_groups(root, "cpu", cpu_v1, cpu_v2)); }

int64_t quota_memory(const std::string& root) { return min_of_groups(root, "memory", memory_v1, memory_v2); }

int64_t usable_memory() {
  static const int64_t bytes = [] {
    int64_t machine = int64_t{4} << 30;  // where nobody can be asked: what a WebAssembly module may have
#if defined(__unix__) && defined(_SC_PHYS_PAGES) && !defined(__EMSCRIPTEN__)  // which counts what it has so far
    const int64_t pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) machine = pages * page;
#endif
    return smaller_limit(machine, quota_memory());
  }();
  return bytes;
}

}  // namespace nnex
