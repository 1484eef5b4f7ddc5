#pragma once
/// Quantising: a float network as one that computes on 8-bit codes, measured on samples; or with weights of 4 bits.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/check.h"
#include "nnex/format.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/result.h"
#include "nnex/tensor.h"

#pragma GCC visibility push(default)
namespace nnex {

/// How the range of a tensor follows from what samples made of it. 0 is always in it.
enum class RangeMethod : uint8_t {
  minmax,      ///< Its smallest and its largest element.
  percentile,  ///< Without the outermost elements, so many of a hundred on each side.
  mse,         ///< The range of the least mean squared error, codes beyond it included.
  entropy      ///< The limits after which the distribution of the codes says most of that of the elements.
};
/// "minmax", "percentile", "mse", "entropy".
std::string_view name(RangeMethod method);
std::optional<RangeMethod> range_method_named(std::string_view name);

enum class WeightCodes : uint8_t {
  int8,  ///< Weights and activations are codes of 8 bits.
  int4   ///< Weights alone are codes, of 4 bits in blocks; activations stay float, and no samples are needed.
};
/// "int8", "int4".
std::string_view name(WeightCodes codes);

/// What decides the result.
struct QuantizeSettings {
  RangeMethod method = RangeMethod::mse;
  double percentile = 99.99;  ///< What stays of each side, above 50 and at most 100.
  WeightCodes weights = WeightCodes::int8;
  int64_t block = 32;        ///< Weights of int4 that share a scale: a power of two from 16 to 4096.
  bool per_channel = true;   ///< Weights of int8 have a scale for each output, not one for all.
  bool correct_bias = true;  ///< Biases take back what rounded weights add in the mean.
  bool equalize = false;     ///< Channels between two products get like reach in both, by powers of two.
  bool smooth = false;       ///< Channels of what a normalisation makes do so against the products after it.
  /// Layers that stay float, by the name of their node or of what they make.
  std::vector<std::string> keep_float = {};
};

/// The range of a tensor's codes.
struct CodeRange {
  float low = 0, high = 0;
};

/// What was decided and found, by which the result can be made again without samples. Tensors go by their names in the
/// network without its normalisations, as QuantizeReport shows them.
struct QuantizeRecipe {
  QuantizeSettings settings = {};
  std::map<std::string, CodeRange> ranges = {};
  std::map<std::string, std::vector<float>> means = {};  ///< Of each channel, of what products with biases read.
  std::map<std::string, std::vector<int64_t>> smoothed_by = {};  ///< Powers of two of channels, of smoothed tensors.
  std::map<std::string, std::string> kept_float = {};            ///< Layers that measuring left float, and why.
};

/// The recipe as JSON (docs/quantize.md), the same bytes for equal recipes.
std::string recipe_text(const QuantizeRecipe& recipe);
/// A recipe from such a text. Errors: unreadable (where), invalid_argument (found and needed), limit.
Result<QuantizeRecipe> parse_recipe(std::string_view text);

/// What a network is measured on. Samples are read again and again, one at a time.
struct SampleSet {
  int64_t count = 0;
  /// The inputs of sample `index`, in the order of `inputs`.
  std::function<Result<std::vector<Value>>(const std::vector<PortInfo>& inputs, int64_t index)> read = {};
  std::function<std::string(int64_t index)> name = {};  ///< For messages: "sample 'cat.png'"; empty: "sample 3".
};

enum class QuantizePlan : uint8_t {
  all,      ///< Every layer that can be.
  measured  ///< Of those, layers that are faster so than as floats on this machine.
};

/// The arithmetic in which the float network meets the samples.
enum class CalibrateOn : uint8_t {
  portable,  ///< That of every machine (LoadOptions::portable): the same samples give the same recipe on each.
  fastest    ///< That of this machine alone: last bits, and so a code now and then, may differ elsewhere.
};

struct QuantizeOptions {
  QuantizeSettings settings = {};             ///< Not asked where there is a recipe.
  std::optional<QuantizeRecipe> recipe = {};  ///< What was found before; samples then serve the report alone.
  /// What the result is for. onnx: codes around float operators. nnef: the float network with rounded weights, and a
  /// quantisation file that names the codes of every tensor; errors and times are told of the same codes in ONNX. cvm:
  /// whole numbers alone (docs/quantize.md), for networks of products, sums, limits, moves and means, with known
  /// extents.
  Format to = Format::onnx;
  QuantizePlan plan = QuantizePlan::all;
  double min_sqnr_db = 0;  ///< Layers whose SQNR would be less stay float; 0: none does for that.
  CalibrateOn arithmetic = CalibrateOn::portable;
  bool judge = true;        ///< Fill in what the report says of errors and times; needs samples.
  int64_t judge_count = 0;  ///< On so many of the samples; 0: on all.
  double seconds = 0.5;     ///< How long each network is timed.
  SessionOptions session = {};
  RunOptions run = {};
};

/// A product, or a sum of codes.
struct QuantizedLayer {
  std::string name;                              ///< Of what it makes.
  std::string op;                                ///< "conv", "linear", ...
  std::string place;                             ///< Where the file has it.
  std::string kept_float;                        ///< Why it stays float; empty: it is quantised.
  int64_t weight_bytes = 0;                      ///< As stored now.
  std::optional<double> sqnr_db;                 ///< Of what it makes in the quantised network, against the float one.
  std::optional<double> float_us, quantized_us;  ///< Its least times, of a measured plan.
};

struct QuantizedOutput {
  std::string name;
  double sqnr_db = 0;
  int64_t rows = 0;    ///< Along the last axis; 0: it has no such axis, or of one element.
  int64_t agreed = 0;  ///< Rows whose largest element stands where the float network has it.
};

struct QuantizeReport {
  std::vector<QuantizedLayer> layers;  ///< In order.
  std::vector<QuantizedOutput> outputs;
  int64_t calibrated = 0, judged = 0;            ///< Samples.
  int64_t float_bytes = 0, quantized_bytes = 0;  ///< Of constants.
  std::optional<double> float_us, quantized_us;  ///< The least time of a run, on the first sample.
  std::optional<Certificate> certificate;        ///< Of whole numbers: that no sum passes int32.
  std::vector<std::string> notes;
};

struct Quantized {
  Graph graph;  ///< quantize_linear and dequantize_linear around float operators; a quantisation file of NNEF in the
                ///< metadata; or whole numbers in rows of CVM.
  QuantizeRecipe recipe;
  QuantizeReport report;
};

/// A quantised network. The source is not changed; its normalisations are folded first. Errors: invalid_argument
/// (settings, a layer that is not there, no samples where there is no recipe, a recipe of another network, a sample
/// with NaN or infinite elements); unsupported (nothing in the network can be quantised, or a node cannot be said in
/// whole numbers, and why); fault (a sample makes a NaN or an infinity, and where); those of inference, of the samples
/// and of runs.
Result<Quantized> quantize(const Graph& graph, const SampleSet& samples, const QuantizeOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
