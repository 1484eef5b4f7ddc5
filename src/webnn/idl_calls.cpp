#include "webnn/idl_calls.h"

#include <fmt/format.h>

#include "base/try.h"
#include "webnn/builder.h"
#include "webnn/call.h"

namespace nnex::ml::idl {
namespace {

template <class T>
Future<T> rejected(Error error) {
  Promise<T> promise;
  promise.settle(std::move(error));
  return promise.future();
}

const Value& at(Args args, size_t i) {
  static const Value absent;
  return i < args.size() ? args[i] : absent;
}

Status count(Args args, size_t needed, std::string_view what) {
  if (args.size() >= needed) return {};
  return type_error(fmt::format("{}: found {} arguments; needed {}", what, args.size(), needed));
}

Result<Tensor> to_tensor(const Value& v, std::string_view what) {
  if (v.tensor()) return *v.tensor();
  return type_error(fmt::format("{}: found {}; needed a tensor", what, v.text()));
}

/// record<USVString, T>: own members of an object.
template <class T, class Convert>
Result<std::map<std::string, T>> to_record(const Value& v, std::string_view what, Convert&& convert) {
  std::map<std::string, T> out;
  if (!v.object()) return type_error(fmt::format("{}: found {}; needed an object", what, v.text()));
  if (!v.dictionary()) return out;
  for (const auto& [name, member] : *v.dictionary()) {
    auto item = convert(member, fmt::format("{}: '{}'", what, printable(name)));
    if (!item.ok()) return std::move(item).error();
    out.insert_or_assign(name, std::move(item).value());
  }
  return out;
}

}  // namespace

Future<Context> create_context(Args args, Environment environment) {
  auto options = to_context_options(at(args, 0), "createContext");
  if (!options.ok()) return rejected<Context>(std::move(options).error());
  return createContext(*options, std::move(environment));
}

Future<Tensor> create_tensor(const Context& context, Args args) {
  if (Status s = count(args, 1, "createTensor"); !s.ok()) return rejected<Tensor>(std::move(s).error());
  auto descriptor = to_tensor_descriptor(args[0], "createTensor");
  if (!descriptor.ok()) return rejected<Tensor>(std::move(descriptor).error());
  return context.createTensor(*descriptor);
}

Future<Tensor> create_constant_tensor(const Context& context, Args args) {
  if (Status s = count(args, 2, "createConstantTensor"); !s.ok()) return rejected<Tensor>(std::move(s).error());
  auto descriptor = to_operand_descriptor(args[0], "createConstantTensor");
  if (!descriptor.ok()) return rejected<Tensor>(std::move(descriptor).error());
  auto data = to_buffer_source(args[1], "createConstantTensor");
  if (!data.ok()) return rejected<Tensor>(std::move(data).error());
  return context.createConstantTensor(*descriptor, data->source);
}

Status write_tensor(const Context& context, Args args) {
  NNEX_TRY(count(args, 2, "writeTensor"));
  NNEX_ASSIGN(const Tensor tensor, to_tensor(args[0], "writeTensor"));
  NNEX_ASSIGN(const View data, to_buffer_source(args[1], "writeTensor"));
  return context.writeTensor(tensor, data.source);
}

Status dispatch(const Context& context, const Graph& graph, Args args) {
  NNEX_TRY(count(args, 2, "dispatch"));
  NNEX_ASSIGN(const NamedTensors inputs, to_record<Tensor>(args[0], "dispatch: inputs", to_tensor));
  NNEX_ASSIGN(const NamedTensors outputs, to_record<Tensor>(args[1], "dispatch: outputs", to_tensor));
  return context.dispatch(graph, inputs, outputs);
}

Result<Operand> input(GraphBuilder& builder, Args args) {
  NNEX_TRY(count(args, 2, "input"));
  NNEX_ASSIGN(const std::string name, to_string(args[0], "input: name"));
  NNEX_ASSIGN(const OperandDescriptor descriptor, to_operand_descriptor(args[1], "input: descriptor"));
  return builder.input(name, descriptor);
}

Result<Operand> constant(GraphBuilder& builder, Args args) {
  NNEX_TRY(count(args, 1, "constant"));
  if (args.size() == 1) {
    NNEX_ASSIGN(const Tensor tensor, to_tensor(args[0], "constant"));
    return builder.constant(tensor);
  }
  if (args[0].object() || args[0].undefined() || args[0].null()) {
    NNEX_ASSIGN(const OperandDescriptor descriptor, to_operand_descriptor(args[0], "constant: descriptor"));
    NNEX_ASSIGN(const View buffer, to_buffer_source(args[1], "constant: buffer"));
    return builder.constant(descriptor, buffer.source);
  }
  NNEX_ASSIGN(const DataType type, to_data_type(args[0], "constant: dataType"));
  NNEX_ASSIGN(const Number value, to_ml_number(args[1], "constant: value"));
  return builder.constant(type, value);
}

Future<Graph> build(GraphBuilder& builder, Args args) {
  if (Status s = count(args, 1, "build"); !s.ok()) return rejected<Graph>(std::move(s).error());
  auto outputs = to_record<Operand>(args[0], "build: outputs",
                                    [](const Value& v, std::string_view what) { return to_operand(v, what); });
  if (!outputs.ok()) return rejected<Graph>(std::move(outputs).error());
  return builder.build(*outputs);
}

}  // namespace nnex::ml::idl

namespace nnex::ml {

Result<std::vector<Operand>> call(GraphBuilder& builder, std::string_view operation, std::span<const idl::Value> args) {
  if (!builder.state()) return usable(builder.state()).error();
  if (operation != "input" && operation != "constant") return call(*builder.state(), operation, args);
  NNEX_ASSIGN(Operand one, operation == "input" ? idl::input(builder, args) : idl::constant(builder, args));
  return std::vector{std::move(one)};
}

}  // namespace nnex::ml
