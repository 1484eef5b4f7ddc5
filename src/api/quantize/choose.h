#pragma once
// Which tensors of a float network become codes.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace nnex {

/// The constant operand of a product, and how its sums lie in it.
struct ProductShape {
  int64_t outputs = 0;       ///< Extent of `weight_axis`: one scale each.
  int64_t weight_axis = 0;   ///< Of the weight, along which the outputs lie.
  int64_t channels = 0;      ///< Of what the product reads.
  int64_t channel_axis = 0;  ///< Of what the product reads; negative: from the last.
  int64_t groups = 1;        ///< Output o reads the channels of group o / (outputs / groups).
};
/// Nothing where the node is no product of something computed and a constant matrix or filter, in float32.
std::optional<ProductShape> product_shape(const ir::Graph& graph, const Node& node);

/// Whether the second operand of a product is stored as codes.
bool has_coded_weights(const ir::Graph& graph, const Node& node);

/// A product or a sum: what may become a layer of codes.
struct CodedLayer {
  NodeId node;
  ValueId end;       ///< What it makes: behind the bias row and the limit that follow it.
  std::string kept;  ///< Why it stays float; empty: it does not.
};

struct Coding {
  std::vector<CodedLayer> layers;          ///< In order.
  std::vector<ValueId> coded;              ///< Tensors that become codes, in order.
  std::map<uint32_t, ValueId> scale_from;  ///< Of a coded tensor that has the elements of another: whose scale it has.
  std::set<uint32_t> ends;                 ///< Ends of layers: nobody reads them as floats any more.
  std::set<uint32_t> readers;              ///< Nodes that read codes.

  bool is_coded(ValueId v) const;
  /// The tensor whose range v has.
  ValueId scale_of(ValueId v) const;
};

/// `kept`: reasons of layers that stay float, by node.
Coding choose(const ir::Graph& graph, const std::map<uint32_t, std::string>& kept);

}  // namespace nnex
