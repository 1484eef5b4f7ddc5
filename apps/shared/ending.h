#pragma once
// How a program ends before its work is done: nothing that it was writing stays.

#include <string>
#include <utility>

#include "nnex/result.h"

namespace nnex::cli {

/// Descriptors 0, 1 and 2 that the program was started without lead nowhere, so that no file gets their number and
/// what is said to people.
void keep_standard_streams();

/// From here on SIGINT, SIGTERM and SIGHUP remove what is being written (nnex/unfinished.h) and scratch folders before
/// they end the program. One that is ignored stays so.
void clean_up_on_signals();

/// After clean_up_on_signals(): the same, but from here on the program ends with this exit code, not by the signal.
void end_on_signals_with(int exit_code);

/// Removes the same and ends the program.
[[noreturn]] void end_now(int exit_code);

/// A folder below the system's for temporary files. Moves only.
class ScratchFolder {
 public:
  /// Error: unreadable.
  static Result<ScratchFolder> make();
  ScratchFolder() = default;
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept {
    path_.swap(other.path_);
    return *this;
  }
  ~ScratchFolder() { remove(); }

  /// Empty: there is none.
  const std::string& path() const { return path_; }
  void remove();

 private:
  std::string path_;
};

}  // namespace nnex::cli
