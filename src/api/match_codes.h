#pragma once
// Networks of codes beside networks of floats: which tensors of one stand for tensors of the other.

#include <string_view>
#include <vector>

#include "api/match_layers.h"

namespace nnex {

/// How a network of codes is read as one of floats.
class CodedNetwork {
 public:
  explicit CodedNetwork(const LayerNetwork& network) : n_(network) {}

  /// What a value stands for: x where it is dequantize_linear(quantize_linear(x)), or x rounded in one operator.
  ValueId origin(ValueId v) const;
  /// The value that stands for v wherever v is read: all its readers are codes. Invalid: v itself is read.
  ValueId stand_in(ValueId v) const;
  /// Whether the layer is codes, or numbers made of codes: weights, and what stands for a value. A network of floats
  /// has none of these.
  bool is_of_codes(size_t layer) const;
  /// What a node reads that is not constant, and of that what it stands for. Weights of codes are constants.
  std::vector<ValueId> reads(NodeId id) const;
  /// The batch normalisation that alone reads what a node makes, with constant numbers: a product may hold it.
  /// Invalid: there is none.
  NodeId norm_after(NodeId id) const;
  /// The limit (relu, clamp) that alone reads a value: the range of codes may hold it. Invalid: there is none.
  NodeId limit_after(ValueId v) const;
  const LayerNetwork& network() const { return n_; }

 private:
  NodeId only_reader_of(ValueId v) const;

  const LayerNetwork& n_;
};

/// Whether two layers of one name may be one tensor: one operator makes both, or a product that holds the batch
/// normalisation which makes the other.
bool same_maker(const CodedNetwork& a, size_t l, const CodedNetwork& b, size_t m);

/// Where one side of a pair goes on as codes, its partner is what stands for it behind them.
void pair_stand_ins(const LayerNetwork& a, const LayerNetwork& b, std::vector<LayerPair>& pairs);

}  // namespace nnex
