#include "passes/pipeline.h"

#include <fmt/format.h>

#include "base/faults.h"
#include "graph/infer.h"
#include "passes/passes.h"

namespace nnex {

Status prepare(Graph& graph) {
  NNEX_TRY(inline_functions(graph));
  Faults faults;
  infer_types(graph, faults);
  if (faults.none()) return {};
  const size_t more = faults.count() - 1;
  Error first = std::move(faults).first();
  if (more == 0) return first;
  return Error(first.code(), fmt::format("{} (and {} more; `nnex check` lists them)", first.message(), more))
      .at(first.where());
}

namespace {

/// Types of values that passes made.
Status infer_again(Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  return faults.none() ? Status{} : Status(std::move(faults).first());
}

using Pass = Result<int> (*)(Graph&);
/// In this order; a null stands for inference.
constexpr Pass kPasses[] = {drop_copies,   fold_but_bytes, merge_equal,    drop_unused,    nullptr,        fold_affine,
                            simplify,      quantize_pools, drop_unused,    channels_last,  fold_but_bytes, merge_equal,
                            drop_unused,   nullptr,        fuse_quantized, fold_constants, drop_unused,    nullptr,
                            fuse_products, fuse_chains,    drop_unused,    nullptr};

}  // namespace

Status optimize(Graph& graph) {
  for (Pass pass : kPasses) {
    if (pass)
      NNEX_TRY(pass(graph));
    else
      NNEX_TRY(infer_again(graph));
  }
  return {};
}

}  // namespace nnex
