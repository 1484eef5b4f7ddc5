#include "nnex/model.h"
#include "base/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/cache.h"
#include "base/guarded.h"
#include "base/nearest.h"
#include "base/quota.h"
#include "graph/exact.h"
#include "graph/infer.h"
#include "graph/missing.h"
#include "graph/symbols.h"
#include "kernels/simd/loops.h"
#include "passes/pipeline.h"
#include "run/carry.h"
#include "run/compile.h"
#include "run/frame.h"
#include "run/inputs.h"
#include "tensor/memory_account.h"

namespace nnex {

/// Of the cache, activations may have one part in so many; the others are for weights, other threads and programs.
constexpr int64_t kCacheShare = 8;

struct Model::Impl {
  std::shared_ptr<run::Compiled> compiled;
  std::vector<PortInfo> inputs, outputs, states;
  std::vector<InputPort> taken;  ///< What a run takes in: the inputs, then the states.

  /// `own`: nobody else holds the memory of the graph's constants.
  static Result<Model> compile(ir::Graph graph, const LoadOptions& options, bool own,
                               int64_t cache_bytes = nnex::cache_bytes() / kCacheShare);
};

struct Session::Impl {
  std::shared_ptr<Model::Impl> model;
  run::Frame frame;
  std::atomic<bool> running{false};

  Impl(std::shared_ptr<Model::Impl> m, const SessionOptions& options)
      : model(std::move(m)), frame(model->compiled, options) {}
  /// Checks the inputs and runs, one run at a time.
  template <class F>
  auto once(std::span<const Value> inputs, F&& run) -> decltype(run());
  /// Stand-ins for inputs of these shapes: their types are right, their elements nothing may read.
  Result<std::vector<Value>> stand_ins(const std::map<std::string, std::vector<int64_t>>& shapes) const;
};

namespace {

Status check_missing(const ir::Graph& graph) {
  std::vector<Missing> missing = missing_operators(graph);
  if (missing.empty()) return {};
  std::string list;
  for (const Missing& m : missing) list += fmt::format("\n  {}", m.text());
  return Error(Code::unsupported,
               fmt::format("{} operator{} missing:{}", missing.size(), missing.size() == 1 ? " is" : "s are", list));
}

Result<kernels::simd::Isa> chosen_isa(InstructionSet wanted) {
  if (wanted == InstructionSet::best) return kernels::simd::best_isa();
  const int i = static_cast<int>(wanted) - 1;
  if (i < 0 || i >= static_cast<int>(kernels::simd::Isa::count))
    return Error(Code::invalid_argument, fmt::format("no instruction set of number {}", i + 1));
  if (kernels::simd::can_run(static_cast<kernels::simd::Isa>(i))) return static_cast<kernels::simd::Isa>(i);
  return Error(Code::unsupported, fmt::format("this machine or build cannot run instruction set '{}'", name(wanted)));
}

/// Which of the ports has the name. `kind`: what they are. Error: invalid_argument, with the names there are.
Result<size_t> port_at(std::string_view kind, const std::vector<PortInfo>& ports, std::string_view name) {
  for (size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return i;
  std::vector<std::string_view> names;
  for (const PortInfo& p : ports) names.push_back(p.name);
  return Error(Code::invalid_argument, no_such(kind, name, names));
}

/// Whether every run has the same extents: those of all inputs are numbers, and nothing is kept from run to run.
bool extents_are_fixed(const ir::Graph& graph) {
  return graph.states.empty() && std::all_of(graph.inputs().begin(), graph.inputs().end(), [&](ValueId v) {
           return graph[v].type.is_tensor() && concrete(graph[v].type);
         });
}

}  // namespace

// InstructionSet is `best`, then kernels::simd::Isa in its order.
static_assert(static_cast<int>(InstructionSet::scalar) == static_cast<int>(kernels::simd::Isa::scalar) + 1);
static_assert(static_cast<int>(InstructionSet::wasm) == static_cast<int>(kernels::simd::Isa::wasm) + 1);
static_assert(static_cast<int>(kernels::simd::Isa::wasm) + 1 == static_cast<int>(kernels::simd::Isa::count));

std::string_view name(InstructionSet isa) {
  if (isa == InstructionSet::best) return "best";
  return kernels::simd::name(static_cast<kernels::simd::Isa>(static_cast<int>(isa) - 1));
}

std::optional<InstructionSet> instruction_set_named(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(InstructionSet::wasm); ++i)
    if (name(static_cast<InstructionSet>(i)) == text) return static_cast<InstructionSet>(i);
  return std::nullopt;
}

Result<Model> compile(ir::Graph graph, const LoadOptions& options) {
  return guarded([&] { return Model::Impl::compile(std::move(graph), options, false); });
}

Result<Model> compile(ir::Graph graph, const LoadOptions& options, int64_t cache_bytes) {
  return guarded([&] { return Model::Impl::compile(std::move(graph), options, false, cache_bytes); });
}

Result<Model> compile_own(ir::Graph graph, const LoadOptions& options) {
  return guarded([&] { return Model::Impl::compile(std::move(graph), options, true); });
}

Result<Model> Model::Impl::compile(ir::Graph graph, const LoadOptions& options, bool own, int64_t cache_bytes) {
  NNEX_TRY(fix_symbols(graph, options.symbols));
  NNEX_ASSIGN(kernels::simd::Isa isa, chosen_isa(options.isa));
  NNEX_TRY(passes::prepare(graph, options.custom_operators));
  NNEX_TRY(check_missing(graph));
  NNEX_TRY(run::carry(graph, options.carry));
  Model model;
  model.impl_ = std::make_shared<Impl>();
  const size_t kept = graph.states.size();
  for (ValueId v : graph.inputs()) {
    model.impl_->inputs.push_back(port_info(graph, v));
    model.impl_->taken.push_back({model.impl_->inputs.back(), graph[v].type});
  }
  for (ValueId v : graph.outputs()) model.impl_->outputs.push_back(port_info(graph, v));
  NNEX_ASSERT(kept <= model.impl_->inputs.size() && kept <= model.impl_->outputs.size());
  model.impl_->states.assign(model.impl_->inputs.end() - static_cast<ptrdiff_t>(kept), model.impl_->inputs.end());
  model.impl_->inputs.resize(model.impl_->inputs.size() - kept);
  for (size_t i = 0; i < kept; ++i) {
    model.impl_->states[i].name = graph.states[i].label;
    model.impl_->taken[model.impl_->inputs.size() + i].info.name = graph.states[i].label;
  }
  model.impl_->outputs.resize(model.impl_->outputs.size() - kept);
  std::vector<std::string> names;
  for (ValueId v : graph.outputs()) names.push_back(graph[v].name);
  SharedBlocks constants;  // what passes compute stays
  const BlockScope scope(constants);
  if (options.optimize) NNEX_TRY(passes::optimize(graph));
  if (options.exact) NNEX_TRY(check_exact(graph));
  model.impl_->compiled = std::make_shared<run::Compiled>(std::move(graph));
  model.impl_->compiled->loops =
      &kernels::simd::loops(isa, options.portable ? kernels::simd::Numbers::exact : kernels::simd::Numbers::fast);
  model.impl_->compiled->memory_limit = options.memory_limit > 0 ? options.memory_limit : usable_memory() / 4 * 3;
  model.impl_->compiled->cache_bytes = cache_bytes;
  model.impl_->compiled->memory.release_files();
  if (own && extents_are_fixed(model.impl_->compiled->graph)) {
    model.impl_->compiled->one_plan = true;
    model.impl_->compiled->memory.allow_loss();
  }
  return model;
}

Model::Impl& Model::impl() const {
  if (!impl_) misused("a Model was used that holds no network: default-constructed, or moved elsewhere");
  return *impl_;
}

const std::vector<PortInfo>& Model::inputs() const { return impl().inputs; }
const std::vector<PortInfo>& Model::outputs() const { return impl().outputs; }
const std::vector<PortInfo>& Model::states() const { return impl().states; }
const ir::Graph& graph_of(const Model& model) {
  model.impl().compiled->memory.keep_all();
  return model.impl().compiled->graph;
}
GraphView::GraphView(const Model& model)
    : lock_(model.impl().compiled->planning), graph_(model.impl().compiled->graph) {}
int64_t Model::packed_memory() const { return impl().compiled->packs.bytes(); }
Session Model::session(const SessionOptions& options) const {
  impl();
  return Session(std::make_unique<Session::Impl>(impl_, options));
}

Session::Impl& Session::impl() const {
  if (!impl_) misused("a Session was used that had been moved elsewhere");
  return *impl_;
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
    const size_t needed = model->inputs.size();
    if (inputs.size() != needed)
      return Error(Code::invalid_argument, fmt::format("found {} inputs; the model takes {}", inputs.size(), needed));
    std::map<std::string, int64_t> symbols;
    for (size_t i = 0; i < needed; ++i) NNEX_TRY(check_input(model->taken[i], inputs[i], symbols));
    return run();
  });
}

Result<std::vector<Value>> Session::run(std::span<const Value> inputs, const RunOptions& options) {
  return impl().once(inputs, [&] { return impl().frame.run(inputs, options); });
}

Result<std::vector<Value>> Session::Impl::stand_ins(const std::map<std::string, std::vector<int64_t>>& shapes) const {
  alignas(64) static constexpr std::byte kNothing[64] = {};
  const auto stand_in = [](const PortInfo& port, const std::vector<int64_t>& extents) -> Result<Value> {
    const bool negative = std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; });
    if (const Shape shape(extents); !negative && shape.checked_count())
      return Value(Tensor::borrow(port.dtype, shape, kNothing));
    return Error(Code::invalid_argument, fmt::format("input '{}': [{}] is no shape", port.name, joined(extents, ",")));
  };
  std::vector<Value> out(model->inputs.size());
  std::map<std::string, int64_t> symbols;
  for (const auto& [name, extents] : shapes) {
    NNEX_ASSIGN(const size_t at, port_at("input", model->inputs, name));
    if (model->inputs[at].dtype == DType::none)
      return Error(Code::invalid_argument,
                   fmt::format("input '{}' is {}; shapes are those of tensors", name, model->inputs[at].type));
    NNEX_ASSIGN(out[at], stand_in(model->inputs[at], extents));
    NNEX_TRY(check_input(model->taken[at], out[at], symbols));
  }
  const std::vector<std::pair<std::string, int64_t>> known(symbols.begin(), symbols.end());
  for (size_t i = 0; i < out.size(); ++i) {
    const PortInfo& port = model->inputs[i];
    const MaybeDims& dims = model->taken[i].type.dims;
    if (!out[i].empty() || port.dtype == DType::none) continue;
    std::vector<int64_t> extents;
    for (const Dim& d : dims ? *dims : Dims()) {
      const auto number = d.with(known).number();
      if (!number)
        return Error(Code::invalid_argument, fmt::format("input '{}': extent {} of {} is not known; name its shape",
                                                         port.name, d.text(), port.type));
      extents.push_back(*number);
    }
    if (!dims)
      return Error(Code::invalid_argument, fmt::format("input '{}': name the shape of {}", port.name, port.type));
    NNEX_ASSIGN(out[i], stand_in(port, extents));
  }
  return out;
}

Status Session::prepare(const std::map<std::string, std::vector<int64_t>>& shapes) {
  NNEX_ASSIGN(const std::vector<Value> inputs, impl().stand_ins(shapes));
  // A sequence or a map has no shape that could be told ahead.
  if (std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.empty(); })) return {};
  return impl().once(inputs, [&] { return impl().frame.prepare(inputs); });
}

Status Session::run_into(std::span<const Value> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  const size_t needed = impl().model->outputs.size();
  if (outputs.size() != needed)
    return Error(Code::invalid_argument, fmt::format("found {} outputs; the model gives {}", outputs.size(), needed));
  for (size_t i = 0; i < needed; ++i) {
    if (!has_memory(outputs[i]))
      return Error(Code::invalid_argument,
                   fmt::format("output {}: found {} without memory", i, Value(outputs[i]).text()));
    if (!outputs[i].writable())
      return Error(Code::invalid_argument, fmt::format("output {}: others share the bytes of {}; needed a tensor alone",
                                                       i, Value(outputs[i]).text()));
  }
  return impl().once(inputs, [&] { return impl().frame.run_into(inputs, outputs, options); });
}

Result<std::map<std::string, Value>> Session::run(const std::map<std::string, Value>& inputs,
                                                  const RunOptions& options) {
  const auto& ports = impl().model->inputs;
  std::set<std::string_view> names;
  for (const PortInfo& p : ports) names.insert(p.name);
  for (const auto& [name, value] : inputs)
    if (!names.count(name)) return port_at("input", ports, name).error();
  std::vector<Value> ordered;
  for (const PortInfo& p : ports) {
    auto it = inputs.find(p.name);
    if (it == inputs.end())
      return Error(Code::invalid_argument, fmt::format("input '{}' is missing; needed {}", p.name, p.type));
    ordered.push_back(it->second);
  }
  NNEX_ASSIGN(std::vector<Value> out, run(std::span<const Value>(ordered), options));
  std::map<std::string, Value> named;
  for (size_t i = 0; i < out.size(); ++i) named.emplace(impl().model->outputs[i].name, std::move(out[i]));
  return named;
}

namespace {

Status not_running(const std::atomic<bool>& running) {
  if (running) return Error(Code::invalid_argument, "the session is running; its states cannot be changed now");
  return {};
}

}  // namespace

Result<Value> Session::state(std::string_view label) const {
  NNEX_ASSIGN(const size_t at, port_at("state", impl().model->states, label));
  return impl().frame.states[at];
}

Status Session::set_state(std::string_view label, Value value) {
  NNEX_TRY(not_running(impl().running));
  NNEX_ASSIGN(const size_t at, port_at("state", impl().model->states, label));
  std::map<std::string, int64_t> symbols;
  const Model::Impl& model = *impl().model;
  NNEX_TRY(check_input(model.taken[model.inputs.size() + at], value, symbols, "state"));
  impl().frame.states[at] = std::move(value);
  return {};
}

Status Session::reset_states() {
  NNEX_TRY(not_running(impl().running));
  for (size_t i = 0; i < impl().frame.states.size(); ++i)
    impl().frame.states[i] = impl().model->compiled->graph.states[i].start;
  return {};
}

void Session::profile(bool on) { impl().frame.profiling = on; }
const std::vector<NodeTime>& Session::nodes() const { return impl().frame.times; }
int64_t Session::memory() const { return impl().frame.memory(); }

}  // namespace nnex
