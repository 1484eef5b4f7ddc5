// Regions of interest: each region of a batch's image pooled, or sampled, to one size.
//
// x is [batch, channel, spatial...] with M spatial axes, rois [regions, 2 M] with rows first corner, last corner, each
// in the order of the axes; batch_index, [regions] or [regions, 1], says which image a region lies in.

#include "ops/roi.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/interrupt.h"
#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

constexpr int64_t kMaxCells = int64_t{1} << 30;    ///< On one axis.
constexpr int64_t kMaxSamples = int64_t{1} << 20;  ///< On one axis of one cell: more is no region anybody means.

/// Whether the run shall stop; asked now and then.
bool stops(int64_t cell) { return cell % 256 == 0 && Interrupt::wanted(); }

Status infer_roi(InferCall& c, const Ints& output_size) {
  for (int64_t n : output_size)
    if (n < 1 || n > kMaxCells) return c.error("output_size has {}; needed 1 to {}", n, kMaxCells);
  const auto spatial = static_cast<int64_t>(output_size.size());
  NNEX_TRY(need_rank(c, 0, spatial + 2));
  NNEX_TRY(need_rank(c, 1, 2));
  Dim regions = c.unknown();
  if (c.dims(1)) {
    regions = (*c.dims(1))[0];
    NNEX_TRY(meet(c, (*c.dims(1))[1], Dim(2 * spatial), "numbers of a region"));
  }
  if (c.dims(2)) {
    const Dims& b = *c.dims(2);
    if (b.empty() || b.size() > 2) return c.error("batch_index has {} axes; needed 1 or 2", b.size());
    NNEX_ASSIGN(regions, meet(c, regions, b[0], "regions of rois and batch_index"));
    if (b.size() == 2) NNEX_TRY(meet(c, b[1], Dim(1), "extent of batch_index at axis 1"));
  }
  Dims out = {regions, c.dims(0) ? (*c.dims(0))[1] : c.unknown()};
  for (int64_t n : output_size) out.emplace_back(n);
  c.result(0, std::move(out));
  return {};
}

/// The image region r lies in.
Result<int64_t> image_of(Call& c, int64_t r) {
  const int64_t b = int_at(c.in(2), r), batches = c.shape(0)[0];
  if (b < 0 || b >= batches) return c.fault("batch index {} of region {} is outside [0, {})", b, r, batches);
  return b;
}

Status check_regions(Call& c) {
  if (c.in(2).count() != c.shape(1)[0])
    return c.fault("batch_index has {} numbers; there are {} regions", c.in(2).count(), c.shape(1)[0]);
  return {};
}

/// A double as an integer that arithmetic on extents cannot overflow; NaN is 0.
int64_t whole(double x) {
  constexpr double kMax = 1 << 30;
  return x == x ? static_cast<int64_t>(std::clamp(x, -kMax, kMax)) : 0;
}

// ---- avg_roi_pool, max_roi_pool ----

Status infer_roi_pool(InferCall& c) { return infer_roi(c, c.attr<RoiPoolAttrs>().output_size); }

/// Elements [begin, end) of an axis of n that cell i of p takes from a region.
std::pair<int64_t, int64_t> cell_of(const RoiPoolAttrs& a, double from, double to, int64_t i, int64_t p, int64_t n) {
  const int64_t first = whole(std::round(from)), last = whole(std::round(to));
  const int64_t r = std::max<int64_t>(last - first + (a.inclusive ? 1 : 0), a.inclusive ? 1 : 0);
  int64_t begin = first, end = first;
  if (a.cells == RoiCells::uniform) {
    begin += i * (r / p);
    end = begin + std::max<int64_t>((r + p - 1) / p, 1);
  } else {
    begin += i * r / p;
    end += ((i + 1) * r + p - 1) / p;
    end = std::max(end, begin + 1);
  }
  return {std::clamp<int64_t>(begin, 0, n), std::clamp<int64_t>(end, 0, n)};
}

/// Calls each(element) for the elements of a box in one channel.
template <class F>
void for_each_in(const std::vector<std::pair<int64_t, int64_t>>& box, const Ints& strides, size_t axis, int64_t offset,
                 F& each) {
  if (axis == box.size()) {
    each(offset);
    return;
  }
  for (int64_t i = box[axis].first; i < box[axis].second; ++i)
    for_each_in(box, strides, axis + 1, offset + i * strides[axis + 2], each);
}

template <bool kMax>
struct RoiPool {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<RoiPoolAttrs>();
    NNEX_TRY(check_regions(c));
    const Shape& s = c.shape(0);
    const Ints strides = row_major_strides(s);
    const Shape cells(a.output_size);
    const auto spatial = a.output_size.size();
    const int64_t n = cells.count(), channels = s[1];
    const T* x = c.in<T>(0).data();
    std::vector<std::pair<int64_t, int64_t>> box(spatial);
    for (int64_t r = 0; r < c.shape(1)[0]; ++r) {
      NNEX_ASSIGN(int64_t image, image_of(c, r));
      const T* region = c.in<T>(1).data() + r * 2 * static_cast<int64_t>(spatial);
      T* y = c.out<T>(0).data() + r * channels * n;
      for (int64_t k = 0; k < n && !stops(k); ++k) {
        int64_t rest = k;
        for (size_t i = spatial; i-- > 0; rest /= a.output_size[i])
          box[i] = cell_of(a, static_cast<double>(region[i]), static_cast<double>(region[i + spatial]),
                           rest % a.output_size[i], a.output_size[i], s[static_cast<int64_t>(i) + 2]);
        for (int64_t ch = 0; ch < channels; ++ch)
          y[ch * n + k] = reduce(x + image * strides[0] + ch * strides[1], box, strides);
      }
    }
    return {};
  }

  /// Cells beyond the image hold nothing: 0.
  template <class T>
  static T reduce(const T* x, const std::vector<std::pair<int64_t, int64_t>>& box, const Ints& strides) {
    T sum = 0;
    int64_t count = 0;
    auto add = [&](int64_t at) {
      if constexpr (kMax)
        sum = count == 0 || x[at] > sum || x[at] != x[at] ? x[at] : sum;
      else
        sum += x[at];
      ++count;
    };
    for_each_in(box, strides, 0, 0, add);
    return kMax || count == 0 ? sum : sum / static_cast<T>(count);
  }
};

// ---- roi_resample, avg_roi_align, max_roi_align ----

Status infer_roi_resample(InferCall& c) {
  const auto& a = c.attr<RoiResampleAttrs>();
  for (int64_t n : a.sampling)
    if (n < 1 || n > kMaxSamples) return c.error("sampling has {}; needed 1 to {}", n, kMaxSamples);
  int64_t samples = 1;
  for (int64_t n : a.sampling)
    if ((samples *= n) > kMaxSamples) return c.error("a cell has more than {} samples", kMaxSamples);
  if (!a.sampling.empty() && a.sampling.size() != a.output_size.size())
    return c.error("sampling has {} numbers; output_size {}", a.sampling.size(), a.output_size.size());
  return infer_roi(c, a.output_size);
}

/// The two elements of an axis that a sample lies between, and the weight of the second.
struct Between {
  int64_t low = 0, high = 0;
  double weight = 0;
};

/// Place x of an axis of n elements, the edge ones going on for ever.
Between between(double x, int64_t n) {
  if (!(x > 0)) return {};
  if (!(x < static_cast<double>(n - 1))) return {n - 1, n - 1, 0};
  const auto low = static_cast<int64_t>(x);
  return {low, low + 1, x - static_cast<double>(low)};
}

double place_of(RoiTransform t, double from, double to, int64_t i, int64_t n) {
  const double r = to - from, at = static_cast<double>(i), count = static_cast<double>(n);
  switch (t) {
    case RoiTransform::symmetric:
      return from + (at + 0.5) * r / count - 0.5;
    case RoiTransform::asymmetric:
      return from + at * r / count;
    case RoiTransform::aligned:
      return n > 1 ? from + at * (r - 1) / (count - 1) : from;
  }
  return from;
}

/// Linear along every axis, the last one first.
template <class T>
T linear(const T* x, const std::vector<Between>& at, const Ints& strides, size_t axis) {
  if (axis == at.size()) return *x;
  const Between& b = at[axis];
  const T low = linear(x + b.low * strides[axis + 2], at, strides, axis + 1);
  if (b.weight == 0) return low;
  const T high = linear(x + b.high * strides[axis + 2], at, strides, axis + 1);
  return low + (high - low) * static_cast<T>(b.weight);
}

enum class Over : uint8_t { one, mean, max };

/// `sampling` samples a cell on each axis, met as `over` says.
template <Over over>
struct RoiResample {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<RoiResampleAttrs>();
    NNEX_TRY(check_regions(c));
    const Shape& s = c.shape(0);
    const Ints strides = row_major_strides(s);
    const auto spatial = a.output_size.size();
    const int64_t cells = Shape(a.output_size).count(), channels = s[1];
    int64_t samples = 1;
    for (size_t i = 0; i < spatial; ++i) {
      if (s[static_cast<int64_t>(i) + 2] == 0) return c.fault("axis {} of x is empty", i + 2);
      samples *= entry(a, i);
    }
    std::vector<Between> at(spatial);
    for (int64_t r = 0; r < c.shape(1)[0]; ++r) {
      NNEX_ASSIGN(int64_t image, image_of(c, r));
      const T* region = c.in<T>(1).data() + r * 2 * static_cast<int64_t>(spatial);
      T* y = c.out<T>(0).data() + r * channels * cells;
      for (int64_t k = 0; k < cells && !stops(k); ++k)
        for (int64_t ch = 0; ch < channels; ++ch) {
          const T* x = c.in<T>(0).data() + image * strides[0] + ch * strides[1];
          T met = 0;
          for (int64_t j = 0; j < samples; ++j) {
            int64_t cell = k, sample = j;
            for (size_t i = spatial; i-- > 0; cell /= a.output_size[i], sample /= entry(a, i))
              at[i] = between(
                  place_of(a.transform, static_cast<double>(region[i]), static_cast<double>(region[i + spatial]),
                           cell % a.output_size[i] * entry(a, i) + sample % entry(a, i),
                           a.output_size[i] * entry(a, i)),
                  s[static_cast<int64_t>(i) + 2]);
            const T value = linear(x, at, strides, 0);
            if (over == Over::max)
              met = j == 0 || value > met || value != value ? value : met;
            else
              met += value;
          }
          y[ch * cells + k] = over == Over::mean ? met / static_cast<T>(samples) : met;
        }
    }
    return {};
  }

  static int64_t entry(const RoiResampleAttrs& a, size_t i) { return i < a.sampling.size() ? a.sampling[i] : 1; }
};

// ---- roi_align ----

Status infer_roi_align(InferCall& c) {
  const auto& a = c.attr<RoiAlignAttrs>();
  if (a.output_size.size() != 2) return c.error("output_size has {} numbers; needed 2", a.output_size.size());
  if (a.sampling < 0 || a.sampling > kMaxSamples)
    return c.error("sampling is {}; needed 0 to {}", a.sampling, kMaxSamples);
  return infer_roi(c, a.output_size);
}

/// Four elements around a sample, and their weights; all 0 for a sample beyond [-1, extent].
struct Corners {
  int64_t at[4] = {};
  double weight[4] = {};
};

Corners corners(double y, double x, int64_t height, int64_t width) {
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  if (!(y >= -1 && y <= h && x >= -1 && x <= w) || height == 0 || width == 0) return {};
  const Between v = between(y, height), u = between(x, width);
  Corners c;
  for (int i = 0; i < 4; ++i) {
    c.at[i] = (i < 2 ? v.low : v.high) * width + (i % 2 ? u.high : u.low);
    c.weight[i] = (i < 2 ? 1 - v.weight : v.weight) * (i % 2 ? u.weight : 1 - u.weight);
  }
  return c;
}

struct RoiAlign {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<RoiAlignAttrs>();
    NNEX_TRY(check_regions(c));
    const Shape& s = c.shape(0);
    const int64_t channels = s[1], height = s[2], width = s[3], rows = a.output_size[0], columns = a.output_size[1];
    const bool inner = a.transform == RoiAlignTransform::half_pixel;
    std::vector<Corners> samples;
    for (int64_t r = 0; r < c.shape(1)[0]; ++r) {
      NNEX_ASSIGN(int64_t image, image_of(c, r));
      double from[2], step[2];
      int64_t grid[2];
      for (int i = 0; i < 2; ++i) {
        const double begin = static_cast<double>(c.in<T>(1)[static_cast<size_t>(r * 4 + i)]) * a.scale,
                     end = static_cast<double>(c.in<T>(1)[static_cast<size_t>(r * 4 + 2 + i)]) * a.scale;
        const double extent = inner ? end - begin : std::max(end - begin, 1.0);
        from[i] = begin - (inner ? 0.5 : 0.0);
        step[i] = extent / static_cast<double>(a.output_size[static_cast<size_t>(i)]);
        grid[i] = a.sampling > 0 ? a.sampling : std::max<int64_t>(whole(std::ceil(step[i])), 0);
      }
      if (std::max(grid[0], grid[1]) > kMaxSamples || grid[0] * grid[1] > kMaxSamples)
        return c.fault("region {} needs {} x {} samples a cell; at most {} are allowed", r, grid[0], grid[1],
                       kMaxSamples);
      T* y = c.out<T>(0).data() + r * channels * rows * columns;
      for (int64_t cell = 0; cell < rows * columns && !stops(cell); ++cell) {
        samples.clear();
        auto at = [&](int axis, int64_t k, int64_t j) {
          return from[axis] + static_cast<double>(k) * step[axis] +
                 (static_cast<double>(j) + 0.5) * step[axis] / static_cast<double>(grid[axis]);
        };
        for (int64_t v = 0; v < grid[0]; ++v)
          for (int64_t u = 0; u < grid[1]; ++u)
            samples.push_back(corners(at(0, cell / columns, v), at(1, cell % columns, u), height, width));
        for (int64_t ch = 0; ch < channels; ++ch)
          y[ch * rows * columns + cell] =
              met(samples, c.in<T>(0).data() + (image * channels + ch) * height * width, a.mode);
      }
    }
    return {};
  }

  /// The mean of the samples, or the largest weighted corner of any.
  template <class T>
  static T met(const std::vector<Corners>& samples, const T* x, RoiMode mode) {
    T result = 0;
    bool first = true;
    for (const Corners& s : samples)
      for (int i = 0; i < 4; ++i) {
        const T value = s.weight[i] == 0 ? T{} : static_cast<T>(s.weight[i]) * x[s.at[i]];
        if (mode == RoiMode::avg)
          result += value;
        else if (first || value > result || value != value)
          result = value;
        first = false;
      }
    return mode == RoiMode::avg && !samples.empty() ? result / static_cast<T>(samples.size()) : result;
  }
};

constexpr Port kX = {"x", kF}, kRois = {.name = "rois", .type = same_type_as("x"), .doc = "[regions, 2 corners]"},
               kBatchIndex = {"batch_index", kIndex}, kY = {"y", same_type_as("x")};

constexpr auto kOutputSize = field<&RoiPoolAttrs::output_size>("output_size", "Cells on every spatial axis.", required);
constexpr auto kCells = field<&RoiPoolAttrs::cells>("cells", "How a region is cut into cells.");
constexpr auto kResampledSize =
    field<&RoiResampleAttrs::output_size>("output_size", "Elements on every spatial axis.", required);
constexpr auto kSampling =
    field<&RoiResampleAttrs::sampling>("sampling", "Samples of a cell on every spatial axis.", required);
constexpr auto kTransform = field<&RoiResampleAttrs::transform>("transform", "Where samples stand in a region.");

constexpr OpRow kRoiOps[] = {
    {.name = "avg_roi_pool",
     .summary = "The mean of each cell of each region.",
     .source = "NNEF 1.0.5 avg_roi_pool",
     .inputs = {kX, kRois, kBatchIndex},
     .outputs = {kY},
     .attrs = attrs_of<RoiPoolAttrs>({kOutputSize, kCells}),
     .infer = infer_roi_pool,
     .reference = typed<float, double>(RoiPool<false>{}),
     .spelled = {{nnef, "avg_roi_pool"}}},
    {.name = "max_roi_pool",
     .summary = "The largest element of each cell of each region; 0 for a cell beyond the image.",
     .source = "NNEF 1.0.5 max_roi_pool; ONNX MaxRoiPool-22",
     .inputs = {kX, kRois, kBatchIndex},
     .outputs = {kY},
     .attrs = attrs_of<RoiPoolAttrs>(
         {kOutputSize, kCells, field<&RoiPoolAttrs::inclusive>("inclusive", "The last corner belongs to the region.")}),
     .infer = infer_roi_pool,
     .reference = typed<float, double>(RoiPool<true>{}),
     .spelled = {{nnef, "max_roi_pool"},
                 {onnx,
                  "MaxRoiPool",
                  {{"output_size", "pooled_shape"}},
                  1,
                  "",
                  {{"cells", "'spread'"}, {"inclusive", "true"}}}}},
    {.name = "roi_resample",
     .summary = "Each region sampled linearly to one size.",
     .source = "NNEF 1.0.5 roi_resample",
     .inputs = {kX, kRois, kBatchIndex},
     .outputs = {kY},
     .attrs = attrs_of<RoiResampleAttrs>({kResampledSize, kTransform}),
     .infer = infer_roi_resample,
     .reference = typed<float, double>(RoiResample<Over::one>{}),
     .spelled = {{nnef, "roi_resample", {{"transform", "method"}}}}},
    {.name = "avg_roi_align",
     .summary = "Each region sampled linearly, and the mean of the samples of each cell.",
     .source = "NNEF 1.0.5 avg_roi_align",
     .inputs = {kX, kRois, kBatchIndex},
     .outputs = {kY},
     .attrs = attrs_of<RoiResampleAttrs>({kResampledSize, kSampling, kTransform}),
     .infer = infer_roi_resample,
     .reference = typed<float, double>(RoiResample<Over::mean>{}),
     .spelled = {{nnef, "avg_roi_align", {{"sampling", "sampling_rate"}, {"transform", "resize_method"}}}}},
    {.name = "max_roi_align",
     .summary = "Each region sampled linearly, and the largest sample of each cell.",
     .source = "NNEF 1.0.5 max_roi_align",
     .inputs = {kX, kRois, kBatchIndex},
     .outputs = {kY},
     .attrs = attrs_of<RoiResampleAttrs>({kResampledSize, kSampling, kTransform}),
     .infer = infer_roi_resample,
     .reference = typed<float, double>(RoiResample<Over::max>{}),
     .spelled = {{nnef, "max_roi_align", {{"sampling", "sampling_rate"}, {"transform", "resize_method"}}}}},
    {.name = "roi_align",
     .summary = "Each region sampled linearly without rounding; of a cell's samples the mean, or the largest weighted "
                "corner.",
     .source = "ONNX RoiAlign-22 (10: output_half_pixel)",
     .inputs = {kX, kRois, kBatchIndex},
     .outputs = {kY},
     .attrs = attrs_of<RoiAlignAttrs>(
         {field<&RoiAlignAttrs::output_size>("output_size", "Rows and columns of cells."),
          field<&RoiAlignAttrs::sampling>("sampling", "Samples of a cell on each axis; 0: one an element."),
          field<&RoiAlignAttrs::scale>("scale", "Elements of x for one step of a corner's numbers."),
          field<&RoiAlignAttrs::transform>("transform", "Where corners stand."),
          field<&RoiAlignAttrs::mode>("mode", "avg or max.")}),
     .infer = infer_roi_align,
     .reference = typed<float, double>(RoiAlign{}),
     .spelled = {{onnx,
                  "RoiAlign",
                  {{"sampling", "sampling_ratio"},
                   {"scale", "spatial_scale"},
                   {"transform", "coordinate_transformation_mode"}},
                  16},
                 {onnx,
                  "RoiAlign",
                  {{"sampling", "sampling_ratio"}, {"scale", "spatial_scale"}},
                  10,
                  "",
                  {{"transform", "'output_half_pixel'"}}}}},
};
}  // namespace

std::span<const OpDef> roi_ops() { return stored<kRoiOps>(); }

}  // namespace nnex
