#pragma once
// --timeout: what takes longer ends.

#include <memory>

#include "nnex/model.h"
#include "shared/command_line.h"

namespace nnex::cli {

void add_timeout(Verb verb, double& seconds);

/// While it lives, the program may take so many seconds; then it ends with a sentence and kRefused. Runs that are given
/// run_options() stop between two nodes; whatever else is under way then (a file being read, one long node) is not
/// waited for. End it before files are written. 0 seconds: no limit.
class TimeLimit {
 public:
  explicit TimeLimit(double seconds);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  const RunOptions& run_options() const { return options_; }
  /// Prints the error of a run and gives its exit code; one of time with the limit.
  int report(const Error& error) const;

 private:
  struct Watch;
  double seconds_;
  RunOptions options_;
  std::unique_ptr<Watch> watch_;
};

}  // namespace nnex::cli
