#include "api/export.h"

#include <algorithm>

#include "api/quantize/nnef_codes.h"
#include "base/failure.h"
#include "base/faults.h"
#include "base/try.h"
#include "graph/infer.h"
#include "passes/lower.h"
#include "passes/make_plain.h"
#include "passes/passes.h"
#include "standards/cvm/import.h"
#include "standards/cvm/legalize.h"
#include "standards/onnx/import.h"
#include "standards/unwritable.h"

namespace nnex {
namespace {

/// Types of everything, or the first place where inference fails.
Status infer(ir::Graph& graph) {
  Faults faults;
  infer_types(graph, faults);
  if (!faults.none()) return std::move(faults).first();
  return {};
}

/// Writes a graph by `say`; where that is refused, and custom operators were not asked for, it is tried whether they
/// would help.
template <class Options, class Say>
auto say_or_help(ir::Graph& graph, const Options& options, Say say) -> decltype(say(graph, options)) {
  if (options.custom) return say(graph, options);
  ir::Graph copy(graph);
  auto written = say(graph, options);
  if (written.ok() || written.error().code() != Code::unsupported) return written;
  Options custom = options;
  custom.custom = true;
  if (!say(copy, custom).ok()) return written;
  return std::move(written).error().helped_by({"custom", "true", "carries them as they are"});
}

/// Whether all outputs have a type and a rank. Those that calls of functions make have what the file says of them.
bool outputs_known(const ir::Graph& graph) {
  return std::all_of(graph.outputs().begin(), graph.outputs().end(), [&](ValueId v) {
    const Type& t = graph[v].type;
    return graph[v].is_constant() || (t.kind != Kind::unknown && (!t.is_tensor() || t.dims));
  });
}

/// Gives outputs that calls make, and of which nothing is known, the types that the functions' bodies give them.
void find_output_types(ir::Graph& graph) {
  ir::Graph inlined(graph);
  if (!passes::inline_functions(inlined).ok() || !infer(inlined).ok()) return;
  for (size_t o = 0; o < graph.outputs().size(); ++o) {
    const ValueId v = graph.outputs()[o];
    if (graph[v].type.kind == Kind::unknown) graph.set_type(v, inlined[inlined.outputs()[o]].type);
  }
}

/// Whether some opset has an operator for the row: no later one need carry it as it is.
bool is_of_onnx(const OpDef& op) {
  return std::any_of(op.spelled.begin(), op.spelled.end(), [](const Spelling& s) { return s.format == Format::onnx; });
}

/// Whether the graph was read from a CVM model's own files, by no way over another format.
bool is_from_cvm(const ir::Graph& graph) {
  return cvm_format::model_info(graph) && graph.meta.opsets.empty() && !graph.provenance.nnef;
}

}  // namespace

Result<cvm_format::ModelFiles> to_cvm(ir::Graph& graph) {
  if (is_from_cvm(graph)) {  // it can be said as it is, with what nobody reads: gas counts that too
    NNEX_TRY(infer(graph));
    auto files = cvm_format::write_model(graph);
    if (files.ok()) return files;
  }
  NNEX_TRY(cvm_format::legalize(graph));
  return cvm_format::write_model(graph);
}

namespace {

Result<nnef_format::Written> say_in_nnef(ir::Graph& graph, const nnef_format::WriteOptions& wanted) {
  NNEX_TRY(passes::inline_functions(graph));
  NNEX_TRY(infer(graph));
  if (wanted.keep_fragments && graph.provenance.nnef && !graph.provenance.nnef->document.empty())
    return nnef_format::kept_document(graph);
  nnef_format::WriteOptions options = wanted;
  options.custom = false;
  options.integers_as_reals = !wanted.custom;
  options.integers32 |= wanted.custom;  // a document with fragments of ours needs this reader anyway
  if (graph.provenance.nnef) {          // read from NNEF: it can be said as it is
    std::vector<Unwritable> refused;
    auto written = nnef_format::write_document(graph, options, refused);
    if (written.ok() && refused.empty()) return written;
  }
  record_weights(graph);
  NNEX_TRY(passes::make_plain(graph, passes::StoredCodes::keep_halves));
  for (int depth = 0; depth < 8; ++depth) {
    std::vector<Unwritable> refused;
    NNEX_ASSIGN(auto written, nnef_format::write_document(graph, options, refused));
    if (refused.empty()) return written;
    bool expanded = false;
    for (Unwritable& r : refused) {
      const Node& node = graph[r.node];
      if (wanted.custom && (!node.op || node.op->body.empty())) continue;  // it is carried as it is
      NNEX_ASSIGN(const bool lowered, passes::lower(graph, r.node, r.reason));
      expanded |= lowered;
    }
    if (!expanded && (options.custom || !wanted.custom)) return cannot_say("NNEF", graph, refused);
    if (!expanded) options.custom = true;
    NNEX_TRY(infer(graph));
    NNEX_TRY(passes::fold_but_halves(graph));
    NNEX_TRY(passes::fold_known(graph));
    NNEX_TRY(passes::drop_unused(graph));
    NNEX_TRY(infer(graph));
  }
  return Error(Code::internal, "bodies of operators nested too deep");
}

Result<onnx_format::Written> say_in_onnx(ir::Graph& graph, const onnx_format::WriteOptions& wanted,
                                         std::shared_ptr<const onnx_format::OwnModel> own) {
  onnx_format::WriteOptions options = wanted;
  options.custom = false;
  NNEX_TRY(infer(graph));
  if (!graph.functions.empty()) find_output_types(graph);
  for (int depth = 0; depth < 8; ++depth) {
    ir::Graph lowered(graph);
    std::vector<Unwritable> refused;
    const auto kept = [&](const ir::Graph& in) {
      return own && wanted.opset > 0 ? onnx_format::KeptNodes(own, in, wanted.opset) : onnx_format::KeptNodes();
    };
    NNEX_TRY(onnx_format::legalize_for_onnx(lowered, kept(graph), !wanted.custom, wanted.opset));
    NNEX_ASSIGN(auto written, onnx_format::write_graph(lowered, options, kept(lowered), refused));
    if (!written.kept_fit) {
      own.reset();
      continue;
    }
    const bool shaped = graph.functions.empty() || outputs_known(lowered);
    if (refused.empty() && written.bodies_fit && shaped) {
      graph = std::move(lowered);
      return written;
    }
    bool changed = !graph.functions.empty();
    if (changed) {
      NNEX_TRY(passes::inline_functions(graph));
      graph.functions.clear();
      NNEX_TRY(infer(graph));
      continue;
    }
    const auto first_new = static_cast<uint32_t>(graph.node_count());
    for (Unwritable& r : refused) {
      if (r.node.n >= first_new) continue;
      const Node& n = graph[r.node];
      if (n.erased || !n.op || (n.op->body.empty() && (wanted.opset == 0 || wanted.stays))) continue;
      if (wanted.custom && n.op->body.empty() && !is_of_onnx(*n.op)) continue;
      NNEX_ASSIGN(const bool simpler, passes::lower(graph, r.node, r.reason, passes::Halves::widened));
      changed |= simpler;
    }
    if (!changed && (options.custom || !wanted.custom)) return cannot_say("ONNX", lowered, refused);
    if (!changed) options.custom = true;
    NNEX_TRY(infer(graph));
    NNEX_TRY(passes::fold_from(graph, first_new));
  }
  return Error(Code::internal, "bodies of operators nested too deep");
}

}  // namespace

Result<nnef_format::Written> to_nnef(ir::Graph& graph, const nnef_format::WriteOptions& options) {
  NNEX_ASSIGN(auto written, say_or_help(graph, options, say_in_nnef));
  NNEX_TRY(nnef_format::check_written(written));
  return written;
}

Result<onnx_format::Written> to_onnx(ir::Graph& graph, const onnx_format::WriteOptions& wanted,
                                     std::shared_ptr<const onnx_format::OwnModel> own) {
  if (wanted.opset < 0 || wanted.opset > onnx_format::kNewestOpset)
    return failure(Code::invalid_argument, "found opset {}; needed one up to {}, or 0 for the lowest that does",
                   wanted.opset, onnx_format::kNewestOpset);
  return say_or_help(graph, wanted, [&](ir::Graph& in, const onnx_format::WriteOptions& options) {
    return say_in_onnx(in, options, own);
  });
}

}  // namespace nnex
