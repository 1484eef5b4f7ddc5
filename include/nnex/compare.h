#pragma once
/// Comparing: a model with another of any standard, or with tensors from elsewhere; and which tensor differs first.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/source.h"
#include "nnex/tensor.h"

#pragma GCC visibility push(default)
namespace nnex {

/// How far elements may be from each other. b differs from a where |a - b| > atol + rtol * |a| and, where `ulp` is
/// given, more than `ulp` floats of their type lie between them. NaN equals NaN, infinity itself.
struct Tolerance {
  /// Nothing: with `ulp` 0, else what default_tolerance() says of the element type.
  std::optional<double> atol = {}, rtol = {};
  std::optional<int64_t> ulp = {};
};

/// The relative tolerance where none is given: f64 1e-9, f32 1e-4, f16 and wider than 8 bits 1e-2, bf16 5e-2, 8 bits
/// and fewer 0.25; integers, bool and text 0. Of two types the coarser counts. The absolute one is then the same
/// number times the root mean square of a's finite elements: sums that cancel are as exact as their largest terms.
double default_tolerance(DType type);

/// How two values differ. Numbers are over elements that are finite in both; of integers too. The real ones are NaN
/// where a mismatch left nothing to measure.
struct Difference {
  /// Why elements cannot be set beside each other: "found f32[1,8]; needed f32[1,9]"; empty: they were.
  std::string mismatch;
  int64_t count = 0;                                ///< Elements.
  int64_t differing = 0;                            ///< Beyond the tolerance; those of the next two are among them.
  int64_t nan_mismatch = 0, infinity_mismatch = 0;  ///< NaN (an infinity) on one side alone.
  int64_t nan_both = 0;                             ///< NaN on both sides, which are no difference.
  std::optional<int64_t> max_ulp;                   ///< Of floats of one type.
  double max_absolute = 0;
  double max_relative = 0;       ///< |a - b| / max(|a|, |b|)
  double cosine = 1;             ///< Of the angle between them; 1 where both are zero; NaN where all elements are.
  double sqnr_db = 0;            ///< 10 log10(sum of a^2 / sum of (a - b)^2); infinite where they are equal, or NaN.
  int64_t worst = -1;            ///< Row-major index of the largest difference beyond the tolerance; -1: there is none.
  std::string worst_a, worst_b;  ///< The elements there.
  double atol = 0, rtol = 0;     ///< What was applied.

  bool same() const { return mismatch.empty() && differing == 0; }
};

/// `a` is the reference. Sequences, maps and optionals are compared item by item, and their numbers put together.
Difference difference(const Value& a, const Value& b, const Tolerance& tolerance = {});

/// What tells that two tensors of two models are the same one.
enum class MatchedBy : uint8_t {
  port,       ///< Both are outputs of their networks: of one name, else of one place in order.
  name,       ///< Both have the name.
  value,      ///< They hold the same numbers, and their order agrees with the other matches.
  structure,  ///< One operator made them of tensors that are matched.
  none        ///< The other model has no such tensor.
};
/// "port", "name", "value", "structure", "none".
std::string_view name(MatchedBy matched);

/// Two tensors that were compared.
struct ComparedTensor {
  std::string a, b;              ///< Their names; of unnamed ones "OP at PLACE".
  std::string op;                ///< The operator that makes it in a; empty of inputs, and in CompareReport::outputs.
  std::string place_a, place_b;  ///< Where the files have the nodes; empty in CompareReport::outputs.
  std::string type;              ///< Of a's: "f32[1,8]".
  MatchedBy matched = MatchedBy::name;
  Difference difference;
};

/// The first tensor that differs, and between which equal tensors and it the cause lies.
struct FirstDifference {
  ComparedTensor tensor;                      ///< matched none: nothing in b corresponds, from it on.
  std::vector<std::string> inputs;            ///< Tensors of a that are equal on both sides, from which it is made.
  std::vector<std::string> nodes_a, nodes_b;  ///< What lies between those and it: "OP at PLACE".
};

/// The nodes between the last equal tensors and one that differs, as models of their own.
struct Isolated {
  std::string model, other, inputs;  ///< Paths: of a's nodes, of b's (empty where it is no model), of their inputs.
  size_t nodes_a = 0, nodes_b = 0;   ///< Nodes that were cut out.
  bool reproduced = false;           ///< Both were run on these inputs, and differ again.
  std::string note;                  ///< Why nothing was written, or why nothing was run; empty: it was.
};

struct CompareReport {
  bool same = true;                         ///< All outputs are; with `layers` all tensors.
  std::vector<ComparedTensor> outputs;      ///< As a run gives them, whole and optimised.
  std::vector<std::string> only_a, only_b;  ///< Outputs without a counterpart.
  std::vector<ComparedTensor> layers;       ///< Those compared node by node, in a's order.
  size_t layers_a = 0, layers_b = 0;        ///< How many there are; b's 0 where it is no model.
  size_t skipped = 0;                       ///< Matched, but too far apart in order to be held in memory.
  bool searched = false;                    ///< Whether nodes were run one after the other.
  std::optional<FirstDifference> first;
  std::optional<Isolated> isolated;  ///< What CompareOptions::isolate asked for.
};

/// The inputs of a run of the first model, in its order.
using InputsOf = std::function<Result<std::vector<Value>>(const Model& model)>;

/// Tensors from elsewhere (files, another engine), asked for by the names that the model has for them: those that are
/// there. `inputs`: what the model runs on. Asked several times, for a few tensors each.
struct Others {
  std::function<Result<std::map<std::string, Value>>(const std::map<std::string, Value>& inputs,
                                                     std::span<const std::string> names)>
      tensors = {};
  /// The same of another model than the one compared: of an ONNX file that was cut out of it. Empty: nothing can run
  /// it.
  std::function<Result<std::map<std::string, Value>>(
      const std::string& path, const std::map<std::string, Value>& inputs, std::span<const std::string> names)>
      run = {};
};

struct CompareOptions {
  LoadOptions a = {}, b = {};
  SessionOptions session = {};
  RunOptions run = {};
  Tolerance tolerance = {};
  bool layers = false;  ///< Every tensor, though outputs be the same.
  bool search = true;   ///< Look for the first tensor that differs, where outputs do.
  /// Bytes of tensors that are held at once while nodes are run one after the other, of each side.
  int64_t held_bytes = int64_t{24} << 20;
  /// Where the nodes between the last equal tensors and the first that differs are written, as an ONNX file that ends
  /// in .onnx: b's beside it in .other.onnx, the inputs in .inputs.npz. Empty: nowhere.
  std::string isolate = {};
  bool overwrite = false;  ///< Files of those names are replaced.
};

/// Runs both on the same inputs, which b takes by name, else in order. Outputs are matched likewise. Where they differ,
/// both run once more, a few nodes at a time, and tensors that correspond are compared: by name where names and
/// operators agree for most tensors of the smaller model, else by value and structure, and by name what is made of
/// tensors that correspond. Random operators draw other
/// numbers then, and differ. Errors: those of load_model and of a run of either; invalid_argument (inputs that do not
/// fit).
Result<CompareReport> compare(const ModelSource& a, const ModelSource& b, const InputsOf& inputs,
                              const CompareOptions& options = {});
/// The same with tensors from elsewhere, by name.
Result<CompareReport> compare(const ModelSource& a, const Others& b, const InputsOf& inputs,
                              const CompareOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
