#pragma once
// A network run a few nodes at a time, so that every tensor of it can be seen and few are held.

#include <functional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "nnex/model.h"
#include "nnex/source.h"

namespace nnex {

/// A tensor that a node of the main block makes.
struct Layer {
  ValueId value;
  NodeId node;
  std::string label;  ///< Its name; of an unnamed one "OP at PLACE".
};

/// A network on given inputs: functions are inlined, types are inferred from the inputs' extents, no pass has run.
struct LayerNetwork {
  ir::Graph graph;
  std::vector<Value> inputs;                      ///< By parameter, those of states too.
  std::vector<Layer> layers;                      ///< In order.
  std::unordered_map<uint32_t, size_t> layer_of;  ///< By value.

  /// Errors: those of load_graph; invalid_argument (count of inputs).
  static Result<LayerNetwork> open(const ModelSource& source, const LoadOptions& options,
                                   std::span<const Value> inputs);
  /// The same of a graph that is there.
  static Result<LayerNetwork> of(ir::Graph graph, std::span<const Value> inputs);
  const std::string& place(size_t layer) const { return graph.place_of(layers[layer].node); }
  std::string_view op(size_t layer) const { return op_of(layers[layer].node); }
  /// The row's name; of a custom operator its own.
  std::string_view op_of(NodeId id) const;
  /// What a node reads that is not constant, what its blocks read included.
  std::vector<ValueId> reads(NodeId id) const;
};

/// The order in which the network's nodes stand; with a rank for each layer another one that may be: of those that
/// could run, the node whose layers have the least rank is next.
std::vector<NodeId> order_by(const LayerNetwork& network, std::span<const size_t> rank);

/// One walk through a network.
class LayerWalk {
 public:
  /// A layer and what a run made of it.
  struct Seen {
    size_t layer = 0;
    Value content;
  };

  /// `held_bytes`: how much a step may make and pack at once, unless one node alone needs more. The network outlives
  /// the walk.
  LayerWalk(const LayerNetwork& network, std::vector<NodeId> order, const LoadOptions& options,
            const SessionOptions& session, int64_t held_bytes);

  bool done() const { return at_ == order_.size(); }
  /// Runs the next nodes. Errors: those of compiling and running them, with the place of the first.
  Result<std::vector<Seen>> next(const RunOptions& run);

 private:
  /// How many nodes the next step takes.
  size_t step_length() const;

  const LayerNetwork& network_;
  std::vector<NodeId> order_;
  LoadOptions options_;
  SessionOptions session_;
  int64_t held_bytes_;
  size_t at_ = 0;
  std::unordered_map<uint32_t, size_t> last_read_;  ///< By value: the place in order of its last reader.
  std::unordered_map<uint32_t, Value> held_;        ///< What later nodes read.
};

}  // namespace nnex
