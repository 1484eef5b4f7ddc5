#include "passes/pipeline.h"

#include <fmt/format.h>

#include "base/faults.h"
#include "graph/custom.h"
#include "graph/infer.h"
#include "graph/verify.h"
#include "passes/narrow_integers.h"
#include "passes/passes.h"

namespace nnex::passes {

Status prepare(ir::Graph& graph, const CustomOperators& operators) {
  NNEX_TRY(inline_functions(graph));
  resolve_custom(graph, operators);
  Faults faults;
  infer_types(graph, faults);
  if (faults.none()) {
    NNEX_TRY(differentiate(graph));
    NNEX_TRY(expand_bodies(graph));
    return {};
  }
  const size_t more = faults.count() - 1;
  Error first = std::move(faults).first();
  if (more == 0) return first;
  return Error(first.code(), fmt::format("{} (and {} more; `nnex check` lists them)", first.message(), more))
      .at(first.where());
}

namespace {

/// Types of values that passes made.
Result<int> infer_again(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return 0;
}

constexpr PassDef kInfer = {"infer_types", infer_again};
constexpr PassDef kDropUnused = {"drop_unused", drop_unused};
constexpr PassDef kPasses[] = {
    {"drop_copies", drop_copies},
    {"fold_but_bytes", fold_but_bytes},
    {"merge_equal", merge_equal},
    kDropUnused,
    kInfer,
    {"fold_affine", fold_affine},
    {"simplify", simplify},
    {"fuse_norms", fuse_norms},
    {"plain_scales", plain_scales},
    {"quantize_pools", quantize_pools},
    {"move_codes", move_codes},
    kDropUnused,
    {"channels_last", channels_last},
    {"fold_but_bytes", fold_but_bytes},
    {"merge_equal", merge_equal},
    kDropUnused,
    kInfer,
    {"narrow_integers", narrow_integers},
    {"fuse_quantized", fuse_quantized},
    {"fold_but_codes", fold_but_codes},
    kDropUnused,
    kInfer,
    {"fuse_attention", fuse_attention},
    kDropUnused,
    {"fuse_caches", fuse_caches},
    kDropUnused,
    {"fuse_products", fuse_products},
    {"fuse_chains", fuse_chains},
    kDropUnused,
    kInfer,
};

}  // namespace

std::span<const PassDef> pipeline() { return kPasses; }

Status optimize(ir::Graph& graph, const PipelineOptions& options) {
  for (const PassDef& pass : kPasses) {
    NNEX_TRY(pass.run(graph));
    if (options.verify) NNEX_TRY(verify(graph, pass.name));
    if (options.after) NNEX_TRY(options.after(graph, pass));
  }
  return {};
}

}  // namespace nnex::passes
