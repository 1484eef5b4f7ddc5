#pragma once
// What of WebNN the verb `ops` prints.

namespace nnex::cli {

/// Prints WebNN's opSupportLimits(): a table, or the dictionary itself. Returns the exit code.
int webnn_ops(bool json);

}  // namespace nnex::cli
