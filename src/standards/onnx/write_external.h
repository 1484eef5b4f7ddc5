#pragma once
// The file beside a model that has its large tensors.

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "nnex/tensor.h"
#include "standards/onnx/write_wire.h"

namespace nnex::onnx_format {

/// A StringStringEntryProto.
wire::Message entry_message(std::string_view key, std::string_view value);

class ExternalWriter {
 public:
  /// `name`: of the file, beside the model; empty: there is none.
  explicit ExternalWriter(std::string name) : name_(std::move(name)) {}

  /// Whether a tensor goes there: of 1 KiB and more, and no strings.
  bool takes(const Tensor& t) const;
  /// Puts the elements at the file's end, from a page's start on, and says in the TensorProto where. They are not
  /// copied.
  void place(const Tensor& t, wire::Message& tensor);
  /// The file, piece by piece.
  std::vector<std::string_view>& pieces() { return pieces_; }
  /// The files that pieces are of.
  const std::set<const MappedFile*>& files() const { return files_; }

 private:
  std::string name_;
  uint64_t size_ = 0;
  std::vector<std::string_view> pieces_;
  std::set<const MappedFile*> files_;
};

}  // namespace nnex::onnx_format
