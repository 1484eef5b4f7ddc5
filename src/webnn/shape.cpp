// Operations that move elements without looking at them.

#include "base/joined.h"
#include "base/try.h"
#include "ops/join.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

constexpr size_t kMaxParts = 8192;

}  // namespace

Status concat_rule(Step& step) {
  const size_t n = step.operands("inputs").size();
  if (n > kMaxParts) return step.fail("{} inputs; needed at most {}", n, kMaxParts);
  return {};
}

/// The row broadcasts both ways.
Status expand_rule(Step& step) {
  const Ints from = step.shape("input"), &to = step.ints("newShape");
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[from.size() - 1 - i] == 1 || from[from.size() - 1 - i] == to[to.size() - 1 - i];
  if (fits) return {};
  return step.fail("shape [{}] does not broadcast to [{}]", joined(from, ","), joined(to, ","));
}

/// The row reverses the axes for an empty list.
Status transpose_rule(Step& step) { return step.need_count("permutation", step.shape("input").size()); }

// ---- slice

Status slice_rule(Step& step) {
  const Ints shape = step.shape("input");
  for (std::string_view list : {"starts", "sizes", "strides"}) NNEX_TRY(step.need_count(list, shape.size()));
  const Ints &starts = step.ints("starts"), &sizes = step.ints("sizes");
  NNEX_TRY(step.need_positive("strides"));
  NNEX_TRY(step.need_positive("sizes"));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (starts[i] >= shape[i]) return step.fail("start {} at axis {}; the input has extent {}", starts[i], i, shape[i]);
    if (starts[i] + sizes[i] > shape[i])
      return step.fail("start {} and size {} at axis {}; the input has extent {}", starts[i], sizes[i], i, shape[i]);
  }
  return {};
}

void import_slice(Importer& to) {
  const Step& step = to.step();
  const Ints &starts = step.ints("starts"), &sizes = step.ints("sizes");
  if (starts.empty()) {
    to.result(to("copy", {to.in("input")}));
    return;
  }
  Ints ends;
  for (size_t i = 0; i < starts.size(); ++i) ends.push_back(starts[i] + sizes[i]);
  const ValueId begin = to.ints(starts), end = to.ints(ends);
  const ValueId stride = step.given("strides") ? to.ints(step.ints("strides")) : ValueId{};
  to.result(to("slice", {to.in("input"), begin, end, ValueId{}, stride}));
}

// ---- split

namespace {

/// The extents of the parts; a number makes equal ones.
Ints parts_of(const Step& step, int64_t extent) {
  if (auto* list = std::get_if<Ints>(&step.arg("splits"))) return *list;
  const int64_t n = step.integer("splits");
  return Ints(static_cast<size_t>(n), extent / n);
}

}  // namespace

Status split_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_axis("axis", shape.size()));
  const size_t axis = static_cast<size_t>(step.integer("axis"));
  if (auto* count = std::get_if<int64_t>(&step.arg("splits"))) {
    if (*count < 1 || *count > static_cast<int64_t>(kMaxParts))
      return step.fail("splits is {}; needed 1 to {}", *count, kMaxParts);
    if (shape[axis] % *count != 0) return step.fail("{} parts do not divide extent {}", *count, shape[axis]);
  }
  const Ints parts = parts_of(step, shape[axis]);
  if (parts.size() > kMaxParts) return step.fail("{} parts; needed at most {}", parts.size(), kMaxParts);
  int64_t sum = 0;
  for (int64_t part : parts) {
    if (part < 1) return step.fail("splits has an item {}; needed at least 1", part);
    sum += part;
  }
  if (sum != shape[axis]) return step.fail("the parts sum to {}; the input has extent {}", sum, shape[axis]);
  return {};
}

void import_split(Importer& to) {
  const Step& step = to.step();
  const int64_t axis = step.integer("axis");
  const Ints parts = parts_of(step, step.shape("input")[static_cast<size_t>(axis)]);
  const ValueId sizes = to.ints(parts);
  SplitAttrs attrs;
  attrs.axis = axis;
  for (ValueId v : to.several("split", {to.in("input"), sizes}, parts.size(), attrs)) to.result(v);
}

// ---- pad

Status pad_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_number("value"));
  for (std::string_view list : {"beginningPadding", "endingPadding"}) {
    NNEX_TRY(step.need_count(list, shape.size()));
    if (step.word("mode") != "reflection") continue;
    for (size_t i = 0; i < shape.size(); ++i)
      if (step.ints(list)[i] >= shape[i])
        return step.fail("{} has {} at axis {}; reflection needs less than the extent {}", list, step.ints(list)[i], i,
                         shape[i]);
  }
  return {};
}

void import_pad(Importer& to) {
  const Step& step = to.step();
  Ints amounts = step.ints("beginningPadding");
  const Ints& after = step.ints("endingPadding");
  if (amounts.empty()) {
    to.result(to("copy", {to.in("input")}));
    return;
  }
  amounts.insert(amounts.end(), after.begin(), after.end());
  const std::string& mode = step.word("mode");
  PadAttrs attrs;
  attrs.border = mode == "edge"         ? PadBorder::replicate
                 : mode == "reflection" ? PadBorder::reflect
                                        : PadBorder::constant;
  const ValueId padding = to.ints(amounts);
  const ValueId value = to.constant(cast_number(step.operand("input").dataType, step.number("value")));
  to.result(to("pad", {to.in("input"), padding, value}, attrs));
}

}  // namespace nnex::ml
