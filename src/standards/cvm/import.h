#pragma once
// A CVM model into a graph: every check of the reference loader and those it leaves out (cvm.md sections 2 to 7, 11).
// Tensors are i32. The one input, `data`, goes through a cvm_clip to its precision first, as the runtime clamps it.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/faults.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "graph/precision.h"
#include "standards/cvm/gas.h"
#include "standards/cvm/read_params.h"
#include "standards/cvm/read_symbol.h"
#include "standards/cvm/signatures.h"

namespace nnex::cvm_format {

/// Builds a graph step by step. Errors are logic or runtime errors (read_symbol.h), in the order the reference loader
/// has its checks.
class Importer {
 public:
  /// `compatible`: accept and answer as upstream where we are deliberately stricter. `all`: faults of the symbol file
  /// are added there, and what can be checked behind one is; the graph is of no use then. Null: the first is the error.
  Importer(ir::Graph& graph, bool compatible, Faults* all = nullptr)
      : graph_(graph), compatible_(compatible), all_(all), inference_(graph), precision_(graph, {compatible}) {}

  /// Everything the symbol file says, up to its gas. Variables are parameters of block 0 still.
  Status symbol(const Symbol& symbol);
  /// Checks that the model can run, makes constants of the variables, sets the results.
  Status finish(std::string_view params, std::shared_ptr<const void> owner);
  /// The same without a params file: parameters hold numbers that the seed gives. Error: limit (above 2^30 bytes).
  Status finish_seeded(uint64_t seed);
  const CvmProvenance& info() const { return info_; }

  /// A variable by itself.
  ValueId variable(std::string name, const Ints& extents, int64_t bits);
  /// An operator by itself; its outputs.
  Result<std::vector<ValueId>> add(std::string_view op, const TextMap& attrs, std::vector<ValueId> in,
                                   const std::string& name, Where where);
  Shape shape(ValueId v) const { return *concrete(graph_[v].type); }
  int64_t bits(ValueId v) const { return precision_.bits(v); }

 private:
  struct Step;  ///< A node with its rule and attributes, read.

  Result<std::vector<Step>> steps(const Symbol& symbol) const;
  Status check_lists(const Symbol& symbol, const std::vector<Step>& steps) const;
  Status check_entries(const Symbol& symbol, const std::vector<Step>& steps) const;
  Status check_listed(const Symbol& symbol, const std::vector<Step>& steps) const;
  /// A fault goes to the list where all are wanted, and the work goes on; else it ends here.
  Status told(Status s) const {
    if (s.ok() || !all_) return s;
    all_->add(std::move(s).error());
    return {};
  }
  Result<std::vector<ValueId>> outputs(const Symbol& symbol, const Step& step, size_t i,
                                       std::span<const std::vector<ValueId>> entries);
  std::vector<ValueId> stand_ins(const Symbol& symbol, const Step& step);
  Status check_limits(const Shape& shape) const;
  Result<std::vector<ValueId>> add(const Signature& rule, AttrMap attrs, std::vector<ValueId> in,
                                   const std::string& name, Where where);
  Status infer_new();
  Status keep_bytes(ValueId v, Tensor bytes);
  Status check_ready() const;
  Result<Tensor> checked(const Param& p, ValueId v, bool kept) const;
  struct Parameters;  ///< Names that are awaited, tensors that came.
  Parameters awaited() const;
  Result<ValueId> variable_named(const Parameters& to, std::string_view name) const;
  Status take(Parameters& to, const Param& p, bool kept) const;
  Status place(Parameters taken);
  Status end();

  ir::Graph& graph_;
  bool compatible_;
  Faults* all_;
  Inference inference_;
  PrecisionInference precision_;
  uint32_t inferred_ = 0;
  GasMeter gas_;
  CvmProvenance info_;
  ValueId data_;
  std::vector<ValueId> variables_, heads_;
  std::multimap<ValueId, size_t> head_at_;  ///< Which heads a value is.
};

/// Reads a model; without an owner the parameters' bytes are copied. Errors: invalid_model (logic), unreadable
/// (runtime): blame() tells.
Result<ir::Graph> read_model(std::string_view symbol, std::string_view params, std::shared_ptr<const void> owner,
                             bool compatible);

/// The same for a checker: all faults of the symbol file, which is called `file`, or else the first of what stands
/// behind it, are added to `faults`. Nothing: there are some.
std::optional<ir::Graph> check_model(std::string_view symbol, std::string_view file, std::string_view params,
                                     std::shared_ptr<const void> owner, bool compatible, Faults& faults);

/// Reads a symbol file alone: gas, operators and shapes are the model's, parameters numbers that the seed gives.
Result<ir::Graph> read_seeded(std::string_view symbol, uint64_t seed, bool compatible);

/// What a params file says of `data` itself: the input of a run that is given none. Null: nothing. The graph holds it
/// as a constant of the input's name that nobody reads.
const Tensor* initial_input(const ir::Graph& graph);

/// Bits of an element in the params file, as writers of CVM choose them by the parameter's precision.
inline int64_t usual_width(int64_t bits) { return bits <= 8 ? 8 : 32; }
/// What the graph keeps of the model it was read from; null for a graph of another format.
const CvmProvenance* model_info(const ir::Graph& graph);

/// The bytes that the reference runtime returns for these heads: rows of several heads joined, argmax taken, elements
/// narrowed. Errors: logic when heads of different rows meet.
Result<std::string> output_bytes(const CvmProvenance& info, std::span<const Tensor> heads);

}  // namespace nnex::cvm_format
