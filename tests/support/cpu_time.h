#pragma once
// Processor time: what a computation costs, however busy the machine is with others.

#include <ctime>

namespace nnex::test {

/// Seconds of processor time that this process has taken so far, all its threads together.
inline double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace nnex::test
