// Einsum as contractions of two operands at a time, from the left. Where what would be made on the way is larger than
// all operands and the result together, no kernel is made: the reference loops need no memory.

#include <algorithm>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "kernels/product/contraction.h"
#include "kernels/reduce/reduce.h"
#include "ops/einsum.h"
#include "ops/matmul.h"

namespace nnex::kernels {
namespace {

/// Where a step reads: an operand of the row, or a buffer that an earlier step wrote.
struct Place {
  bool is_operand = true;
  size_t index = 0;
};

/// The last step writes the result, the others a buffer.
struct Step {
  Contraction contraction;
  Place a, b;
  size_t to = 0;
};

constexpr size_t kBuffers = 3;  ///< Two in turn for what was made so far, one for an operand that was summed by itself.

class EinsumKernel : public Kernel {
 public:
  explicit EinsumKernel(std::vector<Step> steps) : steps_(std::move(steps)) {
    for (const Step& s : steps_) {
      own_ = std::max(own_, s.contraction.workspace());
      if (&s != &steps_.back()) buffer_ = std::max(buffer_, round_up(s.contraction.count() * 4, 64));
    }
  }

  int64_t workspace() const override { return kBuffers * buffer_ + own_; }

  Status run(Call& c) const override {
    const auto buffer = [&](size_t i) {
      return reinterpret_cast<float*>(c.workspace + static_cast<int64_t>(i) * buffer_);
    };
    const auto at = [&](const Place& p) -> const float* {
      return p.is_operand ? c.in<float>(p.index).data() : buffer(p.index);
    };
    for (const Step& s : steps_) {
      float* const y = &s == &steps_.back() ? c.out<float>(0).data() : buffer(s.to);
      s.contraction.run(*c.team, at(s.a), at(s.b), y, c.workspace + kBuffers * buffer_);
    }
    return {};
  }

 private:
  std::vector<Step> steps_;
  int64_t buffer_ = 0, own_ = 0;  ///< Bytes of a buffer; of what a step needs for itself.
};

/// What is made on the way is never refused below so many elements.
constexpr int64_t kSmall = 1 << 16;

/// Operands under way, and how far they move with each index of the equation (0: not theirs).
struct Factor {
  Place at;
  std::vector<int64_t> step;
};

/// Finds the steps. Operands are taken in from the left; before two meet, each is summed over what it alone still has.
class Plan {
 public:
  /// Gives up where something made on the way has more than `most` elements.
  Plan(const simd::Loops& loops, const EinsumLoops& e, int64_t most) : loops_(loops), most_(most) {
    for (const auto* part : {&e.result, &e.summed})
      for (const EinsumLoop& l : *part) indices_.push_back(&l);
    in_result_ = e.result.size();
  }

  bool find(size_t operands) {
    Factor made = operand(0);
    if (operands == 1) return multiply(made, nullptr, 0);
    for (size_t o = 1; o < operands; ++o) {
      Factor next = operand(o);
      if (!sum_alone(made, next, o, turn_) || !sum_alone(next, made, o, kBuffers - 1)) return false;
      if (!multiply(made, &next, o)) return false;
    }
    return true;
  }

  std::vector<Step> steps;

 private:
  Factor operand(size_t o) const {
    Factor f{{true, o}, {}};
    for (const EinsumLoop* i : indices_) f.step.push_back(i->step[o]);
    return f;
  }

  /// Whether the result or an operand behind `o` moves with this index.
  bool is_read_after(size_t index, size_t o) const {
    const auto& step = indices_[index]->step;
    return index < in_result_ ||
           std::any_of(step.begin() + static_cast<std::ptrdiff_t>(o) + 1, step.end(), [](int64_t s) { return s != 0; });
  }

  bool sum_alone(Factor& x, const Factor& other, size_t o, size_t to) {
    std::vector<bool> summed;
    for (size_t i = 0; i < indices_.size(); ++i)
      summed.push_back(x.step[i] != 0 && other.step[i] == 0 && !is_read_after(i, o));
    const bool any = std::find(summed.begin(), summed.end(), true) != summed.end();
    return !any || contract(x, nullptr, summed, to);
  }

  bool multiply(Factor& made, const Factor* next, size_t o) {
    std::vector<bool> summed;
    for (size_t i = 0; i < indices_.size(); ++i) summed.push_back(!is_read_after(i, o));
    return contract(made, next, summed, turn_);
  }

  /// x becomes the sum of its products with `other` over these indices.
  bool contract(Factor& x, const Factor* other, const std::vector<bool>& summed, size_t to) {
    std::vector<ContractionIndex> kept, gone;
    std::vector<size_t> kept_index;
    for (size_t i = 0; i < indices_.size(); ++i) {
      const ContractionIndex index{indices_[i]->extent, x.step[i], other ? other->step[i] : 0};
      if (index.a == 0 && index.b == 0 && index.extent > 1) continue;  // of a later operand
      (summed[i] ? gone : kept).push_back(index);
      if (!summed[i]) kept_index.push_back(i);
    }
    std::vector<int64_t> step(indices_.size(), 0);
    int64_t count = 1;
    for (size_t i = kept.size(); i-- > 0; count *= kept[i].extent) {
      if (count > most_ / kept[i].extent) return false;
      step[kept_index[i]] = kept[i].extent == 1 ? 0 : count;
    }
    auto contraction = Contraction::make(loops_, std::move(kept), std::move(gone), other == nullptr);
    if (!contraction) return false;
    steps.push_back({std::move(*contraction), x.at, other ? other->at : Place{}, to});
    x = {{false, to}, std::move(step)};
    if (to == turn_) turn_ = 1 - turn_;
    return true;
  }

  const simd::Loops& loops_;
  int64_t most_;
  std::vector<const EinsumLoop*> indices_;  ///< Those of the result first.
  size_t in_result_ = 0;
  size_t turn_ = 0;  ///< The buffer that what is made next goes to.
};

/// One dense operand summed over some of its axes, the others as they stand.
class EinsumSum : public Kernel {
 public:
  EinsumSum(const simd::Loops& loops, const AxisFold& fold) : loops_(loops), fold_(fold) {}
  int64_t workspace() const override { return fold_.workspace(4); }
  Status run(Call& c) const override {
    fold_.run(loops_, *c.team, c.in<float>(0).data(), c.out<float>(0).data(), c.workspace);
    return {};
  }

 private:
  const simd::Loops& loops_;
  AxisFold fold_;
};

std::optional<AxisFold> plain_sum(const EinsumLoops& e) {
  struct Axis {
    int64_t extent, step;
    bool summed;
  };
  std::vector<Axis> axes;
  for (const EinsumLoop& l : e.result) axes.push_back({l.extent, l.step[0], false});
  for (const EinsumLoop& l : e.summed) axes.push_back({l.extent, l.step[0], true});
  axes.erase(std::remove_if(axes.begin(), axes.end(), [](const Axis& a) { return a.extent == 1; }), axes.end());
  const auto last_kept = std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.summed; });
  const auto further = [](const Axis& a, const Axis& b) { return a.step > b.step; };
  if (last_kept == axes.end() || !std::is_sorted(axes.begin(), last_kept, further)) return std::nullopt;
  std::stable_sort(axes.begin(), axes.end(), further);
  std::vector<int64_t> extents, gone;
  for (const Axis& a : axes) {
    if (a.summed) gone.push_back(static_cast<int64_t>(extents.size()));
    extents.push_back(a.extent);
  }
  int64_t step = 1;  // a diagonal, or what is stretched, has others
  for (size_t i = axes.size(); i-- > 0; step *= axes[i].extent)
    if (axes[i].step != step) return std::nullopt;
  const AxisFold fold(ReduceKind::sum, extents, gone);
  return fold.ok() ? std::optional(fold) : std::nullopt;
}

Result<std::unique_ptr<Kernel>> make_einsum(const KernelRequest& r) {
  if (!r.all_f32() || r.out[0].shape.count() == 0) return nullptr;
  std::vector<Shape> shapes;
  int64_t most = r.out[0].shape.count();
  for (const Operand& o : r.in) {
    if (o.shape.count() == 0) return nullptr;
    shapes.push_back(o.shape);
    most += o.shape.count();
  }
  NNEX_ASSIGN(const EinsumLoops loops, einsum_loops(r.attr<EinsumAttrs>().equation, shapes));
  if (shapes.size() == 1)
    if (const auto sum = plain_sum(loops)) return made<EinsumSum>(r.loops, *sum);
  Plan plan(r.loops, loops, std::max(most, kSmall));
  if (!plan.find(shapes.size())) return nullptr;
  return made<EinsumKernel>(std::move(plan.steps));
}

constexpr KernelDef kEinsumKernels[] = {{"einsum", "einsum_f32", make_einsum}};

}  // namespace

std::span<const KernelDef> einsum_kernels() { return built<kEinsumKernels>(); }

}  // namespace nnex::kernels
