#pragma once
// What the files of row rules share: one node, at least one input of which has rows. row_rules.cpp tells which rule is
// a node's, and has those along axes; row_items.cpp those of items, products and indices.

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "api/row_rules.h"
#include "graph/queries.h"
#include "tensor/convert.h"

namespace nnex {

class NodeRows {
 public:
  using Axes = std::optional<std::vector<int64_t>>;  ///< Where rows lie in the outputs; nothing: they may meet.

  NodeRows(const ir::Graph& graph, const Node& node, std::span<const RowState> in, const RowFacts& facts)
      : graph_(graph), node_(node), op_(*node.op), in_(in), facts_(facts) {}

  RowAnswer answer();

 private:
  static bool is_rows(const RowState& s) { return s.kind == RowState::Kind::rows; }
  template <class A>
  bool has() const {
    return op_.attrs.type == &detail::type_tag<A>;
  }
  template <class A>
  const A& attrs() const {
    return graph_.attrs<A>(node_);
  }
  /// The attribute of that name; `otherwise` where the row has none.
  template <class T>
  T attr(std::string_view name, T otherwise) const {
    const auto* field = op_.attrs.find(name);
    const AttrValue value = field ? field->get(node_.attrs.get()) : AttrValue();
    const T* found = std::get_if<T>(&value);
    return found ? *found : otherwise;
  }

  bool given(size_t i) const { return i < node_.in.size() && node_.in[i].valid(); }
  const Dims* dims(size_t i) const {
    const Type& t = facts_.type(node_.in[i]);
    return t.is_tensor() && t.dims ? &*t.dims : nullptr;
  }
  const Dims* out_dims(size_t o = 0) const {
    if (o >= node_.out.size() || !node_.out[o].valid()) return nullptr;
    const Type& t = facts_.type(node_.out[o]);
    return t.is_tensor() && t.dims ? &*t.dims : nullptr;
  }
  int64_t rank(size_t i) const { return given(i) && dims(i) ? static_cast<int64_t>(dims(i)->size()) : -1; }
  bool rows(size_t i) const { return given(i) && is_rows(in_[i]); }
  int64_t axis(size_t i) const { return in_[i].axis; }
  bool is_parameter(size_t i) const { return reads_by_value(node_, i); }
  static int64_t positive(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }
  /// Elements of an integer input, when they are known.
  std::optional<Ints> numbers(size_t i) const {
    const Tensor* t = facts_.content(node_.in[i]);
    if (!t || !is_int(t->dtype()) || t->dtype() == kDimType) return std::nullopt;
    const auto aligned = t->aligned_copy();
    return aligned.ok() ? std::optional(ints_of(*aligned)) : std::nullopt;
  }
  /// Whether the input only says extents, which the output shows.
  bool takes_extents(size_t i) const {
    if (!is_parameter(i)) return false;
    return op_.view || op_.layout == LayoutRole::slice || op_.name == "expand" || op_.name == "tile" ||
           op_.name == "resize" || op_.name == "affine_grid";
  }
  bool has_count() const {
    return std::any_of(in_.begin(), in_.end(), [](const RowState& s) { return s.kind == RowState::Kind::count; });
  }
  /// An output that has no place for rows, or more than one; empty: none.
  std::string of_all_rows() const;
  /// Whether an output has an extent that only a run knows, and no input.
  bool has_open_extent() const;

  Axes along() {
    along_ = true;
    return std::nullopt;
  }
  static Axes unknown() { return std::nullopt; }
  static Axes at(int64_t axis) { return std::vector<int64_t>{axis}; }
  /// Whether no input but these has rows.
  bool only(std::initializer_list<size_t> with) const {
    for (size_t i = 0; i < in_.size(); ++i)
      if (rows(i) && std::find(with.begin(), with.end(), i) == with.end()) return false;
    return true;
  }

  Axes rule();
  /// Rows that no column tells of.
  Axes of_named();

  // ---- Elements, and shapes of them ----
  /// Operands meet from the last axis on.
  Axes of_broadcast();
  Axes of_kept();
  /// The same elements in the same order: rows stay apart where what is counted outside them stays outside.
  Axes of_view();
  Axes of_transpose();
  /// Rows that are not stretched themselves.
  Axes of_stretched();

  // ---- Along axes ----
  /// What goes over these axes of input 0; further inputs are the same for all rows.
  Axes of_axes(const Ints& axes, bool to_end = false, bool keepdims = true);
  Axes of_reduced();
  /// What goes along attribute `axis`; further inputs have one axis, or what is the same for all rows.
  Axes of_axis();
  /// All inputs have rows at one axis and meet at another; `more` axes come in front of those.
  Axes of_joined(int64_t more);
  Axes of_stack();
  Axes of_unstack();
  Axes of_reverse();
  Axes of_reverse_sequence();
  Axes of_dft();
  /// Every axis has its window; what counts from the first item on tells items apart.
  Axes of_windows();
  Axes of_pad();
  /// All rows, in their order; elsewhere from and to places that do not depend on their number.
  Axes of_slice();
  /// Whether element e of input i depends on how many rows there are.
  bool is_of_count(size_t i, int64_t e) const;
  /// An axis that keeps its extent keeps its elements, where nothing but extents says how it is stretched.
  Axes of_resize();

  // ---- Items along axis 0 ----
  /// The first input's; others are the same for all.
  Axes of_items();
  /// Items of every input.
  Axes of_all_items();
  Axes of_deform_conv();
  Axes of_causal_conv();
  /// Whether these inputs, where they are given, have rows along axis 0, and no others have any.
  bool are_items(std::initializer_list<size_t> with) const;
  Axes of_attention();
  /// Tables of cosines and sines are for all items, or an item's where they are no rows to choose of.
  Axes of_rotary();
  /// [steps, rows, numbers], states [directions, rows, numbers]; a cell has no steps.
  Axes of_recurrent();
  /// [rows, columns].
  Axes of_table();
  Axes of_matrices();

  // ---- Products ----
  /// Matrices in the last two axes, of which earlier ones broadcast; rows of the first matrix, or columns of the
  /// second.
  Axes of_matmul();
  Axes of_linear();
  /// Rows of x that choose their matrix: axes of x but for the last meet those of the index.
  Axes of_gather_matmul();
  /// The rows' index stands in the result, and in no operand that has no rows.
  Axes of_einsum();

  // ---- Elements that indices name ----
  Axes of_gather();
  /// Places of a table of all rows would be those of the first rows.
  Axes of_gather_elements();
  Axes of_gather_nd();
  Axes of_one_hot();

  const ir::Graph& graph_;
  const Node& node_;
  const OpDef& op_;
  std::span<const RowState> in_;
  const RowFacts& facts_;
  Dim outer_ = 1;
  bool along_ = false;
};

}  // namespace nnex
