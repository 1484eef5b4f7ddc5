#pragma once
// Which tensors of two networks are the same ones.

#include <array>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "api/layer_walk.h"
#include "nnex/compare.h"

namespace nnex {

/// Two layers that correspond.
struct LayerPair {
  size_t a = 0, b = 0;
  MatchedBy matched = MatchedBy::name;
};

/// Inputs and outputs of two networks that correspond, by value.
using ValuePairs = std::vector<std::pair<ValueId, ValueId>>;

/// What is kept of a tensor to find it again: its extents but for those of 1, its length as a vector and its products
/// with vectors of seeded signs.
struct Fingerprint {
  DType dtype = DType::none;  ///< none: it is no tensor of numbers, and equals nothing.
  std::vector<int64_t> extents;
  double length = 0;
  std::array<double, 8> products{};

  static Fingerprint of(const Value& value);
  /// Whether both may hold the same numbers, each within ten times its default tolerance of the length.
  bool near(const Fingerprint& other) const;
};

/// Pairs by name, if most named layers of the smaller network (four in five) have one with the same operator in the
/// other; names that differ in letters alone that an identifier lacks are the same where exact ones are not enough.
/// Of a network of codes beside one of floats, what stands for a tensor behind its codes is that tensor. Nothing: names
/// say nothing.
std::optional<std::vector<LayerPair>> match_by_name(const LayerNetwork& a, const LayerNetwork& b);

/// Pairs of equal content: the longest list of them that ascends in both orders, then others that have one candidate
/// alone; of the rest those that one operator makes of paired tensors, and those of one name that are made of paired
/// tensors by other operators.
std::vector<LayerPair> match_by_value(const LayerNetwork& a, const LayerNetwork& b, std::span<const Fingerprint> in_a,
                                      std::span<const Fingerprint> in_b, const ValuePairs& ports);

}  // namespace nnex
