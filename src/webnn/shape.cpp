// Operations that move elements without looking at them.

#include <algorithm>

#include "base/checked.h"
#include "base/try.h"
#include "ops/join.h"
#include "webnn/rules.h"

namespace nnex::ml {
namespace {

constexpr size_t kMaxParts = 8192;

std::optional<int64_t> product(const Ints& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n = bounded_mul(n, extent);
  return n;
}

}  // namespace

Status concat_rule(Step& step) {
  const auto& inputs = step.operands("inputs");
  if (inputs.size() > kMaxParts) return step.fail("{} inputs; needed at most {}", inputs.size(), kMaxParts);
  Ints out = extents(*inputs.front().state());
  NNEX_TRY(step.need_axis("axis", out.size()));
  const size_t axis = static_cast<size_t>(step.integer("axis"));
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].dataType() != inputs[0].dataType())
      return step.fail("input {} is {}; input 0 is {}", i, name(inputs[i].dataType()), name(inputs[0].dataType()));
    const Ints shape = extents(*inputs[i].state());
    if (shape.size() != out.size())
      return step.fail("input {} has rank {}; input 0 has {}", i, shape.size(), out.size());
    for (size_t k = 0; k < shape.size(); ++k)
      if (k != axis && shape[k] != out[k])
        return step.fail("input {} has extent {} at axis {}; input 0 has {}", i, shape[k], k, out[k]);
    out[axis] = bounded_add(out[axis], shape[axis]);
  }
  step.out(out);
  return {};
}

Status expand_rule(Step& step) {
  const Ints shape = step.shape("input"), wanted = step.ints("newShape");
  if (broadcast(shape, wanted) != wanted)
    return step.fail("shape [{}] does not broadcast to [{}]", fmt::join(shape, ","), fmt::join(wanted, ","));
  step.out(wanted);
  return {};
}

Status reshape_rule(Step& step) {
  const Ints shape = step.shape("input"), wanted = step.ints("newShape");
  if (product(shape) != product(wanted))
    return step.fail("[{}] has other elements than [{}]", fmt::join(wanted, ","), fmt::join(shape, ","));
  step.out(wanted);
  return {};
}

Status transpose_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_count("permutation", shape.size()));
  NNEX_TRY(step.need_axes("permutation", shape.size()));
  Ints out(shape.rbegin(), shape.rend());
  if (step.given("permutation"))
    for (size_t i = 0; i < out.size(); ++i) out[i] = shape[static_cast<size_t>(step.ints("permutation")[i])];
  step.out(out);
  return {};
}

Status reverse_rule(Step& step) {
  const Ints shape = step.shape("input");
  NNEX_TRY(step.need_axes("axes", shape.size()));
  step.out(shape);
  return {};
}

Status triangular_rule(Step& step) {
  step.out(step.shape("input"));
  return {};
}

Status tile_rule(Step& step) {
  Ints out = step.shape("input");
  NNEX_TRY(step.need_count("repetitions", out.size()));
  NNEX_TRY(step.need_positive("repetitions"));
  for (size_t i = 0; i < out.size(); ++i) out[i] = bounded_mul(out[i], step.ints("repetitions")[i]);
  step.out(out);
  return {};
}

// ---- slice

Status slice_rule(Step& step) {
  const Ints shape = step.shape("input");
  for (std::string_view list : {"starts", "sizes", "strides"}) NNEX_TRY(step.need_count(list, shape.size()));
  const Ints &starts = step.ints("starts"), &sizes = step.ints("sizes");
  const Ints strides = step.ints_or("strides", Ints(shape.size(), 1));
  NNEX_TRY(step.need_positive("strides"));
  NNEX_TRY(step.need_positive("sizes"));
  Ints out;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (starts[i] >= shape[i]) return step.fail("start {} at axis {}; the input has extent {}", starts[i], i, shape[i]);
    if (starts[i] + sizes[i] > shape[i])
      return step.fail("start {} and size {} at axis {}; the input has extent {}", starts[i], sizes[i], i, shape[i]);
    out.push_back(ceil_div(sizes[i], strides[i]));
  }
  step.out(out);
  return {};
}

nnex::Status import_slice(Importer& to) {
  const Step& step = to.step();
  const Ints &starts = step.ints("starts"), &sizes = step.ints("sizes");
  if (starts.empty()) {
    to.result(to("copy", {to.in("input")}));
    return {};
  }
  Ints ends;
  for (size_t i = 0; i < starts.size(); ++i) ends.push_back(starts[i] + sizes[i]);
  const ValueId begin = to.ints(starts), end = to.ints(ends);
  const ValueId stride = step.given("strides") ? to.ints(step.ints("strides")) : ValueId{};
  to.result(to("slice", {to.in("input"), begin, end, ValueId{}, stride}));
  return {};
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
  for (int64_t part : parts) {
    Ints out = shape;
    out[axis] = part;
    step.out(step.output_type("outputs"), out);
  }
  return {};
}

nnex::Status import_split(Importer& to) {
  const Step& step = to.step();
  const int64_t axis = step.integer("axis");
  const ValueId sizes = to.ints(parts_of(step, step.shape("input")[static_cast<size_t>(axis)]));
  SplitAttrs attrs;
  attrs.axis = axis;
  for (ValueId v : to.several("split", {to.in("input"), sizes}, step.outputs.size(), attrs)) to.result(v);
  return {};
}

// ---- pad

Status pad_rule(Step& step) {
  Ints out = step.shape("input");
  for (std::string_view list : {"beginningPadding", "endingPadding"}) {
    NNEX_TRY(step.need_count(list, out.size()));
    if (step.word("mode") != "reflection") continue;
    for (size_t i = 0; i < out.size(); ++i)
      if (step.ints(list)[i] >= step.shape("input")[i])
        return step.fail("{} has {} at axis {}; reflection needs less than the extent {}", list, step.ints(list)[i], i,
                         step.shape("input")[i]);
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] += step.ints("beginningPadding")[i] + step.ints("endingPadding")[i];
  step.out(out);
  return {};
}

nnex::Status import_pad(Importer& to) {
  const Step& step = to.step();
  Ints amounts = step.ints("beginningPadding");
  const Ints& after = step.ints("endingPadding");
  if (amounts.empty()) {
    to.result(to("copy", {to.in("input")}));
    return {};
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
  return {};
}

}  // namespace nnex::ml
