#pragma once
// Faults: what a checker found, all of it, up to a cap.

#include <vector>

#include "nnex/result.h"

namespace nnex {

/// Checkers append and go on; readers return their first Error instead.
class Faults {
 public:
  explicit Faults(size_t cap = 100) : cap_(cap) {}

  void add(Error e) {
    ++count_;
    if (faults_.size() < cap_) faults_.push_back(std::move(e));
  }
  /// Adds the error of a failed Status; whether it was fine.
  bool check(Status s) {
    if (s.ok()) return true;
    add(std::move(s).error());
    return false;
  }
  bool none() const { return count_ == 0; }
  /// All that were found, kept or not.
  size_t count() const { return count_; }
  const std::vector<Error>& list() const { return faults_; }
  /// The first fault, for callers that can report only one.
  Error first() && { return std::move(faults_.front()); }

 private:
  size_t cap_, count_ = 0;
  std::vector<Error> faults_;
};

}  // namespace nnex
