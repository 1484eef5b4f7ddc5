#include "standards/cvm/import_quirks.h"

#include <algorithm>

namespace nnex::cvm_format {
namespace {

template <class T>
const T* find(const AttrMap& attrs, std::string_view name) {
  for (const auto& [key, value] : attrs)
    if (key == name) return std::get_if<T>(&value);
  return nullptr;
}

}  // namespace

int64_t NodeImport::integer(std::string_view name, int64_t otherwise) const {
  const auto* n = find<int64_t>(attrs, name);
  return n ? *n : otherwise;
}

bool NodeImport::boolean(std::string_view name, bool otherwise) const {
  const auto* b = find<bool>(attrs, name);
  return b ? *b : otherwise;
}

Ints NodeImport::tuple(std::string_view name, Ints otherwise) const {
  const auto* list = find<Ints>(attrs, name);
  if (list) return *list;
  return otherwise;
}

std::string NodeImport::text(std::string_view name, std::string_view otherwise) const {
  const auto* s = find<std::string>(attrs, name);
  return s ? *s : std::string(otherwise);
}

bool NodeImport::given(std::string_view name) const {
  return std::any_of(attrs.begin(), attrs.end(), [&](const auto& a) { return a.first == name; });
}

void NodeImport::reshape_input(size_t i, const Ints& extents) {
  in[i] = b("reshape", {in[i], b.ints(extents)});
  shapes[i] = Shape(extents);
}

Status NodeImport::check_range(std::string_view what, int64_t n, int64_t low, int64_t high) const {
  if (n >= low && n <= high) return {};
  return error("{} is {}; needed {} to {}", what, n, low, high);
}

Status NodeImport::check_list(std::string_view what, const Ints& list, size_t count, int64_t low, int64_t high) const {
  if (list.size() != count) return error("{} has {} numbers; needed {}", what, list.size(), count);
  for (int64_t n : list) NNEX_TRY(check_range(what, n, low, high));
  return {};
}

Status NodeImport::check_rank(size_t input, int64_t rank) const {
  if (shape(input).rank() == rank) return {};
  return error("input {} is {}; needed {} axes", input, shape(input).text(), rank);
}

Result<int64_t> NodeImport::positive_axis(int64_t axis, int64_t rank) const {
  NNEX_TRY(check_range("axis", axis, -rank, rank - 1));
  return axis < 0 ? axis + rank : axis;
}

Status prepare_plain(NodeImport&) { return {}; }

Status prepare_same_shapes(NodeImport& n) {
  if (n.shape(0) == n.shape(1)) return {};
  return n.error("inputs are {} and {}; needed equal shapes", n.shape(0).text(), n.shape(1).text());
}

/// The limits' own range belongs to the precision rule of the row.
Status prepare_clip(NodeImport& n) {
  for (const char* limit : {"a_min", "a_max"})
    n.in.push_back(n.b.constant(Tensor::scalar<int32_t>(static_cast<int32_t>(n.integer(limit, 0)))));
  n.become({});
  return {};
}

Status prepare_cvm_clip(NodeImport& n) { return n.check_range("precision", n.integer("precision", 0), 1, 32); }

Status prepare_shift(NodeImport& n) {
  NNEX_TRY(prepare_cvm_clip(n));
  const int64_t shift = n.integer("shift_bit", 0);
  NNEX_TRY(n.check_range("shift_bit", shift, 1, 32));
  // Upstream's own class of error for this one; the row's rule would call it a logic error.
  if (n.rule.name == "cvm_left_shift" && n.bits[0] + shift > 32)
    return runtime_error("{}: {} bits shifted by {}; needed at most 32 in all", n.rule.name, n.bits[0], shift);
  return {};
}

/// A condition of one axis chooses whole rows.
Status prepare_where(NodeImport& n) {
  if (!(n.shape(1) == n.shape(2)))
    return n.error("choices are {} and {}; needed equal shapes", n.shape(1).text(), n.shape(2).text());
  if (n.shape(0) == n.shape(1)) return {};
  if (n.shape(0).rank() != 1 || n.shape(0)[0] != n.shape(1)[0])
    return n.error("the condition is {} for {}; needed the same shape, or its first axis alone", n.shape(0).text(),
                   n.shape(1).text());
  Ints extents(static_cast<size_t>(n.shape(1).rank()), 1);
  extents[0] = n.shape(0)[0];
  n.reshape_input(0, extents);
  return {};
}

/// `exclude` reduces the other axes; with nothing left to reduce x stays as it is.
Status prepare_reduction(NodeImport& n) {
  const int64_t rank = n.shape(0).rank();
  const Ints given = n.tuple("axis", {});
  const bool exclude = n.boolean("exclude", false), keepdims = n.boolean("keepdims", false);
  std::vector<bool> reduced(static_cast<size_t>(rank), given.empty() || exclude);
  std::vector<bool> named(reduced.size());
  for (int64_t a : given) {
    NNEX_ASSIGN(const int64_t axis, n.positive_axis(a, rank));
    if (named[static_cast<size_t>(axis)]) return n.error("axis names axis {} twice", axis);
    named[static_cast<size_t>(axis)] = true;
    reduced[static_cast<size_t>(axis)] = !exclude;
  }
  Ints axes;
  for (int64_t i = 0; i < rank; ++i)
    if (reduced[static_cast<size_t>(i)]) axes.push_back(i);
  if (!keepdims && static_cast<int64_t>(axes.size()) == rank) n.result_shape = Ints{1};
  // Upstream's maximum over an empty list starts from 0.
  const bool from_zero = n.compatible && n.rule.name == "max" && given.empty() && !exclude;
  n.become({{"axis", axes}, {"keepdims", keepdims}});
  if (from_zero) n.attrs.emplace_back("initial", 0.0);
  return {};
}

Status prepare_valid_counts(NodeImport& n) {
  NNEX_TRY(n.check_rank(0, 3));
  return n.check_range("the number of columns", n.shape(0)[2], 2, 31);
}

Status prepare_suppression(NodeImport& n) {
  NNEX_TRY(n.check_rank(0, 3));
  NNEX_TRY(n.check_rank(1, 1));
  NNEX_TRY(n.check_range("the number of columns", n.shape(0)[2], 6, 6));
  NNEX_TRY(n.check_range("iou_threshold", n.integer("iou_threshold", 50), 1, INT32_MAX));
  NNEX_TRY(n.check_range("coord_start", n.integer("coord_start", 2), 2, 2));
  NNEX_TRY(n.check_range("score_index", n.integer("score_index", 1), 1, 1));
  NNEX_TRY(n.check_range("id_index", n.integer("id_index", 0), 0, 0));
  if (n.boolean("return_indices", false)) return n.error("return_indices is true; needed false");
  if (!n.boolean("invalid_to_bottom", true)) return n.error("invalid_to_bottom is false; needed true");
  AttrMap kept;
  for (const auto& a : n.attrs)
    if (a.first == "iou_threshold" || a.first == "max_output_size" || a.first == "top_k" || a.first == "force_suppress")
      kept.push_back(a);
  n.become(std::move(kept));
  return {};
}

/// Inputs are indices, then the table, of any rank.
Status prepare_lut(NodeImport& n) {
  const int64_t entries = n.shape(1).count();
  if (n.integer("in_dim", 0) != entries)
    return n.error("in_dim is {}; the table has {} elements", n.integer("in_dim", 0), entries);
  if (n.shape(1).rank() != 1) n.reshape_input(1, {entries});
  n.become({});
  return {};
}

}  // namespace nnex::cvm_format
