// The loss of a classifier: log_softmax of float32 in vectors, then one number of each item, added in double in the
// order of the items.

#include "kernels/kernel.h"
#include "kernels/normalize/softmax.h"
#include "ops/training.h"

namespace nnex::kernels {
namespace {

/// x is [N, C, ...].
class CrossEntropy : public Kernel {
 public:
  CrossEntropy(const simd::Loops& loops, const Shape& x, bool kept) : loops_(loops), shape_(x), kept_(kept) {}
  int64_t workspace() const override { return kept_ ? 0 : shape_.count() * int64_t{sizeof(float)}; }
  Status run(Call& c) const override {
    float* log_prob = kept_ ? c.out<float>(1).data() : reinterpret_cast<float*>(c.workspace);
    softmax(loops_, *c.team, true, c.in<float>(0).data(), log_prob, shape_[0], shape_[1],
            shape_.count() / shape_[0] / shape_[1]);
    NNEX_TRY(c.interrupted());
    return c.wants(0) ? loss_of(c, log_prob) : Status();
  }

 private:
  const simd::Loops& loops_;
  Shape shape_;
  bool kept_;  // whether somebody reads the logarithms
};

Result<std::unique_ptr<Kernel>> make_cross_entropy(const KernelRequest& r) {
  if (r.in[0].dtype != DType::f32 || r.in[0].shape.count() == 0) return nullptr;
  return made<CrossEntropy>(r.loops, r.in[0].shape, r.out.size() > 1 && r.out[1].given());
}

constexpr KernelDef kLossKernels[] = {{"softmax_cross_entropy_loss", "cross_entropy_f32", make_cross_entropy}};

}  // namespace

std::span<const KernelDef> loss_kernels() { return built<kLossKernels>(); }

}  // namespace nnex::kernels
