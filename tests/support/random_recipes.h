#pragma once
// What the families of random networks share: recipes that take values at hand and leave others there.

#include <algorithm>
#include <cmath>
#include <vector>

#include "random_networks.h"

namespace nnex::test::recipes {

using Held = RandomNet::Held;
using Step = void (*)(RandomNet&);

/// Filters of such a fan keep numbers as large as they are.
inline double gain(int64_t fan) { return std::sqrt(3.0 / static_cast<double>(std::max<int64_t>(fan, 1))); }

inline void go_on(RandomNet& n, const std::vector<Step>& steps, int64_t count) {
  for (; count > 0; --count) steps[static_cast<size_t>(n.random.below(static_cast<int64_t>(steps.size())))](n);
}

inline bool is_floats(const Held& h) { return is_float(h.type) && h.shape.count() > 0 && h.shape.count() < 200'000; }
inline bool is_image(const Held& h) { return is_floats(h) && h.shape.rank() == 4 && h.fixed(1); }
inline bool is_sequence(const Held& h) { return is_floats(h) && h.shape.rank() == 3 && h.fixed(2); }

/// A function of each element: silu, gelu and others of simpler operators; or of one as well.
V spelled(RandomNet& n, V x);
V activate(RandomNet& n, V x);
/// x with another value of its shape, or with a constant that broadcasts.
V combine(RandomNet& n, V x);

struct Window {
  Ints kernel, stride, dilation;
  Pairs padding;

  int64_t taps() const { return kernel[0] * kernel[1]; }
  /// The extents of what it makes; 0: it does not fit.
  int64_t out(int64_t extent, size_t axis) const {
    const int64_t room = extent + padding[axis].first + padding[axis].second - (kernel[axis] - 1) * dilation[axis] - 1;
    return room < 0 ? 0 : room / stride[axis] + 1;
  }
  bool fits(const Held& x) const {
    for (size_t i = 0; i < 2; ++i)
      for (const Shape* s : {&x.shape, &x.other})
        if (out((*s)[static_cast<int64_t>(i) + 2], i) <= 0) return false;
    return true;
  }
  Attributes attributes() const { return {{"stride", stride}, {"dilation", dilation}, {"padding", padding}}; }
  /// As pools have them, of all axes.
  Attributes of_pool() const {
    Attributes all;
    all.emplace_back("size", Ints{1, 1, kernel[0], kernel[1]});
    all.emplace_back("stride", Ints{1, 1, stride[0], stride[1]});
    all.emplace_back("padding", Pairs{{0, 0}, {0, 0}, padding[0], padding[1]});
    return all;
  }
};
Window window(RandomNet& n);

/// Outputs: few and many; 3x3 filters on images of one line meet kernels of another kind where there are few.
int64_t channels(RandomNet& n);

struct Filter {
  int64_t out = 1, groups = 1;
};
/// Whole, grouped, or each channel by itself.
Filter filter_for(RandomNet& n, int64_t in);
/// Whether the convolution of x is possible, and no more than the network may still take.
bool spend_on(RandomNet& n, const Held& x, const Filter& f, const Window& w);

const std::vector<Step>& image_steps();
/// x + f(x): the shape stays.
void image_residual(RandomNet& n);
const std::vector<Step>& sequence_steps();
/// An input of the kind.
V image(RandomNet& n);
V sequence(RandomNet& n);

void images(RandomNet& n);
void sequences(RandomNet& n);
void codes(RandomNet& n);

}  // namespace nnex::test::recipes
