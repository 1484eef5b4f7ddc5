// Operators of the domain com.microsoft that pad, unfold and list elements.

#include "ops/gather.h"
#include "ops/shape.h"
#include "standards/onnx/import_microsoft.h"

namespace nnex::onnx_format {
namespace microsoft {
namespace {

/// The amounts may be a row of a matrix.
Result<Quirked> padded(NodeImport& n) {
  NNEX_TRY(needs(n, {0, 1}));
  if (n.rank(1) != 1) n.in[1] = n.b("reshape", {n.in[1], n.b.ints({-1})});
  return as_standard(n, "Pad");
}

/// Distinct elements in the order of first appearance; which one each element is; how often each occurs.
Result<Quirked> distinct(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  n.set("sorted", int64_t{0});
  n.out.insert(n.out.begin() + 1, "");  // where each stands first
  return as_standard(n, "Unique");
}

/// Windows of `size` elements along an axis, `step` apart: the axis counts them, a new last one what is in them.
Result<Quirked> unfolded(NodeImport& n) {
  NNEX_TRY(needs(n, {0}));
  const auto rank = n.rank(0);
  if (!rank) return lacks(n, "an input of unknown rank");
  const int64_t dim = n.integer("dim", -1), axis = dim < 0 ? dim + *rank : dim;
  const int64_t size = n.integer("size", 0), step = n.integer("step", 1);
  if (axis < 0 || axis >= *rank) return n.error(fmt::format("dim {} of a tensor of {} axes", dim, *rank));
  if (size < 1 || step < 1) return n.error(fmt::format("size {}, step {}; needed 1 or more", size, step));
  ShapeAttrs one;
  one.start = axis, one.end = axis + 1;
  const ValueId length = n.b("squeeze", {n.b("shape", {n.in[0]}, one), n.b.ints({0})});
  const ValueId behind = n.b("sub", {length, n.b.integer(size - 1)});  // the last window begins before it
  const ValueId begins = n.b("range", {n.b.integer(0), behind, n.b.integer(step)});
  const ValueId inside = n.b("range", {n.b.integer(0), n.b.integer(size), n.b.integer(1)});
  const ValueId places = n.b("add", {n.b("unsqueeze", {begins, n.b.ints({1})}), inside});
  GatherAttrs along;
  along.axis = axis;
  const ValueId windows = n.b("gather", {n.in[0], places}, along);
  TransposeAttrs last;
  for (int64_t i = 0; i <= *rank; ++i)
    if (i != axis + 1) last.axes.push_back(i);
  last.axes.push_back(axis + 1);
  n.bind(0, n.b("transpose", {windows}, last));
  return Quirked::done;
}

constexpr QuirkRow kMoveRows[] = {
    {"Pad", padded, kDomain, "1 T T1 T? > T | mode:s"},
    {"UnfoldTensor", unfolded, kDomain, "1 T > T | dim:i size:i step:i"},
    {"Unique", distinct, kDomain, "1 T > T T1? T1?"},
};

}  // namespace
}  // namespace microsoft

std::span<const QuirkRow> microsoft_move_quirks() { return read_of<microsoft::kMoveRows>(); }

}  // namespace nnex::onnx_format
