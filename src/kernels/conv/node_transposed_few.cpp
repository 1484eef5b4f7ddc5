// Deconvolutions to a few channels: a product makes what every pixel of x adds to y under every tap, and lines of y add
// those up. As convolutions (node_transposed.cpp) they would fill a fraction of a vector.

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/split.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/planes.h"
#include "kernels/kernel.h"
#include "kernels/moves/copy.h"
#include "kernels/product/epilogue.h"
#include "kernels/product/gemm.h"
#include "ops/deconv.h"

namespace nnex::kernels {
namespace {

constexpr int64_t kAddendFloats = 160 * 1024;      // of one band: with its part of x in the second level cache
constexpr int64_t kMaxAddends = int64_t{4} << 20;  // floats of a band of long lines
constexpr int64_t kMinLines = 8;                   // of y in a band: fewer multiply more lines of x twice

struct FewShape {
  int64_t batch = 1, in_channels = 1, out_channels = 1;
  AxisWindow line, column;  ///< Extents: `input` of x, `output` of y.
  bool channels_last = false;
  int64_t taps() const { return line.size * column.size; }
  int64_t rows() const { return out_channels * taps(); }  ///< Of the product: [channel of y, tap].
  int64_t in_pixels() const { return line.input * column.input; }
  int64_t out_pixels() const { return line.output * column.output; }
};

/// Some lines of y, and the lines of x that add to them.
struct Band {
  int64_t first = 0, last = 0;
  int64_t from = 0, to = 0;
};

class FewDeconvKernel : public Kernel {
 public:
  FewDeconvKernel(const simd::Loops& loops, const FewShape& s, int threads, Packs::Bytes filter)
      : loops_(loops), s_(s), filter_(std::move(filter)) {
    const int64_t for_line = s_.rows() * s_.column.input;
    const int64_t of_thread = ceil_div(s_.batch * s_.line.output, threads);
    lines_ =
        std::min(s_.line.output, std::max(kMinLines, std::min(of_thread, kAddendFloats / for_line * s_.line.stride)));
    bands_ = ceil_div(s_.line.output, lines_);
    product_.one.m = s_.rows(), product_.one.k = s_.in_channels;
    product_.one.a_row_stride = s_.in_channels, product_.b_row_stride = s_.in_pixels();
    int64_t longest = 0, space = 0;
    for (int64_t b = 0; b < bands_; ++b) {  // a shorter band may be packed where the longest is read in place
      product_.one.n = (band(b).to - band(b).from) * s_.column.input;
      longest = std::max(longest, product_.one.n);
      space = std::max(space, gemm_batch_workspace(loops_, product_, 1));
    }
    product_.one.c_row_stride = longest;
    addends_ = round_up(s_.rows() * longest, 16);
    sums_ = round_up(s_.column.output, 16);
    part_ = (addends_ + sums_) * 4 + round_up(space, 64);
    if (s_.channels_last && s_.in_channels > 1) turned_ = round_up(s_.batch * s_.in_channels * s_.in_pixels() * 4, 64);
    if (!filter_) plain_ = round_up(s_.rows() * s_.in_channels * 4, 64);
  }

  /// Floats of a band, which the shape alone decides.
  int64_t addends() const { return addends_; }
  int64_t workspace() const override { return turned_ + plain_ + parts(usable_threads()) * part_; }
  bool packed(size_t input) const override { return input == 1 && filter_; }

  static void pack(const FewShape& s, const std::byte* filter, float* to) {  // [in, rows] to [rows, in]
    for (int64_t row = 0; row < s.rows(); ++row)
      for (int64_t k = 0; k < s.in_channels; ++k) std::memcpy(to++, filter + (k * s.rows() + row) * 4, 4);
  }

  Status run(Call& c) const override {
    const float* x = c.in<float>(0).data();
    if (turned_) {
      auto* turned = reinterpret_cast<float*>(c.workspace);
      const std::array<int64_t, 3> shape = {s_.batch, s_.in_pixels(), s_.in_channels};
      copy_from_strided(loops_, *c.team, 4, *transpose_nest(shape, std::array<int64_t, 3>{0, 2, 1}), x, turned);
      x = turned;
    }
    auto* filter = reinterpret_cast<const float*>(filter_.get());
    if (!filter) {
      auto* plain = reinterpret_cast<float*>(c.workspace + turned_);
      pack(s_, c.in(1).data(), plain);
      filter = plain;
    }
    const float* bias = c.has(2) ? c.in<float>(2).data() : nullptr;
    float* y = c.out<float>(0).data();
    const int64_t bands = s_.batch * bands_, parts = this->parts(std::min(c.team->size(), usable_threads()));
    c.team->run(parts, [&](int64_t part) {
      std::byte* const space = c.workspace + turned_ + plain_ + part * part_;
      for (int64_t i = share(bands, parts, part); i < share(bands, parts, part + 1); ++i)
        run_band(band(i % bands_), x + i / bands_ * s_.in_channels * s_.in_pixels(), filter, bias,
                 y + i / bands_ * s_.out_channels * s_.out_pixels(), space);
    });
    return {};
  }

 private:
  int64_t parts(int threads) const { return std::min<int64_t>(s_.batch * bands_, threads); }

  Band band(int64_t number) const {
    const AxisWindow& w = s_.line;
    Band b;
    b.first = number * lines_, b.last = std::min(b.first + lines_, w.output);
    b.from = std::clamp<int64_t>(ceil_div(b.first + w.before - (w.size - 1) * w.dilation, w.stride), 0, w.input);
    b.to = std::clamp<int64_t>(floor_div(b.last - 1 + w.before, w.stride) + 1, b.from, w.input);
    return b;
  }

  void run_band(const Band& b, const float* x, const float* filter, const float* bias, float* y,
                std::byte* space) const {
    auto* addends = reinterpret_cast<float*>(space);
    BatchGemm product = product_;
    product.one.a = filter, product.one.b = x + b.from * s_.column.input, product.one.c = addends;
    product.one.n = (b.to - b.from) * s_.column.input;
    Team alone;
    if (product.one.n > 0) gemm_batch(loops_, alone, product, space + (addends_ + sums_) * 4);
    for (int64_t m = 0; m < s_.out_channels; ++m) {
      const int64_t step = s_.channels_last ? s_.out_channels : 1;
      float* const plane = y + (s_.channels_last ? m : m * s_.out_pixels());
      for (int64_t line = b.first; line < b.last; ++line)
        add_line(b, addends + m * s_.taps() * product.one.c_row_stride, line, bias ? bias[m] : 0, addends + addends_,
                 plane + line * s_.column.output * step, step);
    }
  }

  /// Line `line` of a channel of y, whose numbers are `step` apart: the places that are equal modulo the stride get the
  /// same taps.
  void add_line(const Band& b, const float* addends, int64_t line, float bias, float* sums, float* y,
                int64_t step) const {
    const AxisWindow &l = s_.line, &c = s_.column;
    for (int64_t phase = 0; phase < std::min(c.stride, c.output); ++phase) {
      const int64_t places = ceil_div(c.output - phase, c.stride);
      std::fill_n(sums, places, 0.0F);
      for (int64_t i = 0; i < l.size; ++i) {
        const int64_t at = line + l.before - i * l.dilation, row = floor_div(at, l.stride);
        if (row * l.stride != at || row < b.from || row >= b.to) continue;
        for (int64_t j = 0; j < c.size; ++j) {
          const int64_t place = j * c.dilation - c.before - phase, shift = floor_div(place, c.stride);
          if (shift * c.stride != place) continue;
          const int64_t begin = std::clamp<int64_t>(shift, 0, places);
          const int64_t end = std::clamp<int64_t>(c.input + shift, begin, places);
          const float* const from =
              addends + (i * c.size + j) * product_.one.c_row_stride + (row - b.from) * c.input - shift;
          for (int64_t q = begin; q < end; ++q) sums[q] += from[q];
        }
      }
      float* const to = y + phase * step;
      for (int64_t q = 0; q < places; ++q) to[q * c.stride * step] = sums[q] + bias;
    }
  }

  const simd::Loops& loops_;
  FewShape s_;
  Packs::Bytes filter_;  ///< [rows, in channels]; null: turned at every run.
  BatchGemm product_;
  int64_t lines_ = 1, bands_ = 1;   ///< Lines of y in a band; bands of an image.
  int64_t addends_ = 0, sums_ = 0;  ///< Floats of a part.
  int64_t part_ = 0;                ///< Bytes of a part, with the product's own.
  int64_t turned_ = 0, plain_ = 0;  ///< Bytes of workspace before the parts.
};

/// Float32, zeros beyond x, one or two spatial axes, few output channels.
Result<std::unique_ptr<Kernel>> make_few_deconv(const KernelRequest& r) {
  const auto& a = r.attr<DeconvAttrs>();
  const Shape x = channels_first(r.in[0].shape, a.channels_last), y = channels_first(r.out[0].shape, a.channels_last);
  const Shape& w = r.in[1].shape;
  if (!r.all_f32() || a.border != ConvBorder::constant || a.groups != 1 || x.rank() < 3 || x.rank() > 4 ||
      x.count() == 0 || w.count() == 0 || y.count() == 0 || y[1] > kMaxFewChannels)
    return nullptr;
  auto windows = reverse_windows(a, x, w);
  if (!windows.ok()) return nullptr;
  FewShape s;
  s.batch = x[0], s.in_channels = x[1], s.out_channels = y[1], s.channels_last = a.channels_last;
  s.line.input = s.line.output = s.line.size = s.line.stride = s.line.dilation = 1;
  s.column = windows->back();
  if (windows->size() == 2) s.line = windows->front();
  Packs::Bytes filter;
  if (r.in[1].constant) {
    NNEX_ASSIGN(filter,
                r.packs.get(pack_key("few deconv", r, r.in[1]), s.rows() * s.in_channels * 4, [&](std::byte* to) {
                  FewDeconvKernel::pack(s, r.in[1].constant->data(), reinterpret_cast<float*>(to));
                }));
  }
  auto kernel = std::make_unique<FewDeconvKernel>(r.loops, s, r.team.size(), std::move(filter));
  if (kernel->addends() > kMaxAddends) return nullptr;
  return std::unique_ptr<Kernel>(std::move(kernel));
}

constexpr KernelDef kFewDeconvKernels[] = {{"deconv", "deconv_few_f32", make_few_deconv}};

}  // namespace

std::span<const KernelDef> few_deconv_kernels() { return built<kFewDeconvKernels>(); }

}  // namespace nnex::kernels
