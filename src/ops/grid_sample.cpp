// Sampling at computed places, and the grids of affine maps.

#include "ops/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "base/failure.h"
#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/int_limits.h"
#include "ops/stored.h"
#include "ops/strided.h"
#include "ops/words.h"

namespace nnex {
namespace {

struct AffineGridAttrs {
  bool align_corners = false;
};

Status infer_grid_sample(InferCall& c) {
  if (!c.dims(0) || !c.dims(1)) {
    c.result(0, c.dims(0)   ? MaybeDims(c.unknowns(*c.rank(0)))
                : c.dims(1) ? MaybeDims(c.unknowns(*c.rank(1)))
                            : MaybeDims{});
    return {};
  }
  const Dims &x = *c.dims(0), &grid = *c.dims(1);
  if (x.size() < 3 || x.size() != grid.size())
    return c.error("x has {} axes, grid {}; needed the same number, at least 3", x.size(), grid.size());
  const auto spatial = static_cast<int64_t>(x.size()) - 2;
  if (grid.back().is_number() && grid.back().value() != spatial)
    return c.error("grid has {} coordinates a place; x has {} spatial axes", grid.back().value(), spatial);
  Dims out = {x[0], x[1]};
  NNEX_ASSIGN(out[0], meet(c, grid[0], x[0], "items of grid and x"));
  for (size_t i = 1; i + 1 < grid.size(); ++i) {
    for (size_t k = 2; k < x.size(); ++k)
      if (x[k] == Dim(0) && grid[i].is_number() && grid[i].value() > 0)
        return c.error("x has no elements along axis {}", k);
    out.push_back(grid[i]);
  }
  c.result(0, std::move(out));
  return {};
}

/// Taps of all axes, combined.
struct Taps {
  std::vector<int64_t> offset;
  std::vector<double> weight;

  void clear() { offset.assign(1, 0), weight.assign(1, 1.0); }
  void add_axis(const int64_t* at, const double* w, int n) {
    const size_t before = offset.size();
    for (size_t j = 0; j < before; ++j)
      for (int k = 0; k < n; ++k)
        if (at[k] >= 0) {
          offset.push_back(offset[j] + at[k]);
          weight.push_back(weight[j] * w[k]);
        }
    offset.erase(offset.begin(), offset.begin() + static_cast<std::ptrdiff_t>(before));
    weight.erase(weight.begin(), weight.begin() + static_cast<std::ptrdiff_t>(before));
  }
};

/// A sum of T's weighed in double, as T: integers round half to even and saturate.
template <class T>
T weighed(const T* x, const Taps& taps, DType type) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, float, double>;
  Sum sum = 0;
  for (size_t k = 0; k < taps.offset.size(); ++k)
    sum += static_cast<Sum>(taps.weight[k]) * static_cast<Sum>(x[taps.offset[k]]);
  if constexpr (std::is_integral_v<T>)
    return saturated_int<T>(std::nearbyint(sum), type);
  else
    return sum;
}

/// Places are walked once, each for all channels.
struct GridSample {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<GridSampleAttrs>();
    const Shape& xs = c.shape(0);
    if (c.out(0).count() == 0) return {};
    const auto spatial = static_cast<size_t>(xs.rank() - 2);
    const Ints xst = row_major_strides(xs);
    std::vector<AxisSampler> axes;
    for (size_t i = 0; i < spatial; ++i) axes.emplace_back(a, xs[static_cast<int64_t>(2 + i)], xst[2 + i]);
    const std::vector<double> grid = reals_of(c.in(1));
    const DType type = c.narrowed == DType::none ? c.in(0).dtype() : c.narrowed;
    const int64_t places = c.out(0).count() / (xs[0] * xs[1]);
    const T* x = c.in<T>(0).data();
    T* y = c.out<T>(0).data();
    const double* at = grid.data();
    Taps taps;
    for (int64_t n = 0; n < xs[0]; ++n)
      for (int64_t p = 0; p < places; ++p, at += spatial) {
        taps.clear();
        for (size_t i = 0; i < spatial; ++i) {
          int64_t offset[4];
          double weight[4];
          const int count = axes[i].taps(at[spatial - 1 - i], offset, weight);  // the last axis comes first
          taps.add_axis(offset, weight, count);
        }
        for (int64_t k = 0; k < xs[1]; ++k) {
          const T* from = x + n * xst[0] + k * xst[1];
          T& to = y[(n * xs[1] + k) * places + p];
          if (a.mode == SampleMode::nearest)
            to = taps.offset.empty() ? T{} : from[taps.offset[0]];
          else
            to = weighed(from, taps, type);
        }
      }
    return {};
  }
};

// ---- affine_grid

Status infer_affine_grid(InferCall& c) {
  NNEX_TRY(need_rank(c, 0, 3));
  const auto size = c.values(1);
  std::optional<int64_t> rank;
  if (size)
    rank = static_cast<int64_t>(size->size());
  else if (c.dims(1) && c.dims(1)->size() == 1)
    rank = c.dims(1)->front().number();
  if (rank && *rank != 4 && *rank != 5) return c.error("size has {} numbers; needed 4 or 5", *rank);
  if (!rank) {
    c.result(0, MaybeDims{});
    return {};
  }
  Dims out = c.unknowns(*rank);
  if (c.dims(0)) {
    const Dims& theta = *c.dims(0);
    out[0] = theta[0];
    for (size_t i = 1; i < 3; ++i) {
      const int64_t needed = *rank - (i == 1 ? 2 : 1);
      if (theta[i].is_number() && theta[i].value() != needed)
        return c.error("theta has extent {} at axis {}; needed {}", theta[i].value(), i, needed);
    }
  }
  if (size) {
    for (const Dim& d : *size)
      if (d.is_number() && d.value() < 0) return c.error("size asks for {} elements", d.value());
    NNEX_ASSIGN(out[0], meet(c, (*size)[0], out[0].is_number() ? out[0] : (*size)[0], "items of size and theta"));
    for (size_t i = 2; i < size->size(); ++i) out[i - 1] = (*size)[i];
  }
  out.back() = Dim(*rank - 2);
  c.result(0, std::move(out));
  return {};
}

struct AffineGrid {
  template <class T>
  Status operator()(Call& c) const {
    const bool corners = c.attr<AffineGridAttrs>().align_corners;
    const Ints size = ints_of(c.in(1));
    const Shape& theta = c.shape(0);
    const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
    if ((spatial != 2 && spatial != 3) || theta[1] != spatial || theta[2] != spatial + 1 || theta[0] != size[0])
      return c.fault("theta {} does not fit a size of {} numbers", theta.text(), size.size());
    Ints extents = {size[0]};
    extents.insert(extents.end(), size.begin() + 2, size.end());
    extents.push_back(spatial);
    for (int64_t n : extents)
      if (n < 0) return c.fault("size asks for {} elements", n);
    const Shape shape{std::span<const int64_t>(extents)};
    if (!shape.checked_count()) return failure(Code::limit, "affine_grid: size {} is too large", shape.text());
    NNEX_ASSIGN(Tensor * made, c.make(0, c.in(0).dtype(), shape));
    // Coordinates of each axis, the last one first.
    std::vector<std::vector<T>> base;
    for (int64_t i = 0; i < spatial; ++i) {
      const int64_t n = size[static_cast<size_t>(1 + spatial - i)];
      std::vector<T> line(made->count() ? static_cast<size_t>(n) : 0);
      for (size_t k = 0; k < line.size(); ++k)
        line[k] = corners ? (n == 1 ? T{} : static_cast<T>(2 * k) / static_cast<T>(n - 1) - 1)
                          : static_cast<T>(2 * k + 1) / static_cast<T>(n) - 1;
      base.push_back(std::move(line));
    }
    T* y = made->mutable_as<T>().data();
    const int64_t places = made->count() / std::max<int64_t>(1, size[0] * spatial);
    for (int64_t b = 0; b < size[0]; ++b) {
      const T* matrix = c.in<T>(0).data() + b * spatial * (spatial + 1);
      for (int64_t p = 0; p < places; ++p) {
        int64_t rest = p;
        T at[3];
        for (size_t i = 0; i < base.size(); ++i) {
          const auto n = static_cast<int64_t>(base[i].size());
          at[i] = base[i][static_cast<size_t>(rest % n)];
          rest /= n;
        }
        for (int64_t r = 0; r < spatial; ++r) {
          const T* row = matrix + r * (spatial + 1);
          T sum = row[0] * at[0];
          for (int64_t i = 1; i < spatial; ++i) sum += row[i] * at[i];
          *y++ = sum + row[spatial];
        }
      }
    }
    return {};
  }
};

constexpr Word kModes[] = {{"bilinear", "linear"}, {"bicubic", "cubic"}};
constexpr Word kBorders[] = {{"zeros", "constant"}, {"border", "replicate"}, {"reflection", "reflect"}};
/// Our words are those of opset 20.
constexpr Codec kModeWord = {"onnx_sample_mode", [](const AttrValue& v) { return reword(v, kModes, true); },
                             [](const AttrValue& v) -> Result<AttrValue> { return v; }};
constexpr Codec kBorderWord = word_codec<kBorders>("onnx_padding_mode");

constexpr OpRow kGridSampleOps[] = {
    {.name = "grid_sample",
     .summary = "x read at the places that grid names, -1 to 1 along each axis.",
     .source = "ONNX GridSample-22 (16: bilinear, bicubic)",
     .inputs = {{"x", kN}, {.name = "grid", .type = kF, .doc = "[batch, places..., coordinates], the last axis first"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<GridSampleAttrs>(
         {field<&GridSampleAttrs::mode>("mode", "How values between elements are made."),
          field<&GridSampleAttrs::border>("border", "What lies beyond the input: zeros, its edge, its mirror image."),
          field<&GridSampleAttrs::align_corners>("align_corners",
                                                 "-1 and 1 are the centres of the corner elements, "
                                                 "not their outer edges.")}),
     .infer = infer_grid_sample,
     .reference = typed<float, double, int64_t, uint64_t>(GridSample{}),
     .spelled = {{onnx, "GridSample", {{"mode", "mode", &kModeWord}, {"border", "padding_mode", &kBorderWord}}, 16}}},
    {.name = "affine_grid",
     .summary = "The places that an affine map of each item gives, for grid_sample.",
     .source = "ONNX AffineGrid-20",
     .inputs = {{.name = "theta", .type = kF, .doc = "[batch, 2, 3] or [batch, 3, 4]"},
                {.name = "size", .type = kI64, .by_value = true, .doc = "[batch, channels, spatial...]"}},
     .outputs = {{"y", same_type_as("theta")}},
     .attrs = attrs_of<AffineGridAttrs>({field<&AffineGridAttrs::align_corners>(
         "align_corners", "-1 and 1 are the centres of the corner elements, not their outer edges.")}),
     .infer = infer_affine_grid,
     .reference = typed<float, double>(AffineGrid{}),
     .spelled = {{onnx, "AffineGrid", {}, 20}}},
};
}  // namespace

std::span<const OpDef> grid_sample_ops() { return stored<kGridSampleOps>(); }

}  // namespace nnex
