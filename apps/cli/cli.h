#pragma once
// What the verbs share: exit codes, output, inputs from files.

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nnex/input_file.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/source.h"
#include "shared/command_line.h"
#include "shared/ending.h"
#include "shared/json.h"
#include "shared/random_input.h"
#include "shared/reading.h"
#include "shared/say.h"
#include "shared/try.h"

namespace nnex::cli {

// One function a verb: adds it to the command line with its options.
void add_run(CommandLine& line);
void add_bench(CommandLine& line);
void add_profile(CommandLine& line);
void add_serve(CommandLine& line);
void add_batch(CommandLine& line);
void add_inspect(CommandLine& line);
void add_check(CommandLine& line);
void add_dump(CommandLine& line);
void add_ops(CommandLine& line);
void add_env(CommandLine& line);
void add_conform(CommandLine& line);
void add_format(CommandLine& line);
void add_convert(CommandLine& line);
void add_compare(CommandLine& line);
void add_quantize(CommandLine& line);
void add_view(CommandLine& line);
void add_why(CommandLine& line);
void add_completion(CommandLine& line);
void add_help(CommandLine& line);

/// Runs the program that `nnex conform` stands for, with the words after it: nnex-conform beside this one, else in
/// PATH. The exit code, where that program is not there or this system starts none; nothing where it is help that was
/// asked for, which this program has, too.
std::optional<int> run_conform(int argc, char** argv);

/// All of standard input. Errors: unreadable (none of it), limit.
Result<std::string> read_standard_input();
/// Whether a path is read once, from its beginning to its end: "-", and pipes as `<(...)` makes them.
bool is_stream(const std::string& path);
/// All of such a path; of a pipe it is kept, as it may be asked for again. Errors: as above.
Result<std::string> read_stream(const std::string& path);

/// A file that a verb writes; of "-" a scratch file that ends up on standard output.
class OutputFile {
 public:
  /// `name`: what the scratch file is called, whose ending tells its form. Error: unreadable (no folder for it).
  static Result<OutputFile> open(const std::string& path, const std::string& name);
  const std::string& path() const { return path_; }
  bool is_standard_output() const { return !scratch_.path().empty(); }
  /// Once the file is there. Errors: invalid_argument (it is not alone), unreadable.
  Status finish();

 private:
  OutputFile() = default;
  std::string path_;
  ScratchFolder scratch_;
};

/// The model at a path; of a stream what it holds, which is read once. Errors: as above.
Result<ModelSource> source_of(const std::string& path);

/// What a model may be, for help.
inline constexpr const char* kModelHelp =
    "The model: an .onnx, .onnxtxt or .webnn file; a folder or the text (.nnef) of NNEF; a folder of CVM's symbol and "
    "params, or SYMBOL+PARAMS; an archive of any of them (.tar, .tgz, .tar.gz); - is standard input";

/// How a model is read: options of every verb that takes one.
struct ReadingOptions {
  std::vector<std::string> symbols;  ///< "N=4"
  std::string compat, dialect;       ///< As add_compat and add_dialect have them.
  std::vector<std::string> shapes;   ///< "x=[1,3,224,224]"
  std::optional<uint64_t> weight_seed;
  bool expand_compounds = false, quantized = false;
  int memory_limit = 0, archive_limit = 0;  ///< MiB
  int archive_ratio = 0;

  void add_to(Verb verb);
  Result<LoadOptions> options() const;
};

/// --cache, of verbs that run models and may be started again with them.
void add_cache(Verb verb, std::string& folder);

/// As many threads as were asked for (0: all) and this process may use; says so where it may use fewer.
int threads_of(int asked);

/// Options of verbs that run one model.
struct ModelOptions : ReadingOptions {
  std::string path;
  std::vector<std::string> carry;  ///< "OUTPUT=INPUT", "likely"
  int threads = 0;
  bool no_optimize = false;
  std::string cache;  ///< Of verbs that add_cache().

  void add_to(Verb verb);
  /// --carry, of verbs that run sessions.
  void add_carry_to(Verb verb);
  Result<LoadOptions> options() const;
  /// The same with what --carry asks for, for which the model's ports may be read.
  Result<LoadOptions> carrying(const ModelSource& source) const;
  Result<Model> load() const;
  /// The inputs that the model's files declare, those too that --carry takes away: by their places are the files of
  /// test data called.
  Result<std::vector<PortInfo>> declared_inputs(const Model& model) const;
  /// Says where --cache could not keep a model that has run.
  static void tell_cache(const Model& model);
  /// With threads_of().
  SessionOptions session_options() const;
};

/// The value of an input, and where it is from: "data.npy", "random numbers".
struct Given {
  Value value;
  std::string from;
};

/// The numbers that given inputs have for open extents, by the extents' names.
using KnownExtents = std::map<std::string, int64_t>;
/// What an input is that nothing is given for.
using Otherwise = std::function<Result<Given>(size_t input, const KnownExtents& known)>;

/// Where the inputs of a run come from.
struct InputOptions {
  std::vector<std::string> files;  ///< FILE or NAME=FILE
  InputFileOptions fit;
  std::string layout;  ///< Of pictures: "nchw", "nhwc"; empty: by the input's extents.
  bool random = false;
  bool quiet = false;  ///< Notes are left out, of verbs that have --quiet.
  std::optional<uint64_t> seed;
  double random_from = 0;  ///< Random reals lie from here to 1.

  void add_to(Verb verb);
  /// The options of how values become what an input takes alone.
  void add_fit_to(Verb verb);
  /// A value for every input: of a file, else random numbers where they are asked for, else as `otherwise` says.
  Result<std::vector<Given>> values(const Model& model, const ModelOptions& o, const Otherwise& otherwise) const;
  /// How values become what an input takes. `limits`: what archives may unpack to.
  InputFileOptions file_options(const ReadingOptions& limits) const;
  /// The option of pictures alone that was given; empty: none was.
  std::string picture_option() const;
  /// Random numbers for that input; extents that nobody knows are 1.
  Result<Given> random_numbers(const Model& model, size_t input, const KnownExtents& known) const;
};
std::vector<Value> values_of(const std::vector<Given>& given);
/// All that a file of several inputs has for these, by their names. What is for none of them is passed over, and told
/// unless `quiet`; one that has nothing for any is refused.
Result<std::map<std::string, Value>> values_in(const std::string& path, const std::vector<PortInfo>& ports,
                                               const InputFileOptions& options, bool quiet);

/// The folder of test data beside a model.
inline constexpr const char* kStoredInputs = "test_data_set_0";
/// Input number `input` of that folder; nothing: it has none.
Result<std::optional<Given>> stored_input(const Model& model, size_t input, const ModelOptions& o,
                                          const InputOptions& inputs);
/// The same, else random numbers.
Result<Given> stored_or_random(const Model& model, size_t input, const ModelOptions& o, const InputOptions& inputs,
                               const KnownExtents& known);

/// "NAME=FILE" as both, parted at the first '='; a FILE alone has an empty name.
std::pair<std::string, std::string> named(const std::string& word);
/// The same where it is known what is a name, since names and files may have '=' in them, too: NAME is the longest that
/// is one; else the word is the FILE of that name, where there is such a file, or a folder of such a name for it; else
/// it is parted at the first '='.
std::pair<std::string, std::string> named(const std::string& word,
                                          const std::function<bool(const std::string& name)>& is_name);
std::pair<std::string, std::string> named(const std::string& word, const std::vector<PortInfo>& ports);
/// Which of the ports has the name. `kind`: "input", "output". Error: invalid_argument, with the names there are.
Result<size_t> port_at(std::string_view kind, const std::vector<PortInfo>& ports, std::string_view name);

/// Whether the ending of a file's name says that NumPy reads it.
bool holds_numpy(const std::string& file);
/// An output as NumPy can have it. With `cast` elements of types that it lacks become the next wider ones that hold
/// them all: bfloat16 and floats of 8 bits float32, integers of a few bits those of 8. Error: unsupported (without it).
Result<Value> fit_for_numpy(const Value& v, const std::string& name, bool cast);
/// Writes all outputs, which are tensors, into one .npz file, `cast` as above. Error: unsupported (one is none).
Status save_outputs(const std::string& path, const std::vector<PortInfo>& ports, const std::vector<Value>& values,
                    bool cast, Existing existing);

/// Runs the session `steps` times, its states carried on. An input with one axis more than the model's is a sequence:
/// step t takes element t of the first axis; so is one whose first axis is `steps` times as long, cut into equal
/// parts. Any other input is the same in every step. Each output is the steps' results on a new first axis.
/// Errors: invalid_argument (a sequence of another length), the run's.
Result<std::vector<Value>> run_steps(Session& session, const std::vector<PortInfo>& ports,
                                     const std::vector<Value>& inputs, int64_t steps, const RunOptions& options = {});

/// Writes a state's content to FOLDER/LABEL.dat. Errors: unreadable (a label that leads out of the folder, a file that
/// cannot be written), those of may_write, unsupported.
Status save_variable(const std::string& folder, const std::string& label, const Value& value, Existing existing);

/// The bits that an integer network declares of its input (CVM); nothing where an integer may be an index.
std::optional<int64_t> bits_of(const Model& model);

}  // namespace nnex::cli
