#pragma once
// Programs in files (docs/webnn-file.md): a .webnn text with its weights beside it, JavaScript modules and scripts.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "standards/container.h"
#include "standards/webnn/program.h"

namespace nnex::ml {

/// A file of weights: constants one after another, each from a multiple of 64 bytes on. Constants of rank 0 stand in
/// the text instead.
class WeightFile {
 public:
  explicit WeightFile(const Program& program);

  bool empty() const { return tensors_.empty(); }
  /// Where constant `r` of the program begins; it must not be of rank 0.
  uint64_t offset(Ref r) const { return offsets_[static_cast<size_t>(r.n)]; }
  uint64_t size() const;
  std::string bytes() const;
  /// The file's bytes in order, until `piece` fails.
  nnex::Status each(const std::function<nnex::Status(std::string_view)>& piece) const;
  /// Whether the file at `path` has these bytes already: a program and its module share their weights.
  bool is_in(const std::string& path) const;

 private:
  std::vector<uint64_t> offsets_;  ///< By operand.
  std::vector<std::pair<uint64_t, nnex::Tensor>> tensors_;
};

/// The .webnn text; `weights_name` is the file beside it, named where there is one.
std::string program_text(const Program& program, const WeightFile& weights, const std::string& weights_name);
/// The JavaScript module. Error: unsupported (a 4-bit type, which the interface does not have).
nnex::Result<std::string> module_text(const Program& program, const WeightFile& weights,
                                      const std::string& weights_name);
/// The JavaScript script, which carries the weights and leaves what a module exports in nnexModels[`script_name`]: what
/// a page from a disk can load. Errors: as of module_text; limit (too many weights).
nnex::Result<std::string> script_text(const Program& program, const WeightFile& weights,
                                      const std::string& script_name);

/// Writes PATH (a module where it ends in .mjs, a script where it ends in .js) and, where there are weights,
/// NAME.weights beside it; a script carries them. Errors: those of may_write; unreadable.
nnex::Status save_program(const Program& program, const std::string& path, Existing existing = Existing::refuse);

/// The program of a text; `weights` gives the bytes of the file of that name. Lengths are checked against the bytes
/// that are there. Errors: invalid_model, naming the operation or operand; those of `weights`.
nnex::Result<Program> read_program(std::string_view text,
                                   const std::function<nnex::Result<FileBytes>(const std::string&)>& weights);
/// The same; the weights are a file of `beside`. The error is at `place`.
nnex::Result<Program> read_program(std::string_view text, const std::string& place, const Container& beside);
/// Reads PATH and the weights beside it; copies are counted by the account (none: one of their own). Errors:
/// unreadable, limit; those of read_program.
nnex::Result<Program> load_program(const std::string& path, MapPolicy map = MapPolicy::automatic,
                                   std::shared_ptr<MemoryAccount> memory = nullptr);

}  // namespace nnex::ml
