#pragma once
// What the verbs share: exit codes, output, inputs from files.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/try.h"
#include "nnex/model.h"

namespace CLI {
class App;
}

namespace nnex::cli {

using Json = nlohmann::ordered_json;

/// Exit codes (DESIGN section 7).
enum Exit : int { kOk = 0, kNegative = 1, kUsage = 2, kRefused = 3, kUnsupported = 4, kBug = 70 };

/// Prints an error for people and gives its exit code.
int report(const Error& error);

// One function a verb: adds its options to the command line, and runs when it is chosen.
void add_run(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_profile(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_ops(CLI::App& app, int& exit_code);
void add_env(CLI::App& app, int& exit_code);
void add_conform(CLI::App& app, int& exit_code);
void add_format(CLI::App& app, int& exit_code);
void add_convert(CLI::App& app, int& exit_code);

/// What a model may be, for help.
inline constexpr const char* kModelHelp =
    "The model: an .onnx or .webnn file; a folder, an archive (.tar, .tgz, .tar.gz) or the text (.nnef) of NNEF; a "
    "folder of CVM's symbol and params, or SYMBOL+PARAMS";

/// How a model is read: options of every verb that takes one.
struct ReadingOptions {
  std::vector<std::string> symbols;  ///< "N=4"
  std::string compat;                ///< Whose answers count: "formal" for CVM models.
  std::string dialect;               ///< Of NNEF: "standard", "tract".
  std::vector<std::string> shapes;   ///< "x=[1,3,224,224]"
  std::optional<uint64_t> weight_seed;
  bool expand_compounds = false;

  void add_to(CLI::App& verb);
  static void add_dialect(CLI::App& verb, std::string& dialect);
  static void add_compat(CLI::App& verb, std::string& compat);
  Result<LoadOptions> options() const;
};

/// Options of verbs that run one model.
struct ModelOptions : ReadingOptions {
  std::string path;
  int threads = 0;
  int memory_limit = 0;  ///< MiB
  bool no_optimize = false;

  void add_to(CLI::App& verb);
  Result<LoadOptions> options() const;
  Result<Model> load() const;
};

/// How a picture becomes a tensor.
struct Picture {
  std::string layout;  ///< "nchw", "nhwc"; empty: by the input's extents.
  std::vector<double> mean, scale;
  bool bgr = false;
};

/// The value of an input from a file: .npy, .npz (its one array, or the one of the input's name), .pb, .dat, .json,
/// .png, .jpg.
Result<Value> read_input(const std::string& path, const PortInfo& port, const Picture& picture);
/// Every array of a .npz file, by the name of the input it is for. Error: invalid_argument for a name no input has.
Result<std::map<std::string, Value>> read_all_inputs(const std::string& path, const std::vector<PortInfo>& ports);
/// Writes all outputs into one .npz file.
Status save_outputs(const std::string& path, const std::vector<PortInfo>& ports, const std::vector<Value>& values);
/// Writes a tensor: .npy, .npz, .pb, .dat or .json by the name's ending.
Status save_output(const std::string& path, const Value& value, const std::string& name);

/// Runs the session `steps` times, its states carried on. An input with one axis more than the model's is a sequence:
/// step t takes element t of the first axis; so is one whose first axis is `steps` times as long, cut into equal
/// parts. Any other input is the same in every step. Each output is the steps' results on a new first axis.
/// Errors: invalid_argument (a sequence of another length), the run's.
Result<std::vector<Value>> run_steps(Session& session, const std::vector<PortInfo>& ports,
                                     const std::vector<Value>& inputs, int64_t steps);

/// Writes a state's content to FOLDER/LABEL.dat. Errors: unreadable (a label that leads out of the folder, a file that
/// cannot be written), unsupported.
Status save_variable(const std::string& folder, const std::string& label, const Value& value);

/// A seeded random value of the port's type: reals in [0, 1), integers 0 or 1; where `bits` are declared, integers of
/// the whole range +-(2^(bits-1) - 1), one in sixteen an end of it or 0. Unknown extents become `unknown`.
Result<Value> random_input(const PortInfo& port, uint64_t seed, const std::map<std::string, int64_t>& symbols,
                           int64_t unknown, std::optional<int64_t> bits = {});
/// The bits that an integer network declares of its input (CVM); nothing where an integer may be an index.
std::optional<int64_t> bits_of(const Model& model);

}  // namespace nnex::cli
