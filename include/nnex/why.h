#pragma once
/// Why a model is as it is: where its extents come from, which kernels its nodes get, what keeps it from a standard.

#include <string>
#include <vector>

#include "nnex/format.h"
#include "nnex/model.h"
#include "nnex/source.h"

#pragma GCC visibility push(default)
namespace nnex {

/// An extent of an input that the network does not leave open.
struct FixedExtent {
  std::string extent;              ///< "x.1"
  int64_t found = 0;               ///< As the model has it.
  int64_t broken = 0;              ///< One that was tried and does not go.
  std::string why;                 ///< What that would break: the node, and its sentence.
  std::vector<int64_t> also = {};  ///< Others that were tried and go.
};

/// The type of a value, and what its extents would be for inputs of any size.
struct ExtentOrigin {
  std::string value;    ///< Its name.
  std::string place;    ///< The node that makes it; empty: an input or a constant.
  std::string type;     ///< As the model has it: "f32[1,64,56,56]".
  std::string formula;  ///< Over the inputs' open extents, named "input.axis": "f32[x.0,64,2*x.2+1]".
};

/// A faster kernel that did not take a node.
struct DeclinedKernel {
  std::string kernel;
  std::string why;  ///< What it would need, as far as trying tells: "needs float32", "needs input 'filter' constant".
};

/// The kernel of a node as it runs, after the passes.
struct KernelOrigin {
  std::string place, op;
  std::string types;                     ///< Of inputs and outputs: "f32[1,3,8,8], f32[4,3,3,3] -> f32[1,4,6,6]".
  std::string kernel;                    ///< "reference": the table's plain one.
  std::vector<DeclinedKernel> declined;  ///< Those that were asked before it, in that order.
};

/// Whether a standard can say the model.
struct StandardReach {
  Format format = Format::onnx;
  bool can = false;
  std::string why_not;           ///< What convert() would say, with every operation that is in the way.
  std::vector<Remedy> remedies;  ///< Options with which it can.
};

struct Why {
  std::vector<FixedExtent> fixed;
  std::vector<ExtentOrigin> values;  ///< In the graph's order; those without a name are left out.
  std::vector<KernelOrigin>
      kernels;                  ///< In the plan's order. Nodes in blocks of If and Loop are planned by runs alone.
  std::string kernels_unknown;  ///< Why no plan could be made: an extent that nobody named; empty: one was.
  std::vector<StandardReach> standards;
};

/// Explains a model; options.symbols and options.shapes name the extents that it leaves open. Errors: those of
/// load_graph.
Result<Why> why(const ModelSource& source, const LoadOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
