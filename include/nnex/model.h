#pragma once
/// Model and Session: load a network once, run it from as many threads as you like.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/custom.h"
#include "nnex/graph.h"
#include "nnex/result.h"
#include "nnex/tensor.h"

namespace nnex::ir {
class Graph;  // the engine's own, which nobody outside sees
}

#pragma GCC visibility push(default)
namespace nnex {

/// One input or output of a model.
struct PortInfo {
  std::string name;
  std::string type;           ///< "f32[N,3,224,224]", "sequence(f32[?])".
  DType dtype = DType::none;  ///< Element type; none when it is no tensor.
  bool known_rank = false;
  std::vector<int64_t> extents;   ///< -1 where an extent is symbolic or unknown.
  std::vector<std::string> dims;  ///< Each extent as text: "3", "N", "2*H".
};

enum class Mapping : uint8_t {
  automatic,  ///< Small files are copied, files from 64 MiB on are mapped.
  never,      ///< Always copied: the file may be truncated or rewritten while the model lives.
  always,     ///< Always mapped: replace such a file by renaming, never by writing into it.
};

/// What kernels may use of the machine.
enum class InstructionSet : uint8_t { best, scalar, sse4, avx2, avx512, neon, wasm };
/// "best", "scalar", "avx2", ...
std::string_view name(InstructionSet isa);
/// The one of that name; nothing where there is none.
std::optional<InstructionSet> instruction_set_named(std::string_view name);

/// How far an NNEF document may leave NNEF 1.0.
enum class NnefDialect : uint8_t {
  automatic,  ///< Not at all, but the provisional draft of 2017 is recognised and upgraded.
  standard,   ///< Not at all.
  tract,      ///< As sonos/tract and torch-to-nnef write.
};

struct NnefOptions {
  NnefDialect dialect = NnefDialect::automatic;
  bool expand_compounds = false;  ///< Compound operations run by the bodies the standard gives them.
  /// The quantisation file (graph.quant) is applied: its tensors take only the values that their codes stand for. Else
  /// it is the hint that it is. Error: invalid_argument (the model has none).
  bool quantized = false;
};

/// Whose answers count for CVM models where those of nnex are deliberately others.
enum class CvmAnswers : uint8_t {
  nnex,
  formal,  ///< Those of the upstream runtime's formal operators.
};

struct CvmOptions {
  CvmAnswers answers = CvmAnswers::nnex;
};

/// An output that a session gives its next run as an input.
struct Carry {
  std::string output = {}, input = {};
};

struct LoadOptions {
  Mapping map = Mapping::automatic;
  bool optimize = true;  ///< Run the passes that fuse and fold; off for debugging and comparison.
  std::map<std::string, int64_t> symbols = {};  ///< Fixed values of extents, by symbol or as "input.axis".
  std::string external_folder = {};             ///< Where external tensors lie, for a model from memory.
  /// Bytes that reading may copy or unpack, and bytes that a run may plan or allocate at once, weights aside; 0: three
  /// quarters of what the machine or the control group of the process has. Below 0, as all limits here, it is refused
  /// as invalid_argument by whoever is given the options.
  int64_t memory_limit = 0;
  /// Of a compressed archive: bytes that it may unpack to for one of its own (below 64 MiB any number; 0: 32), and in
  /// all (0: what memory_limit says). So, too, of an ONNX file whose sparse constants become dense.
  int64_t archive_ratio = 0, archive_limit = 0;
  /// Admits only networks that give the same bytes on every machine: whole numbers alone, no random draws. Others are
  /// refused as unsupported, the first such node named.
  bool exact = false;
  InstructionSet isa = InstructionSet::best;  ///< A lower one than the best, for comparison.
  /// Floats as every machine computes them: no product and sum are rounded as one. Slower where the machine does that.
  /// The bytes of outputs are then the same on x86-64, Arm and WebAssembly, except behind rows that call functions of
  /// the C library (those that `profile` shows as `reference`).
  bool portable = false;

  /// Other shapes of inputs, by name; all others follow. Models of ONNX and NNEF.
  std::map<std::string, std::vector<int64_t>> shapes = {};

  /// Weights that are not there (NNEF variables without a file, a CVM symbol without its parameters) get content that
  /// this number decides, not an error.
  std::optional<uint64_t> weight_seed = {};
  NnefOptions nnef = {};
  CvmOptions cvm = {};

  CustomOperators custom_operators = {};  ///< For nodes whose operators the table lacks.

  /// A folder in which compiled models are kept, made where it is missing; empty: none. A model that was loaded from a
  /// path and has run is found there by the next process that loads it with the same options, the same build of nnex
  /// and the same instruction set: mapped, with its weights as kernels read them, so that it is neither read nor
  /// compiled nor packed again. A file there that is stale (a file of the model changed), of another build or damaged
  /// counts as missing and is replaced. Model::cache() tells; nothing fails for the folder's sake. Whoever may write
  /// into it decides what the models answer. Files of 4 MiB and more are mapped, unless `map` is never: whoever
  /// shortens such a one in place ends the processes that read it. Not for WebAssembly.
  std::string cache = {};

  /// Outputs that become inputs of the next run. They are no ports any more but states, named as the input: what a run
  /// makes stays where it is, nothing is copied. A state begins with zeros; an extent that no symbol fixes begins as 0,
  /// as that of a cache that grows.
  std::vector<Carry> carry = {};

  /// Stops reading and compiling from another thread, or at a time: asked between nodes and between passes, so that one
  /// large file or constant is still read whole. Code::cancelled. Of one call alone: graphs do not keep them.
  const std::atomic<bool>* cancel = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

struct SessionOptions {
  int threads = 0;    ///< Threads a run may use; 0: all this process may. Below 0 every call of the session is refused.
  uint64_t seed = 0;  ///< For random operators without a seed of their own.
};

/// Stops a run from another thread, or at a time: asked between nodes and within long ones, and between nodes while the
/// first run with such inputs is planned and its weights are packed (Session::prepare() does both ahead). What was
/// packed until then stays. Of a model whose extents are fixed the weights are packed whole: each replaces what it was
/// read from.
struct RunOptions {
  const std::atomic<bool>* cancel = nullptr;
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// Time of one node in one run.
struct NodeTime {
  std::string place;   ///< The author's name of the node.
  std::string op;      ///< The operator it runs as.
  std::string kernel;  ///< The kernel that ran it; "reference" when no fast one fits.
  double start_us = 0;
  double us = 0;  ///< Where threads run a batch's slices side by side: of the time of them all, divided by the threads.
  int64_t multiply_adds = 0;  ///< Of products, convolutions, recurrent layers and attention; 0: none.
  DType dtype = DType::none;  ///< Of its first input; none: it has none.
  int64_t bytes = 0;          ///< Of its inputs and outputs, each once; 0: a view.
};

/// What LoadOptions::cache did for a model.
enum class CacheUse : uint8_t {
  none,     ///< No folder was named, or such a model is not kept: CacheInfo::why.
  found,    ///< The model came out of it.
  due,      ///< It was not there (CacheInfo::why), and will be when the first run, or prepare(), has ended.
  written,  ///< It was not there, and is now.
  failed,   ///< It was not there, and could not be written: CacheInfo::why.
};
struct CacheInfo {
  CacheUse use = CacheUse::none;
  std::string file;  ///< Where the model is kept, or would be.
  std::string why;
};

class Session;

/// What looks carried by the ports' names and types: `present.0.key` to `past_key_values.0.key`, `h_out` to `h_in`,
/// `hn` to `h0` or `h`. In the outputs' order.
std::vector<Carry> likely_carries(const std::vector<PortInfo>& inputs, const std::vector<PortInfo>& outputs);

/// A compiled network: immutable, shared by copies, sessions and threads. One that was default-constructed or moved
/// elsewhere holds none, and may only be assigned to: another use ends the program.
class Model {
 public:
  /// Reads a model of any standard. Errors: unreadable, invalid_model, unsupported (names every operator that is
  /// missing), limit.
  static Result<Model> load(const std::string& path, const LoadOptions& options = {});
  /// Reads a model from memory that is copied where needed.
  static Result<Model> from_bytes(std::string_view bytes, const LoadOptions& options = {});
  /// Compiles a graph. Of one that load_graph() read, what it was read with holds where the options here say nothing:
  /// custom operators, carried outputs, the instruction set, a limit; `exact` and `portable` hold if either says so,
  /// `optimize` if both do. A symbol that was fixed then may be named again with its number.
  static Result<Model> compile(Graph graph, const LoadOptions& options = {});

  const std::vector<PortInfo>& inputs() const;
  const std::vector<PortInfo>& outputs() const;
  /// What its sessions keep from run to run (NNEF variables that are updated), by label; among neither inputs nor
  /// outputs.
  const std::vector<PortInfo>& states() const;
  /// A copy of the graph as it runs, after the passes; constants are shared, and stay beside the forms that kernels
  /// read. Error: invalid_argument where runs have packed some of them away: it is taken before the first run.
  Result<Graph> graph() const;
  /// What the model says of itself.
  const Metadata& metadata() const;
  /// How many nodes a run computes, where it computes each of them once; nothing where one chooses or repeats others,
  /// or is the host's.
  std::optional<size_t> nodes_once() const;
  /// Bytes of constants in the forms that kernels read, which its sessions share; they are made by the first runs.
  int64_t packed_memory() const;
  /// Whether it came out of the cache of compiled models, or goes into it.
  CacheInfo cache() const;
  /// A new session: its own memory, its own state.
  Session session(const SessionOptions& options = {}) const;

  struct [[gnu::visibility("hidden")]] Impl;

 private:
  friend class Session;
  friend class GraphView;
  friend const ir::Graph& graph_of(const Model& model);
  friend Result<Model> kept_and_found(const Model& model, const LoadOptions& options);
  Impl& impl() const;
  std::shared_ptr<Impl> impl_;
};

/// One caller's memory and state. One run at a time (checked); move-only. One that was moved elsewhere may only be
/// assigned to: another use ends the program.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Runs the model. Inputs in the model's order; outputs in the model's order. What a run gives out or carries shares
  /// no memory with the inputs, which may be written again once it has ended: an output that no operator computes anew
  /// (an input passed through, a view of one) is a copy.
  /// Errors: invalid_argument (count, type or shape: found and needed), fault (data), limit, cancelled.
  Result<std::vector<Value>> run(std::span<const Value> inputs, const RunOptions& options = {});
  /// The same into the caller's memory (of texts std::string objects): outputs[i] has the type and extents of output i
  /// and shares its bytes with no input or other output. Kernels write straight into it where it is aligned, else it is
  /// copied at the end.
  Status run_into(std::span<const Value> inputs, std::span<Tensor> outputs, const RunOptions& options = {});
  /// The same by name; every input once.
  Result<std::map<std::string, Value>> run(const std::map<std::string, Value>& inputs, const RunOptions& options = {});

  /// Plans ahead for inputs of these shapes, by name (inputs that are not named have the extents the model declares),
  /// and packs the weights: the first run with such inputs is then as fast as the next. What a run alone can tell
  /// (extents that depend on data, blocks of If and Loop) is planned when it is met. Errors: invalid_argument (no such
  /// input, a shape that does not fit, an extent that nobody names, a run is on), limit, cancelled, those of planning.
  Status prepare(const std::map<std::string, std::vector<int64_t>>& shapes = {}, const RunOptions& options = {});

  /// What the session keeps under a label: what the last run made of it, or its first content.
  /// Errors: invalid_argument (no such label; a run is on).
  Result<Value> state(std::string_view label) const;
  /// Gives it other content, which is copied. Errors: invalid_argument (label, type or shape: found and needed; a run
  /// is on), limit.
  Status set_state(std::string_view label, Value value);
  /// Every state has its first content again. Error: invalid_argument (a run is on).
  Status reset_states();

  /// From now on every run is timed node by node, one that is on excepted; nodes() has the times of the last one, and
  /// is asked while none is on.
  void profile(bool on);
  const std::vector<NodeTime>& nodes() const;
  /// Bytes of activations and scratch memory the session holds.
  int64_t memory() const;
  /// Gives that memory back, and what results of earlier runs left behind; states stay. The next run plans and
  /// allocates anew, for what it needs. Error: invalid_argument (a run is on).
  Status trim();

  struct [[gnu::visibility("hidden")]] Impl;

 private:
  friend class Model;
  explicit Session(std::unique_ptr<Impl> impl);
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nnex
#pragma GCC visibility pop
