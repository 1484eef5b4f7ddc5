// Regions of element-wise float32 nodes as one Chain. Those of halves come here by kernels/convert/widened.cpp.

#include "kernels/elementwise/chain.h"

#include "kernels/fused.h"

namespace nnex::kernels {
namespace {

class ChainKernel : public Kernel {
 public:
  ChainKernel(const KernelRequest& r, const Chain& chain, std::vector<int> inputs)
      : loops_(r.loops), chain_(chain), inputs_(std::move(inputs)) {
    for (const Operand& o : r.in) same_shape_.push_back(o.shape == r.out[0].shape);
  }
  bool in_place(size_t input) const override { return same_shape_[input]; }
  Status run(Call& c) const override {
    const float* in[Chain::kMaxInputs] = {};
    for (size_t i = 0; i < inputs_.size(); ++i) in[i] = c.in<float>(static_cast<size_t>(inputs_[i])).data();
    chain_.run(loops_, *c.team, in, c.out<float>(0).data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  Chain chain_;
  std::vector<int> inputs_;  ///< Inputs of the node that the chain reads.
  std::vector<bool> same_shape_;
};

Result<std::unique_ptr<Kernel>> make_chain_region(const KernelRequest& r) {
  const auto* fused = fused_as<FusedChain>(r);
  if (!fused || !r.all_f32()) return nullptr;
  std::vector<std::span<const int64_t>> shapes;
  for (int i : fused->inputs) shapes.push_back(r.in[static_cast<size_t>(i)].shape.extents());
  const auto chain = Chain::make(r.out[0].shape.extents(), shapes, fused->steps);
  if (!chain) return nullptr;
  return made<ChainKernel>(r, *chain, fused->inputs);
}

constexpr KernelDef kChainKernels[] = {{"fused", "chain_f32", make_chain_region}};

}  // namespace

std::span<const KernelDef> chain_kernels() { return built<kChainKernels>(); }

}  // namespace nnex::kernels
