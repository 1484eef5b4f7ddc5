// Scores of classes as labels and probabilities.

#include <fmt/format.h>

#include "ops/gather.h"
#include "ops/ml.h"
#include "ops/reduce.h"
#include "ops/softmax.h"
#include "passes/lower.h"

namespace nnex::passes {
namespace {

/// Rows of scores as `kind` has them.
Result<ValueId> transformed(Lowering& l, ValueId scores, PostTransform kind) {
  switch (kind) {
    case PostTransform::none:
      return scores;
    case PostTransform::softmax:
      return l.row("softmax", {scores}, SoftmaxAttrs{});
    case PostTransform::logistic:
      return l.row("sigmoid", {scores});
    default:
      return l.error("scores become '{}'", enumerators(kind)[static_cast<size_t>(kind)]);
  }
}

Status post_transform(Lowering& l) {
  NNEX_ASSIGN(const ValueId y, transformed(l, l.in(0), l.attrs<PostTransformAttrs>().kind));
  l.give(0, y);
  return {};
}

/// The place of the first largest score of each row; of one column, whether it passes the threshold.
ValueId best_of(Lowering& l, const ClassifyAttrs& a, ValueId scores, int64_t rows, int64_t columns) {
  if (columns > 1) {
    ArgReduceAttrs along;
    along.axes = {1}, along.keepdims = false;
    return l.row("argmax_reduce", {scores}, along);
  }
  const auto place = [&](int64_t k) { return l.b.integer(a.labels.count() > 1 ? k : 0); };
  const ValueId above = l.row("gt", {scores, l.b.number(l.type(0), a.threshold)});
  return l.reshaped(l.row("select", {above, place(1), place(0)}), {rows});
}

Status classify(Lowering& l) {
  const auto& a = l.attrs<ClassifyAttrs>();
  NNEX_ASSIGN(const Shape given, l.shape(0));
  const int64_t columns = given[given.rank() - 1], rows = given.count() / columns;
  const ValueId scores = given.rank() == 2 ? l.in(0) : l.reshaped(l.in(0), {rows, columns});
  if (l.wants(0) && !is_int(a.labels.dtype()))
    return l.error("its labels are {}; needed integers", name(a.labels.dtype()));
  ValueId z = scores;
  if (columns == 1 && a.one_column != OneColumn::single) {
    const ValueId other =
        a.one_column == OneColumn::negate ? l.row("neg", {scores}) : l.row("sub", {l.b.number(l.type(0), 1), scores});
    z = l.concat({other, scores}, 1);
  }
  NNEX_ASSIGN(z, transformed(l, z, a.post));
  if (l.wants(0)) {
    const ValueId labels = l.b.constant(a.labels.reshaped(Shape{a.labels.count()}));
    GatherAttrs from;
    from.from_end = false;
    l.give(0, l.row("gather", {labels, best_of(l, a, scores, rows, columns)}, from));
  }
  if (l.wants(1)) l.give(1, z);
  return {};
}

constexpr LowerRow kLowerClasses[] = {
    {"post_transform", post_transform},
    {"classify", classify},
};

}  // namespace

std::span<const LowerRow> lower_classes() { return kLowerClasses; }

}  // namespace nnex::passes
