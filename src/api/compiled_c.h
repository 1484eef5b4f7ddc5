#pragma once
// A network that was written as C, compiled and called: what proves it.

#include <memory>
#include <string>

#include "api/prove.h"
#include "standards/c/write.h"

namespace nnex {

/// Compiles the source at `path` by the system's compiler (CC, else cc) into a library beside it, and loads that.
/// Errors: unsupported (no compiler can be started, or it makes no library of any source, or this system loads none),
/// internal (it does not compile), cancelled.
Result<std::unique_ptr<WrittenModel>> compile_c(const c_format::Written& model, const std::string& path,
                                                const RunOptions& run);

}  // namespace nnex
