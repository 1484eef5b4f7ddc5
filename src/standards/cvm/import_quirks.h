#pragma once
// One CVM operator on its way to a row of the table: what CVM forbids is refused here, what it says differently becomes
// the row's attributes (cvm.md section 9).

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/failure.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "standards/cvm/signatures.h"

namespace nnex::cvm_format {

/// An operator before it is spelled in the table's words. Inputs are i32 tensors of known extents, 1 to 6 of them.
struct NodeImport {
  Builder b;
  const Signature& rule;
  AttrMap attrs;  ///< As given; prepare leaves those the spelling knows.
  std::vector<ValueId> in;
  std::vector<Shape> shapes;         ///< Of the inputs.
  Ints bits;                         ///< Precision of the inputs.
  bool compatible = false;           ///< Upstream's answer where ours is deliberately another.
  std::optional<Ints> result_shape;  ///< Output 0 gets these extents after the row: the row's own drop an axis.

  const Shape& shape(size_t i) const { return shapes[i]; }
  int64_t integer(std::string_view name, int64_t otherwise) const;
  bool boolean(std::string_view name, bool otherwise) const;
  Ints tuple(std::string_view name, Ints otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  bool given(std::string_view name) const;
  /// Replaces all attributes.
  void become(AttrMap row_attrs) { attrs = std::move(row_attrs); }
  /// Input i is reshaped first.
  void reshape_input(size_t i, const Ints& extents);
  template <class... A>
  Error error(fmt::format_string<A...> format, A&&... args) const {
    return failure_of(Code::invalid_model, rule.name, format, std::forward<A>(args)...);
  }
  /// Error unless low <= n <= high.
  Status check_range(std::string_view what, int64_t n, int64_t low, int64_t high) const;
  /// Every number of a list lies in the range, and there are `count` of them.
  Status check_list(std::string_view what, const Ints& list, size_t count, int64_t low, int64_t high) const;
  Status check_rank(size_t input, int64_t rank) const;
  /// axis from 0, of an input of `rank` axes.
  Result<int64_t> positive_axis(int64_t axis, int64_t rank) const;
};

inline constexpr int64_t kMaxAttr = 4096;  ///< Upper end of the generic range of attributes, itself allowed.

Status prepare_plain(NodeImport&);
Status prepare_same_shapes(NodeImport&);
Status prepare_clip(NodeImport&);
Status prepare_cvm_clip(NodeImport&);
Status prepare_shift(NodeImport&);
Status prepare_where(NodeImport&);
Status prepare_reduction(NodeImport&);
Status prepare_valid_counts(NodeImport&);
Status prepare_suppression(NodeImport&);
Status prepare_lut(NodeImport&);
// import_window.cpp
Status prepare_conv2d(NodeImport&);
Status prepare_dense(NodeImport&);
Status prepare_max_pool2d(NodeImport&);
Status prepare_upsampling(NodeImport&);
// import_shape.cpp
Status prepare_repeat(NodeImport&);
Status prepare_tile(NodeImport&);
Status prepare_concatenate(NodeImport&);
Status prepare_transpose(NodeImport&);
Status prepare_expand_dims(NodeImport&);
Status prepare_squeeze(NodeImport&);
Status prepare_reshape(NodeImport&);
Status prepare_strided_slice(NodeImport&);
Status prepare_slice_like(NodeImport&);
Status prepare_take(NodeImport&);

}  // namespace nnex::cvm_format
