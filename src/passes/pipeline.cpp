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

Status optimize(Graph& graph) {
  NNEX_TRY(drop_copies(graph));
  NNEX_TRY(fold_constants(graph));
  NNEX_TRY(merge_equal(graph));
  NNEX_TRY(drop_unused(graph));
  Faults faults;
  infer_types(graph, faults);
  return faults.none() ? Status{} : Status(std::move(faults).first());
}

}  // namespace nnex
