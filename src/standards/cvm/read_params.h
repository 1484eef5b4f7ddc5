#pragma once
// The `params` file of a CVM model: named int8 or int32 tensors (cvm.md section 3).

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "nnex/tensor.h"
#include "standards/cvm/read_symbol.h"

namespace nnex::cvm_format {

/// Whether the bytes begin as a list of parameters does.
bool begins_params(std::string_view bytes);

struct Param {
  std::string name;
  Tensor tensor;  ///< i8 or i32, in the file's memory, at any alignment.
};

/// Reads a file tensor by tensor, in its order; bytes after the last are ignored. What is wrong with the list is a
/// logic error. What keeps a tensor from being read (magic, sizes, a file that ends) is a runtime error, as the
/// reference loader has it; a negative number of axes and an element type other than int8 and int32 are logic errors.
class ParamReader {
 public:
  /// `bytes` must outlive the tensors, or `owner` keep them alive.
  static Result<ParamReader> open(std::string_view bytes, std::shared_ptr<const void> owner);

  bool at_end() const { return next_ == names_.size(); }
  /// Of the next tensor.
  const std::string& name() const { return names_[next_]; }
  Result<Param> next();

 private:
  ParamReader(std::string_view bytes, std::shared_ptr<const void> owner) : reader_(bytes), owner_(std::move(owner)) {}
  Result<Tensor> tensor();

  ByteReader reader_;
  std::shared_ptr<const void> owner_;
  std::vector<std::string> names_;
  size_t next_ = 0;
};

std::string write_params(const std::vector<Param>& params);

/// Numbers for a parameter that comes without: within its bits, the same from the same name and seed; i8 to 8 bits.
/// Errors: those of Tensor::make.
Result<Param> seeded_param(std::string name, const Shape& shape, int64_t bits, uint64_t seed);

}  // namespace nnex::cvm_format
