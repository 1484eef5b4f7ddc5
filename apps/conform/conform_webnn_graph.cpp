// Cases that are graphs: built operation by operation, run once, compared by the metric the case gives.

#include <map>

#include "conform_webnn.h"
#include "run/compile.h"
#include "tensor/convert.h"
#include "through.h"
#include "webnn/builder.h"
#include "webnn/call.h"
#include "webnn_data.h"

namespace nnex::cli {
namespace {

using ml::idl::Value;

/// A case on its way; the first thing that goes wrong ends it.
class GraphCase {
 public:
  GraphCase(const Json& one, ml::Context context, ml::GraphBuilder builder)
      : one_(one), graph_(one.at("graph")), context_(std::move(context)), builder_(std::move(builder)) {}

  std::string run() {
    if (std::string s = add_all(); !s.empty()) return s;
    return compute();
  }

  Result<std::string> run_through(std::string_view standard) {
    if (std::string s = add_all(); !s.empty()) return s;
    ir::Graph graph(builder_.state()->graph);
    std::vector<ValueId> results;
    for (const auto& [name, want] : graph_.at("expectedOutputs").items()) {
      const auto at = operands_.find(name);
      if (at == operands_.end()) return fmt::format("no operation makes '{}'", name);
      results.push_back(at->second.state()->value);
      if (!graph[results.back()].param_of.valid()) graph.set_name(results.back(), name);
    }
    graph.set_results(kMain, std::move(results));
    std::vector<Tensor> given;
    for (ValueId v : graph.inputs()) given.push_back(inputs_.at(graph[v].name));
    std::vector<std::string> conditions;
    NNEX_ASSIGN(graph, written_and_read(std::move(graph), standard, &conditions));
    NNEX_ASSIGN(const Model model, compile(std::move(graph), {}));
    NNEX_ASSIGN(std::string wrong, compare_read(model, given));
    if (wrong.empty() || conditions.empty()) return wrong;
    return Error(Code::unsupported, fmt::format("the same only where {}: {}", conditions[0], wrong));
  }

 private:
  std::string add_all() {
    for (const auto& [name, input] : graph_.at("inputs").items())
      if (std::string s = add_input(name, input); !s.empty()) return fmt::format("input '{}': {}", name, s);
    for (const Json& op : graph_.at("operators"))
      if (std::string s = add_operation(op); !s.empty()) return s;
    return {};
  }

  /// What a model that was read makes of the inputs, in their order, beside what is stored; types are the standard's.
  Result<std::string> compare_read(const Model& model, const std::vector<Tensor>& given) {
    if (model.inputs().size() != given.size())
      return fmt::format("found {} inputs; needed {}", model.inputs().size(), given.size());
    std::vector<nnex::Value> inputs;
    for (size_t i = 0; i < given.size(); ++i) {
      NNEX_ASSIGN(Tensor typed, convert(given[i], model.inputs()[i].dtype));
      inputs.emplace_back(std::move(typed));
    }
    NNEX_ASSIGN(const auto got, model.session().run(inputs));
    size_t next = 0;
    for (const auto& [name, expected] : graph_.at("expectedOutputs").items()) {
      NNEX_ASSIGN(const Tensor want, stored(expected));
      const Tensor* found = got.at(next++).tensor();
      if (!found || !(found->shape() == want.shape()))
        return fmt::format("output '{}': found {}; needed {}", name, got[next - 1].text(), nnex::Value(want).text());
      NNEX_ASSIGN(const Tensor typed, convert(*found, want.dtype()));
      if (std::string s = apart(typed, want, expected); !s.empty()) return fmt::format("output '{}': {}", name, s);
    }
    return std::string();
  }

  /// What differs by the case's metric, or nothing.
  std::string apart(const Tensor& got, const Tensor& want, const Json& expected) const {
    Closeness closeness = closeness_of(one_.value("tolerance", Json()));
    closeness.signed_zero = one_.value("signedZeroExact", false);
    // one number stands for all, of which the vectors' origin looks at so many
    return difference(got, want, closeness, expected.at("data").is_array() ? want.count() : 1000);
  }

  static Result<Tensor> stored(const Json& j) {
    const auto type = ml::data_type_named(j.at("descriptor").at("dataType").get<std::string>());
    if (!type) return Error(Code::unsupported, fmt::format("no type {}", j.at("descriptor").at("dataType").dump()));
    return tensor_of(ml::dtype_of(*type), Shape(j.at("descriptor").at("shape").get<std::vector<int64_t>>()),
                     j.at("data"));
  }

  /// Throws where there is no such type.
  static ml::OperandDescriptor descriptor(const Json& j) {
    return {ml::data_type_named(j.at("dataType").get<std::string>()).value(),
            j.at("shape").get<std::vector<uint32_t>>()};
  }

  static std::span<const std::byte> bytes(const Tensor& t) { return {t.data(), static_cast<size_t>(t.bytes())}; }

  std::string add_input(const std::string& name, const Json& input) {
    auto content = stored(input);
    if (!content.ok()) return content.error().text();
    const ml::OperandDescriptor d = descriptor(input.at("descriptor"));
    const bool constant = input.value("constant", false);
    auto operand = constant ? builder_.constant(d, bytes(*content)) : builder_.input(name, d);
    if (!operand.ok()) return operand.error().text();
    operands_[name] = *operand;
    if (!constant) inputs_.emplace(name, std::move(content).value());
    return {};
  }

  /// An argument: the operand of that name, or the plain value.
  Value value(const Json& j) const {
    if (j.is_string()) {
      if (const auto at = operands_.find(j.get<std::string>()); at != operands_.end()) return at->second;
      if (auto n = number_of(j)) return *n;
      return j.get<std::string>();
    }
    if (j.is_boolean()) return j.get<bool>();
    if (j.is_null()) return ml::idl::Null{};
    if (j.is_array()) {
      ml::idl::Sequence items;
      for (const Json& item : j) items.push_back(value(item));
      return items;
    }
    if (auto n = number_of(j)) return *n;
    ml::idl::Dictionary members;
    for (const auto& [name, member] : j.items()) members.emplace_back(name, value(member));
    return members;
  }

  std::string add_operation(const Json& op) {
    const std::string name = op.at("name");
    std::vector<Value> args;
    for (const Json& argument : op.at("arguments"))
      for (const auto& [_, given] : argument.items()) args.push_back(value(given));
    auto made = ml::call(*builder_.state(), name, args);
    if (!made.ok()) return fmt::format("{}: {}", name, made.error().text());
    const Json outputs = op.at("outputs").is_array() ? op.at("outputs") : Json::array({op.at("outputs")});
    if (outputs.size() != made->size())
      return fmt::format("{}: found {} outputs; needed {}", name, made->size(), outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) operands_[outputs[i].get<std::string>()] = (*made)[i];
    return {};
  }

  std::string compute() {
    ml::NamedOperands results;
    for (const auto& [name, want] : graph_.at("expectedOutputs").items()) {
      const auto at = operands_.find(name);
      if (at == operands_.end()) return fmt::format("no operation makes '{}'", name);
      const ml::OperandDescriptor d = descriptor(want.at("descriptor"));
      if (at->second.dataType() != d.dataType || at->second.shape() != d.shape)
        return fmt::format("output '{}': found {} [{}]; needed {} [{}]", name, ml::name(at->second.dataType()),
                           fmt::join(at->second.shape(), ","), ml::name(d.dataType), fmt::join(d.shape, ","));
      results[name] = at->second;
    }
    const auto graph = builder_.build(results).get();
    if (!graph.ok()) return fmt::format("build: {}", graph.error().text());

    ml::NamedTensors in, out;
    for (const auto& [name, d] : graph->inputs()) {
      const auto tensor = context_.createTensor(d, {.writable = true}).get();
      if (!tensor.ok()) return tensor.error().text();
      if (auto s = context_.writeTensor(*tensor, bytes(inputs_.at(name))); !s.ok()) return s.error().text();
      in.emplace(name, *tensor);
    }
    for (const auto& [name, d] : graph->outputs()) {
      const auto tensor = context_.createTensor(d, {.readable = true}).get();
      if (!tensor.ok()) return tensor.error().text();
      out.emplace(name, *tensor);
    }
    if (auto s = context_.dispatch(*graph, in, out); !s.ok()) return s.error().text();
    return compare(out);
  }

  std::string compare(const ml::NamedTensors& outputs) {
    for (const auto& [name, expected] : graph_.at("expectedOutputs").items()) {
      const auto read = context_.readTensor(outputs.at(name)).get();
      if (!read.ok()) return read.error().text();
      auto want = stored(expected);
      if (!want.ok()) return want.error().text();
      const Tensor got = Tensor::borrow(want->dtype(), want->shape(), read->data());
      if (got.bytes() != static_cast<int64_t>(read->size())) return fmt::format("found {} bytes", read->size());
      if (std::string s = apart(got, *want, expected); !s.empty()) return fmt::format("output '{}': {}", name, s);
    }
    return {};
  }

  const Json& one_;
  const Json& graph_;
  ml::Context context_;
  ml::GraphBuilder builder_;
  std::map<std::string, ml::Operand> operands_;
  std::map<std::string, Tensor> inputs_;
};

}  // namespace

Result<std::string> run_webnn_graph_through(const Json& one, std::string_view standard) {
  const auto context = ml::createContext({}, {}).get();
  if (!context.ok()) return context.error().text();
  auto builder = ml::GraphBuilder::create(*context);
  if (!builder.ok()) return builder.error().text();
  return GraphCase(one, *context, *builder).run_through(standard);
}

std::string run_webnn_graph(const Json& one, int threads) {
  ml::Environment environment;
  environment.threads = threads;
  const auto context = ml::createContext({}, environment).get();
  if (!context.ok()) return context.error().text();
  auto builder = ml::GraphBuilder::create(*context);
  if (!builder.ok()) return builder.error().text();
  return GraphCase(one, *context, *builder).run();
}

}  // namespace nnex::cli
