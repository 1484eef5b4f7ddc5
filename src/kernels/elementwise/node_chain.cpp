// Regions of element-wise float32 nodes as one Chain.

#include "kernels/elementwise/chain.h"

#include "kernels/elementwise/pointwise.h"
#include "kernels/kernel.h"

namespace nnex::kernels {
namespace {

class ChainKernel : public Kernel {
 public:
  ChainKernel(const simd::Loops& loops, const Chain& chain, std::vector<int> inputs, Shape shape,
              std::vector<Shape> shapes)
      : loops_(loops), chain_(chain), inputs_(std::move(inputs)) {
    for (const Shape& s : shapes) same_shape_.push_back(s == shape);
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
  const int outer = static_cast<int>(r.in.size());
  std::vector<int> inputs(r.in.size(), -1), used;
  // Inputs that steps read as tensors come first; limits of a clamp are part of its function.
  for (const RegionStep& step : r.region) {
    if (step.out.dtype != DType::f32 || step.in.empty()) return nullptr;
    const size_t tensors = binary_of(*step.op, step.attrs) ? 2 : 1;
    for (size_t i = 0; i < tensors; ++i) {
      const int v = step.in[i];
      if (v < 0) return nullptr;
      if (v >= outer || inputs[static_cast<size_t>(v)] >= 0) continue;
      if (r.in[static_cast<size_t>(v)].dtype != DType::f32) return nullptr;
      inputs[static_cast<size_t>(v)] = static_cast<int>(used.size());
      used.push_back(v);
    }
  }
  if (used.size() > static_cast<size_t>(Chain::kMaxInputs) || r.region.size() > static_cast<size_t>(Chain::kMaxSteps))
    return nullptr;
  const auto value = [&](int v) {
    return static_cast<int8_t>(v < outer ? inputs[static_cast<size_t>(v)] : static_cast<int>(used.size()) + v - outer);
  };
  std::vector<ChainStep> steps;
  for (const RegionStep& step : r.region) {
    ChainStep& s = steps.emplace_back();
    s.a = value(step.in[0]);
    if (auto binary = binary_of(*step.op, step.attrs)) {
      s.b = value(step.in[1]), s.binary = *binary;
      continue;
    }
    std::vector<Operand> in;
    for (int v : step.in)
      in.push_back(v >= 0 && v < outer ? r.in[static_cast<size_t>(v)] : Operand{DType::f32, {}, nullptr, nullptr, 0});
    auto unary = unary_of(*step.op, step.attrs, in);
    if (!unary) return nullptr;
    s.unary = *unary;
  }
  std::vector<std::span<const int64_t>> shapes;
  std::vector<Shape> all;
  for (int v : used) shapes.push_back(r.in[static_cast<size_t>(v)].shape.extents());
  for (const Operand& o : r.in) all.push_back(o.shape);
  auto chain = Chain::make(r.out[0].shape.extents(), shapes, steps);
  if (!chain) return nullptr;
  return std::unique_ptr<Kernel>(
      std::make_unique<ChainKernel>(r.loops, *chain, std::move(used), r.out[0].shape, std::move(all)));
}

constexpr KernelDef kChainKernels[] = {{"fused", "chain_f32", make_chain_region}};

}  // namespace

std::span<const KernelDef> chain_kernels() { return built<kChainKernels>(); }

}  // namespace nnex::kernels
