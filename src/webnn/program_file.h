#pragma once
// Programs in files (docs/webnn-file.md): a .webnn text with its weights beside it, and JavaScript modules.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/container.h"
#include "webnn/program.h"

namespace nnex::ml {

/// A file of weights: constants one after another, each from a multiple of 64 bytes on. Constants of rank 0 stand in
/// the text instead.
class WeightFile {
 public:
  explicit WeightFile(const Program& program);

  bool empty() const { return tensors_.empty(); }
  /// Where constant `r` of the program begins; it must not be of rank 0.
  uint64_t offset(Ref r) const { return offsets_[static_cast<size_t>(r.n)]; }
  nnex::Status save(const std::string& path) const;

 private:
  std::vector<uint64_t> offsets_;  ///< By operand.
  std::vector<std::pair<uint64_t, nnex::Tensor>> tensors_;
};

/// The .webnn text; `weights_name` is the file beside it, named where there is one.
std::string program_text(const Program& program, const WeightFile& weights, const std::string& weights_name);
/// The JavaScript module. Error: unsupported (a 4-bit type, which the interface does not have).
nnex::Result<std::string> module_text(const Program& program, const WeightFile& weights,
                                      const std::string& weights_name);

/// Writes PATH (a module where it ends in .mjs) and, where there are weights, NAME.weights beside it.
nnex::Status save_program(const Program& program, const std::string& path);

/// The program of a text; `weights` gives the bytes of the file of that name. Lengths are checked against the bytes
/// that are there. Errors: invalid_model, naming the operation or operand; those of `weights`.
nnex::Result<Program> read_program(std::string_view text,
                                   const std::function<nnex::Result<FileBytes>(const std::string&)>& weights);
/// Reads PATH and the weights beside it. Errors: unreadable; those of read_program.
nnex::Result<Program> load_program(const std::string& path, MapPolicy map = MapPolicy::automatic);

}  // namespace nnex::ml
