#pragma once
/// Editing whole networks: a part of one, other names, another batch, fewer nodes; and what differs between two.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nnex/compare.h"
#include "nnex/format.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/result.h"

#pragma GCC visibility push(default)
namespace nnex {

/// The part of a network that makes the tensors `to` from the tensors `from`, which become its outputs and inputs, in
/// that order. Empty `from`: the inputs of the network that are needed; empty `to`: its outputs. Errors:
/// invalid_argument (no such tensor, with the name that was probably meant; a `to` that needs an input of the network
/// beside `from`, those named; a `from` that nothing needs; a state, which no part keeps).
Result<Graph> extract(const Graph& graph, const std::vector<std::string>& from, const std::vector<std::string>& to);

/// Other names for inputs, outputs and tensors inside, and for symbols of the inputs' extents ("N", or "input.axis" for
/// an extent without a name) that are no tensor's. Names of tensors may be swapped. Errors: invalid_argument (no such
/// tensor, a name that another one has).
Status rename(Graph& graph, const std::map<std::string, std::string>& names);

/// A constant that was changed for another batch: what a reshape makes of the batch it was exported with.
struct BakedShape {
  std::string node;  ///< Where the reshape stands.
  std::vector<int64_t> from, to;
};
struct BatchReport {
  std::vector<BakedShape> rewritten;
  int64_t batch = 0, runs = 0;  ///< The proof: one run of so many against so many runs of 1.
  double max_absolute = 0;      ///< Of the outputs, between them.
};
/// Every input that has axes gets `batch` as its first extent, and constants of reshapes that hold the batch it had
/// follow. Then the network is run with random inputs of that batch, and once for each element of it: outputs are the
/// same within the default tolerance, or it is refused with the first tensor that differs. Errors: invalid_argument
/// (batch below 1, no input with axes, inputs of different batches), unsupported (an output that does not follow; a
/// node that mixes the elements of a batch), those of inference and runs.
Result<BatchReport> set_batch(Graph& graph, int64_t batch, const RunOptions& run = {});

/// Inputs get other shapes, and constants of reshapes that hold what an axis was follow where one alone can. Errors:
/// invalid_argument (no such input, another rank), those of inference: the first node that does not fit.
Result<std::vector<BakedShape>> set_shapes(Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes);

/// An extent that an input gets.
struct NewExtent {
  int64_t number = 0;
  std::string symbol;  ///< The name under which it is open; empty: it is the number.
};
/// The same with axes that stay open under a name; of reshapes' constants what held them becomes -1. Errors: those of
/// set_shapes; unsupported, and those of inference: the node that needs a number there.
Result<std::vector<BakedShape>> open_shapes(Graph& graph, const std::map<std::string, std::vector<NewExtent>>& shapes);

/// set_batch() with a batch that is open under this name: the proof is of one number in its place. Errors: those of
/// both.
Result<BatchReport> open_batch(Graph& graph, const std::string& symbol, const RunOptions& run = {});

/// One place where a pass of simplify() put something else; both were computed on random inputs and compared there.
struct Replaced {
  std::string tensor;         ///< Which, where it has a name.
  std::string place;          ///< Where the file has the node that made it.
  std::string before, after;  ///< "div, erf, add, mul" and "gelu": operators, "constant" or "input".
  int64_t elements = 0;       ///< That were compared.
  double max_absolute = 0;    ///< Between both.
  bool same = false;          ///< Within the default tolerance.
  std::string reason;         ///< How they differ.
};
/// What one pass of simplify() did.
struct Rewrite {
  std::string pass;     ///< "fold_constants", ...
  int64_t applied = 0;  ///< How often.
  int64_t nodes_before = 0, nodes_after = 0;
  bool kept = false;        ///< Each place and the network computed the same before and after.
  double max_absolute = 0;  ///< Of the network's outputs, against those of the original.
  std::string reason;       ///< Why it was not kept.
  /// Place by place. What nobody reads is dropped without one, and a place in a block whose nodes take none of the
  /// numbers made for them is left to the outputs.
  std::vector<Replaced> replaced;
};
struct SimplifyReport {
  std::vector<Rewrite> rewrites;
  std::map<std::string, std::pair<int64_t, int64_t>> operators;  ///< How many, before and after, by name.
};
/// Folds constants and what is known of shapes, drops what nobody reads, merges what is computed twice, and folds
/// scales and offsets into weights, until nothing changes. After each pass every value that it replaced is computed on
/// random inputs by the network before and by the network after, and the outputs are compared with those of the
/// original: a pass that moves one of them beyond the default tolerance is taken back. `inputs`: what it is run on, in
/// the order of the graph's inputs; empty: random numbers. Errors: those of inference; of a run of the original;
/// unsupported (it does not take random numbers).
Result<SimplifyReport> simplify(Graph& graph, const RunOptions& run = {}, const std::vector<Value>& inputs = {});

/// The same, but constants and what is known of shapes are folded and nothing else is changed.
Result<SimplifyReport> fold(Graph& graph, const RunOptions& run = {}, const std::vector<Value>& inputs = {});

/// Whether a tensor of a standard's models may have the name. Error: invalid_argument (NNEF: it is no identifier).
Status check_tensor_name(const std::string& name, Format format);

/// Calls of the model's functions become what the functions say; none is left. How many nodes were calls. Errors: those
/// of a body.
Result<int64_t> inline_calls(Graph& graph);

struct NarrowReport {
  int64_t constants = 0;                      ///< That are stored narrow now, each with a cast behind it.
  int64_t left = 0;                           ///< That the type does not hold, or too few numbers to matter.
  int64_t bytes_before = 0, bytes_after = 0;  ///< Of all constants.
  double max_absolute = 0;                    ///< Of the outputs on random inputs, before against after.
  double max_relative = 0;                    ///< The same as part of the greatest number of the output.
};
/// Weights of float32 are stored as float16 or bfloat16; the network computes in float32 as before. A constant stays
/// wide where a number of it is beyond the type's range, or so many below it that it loses more than by rounding.
/// `inputs`: as of simplify(). Errors: invalid_argument (another type), those of runs; unsupported (it does not take
/// random numbers).
Result<NarrowReport> narrow_weights(Graph& graph, DType to, const RunOptions& run = {},
                                    const std::vector<Value>& inputs = {});

/// Takes away what no run needs: texts and properties of the file, functions that nobody calls; with `names` the names
/// of tensors that are neither inputs nor outputs, and places of nodes. What graph.quant and labels of NNEF name gets a
/// number for a name.
void strip(Graph& graph, bool names = false);

/// What differs between two networks as they stand, without running them.
struct GraphDifference {
  struct Changed {
    std::string tensor;  ///< The first output of the node.
    std::string what;    ///< "attribute padding: [(1,1),(1,1)] -> [(0,2),(1,1)]"
  };
  std::vector<std::string> inputs, outputs;  ///< "x: f32[1,3] -> f32[N,3]", "mask: only in the first".
  std::vector<std::string> only_a, only_b;   ///< Nodes, by the tensor they make: "conv1 (conv)".
  std::vector<Changed> changed;              ///< Nodes that make tensors of one name.
  bool same() const { return inputs.empty() && outputs.empty() && only_a.empty() && only_b.empty() && changed.empty(); }
};
GraphDifference graph_difference(const Graph& a, const Graph& b);

}  // namespace nnex
#pragma GCC visibility pop
