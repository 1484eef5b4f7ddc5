#pragma once
// What this process is writing and what has no name of its own yet, and who works for it: a program that ends at once
// finds them here.

#include <mutex>
#include <string>
#include <utility>

#include "nnex/result.h"

namespace nnex {

/// While it is held nothing is made and nothing gets its name, so that what is listed is what is there.
class UnfinishedLock {
 public:
  UnfinishedLock();
  void add(const std::string& path);
  void drop(const std::string& path);
  /// A group of processes that works for this one, by its leader's id, until it is reaped: it ends with the program.
  void add_group(int group);
  void drop_group(int group);

 private:
  std::unique_lock<std::mutex> lock_;
};

/// An empty folder beside `path` that nobody else has, made as mkdir() makes one. It goes with all that is in it,
/// unless it gets another name. Moves only.
class FolderBeside {
 public:
  /// Error: unreadable "cannot make a folder beside 'x/y': there is no folder 'x'".
  static Result<FolderBeside> make(std::string path);
  FolderBeside(FolderBeside&& other) noexcept : made_(std::exchange(other.made_, {})) {}
  FolderBeside& operator=(FolderBeside&& other) noexcept {
    made_.swap(other.made_);
    return *this;
  }
  ~FolderBeside();

  const std::string& path() const { return made_; }
  /// Gives it a name, which nothing may have but an empty folder. Error: unreadable.
  Status rename(const std::string& path);

 private:
  explicit FolderBeside(std::string made) : made_(std::move(made)) {}
  std::string made_;
};

}  // namespace nnex
