#pragma once
// Gas: what a chain charges for one inference (cvm.md section 6).

#include <span>

#include "nnex/shape.h"
#include "standards/cvm/read_symbol.h"

namespace nnex::cvm_format {

/// Adds up memory units (5 an element of every entry) and work units (an operator's base for each element of output 0).
class GasMeter {
 public:
  void add_entry(const Shape& shape) { memory_ += 5 * shape.count(); }
  /// `window`: elements of a pool's window, else 1. Errors: logic when an operator's base is above 2^30, or all work
  /// above 2^40.
  Status add_operator(std::string_view op, std::span<const Shape> in, const Shape& out, bool bias, int64_t window);
  /// Error: logic when memory units are above 2^40.
  Result<int64_t> total() const;

 private:
  int64_t memory_ = 0, work_ = 0;
};

}  // namespace nnex::cvm_format
