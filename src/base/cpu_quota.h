#pragma once
// How many processors the control groups of this process leave it.

#include <string>

namespace nnex {

/// Processors allowed by the cgroup quota (v1 cpu.cfs_quota_us, v2 cpu.max), the smallest found from the process's own
/// group up to the root, rounded up; 0 when nothing limits. `root` stands before /proc and /sys (tests give a folder of
/// their own). A group that cannot be read (a container sees the host's path) counts as unlimited; its parents are
/// still read.
int quota_threads(const std::string& root = "");

}  // namespace nnex
