// Regions of interest: their corners are x, y in ONNX and y, x in the table.

#include <fmt/format.h>

#include "ops/cast.h"
#include "ops/gather.h"
#include "standards/onnx/import_quirks.h"

namespace nnex::onnx_format {
namespace {

/// Columns of the regions in another order.
ValueId columns(NodeImport& n, ValueId rois, const Ints& order) {
  GatherAttrs a;
  a.axis = 1;
  return n.b("gather", {rois, n.b.ints(order)}, a);
}

/// RoiAlign: rows and columns are two attributes.
Result<Quirked> roi_align(NodeImport& n) {
  if (!n.has(1)) return n.error("rois are required");
  n.in[1] = columns(n, n.in[1], {1, 0, 3, 2});
  n.set("output_size", Ints{n.integer("output_height", 1), n.integer("output_width", 1)});
  n.drop("output_height");
  n.drop("output_width");
  return Quirked::no;
}

/// MaxRoiPool: rows are [image, x, y, x, y], the corners yet to be scaled.
Result<Quirked> max_roi_pool(NodeImport& n) {
  if (!n.has(1)) return n.error("rois are required");
  const double scale = n.real("spatial_scale", 1);
  n.drop("spatial_scale");
  CastAttrs to;
  to.to = DType::i64;
  const ValueId rows = n.in[1];
  const ValueId image = n.b("cast", {columns(n, rows, {0})}, to);
  ValueId corners = columns(n, rows, {2, 1, 4, 3});
  const DType type = n.type(1).dtype == DType::none ? DType::f32 : n.type(1).dtype;
  if (scale != 1) corners = n.b("mul", {corners, n.b.number(type, scale)});
  n.in = {n.in[0], corners, image};
  return Quirked::no;
}

constexpr QuirkRow kRegionRows[] = {{"RoiAlign", roi_align}, {"MaxRoiPool", max_roi_pool}};

}  // namespace

std::span<const QuirkRow> region_quirks() { return read_of<kRegionRows>(); }

}  // namespace nnex::onnx_format
