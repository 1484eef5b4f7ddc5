#pragma once
// Files that a model names, opened once for every reader: only regular files below the model's folder, no
// links.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "nnex/result.h"

namespace nnex {

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }

 private:
  int number_;
};

/// The parts of a relative path, "." left out, and a part that `..` follows: so no link decides where `..` leads.
/// `what` names the path in messages. Errors: invalid_model (absolute, empty, beyond where it begins, or with a zero
/// byte).
Result<std::vector<std::string>> path_parts(const std::string& what, const std::string& path);

/// Opens a file component by component, following no link anywhere below the folder. Nothing (-1) where there is no
/// such file. Errors: those of path_parts; unreadable (a link, not a regular file, a file of more than one name).
Result<Descriptor> open_below(const std::string& folder, const std::string& what, const std::string& path);

/// Where a model whose own name is a link lies itself, as caches of downloads have it: the folder, with its slash.
/// Empty: the name is no link.
std::string home_of(const std::string& path);

/// The files of one folder that a model names: each is copied or mapped once while somebody holds it, however often and
/// in whatever spelling it is named. Threads may share it.
class FolderFiles {
 public:
  /// `home`: that of the model (home_of): links that lead to a file there are followed, too.
  explicit FolderFiles(std::string folder, MapPolicy policy = MapPolicy::automatic,
                       std::shared_ptr<MemoryAccount> memory = nullptr, std::string home = {})
      : folder_(std::move(folder)), home_(std::move(home)), policy_(policy), memory_(std::move(memory)) {}

  /// Null where there is no such file; `shown` is its name in messages. Errors: those of a path that leads out of the
  /// folder, and of MappedFile.
  Result<std::shared_ptr<const MappedFile>> open(const std::string& what, const std::string& path,
                                                 const std::string& shown);

 private:
  Result<Descriptor> descriptor(const std::string& what, const std::string& path) const;

  std::string folder_, home_;
  MapPolicy policy_;
  std::shared_ptr<MemoryAccount> memory_;
  std::mutex mutex_;
  std::map<std::vector<std::string>, std::weak_ptr<const MappedFile>> open_;  ///< By the parts of its path.
};

}  // namespace nnex
