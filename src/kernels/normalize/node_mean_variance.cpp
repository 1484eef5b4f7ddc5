// Normalisation of float32 by mean and deviation over axes that leave one run of axes between them, as channels of a
// batch of images.

#include <cmath>

#include "base/split.h"
#include "kernels/kernel.h"
#include "kernels/moves/axes.h"
#include "kernels/simd/loops.h"
#include "ops/norm.h"
#include "ops/reduction.h"

namespace nnex::kernels {
namespace {

class MeanVariance : public Kernel {
 public:
  /// x as [pieces, channels, n]: what belongs to a channel is normalised together.
  MeanVariance(const simd::Loops& loops, int64_t pieces, int64_t channels, int64_t n, double epsilon)
      : loops_(loops), pieces_(pieces), channels_(channels), n_(n), epsilon_(static_cast<float>(epsilon)) {}
  bool in_place(size_t) const override { return true; }

  Status run(Call& c) const override {
    const float* const x = c.in<float>(0).data();
    float* const y = c.out<float>(0).data();
    const auto length = static_cast<size_t>(n_);
    split(*c.team, channels_, c.in(0).count() * 16, 1, [&](int64_t begin, int64_t end) {
      for (int64_t channel = begin; channel < end; ++channel) {
        const auto each = [&](auto use) {
          float sum = 0;
          for (int64_t p = 0; p < pieces_; ++p) sum += use((p * channels_ + channel) * n_);
          return sum / static_cast<float>(pieces_ * n_);
        };
        const float mean = each([&](int64_t at) { return loops_.reduce_f32(ReduceKind::sum, x + at, length); });
        const float variance = each([&](int64_t at) { return loops_.sum_squares_about_f32(x + at, length, mean); });
        const float deviation = std::sqrt(variance) + epsilon_;
        for (int64_t p = 0; p < pieces_; ++p) {
          const int64_t at = (p * channels_ + channel) * n_;
          loops_.binary_f32(BinaryKind::sub, Form::vector_scalar, x + at, &mean, y + at, length);
          loops_.binary_f32(BinaryKind::div, Form::vector_scalar, y + at, &deviation, y + at, length);
        }
      }
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  int64_t pieces_, channels_, n_;
  float epsilon_;
};

Result<std::unique_ptr<Kernel>> make_mean_variance(const KernelRequest& r) {
  const auto& a = r.attr<MeanVarianceNormAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || x.count() == 0) return nullptr;
  NNEX_ASSIGN(const std::vector<bool> gone, reduced_axes(r.op.name, a.axes, x.rank(), {}));
  std::vector<bool> kept = gone;
  kept.flip();
  const auto m = middle_of(x, kept);
  if (!m) return nullptr;
  return made<MeanVariance>(r.loops, m->outer, m->n, m->inner, a.epsilon);
}

constexpr KernelDef kMeanVarianceKernels[] = {{"mean_variance_normalization", "mean_variance_f32", make_mean_variance}};

}  // namespace

std::span<const KernelDef> mean_variance_kernels() { return built<kMeanVarianceKernels>(); }

}  // namespace nnex::kernels
