#pragma once
/// The W3C Web Neural Network API in C++: contexts, builders, tensors, graphs, one timeline a context.
///
///     auto context = *ml::createContext().get();
///     auto builder = *ml::GraphBuilder::create(context);
///     auto a = *builder.input("a", {DataType::float32, {2, 3}});
///     auto graph = *builder.build({{"y", *builder.relu(a)}}).get();
///     auto in = *context.createTensor({.dataType = DataType::float32, .shape = {2, 3}, .writable = true}).get();
///     auto out = *context.createTensor({.dataType = DataType::float32, .shape = {2, 3}, .readable = true}).get();
///     context.writeTensor(in, values);
///     context.dispatch(graph, {{"a", in}}, {{"y", out}});
///     std::vector<std::byte> bytes = *context.readTensor(out).get();
///
/// Contexts, tensors and graphs are handles: copies are the same object, safe from any thread. A builder belongs to one
/// thread at a time. Every call on a context is queued in call order on its timeline, a thread of its own; the last
/// handle to go waits for nothing: work that was queued still runs. A default-constructed handle is empty: calls that
/// can fail give a TypeError for it; what can only be asked of something that is there ends the program.

#include "nnex/webnn_ops.h"
#include "nnex/webnn_types.h"

#pragma GCC visibility push(default)
namespace nnex::ml {

/// MLTensor.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<TensorState> state) : state_(std::move(state)) {}

  DataType dataType() const;
  const std::vector<uint32_t>& shape() const;
  bool readable() const;
  bool writable() const;
  bool constant() const;
  /// Frees the memory once the work queued before is done; reads still pending are rejected with InvalidStateError at
  /// once. Twice is fine.
  void destroy() const;

  bool empty() const { return !state_; }
  const std::shared_ptr<TensorState>& state() const { return state_; }
  friend bool operator==(const Tensor& a, const Tensor& b) { return a.state_ == b.state_; }

 private:
  std::shared_ptr<TensorState> state_;
};

/// Record of tensors by name: what dispatch() takes.
using NamedTensors = std::map<std::string, Tensor>;

/// MLGraph: a compiled graph of one context.
class Graph {
 public:
  Graph() = default;
  explicit Graph(std::shared_ptr<GraphState> state) : state_(std::move(state)) {}

  /// Work queued before still finishes. Twice is fine.
  void destroy() const;
  /// Inputs and outputs by name; inputs that no output depends on are not among them.
  const std::map<std::string, OperandDescriptor>& inputs() const;
  const std::map<std::string, OperandDescriptor>& outputs() const;

  bool empty() const { return !state_; }
  const std::shared_ptr<GraphState>& state() const { return state_; }

 private:
  std::shared_ptr<GraphState> state_;
};

/// How a context meets the program around it.
struct Environment {
  /// Where futures are settled and their callbacks run: an event loop's way to be given a task, callable from any
  /// thread. Empty: on the timeline's thread. With a loop, what a task finds is what the loop's thread did before it: a
  /// tensor destroyed after readTensor() and before the task rejects the read. Where it throws, standard error has a
  /// sentence and the task runs on the timeline's thread.
  std::function<void(std::function<void()>)> post;
  /// Threads one inference may use; 0: all this process may.
  int threads = 0;
  /// False: no thread of its own; work runs inside the call that queues it (for hosts without threads).
  bool own_thread = true;
  /// Every call is checked and graphs are described, but nothing is compiled, kept or computed: bytes of buffers are
  /// counted, not read, and reads give none. For hosts that check on one thread and compute elsewhere.
  bool checks_only = false;
};

/// MLContext.
class Context {
 public:
  Context() = default;
  explicit Context(std::shared_ptr<ContextState> state) : state_(std::move(state)) {}

  /// Queues one inference. Inputs and outputs by name, exactly those of the graph. Errors: TypeError for a graph or
  /// tensor of another context, a tensor that is bound twice, destroyed or constant, names, types or shapes that are
  /// not the graph's; InvalidStateError for a destroyed graph.
  Status dispatch(const Graph& graph, const NamedTensors& inputs, const NamedTensors& outputs) const;

  /// Zeros. Rejections: InvalidStateError (lost), TypeError (descriptor), UnknownError (memory).
  Future<Tensor> createTensor(const TensorDescriptor& descriptor) const;
  /// The same for the type and shape of an input or output: createTensor(graph.inputs().at("x"), {.writable = true}).
  Future<Tensor> createTensor(const OperandDescriptor& descriptor, TensorUsage usage) const;
  /// A tensor for GraphBuilder::constant alone; the bytes are copied now.
  Future<Tensor> createConstantTensor(const OperandDescriptor& descriptor, BufferSource data) const;
  /// The bytes as they are when all work queued before is done.
  Future<std::vector<std::byte>> readTensor(const Tensor& tensor) const;
  /// The same into the caller's memory, at least as long, which lives until the future is settled; bytes after the
  /// tensor's stay as they are. It is written just before the future is settled, on that thread.
  Future<Nothing> readTensor(const Tensor& tensor, std::span<std::byte> outputData) const;
  /// Copies the bytes now, exactly as many as the tensor has, and queues the write.
  Status writeTensor(const Tensor& tensor, BufferSource inputData) const;

  const OpSupportLimits& opSupportLimits() const;
  bool accelerated() const;
  /// Settled when the context is lost or destroyed.
  Future<ContextLostInfo> lost() const;
  /// Destroys the context with its graphs and tensors; what is pending is rejected with InvalidStateError. Twice is
  /// fine.
  void destroy() const;

  bool empty() const { return !state_; }
  const std::shared_ptr<ContextState>& state() const { return state_; }

 private:
  std::shared_ptr<ContextState> state_;
};

/// ML.createContext.
Future<Context> createContext(const ContextOptions& options = {}, Environment environment = {});

/// MLGraphBuilder: makes one graph. The operations are inherited (webnn_ops.h).
class GraphBuilder : public Operations {
 public:
  /// Error: InvalidStateError when the context is lost.
  static Result<GraphBuilder> create(const Context& context);

  /// Error: TypeError for an empty name or a bad descriptor (a repeated name is build()'s matter); InvalidStateError
  /// after build() or when the context is lost (so do all others).
  Result<Operand> input(const std::string& name, const OperandDescriptor& descriptor);
  /// The bytes are copied now.
  Result<Operand> constant(const OperandDescriptor& descriptor, BufferSource buffer);
  /// A scalar, cast to the type: for whole types numbers are cut and clamped. TypeError for a BigInt that is cast to
  /// another type than int64 and uint64.
  Result<Operand> constant(DataType dataType, const Number& value);
  /// The content of a constant tensor of the same context. TypeError for another tensor, also after build().
  Result<Operand> constant(const Tensor& tensor);
  /// Compiles on the timeline. Rejections: InvalidStateError after an earlier build() or when the context is lost;
  /// TypeError for no outputs, an empty name, an operand of another builder, an input or constant as output, an output
  /// that depends on a destroyed constant tensor (the builder stays usable); OperationError when compilation fails.
  Future<Graph> build(const NamedOperands& outputs);

  const std::shared_ptr<BuilderState>& state() const { return state_; }
};

}  // namespace nnex::ml
#pragma GCC visibility pop
