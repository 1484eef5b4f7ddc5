#pragma once
// Two networks set beside each other, node by node.

#include <optional>
#include <string>
#include <vector>

#include "api/compare_whole.h"
#include "api/match_layers.h"

namespace nnex {

/// A pair of layers, and how they differ once both were seen.
struct PairState {
  LayerPair pair;
  std::optional<ComparedTensor> compared;
  bool skipped = false;  ///< Seen too far apart.
};

/// Where to stop.
enum class Until : uint8_t { end, first };

/// Walks both networks and compares the pairs, which ascend in a's order; with Until::first no further than to the
/// first that differs. Errors: those of a walk.
Status compare_pairs(const LayerNetwork& a, const LayerNetwork& b, std::vector<PairState>& pairs,
                     const CompareOptions& options, Until until);
/// The same with tensors from elsewhere: the pairs' names are looked up there. Those that are not there stay
/// uncompared.
Status compare_named(const LayerNetwork& a, const Others& b, const std::map<std::string, Value>& inputs,
                     std::vector<PairState>& pairs, const CompareOptions& options, Until until);

/// The fingerprints of all layers. Errors: those of a walk.
Result<std::vector<Fingerprint>> fingerprints(const LayerNetwork& network, const LoadOptions& load,
                                              const CompareOptions& options);

/// What is needed to make a layer from tensors that are equal on both sides.
struct Cut {
  std::vector<NodeId> nodes;    ///< In order; the last makes the layer.
  std::vector<ValueId> inputs;  ///< Equal layers and inputs of the network, each once.
};
/// `equal`: by layer, whether it is the same on the other side.
Cut cut_before(const LayerNetwork& network, size_t layer, const std::vector<bool>& equal);

/// The contents of some values of a network: layers or inputs. Errors: those of a walk.
Result<std::vector<Value>> contents_of(const LayerNetwork& network, std::span<const ValueId> values,
                                       const LoadOptions& load, const CompareOptions& options);

/// Writes the two cuts as ONNX files with their inputs and runs both again. `b` null: the second side is `others`.
/// `inputs`: values of a, and which of b each is (none: it has no such value).
Isolated isolate(const LayerNetwork& a, const Cut& cut_a, ValueId layer_a, const LayerNetwork* b, const Cut& cut_b,
                 ValueId layer_b, const ValuePairs& inputs, const Others* others, const CompareOptions& options);

}  // namespace nnex
