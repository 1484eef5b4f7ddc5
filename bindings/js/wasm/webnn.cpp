// WebNN: what packages/nnex/src/wasm/webnn.ts stands on. Objects are addresses; what comes later is asked for by the
// number that JavaScript gave the request (nnex_poll).

#include <deque>
#include <functional>
#include <memory>

#include "wire.h"

namespace nnex::wasm {
namespace {

/// A builder, and the operands it made: their addresses are valid as long as it is.
struct Builder {
  ml::GraphBuilder builder;
  std::deque<ml::Operand> operands;
};

/// Tasks of the contexts' event loop: JavaScript runs them, one a turn.
std::deque<std::function<void()>>& tasks() {
  static std::deque<std::function<void()>> all;
  return all;
}

/// Requests that are settled and not yet told.
struct Settled {
  uint32_t request;
  std::function<void(Reply&)> tell;
};
std::deque<Settled>& settled() {
  static std::deque<Settled> all;
  return all;
}

/// Tells of `future` under `request` once it is settled. The closure keeps the result until the one after it is asked
/// for.
template <class T, class Tell>
void when(const ml::Future<T>& future, uint32_t request, Tell tell) {
  future.then([=](const ml::Result<T>&) {
    settled().push_back({request, [future, tell](Reply& reply) {
                           const ml::Result<T>& result = future.wait();
                           if (!result.ok()) return reply.bad(result.error());
                           reply.good();
                           tell(reply, *result);
                         }});
  });
}

const uint8_t* answer(const ml::Status& status) {
  Reply& reply = Reply::fresh();
  if (status.ok())
    reply.good();
  else
    reply.bad(status.error());
  return reply.done();
}

/// u32 count, then text and address of each object.
template <class T>
std::map<std::string, T> named(Reader& reader) {
  std::map<std::string, T> all;
  for (uint32_t left = reader.u32(); left > 0; --left) {
    std::string name(reader.text());
    all.emplace(std::move(name), reader.copied<T>());
  }
  return all;
}

void tell_ports(Reply& reply, const std::map<std::string, ml::OperandDescriptor>& ports) {
  reply.u32(static_cast<uint32_t>(ports.size()));
  for (const auto& [name, descriptor] : ports) {
    reply.text(name);
    reply.descriptor(descriptor);
  }
}

void tell_tensor(Reply& reply, const ml::Tensor& tensor) { reply.address(new ml::Tensor(tensor)); }

/// JSON of names that need no escapes.
template <class Items, class Item>
std::string json(char open, const Items& items, char close, Item item) {
  std::string out(1, open);
  for (const auto& i : items) out += (out.size() > 1 ? "," : "") + item(i);
  return out + close;
}
std::string json(std::string_view text) { return '"' + std::string(text) + '"'; }
std::string json(const ml::TensorLimits& limits) {
  return "{\"dataTypes\":" + json('[', limits.dataTypes, ']', [](ml::DataType t) { return json(name(t)); }) +
         ",\"rankRange\":{\"min\":" + std::to_string(limits.rankRange.min) +
         ",\"max\":" + std::to_string(limits.rankRange.max) + "}}";
}
std::string json(const ml::OpSupportLimits& limits) {
  std::string out = "{\"preferredInputLayout\":";
  out += json(limits.preferredInputLayout == ml::InputOperandLayout::nchw ? "nchw" : "nhwc");
  out += ",\"maxTensorByteLength\":" + std::to_string(limits.maxTensorByteLength);
  out += ",\"input\":" + json(limits.input) + ",\"constant\":" + json(limits.constant);
  out += ",\"output\":" + json(limits.output);
  for (const ml::OperationLimits& op : limits.operations)
    out += ',' + json(op.name) + ':' +
           json('{', op.operands, '}', [](const auto& o) { return json(o.first) + ':' + json(o.second); });
  return out + '}';
}

}  // namespace

NNEX_EXPORT void nnex_run_task() {
  if (tasks().empty()) return;
  const auto task = std::move(tasks().front());
  tasks().pop_front();
  task();
}

/// The next settled request: u8 1, u32 request, its reply; or u8 0, u8 whether tasks wait: there is none.
NNEX_EXPORT const uint8_t* nnex_poll() {
  static std::function<void(Reply&)> told;  // keeps bytes that JavaScript still reads
  Reply& reply = Reply::fresh();
  if (settled().empty()) {
    told = nullptr;
    reply.u8(0);
    reply.u8(!tasks().empty());
    return reply.done();
  }
  Settled next = std::move(settled().front());
  settled().pop_front();
  told = std::move(next.tell);
  reply.u8(1);
  reply.u32(next.request);
  told(reply);
  return reply.done();
}

/// Text: the power preference. `checks_only`: its requests are settled at once.
NNEX_EXPORT const uint8_t* nnex_ml_context(const uint8_t* in, bool accelerated, bool checks_only) {
  const std::string_view preference = Reader(in).text();
  ml::ContextOptions options;
  options.accelerated = accelerated;
  if (preference == "high-performance") options.powerPreference = ml::PowerPreference::high_performance;
  if (preference == "low-power") options.powerPreference = ml::PowerPreference::low_power;
  ml::Environment environment;
  environment.own_thread = false;
  environment.checks_only = checks_only;
  const auto made = std::make_shared<bool>(false);  // until then nothing else is posted
  if (!checks_only)
    environment.post = [made](std::function<void()> task) { *made ? tasks().push_back(std::move(task)) : task(); };
  const ml::Result<ml::Context> context = ml::createContext(options, std::move(environment)).get();
  *made = true;
  Reply& reply = Reply::fresh();
  if (!context.ok()) return reply.bad(context.error()), reply.done();
  reply.good();
  reply.address(new ml::Context(*context));
  return reply.done();
}
NNEX_EXPORT void nnex_ml_lost(const ml::Context* context, uint32_t request) {
  when(context->lost(), request, [](Reply& reply, const ml::ContextLostInfo& info) { reply.text(info.message); });
}
NNEX_EXPORT const uint8_t* nnex_ml_limits(const ml::Context* context) {
  Reply& reply = Reply::fresh();
  reply.good();
  reply.text(json(context->opSupportLimits()));
  return reply.done();
}
NNEX_EXPORT void nnex_ml_context_destroy(const ml::Context* context) { context->destroy(); }
NNEX_EXPORT void nnex_ml_context_free(ml::Context* context) { delete context; }

NNEX_EXPORT const uint8_t* nnex_ml_builder(const ml::Context* context) {
  auto made = ml::GraphBuilder::create(*context);
  Reply& reply = Reply::fresh();
  if (made.ok()) {
    reply.good();
    reply.address(new Builder{std::move(*made), {}});
  } else {
    reply.bad(made.error());
  }
  return reply.done();
}
NNEX_EXPORT void nnex_ml_builder_free(Builder* builder) { delete builder; }

/// Text: a method that gives operands ("input", "constant", "conv2d"); values: its arguments. Gives u32 count, then
/// address and descriptor of each operand.
NNEX_EXPORT const uint8_t* nnex_ml_call(Builder* builder, const uint8_t* in) {
  Reader reader(in);
  const std::string_view method = reader.text();
  const auto made = ml::call(builder->builder, method, reader.values());
  Reply& reply = Reply::fresh();
  if (!made.ok()) return reply.bad(made.error()), reply.done();
  reply.good();
  reply.u32(static_cast<uint32_t>(made->size()));
  for (const ml::Operand& operand : *made) {
    builder->operands.push_back(operand);
    reply.address(&builder->operands.back());
    reply.text(name(operand.dataType()));
    reply.shape(operand.shape());
  }
  return reply.done();
}

/// u32 count, then text and operand of each output. Later: address of the graph, inputs, outputs.
NNEX_EXPORT void nnex_ml_build(Builder* builder, uint32_t request, const uint8_t* in) {
  Reader reader(in);
  const auto outputs = named<ml::Operand>(reader);
  when(builder->builder.build(outputs), request, [](Reply& reply, const ml::Graph& graph) {
    reply.address(new ml::Graph(graph));
    tell_ports(reply, graph.inputs());
    tell_ports(reply, graph.outputs());
  });
}
NNEX_EXPORT void nnex_ml_graph_destroy(const ml::Graph* graph) { graph->destroy(); }
NNEX_EXPORT void nnex_ml_graph_free(ml::Graph* graph) { delete graph; }

/// Descriptor. Later: address of the tensor.
NNEX_EXPORT void nnex_ml_tensor(const ml::Context* context, uint32_t request, const uint8_t* in, bool readable,
                                bool writable) {
  when(context->createTensor(Reader(in).descriptor(), {readable, writable}), request, tell_tensor);
}
/// Descriptor, buffer.
NNEX_EXPORT void nnex_ml_constant_tensor(const ml::Context* context, uint32_t request, const uint8_t* in) {
  Reader reader(in);
  const ml::OperandDescriptor descriptor = reader.descriptor();
  when(context->createConstantTensor(descriptor, reader.buffer()), request, tell_tensor);
}
NNEX_EXPORT void nnex_ml_tensor_destroy(const ml::Tensor* tensor) { tensor->destroy(); }
NNEX_EXPORT void nnex_ml_tensor_free(ml::Tensor* tensor) { delete tensor; }

/// Later: address and length of the bytes, valid until the next nnex_poll().
NNEX_EXPORT void nnex_ml_read(const ml::Context* context, const ml::Tensor* tensor, uint32_t request) {
  when(context->readTensor(*tensor), request, [](Reply& reply, const std::vector<std::byte>& bytes) {
    reply.address(bytes.data());
    reply.u32(static_cast<uint32_t>(bytes.size()));
  });
}
/// The rejection of a read into `room` bytes, which are too few.
NNEX_EXPORT void nnex_ml_read_short(const ml::Context* context, const ml::Tensor* tensor, uint32_t request,
                                    uint32_t room) {
  when(context->readTensor(*tensor, std::span(static_cast<std::byte*>(nullptr), room)), request,
       [](Reply&, const ml::Nothing&) {});
}
/// Buffer.
NNEX_EXPORT const uint8_t* nnex_ml_write(const ml::Context* context, const ml::Tensor* tensor, const uint8_t* in) {
  return answer(context->writeTensor(*tensor, Reader(in).buffer()));
}
/// Inputs, then outputs: u32 count, then text and tensor of each.
NNEX_EXPORT const uint8_t* nnex_ml_dispatch(const ml::Context* context, const ml::Graph* graph, const uint8_t* in) {
  Reader reader(in);
  const auto inputs = named<ml::Tensor>(reader);
  return answer(context->dispatch(*graph, inputs, named<ml::Tensor>(reader)));
}

}  // namespace nnex::wasm
