#pragma once
// What the machine and the control groups of this process leave it.
//
// Groups are read from the process's own up to the root, version 1 and 2, and the smallest limit counts. A group that
// cannot be read (a container sees the host's path) counts as unlimited; its parents are still read. `root` stands
// before /proc and /sys (tests give a folder of their own).

#include <cstdint>
#include <string>

#include "nnex/environment.h"

namespace nnex {

/// Processors allowed by the quota (cpu.cfs_quota_us, cpu.max), rounded up; 0 when nothing limits.
int quota_threads(const std::string& root = "");

/// Bytes allowed by the limit (memory.limit_in_bytes, memory.max); 0 when nothing limits.
int64_t quota_memory(const std::string& root = "");

}  // namespace nnex
