// Sums of int32 over axes that stand together; they wrap.

#include <algorithm>

#include "kernels/kernel.h"
#include "kernels/moves/axes.h"
#include "kernels/split.h"
#include "ops/reduce.h"
#include "ops/reduction.h"

namespace nnex {
namespace {

class IntSum : public Kernel {
 public:
  explicit IntSum(const Middle& shape) : shape_(shape) {}
  Status run(Call& c) const override {
    const int32_t* x = c.in<int32_t>(0).data();
    int32_t* y = c.out<int32_t>(0).data();
    split(*c.team, shape_.outer, shape_.outer * shape_.n * shape_.inner * 4, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const int32_t* from = x + o * shape_.n * shape_.inner;
        int32_t* to = y + o * shape_.inner;
        std::fill_n(to, shape_.inner, 0);
        for (int64_t k = 0; k < shape_.n; ++k, from += shape_.inner)
          for (int64_t i = 0; i < shape_.inner; ++i)
            to[i] = static_cast<int32_t>(static_cast<uint32_t>(to[i]) + static_cast<uint32_t>(from[i]));
      }
    });
    return {};
  }

 private:
  Middle shape_;
};

Result<std::unique_ptr<Kernel>> make_sum(const KernelRequest& r) {
  const auto& a = r.attr<ReduceAttrs>();
  const Shape& x = r.in[0].shape;
  if (r.in[0].dtype != DType::i32 || r.out[0].dtype != DType::i32 || x.count() == 0) return nullptr;
  if (r.has(1) && !r.in[1].content) return nullptr;
  std::vector<bool> gone(static_cast<size_t>(x.rank()), true);
  if (r.has(1)) {
    NNEX_ASSIGN(gone, reduced_axes(r.op.name, ints_of(*r.in[1].content), x.rank(),
                                   {a.keepdims, a.when_empty == WhenEmpty::all, a.to_end}));
  }
  const auto m = middle_of(x, gone);
  if (!m) return nullptr;
  return made<IntSum>(*m);
}

constexpr KernelDef kIntReduceKernels[] = {{"sum_reduce", "sum_i32", make_sum}};

}  // namespace

std::span<const KernelDef> int_reduce_kernels() { return built<kIntReduceKernels>(); }

}  // namespace nnex
