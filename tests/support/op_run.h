#pragma once
// Running one operator on given tensors: inference, then the reference kernel.

#include <string>
#include <string_view>
#include <vector>

#include "base/try.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "ops/call.h"

namespace nnex::test {

/// The attributes of an operator: defaults, then those given by name.
inline std::shared_ptr<void> attrs_with(const OpDef& op, const AttrMap& given) {
  if (!op.attrs.make) return nullptr;
  auto attrs = op.attrs.make();
  for (const auto& [name, value] : given) {
    const Field* f = op.attrs.find(name);
    NNEX_ASSERT(f != nullptr);
    NNEX_ASSERT(f->set(attrs.get(), value));
  }
  return attrs;
}

/// An input that is not given.
inline Tensor absent() { return Tensor::of<float>(Shape{0}, {}).reinterpreted(DType::u32); }
inline bool is_absent(const Tensor& t) { return t.dtype() == DType::u32 && t.shape() == Shape{0}; }

/// Outputs of the operator on these inputs. Its constant inputs are constants of the graph, so that every rule sees
/// their content; with `hide` they are not, so that only the kernel does.
inline Result<std::vector<Tensor>> run_op(std::string_view name, const std::vector<Tensor>& inputs,
                                          const AttrMap& given = {}, size_t outputs = 1, bool hide = false) {
  const OpDef& def = op(name);
  auto attrs = attrs_with(def, given);
  ir::Graph graph;
  std::vector<ValueId> ids;
  std::vector<Value> held(inputs.begin(), inputs.end()), made(outputs);
  std::vector<const Value*> in;
  std::vector<Value*> out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& t = inputs[i];
    if (is_absent(t))
      ids.emplace_back();
    else if (hide)
      ids.push_back(graph.add_param(kMain, "x" + std::to_string(i), Type::tensor(t.dtype(), dims_of(t.shape()))));
    else
      ids.push_back(graph.add_constant(t));
    in.push_back(is_absent(t) ? nullptr : &held[i]);
  }
  NodeId id = graph.add_node(kMain, def, ids, outputs, attrs);
  Inference inference(graph);
  NNEX_TRY(inference.node(id));
  std::vector<Type> types;
  for (size_t o = 0; o < outputs; ++o) {
    types.push_back(inference.type(graph[id].out[o]));
    if (auto shape = concrete(types[o])) {
      NNEX_ASSIGN(made[o], Tensor::make(types[o].dtype, *shape));
    }
    out.push_back(&made[o]);
  }
  Call call(def, attrs.get(), in, out);
  NNEX_TRY(run_reference(call));
  std::vector<Tensor> results;
  for (size_t o = 0; o < outputs; ++o) {
    NNEX_ASSERT(made[o].tensor() != nullptr);
    const Tensor& t = *made[o].tensor();
    if (auto shape = concrete(types[o])) NNEX_ASSERT(*shape == t.shape());
    NNEX_ASSERT(types[o].dtype == t.dtype());
    results.push_back(t);
  }
  return results;
}

/// "f32[2] 1 2", or the error's message: what a test compares.
inline std::string shown(const Result<std::vector<Tensor>>& r, size_t o = 0) {
  if (!r.ok()) return r.error().message();
  const Tensor& t = (*r)[o];
  std::string s = std::string(nnex::name(t.dtype())) + t.shape().text();
  for (int64_t i = 0; i < t.count(); ++i) s += " " + element_text(t, i);
  return s;
}

}  // namespace nnex::test
