#include "graph/precision.h"

#include <algorithm>

#include "base/failure.h"
#include "graph/infer.h"
#include "ops/precision_call.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

/// Of a value that nobody knows anything of: more than any result may have, so that no rule makes few of them.
constexpr int64_t kUnknownBits = 64;

/// The bits that hold every element, sign included.
int64_t needed_bits(const Tensor& t) {
  if (!is_int(t.dtype()) && t.dtype() != DType::boolean) return 0;
  uint64_t max = 0;
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t x = int_at(t, i);
    max = std::max(max, x < 0 ? ~static_cast<uint64_t>(x) + 1 : static_cast<uint64_t>(x));
  }
  return digits(max) + 1;
}

/// Whether a value may be one that a file declares. One variable of a file may be named ""; a graph has other constants
/// without a name, numbers and lists of int64.
bool is_variable(const ValueDef& v) {
  if (!v.name.empty()) return true;
  const Tensor* t = v.constant.tensor();
  return t && t->shape().rank() > 0 && (t->dtype() == DType::i32 || t->dtype() == DType::i8);
}

}  // namespace

void PrecisionInference::bind(ValueId v, int64_t bits) {
  if (bits_.size() < graph_.value_count()) bits_.resize(graph_.value_count());
  bits_[v.n] = bits;
}

int64_t PrecisionInference::bits(ValueId v) const {
  if (bits_.size() < graph_.value_count()) bits_.resize(graph_.value_count());
  if (bits_[v.n] == 0 && graph_[v].constant.tensor()) bits_[v.n] = needed_bits(*graph_[v].constant.tensor());
  return bits_[v.n];
}

Status PrecisionInference::node(NodeId id) {
  const Node& node = graph_[id];
  const auto failed = [&](Error e) { return std::move(e).at(graph_.place_of(id)); };
  if (!node.op->precision)
    return failed(failure(Code::unsupported, "operator {} has no rule for bits of integers", node.op->name));
  std::vector<PrecisionCall::Operand> in;
  for (size_t i = 0; i < node.in.size(); ++i) {
    PrecisionCall::Operand operand;
    if (node.in[i].valid()) {
      const ValueDef& v = graph_[node.in[i]];
      const auto shape = concrete(v.type);
      if (!shape) return failed(failure(Code::unsupported, "input {} has extents that only a run knows", i));
      const int64_t known = bits(node.in[i]);
      operand = {true, known > 0 ? known : kUnknownBits, *shape, v.constant.tensor()};
    }
    in.push_back(std::move(operand));
  }
  std::vector<Shape> out;
  for (size_t o = 0; o < node.out.size(); ++o) {
    const auto shape = node.out[o].valid() ? concrete(graph_[node.out[o]].type) : Shape{};
    if (!shape) return failed(failure(Code::unsupported, "output {} has extents that only a run knows", o));
    out.push_back(*shape);
  }
  PrecisionCall call(*node.op, node.attrs.get(), std::move(in), std::move(out), options_.compatible);
  if (Status s = node.op->precision(call); !s.ok()) return failed(std::move(s).error());
  for (size_t o = 0; o < node.out.size(); ++o) {
    if (!node.out[o].valid()) continue;
    const int64_t bits = call.result(o);
    if (bits < 1 || bits > 32)
      return failed(failure(Code::invalid_model, "{}: output {} has {} bits; needed 1 to 32", node.op->name, o, bits));
    bind(node.out[o], bits);
  }
  return {};
}

std::vector<int64_t> infer_precision(const ir::Graph& graph, const PrecisionOptions& options, Faults& faults) {
  PrecisionInference inference(graph, options);
  const DeclaredBits& declared = graph.provenance.bits;
  for (uint32_t n = 0; n < graph.value_count(); ++n) {
    const ValueDef& v = graph[ValueId{n}];
    if (v.producer.valid()) continue;
    auto it = is_variable(v) ? declared.find(v.name) : declared.end();
    if (it != declared.end())
      inference.bind(ValueId{n}, it->second);
    else if (v.param_of == kMain && v.type.is_tensor() && is_int(v.type.dtype))
      inference.bind(ValueId{n}, nnex::bits(v.type.dtype) + 1);  // the minimum has no negative
  }
  for (NodeId id : graph.order()) faults.check(inference.node(id));
  std::vector<int64_t> out;
  for (uint32_t n = 0; n < graph.value_count(); ++n) out.push_back(inference.bits(ValueId{n}));
  return out;
}

}  // namespace nnex
