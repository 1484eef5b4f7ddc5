// The functions of a model, those that nobody calls too; and what a model says of training.
#include <fmt/format.h>

#include <algorithm>

#include "standards/onnx/check_context.h"
#include "standards/onnx/import_function.h"

namespace nnex::onnx_format {
namespace {

constexpr size_t kMaxFunctions = 10'000, kMaxCallDepth = 100;

Site site_of(const FunctionParts& p) { return Site::of(fmt::format("function '{}'", p.key())); }

class FunctionCheck {
 public:
  FunctionCheck(CheckContext& context, std::string_view message, const FunctionParts& parts)
      : context_(context), message_(message), parts_(parts), site_(site_of(parts)) {}

  void check() {
    if (parts_.name.empty()) context_.tell(Rule::function_name, site_, "a function has no name");
    if (parts_.domain.empty()) context_.tell(Rule::function_domain, site_, "it has no domain");
    context_.needs_ir(8, site_, "a function");
    if (!parts_.overload.empty()) context_.needs_ir(10, site_, "an overload of a function");
    if (!parts_.defaults.empty()) context_.needs_ir(9, site_, "an attribute with a default");
    check_properties(context_, fields_of(message_, FunctionProto::metadata_props), site_);
    ports();
    attributes();
    Surroundings around;
    around.opsets = &parts_.opsets;
    around.function = &context_.functions.at(parts_.key());
    around.prefix = site_.place + " > ";
    check_nodes(context_, parts_.nodes, scope_, around);
    for (const std::string& name : parts_.outputs)
      if (!scope_.here(name))
        context_.tell(Rule::output_unknown, site_, fmt::format("output '{}' is made by no node", name));
    infos();
  }

 private:
  void ports() {
    for (const std::string& name : parts_.inputs) {
      if (name.empty()) context_.tell(Rule::value_name, site_, "an input has no name");
      if (!scope_.names.insert(name).second)
        context_.tell(Rule::input_twice, site_, fmt::format("input '{}' is given twice", name));
    }
    std::set<std::string_view> seen;
    for (const std::string& name : parts_.outputs)
      if (!seen.insert(name).second)
        context_.tell(Rule::output_twice, site_, fmt::format("output '{}' is given twice", name));
  }

  void attributes() {
    std::set<std::string_view> seen;
    const auto add = [&](std::string_view name) {
      if (!seen.insert(name).second)
        context_.tell(Rule::function_attribute_twice, site_, fmt::format("attribute '{}' is given twice", name));
    };
    for (const std::string& name : parts_.attributes) add(name);
    for (std::string_view message : parts_.defaults) add(field_text(message, AttributeProto::name));
  }

  void infos() {
    const std::vector<std::string_view> messages = fields_of(message_, FunctionProto::value_info);
    if (!messages.empty()) context_.needs_ir(10, site_, "the description of a function's values");
    std::set<std::string_view> seen;
    for (std::string_view m : messages) {
      const std::string_view name = field_text(m, ValueInfoProto::name);
      const Site site = site_.part(fmt::format("value '{}'", name));
      if (name.empty()) context_.tell(Rule::value_name, site, "it has no name");
      if (const std::string_view type = field_text(m, ValueInfoProto::type); type.data())
        check_type(context_, type, site, false);
      if (!name.empty() && !seen.insert(name).second)
        context_.tell(Rule::value_info_twice, site, fmt::format("value '{}' is described twice", name));
      if (!name.empty() && !scope_.here(name))
        context_.tell(Rule::value_info_unknown, site, fmt::format("the function has no value '{}'", name));
    }
  }

  CheckContext& context_;
  std::string_view message_;
  const FunctionParts& parts_;
  const Site site_;
  NameScope scope_;
};

/// How deep calls go from a function on; there are no circles. `known`: of functions that were looked at.
size_t call_depth(const FunctionCalls& calls, const std::string& key, std::map<std::string, size_t>& known) {
  struct Step {
    const std::string* key;
    std::set<std::string>::const_iterator next, end;
    size_t deepest = 0;  ///< Of its callees so far.
  };
  std::vector<Step> path;
  const auto enter = [&](const std::string& k) {
    const auto it = calls.find(k);
    path.push_back({&it->first, it->second.begin(), it->second.end()});
  };
  enter(key);
  while (!path.empty()) {
    Step& now = path.back();
    if (now.next == now.end) {
      const size_t depth = now.deepest + 1;
      known[*now.key] = depth;
      path.pop_back();
      if (!path.empty()) path.back().deepest = std::max(path.back().deepest, depth);
      continue;
    }
    const std::string& callee = *now.next++;
    if (const auto it = known.find(callee); it != known.end())
      now.deepest = std::max(now.deepest, it->second);
    else if (calls.count(callee))
      enter(callee);
  }
  return known.at(key);
}

void check_calls(CheckContext& context, const std::vector<std::string_view>& messages) {
  const FunctionCalls calls = function_calls(messages);
  const std::vector<FunctionCycle> cycles = function_cycles(calls);
  for (const FunctionCycle& c : cycles) {
    context.tell(Rule::function_cycle, Site::of(fmt::format("function '{}'", c.function)), c.text);
    context.findings.broken_functions.insert(c.function);
  }
  if (!cycles.empty()) return;
  std::map<std::string, size_t> known;
  std::string deepest;
  for (const auto& [key, callees] : calls)
    if ((known.count(key) ? known[key] : call_depth(calls, key, known)) > kMaxCallDepth &&
        (deepest.empty() || known[key] > known[deepest]))
      deepest = key;
  if (!deepest.empty())
    context.tell(Rule::function_depth, Site::of(fmt::format("function '{}'", deepest)),
                 fmt::format("calls go {} deep; needed at most {}", known[deepest], kMaxCallDepth),
                 std::to_string(known[deepest]), fmt::format("at most {}", kMaxCallDepth));
}

}  // namespace

void check_functions(CheckContext& context, const std::vector<std::string_view>& messages) {
  if (messages.size() > kMaxFunctions) {
    context.tell(Rule::function_count, {},
                 fmt::format("found {} functions; needed at most {}", messages.size(), kMaxFunctions),
                 std::to_string(messages.size()), fmt::format("at most {}", kMaxFunctions));
    context.broken.stop();
    return;
  }
  std::vector<std::pair<std::string_view, FunctionParts>> functions;
  std::set<std::string> seen;
  for (std::string_view m : messages)
    if (auto parts = function_parts(m); parts.ok()) {
      if (!seen.insert(parts->key()).second)
        context.tell(Rule::function_twice, site_of(*parts),
                     fmt::format("function '{}' is defined twice", parts->key()));
      functions.emplace_back(m, std::move(*parts));
    } else {
      context.tell(Rule::opset_range, Site::of(fmt::format("function '{}'", field_text(m, FunctionProto::name))),
                   parts.error().message());
    }
  for (const auto& [message, parts] : functions) {
    const size_t before = context.broken.errors();
    FunctionCheck(context, message, parts).check();
    if (context.broken.errors() != before) context.findings.broken_functions.insert(parts.key());
  }
  check_calls(context, messages);
}

void check_training(CheckContext& context, const std::vector<std::string_view>& messages, std::string_view graph,
                    const NameScope& main) {
  std::set<std::string_view> initializers;
  const auto collect = [&](std::string_view of) {
    for (std::string_view t : fields_of(of, GraphProto::initializer))
      initializers.insert(field_text(t, TensorProto::name));
    for (std::string_view t : fields_of(of, GraphProto::sparse_initializer))
      initializers.insert(field_text(field_text(t, SparseTensorProto::values), TensorProto::name));
  };
  collect(graph);
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string place = fmt::format("training {}", i);
    context.needs_ir(7, Site::of(place), "training");
    using T = TrainingInfoProto;
    collect(field_text(messages[i], T::algorithm));
    const struct {
      wire::FieldNumber field, bindings;
      std::string_view name;
    } parts[] = {{T::initialization, T::initialization_binding, "initialization"},
                 {T::algorithm, T::update_binding, "algorithm"}};
    for (const auto& [field, bindings, name] : parts) {
      const std::string_view part = field_text(messages[i], field);
      const Site site = Site::of(fmt::format("{} > {}", place, name));
      NameScope scope;
      if (field == T::algorithm) scope.outer = &main;  // the inference graph stands in the algorithm
      Surroundings around;
      around.opsets = &context.opsets, around.prefix = site.place + " > ";
      if (part.data()) check_graph(context, part, scope, GraphRole::training, around);
      std::set<std::string_view> outputs, bound;
      for (std::string_view o : fields_of(part, GraphProto::output))
        outputs.insert(field_text(o, ValueInfoProto::name));
      for (std::string_view b : fields_of(messages[i], bindings)) {
        const std::string_view key = field_text(b, StringStringEntryProto::key),
                               value = field_text(b, StringStringEntryProto::value);
        if (!initializers.count(key))
          context.tell(Rule::training_binding, site, fmt::format("binding '{}' is of no initializer", key));
        if (!bound.insert(key).second)
          context.tell(Rule::training_binding, site, fmt::format("initializer '{}' is bound twice", key));
        if (!outputs.count(value))
          context.tell(Rule::training_binding, site,
                       fmt::format("'{}', bound to '{}', is no output of the graph", value, key));
      }
    }
  }
}

}  // namespace nnex::onnx_format
