#pragma once
/// Integer networks of CVM: what the original runtime's interface tells of a model and hands out, beside Model and
/// Session, which load and run such a network as any other.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/model.h"

#pragma GCC visibility push(default)
namespace nnex {

/// What a model's files say beside its nodes.
struct CvmFacts {
  std::string version;             ///< "cvm_1.0.0" or "cvm_1.1.0".
  std::string postprocess;         ///< "", "argmax" or "detection".
  int64_t gas = 0;                 ///< Memory and work units together, as the original charges them.
  int64_t storage_bytes = 0;       ///< Of the file's own storage plan (which this engine does not follow).
  int64_t input_bits = 0;          ///< Precision p of `data`, 1 to 32: a run clamps it to +-(2^(p-1) - 1).
  std::vector<int64_t> head_bits;  ///< Precision of each output.
  int64_t input_width = 0;         ///< Bytes an element of the input: 1 up to 8 bits, else 4.
  int64_t output_width = 0;        ///< Bytes an element handed out: 1 when every output has 8 bits or fewer and there
                                   ///< is no postprocess, else 4.
};

/// Whose fault a refused model is: a chain keeps the fee for the model's own.
enum class CvmBlame : uint8_t { none = 0, logic = 1, runtime = 2 };

/// The facts of a model that was loaded from CVM's files, or from a file that was made of such a model and keeps them;
/// nothing for any other.
std::optional<CvmFacts> cvm_facts(const Model& model);

/// Loads a model from its two files in memory; both may end afterwards. Errors: those of Model::load; cvm_blame() tells
/// the class of one about the files.
Result<Model> load_cvm(std::string_view symbol, std::string_view params, const LoadOptions& options = {});

/// The gas of the network that a symbol file describes; every check that needs no parameters is made. Errors: as of
/// load_cvm.
Result<int64_t> cvm_gas(std::string_view symbol);

/// The class of an error of loading.
CvmBlame cvm_blame(const Error& error);

/// What the params file holds of the input itself; nothing where it holds none.
std::optional<Value> cvm_initial_input(const Model& model);

/// The input from the bytes the original runtime takes: input_width signed bytes an element, little endian, row by row.
/// Errors: invalid_argument (no model of CVM; a length other than that of the input: found and needed).
Result<Value> cvm_input(const Model& model, std::string_view bytes);

/// The bytes the original runtime hands out for a run's outputs, after the model's postprocess: output_width bytes an
/// element, little endian. One head: its elements row by row. Several: for each row, that row of every head. "argmax":
/// of each row of the first head the index of the first largest low byte.
/// Errors: invalid_argument (no model of CVM, no outputs), invalid_model (heads of different rows meet).
Result<std::string> cvm_output_bytes(const Model& model, std::span<const Value> outputs);

}  // namespace nnex
#pragma GCC visibility pop
