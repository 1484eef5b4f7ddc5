#pragma once
// Whole numbers that one kernel computes: a product of bytes or a value, and element-wise nodes behind it.

#include <optional>

#include "fusion/region.h"
#include "graph/intervals.h"

namespace nnex::fusion {

/// How values of int32 can be stored, by what is proven of them.
class IntStorage {
 public:
  IntStorage(const ir::Graph& graph, const Intervals& intervals) : graph_(graph), intervals_(intervals) {}

  /// Whether v is a tensor of int32 whose extents are numbers.
  bool is_i32(ValueId v) const;
  /// The narrowest type that holds v's elements.
  DType of(ValueId v) const;
  /// Whether v is a constant of signed bytes, stored wide.
  bool is_filter(ValueId v) const;
  /// The constant of signed bytes that v is a cast of.
  ValueId bytes_of(ValueId v) const;

 private:
  const ir::Graph& graph_;
  const Intervals& intervals_;
};

/// Nodes of whole numbers, before their values are stored narrow: the form has no numbers of inputs yet.
struct FoundIntegers {
  std::vector<NodeId> nodes;  ///< In their order; a product is the first.
  kernels::FusedIntegers form;
  kernels::IntRange begins;   ///< What the element before the first step lies in.
  Use start;                  ///< Where a node reads that element; of no product.
  std::vector<Use> operands;  ///< Where nodes read the operands of the form.

  bool has_product() const { return form.product.op != nullptr; }
};

/// conv | linear (x, constant w) of bytes and what goes on behind it:
///     add | sub | mul | max | min of one number, a row, a column or a tensor of the result's extents,
///     relu | neg | clamp | cvm_clip | cvm_right_shift | cvm_left_shift
/// as long as each result has one reader, which is not `taken`.
std::optional<FoundIntegers> find_int_product(const ir::Graph& graph, const IntStorage& storage, NodeId product,
                                              const std::set<NodeId>& taken);
/// The same from such an element-wise node on.
std::optional<FoundIntegers> find_int_chain(const ir::Graph& graph, const IntStorage& storage, NodeId first,
                                            const std::set<NodeId>& taken);

/// What was found, once its values are stored narrow: `all` are its nodes and the casts around them, `last` the last.
Found finished(const ir::Graph& graph, FoundIntegers found, NodeId last, const std::set<NodeId>& all);

}  // namespace nnex::fusion
