// A hostile node as a call of WebNN by name, built, dispatched and read.

#include <fmt/format.h>

#include "hostile_run.h"
#include "nnex/webnn.h"
#include "tensor/convert.h"
#include "webnn/builder.h"
#include "webnn/call.h"
#include "webnn/method.h"

namespace nnex::test {
namespace {

ml::idl::Value as_idl(const AttrValue& value) {
  using ml::idl::Value;
  const auto list = [](const auto& items) {
    ml::idl::Sequence out;
    for (const auto& item : items) out.emplace_back(item);
    return Value(std::move(out));
  };
  if (auto* b = std::get_if<bool>(&value)) return *b;
  if (auto* i = std::get_if<int64_t>(&value)) return *i;
  if (auto* x = std::get_if<double>(&value)) return *x;
  if (auto* s = std::get_if<std::string>(&value)) return *s;
  if (auto* l = std::get_if<Ints>(&value)) return list(*l);
  if (auto* l = std::get_if<Reals>(&value)) return list(*l);
  if (auto* l = std::get_if<Texts>(&value)) return list(*l);
  if (auto* t = std::get_if<DType>(&value)) {
    const auto type = ml::data_type_of(*t);
    return std::string(type ? ml::name(*type) : name(*t));
  }
  if (auto* pairs = std::get_if<Pairs>(&value)) {
    ml::idl::Sequence out;
    for (const auto& [a, b] : *pairs) out.emplace_back(a), out.emplace_back(b);
    return Value(std::move(out));
  }
  return {};
}

struct Fed {
  std::string name;
  ml::OperandDescriptor descriptor;
  Tensor content;
};

class WebNnCall {
 public:
  WebNnCall(const HostileCase& c, const ml::Context& context) : c_(c), context_(context) {}

  void run() {
    auto builder = ml::GraphBuilder::create(context_);
    const ml::Method* method = ml::find_method(c_.spelling->name);
    if (!builder.ok() || !method) return;
    make_operands(*builder);
    std::vector<ml::idl::Value> args;
    for (const ml::Param& p : method->params) args.push_back(argument(p));
    if (method->options) {
      ml::idl::Dictionary options;
      for (const ml::Param& p : method->options->members)
        if (auto value = argument(p); !value.undefined()) options.emplace_back(std::string(p.name), std::move(value));
      args.emplace_back(std::move(options));
    }
    auto made = ml::call(*builder->state(), method->name, args);
    if (!made.ok()) return;
    ml::NamedOperands results;
    for (size_t i = 0; i < made->size(); ++i) results[fmt::format("y{}", i)] = (*made)[i];
    const auto graph = builder->build(results).get();
    if (graph.ok()) dispatch(*graph);
  }

 private:
  void make_operands(ml::GraphBuilder& builder) {
    for (size_t i = 0; i < c_.inputs.size(); ++i) {
      if (!c_.inputs[i] || (i < c_.op->inputs.size() && c_.op->inputs[i].by_value)) continue;
      const Tensor& t = c_.inputs[i]->content;
      auto fed = ml::data_type_of(t.dtype()) ? Result<Tensor>(t) : convert(t, DType::f32);
      if (!fed.ok()) continue;
      Fed f{fmt::format("x{}", i), {*ml::data_type_of(fed->dtype()), {}}, *fed};
      for (int64_t e : t.shape()) f.descriptor.shape.push_back(static_cast<uint32_t>(e));
      const auto bytes = std::span<const std::byte>(fed->data(), static_cast<size_t>(fed->bytes()));
      auto operand =
          c_.inputs[i]->constant ? builder.constant(f.descriptor, bytes) : builder.input(f.name, f.descriptor);
      if (!operand.ok()) continue;
      operands_.push_back(*operand);
      if (!c_.inputs[i]->constant) fed_.push_back(std::move(f));
    }
  }

  ml::idl::Value argument(const ml::Param& p) {
    if (p.kind == ml::ArgKind::operand)
      return next_ < operands_.size() ? ml::idl::Value(operands_[next_++]) : ml::idl::Value();
    if (p.kind == ml::ArgKind::operands) {
      ml::idl::Sequence all;
      for (; next_ < operands_.size(); ++next_) all.emplace_back(operands_[next_]);
      return all;
    }
    std::string_view ours = p.name;
    for (const Rename& r : c_.spelling->renames)
      if (r.theirs == p.name) ours = r.ours;
    for (const auto& [name, value] : c_.attrs)
      if (name == ours) return as_idl(value);
    const int port = c_.op->input(ours);
    const auto i = static_cast<size_t>(std::max(port, 0));
    if (port < 0 || i >= c_.inputs.size() || !c_.inputs[i] || !is_int(c_.inputs[i]->content.dtype())) return {};
    return as_idl(ints_of(c_.inputs[i]->content));
  }

  void dispatch(const ml::Graph& graph) {
    ml::NamedTensors in, out;
    for (const Fed& f : fed_) {
      auto t = context_.createTensor(f.descriptor, {.writable = true}).get();
      if (!t.ok()) return;
      (void)context_.writeTensor(*t,
                                 std::span<const std::byte>(f.content.data(), static_cast<size_t>(f.content.bytes())));
      in.emplace(f.name, *t);
    }
    for (const auto& [name, d] : graph.outputs()) {
      if (ml::byte_length(d.dataType, d.shape) > int64_t{64} << 20) return;
      auto t = context_.createTensor(d, {.readable = true}).get();
      if (!t.ok()) return;
      out.emplace(name, *t);
    }
    if (!context_.dispatch(graph, in, out).ok()) return;
    for (const auto& [name, t] : out) (void)context_.readTensor(t).get();
  }

  const HostileCase& c_;
  const ml::Context& context_;
  std::vector<ml::Operand> operands_;
  std::vector<Fed> fed_;
  size_t next_ = 0;
};

}  // namespace

void run_hostile_webnn(const HostileCase& c) {
  ml::Environment environment;
  environment.threads = 1;
  environment.own_thread = false;
  const auto context = ml::createContext({}, environment).get();
  if (context.ok()) WebNnCall(c, *context).run();
}

}  // namespace nnex::test
