// Operations that read or write at indices. What an index may be is known at run time only: it is clamped there.

#include <algorithm>

#include "base/try.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

/// a[0, to) followed by b[from, end).
Ints joined(const Ints& a, size_t to, const Ints& b, size_t from) {
  Ints out(a.begin(), a.begin() + static_cast<ptrdiff_t>(to));
  out.insert(out.end(), b.begin() + static_cast<ptrdiff_t>(from), b.end());
  return out;
}

/// The indices have the input's extents but for `axis`.
Status check_beside_axis(const Step& step) {
  const Ints shape = step.shape("input"), indices = step.shape("indices");
  NNEX_TRY(step.need_axis("axis", shape.size()));
  for (size_t i = 0; i < shape.size(); ++i)
    if (static_cast<int64_t>(i) != step.integer("axis") && indices[i] != shape[i])
      return step.fail("indices have extent {} at axis {}; the input has {}", indices[i], i, shape[i]);
  return {};
}

/// How many axes of the input a row of indices names.
Result<size_t> named_axes(const Step& step) {
  const int64_t n = step.shape("indices").back();
  const size_t rank = step.shape("input").size();
  if (n > static_cast<int64_t>(rank)) return step.fail("indices name {} axes; the input has {}", n, rank);
  return static_cast<size_t>(n);
}

/// The extents of what rows of indices name.
Result<Ints> named_slices(const Step& step) {
  NNEX_ASSIGN(size_t axes, named_axes(step));
  const Ints indices = step.shape("indices");
  return joined(indices, indices.size() - 1, step.shape("input"), axes);
}

}  // namespace

Status gather_rule(Step& step) {
  const Ints shape = step.shape("input"), indices = step.shape("indices");
  NNEX_TRY(step.need_axis("axis", shape.size()));
  const size_t axis = static_cast<size_t>(step.integer("axis"));
  const Ints head = joined(shape, axis, indices, 0);
  step.out(joined(head, head.size(), shape, axis + 1));
  return {};
}

Status gather_elements_rule(Step& step) {
  NNEX_TRY(check_beside_axis(step));
  step.out(step.shape("indices"));
  return {};
}

Status gather_nd_rule(Step& step) {
  NNEX_ASSIGN(Ints out, named_slices(step));
  step.out(out);
  return {};
}

Status scatter_elements_rule(Step& step) {
  NNEX_TRY(check_beside_axis(step));
  NNEX_TRY(step.need_shape("updates", step.shape("indices")));
  step.out(step.shape("input"));
  return {};
}

Status scatter_nd_rule(Step& step) {
  NNEX_ASSIGN(Ints slices, named_slices(step));
  NNEX_TRY(step.need_shape("updates", slices));
  step.out(step.shape("input"));
  return {};
}

}  // namespace nnex::ml
