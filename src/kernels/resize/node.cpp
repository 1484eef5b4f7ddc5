// Resize nodes. Nearest elements are picked, whatever they are. Float32: the channels-last driver where whole pixels
// move, else lines by themselves, and lines of lines. Bytes are widened, interpolated and rounded half to even: where a
// sum's last bit decides, they are one off the reference.

#include "kernels/resize/resize.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/split.h"
#include "kernels/convert/convert.h"
#include "kernels/kernel.h"
#include "kernels/lift.h"
#include "ops/resize.h"

namespace nnex::kernels {
namespace {

/// One axis in the types of the driver.
struct Table {
  int64_t in = 1, out = 1;
  int taps = 1;
  std::vector<int32_t> index;  ///< Empty: an axis that stays.
  std::vector<float> weight;

  ResizeAxis axis() const {
    return {in, out, taps, index.empty() ? nullptr : index.data(), weight.empty() ? nullptr : weight.data()};
  }
};

/// x as [batch, up to three axes, inner].
struct Tables {
  int64_t batch = 1, inner = 1;
  std::vector<Table> axes;
};

Table table_of(const ResizeTaps& t) {
  Table y{t.in, t.out, t.taps, {}, {}};
  if (t.same) return y;
  y.index.assign(t.index.begin(), t.index.end());
  y.weight.assign(t.weight.begin(), t.weight.end());
  return y;
}

/// Whether each output has all its taps, and none is extrapolated.
bool full(const ResizeTaps& t) {
  return t.outside.empty() && t.in <= INT32_MAX && t.taps <= 64 &&
         std::all_of(t.count.begin(), t.count.end(), [&](int n) { return n == t.taps; });
}

/// Nothing where the driver's conditions do not hold. Error: the inputs do.
Result<std::optional<Tables>> tables_of(const ResizeAttrs& a, const Shape& x, const Reals& roi, const Reals& scales,
                                        const Ints& sizes) {
  NNEX_ASSIGN(std::vector<ResizeTarget> targets, resize_targets(a, x, roi, scales, sizes));
  Tables y;
  std::vector<ResizeTaps> taps;
  size_t first = targets.size(), last = 0, product = 1;
  for (size_t i = 0; i < targets.size(); ++i) {
    NNEX_ASSIGN(ResizeTaps t, resize_taps(a, targets[i]));
    if (!t.same) first = std::min(first, i), last = i, product *= static_cast<size_t>(t.taps);
    if (!full(t)) return std::optional<Tables>();
    taps.push_back(std::move(t));
  }
  if (first == targets.size()) first = last = targets.size() - 1;
  if (last - first > 2 || product > 512) return std::optional<Tables>();
  for (size_t i = 0; i < first; ++i) y.batch *= targets[i].in;
  for (size_t i = last + 1; i < targets.size(); ++i) y.inner *= targets[i].in;
  for (size_t i = first; i <= last; ++i) y.axes.push_back(table_of(taps[i]));
  return std::optional<Tables>(std::move(y));
}

template <int taps>
void weigh_line(const Table& t, const float* x, float* y) {
  const int32_t* index = t.index.data();
  const float* weight = t.weight.data();
  const auto one = [x](const int32_t* at, const float* by) {
    float sum = by[0] * x[at[0]];
    for (int k = 1; k < taps; ++k) sum += by[k] * x[at[k]];
    return sum;
  };
  int64_t o = 0;
  for (; o + 2 <= t.out; o += 2, index += 2 * taps, weight += 2 * taps) {  // half the steps of the loop itself
    const float first = one(index, weight), second = one(index + taps, weight + taps);
    y[o] = first, y[o + 1] = second;
  }
  if (o < t.out) y[o] = one(index, weight);
}

void weigh_line(const Table& t, const float* x, float* y) {
  if (t.taps == 2) return weigh_line<2>(t, x, y);
  if (t.taps == 4) return weigh_line<4>(t, x, y);
  const int32_t* index = t.index.data();
  const float* weight = t.weight.data();
  for (int64_t o = 0; o < t.out; ++o, index += t.taps, weight += t.taps) {
    float sum = weight[0] * x[index[0]];
    for (int k = 1; k < t.taps; ++k) sum += weight[k] * x[index[k]];
    y[o] = sum;
  }
}

/// y[row, o] from x[row, ...] for each of `rows` lines of neighbouring elements.
void resize_lines(Team& team, const Table& t, int64_t rows, const float* x, float* y) {
  split(team, rows, rows * t.out * 8 * t.taps, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* from = x + r * t.in;
      float* to = y + r * t.out;
      if (!t.weight.empty())
        weigh_line(t, from, to);
      else
        for (int64_t o = 0; o < t.out; ++o) to[o] = from[t.index[static_cast<size_t>(o)]];
    }
  });
}

/// Lines of the last axis before and after the other axes are resized.
struct Lines {
  int64_t in, out;
  explicit Lines(const Tables& t) : in(t.batch), out(t.batch) {
    for (size_t i = 0; i + 1 < t.axes.size(); ++i) in *= t.axes[i].in, out *= t.axes[i].out;
  }
  /// Whether the lines themselves are resized last, as there are fewer then: elements along a line go one by one.
  bool last() const { return out < in; }
};

/// Floats between the two steps: x with one axis resized, or all but one.
int64_t floats_between(const Shape& x, const Shape& y) {
  int64_t max = 0;
  for (int64_t i = 0; i < x.rank(); ++i) max = std::max({max, x.count() / x[i] * y[i], y.count() / y[i] * x[i]});
  return max;
}
int64_t floats_between(const Tables& t) {
  if (t.inner > 1 || t.axes.size() < 2 || t.axes.back().index.empty()) return 0;
  const Lines lines(t);
  return lines.last() ? lines.out * t.axes.back().in : lines.in * t.axes.back().out;
}

/// Bytes are the same on every machine, so nothing of theirs goes through multiply-add, which some have not.
const simd::Loops& loops_for(const KernelRequest& r) {
  return r.in[0].dtype == DType::u8 ? simd::loops(r.loops.isa, simd::Numbers::exact) : r.loops;
}

class ResizeKernel : public Kernel {
 public:
  ResizeKernel(const KernelRequest& r, std::optional<Tables> tables, int64_t between)
      : loops_(loops_for(r)), tables_(std::move(tables)), between_(round_up(between, 16)) {
    if (r.in[0].dtype != DType::u8) return;
    wide_x_ = round_up(r.in[0].shape.count(), 16), wide_y_ = r.out[0].shape.count();
  }

  int64_t workspace() const override { return (between_ + wide_x_ + wide_y_) * 4; }

  Status run(Call& c) const override {
    if (tables_) return resize(c, *tables_);
    const auto reals = [&](size_t i) { return c.has(i) ? reals_of(c.in(i)) : Reals{}; };
    auto tables = tables_of(c.attr<ResizeAttrs>(), c.shape(0), {}, reals(2), c.has(3) ? ints_of(c.in(3)) : Ints{});
    if (!tables.ok() || !tables->has_value()) return run_reference(c);
    return resize(c, **tables);
  }

 private:
  Status resize(Call& c, const Tables& t) const {
    if (wide_x_ == 0) {
      resize(c, t, c.in<float>(0).data(), c.out<float>(0).data());
      return {};
    }
    float* const x = reinterpret_cast<float*>(c.workspace) + between_;
    float* const y = x + wide_x_;
    convert(*c.team, loops_.f32_from_u8, c.in<uint8_t>(0).data(), x, c.in(0).count());
    resize(c, t, x, y);
    const float one = 1;
    quantize<uint8_t>(loops_, *c.team, y, &one, nullptr, c.out<uint8_t>(0).data(), 1, 1, c.out(0).count());
    return {};
  }

  void resize(Call& c, const Tables& t, const float* x, float* y) const {
    Team& team = *c.team;
    ResizeAxis axes[3] = {};
    if (t.inner > 1) {
      for (size_t i = 0; i < t.axes.size(); ++i) axes[3 - t.axes.size() + i] = t.axes[i].axis();
      resize_channels_last(loops_, team, axes, t.batch, t.inner, x, y);
      return;
    }
    // Elements along lines; the other axes move whole lines.
    const Table& line = t.axes.back();
    const size_t others = t.axes.size() - 1;
    const Lines lines(t);
    for (size_t i = 0; i < others; ++i) axes[3 - others + i] = t.axes[i].axis();
    const auto move_lines = [&](int64_t width, const float* from, float* to) {
      resize_channels_last(loops_, team, axes, t.batch, width, from, to);
    };
    if (line.index.empty()) {
      if (others) return move_lines(line.out, x, y);
      std::memcpy(y, x, static_cast<size_t>(lines.in * line.out) * 4);
      return;
    }
    auto* const between = reinterpret_cast<float*>(c.workspace);
    const bool last = others && lines.last();
    if (last) move_lines(line.in, x, between);
    resize_lines(team, line, last ? lines.out : lines.in, last ? between : x, last || !others ? y : between);
    if (others && !last) move_lines(line.out, between, y);
  }

  const simd::Loops& loops_;
  std::optional<Tables> tables_;  ///< None: scales or sizes are known only to a run.
  int64_t between_;
  int64_t wide_x_ = 0, wide_y_ = 0;  ///< Floats that bytes become.
};

/// No tap beyond the input is left out.
bool fits(const KernelRequest& r) {
  const auto& a = r.attr<ResizeAttrs>();
  return r.in[0].shape.rank() > 0 && r.in[0].shape.count() > 0 && r.out[0].shape.count() > 0 &&
         a.border != ResizeBorder::constant && a.border != ResizeBorder::ignore &&
         a.transform != Transform::tf_crop_and_resize;
}

/// Whether a run alone knows input i, scales or sizes.
bool is_computed(const KernelRequest& r, size_t i) {
  return r.has(i) && !r.in[i].constant && r.in[i].shape.count() > 0;
}

/// Of constant scales or sizes.
Result<std::optional<Tables>> tables_of(const KernelRequest& r) {
  const Reals scales = r.has(2) && r.in[2].constant ? reals_of(*r.in[2].constant) : Reals{};
  const Ints sizes = r.has(3) && r.in[3].constant ? ints_of(*r.in[3].constant) : Ints{};
  return tables_of(r.attr<ResizeAttrs>(), r.in[0].shape, {}, scales, sizes);
}

/// At most three neighbouring axes that change.
Result<std::unique_ptr<Kernel>> make_resize_of(const KernelRequest& r) {
  const Shape &x = r.in[0].shape, &y = r.out[0].shape;
  if (!fits(r)) return nullptr;
  std::optional<Tables> tables;
  if (!is_computed(r, 2) && !is_computed(r, 3)) {
    auto made = tables_of(r);
    if (!made.ok() || !made->has_value()) return nullptr;  // the reference kernel says what is wrong
    tables = std::move(made).value();
  }
  const int64_t between = tables ? floats_between(*tables) : floats_between(x, y);
  return std::unique_ptr<Kernel>(std::make_unique<ResizeKernel>(r, std::move(tables), between));
}

Result<std::unique_ptr<Kernel>> make_resize(const KernelRequest& r) {
  if (r.in[0].dtype != DType::f32) return nullptr;
  return make_resize_of(r);
}

// ---- Nearest elements, of any type

/// Elements of a line by their places: blocks of a line that is longer than its input shuffle bytes of it.
class Picks {
 public:
  /// Element o of a line is element index[o] of one of `in` elements.
  Picks(std::vector<int32_t> index, int64_t in, int64_t bytes) : index_(std::move(index)), in_(in), bytes_(bytes) {
    constexpr auto kBlock = static_cast<int64_t>(simd::kPickBytes);
    const int64_t n = static_cast<int64_t>(index_.size()) * bytes, last = in * bytes - kBlock;
    if (bytes > 8 || kBlock % bytes != 0 || n < kBlock || last < 0) return;
    for (int64_t at = 0; at < n; at += kBlock) {
      const int64_t first = std::min(at, n - kBlock) / bytes;
      const auto begin = index_.begin() + first, end = begin + kBlock / bytes;
      const int64_t low = *std::min_element(begin, end) * bytes;
      if ((*std::max_element(begin, end) + 1) * bytes - low > kBlock) {
        from_.clear();
        return;
      }
      const int64_t from = std::min(low, last);
      from_.push_back(static_cast<int32_t>(from));
      for (auto i = begin; i != end; ++i)
        for (int64_t k = 0; k < bytes; ++k) places_.push_back(static_cast<uint8_t>(*i * bytes - from + k));
    }
  }

  int64_t in_bytes() const { return in_ * bytes_; }
  int64_t out_bytes() const { return static_cast<int64_t>(index_.size()) * bytes_; }

  void line(const simd::Loops& loops, const std::byte* x, std::byte* y) const {
    if (!from_.empty())
      return loops.pick_bytes(reinterpret_cast<const uint8_t*>(x), from_.data(), places_.data(),
                              reinterpret_cast<uint8_t*>(y), static_cast<size_t>(out_bytes()));
    switch (bytes_) {
      case 1:
        return each<1>(x, y);
      case 2:
        return each<2>(x, y);
      case 4:
        return each<4>(x, y);
      case 8:
        return each<8>(x, y);
      default:
        for (int32_t i : index_) copy_run(x + i * bytes_, bytes_, y), y += bytes_;
    }
  }

 private:
  template <size_t bytes>
  void each(const std::byte* x, std::byte* y) const {
    for (int32_t i : index_) std::memcpy(y, x + static_cast<size_t>(i) * bytes, bytes), y += bytes;
  }

  std::vector<int32_t> index_;
  int64_t in_, bytes_;
  std::vector<int32_t> from_;    ///< Of each block; none where an element is taken at a time.
  std::vector<uint8_t> places_;  ///< Of its bytes.
};

class NearestKernel : public Kernel {
 public:
  NearestKernel(const simd::Loops& loops, Tables tables, int64_t bytes) : loops_(loops), tables_(std::move(tables)) {
    Table line = std::move(tables_.axes.back());
    tables_.axes.pop_back();
    if (line.index.empty()) tables_.inner *= line.out, line = {1, 1, 1, {0}, {}};
    picks_.emplace(std::move(line.index), line.in, tables_.inner * bytes);
  }

  Status run(Call& c) const override {
    const std::byte* const x = c.in(0).data();
    std::byte* const y = c.out(0).mutable_data();
    const auto n = static_cast<size_t>(picks_->out_bytes());
    const int64_t rows = c.out(0).bytes() / picks_->out_bytes();
    split(*c.team, rows, c.out(0).bytes() * 2, 1, [&](int64_t begin, int64_t end) {
      int64_t before = -1;
      for (int64_t row = begin; row < end; ++row) {
        const int64_t from = row_of(row);
        std::byte* const to = y + row * picks_->out_bytes();
        if (from == before)
          std::memcpy(to, to - n, n);
        else
          picks_->line(loops_, x + from * picks_->in_bytes(), to);
        before = from;
      }
    });
    return {};
  }

 private:
  /// The line of x that a line of y shows.
  int64_t row_of(int64_t row) const {
    int64_t from = 0, step = 1;
    for (size_t i = tables_.axes.size(); i-- > 0;) {
      const Table& t = tables_.axes[i];
      const int64_t at = row % t.out;
      row /= t.out;
      from += (t.index.empty() ? at : t.index[static_cast<size_t>(at)]) * step;
      step *= t.in;
    }
    return from + row * step;
  }

  const simd::Loops& loops_;
  Tables tables_;  ///< Less the last axis.
  std::optional<Picks> picks_;
};

/// Of extents that are known; elements are whole bytes.
Result<std::unique_ptr<Kernel>> make_nearest(const KernelRequest& r) {
  const auto& a = r.attr<ResizeAttrs>();
  const DType type = r.in[0].dtype;
  if (a.mode != ResizeMode::nearest || !fits(r) || is_object(type) || bits(type) % 8 != 0) return nullptr;
  if (is_computed(r, 2) || is_computed(r, 3)) return nullptr;
  auto tables = tables_of(r);
  if (!tables.ok() || !tables->has_value()) return nullptr;
  return made<NearestKernel>(r.loops, std::move(tables)->value(), bits(type) / 8);
}

Result<std::unique_ptr<Kernel>> make_byte_resize(const KernelRequest& r) {
  if (r.in[0].dtype != DType::u8 || r.attr<ResizeAttrs>().mode == ResizeMode::nearest) return nullptr;
  return make_resize_of(r);
}

constexpr KernelDef kResizeKernels[] = {{"resize", "resize_nearest", make_nearest},
                                        {"resize", "resize_f32", make_resize},
                                        {"resize", "resize_u8", make_byte_resize}};

}  // namespace

std::span<const KernelDef> resize_kernels() { return built<kResizeKernels>(); }

}  // namespace nnex::kernels
