#pragma once
// Where the boxes and wires of a drawing lie: layers from top to bottom (Sugiyama), without knowing what is drawn.

#include <cstddef>
#include <utility>
#include <vector>

namespace nnex::drawing {

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

/// What takes room. Its axis is the vertical line on which wires meet it; lengths are pixels.
struct Frame {
  double half = 0;    ///< From the axis to either side of the box that is seen.
  double right = 0;   ///< From the axis to the end of what stands beside it (labels), at least `half`.
  double height = 0;  ///< Of the box and of the labels below it.
};

/// From one frame to those that read it, which come later in the list of frames.
struct Wire {
  size_t from = 0;
  double leaves = 0;       ///< Where it leaves, from the frame's axis.
  double rise = 0;         ///< Where it begins, above the frame's lower end.
  std::vector<size_t> to;  ///< Each once, ascending.
};

/// A stroke: straight where two points share x or y, else a curve that begins and ends vertically.
using Stroke = std::vector<Point>;

struct Layout {
  std::vector<Point> frames;                 ///< Of each: its axis and its upper end.
  std::vector<std::vector<Stroke>> strokes;  ///< Of each wire: a trunk that its readers share, and its branches.
  std::vector<std::vector<Point>> tips;      ///< Of each wire: where it enters its readers, in their order.
  std::vector<size_t> column;                ///< Of each frame: the column it stands in.
  double width = 0, height = 0;
};

struct LayoutOptions {
  double box_gap = 16, wire_gap = 12, layer_gap = 26, column_gap = 44;
  /// Width through height to strive for by cutting tall drawings into columns; 0: one column.
  double aspect = 0;
  double tall = 900;  ///< Drawings up to so high stay in one column.
};

/// The layer of every frame: each below all that it reads, wires short.
std::vector<size_t> layers_of(size_t frames, const std::vector<Wire>& wires);

/// Which readers are so far below that drawing the wires would take more than about `budget` bends in all: (wire,
/// index of reader), to be drawn as words. The longest wires first; never those of neighbouring layers.
std::vector<std::pair<size_t, size_t>> too_far(const std::vector<Wire>& wires, const std::vector<size_t>& layers,
                                               size_t budget);

/// Places all frames: none overlaps another, wires within a column go down and cross no frame. Time grows as n log n
/// of frames and bends; equal arguments give equal layouts.
Layout lay_out(const std::vector<Frame>& frames, const std::vector<Wire>& wires, const std::vector<size_t>& layers,
               const LayoutOptions& options);

// ---- Its steps

/// One frame or one bend of a wire, in a layer.
struct Spot {
  size_t layer = 0, position = 0;  ///< Position: in its layer, from the left.
  bool bend = false;
  double left = 0, right = 0;        ///< Room to both sides of the axis.
  std::vector<size_t> above, below;  ///< Spots of neighbouring layers that wires join it with.
};

/// Spots in layers, in order from the left.
struct Layers {
  std::vector<Spot> spots;
  std::vector<std::vector<size_t>> rows;

  void number();  ///< Sets positions by the rows.
};

/// Orders rows so that few wires cross: medians up and down, neighbours exchanged, the best order kept.
void reduce_crossings(Layers& layers);
/// How many wires cross between all neighbouring rows.
size_t crossings(const Layers& layers);

/// The axis of every spot (Brandes and Koepf: four alignments, their middle). Bends of a wire lie below each other.
std::vector<double> axes_of(const Layers& layers, const LayoutOptions& options);

/// Rows after which a new column begins.
std::vector<size_t> column_breaks(const Layers& layers, const std::vector<double>& axes,
                                  const std::vector<double>& row_heights, const LayoutOptions& options);

}  // namespace nnex::drawing
