// Einsum as contractions of two operands at a time, from the left.

#include <algorithm>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "kernels/product/contraction.h"
#include "ops/einsum.h"
#include "ops/matmul.h"

namespace nnex {
namespace {

class EinsumKernel : public Kernel {
 public:
  explicit EinsumKernel(std::vector<Contraction> steps) : steps_(std::move(steps)) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      own_ = std::max(own_, steps_[i].workspace());
      if (i + 1 < steps_.size()) between_ = std::max(between_, round_up(steps_[i].count() * 4, 64));
    }
  }

  int64_t workspace() const override { return 2 * between_ + own_; }

  Status run(Call& c) const override {
    const float* a = c.in<float>(0).data();
    for (size_t i = 0; i < steps_.size(); ++i) {
      const bool last = i + 1 == steps_.size();
      const float* const b = i + 1 < c.inputs() ? c.in<float>(i + 1).data() : nullptr;
      float* const y = last ? c.out<float>(0).data()
                            : reinterpret_cast<float*>(c.workspace + static_cast<int64_t>(i % 2) * between_);
      steps_[i].run(*c.team, a, b, y, c.workspace + 2 * between_);
      a = y;
    }
    return {};
  }

 private:
  std::vector<Contraction> steps_;
  int64_t between_ = 0, own_ = 0;  ///< Bytes of what one step hands to the next; of their own.
};

/// An index of the equation while operands are taken in: how far what was made of them moves with it.
struct Running {
  const EinsumLoop* loop;
  bool in_result = false;
  int64_t made = 0;
};

bool read_later(const Running& i, size_t from) {
  return std::any_of(i.loop->step.begin() + static_cast<std::ptrdiff_t>(from), i.loop->step.end(),
                     [](int64_t step) { return step != 0; });
}

Result<std::unique_ptr<Kernel>> make_einsum(const KernelRequest& r) {
  if (!r.all_f32() || r.out[0].shape.count() == 0) return nullptr;
  std::vector<Shape> shapes;
  for (const Operand& o : r.in) {
    if (o.shape.count() == 0) return nullptr;
    shapes.push_back(o.shape);
  }
  NNEX_ASSIGN(const EinsumLoops loops, einsum_loops(r.attr<EinsumAttrs>().equation, shapes));
  std::vector<Running> running;
  for (const EinsumLoop& l : loops.result) running.push_back({&l, true, l.step[0]});
  for (const EinsumLoop& l : loops.summed) running.push_back({&l, false, l.step[0]});

  std::vector<Contraction> steps;
  const bool alone = shapes.size() == 1;
  for (size_t operand = 1; operand < std::max<size_t>(shapes.size(), 2); ++operand) {
    std::vector<ContractionIndex> kept, summed;
    std::vector<Running*> kept_of;
    for (Running& i : running) {
      const ContractionIndex index{i.loop->extent, i.made, alone ? 0 : i.loop->step[operand]};
      if (index.a == 0 && index.b == 0 && index.extent > 1) continue;  // of a later operand
      if (i.in_result || (!alone && read_later(i, operand + 1))) {
        kept.push_back(index);
        kept_of.push_back(&i);
      } else {
        summed.push_back(index);
        i.made = 0;
      }
    }
    int64_t step = 1;
    for (size_t i = kept.size(); i-- > 0; step *= kept[i].extent) kept_of[i]->made = kept[i].extent == 1 ? 0 : step;
    auto contraction = Contraction::make(r.loops, std::move(kept), std::move(summed), alone);
    if (!contraction) return nullptr;
    steps.push_back(std::move(*contraction));
  }
  return made<EinsumKernel>(std::move(steps));
}

constexpr KernelDef kEinsumKernels[] = {{"einsum", "einsum_f32", make_einsum}};

}  // namespace

std::span<const KernelDef> einsum_kernels() { return kEinsumKernels; }

}  // namespace nnex
