#include <cmath>

#include "base/try.h"
#include "ops/resize.h"
#include "webnn/rules.h"

namespace nnex::ml {

Status resample_rule(Step& step) {
  Ints out = step.shape("input");
  if (step.given("scales")) {
    const Reals& scales = std::get<Reals>(step.arg("scales"));
    if (scales.size() != 2) return step.fail("scales has {} items; needed 2", scales.size());
    for (double scale : scales)
      if (!(scale > 0)) return step.fail("scales has {}; needed more than 0", scale);
  }
  NNEX_TRY(step.need_count("sizes", 2));
  NNEX_TRY(step.need_positive("sizes"));
  NNEX_TRY(step.need_count("axes", 2));
  NNEX_TRY(step.need_axes("axes", out.size()));
  const Ints axes = step.ints_or("axes", {2, 3});
  for (size_t i : {size_t{0}, size_t{1}}) {
    int64_t& extent = out[static_cast<size_t>(axes[i])];
    if (step.given("sizes")) {
      extent = step.ints("sizes")[i];
    } else if (step.given("scales")) {
      const double scaled = std::floor(static_cast<double>(extent) * std::get<Reals>(step.arg("scales"))[i]);
      extent = static_cast<int64_t>(std::fmin(scaled, static_cast<double>(kMaxDimension) + 1));
    }
  }
  step.out(out);
  return {};
}

/// Position o of an axis lies at (o + 0.5) in / out - 0.5 of the input, not beyond its ends: where a scale leaves a
/// fraction of an element, the tests want the scale of the whole extents.
nnex::Status import_resample(Importer& to) {
  const Step& step = to.step();
  ResizeAttrs attrs;
  attrs.axes = step.ints_or("axes", {2, 3});
  attrs.mode = step.word("mode") == "linear" ? ResizeMode::linear : ResizeMode::nearest;
  Ints sizes;
  for (int64_t axis : attrs.axes) sizes.push_back(step.outputs[0].shape[static_cast<size_t>(axis)]);
  const ValueId wanted = to.ints(sizes);
  to.result(to("resize", {to.in("input"), ValueId{}, ValueId{}, wanted}, attrs));
  return {};
}

}  // namespace nnex::ml
