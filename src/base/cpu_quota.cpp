#include "base/cpu_quota.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace nnex {
namespace {

std::string read_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Whole processors of `quota` microseconds in each `period`; 0 = unlimited (text "max", "-1", missing or nonsense).
int processors(const std::string& quota, const std::string& period) {
  const int64_t q = std::strtoll(quota.c_str(), nullptr, 10), p = std::strtoll(period.c_str(), nullptr, 10);
  if (q <= 0 || p <= 0) return 0;
  return static_cast<int>(std::clamp<int64_t>(q / p + (q % p != 0), 1, 1 << 20));
}

int v1_limit(const std::string& folder) {
  return processors(read_line(folder + "/cpu.cfs_quota_us"), read_line(folder + "/cpu.cfs_period_us"));
}

int v2_limit(const std::string& folder) {
  std::istringstream line(read_line(folder + "/cpu.max"));
  std::string quota, period;
  line >> quota >> period;
  return processors(quota, period);
}

int smaller_limit(int a, int b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

/// The smallest limit of mount/a/b/c, mount/a/b, mount/a, mount.
int least_over_path(const std::string& mount, std::string path, int (*limit)(const std::string&)) {
  int least = limit(mount);
  while (path.size() > 1) {
    least = smaller_limit(least, limit(mount + path));
    path.resize(path.find_last_of('/'));
  }
  return least;
}

bool names_cpu(const std::string& controllers) { return ("," + controllers + ",").find(",cpu,") != std::string::npos; }

}  // namespace

int quota_threads(const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  int least = 0;
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/user/a" (v1), "0::/user/a" (v2)
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path.empty() || path[0] != '/') continue;
    if (controllers.empty()) {
      least = smaller_limit(least, least_over_path(mounts, path, v2_limit));
      least = smaller_limit(least, least_over_path(mounts + "/unified", path, v2_limit));
    } else if (names_cpu(controllers)) {
      for (const std::string& mount : {std::string("cpu"), controllers})
        least = smaller_limit(least, least_over_path(mounts + "/" + mount, path, v1_limit));
    }
  }
  return least;
}

}  // namespace nnex
