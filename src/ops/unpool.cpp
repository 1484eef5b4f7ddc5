// The way back from pools: sums spread over windows, elements read or written where an index says.

#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/failure.h"
#include "base/interrupt.h"
#include "ops/codecs.h"
#include "ops/pool.h"
#include "ops/stored.h"
#include "ops/strided.h"

namespace nnex {
namespace {

/// One axis of a window whose results are the input, and whose inputs are the result: `output` of the window is x's
/// extent, `input` the one asked for; not asked: as small as the window allows, with output_padding at the end.
/// Error: what is wrong, without the operator's name.
Result<AxisWindow> reverse_window(const PoolAttrs& a, size_t i, int64_t x, std::optional<int64_t> asked) {
  const int64_t size = a.size[i], stride = entry(a.stride, i, 1), dilation = entry(a.dilation, i, 1);
  const int64_t more = entry(a.output_padding, i, 0);
  auto [before, after] = pads_of(a, i);
  constexpr int64_t kMax = int64_t{1} << 40;  // beyond this sizes are nonsense, and would overflow
  for (int64_t n : {size, stride, dilation})
    if (n < 1 || n > kMax)
      return failure(Code::invalid_model, "window size {}, stride {} and dilation {} must be at least 1", size, stride,
                     dilation);
  for (int64_t n : {before, after, more, asked.value_or(0), x})
    if (n < -kMax || n > kMax) return failure(Code::invalid_model, "{} is out of range", n);
  auto span = checked_mul(size - 1, dilation), steps = checked_mul(std::max<int64_t>(x - 1, 0), stride);
  if (!span || !steps || *span > INT64_MAX / 4 || *steps > INT64_MAX / 4)
    return Error(Code::invalid_model, "the dilated window is too long");
  const int64_t reach = *span + 1;
  AxisWindow w{size, stride, dilation, before, after, 0, x};
  if (a.auto_pad != AutoPad::off) {
    w.input = asked.value_or(*steps + (x ? stride : 0));
    const int64_t total = std::max<int64_t>(*steps + reach - w.input, 0);
    w.before = a.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
    w.after = total - w.before;
    return w;
  }
  w.input = asked.value_or(*steps + reach - before - after + more);
  if (w.input < 0) return failure(Code::invalid_model, "padding ({}, {}) leaves nothing of {}", before, after, x);
  return w;
}

/// The extents of the result: as attribute or port say, else as small as the windows allow. `shape_port`: the port that
/// may hold them; more than the row has ports: none.
Status infer_reverse(InferCall& c, size_t shape_port) {
  const auto& a = c.attr<PoolAttrs>();
  if (!c.dims(0)) {
    c.result(0, c.unknowns(static_cast<int64_t>(a.size.size())));
    return {};
  }
  Dims out = *c.dims(0);
  NNEX_TRY(check_pool_lists(c, out.size()));
  for (const Ints* list : {&a.output_shape, &a.output_padding})
    if (!list->empty() && list->size() != out.size())
      return c.error("output_shape or output_padding has {} numbers; x has {} axes", list->size(), out.size());
  const bool asked = c.has(shape_port);
  const auto shape = asked ? c.values(shape_port) : std::nullopt;
  if (shape && shape->size() != out.size())
    return c.error("output_shape has {} numbers; x has {} axes", shape->size(), out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    Dim& d = out[i];
    const Dim x = d;
    const bool by_shape = asked || !a.output_shape.empty();
    if (by_shape) {
      d = shape ? (*shape)[i] : asked ? c.unknown() : Dim(a.output_shape[i]);
      if (d.is_number() && d.value() < 0) return c.error("output_shape is {} at axis {}", d.value(), i);
    }
    const bool over_result = by_shape && a.index_as == IndexAs::window;  // windows lie over it, not over its corner
    if (x.is_number() && !(over_result && !d.is_number())) {
      auto w = reverse_window(a, i, x.value(), over_result ? std::optional(d.value()) : std::nullopt);
      if (!w.ok()) return c.error("axis {}: {}", i, w.error().message());
      if (!by_shape) d = Dim(w->input);
    } else if (!by_shape) {
      const int64_t stride = entry(a.stride, i, 1), dilation = entry(a.dilation, i, 1);
      const auto [before, after] = pads_of(a, i);
      d = a.auto_pad != AutoPad::off ? d * Dim(stride)
                                     : (d - Dim(1)) * Dim(stride) + (Dim(a.size[i]) - Dim(1)) * Dim(dilation) + Dim(1) -
                                           Dim(before) - Dim(after) + Dim(entry(a.output_padding, i, 0));
    }
  }
  c.result(0, std::move(out));
  return {};
}

Result<std::vector<AxisWindow>> reverse_windows(const PoolAttrs& a, const Shape& x, const Ints& asked) {
  std::vector<AxisWindow> w;
  for (size_t i = 0; i < static_cast<size_t>(x.rank()); ++i) {
    const auto given = i < asked.size() ? std::optional(asked[i]) : std::nullopt;
    NNEX_ASSIGN(AxisWindow axis, reverse_window(a, i, x[static_cast<int64_t>(i)], given));
    w.push_back(axis);
  }
  return w;
}

// ---- debox ----

Status infer_debox(InferCall& c) { return infer_reverse(c, c.op().inputs.size()); }

constexpr int64_t kAskEvery = 1 << 16;  ///< Elements.

/// What the taps of one axis reach.
struct AxisReach {
  struct Element {
    int64_t k = 0, times = 1;
  };
  std::vector<Element> elements;  ///< In the order of the taps.
  int64_t inside = 0;             ///< Taps that reach one without the border's help.

  AxisReach(const AxisWindow& w, PoolBorder border) : w_(w), border_(border) {
    const int64_t common = std::gcd(w.dilation, w.stride);
    taps_ = w.stride / common, steps_ = w.dilation / common;
    // The inverse of steps_ modulo taps_, by Euclid's algorithm.
    int64_t a = steps_ % taps_, b = taps_, x = 1, y = 0;
    while (a > 0) {
      const int64_t q = b / a;
      b = std::exchange(a, b - q * a), y = std::exchange(x, y - q * x);
    }
    inverse_ = y < 0 ? y + taps_ : y;
  }

  /// Of element i of the result.
  void move_to(int64_t i) {
    if (i == at_) return;
    at_ = i;
    elements.clear(), inside = 0;
    const int64_t n = w_.output, reached = i + w_.before, common = w_.stride / taps_;
    if (reached % common != 0) return;
    // Every taps_-th tap from the first one on reaches a whole number, each steps_ less than the one before.
    const int64_t rest = reached / common - taps_ * floor_div(reached / common, taps_);
    const auto first = static_cast<int64_t>(static_cast<__int128>(rest) * inverse_ % taps_);
    if (first >= w_.size) return;
    const int64_t count = (w_.size - 1 - first) / taps_ + 1, from = (reached - first * w_.dilation) / w_.stride;
    const int64_t begin = std::clamp<int64_t>(ceil_div(from - n + 1, steps_), 0, count);
    const int64_t end = std::clamp<int64_t>(floor_div(from, steps_) + 1, begin, count);
    inside = end - begin;
    const auto one_by_one = [&](int64_t j, int64_t last) {
      for (; j < last; ++j) elements.push_back({border_index(from - j * steps_, n, border_)});
    };
    constexpr int64_t kFew = 64;  // sums of so many are the same, to the last bit, as those of a loop over the taps
    const bool bare = n == 0 || border_ == PoolBorder::constant || border_ == PoolBorder::ignore;
    if (bare || (count > kFew && border_ == PoolBorder::replicate)) {
      if (!bare && begin > 0) elements.push_back({n - 1, begin});
      one_by_one(begin, end);
      if (!bare && end < count) elements.push_back({0, count - end});
      return;
    }
    if (count <= kFew) return one_by_one(0, count);
    const int64_t mirrored = border_ == PoolBorder::reflect ? std::max<int64_t>(2 * (n - 1), 1) : 2 * n;
    const int64_t period = mirrored / std::gcd(mirrored, steps_);
    one_by_one(0, std::min(count, period));
    for (int64_t j = 0; j < static_cast<int64_t>(elements.size()); ++j)
      elements[static_cast<size_t>(j)].times = (count - 1 - j) / period + 1;
  }

 private:
  AxisWindow w_;
  PoolBorder border_;
  int64_t taps_ = 1, steps_ = 1, inverse_ = 0, at_ = -1;
};

int64_t volume(const std::vector<AxisWindow>& w) {
  int64_t n = 1;
  for (const AxisWindow& axis : w) n = checked_mul(n, axis.size).value_or(INT64_MAX);
  return n;
}

/// Element i of the result is the sum of x at (i + before - j dilation) / stride for all taps j where that is whole.
struct Debox {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<PoolAttrs>();
    NNEX_ASSIGN(const std::vector<AxisWindow> w, reverse_windows(a, c.shape(0), a.output_shape));
    const Ints strides = row_major_strides(c.shape(0));
    const Divisor divisor = divisor_of(a);
    const int64_t taps = volume(w);
    std::vector<AxisReach> reach;
    for (const AxisWindow& axis : w) reach.emplace_back(axis, a.border);
    const T* x = c.in<T>(0).data();
    T* y = c.out<T>(0).data();
    int64_t steps = 0;
    bool stopped = false;
    return for_each_index(c.out(0).shape(), [&](const Ints& index, int64_t at) -> Status {
      if (stopped) return {};
      T sum = 0;
      int64_t inside = 1;
      for (size_t i = 0; i < w.size(); ++i) {
        reach[i].move_to(index[i]);
        inside *= reach[i].inside;
      }
      auto visit = [&](auto&& self, size_t axis, int64_t offset, T times) -> void {
        if (axis == w.size()) {
          sum += times * x[offset];
          return;
        }
        for (const auto& e : reach[axis].elements) {
          stopped = stopped || (++steps % kAskEvery == 0 && Interrupt::wanted());
          if (stopped) return;
          self(self, axis + 1, offset + e.k * strides[axis], times * static_cast<T>(e.times));
        }
      };
      visit(visit, 0, 0, T{1});
      const int64_t by = divisor == Divisor::one ? 1 : divisor == Divisor::inside ? inside : taps;
      y[at] = by ? sum / static_cast<T>(by) : T{};
      return {};
    });
  }
};

// ---- sample ----

Status infer_sample(InferCall& c) {
  NNEX_TRY(infer_pool(c));
  if (c.dims(1)) NNEX_TRY(need_rank(c, 1, static_cast<int64_t>(c.attr<PoolAttrs>().size.size())));
  return {};
}

/// The taps of a window that a row-major position stands for, one an axis.
void taps_of(int64_t position, const std::vector<AxisWindow>& w, Ints& taps) {
  for (size_t i = w.size(); i-- > 0;) {
    taps[i] = position % w[i].size;
    position /= w[i].size;
  }
}

/// The place of element k of a tensor, counted row-major or with its axes from 2 on column-major.
void index_of(int64_t k, const Shape& s, bool column_major, Ints& index) {
  const int64_t rank = s.rank();
  if (!column_major || rank < 3) {
    for (int64_t i = rank - 1; i >= 0; k /= s[i--]) index[static_cast<size_t>(i)] = k % s[i];
    return;
  }
  int64_t inner = 1;
  for (int64_t i = 2; i < rank; ++i) inner *= s[i];
  int64_t rest = k % inner, outer = k / inner;
  for (int64_t i = 2; i < rank; rest /= s[i++]) index[static_cast<size_t>(i)] = rest % s[i];
  for (int64_t i = 1; i >= 0; outer /= s[i--]) index[static_cast<size_t>(i)] = outer % s[i];
}

struct Sample {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<PoolAttrs>();
    NNEX_ASSIGN(const std::vector<AxisWindow> w, windows_over(a, c.shape(0)));
    const Shape &from = c.shape(0), &to = c.out(0).shape();
    if (!(c.shape(1) == to)) return c.fault("index is {}; the windows are {}", c.shape(1).text(), to.text());
    const Ints strides = row_major_strides(from);
    const int64_t many = a.index_as == IndexAs::window ? volume(w) : c.in(0).count();
    const T* x = c.in<T>(0).data();
    T* y = c.out<T>(0).data();
    Ints taps(w.size());
    return for_each_index(to, [&](const Ints& index, int64_t at) -> Status {
      const int64_t k = c.in<int64_t>(1)[static_cast<size_t>(at)];
      if (k < 0 || k >= many) return c.fault("index {} is outside [0, {}) at element {}", k, many, at);
      int64_t offset = 0;
      if (a.index_as == IndexAs::window) {
        taps_of(k, w, taps);
        for (size_t i = 0; i < w.size(); ++i) {
          const int64_t p =
              border_index(index[i] * w[i].stride - w[i].before + taps[i] * w[i].dilation, w[i].input, a.border);
          offset = p < 0 || offset < 0 ? -1 : offset + p * strides[i];
        }
      } else {
        index_of(k, from, a.index_as == IndexAs::tensor_column_major, taps);
        for (size_t i = 0; i < w.size(); ++i) offset += taps[i] * strides[i];
      }
      y[at] = offset < 0 ? T{} : x[offset];
      return {};
    });
  }
};

// ---- desample ----

Status infer_desample(InferCall& c) {
  if (c.dims(0) && c.dims(1)) {
    NNEX_TRY(need_rank(c, 1, *c.rank(0)));
    for (size_t i = 0; i < c.dims(0)->size(); ++i)
      NNEX_TRY(meet(c, (*c.dims(1))[i], (*c.dims(0))[i], fmt::format("extent of index at axis {}", i)));
  }
  return infer_reverse(c, 2);
}

/// Elements go where their index says: into a window over the result, or into the tensor the windows alone would give,
/// which is the corner of the result.
struct Desample {
  template <class T>
  Status operator()(Call& c) const {
    const auto& a = c.attr<PoolAttrs>();
    const Ints asked = c.has(2) ? ints_of(c.in(2)) : Ints{};
    const bool in_window = a.index_as == IndexAs::window;
    if (c.has(2) && asked.size() != static_cast<size_t>(c.shape(0).rank()))
      return c.fault("output_shape has {} numbers; x has {} axes", asked.size(), c.shape(0).rank());
    for (int64_t n : asked)
      if (n < 0) return c.fault("output_shape holds {}", n);
    NNEX_ASSIGN(const std::vector<AxisWindow> w, reverse_windows(a, c.shape(0), in_window ? asked : Ints{}));
    Shape corner = c.shape(0);
    for (size_t i = 0; i < w.size(); ++i) corner.set(static_cast<int64_t>(i), w[i].input);
    const Shape to = asked.empty() ? corner : Shape(asked);
    NNEX_ASSIGN(Tensor * out, c.make(0, c.in(0).dtype(), to));
    const Ints strides = row_major_strides(to);
    const int64_t many = in_window ? volume(w) : corner.checked_count().value_or(INT64_MAX);
    const T* x = c.in<T>(0).data();
    T* y = out->mutable_as<T>().data();
    std::fill(y, y + out->count(), T{});
    Ints taps(w.size());
    const int64_t* indices = c.in<int64_t>(1).data();
    const int64_t count = c.in(0).count();
    if (a.index_as == IndexAs::tensor && a.collide == Collide::last && to == corner) {  // an index is the offset
      for (int64_t at = 0; at < count; ++at) {
        const int64_t k = indices[at];
        if (k < 0 || k >= many) return c.fault("index {} is outside [0, {}) at element {}", k, many, at);
        y[k] = x[at];
      }
      return {};
    }
    return for_each_index(c.shape(0), [&](const Ints& index, int64_t at) -> Status {
      const int64_t k = indices[at];
      if (k < 0 || k >= many) return c.fault("index {} is outside [0, {}) at element {}", k, many, at);
      if (in_window)
        taps_of(k, w, taps);
      else
        index_of(k, corner, a.index_as == IndexAs::tensor_column_major, taps);
      int64_t offset = 0;
      for (size_t i = 0; i < w.size(); ++i) {
        const int64_t p = in_window ? index[i] * w[i].stride - w[i].before + taps[i] * w[i].dilation : taps[i];
        if (p < 0 || p >= to[static_cast<int64_t>(i)]) return {};  // in the padding
        offset += p * strides[i];
      }
      if constexpr (std::is_integral_v<T>)
        y[offset] = a.collide == Collide::last
                        ? x[at]
                        : static_cast<T>(wrap_add(static_cast<int64_t>(y[offset]), static_cast<int64_t>(x[at])));
      else
        y[offset] = a.collide == Collide::last ? x[at] : y[offset] + x[at];
      return {};
    });
  }
};

constexpr auto kIndexAs = field<&PoolAttrs::index_as>("index_as", "What an index counts.");
constexpr auto kOutputShape =
    field<&PoolAttrs::output_shape>("output_shape", "Extents of the result; empty: what the windows need.");

constexpr OpRow kUnpoolOps[] = {
    {.name = "debox",
     .summary = "Every element spread over its window, sums where windows meet: the reverse of box.",
     .source = "NNEF 1.0.5 debox",
     .inputs = {{"x", kF}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = pool_attrs(
         {field<&PoolAttrs::divisor>("divisor", "What a sum is divided by: one, or the taps of a window."),
          kOutputShape, field<&PoolAttrs::output_padding>("output_padding", "More elements at the end of each axis.")}),
     .infer = infer_debox,
     .reference = typed<float, double>(Debox{}),
     .spelled = {{nnef, "debox", {{"divisor", "normalize", &normalized}, {"border", "border", &nnef_border}}}}},
    {.name = "sample",
     .summary = "The element of each window that an index names.",
     .source = "NNEF 1.0.5 sample",
     .inputs = {{"x"}, {"index", DType::i64}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = pool_attrs({kIndexAs}),
     .infer = infer_sample,
     .reference = moving(Sample{}),
     .spelled = {{nnef, "sample", {{"border", "border", &nnef_border}}}}},
    {.name = "desample",
     .summary = "Zeros, and every element of x where its index says: the reverse of sample.",
     .source = "NNEF 1.0.5 desample; ONNX MaxUnpool-22",
     .inputs = {{"x", kN},
                {"index", DType::i64},
                {.name = "output_shape",
                 .type = kI64,
                 .arity = Arity::optional,
                 .by_value = true,
                 .doc = "Extents of the result; absent: what the windows need."}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = pool_attrs({kIndexAs, field<&PoolAttrs::collide>(
                                        "collide", "What elements at one place do: add, or the last one stays.")}),
     .infer = infer_desample,
     .reference = typed<float, double, int64_t, uint64_t>(Desample{}),
     .spelled = {{nnef, "desample", {{"border", "border", &nnef_border}}},
                 {onnx,
                  "MaxUnpool",
                  {{"size", "kernel_shape", &full_rank_ints},
                   {"stride", "strides", &full_rank_ints},
                   {"padding", "pads", &full_rank_pads}},
                  1,
                  "",
                  {{"index_as", "'tensor'"}, {"collide", "'last'"}}}}},
};
}  // namespace

std::span<const OpDef> unpool_ops() { return stored<kUnpoolOps>(); }

}  // namespace nnex
