#include "nnex/model.h"
#include "base/failure.h"
#include "base/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/built.h"
#include "base/cache.h"
#include "base/guarded.h"
#include "base/loading.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/quota.h"
#include "graph/exact.h"
#include "graph/infer.h"
#include "graph/missing.h"
#include "graph/symbols.h"
#include "kernels/simd/loops.h"
#include "ops/fused.h"
#include "passes/pipeline.h"
#include "run/carry.h"
#include "run/compile.h"
#include "run/compiled_cache.h"
#include "run/frame.h"
#include "run/inputs.h"
#include "run/options.h"
#include "tensor/kept.h"
#include "tensor/memory_account.h"

namespace nnex {

/// Of the cache, activations may have one part in so many; the others are for weights, other threads and programs.
constexpr int64_t kCacheShare = 8;

struct Model::Impl {
  std::shared_ptr<run::Compiled> compiled;
  std::vector<PortInfo> inputs, outputs, states;
  std::vector<InputPort> taken;  ///< What a run takes in: the inputs, then the states.

  /// The inputs and outputs of a graph before the passes; its states are their last.
  struct Ports {
    std::vector<run::KeptPort> inputs, outputs;
  };
  /// How a graph becomes a model.
  struct Compilation {
    const LoadOptions& options;
    const kernels::simd::Loops& loops;
    bool own = false;    ///< Nobody else holds the graph's constants,
    bool alone = false;  ///< nor the memory that they lie in.
    int64_t cache_bytes = nnex::cache_bytes() / kCacheShare;
    bool keep = false;  ///< In a cache of compiled models.
  };
  Ports ports;
  /// Of a model that is to be kept when it has been planned.
  struct Due {
    run::CacheEntry entry;
    run::CacheSources sources;
  };
  Due due;
  std::atomic<bool> is_due{false};
  std::atomic<bool> files_checked{false};
  std::mutex telling;  ///< Of `cache`.
  CacheInfo cache;

  static Result<Model> compile(ir::Graph graph, const Compilation& how);
  /// A model of a graph that is ready to be planned.
  static Model of(ir::Graph graph, Ports ports, const Compilation& how);
  static Result<Model> found(const run::CacheEntry& entry, Mapping map, const Compilation& how);
  static Result<Model> cached(const std::string& path, const LoadOptions& options,
                              FunctionRef<Result<ReadGraph>()> load);
  void told(CacheUse use, std::string file, std::string why);
  /// Before the first plan, which packs what the files hold: whether mapped ones are as they were. Later ones go by
  /// what was packed. Error: unreadable.
  Status check_files();
  /// Something was planned: what is due is kept now.
  void planned();
};

struct Session::Impl {
  std::shared_ptr<Model::Impl> model;
  run::Frame frame;
  std::atomic<bool> running{false};
  const SessionOptions options;
  SymbolExtents symbols;  ///< Of the inputs of the run that is on.

  Impl(std::shared_ptr<Model::Impl> m, const SessionOptions& o)
      : model(std::move(m)), frame(model->compiled, o), options(o) {}
  /// What nobody else does with the session meanwhile: one run, or one look at its states. Nothing is done with options
  /// that no session can have.
  template <class F>
  auto alone(F&& f) -> decltype(f());
  /// Checks the inputs and runs, one run at a time.
  template <class F>
  auto once(std::span<const Value> inputs, F&& run) -> decltype(run());
  /// An error of a run, with the first state that is empty as nobody gave its extents.
  Error explained(Error error) const;
  /// Stand-ins for inputs of these shapes: their types are right, their elements nothing may read.
  Result<std::vector<Value>> stand_ins(const std::map<std::string, std::vector<int64_t>>& shapes) const;
};

namespace {

Status check_missing(const ir::Graph& graph, const CustomOperators& operators) {
  std::vector<Missing> missing = missing_operators(graph, operators);
  if (missing.empty()) return {};
  std::string list;
  for (const Missing& m : missing) list += fmt::format("\n  {}", m.text());
  return failure(Code::unsupported, "{} operator{} missing:{}", missing.size(), missing.size() == 1 ? " is" : "s are",
                 list);
}

Result<kernels::simd::Isa> chosen_isa(InstructionSet wanted) {
  if (wanted == InstructionSet::best) return kernels::simd::best_isa();
  const int i = static_cast<int>(wanted) - 1;
  if (i < 0 || i >= static_cast<int>(kernels::simd::Isa::count))
    return failure(Code::invalid_argument, "no instruction set of number {}", i + 1);
  if (kernels::simd::can_run(static_cast<kernels::simd::Isa>(i))) return static_cast<kernels::simd::Isa>(i);
  return failure(Code::unsupported, "this machine or build cannot run instruction set '{}'", name(wanted));
}

Result<const kernels::simd::Loops*> chosen_loops(const LoadOptions& options) {
  NNEX_ASSIGN(const kernels::simd::Isa isa, chosen_isa(options.isa));
  return &kernels::simd::loops(isa, options.portable ? kernels::simd::Numbers::exact : kernels::simd::Numbers::fast);
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

namespace {

/// Compiles a graph as the options say and `set` adds.
template <class Set>
Result<Model> compile_with(ir::Graph graph, const LoadOptions& options, Set&& set) {
  const Loading loading(options.cancel, options.deadline);
  return guarded([&]() -> Result<Model> {
    NNEX_TRY(check_options(options));
    NNEX_ASSIGN(const kernels::simd::Loops* const loops, chosen_loops(options));
    Model::Impl::Compilation how{options, *loops};
    set(how);
    return Model::Impl::compile(std::move(graph), how);
  });
}

}  // namespace

Result<Model> compile(ir::Graph graph, const LoadOptions& options) {
  return compile_with(std::move(graph), options, [](Model::Impl::Compilation&) {});
}

Result<Model> compile(ir::Graph graph, const LoadOptions& options, int64_t cache_bytes) {
  return compile_with(std::move(graph), options, [&](Model::Impl::Compilation& how) { how.cache_bytes = cache_bytes; });
}

Result<Model> compile_own(ir::Graph graph, const LoadOptions& options, bool alone) {
  return compile_with(std::move(graph), options,
                      [&](Model::Impl::Compilation& how) { how.own = true, how.alone = alone; });
}

Result<Model> compile_cached(const std::string& path, const LoadOptions& options,
                             FunctionRef<Result<ReadGraph>()> load) {
  const Loading loading(options.cancel, options.deadline);
  return guarded([&] { return Model::Impl::cached(path, options, load); });
}

Result<Model> Model::Impl::compile(ir::Graph graph, const Compilation& how) {
  if (how.options.memory_limit > 0) graph.fold_limit = std::min(graph.fold_limit, how.options.memory_limit);
  NNEX_TRY(fix_symbols(graph, how.options.symbols));
  NNEX_TRY(passes::prepare(graph, how.options.custom_operators));
  NNEX_TRY(check_missing(graph, how.options.custom_operators));
  NNEX_TRY(run::carry(graph, how.options.carry));
  Ports ports;
  for (ValueId v : graph.inputs()) ports.inputs.push_back({graph[v].name, graph[v].type});
  for (ValueId v : graph.outputs()) ports.outputs.push_back({graph[v].name, graph[v].type});
  graph.takes_late = how.own && !how.keep && extents_are_fixed(graph);
  SharedBlocks constants;  // what passes compute stays
  const BlockScope scope(constants);
  if (how.options.optimize) NNEX_TRY(passes::optimize(graph));
  if (how.options.exact) NNEX_TRY(check_exact(graph));
  NNEX_TRY(Loading::check());
  Model model = of(std::move(graph), std::move(ports), how);
  if (!how.keep && !how.options.cache.empty())
    model.impl_->told(CacheUse::none, "", "only models that are loaded from a path are kept");
  return model;
}

Model Model::Impl::of(ir::Graph graph, Ports ports, const Compilation& how) {
  Model model;
  model.impl_ = std::make_shared<Impl>();
  Impl& impl = *model.impl_;
  const size_t kept = graph.states.size();
  NNEX_ASSERT(kept <= ports.inputs.size() && kept <= ports.outputs.size());
  for (size_t i = 0; i < ports.inputs.size(); ++i) {
    const auto& [name, type] = ports.inputs[i];
    const bool state = i >= ports.inputs.size() - kept;
    const PortInfo info = port_info(state ? graph.states[i - (ports.inputs.size() - kept)].label : name, type);
    (state ? impl.states : impl.inputs).push_back(info);
    impl.taken.push_back({info, type});
  }
  for (size_t i = 0; i + kept < ports.outputs.size(); ++i)
    impl.outputs.push_back(port_info(ports.outputs[i].name, ports.outputs[i].type));
  impl.compiled = std::make_shared<run::Compiled>(std::move(graph));
  impl.compiled->loops = &how.loops;
  impl.compiled->memory_limit = how.options.memory_limit > 0 ? how.options.memory_limit : usable_memory() / 4 * 3;
  impl.compiled->cache_bytes = how.cache_bytes;
  impl.compiled->memory.release_files();
  if (how.own && extents_are_fixed(impl.compiled->graph)) {
    impl.compiled->one_plan = true;
    if (!how.keep) impl.compiled->memory.allow_loss(how.alone);
  }
  impl.ports = std::move(ports);
  return model;
}

void Model::Impl::told(CacheUse use, std::string file, std::string why) {
  const std::lock_guard lock(telling);
  cache = {use, std::move(file), std::move(why)};
}

Result<Model> Model::Impl::cached(const std::string& path, const LoadOptions& options,
                                  FunctionRef<Result<ReadGraph>()> load) {
  if (!kOpensFiles) {
    NNEX_ASSIGN(ReadGraph read, load());
    return compile_own(std::move(read.graph), options);
  }
  NNEX_TRY(check_options(options));
  NNEX_ASSIGN(const kernels::simd::Loops* const loops, chosen_loops(options));
  Compilation how{options, *loops};
  how.own = how.alone = true;
  const run::CacheEntry entry = run::cache_entry(path, options, *loops);
  auto kept = found(entry, options.map, how);
  if (kept.ok()) return kept;
  const FileWatch watch;
  NNEX_ASSIGN(ReadGraph read, load());
  how.keep = true;
  auto compiled = compile(std::move(read.graph), how);
  if (!compiled.ok()) return std::move(compiled).error().during("loading '" + path + "'");
  Model model = *std::move(compiled);
  Impl& impl = *model.impl_;
  const ir::Graph& graph = impl.compiled->graph;
  for (NodeId id : graph.order_with_blocks())
    if (graph[id].custom) {
      impl.told(CacheUse::none, "", run::not_kept(*graph[id].custom));
      return model;
    }
  impl.due = {entry, {watch.files(), {}, {}}};
  if (!read.folder.empty()) {
    impl.due.sources.listing = run::listing_of(read.folder);
    impl.due.sources.folder = std::move(read.folder);
  }
  impl.is_due = true;
  impl.told(CacheUse::due, entry.file, kept.error().message());
  return model;
}

Result<Model> Model::Impl::found(const run::CacheEntry& entry, Mapping map, const Compilation& how) {
  NNEX_ASSIGN(run::KeptModel kept, run::read_cache(entry, map));
  Model model = of(std::move(kept.graph), {std::move(kept.inputs), std::move(kept.outputs)}, how);
  for (auto& pack : kept.packs)
    model.impl_->compiled->packs.put(std::move(pack.key), std::move(pack.packed), pack.bytes);
  model.impl_->told(CacheUse::found, entry.file, "");
  return model;
}

Status Model::Impl::check_files() {
  if (!kOpensFiles || files_checked) return {};
  const std::lock_guard lock(compiled->planning);
  std::set<const MappedFile*> files;
  for (uint32_t n = 0; n < compiled->graph.value_count(); ++n)
    if (const Tensor* t = compiled->graph[ValueId{n}].constant.tensor())
      if (const MappedFile* file = file_of(t->owner())) files.insert(file);
  for (const MappedFile* file : files) NNEX_TRY(file->check_unwritten());
  files_checked = true;
  return {};
}

void Model::Impl::planned() {
  if (!kOpensFiles || !is_due || !is_due.exchange(false)) return;
  const Status status = guarded([&] {
    const std::lock_guard lock(compiled->planning);
    return run::write_cache(due.entry, due.sources, ports.inputs, ports.outputs, *compiled);
  });
  const bool refused = !status.ok() && status.error().code() == Code::unsupported;
  told(status.ok() ? CacheUse::written
       : refused   ? CacheUse::none
                   : CacheUse::failed,
       due.entry.file, status.ok() ? "" : status.error().message());
}

Result<Model> kept_and_found(const Model& model, const LoadOptions& options) {
  const Model::Impl& impl = model.impl();
  const run::CacheEntry entry = run::cache_entry("model", options, *impl.compiled->loops);
  NNEX_TRY(run::write_cache(entry, {}, impl.ports.inputs, impl.ports.outputs, *impl.compiled));
  Model::Impl::Compilation how{options, *impl.compiled->loops};
  how.own = how.alone = true;
  return guarded([&] { return Model::Impl::found(entry, options.map, how); });
}
Model::Impl& Model::impl() const {
  if (!impl_) misused("a Model was used that holds no network: default-constructed, or moved elsewhere");
  return *impl_;
}

const std::vector<PortInfo>& Model::inputs() const { return impl().inputs; }
const std::vector<PortInfo>& Model::outputs() const { return impl().outputs; }
const std::vector<PortInfo>& Model::states() const { return impl().states; }
const ir::Graph& graph_of(const Model& model) {
  run::Compiled& compiled = *model.impl().compiled;
  const std::lock_guard lock(compiled.planning);
  compiled.memory.keep_all();
  (void)compiled.memory.keep_late();  // what finds no memory is not there, as what was packed
  return compiled.graph;
}
Result<ir::Graph> whole_graph(const Model& model) {
  const ir::Graph& graph = graph_of(model);
  const GraphView view(model);
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    if (const Tensor* t = v.constant.tensor(); t && plan::ConstantMemory::is_lost(*t))
      return failure(Code::invalid_argument,
                     "constant '{}' is only there as kernels read it, since the model has run: take the graph before "
                     "the first run, or read it anew (load_graph)",
                     v.name);
  }
  return graph;
}
GraphView::GraphView(const Model& model)
    : lock_(model.impl().compiled->planning), graph_(model.impl().compiled->graph) {}
const Metadata& Model::metadata() const { return impl().compiled->graph.meta; }
std::optional<size_t> Model::nodes_once() const {
  const GraphView view(*this);
  const ir::Graph& graph = *view;
  size_t count = 0;
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    if (node.custom || (!node.blocks.empty() && !is_fused(*node.op))) return std::nullopt;
    ++count;
  }
  return count;
}
int64_t Model::packed_memory() const { return impl().compiled->packs.bytes(); }
CacheInfo Model::cache() const {
  const std::lock_guard lock(impl().telling);
  return impl().cache;
}
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
auto Session::Impl::alone(F&& f) -> decltype(f()) {
  NNEX_TRY(check_options(options));
  if (running.exchange(true))
    return Error(Code::invalid_argument, "the session is running already; use one session a thread");
  struct Done {
    std::atomic<bool>& flag;
    ~Done() { flag = false; }
  } done{running};
  return guarded(f);
}

Error Session::Impl::explained(Error error) const {
  if (error.code() != Code::invalid_argument && error.code() != Code::fault) return error;
  for (size_t i = 0; i < frame.states.size(); ++i) {
    const Tensor* t = frame.states[i].tensor();
    const InputPort& port = model->taken[model->inputs.size() + i];
    if (!t || t->count() > 0 || !port.type.dims || t->shape().rank() != static_cast<int64_t>(port.type.dims->size()))
      continue;
    for (int64_t axis = 0; axis < t->shape().rank(); ++axis)
      if (!(*port.type.dims)[static_cast<size_t>(axis)].number() && t->shape()[axis] == 0)
        return std::move(error).helped_by({"symbols", fmt::format("{}.{}=1", model->states[i].name, axis),
                                           fmt::format("gives the state '{0}', which begins as {1}, its extent {0}.{2}",
                                                       model->states[i].name, Value(*t).text(), axis)});
  }
  return error;
}

template <class F>
auto Session::Impl::once(std::span<const Value> inputs, F&& run) -> decltype(run()) {
  return alone([&]() -> decltype(run()) {
    const size_t needed = model->inputs.size();
    if (inputs.size() != needed)
      return failure(Code::invalid_argument, "found {} inputs; the model takes {}", inputs.size(), needed);
    symbols.clear();
    for (size_t i = 0; i < needed; ++i) NNEX_TRY(check_input(model->taken[i], inputs[i], symbols));
    NNEX_TRY(model->check_files());
    auto result = run();
    if (!result.ok()) return explained(std::move(result).error());
    model->planned();
    return result;
  });
}

Result<std::vector<Value>> Session::run(std::span<const Value> inputs, const RunOptions& options) {
  return impl().once(inputs, [&] { return impl().frame.run(inputs, options); });
}

Result<std::vector<Value>> Session::Impl::stand_ins(const std::map<std::string, std::vector<int64_t>>& shapes) const {
  alignas(64) static constexpr std::byte kNothing[64] = {};
  const auto stand_in = [](const PortInfo& port, const std::vector<int64_t>& extents) -> Result<Value> {
    if (std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; }))
      return failure(Code::invalid_argument, "input '{}': [{}] is no shape", port.name, joined(extents, ","));
    const Shape shape(extents);
    const auto count = shape.checked_count();
    if (!count || !bytes_for(port.dtype, *count))
      return failure(Code::limit, "input '{}': a tensor {}{} is too large", port.name, name(port.dtype), shape.text());
    return Value(Tensor::borrow(port.dtype, shape, kNothing));
  };
  std::vector<Value> out(model->inputs.size());
  SymbolExtents named;
  for (const auto& [name, extents] : shapes) {
    NNEX_ASSIGN(const size_t at, port_at("input", model->inputs, name));
    if (model->inputs[at].dtype == DType::none)
      return failure(Code::invalid_argument, "input '{}' is {}; shapes are those of tensors", name,
                     model->inputs[at].type);
    NNEX_ASSIGN(out[at], stand_in(model->inputs[at], extents));
    NNEX_TRY(check_input(model->taken[at], out[at], named));
  }
  std::vector<std::pair<std::string, int64_t>> known;
  for (const auto& [symbol, extent] : named) known.emplace_back(symbol, extent);
  for (size_t i = 0; i < out.size(); ++i) {
    const PortInfo& port = model->inputs[i];
    const MaybeDims& dims = model->taken[i].type.dims;
    if (!out[i].empty() || port.dtype == DType::none) continue;
    std::vector<int64_t> extents;
    for (const Dim& d : dims ? *dims : Dims()) {
      const auto number = d.with(known).number();
      if (!number)
        return failure(Code::invalid_argument, "input '{}': extent {} of {} is not known; name its shape", port.name,
                       d.text(), port.type);
      extents.push_back(*number);
    }
    if (!dims) return failure(Code::invalid_argument, "input '{}': name the shape of {}", port.name, port.type);
    NNEX_ASSIGN(out[i], stand_in(port, extents));
  }
  return out;
}

Status Session::prepare(const std::map<std::string, std::vector<int64_t>>& shapes, const RunOptions& options) {
  NNEX_ASSIGN(const std::vector<Value> inputs, impl().stand_ins(shapes));
  // A sequence or a map has no shape that could be told ahead.
  if (std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.empty(); })) return {};
  return impl().once(inputs, [&] { return impl().frame.prepare(inputs, options); });
}

namespace {

/// Whether two tensors have bytes in common.
bool overlap(const Tensor& a, const Tensor& b) {
  const std::less<const std::byte*> before;
  return a.bytes() > 0 && b.bytes() > 0 && before(a.data(), b.data() + b.bytes()) &&
         before(b.data(), a.data() + a.bytes());
}

/// Kernels write outputs while they read inputs, and other outputs.
Status check_apart(std::span<const Tensor> outputs, const std::vector<PortInfo>& output_ports,
                   std::span<const Value> inputs, const std::vector<PortInfo>& input_ports) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto shared = [&](const std::string& other) {
      return failure(Code::invalid_argument,
                     "output '{}': found {}, which shares bytes with {}; needed memory of its own",
                     output_ports[i].name, Value(outputs[i]).text(), other);
    };
    for (size_t j = 0; j < i; ++j)
      if (overlap(outputs[i], outputs[j])) return shared(fmt::format("output '{}'", output_ports[j].name));
    for (size_t j = 0; j < inputs.size() && j < input_ports.size(); ++j)
      if (const Tensor* t = inputs[j].tensor(); t && overlap(outputs[i], *t))
        return shared(fmt::format("input '{}'", input_ports[j].name));
  }
  return {};
}

}  // namespace

Status Session::run_into(std::span<const Value> inputs, std::span<Tensor> outputs, const RunOptions& options) {
  const std::vector<PortInfo>& ports = impl().model->outputs;
  if (outputs.size() != ports.size())
    return failure(Code::invalid_argument, "found {} outputs; the model gives {}", outputs.size(), ports.size());
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string& called = ports[i].name;
    if (!has_memory(outputs[i]))
      return failure(Code::invalid_argument, "output '{}': found {} without memory", called, Value(outputs[i]).text());
    if (outputs[i].writable()) continue;
    const std::string found = Value(outputs[i]).text();
    return Error(
        Code::invalid_argument,
        outputs[i].read_only()
            ? fmt::format("output '{}': {} was borrowed to be read; needed Tensor::borrow_mutable()", called, found)
            : fmt::format("output '{}': others share the bytes of {}; needed a tensor alone", called, found));
  }
  NNEX_TRY(check_apart(outputs, ports, inputs, impl().model->inputs));
  return impl().once(inputs, [&] { return impl().frame.run_into(inputs, outputs, ports, options); });
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
    if (it == inputs.end()) return failure(Code::invalid_argument, "input '{}' is missing; needed {}", p.name, p.type);
    ordered.push_back(it->second);
  }
  NNEX_ASSIGN(std::vector<Value> out, run(std::span<const Value>(ordered), options));
  std::map<std::string, Value> named;
  for (size_t i = 0; i < out.size(); ++i) named.emplace(impl().model->outputs[i].name, std::move(out[i]));
  return named;
}

Result<Value> Session::state(std::string_view label) const {
  NNEX_ASSIGN(const size_t at, port_at("state", impl().model->states, label));
  return impl().alone([&]() -> Result<Value> { return impl().frame.states[at]; });
}

Status Session::set_state(std::string_view label, Value value) {
  NNEX_ASSIGN(const size_t at, port_at("state", impl().model->states, label));
  SymbolExtents symbols;
  const Model::Impl& model = *impl().model;
  NNEX_TRY(check_input(model.taken[model.inputs.size() + at], value, symbols, "state"));
  return impl().alone([&]() -> Status {
    NNEX_ASSIGN(impl().frame.states[at], with_copies(value, [](const Tensor&) { return true; }));
    return {};
  });
}

Status Session::reset_states() {
  return impl().alone([&]() -> Status {
    for (size_t i = 0; i < impl().frame.states.size(); ++i)
      impl().frame.states[i] = impl().model->compiled->graph.states[i].start;
    return {};
  });
}

Status Session::trim() {
  return impl().alone([&]() -> Status { return impl().frame.trim(), Status(); });
}

void Session::profile(bool on) { impl().frame.profiling = on; }
const std::vector<NodeTime>& Session::nodes() const { return impl().frame.times; }
int64_t Session::memory() const { return impl().frame.memory(); }

}  // namespace nnex
