#include "nnex/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quota.h"
#include "formats/read.h"
#include "graph/exact.h"
#include "graph/infer.h"
#include "graph/missing.h"
#include "graph/symbols.h"
#include "kernels/simd/loops.h"
#include "passes/pipeline.h"
#include "run/compile.h"
#include "run/frame.h"
#include "run/guarded.h"

namespace nnex {

struct Model::Impl {
  std::shared_ptr<Compiled> compiled;
  std::vector<PortInfo> inputs, outputs, states;

  /// `own`: nobody else holds the memory of the graph's constants.
  static Result<Model> compile(Graph graph, const LoadOptions& options, bool own);
};

struct Session::Impl {
  std::shared_ptr<Model::Impl> model;
  Frame frame;
  std::atomic<bool> running{false};

  Impl(std::shared_ptr<Model::Impl> m, const SessionOptions& options)
      : model(std::move(m)), frame(model->compiled, options) {}
  /// Checks the inputs and runs, one run at a time.
  template <class F>
  auto once(std::span<const Value> inputs, F&& run) -> decltype(run());
};

namespace {

PortInfo port_info(const Graph& graph, ValueId v) {
  PortInfo p;
  const Type& t = graph[v].type;
  p.name = graph[v].name;
  p.type = t.text();
  if (!t.is_tensor()) return p;
  p.dtype = t.dtype;
  p.known_rank = t.dims.has_value();
  if (!t.dims) return p;
  for (const Dim& d : *t.dims) {
    p.extents.push_back(d.number().value_or(-1));
    p.dims.push_back(d.text());
  }
  return p;
}

Status check_missing(const Graph& graph) {
  std::vector<Missing> missing = missing_operators(graph);
  if (missing.empty()) return {};
  std::string list;
  for (const Missing& m : missing) list += fmt::format("\n  {}", m.text());
  return Error(Code::unsupported,
               fmt::format("{} operator{} missing:{}", missing.size(), missing.size() == 1 ? " is" : "s are", list));
}

Result<simd::Isa> chosen_isa(const std::string& name_or_empty) {
  if (name_or_empty.empty()) return simd::best_isa();
  for (int i = 0; i < static_cast<int>(simd::Isa::count); ++i)
    if (simd::name(static_cast<simd::Isa>(i)) == name_or_empty) {
      if (simd::can_run(static_cast<simd::Isa>(i))) return static_cast<simd::Isa>(i);
      return Error(Code::unsupported,
                   fmt::format("this machine or build cannot run instruction set '{}'", name_or_empty));
    }
  return Error(Code::invalid_argument, fmt::format("no instruction set '{}'", name_or_empty));
}

/// A value that is no tensor needs no check here: operators check kinds themselves. `what`: "input" or "state".
Status check_input(const PortInfo& port, const Value& value, std::map<std::string, int64_t>& symbols,
                   std::string_view what = "input") {
  const Tensor* t = value.tensor();
  if (port.dtype == DType::none) {
    if (value.empty())
      return Error(Code::invalid_argument, fmt::format("{} '{}' is missing; needed {}", what, port.name, port.type));
    return {};
  }
  if (!t)
    return Error(Code::invalid_argument,
                 fmt::format("{} '{}': found {}; needed {}", what, port.name, value.text(), port.type));
  bool fits =
      t->dtype() == port.dtype && (!port.known_rank || t->shape().rank() == static_cast<int64_t>(port.extents.size()));
  std::string clash;
  for (size_t i = 0; fits && port.known_rank && i < port.extents.size(); ++i) {
    const int64_t extent = t->shape()[static_cast<int64_t>(i)];
    if (port.extents[i] >= 0) {
      fits = extent == port.extents[i];
      continue;
    }
    auto [it, fresh] = symbols.emplace(port.dims[i], extent);
    if (!fresh && it->second != extent && port.dims[i].find('?') == std::string::npos)
      clash = fmt::format("; {} is {} in another input", port.dims[i], it->second), fits = false;
  }
  if (fits) return {};
  return Error(Code::invalid_argument, fmt::format("{} '{}': found {}{}; needed {}{}", what, port.name,
                                                   name(t->dtype()), t->shape().text(), port.type, clash));
}

/// Whether every run has the same extents: those of all inputs are numbers, and nothing is kept from run to run.
bool extents_are_fixed(const Graph& graph) {
  return graph.states.empty() && std::all_of(graph.inputs().begin(), graph.inputs().end(), [&](ValueId v) {
           return graph[v].type.is_tensor() && concrete(graph[v].type);
         });
}

}  // namespace

Result<Model> Model::compile(Graph graph, const LoadOptions& options) {
  return guarded([&] { return Impl::compile(std::move(graph), options, false); });
}

Result<Model> compile_own(Graph graph, const LoadOptions& options) {
  return guarded([&] { return Model::Impl::compile(std::move(graph), options, true); });
}

Result<Model> Model::Impl::compile(Graph graph, const LoadOptions& options, bool own) {
  NNEX_TRY(fix_symbols(graph, options.symbols));
  NNEX_ASSIGN(simd::Isa isa, chosen_isa(options.isa));
  NNEX_TRY(prepare(graph));
  NNEX_TRY(check_missing(graph));
  Model model;
  model.impl_ = std::make_shared<Impl>();
  const size_t kept = graph.states.size();
  for (ValueId v : graph.inputs()) model.impl_->inputs.push_back(port_info(graph, v));
  for (ValueId v : graph.outputs()) model.impl_->outputs.push_back(port_info(graph, v));
  NNEX_ASSERT(kept <= model.impl_->inputs.size() && kept <= model.impl_->outputs.size());
  model.impl_->states.assign(model.impl_->inputs.end() - static_cast<ptrdiff_t>(kept), model.impl_->inputs.end());
  for (size_t i = 0; i < kept; ++i) model.impl_->states[i].name = graph.states[i].label;
  model.impl_->inputs.resize(model.impl_->inputs.size() - kept);
  model.impl_->outputs.resize(model.impl_->outputs.size() - kept);
  std::vector<std::string> names;
  for (ValueId v : graph.outputs()) names.push_back(graph[v].name);
  if (options.optimize) NNEX_TRY(optimize(graph));
  if (options.exact) NNEX_TRY(check_exact(graph));
  model.impl_->compiled = std::make_shared<Compiled>(std::move(graph));
  model.impl_->compiled->loops = &simd::loops(isa);
  model.impl_->compiled->memory_limit = options.memory_limit > 0 ? options.memory_limit : usable_memory() / 4 * 3;
  model.impl_->compiled->memory.release_files();
  if (own && extents_are_fixed(model.impl_->compiled->graph)) {
    model.impl_->compiled->one_plan = true;
    model.impl_->compiled->memory.allow_loss();
  }
  return model;
}

Result<Model> Model::from_bytes(std::string_view bytes, const LoadOptions& options) {
  return guarded([&]() -> Result<Model> {
    NNEX_ASSIGN(Graph graph, read_model_bytes(bytes, options));
    return compile_own(std::move(graph), options);
  });
}

const std::vector<PortInfo>& Model::inputs() const { return impl_->inputs; }
const std::vector<PortInfo>& Model::outputs() const { return impl_->outputs; }
const std::vector<PortInfo>& Model::states() const { return impl_->states; }
const Graph& Model::graph() const {
  impl_->compiled->memory.keep_all();
  return impl_->compiled->graph;
}
GraphView::GraphView(const Model& model)
    : lock_(model.impl_->compiled->planning), graph_(model.impl_->compiled->graph) {}
int64_t Model::packed_memory() const { return impl_->compiled->packs.bytes(); }
Session Model::session(const SessionOptions& options) const {
  return Session(std::make_unique<Session::Impl>(impl_, options));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

template <class F>
auto Session::Impl::once(std::span<const Value> inputs, F&& run) -> decltype(run()) {
  if (running.exchange(true))
    return Error(Code::invalid_argument, "the session is running already; use one session a thread");
  struct Done {
    std::atomic<bool>& flag;
    ~Done() { flag = false; }
  } done{running};
  return guarded([&]() -> decltype(run()) {
    const auto& ports = model->inputs;
    if (inputs.size() != ports.size())
      return Error(Code::invalid_argument,
                   fmt::format("found {} inputs; the model takes {}", inputs.size(), ports.size()));
    std::map<std::string, int64_t> symbols;
    for (size_t i = 0; i < ports.size(); ++i) NNEX_TRY(check_input(ports[i], inputs[i], symbols));
    return run();
  });
}

Result<std::vector<Value>> Session::run(std::span<const Value> inputs, const RunOptions& options) {
  return impl_->once(inputs, [&] { return impl_->frame.run(inputs, options); });
}

Status Session::run_into(std::span<const Value> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  const size_t needed = impl_->model->outputs.size();
  if (outputs.size() != needed)
    return Error(Code::invalid_argument, fmt::format("found {} outputs; the model gives {}", outputs.size(), needed));
  return impl_->once(inputs, [&] { return impl_->frame.run_into(inputs, outputs, options); });
}

Result<std::map<std::string, Value>> Session::run(const std::map<std::string, Value>& inputs,
                                                  const RunOptions& options) {
  const auto& ports = impl_->model->inputs;
  std::vector<Value> ordered;
  for (const PortInfo& p : ports) {
    auto it = inputs.find(p.name);
    if (it == inputs.end())
      return Error(Code::invalid_argument, fmt::format("input '{}' is missing; needed {}", p.name, p.type));
    ordered.push_back(it->second);
  }
  for (const auto& [name, value] : inputs)
    if (std::none_of(ports.begin(), ports.end(),
                     [&, n = std::string_view(name)](const PortInfo& p) { return p.name == n; })) {
      std::string known;
      for (const PortInfo& p : ports) known += " '" + p.name + "'";
      return Error(Code::invalid_argument, fmt::format("no input '{}'; the model has:{}", name, known));
    }
  NNEX_ASSIGN(std::vector<Value> out, run(std::span<const Value>(ordered), options));
  std::map<std::string, Value> named;
  for (size_t i = 0; i < out.size(); ++i) named.emplace(impl_->model->outputs[i].name, std::move(out[i]));
  return named;
}

namespace {

/// Which state has the label.
Result<size_t> state_at(const std::vector<PortInfo>& states, std::string_view label) {
  std::string known;
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i].name == label) return i;
    known += " '" + states[i].name + "'";
  }
  return Error(Code::invalid_argument,
               fmt::format("no state '{}'; the model has:{}", label, known.empty() ? " none" : known));
}

Status not_running(const std::atomic<bool>& running) {
  if (running) return Error(Code::invalid_argument, "the session is running; its states cannot be changed now");
  return {};
}

}  // namespace

Result<Value> Session::state(std::string_view label) const {
  NNEX_ASSIGN(const size_t at, state_at(impl_->model->states, label));
  return impl_->frame.states[at];
}

Status Session::set_state(std::string_view label, Value value) {
  NNEX_TRY(not_running(impl_->running));
  NNEX_ASSIGN(const size_t at, state_at(impl_->model->states, label));
  std::map<std::string, int64_t> symbols;
  NNEX_TRY(check_input(impl_->model->states[at], value, symbols, "state"));
  impl_->frame.states[at] = std::move(value);
  return {};
}

Status Session::reset_states() {
  NNEX_TRY(not_running(impl_->running));
  for (size_t i = 0; i < impl_->frame.states.size(); ++i)
    impl_->frame.states[i] = impl_->model->compiled->graph.states[i].start;
  return {};
}

void Session::profile(bool on) { impl_->frame.profiling = on; }
const std::vector<NodeTime>& Session::nodes() const { return impl_->frame.times; }
int64_t Session::memory() const { return impl_->frame.memory(); }

}  // namespace nnex
