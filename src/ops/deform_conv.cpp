// Convolution whose taps are moved by data.

#include "ops/deform_conv.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {

ConvAttrs deform_windows(const DeformConvAttrs& a) {
  ConvAttrs conv;
  conv.stride = a.stride, conv.dilation = a.dilation, conv.padding = a.padding, conv.groups = a.groups;
  return conv;
}

namespace {

/// Port i is [batch, offset_groups * taps * each, extents of y...].
Status check_moves(InferCall& c, size_t i, const Dims& y, const Dim& taps, int64_t each) {
  if (!c.has(i) || !c.dims(i)) return {};
  const Dims& moves = *c.dims(i);
  const std::string_view name = c.op().inputs[i].name;
  if (moves.size() != y.size()) return c.error("{} has {} axes; needed {}", name, moves.size(), y.size());
  NNEX_TRY(meet(c, moves[0], y[0], fmt::format("items of {} and x", name)));
  const Dim needed = taps * Dim(c.attr<DeformConvAttrs>().offset_groups) * Dim(each);
  NNEX_TRY(meet(c, moves[1], needed, fmt::format("channels of {}", name)));
  for (size_t k = 2; k < y.size(); ++k)
    NNEX_TRY(meet(c, moves[k], y[k], fmt::format("places of {} along axis {}", name, k)));
  return {};
}

Status infer_deform_conv(InferCall& c) {
  const auto& a = c.attr<DeformConvAttrs>();
  if (a.offset_groups < 1 || a.offset_groups > (int64_t{1} << 30))
    return c.error("offset_groups is {}", a.offset_groups);
  NNEX_ASSIGN(MaybeDims out, conv_dims(c, deform_windows(a), c.dims(kDeformX), c.dims(kDeformFilter),
                                       c.has(kDeformBias) ? c.dims(kDeformBias) : MaybeDims{}));
  if (c.dims(kDeformX) && c.dims(kDeformFilter)) {
    const Dims &x = *c.dims(kDeformX), &filter = *c.dims(kDeformFilter);
    if (x[1].is_number() && x[1].value() % a.offset_groups)
      return c.error("{} channels cannot be split into {} groups of offsets", x[1].value(), a.offset_groups);
    Dim taps(1);
    for (size_t i = 2; i < filter.size(); ++i) taps = taps * filter[i];
    NNEX_TRY(check_moves(c, kDeformOffset, *out, taps, static_cast<int64_t>(x.size()) - 2));
    NNEX_TRY(check_moves(c, kDeformMask, *out, taps, 1));
  }
  c.result(0, std::move(out));
  return {};
}

/// The elements of x around a place, and their weights: at most two along each axis. What lies outside is left out.
template <class T>
struct Around {
  std::vector<int64_t> at;
  std::vector<T> weight;

  void start(T first) { at.assign(1, 0), weight.assign(1, first); }
  void add_axis(double place, int64_t n, int64_t stride) {
    const size_t before = at.size();
    if (place > -1 && place < static_cast<double>(n)) {  // NaN is outside
      const double low = std::floor(place), part = place - low;
      const auto i = static_cast<int64_t>(low);
      for (size_t j = 0; j < before; ++j) {
        if (i >= 0) at.push_back(at[j] + i * stride), weight.push_back(weight[j] * static_cast<T>(1 - part));
        if (i + 1 < n) at.push_back(at[j] + (i + 1) * stride), weight.push_back(weight[j] * static_cast<T>(part));
      }
    }
    at.erase(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(before));
    weight.erase(weight.begin(), weight.begin() + static_cast<std::ptrdiff_t>(before));
  }
};

/// Rows of y, one after another: x is sampled for all taps of a row, then multiplied by the filters.
template <class T>
class DeformRows {
 public:
  DeformRows(Call& c, const ConvGeometry& g)
      : c_(c),
        a_(c.attr<DeformConvAttrs>()),
        g_(g),
        channels_(c.shape(kDeformX)[1]),
        taps_(g.taps()),
        width_(g.windows.back().output),
        samples_(static_cast<size_t>(channels_ * taps_ * width_)) {
    for (const AxisWindow& w : g.windows) places_ *= w.output;
  }

  void run() {
    for (int64_t n = 0; n < g_.batch; ++n)
      for (int64_t p = 0; p < places_; p += width_) {
        for (int64_t group = 0; group < a_.offset_groups; ++group)
          for (int64_t t = 0; t < taps_; ++t)
            for (int64_t i = 0; i < width_; ++i) sample(n, p, group, t, i);
        multiply(n, p);
      }
  }

 private:
  /// Tap t at place p + i of item n, for the channels of an offset group.
  void sample(int64_t n, int64_t p, int64_t group, int64_t t, int64_t i) {
    const auto spatial = static_cast<int64_t>(g_.windows.size());
    const int64_t moved = (n * a_.offset_groups + group) * taps_ + t;
    const T* offset = c_.in<T>(kDeformOffset).data() + moved * spatial * places_ + p + i;
    around_.start(c_.has(kDeformMask) ? c_.in<T>(kDeformMask)[static_cast<size_t>(moved * places_ + p + i)] : T{1});
    int64_t place = p + i, tap = t;
    for (size_t k = g_.windows.size(); k-- > 0;) {
      const AxisWindow& w = g_.windows[k];
      const int64_t from = place % w.output * w.stride - w.before + tap % w.size * w.dilation;
      around_.add_axis(static_cast<double>(from) + static_cast<double>(offset[static_cast<int64_t>(k) * places_]),
                       w.input, g_.x_stride[k]);
      place /= w.output, tap /= w.size;
    }
    const int64_t each = channels_ / a_.offset_groups;
    for (int64_t k = group * each; k < (group + 1) * each; ++k) {
      const T* x = c_.in<T>(kDeformX).data() + n * g_.x_batch + k * g_.x_channel;
      T sum{};
      for (size_t j = 0; j < around_.at.size(); ++j) sum += around_.weight[j] * x[around_.at[j]];
      samples_[static_cast<size_t>((k * taps_ + t) * width_ + i)] = sum;
    }
  }

  /// One chain a result, over channels, then taps.
  void multiply(int64_t n, int64_t p) {
    for (int64_t m = 0; m < g_.filters; ++m) {
      T* y = c_.out<T>(0).data() + (n * g_.filters + m) * places_ + p;
      std::fill_n(y, width_, c_.has(kDeformBias) ? c_.in<T>(kDeformBias)[static_cast<size_t>(m)] : T{});
      const T* w = c_.in<T>(kDeformFilter).data() + m * g_.taken * taps_;
      const T* from = samples_.data() + m / g_.per_group * g_.taken * taps_ * width_;
      for (int64_t k = 0; k < g_.taken * taps_; ++k, from += width_)
        for (int64_t i = 0; i < width_; ++i) y[i] += w[k] * from[i];
    }
  }

  Call& c_;
  const DeformConvAttrs& a_;
  const ConvGeometry& g_;
  int64_t channels_, taps_, width_, places_ = 1;
  std::vector<T> samples_;
  Around<T> around_;
};

struct DeformConv {
  template <class T>
  Status operator()(Call& c) const {
    if (c.out(0).count() == 0) return {};
    NNEX_ASSIGN(ConvGeometry g,
                ConvGeometry::of(deform_windows(c.attr<DeformConvAttrs>()), c.shape(kDeformX), c.shape(kDeformFilter)));
    DeformRows<T>(c, g).run();
    return {};
  }
};

constexpr OpRow kDeformConvOps[] = {
    {.name = "deform_conv",
     .summary = "A convolution each of whose taps reads x beside its place, where offset says.",
     .source = "ONNX DeformConv-22",
     .inputs = {{"x", kF},
                {"filter", same_type_as("x")},
                {.name = "offset",
                 .type = same_type_as("x"),
                 .doc = "[batch, offset_groups * taps * axes, extents of y...]: elements to move by along each axis"},
                {"bias", same_type_as("x"), Arity::optional},
                {.name = "mask",
                 .type = same_type_as("x"),
                 .arity = Arity::optional,
                 .doc = "[batch, offset_groups * taps, extents of y...]: factors; absent: 1"}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<DeformConvAttrs>(
         {field<&DeformConvAttrs::stride>("stride", "Elements between windows, one a spatial axis; empty: 1."),
          field<&DeformConvAttrs::dilation>("dilation", "Elements between taps; empty: 1."),
          field<&DeformConvAttrs::padding>("padding", "(before, after) of each spatial axis; empty: 0."),
          field<&DeformConvAttrs::groups>("groups", "Channel groups."),
          field<&DeformConvAttrs::offset_groups>("offset_groups", "Groups of channels that move alike.")}),
     .infer = infer_deform_conv,
     .reference = typed<float, double>(DeformConv{}),
     .spelled = {{onnx,
                  "DeformConv",
                  {{"stride", "strides"},
                   {"dilation", "dilations"},
                   {"padding", "pads", &begins_ends},
                   {"groups", "group"},
                   {"offset_groups", "offset_group"}},
                  19}},
     .work = Work::conv},
};
}  // namespace

std::span<const OpDef> deform_conv_ops() { return stored<kDeformConvOps>(); }

}  // namespace nnex
