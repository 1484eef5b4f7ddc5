// Tree ensembles on float32 rows: the trees are checked and laid out once.

#include <algorithm>

#include "kernels/kernel.h"
#include "ops/trees.h"

namespace nnex::kernels {
namespace {

class TreeKernel : public Kernel {
 public:
  TreeKernel(Forest forest, PostTransform post, int64_t rows, int64_t columns)
      : forest_(std::move(forest)), post_(post), rows_(rows), columns_(columns) {}
  Status run(Call& c) const override {
    const float* x = c.in<float>(0).data();
    float* y = c.out<float>(0).data();
    const int64_t targets = forest_.targets(), parts = std::min<int64_t>(rows_, rows_ < 64 ? 1 : c.team->size() * 4);
    c.team->run(parts, [&](int64_t part) {
      for (int64_t i = part * rows_ / parts; i < (part + 1) * rows_ / parts; ++i) {
        forest_.predict(x + i * columns_, y + i * targets);
        post_transform(post_, std::span<float>(y + i * targets, static_cast<size_t>(targets)));
      }
    });
    return {};
  }

 private:
  Forest forest_;
  PostTransform post_;
  int64_t rows_, columns_;
};

Result<std::unique_ptr<Kernel>> make_trees(const KernelRequest& r) {
  const auto& a = r.attr<TreeAttrs>();
  const Shape& x = r.in[0].shape;
  if (!r.all_f32() || a.wide || x.rank() < 1 || x.count() == 0) return nullptr;
  NNEX_ASSIGN(Forest forest, Forest::make(a));
  const int64_t columns = x[x.rank() - 1];
  if (columns < forest.features()) return nullptr;
  return std::unique_ptr<Kernel>(std::make_unique<TreeKernel>(std::move(forest), a.post, x.count() / columns, columns));
}

constexpr KernelDef kTreeKernels[] = {{"tree_ensemble", "trees_f32", make_trees}};

}  // namespace

std::span<const KernelDef> tree_kernels() { return built<kTreeKernels>(); }

}  // namespace nnex::kernels
