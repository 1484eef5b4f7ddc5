#pragma once
// How extents that nobody knows are called while a model is read.

#include <cstdint>

namespace nnex {

/// While it lives, Dim::unknown() on this thread counts from 0, so that a model's names are the same in every process
/// and whatever was read before. Inside another one it does nothing. Numbers that are given out later, to graphs of
/// this scope too, are higher.
class UnknownNames {
 public:
  UnknownNames();
  ~UnknownNames();
  UnknownNames(const UnknownNames&) = delete;
  UnknownNames& operator=(const UnknownNames&) = delete;

 private:
  uint64_t next_ = 0;
  bool outermost_;
};

}  // namespace nnex
