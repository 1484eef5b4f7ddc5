#include "run/infer_again.h"

#include "graph/infer.h"
#include "ops/infer_call.h"
#include "tensor/convert.h"

namespace nnex::run {
namespace {

/// What a rule sees of values that exist.
class ValueCall : public InferCall {
 public:
  ValueCall(const Node& node, std::span<const Value* const> in, std::span<Value* const> out) : values_(in) {
    op_ = node.op, attrs_ = node.attrs.get();
    types_.reserve(in.size());
    for (const Value* v : in) {
      types_.push_back(v ? type_of(*v) : Type{});
      in_.push_back(v ? &types_.back() : nullptr);
    }
    results_.resize(out.size());
    for (size_t o = 0; o < out.size(); ++o) {
      out_.push_back(out[o] ? &results_[o] : nullptr);
      if (out[o] && !op_->outputs[std::min(o, op_->outputs.size() - 1)].type.any_value)
        results_[o] = Type::tensor(rule_type(o));
    }
  }

  std::optional<Dims> values(size_t i) override {
    const Tensor* t = constant(i);
    if (!t || (!is_int(t->dtype()) && t->dtype() != DType::boolean)) return std::nullopt;
    const std::vector<int64_t> numbers = ints_of(*t);
    return Dims(numbers.begin(), numbers.end());
  }
  const Tensor* constant(size_t i) override { return has(i) ? values_[i]->tensor() : nullptr; }
  Result<std::vector<Type>> block(size_t, std::span<const Type>, std::span<const Tensor>) override {
    return error("its blocks are run, not asked");
  }
  const Tensor* block_content(size_t, size_t) override { return nullptr; }
  int nesting() const override { return 0; }
  void result_values(size_t, Dims) override {}

  const Type& found(size_t o) const { return results_[o]; }

 private:
  std::span<const Value* const> values_;
  std::vector<Type> types_, results_;
};

}  // namespace

Error of_the_data(Error error) {
  if (error.code() != Code::invalid_model) return error;
  Error out = Error(Code::fault, error.message()).at(error.where()).helped_by(error.remedies());
  for (const std::string& task : error.tasks()) out = std::move(out).during(task);
  return out;
}

Status infer_outputs_again(const Node& node, std::span<const Value* const> in, std::span<Value* const> out) {
  ValueCall call(node, in, out);
  if (node.op->infer)
    if (Status s = node.op->infer(call); !s.ok()) return of_the_data(std::move(s).error());
  for (size_t o = 0; o < out.size(); ++o) {
    if (!out[o]) continue;
    *out[o] = Value();
    const Type& type = call.found(o);
    if (Status s = call.check_extents(o, type); !s.ok()) return of_the_data(std::move(s).error());
    const auto shape = concrete(type);
    if (!shape || type.dtype == DType::none) continue;
    NNEX_ASSIGN(Tensor t, Tensor::make(type.dtype, *shape));
    *out[o] = Value(std::move(t));
  }
  return {};
}

}  // namespace nnex::run
