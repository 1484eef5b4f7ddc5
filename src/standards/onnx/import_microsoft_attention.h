#pragma once
// What the operators of attention of the domain com.microsoft share.

#include <initializer_list>
#include <utility>
#include <vector>

#include "ops/attention.h"
#include "standards/onnx/import_microsoft.h"

namespace nnex::onnx_format::microsoft {

/// Error: one of these inputs is given, told by its name.
Status none_of(const NodeImport& n, std::initializer_list<std::pair<size_t, std::string_view>> inputs);
Result<int64_t> head_count(const NodeImport& n, std::string_view attr);
/// The last extent of input i, which a model that anyone runs has as a number.
Result<int64_t> width(const NodeImport& n, size_t i);
/// Columns of queries, keys and values among `all` of a product.
Result<Ints> packed_sizes(const NodeImport& n, int64_t all);
/// Extent `axis` as a vector of one number.
ValueId extent(NodeImport& n, ValueId x, int64_t axis);
/// An extent of 0 is that of x at its place.
ValueId reshaped(NodeImport& n, ValueId x, const Ints& shape);
/// [batch, positions, heads * depth] as [batch, heads, positions, depth].
ValueId by_heads(NodeImport& n, ValueId x, int64_t heads);
/// Back again.
ValueId side_by_side(NodeImport& n, ValueId x);
/// Columns [begin, end) of the last axis.
ValueId columns(NodeImport& n, ValueId x, int64_t begin, int64_t end);
ValueId joined(NodeImport& n, ValueId a, ValueId b, int64_t axis);
/// 0, 1, ... below a vector of one number.
ValueId count_to(NodeImport& n, ValueId limit);

/// What is added to scores [batch, heads, queries, keys] by a mask of padding: one number a batch row is how many keys
/// count; else 1 where a key counts. `keys` is the number of keys, as a vector of one number.
Result<ValueId> mask_term(NodeImport& n, size_t i, ValueId keys, DType type);

/// Queries, keys and values as [batch, heads, positions, depth], with what the row takes beside them.
struct Heads {
  ValueId q, k, v, mask, past_key, past_value;
};
/// The mask of padding at an input and what another adds to scores, as the row takes them; invalid: neither is given.
Result<ValueId> masks(NodeImport& n, const Heads& h, size_t padding, size_t bias, DType type);
AttentionAttrs attention_attrs(const NodeImport& n);
/// The row; results y, and keys and values with those of the past.
std::vector<ValueId> attention(NodeImport& n, const Heads& h, const AttentionAttrs& a);

}  // namespace nnex::onnx_format::microsoft
