#include "webnn/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "base/joined.h"
#include "passes/passes.h"
#include "run/compile.h"
#include "webnn/context.h"

namespace nnex::ml {
namespace {

/// The typed arrays of types, beside the Uint8Array that all take; int4 and uint4 have none.
constexpr struct {
  DataType type;
  BufferKind kind;
  std::string_view name;
} kViews[] = {{DataType::float32, BufferKind::Float32Array, "Float32Array"},
              {DataType::float16, BufferKind::Float16Array, "Float16Array"},
              {DataType::float16, BufferKind::Uint16Array, "Uint16Array"},
              {DataType::int32, BufferKind::Int32Array, "Int32Array"},
              {DataType::uint32, BufferKind::Uint32Array, "Uint32Array"},
              {DataType::int64, BufferKind::BigInt64Array, "BigInt64Array"},
              {DataType::uint64, BufferKind::BigUint64Array, "BigUint64Array"},
              {DataType::int8, BufferKind::Int8Array, "Int8Array"}};

nnex::Shape extents(const std::vector<uint32_t>& shape) {
  return nnex::Shape(std::vector<int64_t>(shape.begin(), shape.end()));
}

/// Takes away what no result depends on, unused inputs too.
nnex::Status prune(ir::Graph& graph) {
  NNEX_TRY(passes::drop_unused(graph));
  for (size_t i = graph.inputs().size(); i-- > 0;)
    if (graph[graph.inputs()[i]].uses.empty()) graph.remove_param(kMain, i);
  return {};
}

/// The first name that two inputs of a graph share; empty when none do.
std::string repeated_input(const ir::Graph& graph) {
  std::set<std::string> names;
  for (ValueId v : graph.inputs())
    if (!names.insert(graph[v].name).second && !graph[v].name.empty()) return graph[v].name;
  return {};
}

/// The values of the outputs in their order, each once.
std::vector<ValueId> values_of(const NamedOperands& outputs) {
  std::vector<ValueId> values;
  std::set<ValueId> taken;
  for (const auto& [name, operand] : outputs)
    if (taken.insert(operand.state()->value).second) values.push_back(operand.state()->value);
  return values;
}

/// Whether the outputs depend on a constant tensor that is destroyed.
bool need_gone_tensor(const BuilderState& builder, const NamedOperands& outputs) {
  const auto& tensors = builder.constant_tensors;
  const auto gone = [](const auto& constant) { return constant.second->gone(); };
  if (std::none_of(tensors.begin(), tensors.end(), gone)) return false;
  ir::Graph graph = builder.graph;
  graph.set_results(kMain, values_of(outputs));
  return !passes::drop_unused(graph).ok() || std::any_of(tensors.begin(), tensors.end(), [&](const auto& constant) {
    return gone(constant) && !graph[constant.first].uses.empty();
  });
}

/// What build() hands to the timeline.
struct Blueprint {
  ir::Graph graph;
  std::shared_ptr<GraphState> made = std::make_shared<GraphState>();
};

/// Compiles and opens a session. The model's inputs and outputs are in ascending order of name already.
nnex::Status compile(Blueprint& b) {
  GraphCore& core = *b.made->core;
  NNEX_ASSIGN(Model model, nnex::compile(std::move(b.graph)));
  SessionOptions options;
  options.threads = b.made->context->threads;
  core.in.resize(model.inputs().size());
  core.out.resize(model.outputs().size());
  Session session = model.session(options);
  NNEX_TRY(session.prepare());
  core.session.emplace(std::move(session));
  return {};
}

/// The graph's inputs and outputs by name, and where they stand in the engine's graph.
void describe(Blueprint& b, const NamedOperands& outputs) {
  GraphState& made = *b.made;
  std::map<std::string, size_t> at;
  const auto& params = b.graph.inputs();
  for (size_t i = 0; i < params.size(); ++i) {
    const ValueDef& def = b.graph[params[i]];
    if (def.name.empty()) continue;  // a constant whose bytes are elsewhere
    OperandDescriptor d;
    d.dataType = *data_type_of(def.type.dtype);
    for (const Dim& dim : *def.type.dims) d.shape.push_back(static_cast<uint32_t>(dim.value()));
    made.inputs.emplace(def.name, std::move(d));
    at.emplace(def.name, i);
  }
  for (const auto& [name, index] : at) made.core->input_of.push_back(index);
  const auto& results = b.graph.outputs();
  std::map<ValueId, size_t> place;
  for (size_t i = 0; i < results.size(); ++i) place.emplace(results[i], i);
  for (const auto& [name, operand] : outputs) {
    made.outputs.emplace(name, OperandDescriptor{operand.dataType(), operand.shape()});
    made.core->output_of.push_back(place.at(operand.state()->value));
  }
}

Status check_named_outputs(const BuilderState& builder, const NamedOperands& outputs) {
  if (outputs.empty()) return type_error("build: found no outputs; needed at least one");
  for (const auto& [name, operand] : outputs) {
    if (name.empty()) return type_error("build: an output has an empty name");
    if (operand.empty()) return type_error(fmt::format("build: output '{}' is an empty operand", name));
    if (!builder.owns(operand)) return type_error(fmt::format("build: output '{}' is of another builder", name));
    if (operand.state()->role != OperandState::Role::computed)
      return type_error(fmt::format("build: output '{}' is an input or a constant", name));
  }
  if (need_gone_tensor(builder, outputs)) return type_error("build: a constant tensor of the graph is destroyed");
  return {};
}

Future<Graph> rejected_graph(Error error) {
  Promise<Graph> promise;
  promise.settle(std::move(error));
  return promise.future();
}

}  // namespace

Status check_buffer(const OperandDescriptor& descriptor, const BufferSource& buffer, std::string_view what) {
  const int64_t needed = byte_length(descriptor.dataType, descriptor.shape);
  if (static_cast<int64_t>(buffer.bytes.size()) != needed)
    return type_error(fmt::format("{}: found {} bytes; {} [{}] needs {}", what, buffer.bytes.size(),
                                  name(descriptor.dataType), joined(descriptor.shape, ", "), needed));
  const BufferKind k = buffer.kind;
  if (k == BufferKind::ArrayBuffer || k == BufferKind::SharedArrayBuffer || k == BufferKind::Uint8Array) return {};
  std::string views;
  for (const auto& [type, kind, view] : kViews) {
    if (type != descriptor.dataType) continue;
    if (kind == k) return {};
    views += fmt::format("{}, ", view);
  }
  return type_error(fmt::format("{}: found a view of another type than {}; needed {}Uint8Array or ArrayBuffer", what,
                                name(descriptor.dataType), views));
}

Status BuilderState::can_build() const {
  if (context->timeline.forked()) return invalid_state(fmt::format("the builder: {}", kForked));
  if (context->lost()) return invalid_state("the context of the builder is lost");
  if (built) return invalid_state("the builder has built its graph");
  return {};
}

Status usable(const std::shared_ptr<BuilderState>& builder) {
  if (!builder) return type_error("the builder is empty; needed one of GraphBuilder::create()");
  return builder->can_build();
}

Operand BuilderState::operand(ValueId value, DataType type, std::vector<uint32_t> shape, OperandState::Role role) {
  graph.set_type(value, Type::tensor(dtype_of(type), dims_of(extents(shape))));
  auto state = std::make_shared<OperandState>();
  state->builder = shared_from_this();
  state->value = value;
  state->dataType = type;
  state->shape = std::move(shape);
  state->role = role;
  return Operand(std::move(state));
}

Operand BuilderState::absent_constant(DataType type, const std::vector<uint32_t>& shape) {
  return operand(graph.add_param(kMain, "", Type()), type, shape, OperandState::Role::constant);
}

Result<GraphBuilder> GraphBuilder::create(const Context& context) {
  if (context.empty()) return type_error("GraphBuilder: the context is empty");
  if (context.state()->lost()) return invalid_state("GraphBuilder: the context is lost");
  GraphBuilder builder;
  builder.state_ = std::make_shared<BuilderState>();
  builder.state_->context = context.state();
  return builder;
}

Result<Operand> GraphBuilder::input(const std::string& name, const OperandDescriptor& descriptor) {
  NNEX_TRY(usable(state_));
  if (name.empty()) return type_error("input: the name is empty");
  NNEX_TRY(check_dimensions(descriptor.dataType, descriptor.shape, fmt::format("input '{}'", name)));
  const ValueId v = state_->graph.add_param(kMain, name, Type());
  return state_->operand(v, descriptor.dataType, descriptor.shape, OperandState::Role::input);
}

Result<Operand> GraphBuilder::constant(const OperandDescriptor& descriptor, BufferSource buffer) {
  NNEX_TRY(usable(state_));
  NNEX_TRY(check_dimensions(descriptor.dataType, descriptor.shape, "constant"));
  NNEX_TRY(check_buffer(descriptor, buffer, "constant"));
  if (state_->context->checks_only) return state_->absent_constant(descriptor.dataType, descriptor.shape);
  auto made = nnex::Tensor::make(dtype_of(descriptor.dataType), extents(descriptor.shape));
  if (!made.ok()) return from_engine(ErrorKind::UnknownError, made.error());
  nnex::Tensor content = std::move(made).value();
  std::memcpy(content.mutable_data(), buffer.bytes.data(), buffer.bytes.size());
  const ValueId v = state_->graph.add_constant(std::move(content));
  return state_->operand(v, descriptor.dataType, descriptor.shape, OperandState::Role::constant);
}

Result<Operand> GraphBuilder::constant(DataType dataType, const Number& value) {
  NNEX_TRY(usable(state_));
  NNEX_TRY(check_type_exists(dataType, "constant"));
  if (dataType == DataType::int4 || dataType == DataType::uint4)
    return type_error(fmt::format("constant: a scalar cannot be {}", name(dataType)));
  if (value.big_int() && dataType != DataType::int64 && dataType != DataType::uint64)
    return type_error(fmt::format("constant: a BigInt cannot be {}", name(dataType)));
  const ValueId v = state_->graph.add_constant(cast_number(dataType, value));
  return state_->operand(v, dataType, {}, OperandState::Role::constant);
}

/// The text asks what the tensor is before it asks whether the builder can build.
Result<Operand> GraphBuilder::constant(const Tensor& tensor) {
  if (!state_) return usable(state_).error();
  if (tensor.empty()) return type_error("constant: the tensor is empty");
  if (tensor.state()->context != state_->context) return type_error("constant: the tensor is of another context");
  if (tensor.state()->destroyed) return type_error("constant: the tensor is destroyed");
  if (!tensor.constant()) return type_error("constant: the tensor is not a constant tensor");
  NNEX_TRY(state_->can_build());
  Operand made = state_->context->checks_only
                     ? state_->absent_constant(tensor.dataType(), tensor.shape())
                     : state_->operand(state_->graph.add_constant(tensor.state()->content), tensor.dataType(),
                                       tensor.shape(), OperandState::Role::constant);
  state_->constant_tensors.emplace_back(made.state()->value, tensor.state());
  return made;
}

Future<Graph> GraphBuilder::build(const NamedOperands& outputs) {
  if (Status s = usable(state_); !s.ok()) return rejected_graph(std::move(s).error());
  if (Status s = check_named_outputs(*state_, outputs); !s.ok()) return rejected_graph(std::move(s).error());
  state_->built = true;
  auto plan = std::make_shared<Blueprint>();
  plan->graph = std::move(state_->graph);
  state_->graph = ir::Graph();
  state_->constant_tensors.clear();
  plan->made->context = state_->context;
  plan->made->core->context = state_->context->core;
  plan->graph.set_results(kMain, values_of(outputs));
  if (nnex::Status s = prune(plan->graph); !s.ok())
    return rejected_graph(from_engine(ErrorKind::OperationError, s.error()));
  if (const std::string name = repeated_input(plan->graph); !name.empty())
    return rejected_graph(type_error(fmt::format("build: two inputs have the name '{}'", name)));
  describe(*plan, outputs);

  Promise<Graph> promise;
  auto core = state_->context->core;
  core->add(plan->made->core);
  const uint64_t id = core->pending.add([promise](const Error& e) { promise.settle(e); });
  Work work;
  work.call = [core, plan, promise, id] {
    const bool idle = core->lost.load(std::memory_order_acquire) || plan->made->context->checks_only;
    const nnex::Status compiled = idle ? nnex::Status() : compile(*plan);
    core->complete(
        [core, promise, id, made = plan->made, error = compiled.ok() ? std::string() : compiled.error().text()] {
          if (!core->pending.claim(id)) return;
          if (core->lost.load(std::memory_order_acquire))
            return void(promise.settle(invalid_state("build: the context is lost")));
          if (!error.empty()) return void(promise.settle(Error{ErrorKind::OperationError, error}));
          promise.settle(Graph(made));
        });
  };
  state_->context->timeline.push(std::move(work));
  return promise.future();
}

}  // namespace nnex::ml
