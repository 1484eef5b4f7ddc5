// Graphs of the C interface: read, compiled, and edited into others.

#include <set>

#include "base/try.h"
#include "c/handles.h"
#include "c/watch.h"
#include "nnex/edit.h"
#include "nnex/suggest.h"

namespace nnex::c {
namespace {

constexpr int64_t kShortConstant = 16;  ///< Elements of constants that a text shows which is not whole.

/// Values as ports that the graph keeps.
Status add_ports(nnex_graph& graph, const Graph& typed, const std::vector<ValueId>& values,
                 std::vector<const nnex_port*>& ports) {
  for (ValueId v : values) {
    NNEX_ASSIGN(nnex_port port, port_of(graph, typed, v));
    ports.push_back(&graph.values.try_emplace(v.n, std::move(port)).first->second);
  }
  return {};
}

/// Whether the file says what an output is.
Result<bool> is_typed(const Graph& graph, ValueId output) {
  NNEX_ASSIGN(const ValueInfo value, graph.value(output));
  return value.type.tensor && value.type.dtype != DType::none && value.type.known_rank;
}

/// Where the file does not say what outputs are, it is inferred as far as it can be. Ids mean the same in copies.
Status add_outputs(nnex_graph& graph) {
  const std::vector<ValueId> outputs = graph.graph.outputs();
  bool typed = true;
  for (ValueId v : outputs) {
    NNEX_ASSIGN(const bool known, is_typed(graph.graph, v));
    typed = typed && known;
  }
  if (typed) return add_ports(graph, graph.graph, outputs, graph.outputs);
  Graph inferred = graph.graph;
  (void)inferred.infer();
  return add_ports(graph, inferred, outputs, graph.outputs);
}

/// A new graph that `edit` makes of a copy.
template <class F>
nnex_error* edited(const nnex_graph* graph, nnex_graph** out, F&& edit) noexcept {
  if (out) *out = nullptr;
  return guarded([&]() -> Status {
    NNEX_C_NEED(graph);
    NNEX_C_NEED(out);
    Graph copy = graph->graph;
    NNEX_TRY(edit(copy));
    NNEX_ASSIGN(*out, graph_handle(std::move(copy)));
    return {};
  });
}

/// The same where the edit runs the network.
template <class F>
nnex_error* edited(const nnex_graph* graph, const nnex_run_options* run, nnex_graph** out, F&& edit) noexcept {
  return edited(graph, out, [&](Graph& g) -> Status {
    NNEX_ASSIGN(const nnex_run_options o, run_options(run));
    const Watch watch(o);
    NNEX_TRY(edit(g, watch.options()));
    return {};
  });
}

/// NULL where there is no memory.
const char* text_of(const nnex_graph& graph, bool whole) noexcept {
  try {
    std::call_once(graph.made[whole], [&] {
      PrintOptions print;
      if (!whole) print.elements = kShortConstant;
      graph.texts[whole] = graph.graph.text(print);
    });
    return graph.texts[whole].c_str();
  } catch (...) {
    return nullptr;
  }
}

/// "no value 'v' (did you mean 'w'?) in the network"
Error no_value(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  const auto add = [&](const std::vector<ValueId>& values) {
    for (ValueId v : values)
      if (const auto value = graph.value(v); value.ok() && !value->name.empty()) names.push_back(value->name);
  };
  add(graph.inputs());
  for (NodeId n : graph.nodes())
    if (const auto node = graph.node(n); node.ok()) add(node->inputs), add(node->outputs);
  const std::vector<std::string_view> views(names.begin(), names.end());
  return {Code::invalid_argument, "no value '" + name + "'" + did_you_mean(name, views) + " in the network"};
}

/// The value becomes a constant of this content, or has it instead of its own.
Status set_constant(Graph& graph, const std::string& name, const Value& content) {
  const ValueId v = graph.find(name);
  if (!v.valid()) return no_value(graph, name);
  NNEX_ASSIGN(const ValueInfo old, graph.value(v));
  if (old.constant.empty()) return graph.make_constant(v, content);
  if (old.constant.text() != content.text())
    return Error(Code::invalid_argument,
                 "constant '" + name + "': found " + content.text() + "; needed " + old.constant.text());
  NNEX_ASSIGN(const ValueId made, graph.add_constant(content, name));
  NNEX_TRY(graph.set_name(v, ""));
  return graph.replace_uses(v, made);
}

}  // namespace

Result<nnex_port> port_of(const nnex_graph& graph, const Graph& typed, ValueId v) {
  NNEX_ASSIGN(const ValueInfo value, typed.value(v));
  PortInfo p;
  p.name = value.name, p.type = value.type.text;
  if (value.type.tensor) {
    p.dtype = value.type.dtype, p.known_rank = value.type.known_rank;
    p.extents = value.type.extents, p.dims = value.type.dims;
  }
  return nnex_port{std::move(p), &graph, v};
}

Result<nnex_graph*> graph_handle(Graph graph) {
  auto handle = std::make_unique<nnex_graph>(std::move(graph));
  NNEX_TRY(add_ports(*handle, handle->graph, handle->graph.inputs(), handle->inputs));
  NNEX_TRY(add_outputs(*handle));
  return handle.release();
}

Result<std::vector<std::string>> texts_of(const char* const* texts, size_t count, const char* argument) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) {
    if (!texts || !texts[i]) return null_item(argument, texts, i);
    all.emplace_back(texts[i]);
  }
  return all;
}

}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_graph_load(const nnex_source* source, const nnex_load_options* options, nnex_graph** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(source);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(Graph graph, load_graph(source->source, LoadWatch(options).options()));
    NNEX_ASSIGN(*out, graph_handle(std::move(graph)));
    return {};
  });
}

nnex_error* nnex_graph_parse(const char* text, const char* name, nnex_graph** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(text);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(Graph graph, Graph::parse(text, name ? name : "graph"));
    NNEX_ASSIGN(*out, graph_handle(std::move(graph)));
    return {};
  });
}

nnex_error* nnex_graph_of_model(const nnex_model* model, nnex_graph** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(model);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(Graph graph, model->model.graph());
    NNEX_ASSIGN(*out, graph_handle(std::move(graph)));
    return {};
  });
}

void nnex_graph_free(nnex_graph* graph) { delete graph; }

size_t nnex_graph_inputs(const nnex_graph* g) { return g ? g->inputs.size() : 0; }
size_t nnex_graph_outputs(const nnex_graph* g) { return g ? g->outputs.size() : 0; }
const nnex_port* nnex_graph_input(const nnex_graph* g, size_t i) {
  return g && i < g->inputs.size() ? g->inputs[i] : nullptr;
}
const nnex_port* nnex_graph_output(const nnex_graph* g, size_t i) {
  return g && i < g->outputs.size() ? g->outputs[i] : nullptr;
}
size_t nnex_graph_nodes(const nnex_graph* g) { return g ? g->graph.nodes().size() : 0; }
const char* nnex_graph_text(const nnex_graph* g, bool whole) { return g ? text_of(*g, whole) : nullptr; }

nnex_error* nnex_model_compile(const nnex_graph* graph, const nnex_load_options* options, nnex_model** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(graph);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(Model model, Model::compile(graph->graph, LoadWatch(options).options()));
    *out = model_handle(std::move(model));
    return {};
  });
}

nnex_error* nnex_graph_extract(const nnex_graph* graph, const char* const* from, size_t from_count,
                               const char* const* to, size_t to_count, nnex_graph** out) {
  return edited(graph, out, [&](Graph& g) -> Status {
    NNEX_ASSIGN(const std::vector<std::string> begins, texts_of(from, from_count, "from"));
    NNEX_ASSIGN(const std::vector<std::string> ends, texts_of(to, to_count, "to"));
    NNEX_ASSIGN(g, extract(g, begins, ends));
    return {};
  });
}

nnex_error* nnex_graph_rename(const nnex_graph* graph, const char* const* names, const char* const* others,
                              size_t count, nnex_graph** out) {
  return edited(graph, out, [&](Graph& g) -> Status {
    NNEX_ASSIGN(const std::vector<std::string> from, texts_of(names, count, "names"));
    NNEX_ASSIGN(const std::vector<std::string> to, texts_of(others, count, "others"));
    std::map<std::string, std::string> pairs;
    for (size_t i = 0; i < count; ++i)
      if (!pairs.emplace(from[i], to[i]).second)
        return Error(Code::invalid_argument, "found the name '" + from[i] + "' twice");
    return rename(g, pairs);
  });
}

nnex_error* nnex_graph_set_symbol(const nnex_graph* graph, const char* symbol, int64_t extent, nnex_graph** out) {
  return c::edited(graph, out, [&](Graph& g) -> Status {
    NNEX_C_NEED(symbol);
    return g.set_symbols({{symbol, extent}});
  });
}

nnex_error* nnex_graph_set_batch(const nnex_graph* graph, int64_t batch, const nnex_run_options* run,
                                 nnex_graph** out) {
  return edited(graph, run, out, [&](Graph& g, const RunOptions& o) { return set_batch(g, batch, o); });
}

nnex_error* nnex_graph_simplify(const nnex_graph* graph, const nnex_run_options* run, nnex_graph** out) {
  return edited(graph, run, out, [](Graph& g, const RunOptions& o) { return simplify(g, o); });
}

nnex_error* nnex_graph_narrow(const nnex_graph* graph, nnex_dtype to, const nnex_run_options* run, nnex_graph** out) {
  return edited(graph, run, out, [&](Graph& g, const RunOptions& o) {
    const bool known = to > NNEX_NONE && to <= NNEX_STR;
    return narrow_weights(g, known ? static_cast<DType>(to) : DType::none, o);
  });
}

nnex_error* nnex_graph_set_constants(const nnex_graph* graph, const char* const* names, nnex_value* const* tensors,
                                     size_t count, nnex_graph** out) {
  return edited(graph, out, [&](Graph& g) -> Status {
    NNEX_ASSIGN(const std::vector<std::string> named, texts_of(names, count, "names"));
    std::set<std::string_view> seen;
    for (size_t i = 0; i < count; ++i) {
      if (!tensors || !tensors[i]) return null_item("tensors", tensors, i);
      if (!seen.insert(named[i]).second)
        return Error(Code::invalid_argument, "found the name '" + named[i] + "' twice");
      NNEX_ASSIGN(const Value content, lasting(*tensors[i]));
      NNEX_TRY(set_constant(g, named[i], content));
    }
    return {};
  });
}

nnex_error* nnex_graph_strip(const nnex_graph* graph, bool names, nnex_graph** out) {
  return edited(graph, out, [&](Graph& g) -> Status { return strip(g, names), Status(); });
}

}  // extern "C"
