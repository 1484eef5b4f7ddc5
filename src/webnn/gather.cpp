// Operations that read or write at indices. What an index may be is known at run time only: it is clamped there.

#include "base/try.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

/// The indices have the input's extents but for `axis`; the rows take shorter ones.
Status check_beside_axis(const Step& step) {
  const Ints shape = step.shape("input"), indices = step.shape("indices");
  NNEX_TRY(step.need_axis("axis", shape.size()));
  for (size_t i = 0; i < shape.size(); ++i)
    if (static_cast<int64_t>(i) != step.integer("axis") && indices[i] != shape[i])
      return step.fail("indices have extent {} at axis {}; the input has {}", indices[i], i, shape[i]);
  return {};
}

}  // namespace

Status gather_elements_rule(Step& step) { return check_beside_axis(step); }

Status scatter_elements_rule(Step& step) {
  NNEX_TRY(check_beside_axis(step));
  return step.need_shape("updates", step.shape("indices"));
}

}  // namespace nnex::ml
