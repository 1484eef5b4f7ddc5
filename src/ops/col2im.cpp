// Columns of blocks put back where they were cut from an image.
//
// x is [batch, channels * block..., blocks], y [batch, channels, image...]: column k of x holds the block at the k-th
// place of a sliding window over the padded image, row-major. Places in the padding are dropped; blocks that overlap
// add.

#include <algorithm>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/strided.h"
#include "ops/window.h"

namespace nnex {
namespace {

struct Col2ImAttrs {
  Ints stride, dilation;
  Pairs padding;
};

enum : size_t { kColX, kColImage, kColBlock };

/// The windows that cut blocks out of an image, one a spatial axis. Error: what is wrong, without the operator's name.
Result<std::vector<AxisWindow>> blocks_of(const Col2ImAttrs& a, const Ints& image, const Ints& block) {
  auto fault = [](std::string text) { return Error(Code::invalid_model, std::move(text)); };
  if (image.size() != block.size())
    return fault(fmt::format("image_shape has {} numbers; block_shape {}", image.size(), block.size()));
  if (image.empty()) return fault("image_shape is empty");
  for (size_t n : {a.stride.size(), a.dilation.size(), a.padding.size()})
    if (n != 0 && n != image.size())
      return fault(fmt::format("stride, dilation or padding has {} entries; the image {} axes", n, image.size()));
  std::vector<AxisWindow> w(image.size());
  for (size_t i = 0; i < image.size(); ++i) {
    if (image[i] < 0) return fault(fmt::format("image_shape is {} at axis {}", image[i], i));
    const auto pads = i < a.padding.size() ? a.padding[i] : std::pair<int64_t, int64_t>{};
    NNEX_ASSIGN(
        w[i], window_of(image[i], block[i], entry(a.stride, i, 1), entry(a.dilation, i, 1), pads, AutoPad::off, false));
  }
  return w;
}

/// Elements of one block, and blocks of one image. Error: they are more than can be counted.
Result<std::pair<int64_t, int64_t>> counts(const std::vector<AxisWindow>& w) {
  std::optional<int64_t> taps = 1, blocks = 1;
  for (const AxisWindow& a : w) {
    if (taps) taps = checked_mul(*taps, a.size);
    if (blocks) blocks = checked_mul(*blocks, a.output);
  }
  if (!taps || !blocks) return Error(Code::invalid_model, "block_shape is too large");
  return std::pair(*taps, *blocks);
}

std::optional<Ints> numbers(const std::optional<Dims>& dims) {
  if (!dims) return std::nullopt;
  Ints list;
  for (const Dim& d : *dims) {
    if (!d.is_number()) return std::nullopt;
    list.push_back(d.value());
  }
  return list;
}

Status infer_col2im(InferCall& c) {
  NNEX_TRY(need_rank(c, kColX, 3));
  for (size_t i : {kColImage, kColBlock}) NNEX_TRY(need_rank(c, i, 1));
  const auto image_dims = c.values(kColImage);
  const auto image = numbers(image_dims), block = numbers(c.values(kColBlock));
  const Dim batch = c.dims(kColX) ? (*c.dims(kColX))[0] : c.unknown();
  Dim channels = c.unknown();
  if (block) {
    Dim taps(1);
    for (int64_t n : *block) {
      if (n < 1) return c.error("block_shape holds {}; needed at least 1", n);
      taps = taps * Dim(n);
    }
    if (c.dims(kColX) && taps.is_number()) {
      const Dim& rows = (*c.dims(kColX))[1];
      if (rows.is_number() && rows.value() % taps.value() != 0)
        return c.error("x has {} rows; needed a multiple of {}, the elements of a block", rows.value(), taps.value());
      channels = floor_div(rows, taps);
    }
  }
  if (image && block) {
    auto w = blocks_of(c.attr<Col2ImAttrs>(), *image, *block);
    if (!w.ok()) return c.error("{}", w.error().message());
    auto n = counts(*w);
    if (!n.ok()) return c.error("{}", n.error().message());
    if (c.dims(kColX)) NNEX_TRY(meet(c, (*c.dims(kColX))[2], Dim(n->second), "blocks of x"));
  }
  if (!image_dims) {
    const auto& shape = c.dims(kColImage);
    c.result(0, shape && (*shape)[0].is_number() && (*shape)[0].value() <= 64 ? c.unknowns((*shape)[0].value() + 2)
                                                                              : MaybeDims{});
    return {};
  }
  Dims out = {batch, channels};
  out.insert(out.end(), image_dims->begin(), image_dims->end());
  c.result(0, std::move(out));
  return {};
}

struct Col2Im {
  template <class T>
  Status operator()(Call& c) const {
    const Ints image = ints_of(c.in(kColImage));
    auto windows = blocks_of(c.attr<Col2ImAttrs>(), image, ints_of(c.in(kColBlock)));
    if (!windows.ok()) return c.fault("{}", windows.error().message());
    auto volume = counts(*windows);
    if (!volume.ok()) return c.fault("{}", volume.error().message());
    const auto [taps, blocks] = *volume;
    const Shape& s = c.shape(kColX);
    if (s[1] % taps != 0 || s[2] != blocks)
      return c.fault("x is {}; needed a multiple of {} rows and {} columns", s.text(), taps, blocks);
    const int64_t planes = s[0] * (s[1] / taps);
    std::vector<int64_t> extents = {s[0], s[1] / taps};
    extents.insert(extents.end(), image.begin(), image.end());
    NNEX_ASSIGN(Tensor * out, c.make(0, c.in(kColX).dtype(), Shape(extents)));
    std::fill(out->mutable_as<T>().begin(), out->mutable_as<T>().end(), T{});
    if (out->count() == 0 || s.count() == 0) return {};
    // At least two axes: the last two are walked by rows, the others place by place.
    std::vector<AxisWindow> w = *windows;
    if (w.size() == 1) w.insert(w.begin(), AxisWindow{});
    Ints inputs;
    for (const AxisWindow& axis : w) inputs.push_back(axis.input);
    const Ints strides = row_major_strides(Shape(inputs));
    const int64_t plane = Shape(inputs).count(), width = w.back().input;
    const size_t leading = w.size() - 2;
    const AxisWindow &down = w[leading], &along = w.back();
    const T* x = c.in<T>(kColX).data();
    T* y = out->mutable_as<T>().data();
    Ints place(w.size()), tap(w.size());
    for (int64_t p = 0; p < planes; ++p, y += plane) {
      std::fill(tap.begin(), tap.end(), 0);
      for (int64_t t = 0; t < taps; ++t, next(tap, w, &AxisWindow::size, w.size())) {
        const Inside rows(down, tap[leading]), columns(along, tap.back());
        const int64_t n = columns.end - columns.begin;
        std::fill(place.begin(), place.end(), 0);
        for (int64_t k = 0; k < blocks; k += down.output * along.output, next(place, w, &AxisWindow::output, leading)) {
          const int64_t at = place_of(w, place, tap, strides, leading);
          for (int64_t r = rows.begin; r < rows.end && at >= 0; ++r)
            add_row(x + k + r * along.output + columns.begin,
                    y + at + (rows.first + r * down.stride) * width + columns.first + columns.begin * along.stride, n,
                    along.stride);
        }
        x += blocks;
      }
    }
    return {};
  }

  /// The places of a window from `begin` up to `end` at which a tap lies within the image; at place k that is at first
  /// + k * stride.
  struct Inside {
    int64_t first, begin, end;
    Inside(const AxisWindow& w, int64_t tap) {
      first = tap * w.dilation - w.before;
      begin = std::clamp<int64_t>(first < 0 ? ceil_div(-first, w.stride) : 0, 0, w.output);
      end = first < w.input ? std::clamp<int64_t>(ceil_div(w.input - first, w.stride), begin, w.output) : begin;
    }
  };

  template <class T>
  static void add_row(const T* x, T* y, int64_t n, int64_t stride) {
    if (stride == 1)  // a constant, so that the compiler makes vectors
      for (int64_t i = 0; i < n; ++i) y[i] = sum(y[i], x[i]);
    else
      for (int64_t i = 0; i < n; ++i) y[i * stride] = sum(y[i * stride], x[i]);
  }

  /// The following index of the first `axes` axes, row-major.
  static void next(Ints& index, const std::vector<AxisWindow>& w, int64_t AxisWindow::*extent, size_t axes) {
    for (size_t i = axes; i-- > 0; index[i] = 0)
      if (++index[i] < w[i].*extent) return;
  }

  /// Where a tap of a block lies in the image by its first `axes` axes; -1: in the padding.
  static int64_t place_of(const std::vector<AxisWindow>& w, const Ints& place, const Ints& tap, const Ints& strides,
                          size_t axes) {
    int64_t at = 0;
    for (size_t i = 0; i < axes; ++i) {
      const int64_t k = place[i] * w[i].stride + tap[i] * w[i].dilation - w[i].before;
      if (k < 0 || k >= w[i].input) return -1;
      at += k * strides[i];
    }
    return at;
  }

  template <class T>
  static T sum(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(wrap_add(static_cast<int64_t>(a), static_cast<int64_t>(b)));
    else
      return a + b;
  }
};

constexpr OpRow kCol2ImOps[] = {
    {.name = "col2im",
     .summary = "Columns of blocks put back into an image; blocks that overlap add.",
     .source = "ONNX Col2Im-18",
     .inputs = {{.name = "x", .type = kN, .doc = "[batch, channels * block..., blocks]"},
                {.name = "image_shape", .type = kI64, .by_value = true},
                {.name = "block_shape", .type = kI64, .by_value = true}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<Col2ImAttrs>(
         {field<&Col2ImAttrs::stride>("stride", "Elements between blocks; empty: 1."),
          field<&Col2ImAttrs::dilation>("dilation", "Elements between those of a block; empty: 1."),
          field<&Col2ImAttrs::padding>("padding", "(before, after) of every spatial axis; empty: 0.")}),
     .infer = infer_col2im,
     .reference = typed<float, double, int64_t, uint64_t>(Col2Im{}),
     .spelled = {{onnx,
                  "Col2Im",
                  {{"stride", "strides"}, {"dilation", "dilations"}, {"padding", "pads", &begins_ends}}}}},
};
}  // namespace

std::span<const OpDef> col2im_ops() { return stored<kCol2ImOps>(); }

}  // namespace nnex
