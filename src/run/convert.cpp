#include "run/convert.h"

#include <fmt/format.h>

#include "base/faults.h"
#include "graph/infer.h"
#include "passes/passes.h"

namespace nnex {
namespace {

/// Types of everything, or the first place where inference fails.
Status infer(Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// A graph whose extents are numbers and whose shapes are computed: what formats without symbols can say.
Status make_plain(Graph& graph) {
  NNEX_TRY(inline_functions(graph));
  NNEX_TRY(infer(graph));
  NNEX_TRY(drop_copies(graph));
  NNEX_TRY(fold_constants(graph));
  NNEX_TRY(drop_unused(graph));
  return infer(graph);
}

Error refusal(const Graph& graph, const std::vector<nnef_format::Unwritable>& refused) {
  std::string list;
  for (const auto& r : refused) {
    const std::string& place = graph.place_of(r.node);
    list += fmt::format("\n  {}{}{}", place, place.empty() ? "" : ": ", r.reason);
  }
  return Error(Code::unsupported, fmt::format("NNEF cannot say {} operation{} (--custom carries them as they are):{}",
                                              refused.size(), refused.size() == 1 ? "" : "s", list));
}

}  // namespace

Result<nnef_format::Written> to_nnef(Graph& graph, const nnef_format::WriteOptions& wanted) {
  NNEX_TRY(make_plain(graph));
  nnef_format::WriteOptions options = wanted;
  options.custom = false;
  for (int depth = 0; depth < 8; ++depth) {
    std::vector<nnef_format::Unwritable> refused;
    NNEX_ASSIGN(auto written, nnef_format::write_document(graph, options, refused));
    if (refused.empty()) return written;
    bool expanded = false;
    for (const auto& r : refused) {
      if (!graph[r.node].op || graph[r.node].op->body.empty()) continue;
      NNEX_TRY(expand_body(graph, r.node));
      expanded = true;
    }
    if (!expanded && (options.custom || !wanted.custom)) return refusal(graph, refused);
    if (!expanded) options.custom = true;
    NNEX_TRY(infer(graph));
    NNEX_TRY(fold_constants(graph));
    NNEX_TRY(drop_unused(graph));
    NNEX_TRY(infer(graph));
  }
  return Error(Code::internal, "bodies of operators nested too deep");
}

}  // namespace nnex
