// Regions of interest in ONNX's words: the reverse of quirks_region.cpp.

#include "base/try.h"
#include "ops/roi.h"
#include "standards/onnx/export_graph.h"

namespace nnex::onnx_format {

/// Corners are columns of rows [image, x, y, x, y], which lowering has made.
Result<std::optional<OnnxNode>> max_roi_pool_node(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<RoiPoolAttrs>(node);
  if (a.cells != RoiCells::spread || !a.inclusive)
    return Error(Code::unsupported,
                 "max_roi_pool: MaxRoiPool's cells share a region with both its corners; these are of one size");
  const Node* corners = graph.producer(node.in[1]);
  if (!corners || corners->op->name != "gather")
    return Error(Code::unsupported, "max_roi_pool: its regions are no rows");
  OnnxNode out{"MaxRoiPool", "", {node.in[0], corners->in[0]}, {}, 1};
  out.set("pooled_shape", a.output_size);
  return std::optional(std::move(out));
}

bool is_column_of_regions(const ir::Graph& graph, const Node& node) {
  if (node.op->name != "gather" && node.op->name != "cast") return false;
  ValueId v = node.out[0];
  for (int steps = 0; steps < 2 && v.valid() && graph.read_once(v); ++steps) {
    const Node& reader = graph[graph[v].uses[0].node];
    if (reader.op->name == "max_roi_pool") return graph[v].uses[0].index > 0;
    if (reader.op->name != "cast") return false;
    v = reader.out[0];
  }
  return false;
}

Result<std::optional<OnnxNode>> roi_align_node(const ir::Graph& graph, const Node& node) {
  const auto& a = graph.attrs<RoiAlignAttrs>(node);
  if (a.output_size.size() != 2) return Error(Code::unsupported, "roi_align: output_size must have two extents");
  OnnxNode out{"RoiAlign", "", node.in, {}, 16};
  out.set("output_height", a.output_size[0]);
  out.set("output_width", a.output_size[1]);
  out.set("sampling_ratio", a.sampling);
  out.set("spatial_scale", a.scale);
  out.set("mode", std::string(enumerators(a.mode)[static_cast<size_t>(a.mode)]));
  out.set("coordinate_transformation_mode", std::string(enumerators(a.transform)[static_cast<size_t>(a.transform)]));
  return std::optional(std::move(out));
}

}  // namespace nnex::onnx_format
