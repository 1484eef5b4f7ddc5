#pragma once
/// Every tensor of a network as an output: to find where two machines, or two forms of a model, begin to differ.

#include <string>
#include <vector>

#include "nnex/model.h"
#include "nnex/source.h"
#include "nnex/tensor_file.h"

#pragma GCC visibility push(default)
namespace nnex {

/// A model whose runs give every tensor of its main block.
struct LayeredModel {
  Model model;                          ///< Its outputs: the network's own first, then one for each layer.
  std::vector<std::string> layers;      ///< What each of the further outputs is: "conv1 conv", in order of the nodes.
  std::vector<NamedTensor> parameters;  ///< The constants that nodes read.
};

/// Loads a model so. Nodes that read constants alone are no layers. Errors: those of Model::load.
Result<LayeredModel> load_layers(const ModelSource& source, const LoadOptions& options = {});

}  // namespace nnex
#pragma GCC visibility pop
