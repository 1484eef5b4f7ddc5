#pragma once
// Files that a model names, opened by the rules of DESIGN section 6: only regular files beneath the model's folder, no
// links.

#include <string>
#include <utility>
#include <vector>

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

/// The parts of a relative path, "." left out; `what` names the path in messages.
/// Errors: invalid_model (absolute, empty, with a `..` component or a zero byte).
Result<std::vector<std::string>> path_parts(const std::string& what, const std::string& path);

/// Opens a file component by component, following no link anywhere beneath the folder. Nothing (-1) where there is no
/// such file. Errors: those of path_parts; unreadable (a link, not a regular file, a file of more than one name).
Result<Descriptor> open_beneath(const std::string& folder, const std::string& what, const std::string& path);

}  // namespace nnex
