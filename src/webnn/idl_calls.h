#pragma once
// The calls on contexts and builders that are no operations, with the arguments a binding passes: overloads,
// conversion, then the call. What gives a promise rejects it where the conversion fails.

#include <span>

#include "webnn/idl.h"

namespace nnex::ml::idl {

using Args = std::span<const Value>;

/// ML.createContext(options). Unknown members are ignored.
Future<Context> create_context(Args args, Environment environment);

/// MLContext
Future<Tensor> create_tensor(const Context& context, Args args);
Future<Tensor> create_constant_tensor(const Context& context, Args args);
Status write_tensor(const Context& context, Args args);
/// dispatch(graph, inputs, outputs), its first argument taken out.
Status dispatch(const Context& context, const Graph& graph, Args args);

/// MLGraphBuilder
Result<Operand> input(GraphBuilder& builder, Args args);
/// constant(descriptor, buffer), constant(dataType, value), constant(tensor): told apart by count and by whether the
/// first argument is an object.
Result<Operand> constant(GraphBuilder& builder, Args args);
Future<Graph> build(GraphBuilder& builder, Args args);

}  // namespace nnex::ml::idl
