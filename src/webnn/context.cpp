#include "webnn/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/copy_bytes.h"
#include "base/function_ref.h"
#include "base/guarded.h"
#include "base/joined.h"
#include "base/large_memory.h"
#include "base/try.h"
#include "webnn/builder.h"

namespace nnex::ml {
namespace {

constexpr const char* kLost = "the context is lost";

template <class T>
Future<T> rejected(Error error) {
  Promise<T> promise;
  promise.settle(std::move(error));
  return promise.future();
}

/// What every call on a context asks first.
Status usable(const std::shared_ptr<ContextState>& context, std::string_view call) {
  if (!context) return type_error(fmt::format("{}: the context is empty", call));
  if (context->timeline.forked()) return invalid_state(fmt::format("{}: {}", call, kForked));
  if (context->lost()) return invalid_state(fmt::format("{}: {}", call, kLost));
  return {};
}

/// Registers an item, and now and then forgets those that are gone.
template <class T>
void keep(std::vector<std::weak_ptr<T>>& list, const std::shared_ptr<T>& item) {
  if (list.size() >= 64 && list.size() == list.capacity())
    list.erase(std::remove_if(list.begin(), list.end(), [](const auto& w) { return w.expired(); }), list.end());
  list.push_back(item);
}

template <class Descriptor>
std::string shown(const Descriptor& d) {
  return fmt::format("{} [{}]", name(d.dataType), joined(d.shape, ", "));
}

template <class Descriptor>
Shape shape_of(const Descriptor& d) {
  return Shape(std::vector<int64_t>(d.shape.begin(), d.shape.end()));
}

/// Bytes of a tensor, all 0; an engine error when they cannot be had. A large one takes memory where it is touched.
nnex::Result<nnex::Tensor> make_zeros(const TensorDescriptor& d) {
  const int64_t bytes = byte_length(d.dataType, d.shape);
  auto memory = zeroed(bytes);
  if (!memory) return nnex::Error(Code::limit, fmt::format("no memory for a tensor {} of {} bytes", shown(d), bytes));
  void* const data = memory.get();
  return nnex::Tensor::borrow_mutable(dtype_of(d.dataType), shape_of(d), data, std::move(memory));
}

/// The same of bytes that are copied.
template <class Descriptor>
nnex::Result<nnex::Tensor> make_bytes(const Descriptor& d, std::span<const std::byte> from) {
  NNEX_ASSIGN(nnex::Tensor t, nnex::Tensor::make(dtype_of(d.dataType), shape_of(d)));
  if (!from.empty()) std::memcpy(t.mutable_data(), from.data(), from.size());
  // The timeline alone writes it, in the order of the calls, while sessions hold copies of the tensor.
  std::byte* const data = t.mutable_data();
  return nnex::Tensor::borrow_mutable(t.dtype(), t.shape(), data, t.owner());
}

/// A tensor's bytes as readTensor() hands them on.
Result<std::vector<std::byte>> copy_of(const nnex::Tensor& t) {
  try {
    return std::vector<std::byte>(t.data(), t.data() + t.bytes());
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::UnknownError, fmt::format("readTensor: no memory for {} bytes", t.bytes())};
  }
}

/// What dispatch and the graph each call their inputs (or outputs) must be the same, in type and shape too. Appends the
/// tensors' memory in the order of the names.
Status match_ports(const ContextState& context, const std::map<std::string, OperandDescriptor>& ports,
                   const NamedTensors& tensors, const char* what, std::vector<std::shared_ptr<TensorMemory>>& out) {
  auto port = ports.begin();
  for (const auto& [found, tensor] : tensors) {
    if (tensor.empty()) return type_error(fmt::format("dispatch: {} '{}' is an empty tensor", what, found));
    if (tensor.state()->context.get() != &context)
      return type_error(fmt::format("dispatch: {} '{}' is a tensor of another context", what, found));
    const TensorState& t = *tensor.state();
    if (t.gone()) return type_error(fmt::format("dispatch: {} '{}' is a destroyed tensor", what, found));
    if (t.constant) return type_error(fmt::format("dispatch: {} '{}' is a constant tensor", what, found));
    if (port == ports.end() || found < port->first)
      return type_error(fmt::format("dispatch: the graph has no {} '{}'", what, found));
    if (found != port->first)
      return type_error(fmt::format("dispatch: {} '{}' of the graph is missing", what, port->first));
    if (t.descriptor.dataType != port->second.dataType || t.descriptor.shape != port->second.shape)
      return type_error(
          fmt::format("dispatch: {} '{}': found {}; needed {}", what, found, shown(t.descriptor), shown(port->second)));
    out.push_back(t.memory);
    ++port;
  }
  if (port == ports.end()) return {};
  return type_error(fmt::format("dispatch: {} '{}' of the graph is missing", what, port->first));
}

bool repeats(const std::vector<std::shared_ptr<TensorMemory>>& tensors) {
  if (tensors.size() <= 16) {
    for (size_t i = 1; i < tensors.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (tensors[i] == tensors[j]) return true;
    return false;
  }
  std::vector<const TensorMemory*> sorted;
  for (const auto& t : tensors) sorted.push_back(t.get());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

}  // namespace

uint64_t Pending::add(Reject reject) {
  std::lock_guard lock(mutex_);
  open_.emplace(next_, std::move(reject));
  return next_++;
}

bool Pending::claim(uint64_t id) {
  std::lock_guard lock(mutex_);
  return open_.erase(id) == 1;
}

void Pending::reject_all(const Error& error) {
  std::map<uint64_t, Reject> open;
  {
    std::lock_guard lock(mutex_);
    open.swap(open_);
  }
  for (const auto& [id, reject] : open) reject(error);
}

void TensorMemory::free() {
  gone = true;
  bytes = nnex::Tensor();
}

namespace {

/// Calls a function of the host that gives nothing back: whether it threw, of which standard error has a sentence.
bool threw(std::string_view who, FunctionRef<void()> function) {
  const auto called_it = [&]() -> nnex::Status { return function(), nnex::Status(); };
  const nnex::Status called =
      nnex::called(called_it, [](Code code, const char* what) { return nnex::Error(code, what); });
  if (called.ok()) return false;
  const std::string text = fmt::format("nnex: {} threw: {}\n", who, called.error().message());
  std::fputs(text.c_str(), stderr);
  return true;
}

}  // namespace

void call_back(const std::function<void()>& function) { (void)threw("a callback of Future::then", function); }

void ContextCore::complete(std::function<void()> task) const {
  if (!post) return task();
  const auto kept = std::make_shared<const std::function<void()>>(std::move(task));  // it may hold what was read
  if (threw("Environment::post", [&] { post([kept] { (*kept)(); }); })) (*kept)();
}

void ContextCore::lose(const std::string& message) {
  if (lost.exchange(true, std::memory_order_acq_rel)) return;
  const Error error = invalid_state(fmt::format("{}: {}", kLost, message));
  std::vector<std::weak_ptr<TensorMemory>> memories;
  {
    std::lock_guard lock(mutex_);
    memories = memories_;
  }
  pending.reject_all(error);
  for (const auto& weak : memories)
    if (auto memory = weak.lock()) memory->reads.reject_all(error);
  lost_promise.settle(ContextLostInfo{message});
}

void ContextCore::add(const std::shared_ptr<TensorMemory>& memory) {
  std::lock_guard lock(mutex_);
  keep(memories_, memory);
}

void ContextCore::add(const std::shared_ptr<GraphCore>& graph) {
  std::lock_guard lock(mutex_);
  keep(graphs_, graph);
}

void ContextCore::free_all() {
  std::vector<std::weak_ptr<TensorMemory>> memories;
  std::vector<std::weak_ptr<GraphCore>> graphs;
  {
    std::lock_guard lock(mutex_);
    memories.swap(memories_);
    graphs.swap(graphs_);
  }
  for (const auto& weak : memories)
    if (auto memory = weak.lock()) memory->free();
  for (const auto& weak : graphs)
    if (auto graph = weak.lock()) graph->session.reset();
}

Future<Context> createContext(const ContextOptions& options, Environment environment) {
  Promise<Context> promise;
  if (environment.threads < 0) {
    promise.settle(type_error(fmt::format("found {} threads; needed 0 or more", environment.threads)));
    return promise.future();
  }
  auto state = std::make_shared<ContextState>(environment.own_thread);
  state->options = options;
  state->threads = environment.threads;
  state->checks_only = environment.checks_only;
  state->core->post = std::move(environment.post);
  state->core->complete([promise, state] { promise.settle(Context(state)); });
  return promise.future();
}

Status Context::dispatch(const Graph& graph, const NamedTensors& inputs, const NamedTensors& outputs) const {
  NNEX_TRY(usable(state_, "dispatch"));
  if (graph.empty()) return type_error("dispatch: the graph is empty");
  if (graph.state()->context != state_) return type_error("dispatch: the graph is of another context");
  const GraphState& g = *graph.state();
  if (g.destroyed.load(std::memory_order_acquire)) return invalid_state("dispatch: the graph is destroyed");
  Work work;
  work.tensors.reserve(inputs.size() + outputs.size());
  NNEX_TRY(match_ports(*state_, g.inputs, inputs, "input", work.tensors));
  NNEX_TRY(match_ports(*state_, g.outputs, outputs, "output", work.tensors));
  if (repeats(work.tensors)) return type_error("dispatch: one tensor is bound twice");
  if (state_->checks_only) return {};
  work.graph = g.core;
  state_->timeline.push(std::move(work));
  return {};
}

Future<Tensor> Context::createTensor(const TensorDescriptor& descriptor) const {
  if (Status s = usable(state_, "createTensor"); !s.ok()) return rejected<Tensor>(std::move(s).error());
  if (Status s = check_dimensions(descriptor.dataType, descriptor.shape, "createTensor"); !s.ok())
    return rejected<Tensor>(std::move(s).error());
  auto tensor = std::make_shared<TensorState>();
  tensor->context = state_;
  tensor->descriptor = descriptor;
  tensor->bytes = byte_length(descriptor.dataType, descriptor.shape);
  state_->core->add(tensor->memory);
  Promise<Tensor> promise;
  auto core = state_->core;
  const uint64_t id = core->pending.add([promise](const Error& e) { promise.settle(e); });
  Work work;
  work.call = [core, tensor, promise, id] {
    nnex::Result<nnex::Tensor> bytes = nnex::Tensor();
    if (!tensor->context->checks_only) bytes = make_zeros(tensor->descriptor);
    Result<Tensor> result = Tensor(tensor);
    if (core->lost.load(std::memory_order_acquire))
      result = invalid_state(fmt::format("createTensor: {}", kLost));
    else if (!bytes.ok())
      result = from_engine(ErrorKind::UnknownError, bytes.error());
    else
      tensor->memory->bytes = std::move(bytes).value();
    core->complete([core, promise, id, result = std::move(result)]() mutable {
      if (core->pending.claim(id)) promise.settle(std::move(result));
    });
  };
  state_->timeline.push(std::move(work));
  return promise.future();
}

Future<Tensor> Context::createTensor(const OperandDescriptor& descriptor, TensorUsage usage) const {
  return createTensor(TensorDescriptor{.dataType = descriptor.dataType,
                                       .shape = descriptor.shape,
                                       .readable = usage.readable,
                                       .writable = usage.writable});
}

Future<Tensor> Context::createConstantTensor(const OperandDescriptor& descriptor, BufferSource data) const {
  if (Status s = usable(state_, "createConstantTensor"); !s.ok()) return rejected<Tensor>(std::move(s).error());
  if (Status s = check_dimensions(descriptor.dataType, descriptor.shape, "createConstantTensor"); !s.ok())
    return rejected<Tensor>(std::move(s).error());
  if (Status s = check_buffer(descriptor, data, "createConstantTensor"); !s.ok())
    return rejected<Tensor>(std::move(s).error());
  nnex::Result<nnex::Tensor> content = nnex::Tensor();
  if (!state_->checks_only) content = make_bytes(descriptor, data.bytes);
  if (!content.ok()) return rejected<Tensor>(from_engine(ErrorKind::UnknownError, content.error()));
  auto tensor = std::make_shared<TensorState>();
  tensor->context = state_;
  tensor->descriptor = {.dataType = descriptor.dataType, .shape = descriptor.shape};
  tensor->constant = true;
  tensor->bytes = static_cast<int64_t>(data.bytes.size());
  tensor->content = std::move(content).value();
  Promise<Tensor> promise;
  auto core = state_->core;
  const uint64_t id = core->pending.add([promise](const Error& e) { promise.settle(e); });
  Work work;
  work.call = [core, tensor, promise, id] {
    core->complete([core, tensor, promise, id] {
      if (core->pending.claim(id)) promise.settle(Tensor(tensor));
    });
  };
  state_->timeline.push(std::move(work));
  return promise.future();
}

Status check_readable(const std::shared_ptr<ContextState>& context, const Tensor& tensor) {
  if (!context) return usable(context, "readTensor");
  if (tensor.empty()) return type_error("readTensor: the tensor is empty");
  if (tensor.state()->context != context) return type_error("readTensor: the tensor is of another context");
  NNEX_TRY(usable(context, "readTensor"));
  if (tensor.state()->gone()) return invalid_state("readTensor: the tensor is destroyed");
  if (!tensor.readable()) return type_error("readTensor: the tensor is not readable");
  return {};
}

Future<std::vector<std::byte>> Context::readTensor(const Tensor& tensor) const {
  using Bytes = std::vector<std::byte>;
  if (Status s = check_readable(state_, tensor); !s.ok()) return rejected<Bytes>(std::move(s).error());
  Promise<Bytes> promise;
  auto memory = tensor.state()->memory;
  const uint64_t id = memory->reads.add([promise](const Error& e) { promise.settle(e); });
  Work work;
  work.call = [core = state_->core, memory, promise, id] {
    if (memory->gone || core->lost.load(std::memory_order_acquire)) {
      core->complete([memory, promise, id] {
        if (memory->reads.claim(id)) promise.settle(invalid_state("readTensor: the tensor is destroyed"));
      });
      return;
    }
    core->complete([memory, promise, id, bytes = copy_of(memory->bytes)]() mutable {
      if (memory->reads.claim(id)) promise.settle(std::move(bytes));
    });
  };
  state_->timeline.push(std::move(work));
  return promise.future();
}

Future<Nothing> Context::readTensor(const Tensor& tensor, std::span<std::byte> outputData) const {
  if (Status s = check_readable(state_, tensor); !s.ok()) return rejected<Nothing>(std::move(s).error());
  if (static_cast<int64_t>(outputData.size()) < tensor.state()->bytes)
    return rejected<Nothing>(type_error(fmt::format("readTensor: found room for {} bytes; the tensor has {}",
                                                    outputData.size(), tensor.state()->bytes)));
  Promise<Nothing> promise;
  auto memory = tensor.state()->memory;
  const uint64_t id = memory->reads.add([promise](const Error& e) { promise.settle(e); });
  Work work;
  work.call = [core = state_->core, memory, promise, id, outputData] {
    if (memory->gone || core->lost.load(std::memory_order_acquire)) {
      core->complete([memory, promise, id] {
        if (memory->reads.claim(id)) promise.settle(invalid_state("readTensor: the tensor is destroyed"));
      });
      return;
    }
    const auto settle = [memory, promise, id, outputData](std::span<const std::byte> bytes) {
      if (!memory->reads.claim(id)) return;
      std::memcpy(outputData.data(), bytes.data(), bytes.size());
      promise.settle(Nothing{});
    };
    if (!core->post) return settle({memory->bytes.data(), static_cast<size_t>(memory->bytes.bytes())});
    core->complete([memory, promise, id, settle, bytes = copy_of(memory->bytes)] {
      if (bytes.ok()) return settle(*bytes);
      if (memory->reads.claim(id)) promise.settle(bytes.error());
    });
  };
  state_->timeline.push(std::move(work));
  return promise.future();
}

Status Context::writeTensor(const Tensor& tensor, BufferSource inputData) const {
  if (!state_) return usable(state_, "writeTensor");
  if (tensor.empty()) return type_error("writeTensor: the tensor is empty");
  if (tensor.state()->context != state_) return type_error("writeTensor: the tensor is of another context");
  TensorState& t = *tensor.state();
  NNEX_TRY(usable(state_, "writeTensor"));
  if (t.gone()) return invalid_state("writeTensor: the tensor is destroyed");
  if (!t.descriptor.writable) return type_error("writeTensor: the tensor is not writable");
  if (static_cast<int64_t>(inputData.bytes.size()) != t.bytes)
    return type_error(fmt::format("writeTensor: found {} bytes; the tensor has {}", inputData.bytes.size(), t.bytes));
  if (state_->checks_only) return {};
  auto bytes = make_bytes(t.descriptor, inputData.bytes);
  if (!bytes.ok()) return from_engine(ErrorKind::UnknownError, bytes.error());
  Work work;
  work.tensors.push_back(t.memory);
  work.bytes = std::move(bytes).value();
  state_->timeline.push(std::move(work));
  return {};
}

const OpSupportLimits& Context::opSupportLimits() const { return op_support_limits(); }
bool Context::accelerated() const { return held(state_, "Context::accelerated").options.accelerated; }
Future<ContextLostInfo> Context::lost() const {
  if (!state_) return rejected<ContextLostInfo>(type_error("lost: the context is empty"));
  return state_->core->lost_promise.future();
}

void Context::destroy() const {
  if (!state_ || state_->timeline.forked() || state_->lost()) return;
  state_->core->lose("destroyed by destroy()");
  Work work;
  work.call = [core = state_->core] { core->free_all(); };
  state_->timeline.push(std::move(work));
}

void Tensor::destroy() const {
  if (!state_ || state_->context->timeline.forked()) return;
  if (state_->destroyed.exchange(true, std::memory_order_acq_rel)) return;
  state_->memory->reads.reject_all(invalid_state("readTensor: the tensor was destroyed"));
  Work work;
  work.call = [memory = state_->memory] { memory->free(); };
  state_->context->timeline.push(std::move(work));
}

void Graph::destroy() const {
  if (!state_ || state_->context->timeline.forked()) return;
  if (state_->destroyed.exchange(true, std::memory_order_acq_rel)) return;
  Work work;
  work.call = [core = state_->core] { core->session.reset(); };
  state_->context->timeline.push(std::move(work));
}

void GraphCore::run(const std::vector<std::shared_ptr<TensorMemory>>& tensors) {
  if (!session || context->lost.load(std::memory_order_acquire)) return;
  for (const auto& t : tensors)
    if (t->gone) return;  // destroyed on another thread while this was being queued
  for (size_t i = 0; i < input_of.size(); ++i) in[input_of[i]] = nnex::Value(tensors[i]->bytes);
  const auto* outputs = tensors.data() + input_of.size();
  for (size_t i = 0; i < output_of.size(); ++i) out[output_of[i]] = outputs[i]->bytes;
  RunOptions options;
  options.cancel = &context->lost;
  const nnex::Status ran = session->run_into(in, out, options);
  for (size_t i = 0; i < output_of.size(); ++i) {  // an operand under several names: the last one was written
    const nnex::Tensor& made = out[output_of[i]];
    if (outputs[i]->bytes.data() != made.data())
      copy_bytes(outputs[i]->bytes.mutable_data(), made.data(), made.bytes());
  }
  for (nnex::Value& v : in) v = nnex::Value();
  for (nnex::Tensor& t : out) t = nnex::Tensor();
  if (ran.ok()) return;
  auto self = context;
  self->complete([self, message = ran.error().text()] { self->lose("an inference failed: " + message); });
}

}  // namespace nnex::ml
