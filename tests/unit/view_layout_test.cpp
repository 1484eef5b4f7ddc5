// What a layout promises: nothing overlaps, wires go down and cross no box, equal input gives equal output, and time
// grows as the drawing does.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "api/view/layout.h"
#include "cpu_time.h"

namespace nnex::drawing {
namespace {

struct Network {
  std::vector<Frame> frames;
  std::vector<Wire> wires;
};

Network chain(size_t n) {
  Network out;
  for (size_t i = 0; i < n; ++i) out.frames.push_back({50, 90, 40});
  for (size_t i = 0; i + 1 < n; ++i) out.wires.push_back({i, 0, 16, {i + 1}});
  return out;
}

/// One box that n read, and one that reads them all.
Network fan(size_t n) {
  Network out;
  for (size_t i = 0; i < n + 2; ++i)
    out.frames.push_back({40 + static_cast<double>(i % 7) * 5, 80, 30 + static_cast<double>(i % 3) * 20});
  Wire first{0, 0, 16, {}};
  for (size_t i = 1; i <= n; ++i) first.to.push_back(i);
  out.wires.push_back(first);
  for (size_t i = 1; i <= n; ++i) out.wires.push_back({i, 0, 16, {n + 1}});
  return out;
}

Network random_network(size_t n, uint32_t seed, size_t reach) {
  std::mt19937 random(seed);
  Network out;
  std::vector<std::set<size_t>> to(n);
  for (size_t i = 0; i < n; ++i) {
    const double half = 30 + static_cast<double>(random() % 60);
    out.frames.push_back({half, half + static_cast<double>(random() % 80), 20 + static_cast<double>(random() % 80)});
    const size_t inputs = i == 0 ? 0 : random() % 4;
    for (size_t k = 0; k < inputs; ++k) to[i - 1 - random() % std::min(i, reach)].insert(i);
  }
  for (size_t i = 0; i < n; ++i)
    if (!to[i].empty()) out.wires.push_back({i, 0, 12, {to[i].begin(), to[i].end()}});
  return out;
}

struct Rectangle {
  double left, right, top, bottom;
};

Rectangle box_of(const Network& net, const Layout& layout, size_t f) {
  const Point p = layout.frames[f];
  return {p.x - net.frames[f].half, p.x + net.frames[f].right, p.y, p.y + net.frames[f].height};
}

/// No two frames overlap: sorted by their tops, those that overlap in y are compared through their x.
void expect_apart(const Network& net, const Layout& layout) {
  std::vector<std::pair<double, size_t>> events;  // tops and bottoms, bottoms first
  for (size_t f = 0; f < net.frames.size(); ++f) {
    events.emplace_back(box_of(net, layout, f).top, f + net.frames.size());
    events.emplace_back(box_of(net, layout, f).bottom, f);
  }
  std::sort(events.begin(), events.end());
  std::map<double, double> open;  // left to right
  for (const auto& [y, key] : events) {
    const size_t f = key % net.frames.size();
    const Rectangle b = box_of(net, layout, f);
    if (key < net.frames.size()) {
      open.erase(b.left);
      continue;
    }
    const auto next = open.lower_bound(b.left);
    if (next != open.end()) {
      ASSERT_LE(b.right, next->first) << "frame " << f;
    }
    if (next != open.begin()) {
      ASSERT_LE(std::prev(next)->second, b.left) << "frame " << f;
    }
    open.emplace(b.left, b.right);
  }
}

/// Where a stroke is at a height; strokes go down there.
double x_at(Point a, Point b, double y) {
  if (a.x == b.x) return a.x;
  // The curve with vertical ends, by bisection of its parameter.
  double low = 0, high = 1;
  const auto bezier = [](double t, double p0, double p1, double p2, double p3) {
    const double u = 1 - t;
    return u * u * u * p0 + 3 * u * u * t * p1 + 3 * u * t * t * p2 + t * t * t * p3;
  };
  const double middle = (a.y + b.y) / 2;
  for (int i = 0; i < 50; ++i) {
    const double t = (low + high) / 2;
    (bezier(t, a.y, middle, middle, b.y) < y ? low : high) = t;
  }
  return bezier(low, a.x, a.x, b.x, b.x);
}

/// Within a column wires go down, each reader is reached, and no wire crosses a box that is not its own.
void expect_wires(const Network& net, const Layout& layout, bool all_pairs) {
  ASSERT_EQ(layout.strokes.size(), net.wires.size());
  for (size_t w = 0; w < net.wires.size(); ++w) {
    const Wire& wire = net.wires[w];
    ASSERT_EQ(layout.tips[w].size(), wire.to.size());
    ASSERT_EQ(layout.strokes[w].size(), wire.to.size() + 1);
    const Rectangle from = box_of(net, layout, wire.from);
    EXPECT_EQ(layout.strokes[w][0].front(), (Point{layout.frames[wire.from].x + wire.leaves, from.bottom - wire.rise}));
    for (size_t i = 0; i < wire.to.size(); ++i) {
      const Rectangle to = box_of(net, layout, wire.to[i]);
      const Point tip = layout.tips[w][i], axis = layout.frames[wire.to[i]];
      EXPECT_EQ(layout.strokes[w][i + 1].back(), tip);
      EXPECT_EQ(tip.y, to.top);
      EXPECT_LE(std::abs(tip.x - axis.x), net.frames[wire.to[i]].half);
      if (layout.column[wire.from] == layout.column[wire.to[i]]) {
        EXPECT_GT(to.top, from.bottom - 1e-9);
      } else {
        EXPECT_GT(layout.column[wire.to[i]], layout.column[wire.from]);
      }
    }
    for (const Stroke& stroke : layout.strokes[w])
      for (size_t i = 1; i < stroke.size(); ++i) {
        const Point a = stroke[i - 1], b = stroke[i];
        const bool one_column =
            layout.column.empty() || *std::max_element(layout.column.begin(), layout.column.end()) == 0;
        if (one_column) {
          ASSERT_GE(b.y, a.y) << "wire " << w;
        }
        if (!all_pairs || b.y <= a.y) continue;
        for (size_t f = 0; f < net.frames.size(); ++f) {
          const Rectangle box = box_of(net, layout, f);
          for (double y : {box.top + 0.5, (box.top + box.bottom) / 2, box.bottom - 0.5}) {
            if (y <= a.y || y >= b.y || f == wire.from) continue;
            const double x = x_at(a, b, y);
            ASSERT_FALSE(x > box.left && x < box.right) << "wire " << w << " crosses frame " << f;
          }
        }
      }
  }
}

Layout laid(const Network& net, double aspect = 0) {
  LayoutOptions options;
  options.aspect = aspect;
  return lay_out(net.frames, net.wires, layers_of(net.frames.size(), net.wires), options);
}

TEST(ViewLayout, NothingOverlapsAndWiresGoDown) {
  const std::map<std::string, Network> networks = {
      {"nothing", {}},
      {"one box", chain(1)},
      {"a chain", chain(40)},
      {"a fan", fan(30)},
      {"a box and its neighbour", random_network(2, 1, 1)},
  };
  for (const auto& [name, net] : networks)
    for (double aspect : {0.0, 1.6}) {
      SCOPED_TRACE(name);
      const Layout layout = laid(net, aspect);
      expect_apart(net, layout);
      expect_wires(net, layout, true);
    }
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const Network net = random_network(5 + seed * 3, seed, seed % 2 ? 6 : 200);
    for (double aspect : {0.0, 1.6}) {
      const Layout layout = laid(net, aspect);
      expect_apart(net, layout);
      expect_wires(net, layout, true);
    }
  }
}

TEST(ViewLayout, EqualNetworksGiveEqualLayouts) {
  const Network net = random_network(300, 7, 40);
  const Layout a = laid(net, 1.6), b = laid(net, 1.6);
  EXPECT_EQ(a.frames, b.frames);
  EXPECT_EQ(a.strokes, b.strokes);
  EXPECT_EQ(a.tips, b.tips);
}

TEST(ViewLayout, AChainIsStraightAndTallOnesStandInColumns) {
  const Network net = chain(400);
  const Layout one = laid(net);
  for (const Point p : one.frames) EXPECT_EQ(p.x, one.frames[0].x);
  const Layout many = laid(net, 1.6);
  const double shape = many.width / many.height;
  EXPECT_GT(shape, 0.8);
  EXPECT_LT(shape, 3.2);
  EXPECT_GT(many.column.back(), 3u);
  for (size_t i = 1; i < many.column.size(); ++i) EXPECT_GE(many.column[i], many.column[i - 1]);
}

/// a and b over c and d, read crosswise: one exchange leaves no crossing.
TEST(ViewLayout, CrossingsThatNeedNotBeAreTakenOut) {
  Network net;
  for (int i = 0; i < 4; ++i) net.frames.push_back({30, 30, 30});
  net.wires = {{0, 0, 0, {3}}, {1, 0, 0, {2}}};
  Layers layers;
  layers.spots.resize(4);
  layers.rows = {{0, 1}, {2, 3}};
  for (size_t s = 0; s < 4; ++s) layers.spots[s].layer = s / 2;
  layers.spots[0].below = {3}, layers.spots[3].above = {0}, layers.spots[1].below = {2}, layers.spots[2].above = {1};
  layers.number();
  EXPECT_EQ(crossings(layers), 1u);
  reduce_crossings(layers);
  EXPECT_EQ(crossings(layers), 0u);
}

/// Crossings as they are defined: pairs of joins whose ends stand in another order.
TEST(ViewLayout, CrossingsAreCounted) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Layers layers;
    layers.spots.resize(16);
    layers.rows.resize(2);
    for (size_t s = 0; s < 16; ++s) layers.spots[s].layer = s / 8, layers.rows[s / 8].push_back(s);
    std::set<std::pair<size_t, size_t>> joins;
    for (int i = 0; i < 14; ++i) joins.insert({random() % 8, random() % 8});
    for (const auto& [a, b] : joins) layers.spots[a].below.push_back(8 + b), layers.spots[8 + b].above.push_back(a);
    layers.number();
    size_t expected = 0;
    for (const auto& p : joins)
      for (const auto& q : joins) expected += p.first < q.first && p.second > q.second ? 1 : 0;
    EXPECT_EQ(crossings(layers), expected);
  }
}

TEST(ViewLayout, WiresThatWouldTakeTooManyBendsAreNamedInstead) {
  const Network net = random_network(2000, 3, 2000);
  const std::vector<size_t> layers = layers_of(net.frames.size(), net.wires);
  const size_t budget = 500;
  const auto far = too_far(net.wires, layers, budget);
  ASSERT_FALSE(far.empty());
  std::set<std::pair<size_t, size_t>> cut(far.begin(), far.end());
  size_t bends = 0, near = 0;
  for (size_t w = 0; w < net.wires.size(); ++w) {
    size_t span = 0;
    for (size_t i = 0; i < net.wires[w].to.size(); ++i) {
      const size_t own = layers[net.wires[w].to[i]] - layers[net.wires[w].from];
      if (cut.count({w, i})) {
        EXPECT_GT(own, 6u);
      } else {
        span = std::max(span, own);
      }
    }
    (span > 6 ? bends : near) += span;
  }
  EXPECT_LE(bends, budget);
}

double seconds_of(const Network& net) {
  const double begin = test::cpu_seconds();
  const Layout layout = laid(net, 1.6);
  EXPECT_EQ(layout.frames.size(), net.frames.size());
  return test::cpu_seconds() - begin;
}

/// How much there is to lay out: frames and the bends of wires, one for each layer that a wire passes.
double size_of(const Network& net) {
  const std::vector<size_t> layers = layers_of(net.frames.size(), net.wires);
  size_t size = net.frames.size();
  for (const Wire& wire : net.wires) {
    size_t lowest = layers[wire.from] + 1;
    for (size_t to : wire.to) lowest = std::max(lowest, layers[to]);
    size += lowest - layers[wire.from] - 1;
  }
  return static_cast<double>(size);
}

/// r times the frames and bends: about r times the time, where a square would be r * r times. r^1.4 lies between them.
TEST(ViewLayout, TimeGrowsAsTheDrawingDoes) {
  const std::map<std::string, std::function<Network(size_t)>> producers = {
      {"chain", chain}, {"fan", fan}, {"random", [](size_t n) { return random_network(n, 5, 12); }}};
  for (const auto& [name, make] : producers) {
    SCOPED_TRACE(name);
    const Network small = make(1000), large = make(10'000);
    const double growth = size_of(large) / size_of(small);
    EXPECT_GT(growth, 9);
    double min_small = 1e9;
    for (int i = 0; i < 5; ++i) min_small = std::min(min_small, seconds_of(small));
    const double large_seconds = seconds_of(large);
    EXPECT_LT(large_seconds, std::pow(growth, 1.4) * std::max(min_small, 0.004))
        << growth << " times as large: " << min_small << " s, then " << large_seconds << " s";
    expect_apart(large, laid(large, 1.6));
    RecordProperty(name, std::to_string(large_seconds));
    printf("%s of 10,000: %.2f s, %.0f times as long for %.0f times as much\n", name.c_str(), large_seconds,
           large_seconds / min_small, growth);
  }
}

}  // namespace
}  // namespace nnex::drawing
