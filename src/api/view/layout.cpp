#include "api/view/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

namespace nnex::drawing {
namespace {

class LayingOut {
 public:
  LayingOut(const std::vector<Frame>& frames, const std::vector<Wire>& wires, const std::vector<size_t>& layer_of,
            const LayoutOptions& options)
      : frames_(frames), wires_(wires), layer_of_(layer_of), options_(options) {}

  Layout run() {
    make_spots();
    reduce_crossings(layers_);
    x_ = axes_of(layers_, options_);
    place_rows();
    spread_ends();
    for (size_t w = 0; w < wires_.size(); ++w) route(w);
    return std::move(out_);
  }

 private:
  const Spot& spot(size_t s) const { return layers_.spots[s]; }

  /// Spots of frames have their numbers; those of bends follow, one for each layer that a wire passes.
  void make_spots() {
    size_t rows = 0;
    for (size_t f = 0; f < frames_.size(); ++f) {
      Spot s;
      s.layer = layer_of_[f], s.left = frames_[f].half, s.right = std::max(frames_[f].half, frames_[f].right);
      rows = std::max(rows, s.layer + 1);
      layers_.spots.push_back(std::move(s));
    }
    layers_.rows.resize(rows);
    for (size_t f = 0; f < frames_.size(); ++f) layers_.rows[layer_of_[f]].push_back(f);
    // Layer by layer, so that the spots of one row lie together in memory: every step goes along rows.
    std::vector<std::vector<size_t>> passing(rows);
    for (size_t w = 0; w < wires_.size(); ++w) {
      size_t lowest = 0;
      for (size_t to : wires_[w].to) lowest = std::max(lowest, layer_of_[to]);
      for (size_t l = layer_of_[wires_[w].from] + 1; l < lowest; ++l) passing[l].push_back(w);
    }
    bends_.resize(wires_.size());
    for (size_t l = 0; l < rows; ++l)
      for (size_t w : passing[l]) {
        Spot s;
        s.layer = l, s.bend = true;
        bends_[w].push_back(layers_.spots.size());
        layers_.rows[l].push_back(layers_.spots.size());
        layers_.spots.push_back(std::move(s));
        join(upper(w, l), bends_[w].back());
      }
    for (size_t w = 0; w < wires_.size(); ++w)
      for (size_t to : wires_[w].to) join(upper(w, layer_of_[to]), to);
  }

  void join(size_t above, size_t below) {
    layers_.spots[above].below.push_back(below);
    layers_.spots[below].above.push_back(above);
  }

  /// The spot of the wire just above a layer.
  size_t upper(size_t w, size_t layer) const {
    const size_t from = wires_[w].from, steps = layer - layer_of_[from];
    return steps < 2 ? from : bends_[w][steps - 2];
  }

  // ---- Rows and columns

  /// Wires that go far sideways need room to be told apart.
  double gap_below(size_t row) const {
    double farthest = 0;
    size_t slanted = 0;
    for (size_t s : layers_.rows[row])
      for (size_t b : spot(s).below) {
        if (!column_of_row_.empty() && column_of_row_[row] != column_of_row_[row + 1]) continue;
        const double dx = std::abs(x_[b] - x_[s]);
        farthest = std::max(farthest, dx);
        slanted += dx > 2 ? 1 : 0;
      }
    return options_.layer_gap + std::min(0.08 * farthest, 60.0) + std::min(1.5 * static_cast<double>(slanted), 40.0);
  }

  void place_rows() {
    const size_t rows = layers_.rows.size();
    heights_.assign(rows, 0);
    std::vector<double> all(rows, 0);
    for (size_t f = 0; f < frames_.size(); ++f)
      heights_[layer_of_[f]] = std::max(heights_[layer_of_[f]], frames_[f].height);
    for (size_t r = 0; r < rows; ++r) all[r] = heights_[r] + (r + 1 < rows ? gap_below(r) : 0);
    std::vector<size_t> breaks = column_breaks(layers_, x_, all, options_);
    column_of_row_.assign(rows, 0);
    for (size_t r = 0, c = 0; r < rows; ++r) {
      column_of_row_[r] = c;
      if (c < breaks.size() && breaks[c] == r) ++c;
    }
    if (!breaks.empty()) {
      narrow_columns();
      for (size_t r = 0; r < rows; ++r) all[r] = heights_[r] + (r + 1 < rows ? gap_below(r) : 0);
    }
    shift_columns(breaks);
    const double top = breaks.empty() ? 0 : channel(breaks);
    tops_.assign(rows, 0);
    double y = top;
    for (size_t r = 0; r < rows; ++r) {
      if (r > 0 && column_of_row_[r] != column_of_row_[r - 1]) y = top;
      tops_[r] = y;
      out_.height = std::max(out_.height, y + heights_[r] + top);
      y += all[r];
    }
    for (size_t f = 0; f < frames_.size(); ++f) {
      out_.frames.push_back({x_[f], tops_[layer_of_[f]]});
      out_.column.push_back(column_of_row_[layer_of_[f]]);
    }
  }

  /// Axes anew in each column alone: what crosses its ends comes from the gutter.
  void narrow_columns() {
    for (size_t begin = 0; begin < layers_.rows.size();) {
      Layers column;
      std::vector<size_t> whole;  // by spot of the column
      std::unordered_map<size_t, size_t> own;
      size_t end = begin;
      for (; end < layers_.rows.size() && column_of_row_[end] == column_of_row_[begin]; ++end) {
        auto& row = column.rows.emplace_back();
        for (size_t s : layers_.rows[end]) {
          row.push_back(whole.size());
          own.emplace(s, whole.size());
          whole.push_back(s);
          Spot& copy = column.spots.emplace_back(spot(s));
          copy.layer -= begin;
        }
      }
      for (Spot& s : column.spots)
        for (auto* side : {&s.above, &s.below}) {
          std::vector<size_t> kept;
          for (size_t other : *side)
            if (const auto it = own.find(other); it != own.end()) kept.push_back(it->second);
          *side = std::move(kept);
        }
      const std::vector<double> x = axes_of(column, options_);
      for (size_t i = 0; i < x.size(); ++i) x_[whole[i]] = x[i];
      begin = end;
    }
  }

  /// Room above and below the columns for wires that go to the next one.
  double channel(const std::vector<size_t>& breaks) const {
    size_t max = 0;
    for (size_t r : breaks) max = std::max(max, crossing_below(r));
    return 14 + kLane * static_cast<double>(max);
  }
  size_t crossing_below(size_t row) const {
    size_t count = 0;
    for (size_t s : layers_.rows[row]) count += spot(s).below.empty() ? 0 : 1;
    return count;
  }

  /// Each column stands right of the one before; gutters are as wide as their wires need.
  void shift_columns(const std::vector<size_t>& breaks) {
    const size_t columns = breaks.size() + 1;
    std::vector<double> low(columns, std::numeric_limits<double>::infinity()), high(columns, -low[0]);
    for (size_t s = 0; s < layers_.spots.size(); ++s) {
      const size_t c = column_of_row_[spot(s).layer];
      low[c] = std::min(low[c], x_[s] - spot(s).left), high[c] = std::max(high[c], x_[s] + spot(s).right);
    }
    std::vector<double> by(columns, 0);
    double at = 0;
    for (size_t c = 0; c < columns; ++c) {
      if (layers_.spots.empty()) break;
      by[c] = at - low[c];
      at += high[c] - low[c];
      out_.width = at;
      if (c < breaks.size()) {
        gutters_.push_back(at + options_.column_gap / 2);
        at += options_.column_gap + kLane * static_cast<double>(crossing_below(breaks[c]));
      }
    }
    for (size_t s = 0; s < layers_.spots.size(); ++s) x_[s] += by[column_of_row_[spot(s).layer]];
  }

  // ---- Wires

  /// Where wires enter a frame: around its axis, in the order in which they come from above.
  void spread_ends() {
    struct End {
      double x;
      size_t wire, reader;
    };
    std::vector<std::vector<End>> ends(frames_.size());
    out_.tips.resize(wires_.size());
    for (size_t w = 0; w < wires_.size(); ++w) {
      out_.tips[w].resize(wires_[w].to.size());
      for (size_t i = 0; i < wires_[w].to.size(); ++i) {
        const size_t to = wires_[w].to[i], u = upper(w, layer_of_[to]);
        // From another column they come along its top, all from the left.
        const bool same = column_of_row_[spot(u).layer] == column_of_row_[layer_of_[to]];
        ends[to].push_back({same ? x_[u] + (u == wires_[w].from ? wires_[w].leaves : 0) : -1e9 + x_[u], w, i});
      }
    }
    for (size_t f = 0; f < frames_.size(); ++f) {
      auto& all = ends[f];
      std::stable_sort(all.begin(), all.end(), [](const End& a, const End& b) { return a.x < b.x; });
      const auto n = static_cast<double>(all.size());
      const double step = n < 2 ? 0 : std::min(18.0, std::max(0.0, 2 * frames_[f].half - 16) / (n - 1));
      for (size_t i = 0; i < all.size(); ++i)
        out_.tips[all[i].wire][all[i].reader] = {x_[f] + (static_cast<double>(i) - (n - 1) / 2) * step,
                                                 tops_[layer_of_[f]]};
    }
  }

  static void add(Stroke& stroke, Point p) {
    if (!stroke.empty() && stroke.back() == p) return;
    // A straight line is two points.
    if (stroke.size() > 1 && stroke.back().x == p.x && stroke[stroke.size() - 2].x == p.x && p.y >= stroke.back().y)
      stroke.back() = p;
    else
      stroke.push_back(p);
  }

  /// From a spot of row `row`, whose lower end is the stroke's, to `p` at the upper end of the next row.
  void step_down(Stroke& stroke, size_t row, size_t from, Point p) {
    const size_t column = column_of_row_[row];
    if (column != column_of_row_[row + 1]) {
      const double lane = kLane * static_cast<double>(lane_of(row, from));
      const double below = tops_[row] + heights_[row] + 8 + lane, gutter = gutters_[column] + lane;
      const double above = tops_[row + 1] - 8 - lane;
      for (Point q : {Point{stroke.back().x, below}, Point{gutter, below}, Point{gutter, above}, Point{p.x, above}})
        stroke.push_back(q);
    }
    add(stroke, p);
  }

  /// Which of the wires from this row to the next column it is, the innermost first: that of the rightmost spot.
  size_t lane_of(size_t row, size_t from) {
    auto& lanes = lanes_[row];
    if (lanes.empty()) {
      size_t next = 0;
      const auto& spots = layers_.rows[row];
      for (size_t i = spots.size(); i-- > 0;)
        if (!spot(spots[i]).below.empty()) lanes[spots[i]] = next++;
    }
    return lanes[from];
  }

  void route(size_t w) {
    const Wire& wire = wires_[w];
    const size_t row = layer_of_[wire.from];
    std::vector<Stroke>& strokes = out_.strokes.emplace_back();
    if (wire.to.empty()) return;
    const Frame& frame = frames_[wire.from];
    const Point begin{x_[wire.from] + wire.leaves, tops_[row] + frame.height - wire.rise};
    Stroke trunk{begin};
    add(trunk, {begin.x, tops_[row] + heights_[row]});
    size_t above = wire.from;
    std::vector<Point> ends{trunk.back()};  // of the trunk, by rows below the first
    for (size_t b : bends_[w]) {
      const size_t r = spot(b).layer;
      step_down(trunk, r - 1, above, {x_[b], tops_[r]});
      add(trunk, {x_[b], tops_[r] + heights_[r]});
      ends.push_back(trunk.back());
      above = b;
    }
    strokes.push_back(std::move(trunk));
    for (size_t i = 0; i < wire.to.size(); ++i) {
      const size_t r = layer_of_[wire.to[i]] - 1;
      Stroke branch{ends[r - row]};
      step_down(branch, r, upper(w, r + 1), out_.tips[w][i]);
      strokes.push_back(std::move(branch));
    }
  }

  static constexpr double kLane = 6;  ///< Between wires side by side in a gutter.
  const std::vector<Frame>& frames_;
  const std::vector<Wire>& wires_;
  const std::vector<size_t>& layer_of_;
  const LayoutOptions& options_;
  Layers layers_;
  std::vector<std::vector<size_t>> bends_;  ///< By wire, from above.
  std::vector<double> x_, tops_, heights_, gutters_;
  std::vector<size_t> column_of_row_;
  std::unordered_map<size_t, std::unordered_map<size_t, size_t>> lanes_;
  Layout out_;
};

}  // namespace

Layout lay_out(const std::vector<Frame>& frames, const std::vector<Wire>& wires, const std::vector<size_t>& layers,
               const LayoutOptions& options) {
  return LayingOut(frames, wires, layers, options).run();
}

}  // namespace nnex::drawing
