#pragma once
// Faults: what a checker found, all of it, up to a cap.

#include <set>
#include <string>
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
  /// Takes over the faults of another list, but for those at places that have one already.
  void add_elsewhere(Faults&& other) {
    std::set<std::string> known;
    for (const Error& e : faults_)
      if (!e.where().empty()) known.insert(e.where());
    for (Error& e : other.faults_)
      if (!known.count(e.where())) add(std::move(e));
  }
  bool none() const { return count_ == 0; }
  /// All that were found, kept or not.
  size_t count() const { return count_; }
  const std::vector<Error>& list() const { return faults_; }
  /// The first fault, for callers that can report only one.
  Error first() && { return std::move(faults_.front()); }
  /// All that were kept.
  std::vector<Error> take() && { return std::move(faults_); }

 private:
  size_t cap_, count_ = 0;
  std::vector<Error> faults_;
};

}  // namespace nnex
