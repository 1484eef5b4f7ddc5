// Operations along axes whose result is a reduction, a running sum or a share of one.

#include <algorithm>

#include "base/try.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

Ints reduced(const Ints& shape, const Ints& axes, bool keep) {
  Ints out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!gone || keep) out.push_back(gone ? 1 : shape[i]);
  }
  return out;
}

}  // namespace

Status arg_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_axis("axis", shape.size()));
  step.out(step.data_type("outputDataType"), reduced(shape, {step.integer("axis")}, step.flag("keepDimensions")));
  return {};
}

/// Absent axes are all, an empty list is none.
Status reduce_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_axes("axes", shape.size()));
  Ints all;
  for (size_t i = 0; i < shape.size(); ++i) all.push_back(static_cast<int64_t>(i));
  step.out(reduced(shape, step.ints_or("axes", all), step.flag("keepDimensions")));
  return {};
}

/// cumulativeSum, softmax.
Status axis_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_axis("axis", shape.size()));
  step.out(shape);
  return {};
}

}  // namespace nnex::ml
