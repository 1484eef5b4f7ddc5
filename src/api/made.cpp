#include "api/made.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/formats.h"
#include "base/failure.h"
#include "base/try.h"
#include "graph/queries.h"
#include "standards/nnef/model.h"
#include "standards/nnef/read_quant.h"
#include "standards/onnx/import.h"
#include "standards/webnn/program_file.h"

namespace nnex {
namespace {

/// The opset of the standard domain that the model was read with; 0: it was none of ONNX.
int64_t own_opset(const ir::Graph& graph) {
  const auto own = graph.meta.opsets.find("");
  return own == graph.meta.opsets.end() ? 0 : own->second;
}

/// Outputs of custom operators of which nobody said what they are: a file of ONNX needs their types.
void note_untyped(const ir::Graph& graph, std::vector<std::string>& notes) {
  const auto nodes = graph.order_with_blocks();
  const auto custom = std::find_if(nodes.begin(), nodes.end(), [&](NodeId id) { return graph[id].op == &custom_op(); });
  if (custom == nodes.end()) return;
  for (const ValueId v : graph.outputs()) {
    const Type& t = graph[v].type;
    const bool typed = t.kind != Kind::unknown && (!t.is_tensor() || t.dtype != DType::none);
    if (graph[v].is_constant() || (typed && (!t.is_tensor() || t.dims))) continue;
    notes.push_back(
        fmt::format("output '{}' has no {}, which checkers of ONNX ask for: operator '{}' says none. "
                    "A program gives it by Graph::infer(operators), before it saves",
                    graph[v].name, typed ? "shape" : "type", graph[*custom].custom->name));
  }
}

/// A quantisation file that the network's arithmetic does not follow, and that is written as a hint at most.
void note_quantization(const ir::Graph& graph, Format to, std::vector<std::string>& notes) {
  if (!built(Format::nnef) || to == Format::nnef || graph.provenance.quantization.empty()) return;
  const auto records = nnef_format::parse_quant(graph.provenance.quantization, "graph.quant");
  if (!records.ok() || records->empty()) return;
  notes.push_back(
      fmt::format("the network computes with reals: what the quantisation file (graph.quant) says of {} tensor{} is a "
                  "hint, and no part of it",
                  records->size(), records->size() == 1 ? "" : "s"));
}

/// Bytes of constants of codes and halves as floats.
int64_t widened_bytes(const ir::Graph& graph) {
  int64_t sum = 0;
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    const Tensor* t = v.uses.empty() ? nullptr : v.constant.tensor();
    if (t && t->dtype() != DType::boolean && bits(t->dtype()) <= 16) sum += t->count() * int64_t{sizeof(float)};
  }
  return sum;
}

/// The lines of a list behind its first, at most three of them, each cut where its places grow many.
std::string in_one_line(std::string_view text) {
  constexpr size_t kLines = 3, kLength = 200;
  std::string out(text.substr(0, text.find('\n')));
  size_t lines = 0;
  for (size_t at = text.find('\n'); at != text.npos; ++lines) {
    const size_t end = text.find('\n', at + 1);
    std::string_view line = text.substr(at + 1, end == text.npos ? end : end - at - 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const size_t cut = line.size() > kLength ? line.rfind(", ", kLength) : line.npos;
    if (lines < kLines) {
      out += (lines == 0 ? " " : "; ") + std::string(line.substr(0, cut));
      if (cut != line.npos) out += ", ...";
    }
    at = end;
  }
  if (lines > kLines) out += fmt::format("; and {} more", lines - kLines);
  return out;
}

/// What a model says of itself that the standard has no place for, in words; NNEF has properties in comments.
std::string unsaid(const Metadata& meta, Format format) {
  constexpr size_t kShown = 3;
  std::vector<std::string> what;
  if (format != Format::nnef && !meta.properties.empty()) {
    std::string names = meta.properties.size() == 1 ? "property" : "properties";
    for (size_t i = 0; i < std::min(meta.properties.size(), kShown); ++i)
      names += fmt::format(" '{}'", meta.properties[i].first);
    if (meta.properties.size() > kShown) names += fmt::format(" and {} more", meta.properties.size() - kShown);
    what.push_back(std::move(names));
  }
  if (!meta.doc.empty() || !meta.graph_doc.empty()) what.emplace_back("documentation of the model");
  if (!meta.value_docs.empty()) what.push_back(fmt::format("documentation of {} values", meta.value_docs.size()));
  if (!meta.node_docs.empty()) what.push_back(fmt::format("documentation of {} nodes", meta.node_docs.size()));
  if (!meta.domain.empty()) what.push_back(fmt::format("the domain '{}'", meta.domain));
  if (meta.model_version != 0) what.push_back(fmt::format("the model's version, {}", meta.model_version));
  return fmt::format("{}", fmt::join(what, ", "));
}

using OwnModel = std::shared_ptr<const onnx_format::OwnModel>;

/// The model once more beside what each of its messages was read as. Nothing: it was none of ONNX.
OwnModel own_model(const ReadFrom& from) {
  if (!from.file) return nullptr;
  auto own = onnx_format::read_own(from.file->bytes, from.file->source);
  return own.ok() ? *std::move(own) : nullptr;
}

/// Writes the graph in an opset; the error where that cannot say it.
Status write_in(Made& out, const onnx_format::WriteOptions& options, const OwnModel& own) {
  ir::Graph graph(*out.graph);
  NNEX_ASSIGN(out.onnx, to_onnx(graph, options, own));
  *out.graph = std::move(graph);
  return {};
}

/// A model of ONNX keeps its opset where that can say what it became, else it gets the lowest that can, and a note.
/// Nodes that nothing changed keep their words where the opset has the same operators.
Status write_onnx(Made& out, const onnx_format::WriteOptions& wanted, const ReadFrom& from) {
  const OwnModel own = own_model(from);
  if (wanted.opset > 0) return write_in(out, wanted, own);
  const int64_t opset = own_opset(*out.graph);
  onnx_format::WriteOptions as_read = wanted;
  as_read.opset = opset, as_read.ir = out.graph->meta.ir_version, as_read.custom = false, as_read.stays = true;
  std::string why;
  if (opset > 0 && opset <= onnx_format::kNewestOpset) {
    const Status same = write_in(out, as_read, own);
    if (same.ok()) return {};
    why = in_one_line(same.error().message());
  }
  const ir::Graph graph(*out.graph);
  NNEX_TRY(write_in(out, wanted, nullptr));
  if (!why.empty() && out.onnx.opset != opset)
    out.notes.push_back(fmt::format("opset {} instead of {}: {}", out.onnx.opset, opset, why));
  if (!own || out.onnx.opset <= 0) return {};
  Made kept;
  kept.graph = std::make_unique<ir::Graph>(graph);
  as_read.opset = out.onnx.opset, as_read.ir = 0, as_read.custom = wanted.custom;
  if (write_in(kept, as_read, own).ok()) out.graph = std::move(kept.graph), out.onnx = std::move(kept.onnx);
  return {};
}

}  // namespace

Result<Made> made_in(ir::Graph graph, Format format, const SaveOptions& options, const std::string& file_name,
                     const ReadFrom& from) {
  Made out;
  out.format = format;
  out.graph = std::make_unique<ir::Graph>(std::move(graph));
  for (const std::string& what : out.graph->provenance.beside)
    out.notes.push_back("left out, as a network has no place for it: " + what);
  if (const std::string what = format == Format::onnx ? "" : unsaid(out.graph->meta, format); !what.empty())
    out.notes.push_back(fmt::format("left out, as {} has no place for it: {}", name(format), what));
  note_quantization(*out.graph, format, out.notes);
  switch (format) {
    case Format::onnx: {
      if (!built(Format::onnx)) break;
      if (options.onnx.opset < 0)
        return failure(Code::invalid_argument, "option 'onnx.opset': found {}; needed 0 (the lowest that does) or more",
                       options.onnx.opset);
      onnx_format::WriteOptions wanted{options.name, options.custom, {}, options.onnx.opset};
      if (options.onnx.external_data || constant_bytes(*out.graph) > onnx_format::kMaxInline)
        wanted.external = file_name + ".data";
      wanted.texts = from.texts;
      NNEX_TRY(write_onnx(out, wanted, from));
      for (const std::string& what : out.onnx.conditions) out.notes.push_back("the same only where " + what);
      note_untyped(*out.graph, out.notes);
      return out;
    }
    case Format::nnef: {
      if (!built(Format::nnef)) break;
      NNEX_ASSIGN(out.nnef, to_nnef(*out.graph, {options.name, options.custom, options.nnef.keep_fragments}));
      if (out.graph->provenance.nnef && !options.nnef.keep_fragments &&
          nnef_format::has_fragment_bodies(out.graph->provenance.nnef->document))
        out.notes.emplace_back("left out: the fragments of the document; their operations stand in their places");
      out.notes.insert(out.notes.end(), out.nnef.changes.begin(), out.nnef.changes.end());
      if (!out.nnef.renamed.empty()) out.notes.push_back(out.nnef.renamed);
      for (const std::string& what : out.nnef.conditions) out.notes.push_back("the same only where " + what);
      return out;
    }
    case Format::webnn: {
      if (!built(Format::webnn)) break;
      NNEX_ASSIGN(out.webnn, ml::to_program(*out.graph, options.name));
      return out;
    }
    case Format::cvm: {
      if (!built(Format::cvm)) break;
      NNEX_ASSIGN(out.cvm, to_cvm(*out.graph));
      return out;
    }
    case Format::c: {
      if (!built(Format::c)) break;
      const std::string name = options.name.empty() ? std::filesystem::path(file_name).stem().string() : options.name;
      const int64_t stored = constant_bytes(*out.graph), widened = widened_bytes(*out.graph);
      NNEX_ASSIGN(out.c, c_format::to_c(*out.graph, name));
      if (out.c.weight_bytes > 2 * stored && widened > out.c.weight_bytes / 2)
        out.notes.push_back(
            fmt::format("codes and halves of the model become floats in C: {} bytes of constants, {} there",
                        out.c.weight_bytes, stored));
      return out;
    }
  }
  return format <= Format::c ? not_built(format)
                             : failure(Code::invalid_argument, "no format {}", static_cast<int>(format));
}

Status can_say(ir::Graph graph, Format format) {
  auto made = made_in(std::move(graph), format, {}, "model");
  return made.ok() ? Status() : std::move(made).error();
}

std::string default_name(Format format, const SaveOptions& options) {
  switch (format) {
    case Format::nnef:
      return options.nnef.packing == NnefPacking::tgz ? "model.tgz" : "model.tar";
    case Format::webnn:
      return options.webnn.form == WebnnForm::script   ? "model.js"
             : options.webnn.form == WebnnForm::module ? "model.mjs"
                                                       : "model.webnn";
    case Format::c:
      return "model.c";
    default:
      return options.onnx.text ? "model.onnxtxt" : "model.onnx";
  }
}

namespace {

std::string stem_of(const std::string& file) { return file.substr(0, file.rfind('.')); }

Result<std::vector<NamedBytes>> webnn_bytes(const ml::Program& program, WebnnForm form, const std::string& file) {
  const ml::WeightFile weights(program);
  const std::string beside = stem_of(file) + ".weights";
  std::vector<NamedBytes> out;
  switch (form) {
    case WebnnForm::script: {
      NNEX_ASSIGN(std::string text, ml::script_text(program, weights, stem_of(file)));
      out.push_back({file, std::move(text)});
      return out;
    }
    case WebnnForm::module: {
      NNEX_ASSIGN(std::string text, ml::module_text(program, weights, beside));
      out.push_back({file, std::move(text)});
      break;
    }
    case WebnnForm::program:
      out.push_back({file, ml::program_text(program, weights, beside)});
      break;
    default:
      return failure(Code::invalid_argument, "option 'webnn.form': found {}; needed one of its 3 choices",
                     static_cast<int>(form));
  }
  if (!weights.empty()) out.push_back({beside, weights.bytes()});
  return out;
}

Result<std::vector<NamedBytes>> nnef_bytes(const nnef_format::Written& model, NnefPacking packing,
                                           const std::string& file) {
  std::vector<NamedBytes> out;
  switch (packing) {
    case NnefPacking::folder:
      return nnef_format::model_files(model);
    case NnefPacking::tar:
    case NnefPacking::tgz: {
      NNEX_ASSIGN(std::string bytes, nnef_format::archive_bytes(model, packing == NnefPacking::tgz));
      out.push_back({file, std::move(bytes)});
      return out;
    }
  }
  return failure(Code::invalid_argument, "option 'nnef.packing': found {}; needed one of its 3 choices",
                 static_cast<int>(packing));
}

Result<std::vector<NamedBytes>> c_bytes(const c_format::Written& model, const std::string& file) {
  std::vector<NamedBytes> out = {{file, {}}, {c_format::header_path(file), c_format::header_text(model)}};
  NNEX_TRY(model.source(out[1].name, [&](std::string_view piece) {
    out[0].bytes += piece;
    return Status();
  }));
  return out;
}

}  // namespace

Result<std::vector<NamedBytes>> bytes_of(Made made, const SaveOptions& options, const std::string& file) {
  std::vector<NamedBytes> out;
  switch (made.format) {
    case Format::nnef:
      if (built(Format::nnef)) return nnef_bytes(made.nnef, options.nnef.packing, file);
      break;
    case Format::webnn:
      if (built(Format::webnn)) return webnn_bytes(made.webnn, options.webnn.form, file);
      break;
    case Format::cvm:
      out.push_back({"symbol", std::move(made.cvm.symbol)});
      out.push_back({"params", std::move(made.cvm.params)});
      return out;
    case Format::c:
      if (built(Format::c)) return c_bytes(made.c, file);
      break;
    case Format::onnx:
      break;
  }
  out.push_back({file, made.onnx.model.text()});
  if (made.onnx.external_name.empty()) return out;
  out.push_back({made.onnx.external_name, {}});
  for (std::string_view piece : made.onnx.external) out.back().bytes += piece;
  return out;
}

}  // namespace nnex
