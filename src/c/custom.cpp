// Custom operators whose functions are C's.

#include <memory>

#include "base/try.h"
#include "c/handles.h"

/// One node, while a callback looks at it: its shape rule or its run.
struct nnex_custom_node {
  const nnex::CustomInfer* infer = nullptr;
  nnex::CustomRun* run = nullptr;
  const nnex::Attributes* attributes = nullptr;
  std::string op;
  std::vector<nnex::TypeInfo> types;                ///< Of infer: what the rule says.
  std::vector<std::unique_ptr<nnex_value>> inputs;  ///< Of run: handles that were asked for.
};

namespace nnex::c {
namespace {

/// The callbacks, released with the last model that needs them. Whoever made them sets `release` last, when nothing can
/// fail any more.
struct Callbacks {
  nnex_custom_op op;
  void (*release)(void* context) = nullptr;
  explicit Callbacks(const nnex_custom_op& o) : op(o) {}
  ~Callbacks() {
    if (release) release(op.context);
  }
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;
};

CustomOperator custom_operator(const std::shared_ptr<Callbacks>& with) {
  const nnex_custom_op& op = with->op;
  CustomOperator made;
  made.domain = op.domain ? op.domain : "";
  made.name = op.name;
  if (op.since || op.until) {
    made.since = op.since;
    made.until = op.until ? op.until : made.until;
  }
  made.pure = op.pure;
  if (op.infer)
    made.infer = [with](const CustomInfer& of) -> Result<std::vector<TypeInfo>> {
      nnex_custom_node node;
      node.infer = &of;
      node.attributes = &of.attributes;
      node.op = of.op;
      node.types.resize(of.outputs);
      if (nnex_error* e = with->op.infer(with->op.context, &node)) return taken(e);
      return std::move(node.types);
    };
  made.run = [with](CustomRun& of) -> Status {
    nnex_custom_node node;
    node.run = &of;
    node.attributes = &of.attributes();
    node.op = of.op();
    node.inputs.resize(of.inputs());
    return status_of(with->op.run(with->op.context, &node));
  };
  return made;
}

template <class T, class Out>
nnex_error* attribute(const nnex_custom_node* node, const char* name, Out* out) {
  return guarded([&]() -> Status {
    NNEX_C_NEED(node);
    NNEX_C_NEED(name);
    NNEX_C_NEED(out);
    auto value = attribute_as<T>(*node->attributes, name);
    if (!value.ok()) return std::move(value).error();
    *out = *value;
    return {};
  });
}

Error no_output(size_t output, size_t count) {
  return {Code::invalid_argument, "output " + std::to_string(output) + " of a node that has " + std::to_string(count)};
}

}  // namespace
}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

const char* nnex_custom_node_op(const nnex_custom_node* node) { return node ? node->op.c_str() : nullptr; }
size_t nnex_custom_node_inputs(const nnex_custom_node* node) {
  return !node ? 0 : node->run ? node->run->inputs() : node->infer->inputs.size();
}
size_t nnex_custom_node_outputs(const nnex_custom_node* node) {
  return !node ? 0 : node->run ? node->run->outputs() : node->infer->outputs;
}
bool nnex_custom_node_has(const nnex_custom_node* node, const char* name) {
  return node && name && find_attribute(*node->attributes, name);
}
nnex_error* nnex_custom_node_int(const nnex_custom_node* node, const char* name, int64_t* out) {
  return attribute<int64_t>(node, name, out);
}
nnex_error* nnex_custom_node_real(const nnex_custom_node* node, const char* name, double* out) {
  return attribute<double>(node, name, out);
}
nnex_error* nnex_custom_node_text(const nnex_custom_node* node, const char* name, const char** out) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(node);
    NNEX_C_NEED(name);
    NNEX_C_NEED(out);
    const Attribute* a = find_attribute(*node->attributes, name);
    const std::string* s = a ? std::get_if<std::string>(a) : nullptr;
    if (!s) return wrong_attribute(name, a, "str");
    *out = s->c_str();
    return {};
  });
}
nnex_error* nnex_custom_node_ints(const nnex_custom_node* node, const char* name, const int64_t** out, size_t* count) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(node);
    NNEX_C_NEED(name);
    NNEX_C_NEED(out);
    NNEX_C_NEED(count);
    const Attribute* a = find_attribute(*node->attributes, name);
    const Ints* list = a ? std::get_if<Ints>(a) : nullptr;
    if (!list) return wrong_attribute(name, a, "ints");
    *out = list->data();
    *count = list->size();
    return {};
  });
}

const char* nnex_custom_node_input_type(const nnex_custom_node* node, size_t index) {
  return node && node->infer && index < node->infer->inputs.size() ? node->infer->inputs[index].text.c_str() : nullptr;
}

nnex_error* nnex_custom_node_set_type(nnex_custom_node* node, size_t output, const char* type) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(node);
    NNEX_C_NEED(type);
    if (!node->infer) return Error(Code::invalid_argument, "a type is said by the shape rule alone");
    if (output >= node->types.size()) return no_output(output, node->types.size());
    auto parsed = TypeInfo::parse(type);
    if (!parsed.ok()) return std::move(parsed).error();
    node->types[output] = std::move(*parsed);
    return {};
  });
}

const nnex_value* nnex_custom_node_input(nnex_custom_node* node, size_t index) {
  if (!node || !node->run || !node->run->input(index)) return nullptr;
  try {
    auto& handle = node->inputs[index];
    if (!handle) handle = std::make_unique<nnex_value>(*node->run->input(index));
    return handle.get();
  } catch (...) {
    return nullptr;
  }
}

nnex_error* nnex_custom_node_output(nnex_custom_node* node, size_t output, nnex_dtype dtype, size_t rank,
                                    const int64_t* extents, void** data) {
  if (data) *data = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(node);
    NNEX_C_NEED(data);
    if (!node->run) return Error(Code::invalid_argument, "outputs are made by the kernel alone");
    if (dtype <= NNEX_NONE || dtype >= NNEX_STR)
      return Error(Code::invalid_argument, "found element type " + std::to_string(static_cast<int>(dtype)) +
                                               "; needed one of numbers (nnex_custom_node_set_output takes all)");
    if (!extents && rank) return null_argument("extents");
    auto made = node->run->output(output, static_cast<DType>(dtype), Shape(std::span<const int64_t>(extents, rank)));
    if (!made.ok()) return std::move(made).error();
    *data = (*made)->mutable_data();
    return {};
  });
}

nnex_error* nnex_custom_node_set_output(nnex_custom_node* node, size_t output, const nnex_value* value) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(node);
    NNEX_C_NEED(value);
    if (!node->run) return Error(Code::invalid_argument, "outputs are made by the kernel alone");
    return node->run->set(output, value->value);
  });
}

nnex_error* nnex_load_options_custom_op(nnex_load_options* options, const nnex_custom_op* op) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(options);
    NNEX_C_NEED(op);
    NNEX_ASSIGN(const nnex_custom_op all, known(op));
    if (!all.name || !all.run) return null_argument(all.name ? "op->run" : "op->name");
    const auto kept = std::make_shared<Callbacks>(all);
    NNEX_TRY(options->options.custom_operators.add(custom_operator(kept)));
    kept->release = all.release;
    return {};
  });
}

}  // extern "C"
