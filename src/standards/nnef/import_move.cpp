// Operations that move elements, on their way to the table.

#include <algorithm>

#include "ops/shape.h"
#include "standards/nnef/import_call.h"

namespace nnex::nnef_format {

/// A list of fewer axes leaves the others where they are.
Status import_transpose(ImportCall& c) {
  Ints axes = c.ints("axes");
  for (size_t i = axes.size(); i < c.rank("input"); ++i) axes.push_back(static_cast<int64_t>(i));
  if (axes.empty()) {
    c.give(c.make("copy", c.in));
    return {};
  }
  c.set("axes", std::move(axes));
  return {};
}

/// The shape in numbers, for the whole input. A result without elements keeps its words: 0 means something else there.
Status import_reshape(ImportCall& c) {
  NNEX_ASSIGN(const NodeId id, c.spelled("reshape", 1));
  ir::Graph& graph = c.graph();
  c.give(graph[id].out[0]);
  const auto shape = concrete(graph[graph[id].out[0]].type);
  if (!shape || shape->count() == 0) return {};
  ReshapeAttrs whole = graph.attrs<ReshapeAttrs>(id);
  whole.axis_start = 0, whole.axis_count = -1;
  graph.set_attrs(id, whole);
  graph.make_constant(graph[id].in[1], Tensor::of(Shape{shape->rank()}, Ints(shape->begin(), shape->end())));
  return {};
}

namespace {

/// Places in the axis, as far as there are such: begin from 0 on, the end up to the extent, or -(extent + 1) before the
/// first element; from 0 to 0 where nothing lies between.
void place(int64_t& begin, int64_t& end, int64_t stride, int64_t extent) {
  const int64_t low = stride > 0 ? 0 : -1;
  begin = std::clamp<int64_t>(begin < 0 ? begin + extent : begin, low, extent);
  end = std::clamp<int64_t>(end < 0 ? end + extent : end, low, extent);
  if (begin == end)
    begin = end = 0;
  else if (end < 0)
    end = -(extent + 1);
}

}  // namespace

/// An end of 0 is the end of the axis where all strides are 1 (deprecated since 1.0.4).
Status import_slice(ImportCall& c) {
  const Ints stride = c.ints("stride");
  bool unit = true;
  for (int64_t s : stride) unit &= s == 1;
  if (stride.empty()) c.drop("stride");
  const Ints axes = c.ints("axes"), &extents = c.extents("input");
  Ints begin = c.ints("begin"), end = c.ints("end");
  for (size_t i = 0; i < end.size(); ++i) {
    const int64_t extent = extents[static_cast<size_t>(axes[i])];
    if (end[i] == 0 && unit) end[i] = extent;
    place(begin[i], end[i], stride.empty() ? 1 : stride[i], extent);
  }
  c.set("begin", std::move(begin));
  c.set("end", std::move(end));
  return {};
}

Status import_cast(ImportCall& c) {
  if (c.op.generic == ItemType::string) return c.error("strings cannot be computed with");
  c.set("to", c.element(c.op.generic));
  return {};
}

Status import_copies(ImportCall& c) {
  for (const Arg& r : c.op.results[0].items()) c.give(r, c.dry ? c.in[0] : c.make("copy", {c.in[0]}));
  return {};
}

}  // namespace nnex::nnef_format
