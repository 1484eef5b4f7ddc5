#include "nnex/view.h"

#include <algorithm>
#include <cctype>

#include "api/formats.h"
#include "api/graph_impl.h"
#include "api/read.h"
#include "api/view/drawing.h"
#include "api/view/words.h"
#include "base/choice.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/infer.h"
#include "graph/symbols.h"
#include "nnex/check.h"
#include "passes/passes.h"
#include "tensor/unknown_names.h"

namespace nnex {
namespace {

using namespace drawing;  // NOLINT: the drawing's own names

/// A model's graph as far as it can be had, and what there is to say of it.
struct Subject {
  ir::Graph graph;
  Told told;
};

/// Where weights are missing others stand for them.
LoadOptions weightless(LoadOptions options) {
  options.weight_seed = 0;
  return options;
}

/// Reads the graph; without its weights or past its faults where it cannot be had otherwise.
Result<Subject> read_past_faults(const ModelSource& source, const LoadOptions& options) {
  Subject out;
  NNEX_ASSIGN(const Recognised model, recognise(source, options));
  const Format format = format_of(model.format);
  out.told.standard = name(format);
  out.told.title = source.name().substr(source.name().rfind('/') + 1);
  if (out.told.title.empty()) out.told.title = source.name();
  auto read = read_model(model, options);
  if (!read.ok() && !options.weight_seed)
    if (auto again = read_model(model, weightless(options)); again.ok())
      read = std::move(again), out.told.weights = false;
  if (!read.ok() && model.format == ModelFormat::onnx) {
    NNEX_ASSIGN(CheckedOnnx partial, check_onnx(model, options));
    if (partial.graph && partial.graph->node_count() > 0) {
      out.graph = std::move(*partial.graph);
      return out;
    }
  }
  if (!read.ok()) return std::move(read).error();
  out.graph = std::move(*read);
  return out;
}

/// The network as it is drawn. What is broken is told by the check; types are inferred as far as they can be.
Result<Subject> read_subject(const ModelSource& source, const LoadOptions& options) {
  auto read = read_past_faults(source, options);
  if (!read.ok()) return std::move(read).error().during("reading " + source.shown());
  NNEX_TRY(fix_symbols(read->graph, options.symbols));
  (void)passes::inline_functions(read->graph).ok();
  Faults faults;
  infer_types(read->graph, faults);
  return read;
}

/// Whether `where` names the place: whole, not the beginning of a longer number.
bool names(std::string_view where, std::string_view place) {
  for (size_t at = where.find(place); at != std::string_view::npos; at = where.find(place, at + 1)) {
    const size_t end = at + place.size();
    if (end == where.size() || !std::isdigit(static_cast<unsigned char>(where[end]))) return true;
  }
  return false;
}

/// The name in quotes of "node 'conv1' (Conv)".
std::string_view quoted_in(std::string_view where) {
  const size_t open = where.find('\''), close = open == std::string_view::npos ? open : where.find('\'', open + 1);
  return close == std::string_view::npos ? std::string_view() : where.substr(open + 1, close - open - 1);
}

void mark_faults(const Subject& subject, Marks& marks) {
  const ir::Graph& graph = subject.graph;
  const std::vector<NodeId> nodes = graph.order_with_blocks();
  for (size_t f = 0; f < subject.told.faults.size(); ++f) {
    const std::string& where = subject.told.faults[f].where;
    if (where.empty()) continue;
    bool found = false;
    for (NodeId id : nodes) {
      const std::string& place = graph.place_of(id);
      if (place.empty() || !names(where, place)) continue;
      marks.faults[id.n].push_back(f);
      found = true;
      break;
    }
    const std::string_view name = found ? std::string_view() : quoted_in(where);
    for (uint32_t v = 0; v < graph.value_count() && !name.empty(); ++v) {
      const ValueDef& value = graph[ValueId{v}];
      if (value.name != name || value.is_constant()) continue;
      if (value.producer.valid())
        marks.faults[value.producer.n].push_back(f);
      else
        marks.value_faults[v].push_back(f);
      break;
    }
  }
}

/// Times by the nodes of their places; how many places no node has. Nodes that ran as one: the first has the time. What
/// passes put in without a place counts in the whole alone.
int64_t mark_times(const ir::Graph& graph, const std::vector<PlaceTime>& times, Marks& marks) {
  if (times.empty()) return 0;
  std::unordered_map<std::string_view, uint32_t> at;
  for (NodeId id : graph.order_with_blocks())
    if (!graph.place_of(id).empty()) at.emplace(graph.place_of(id), id.n);
  int64_t unplaced = 0;
  for (const PlaceTime& t : times) {
    marks.total += t.microseconds;
    if (t.place.empty()) continue;
    auto it = at.find(t.place);
    for (size_t begin = 0; it == at.end() && begin < t.place.size();) {
      const size_t end = std::min(t.place.find(" + ", begin), t.place.size());
      it = at.find(std::string_view(t.place).substr(begin, end - begin));
      begin = end + 3;
    }
    if (it == at.end())
      ++unplaced;
    else
      marks.microseconds[it->second] += t.microseconds;
  }
  return unplaced;
}

/// What a page can show: every combination of folded repeats, as long as they are few and small.
std::vector<Variant> variants_of(const ir::Graph& graph, const Marks& marks, const std::vector<Repeat>& repeats) {
  constexpr size_t kMaxFree = 4, kMaxNodes = 60'000;
  SceneOptions options{repeats, {}, 1.6};
  const size_t n = repeats.size();
  std::vector<std::vector<bool>> wanted;
  size_t nodes = graph.order_with_blocks().size();
  if (n <= kMaxFree && (nodes << n) <= kMaxNodes) {
    for (size_t mask = 0; mask < (size_t{1} << n); ++mask) {
      std::vector<bool>& folded = wanted.emplace_back(n);
      for (size_t i = 0; i < n; ++i) folded[i] = (mask >> i & 1) == 0;
    }
  } else {
    wanted.emplace_back(n, true);
    size_t drawn = nodes;
    for (size_t i = 0; i < n && (drawn += nodes) <= kMaxNodes; ++i) wanted.emplace_back(n, true)[i] = false;
    wanted.emplace_back(n, false);
  }
  std::vector<Variant> out;
  for (std::vector<bool>& folded : wanted) {
    options.folded = folded;
    out.push_back({std::move(folded), scene_of(graph, marks, options)});
  }
  return out;
}

Result<View> draw_model(const ModelSource& source, const ViewOptions& options) {
  const UnknownNames named;
  NNEX_ASSIGN(Subject subject, read_subject(source, options.load));
  const ir::Graph& graph = subject.graph;
  View out;
  out.nodes = static_cast<int64_t>(graph.order_with_blocks().size());
  if (out.nodes > kMaxViewNodes)
    return failure(Code::limit, "the model has {} nodes; a drawing has at most {}", out.nodes, kMaxViewNodes);
  if (options.check) {
    auto checked = check(source, options.load);
    if (!checked.ok() && !subject.told.weights) checked = check(source, weightless(options.load));
    NNEX_ASSIGN(CheckReport report, std::move(checked));
    subject.told.faults = std::move(report.faults);
    for (Fault& note : report.notes) subject.told.notes.push_back(std::move(note.message));
    out.faults = static_cast<int64_t>(report.fault_count);
  }
  Marks marks;
  mark_faults(subject, marks);
  out.unplaced = mark_times(graph, options.times, marks);
  const std::vector<Repeat> repeats = options.fold ? repeats_of(graph, graph.order()) : std::vector<Repeat>();
  out.repeats = static_cast<int64_t>(repeats.size());
  if (options.format == ViewFormat::html) {
    out.text = page_of(graph, marks, repeats, variants_of(graph, marks, repeats), subject.told);
  } else {
    const Scene scene = scene_of(graph, marks, {repeats, std::vector<bool>(repeats.size(), true), 1.6});
    out.text = options.format == ViewFormat::svg ? svg_of(graph, scene, subject.told.title)
                                                 : dot_of(graph, scene, subject.told.title);
  }
  return out;
}

}  // namespace

Result<View> view(const ModelSource& source, const ViewOptions& options) {
  NNEX_TRY(check_choice("format", options.format, ViewFormat::dot));
  return guarded([&] { return draw_model(source, options); });
}

Result<Graph> drawn_graph(const ModelSource& source, const LoadOptions& options) {
  return guarded([&]() -> Result<Graph> {
    const UnknownNames named;
    NNEX_ASSIGN(Subject subject, read_subject(source, options));
    return wrap(std::move(subject.graph));
  });
}

}  // namespace nnex
