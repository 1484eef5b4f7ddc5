#pragma once
/// What this build of nnex is, and what it may use of this machine.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "nnex/result.h"

#pragma GCC visibility push(default)
namespace nnex {

/// Threads this process may use: the affinity mask, cut by the cgroup (v1 and v2) processor quota, at least 1;
/// measured once.
int usable_threads();

/// Bytes of memory this process may hope for: the machine's, cut by the quota of its control group; measured once.
int64_t usable_memory();

/// Whether nnex knows what its environment variables ask for, which loading a model checks, too. Error:
/// invalid_argument (NNEX_ISA names no instruction set).
Status check_environment();

/// What `nnex env` tells.
struct Environment {
  std::string_view version;            ///< "0.1.0".
  std::string_view isa;                ///< The instruction set that runs take, where LoadOptions name no lower one.
  std::vector<std::string_view> isas;  ///< All that this build has and this machine can run, the lowest first.
  std::string_view byte_unit;          ///< What multiplies bytes there: "vnni", "amx" or "dotprod"; empty: vectors.
  size_t operators = 0;                ///< Rows of the operator table.
};
Environment environment();

/// What this machine can do at most, measured.
struct MachineLimits {
  int threads = 1;
  double f32_gmacs = 0;   ///< 10^9 multiply-adds a second of float32, operands in the first-level cache.
  double i8_gmacs = 0;    ///< Of bytes into int32.
  double memory_gbs = 0;  ///< 10^9 bytes a second that can be read from memory.
};
/// Measures for about `seconds`, with so many threads (0 or fewer: all that this process may use).
MachineLimits measure_machine(int threads = 0, double seconds = 0.3);

/// While it lives, tensors that this thread makes (Tensor::make, reading files of tensors) may hold so many bytes
/// together; making more is an Error of code limit. Scopes nest, the innermost counts. Of tensors that a run makes the
/// run's own limit decides (LoadOptions::memory_limit).
class MemoryLimit {
 public:
  /// 0 bytes or fewer: three quarters of usable_memory().
  explicit MemoryLimit(int64_t bytes = 0);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  struct [[gnu::visibility("hidden")]] Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nnex
#pragma GCC visibility pop
