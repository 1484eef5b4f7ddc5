#pragma once
// Other programs: what goes in, what comes out.

#include <string>
#include <vector>

#include "nnex/result.h"

namespace nnex::cli {

/// A program to run.
struct Program {
  std::string name;                ///< For messages.
  std::vector<std::string> words;  ///< The first is looked for in PATH.
};

/// Runs it, writes `input` to its standard input, and gives
/// what it prints; its standard error is ours. Errors: unsupported (this system starts no programs), unreadable (it
/// cannot be started, ended with another code than 0, or by a signal), limit (it printed more than `max_output` bytes,
/// and was stopped).
Result<std::string> run_program(const Program& program, const std::string& input, size_t max_output);

}  // namespace nnex::cli
