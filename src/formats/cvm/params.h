#pragma once
// The `params` file of a CVM model: named int8 or int32 tensors (cvm.md section 3).

#include <string>
#include <string_view>
#include <vector>

#include "formats/cvm/symbol.h"
#include "nnex/tensor.h"

namespace nnex::cvm_format {

struct Param {
  std::string name;
  Tensor tensor;  ///< i8 or i32, in the file's memory, at any alignment.
};

/// Reads the list in the file's order; bytes after the last tensor are ignored. `bytes` must outlive the tensors, or
/// `owner` keep them alive. Errors: logic for a list that is no such list, counts that differ, a type other than int8
/// and int32, a shape beyond the limits, a tensor cut short; runtime for a tensor whose header or declared size is
/// wrong.
Result<std::vector<Param>> read_params(std::string_view bytes, std::shared_ptr<const void> owner);
std::string write_params(const std::vector<Param>& params);

/// Numbers for a parameter that comes without: within its bits, the same from the same name and seed; i8 to 8 bits.
/// Errors: those of Tensor::make.
Result<Param> seeded_param(std::string name, const Shape& shape, int64_t bits, uint64_t seed);

}  // namespace nnex::cvm_format
