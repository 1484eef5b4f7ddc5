#include <cmath>

#include "base/try.h"
#include "ops/resize.h"
#include "webnn/rules.h"

namespace nnex::ml {

namespace {

/// Extents of the two axes: sizes, or what scales make of the input's.
Ints resampled(const Step& step, const Ints& axes) {
  if (step.given("sizes")) return step.ints("sizes");
  Ints out;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const int64_t extent = step.shape("input")[static_cast<size_t>(axes[i])];
    const double scale = step.given("scales") ? std::get<Reals>(step.arg("scales"))[i] : 1;
    const double scaled = std::floor(static_cast<double>(extent) * scale);
    out.push_back(static_cast<int64_t>(std::fmin(scaled, static_cast<double>(kMaxDimension) + 1)));
  }
  return out;
}

}  // namespace

Status resample_rule(Step& step) {
  if (step.given("scales")) {
    const Reals& scales = std::get<Reals>(step.arg("scales"));
    if (scales.size() != 2) return step.fail("scales has {} items; needed 2", scales.size());
    for (double scale : scales)
      if (!(scale > 0)) return step.fail("scales has {}; needed more than 0", scale);
  }
  NNEX_TRY(step.need_count("sizes", 2));
  NNEX_TRY(step.need_positive("sizes"));
  NNEX_TRY(step.need_count("axes", 2));
  return step.need_axes("axes", step.shape("input").size());
}

/// Position o of an axis lies at (o + 0.5) in / out - 0.5 of the input, not beyond its ends: where a scale leaves a
/// fraction of an element, the tests want the scale of the whole extents.
void import_resample(Importer& to) {
  const Step& step = to.step();
  ResizeAttrs attrs;
  attrs.axes = step.ints_or("axes", {2, 3});
  attrs.mode = step.word("mode") == "linear" ? ResizeMode::linear : ResizeMode::nearest;
  const ValueId wanted = to.ints(resampled(step, attrs.axes));
  to.result(to("resize", {to.in("input"), ValueId{}, ValueId{}, wanted}, attrs));
}

}  // namespace nnex::ml
