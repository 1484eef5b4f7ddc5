// Custom operators whose functions are C's.

#include <map>
#include <memory>

#include "base/try.h"
#include "c/handles.h"

/// One node, while a callback looks at it: its shape rule or its run.
struct nnex_custom_node {
  const nnex::CustomInfer* infer = nullptr;
  nnex::CustomRun* run = nullptr;
  const nnex::Attributes* attributes = nullptr;
  std::string op;
  std::vector<nnex::TypeInfo> types;  ///< Of infer: what the rule says.
  // What was asked for, as C has it:
  std::vector<std::unique_ptr<nnex_value>> inputs = {};
  std::map<std::string, std::vector<double>, std::less<>> reals = {};
  std::map<std::string, std::vector<const char*>, std::less<>> texts = {};
  std::map<std::string, nnex_value, std::less<>> tensors = {};
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
      node.inputs.resize(of.inputs.size());
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

/// The attribute; null: there is none.
const Attribute* attribute_of(const nnex_custom_node& node, const char* name) {
  const Attribute* found = find_attribute(*node.attributes, name);
  return found && std::holds_alternative<std::monostate>(*found) ? nullptr : found;
}

/// Gives what `take` makes of an attribute.
template <class Node, class Out, class F>
nnex_error* attribute(Node* node, const char* name, Out* out, F&& take) noexcept {
  return guarded([&]() -> Status {
    NNEX_C_NEED(node);
    NNEX_C_NEED(name);
    NNEX_C_NEED(out);
    return take(attribute_of(*node, name));
  });
}

template <class T>
const T* as(const Attribute* a) {
  return a ? std::get_if<T>(a) : nullptr;
}

/// Whether it is a list of nothing, whose kind no file tells.
bool is_empty_list(const Attribute* a) {
  const auto none = [](const auto* list) { return list && list->empty(); };
  return none(as<Ints>(a)) || none(as<Reals>(a)) || none(as<Texts>(a));
}

/// A list that the node keeps.
template <class Item>
Status give(const std::vector<Item>& list, const Item** out, size_t* count) {
  *out = list.data();
  *count = list.size();
  return {};
}

/// A handle to a value that is there during the callback alone.
nnex_value lent(Value value) {
  nnex_value handle(std::move(value));
  handle.lent = true;
  return handle;
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
  return node && name && attribute_of(*node, name);
}
nnex_error* nnex_custom_node_int(const nnex_custom_node* node, const char* name, int64_t* out) {
  return attribute(node, name, out, [&](const Attribute* a) -> Status {
    if (const bool* truth = as<bool>(a)) return *out = *truth, Status();
    const int64_t* n = as<int64_t>(a);
    return n ? (*out = *n, Status()) : wrong_attribute(name, a, "int");
  });
}
nnex_error* nnex_custom_node_real(const nnex_custom_node* node, const char* name, double* out) {
  return attribute(node, name, out, [&](const Attribute*) -> Status {
    NNEX_ASSIGN(*out, attribute_as<double>(*node->attributes, name));
    return {};
  });
}
nnex_error* nnex_custom_node_text(const nnex_custom_node* node, const char* name, const char** out) {
  return attribute(node, name, out, [&](const Attribute* a) -> Status {
    const std::string* s = as<std::string>(a);
    return s ? (*out = s->c_str(), Status()) : wrong_attribute(name, a, "str");
  });
}
nnex_error* nnex_custom_node_ints(const nnex_custom_node* node, const char* name, const int64_t** out, size_t* count) {
  return attribute(node, name, out, [&](const Attribute* a) -> Status {
    NNEX_C_NEED(count);
    if (is_empty_list(a)) return *out = nullptr, *count = 0, Status();
    const Ints* list = as<Ints>(a);
    return list ? give(*list, out, count) : wrong_attribute(name, a, "ints");
  });
}
nnex_error* nnex_custom_node_reals(nnex_custom_node* node, const char* name, const double** out, size_t* count) {
  return attribute(node, name, out, [&](const Attribute* a) -> Status {
    NNEX_C_NEED(count);
    if (is_empty_list(a)) return *out = nullptr, *count = 0, Status();
    if (const Reals* list = as<Reals>(a)) return give(*list, out, count);
    const Ints* whole = as<Ints>(a);
    if (!whole) return wrong_attribute(name, a, "reals");
    return give(node->reals[name] = Reals(whole->begin(), whole->end()), out, count);
  });
}
nnex_error* nnex_custom_node_texts(nnex_custom_node* node, const char* name, const char* const** out, size_t* count) {
  return attribute(node, name, out, [&](const Attribute* a) -> Status {
    NNEX_C_NEED(count);
    if (is_empty_list(a)) return *out = nullptr, *count = 0, Status();
    const Texts* list = as<Texts>(a);
    if (!list) return wrong_attribute(name, a, "strs");
    std::vector<const char*>& shown = node->texts[name];
    shown.clear();
    for (const std::string& s : *list) shown.push_back(s.c_str());
    return give(shown, out, count);
  });
}
nnex_error* nnex_custom_node_tensor(nnex_custom_node* node, const char* name, const nnex_value** out) {
  return attribute(node, name, out, [&](const Attribute* a) -> Status {
    const Tensor* t = as<Tensor>(a);
    if (!t) return wrong_attribute(name, a, "tensor");
    *out = &node->tensors.try_emplace(name, lent(*t)).first->second;
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
  if (!node || index >= node->inputs.size()) return nullptr;
  const Tensor* known = node->infer ? node->infer->contents[index] : nullptr;
  const Value* given = node->run ? node->run->input(index) : nullptr;
  if (!known && !given) return nullptr;
  try {
    auto& handle = node->inputs[index];
    if (!handle) handle = std::make_unique<nnex_value>(lent(known ? Value(*known) : *given));
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
