#pragma once
// Ensembles of decision trees (ONNX TreeEnsemble-5 and what older forms become).

#include <array>
#include <vector>

#include "nnex/result.h"
#include "ops/ml.h"

namespace nnex {

enum class Aggregate : uint8_t { average, sum, min, max };
constexpr std::array<std::string_view, 4> enumerators(Aggregate) { return {"average", "sum", "min", "max"}; }

/// Test of a node: what x[feature] is compared with.
enum class Branch : uint8_t { leq, lt, gte, gt, eq, neq, member };

struct TreeAttrs {
  Ints features, modes, true_ids, false_ids, true_leafs, false_leafs, missing_true;
  Reals splits, members;
  Ints roots, leaf_targets, leaf_counts;
  Reals leaf_weights;
  int64_t targets = 1;
  Aggregate aggregate = Aggregate::sum;
  Reals base;
  PostTransform post = PostTransform::none;
  bool wide = false;
  DType result = DType::none;
};

/// Trees as a walk needs them: checked once, every index in range, no way back to a node.
class Forest {
 public:
  /// Error text: lists of different lengths, an index outside, a cycle.
  static Result<Forest> make(const TreeAttrs& attrs);

  /// Features a row must have.
  int64_t features() const { return features_; }
  int64_t targets() const { return targets_; }

  /// scores[target] of one row of features, before the post-transform. Sums are of type T.
  template <class T, class X>
  void predict(const X* row, T* scores) const;

 private:
  struct Node {
    double split = 0;
    int32_t feature = 0;
    int32_t yes = 0, no = 0;  ///< A node, or ~leaf.
    Branch mode = Branch::leq;
    bool missing = false;  ///< NaN goes the way of yes.
    int32_t set = 0;       ///< Of member nodes.
  };
  template <class X>
  bool test(const Node& n, X x) const;
  Status link(const TreeAttrs& attrs);
  Status check_acyclic() const;

  std::vector<Node> nodes_;
  std::vector<int32_t> roots_;
  std::vector<std::vector<double>> sets_;
  std::vector<int32_t> leaf_first_;  ///< Of each leaf, and the end: its entries.
  std::vector<int32_t> entry_target_;
  std::vector<double> entry_weight_;
  Reals base_;  // none, one for all targets, or one each
  Aggregate aggregate_ = Aggregate::sum;
  int64_t targets_ = 1, features_ = 0;
};

}  // namespace nnex
