#include "passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/built.h"
#include "base/failure.h"
#include "base/faults.h"
#include "base/loading.h"
#include "graph/custom.h"
#include "graph/infer.h"
#include "graph/verify.h"
#include "ops/built.h"
#include "passes/narrow_integers.h"
#include "passes/passes.h"

namespace nnex::passes {

namespace {

/// That this build has every value's elements.
Status check_elements(const ir::Graph& graph) {
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& value = graph[ValueId{n}];
    if (!has_elements(value.type.dtype))
      return failure(Code::unsupported, "value '{}': this build of nnex leaves elements of type {} out (NNEX_OPS)",
                     value.name, name(value.type.dtype));
  }
  return {};
}

}  // namespace

Status prepare(ir::Graph& graph, const CustomOperators& operators) {
  if (is_known("call")) NNEX_TRY(inline_functions(graph));
  resolve_custom(graph, operators);
  Faults faults;
  infer_types(graph, faults);
  NNEX_TRY(check_elements(graph));
  if (faults.none()) {
    int changes = 0;
    if (is_known("gradient")) {
      NNEX_ASSIGN(const int gradients, differentiate(graph));
      changes += gradients;
    }
    if (has_pass("expand_bodies")) {
      NNEX_ASSIGN(const int bodies, expand_bodies(graph));
      changes += bodies;
    }
    if (changes > 0) infer_types(graph, faults);
    return faults.none() ? Status() : Status(std::move(faults).first());
  }
  const size_t more = faults.count() - 1;
  Error first = std::move(faults).first();
  if (more == 0) return first;
  return Error(first.code(), fmt::format("{} (and {} more, which a check lists)", first.message(), more))
      .at(first.where());
}

namespace {

/// Whether inference may find more than a type says.
bool is_open(const Type& type) {
  if (type.kind == Kind::unknown || (type.is_tensor() && (type.dtype == DType::none || !type.dims))) return true;
  return type.is_tensor() &&
         std::any_of(type.dims->begin(), type.dims->end(), [](const Dim& d) { return d.has_unknown(); });
}

bool has_open_types(const ir::Graph& graph) {
  for (uint32_t n = 0; n < graph.value_count(); ++n)
    if (const ValueDef& v = graph[ValueId{n}]; !v.is_constant() && is_open(v.type)) return true;
  return false;
}

/// Types of values that passes made.
Result<int> infer_again(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return 0;
}

constexpr PassDef kInfer = {"infer_types", infer_again};
constexpr PassDef kDropUnused = {"drop_unused", drop_unused, true}, kMergeEqual = {"merge_equal", merge_equal, true};
constexpr PassDef kAllPasses[] = {
    {"drop_copies", drop_copies},
    {"fold_but_bytes", fold_but_bytes},
    {"take_branches", take_branches},
    kMergeEqual,
    kDropUnused,
    kInfer,
    {"widen_halves", widen_halves},
    {"fold_affine", fold_affine},
    {"simplify", simplify},
    {"fuse_norms", fuse_norms},
    {"plain_scales", plain_scales},
    {"quantize_pools", quantize_pools},
    {"move_codes", move_codes},
    kDropUnused,
    {"channels_last", channels_last},
    {"fold_but_bytes", fold_but_bytes},
    kMergeEqual,
    kDropUnused,
    kInfer,
    {"narrow_integers", narrow_integers},
    {"move_codes", move_codes},
    {"fuse_quantized", fuse_quantized},
    {"fold_but_codes", fold_but_codes},
    kDropUnused,
    kInfer,
    {"fuse_attention", fuse_attention},
    kDropUnused,
    {"fuse_caches", fuse_caches},
    {"join_moves", join_moves},
    kDropUnused,
    {"fuse_products", fuse_products},
    {"fuse_chains", fuse_chains},
    kDropUnused,
    kInfer,
};
constexpr auto in_build = [](const PassDef& pass) { return has_pass(pass.name); };
constexpr auto kPasses = [] {
  std::array<PassDef, static_cast<size_t>(std::count_if(std::begin(kAllPasses), std::end(kAllPasses), in_build))> built;
  std::copy_if(std::begin(kAllPasses), std::end(kAllPasses), built.begin(), in_build);
  return built;
}();

}  // namespace

std::span<const PassDef> pipeline() { return kPasses; }

Status optimize(ir::Graph& graph, const PipelineOptions& options) {
  bool stale = false;  // the types
  for (const PassDef& pass : kPasses) {
    NNEX_TRY(Loading::check());
    const bool infers = pass.run == infer_again;
    if (!infers || (stale && has_open_types(graph))) {
      NNEX_ASSIGN(const int times, pass.run(graph));
      stale = !infers && (stale || (times > 0 && !pass.keeps_types));
    }
    if (kKnowsAll && options.verify) NNEX_TRY(verify(graph, pass.name));
    if (options.after) NNEX_TRY(options.after(graph, pass));
  }
  return {};
}

}  // namespace nnex::passes
