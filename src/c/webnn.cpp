// WebNN through the C interface: values of JavaScript, calls by name.

#include <mutex>

#include "c/handles.h"
#include "c/webnn_limits.h"
#include "nnex/webnn_call.h"
#include "webnn/idl_calls.h"

struct nnex_ml_context {
  nnex::ml::Context context;
  mutable std::once_flag limits_made = {};
  mutable std::string limits = {};  ///< What nnex_ml_context_limits() gives.
};
struct nnex_ml_builder {
  nnex::ml::GraphBuilder builder;
};
struct nnex_ml_operand {
  nnex::ml::Operand operand;
  std::string type;
  std::vector<uint32_t> shape;
};
struct nnex_ml_tensor {
  nnex::ml::Tensor tensor;
};
struct nnex_ml_graph {
  nnex::ml::Graph graph;
};
struct nnex_ml_value {
  nnex::ml::idl::Value value;
  int nesting = 0;  ///< How many lists and dictionaries lie in one another.
};

namespace nnex::c {
namespace {

Code code_of(ml::ErrorKind kind) {
  switch (kind) {
    case ml::ErrorKind::TypeError:
    case ml::ErrorKind::InvalidStateError:
      return Code::invalid_argument;
    case ml::ErrorKind::NotSupportedError:
      return Code::unsupported;
    case ml::ErrorKind::OperationError:
      return Code::invalid_model;
    default:
      return Code::internal;
  }
}

/// As guarded(), for calls whose errors are the specification's.
template <class F>
nnex_error* ml_guarded(F&& body) noexcept {
  try {
    ml::Status s = body();
    if (s.ok()) return nullptr;
    nnex_error* e = error_of(Error(code_of(s.error().kind), s.error().message));
    if (e == no_memory()) return e;
    e->webnn_name = ml::name(s.error().kind);
    e->text = s.error().text();
    return e;
  } catch (...) {
    return no_memory();
  }
}

ml::Error null_type(const char* argument) {
  return {ml::ErrorKind::TypeError, std::string("found NULL for '") + argument + "'"};
}
/// A record of JavaScript has each name once; of two the caller would not know which counts.
ml::Error named_twice(const char* name) {
  return {ml::ErrorKind::TypeError, std::string("found the name '") + name + "' twice"};
}
#define NNEX_ML_NEED(argument) \
  if (!(argument)) return null_type(#argument)

template <class... V>
nnex_ml_value* value(V&&... v) noexcept {
  try {
    return new nnex_ml_value{ml::idl::Value(std::forward<V>(v)...)};
  } catch (...) {
    return nullptr;
  }
}

/// A list or dictionary with these in it, `value`; null where it nests too deep.
template <class All>
nnex_ml_value* around(All&& all, nnex_ml_value* const* items, size_t count) {
  int nesting = 0;
  for (size_t i = 0; i < count; ++i) nesting = std::max(nesting, items[i]->nesting);
  if (nesting >= kMaxNesting) return nullptr;
  nnex_ml_value* const made = value(std::forward<All>(all));
  if (made) made->nesting = nesting + 1;
  return made;
}

ml::Result<ml::NamedTensors> named(const char* const* names, nnex_ml_tensor* const* tensors, size_t count) {
  ml::NamedTensors all;
  for (size_t i = 0; i < count; ++i) {
    if (!names || !names[i]) return null_type("names");
    if (!tensors || !tensors[i]) return null_type("tensors");
    if (!all.emplace(names[i], tensors[i]->tensor).second) return named_twice(names[i]);
  }
  return all;
}

/// A host's wish to be told that a context is lost.
struct LostListener {
  void (*lost)(void* user, const char* message) = nullptr;
  void (*release)(void* user) = nullptr;
  void* user = nullptr;

  LostListener() = default;
  LostListener(const LostListener&) = delete;
  LostListener& operator=(const LostListener&) = delete;
  ~LostListener() {
    if (release) release(user);
  }
};

}  // namespace
}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_ml_value* nnex_ml_value_undefined(void) { return value(ml::idl::Undefined{}); }
nnex_ml_value* nnex_ml_value_null(void) { return value(ml::idl::Null{}); }
nnex_ml_value* nnex_ml_value_boolean(bool v) { return value(v); }
nnex_ml_value* nnex_ml_value_number(double v) { return value(v); }
nnex_ml_value* nnex_ml_value_bigint(const char* digits) {
  const auto n = digits ? ml::idl::big_int_of(digits) : std::nullopt;
  return n ? value(*n) : nullptr;
}
nnex_ml_value* nnex_ml_value_text(const char* text) { return text ? value(text) : nullptr; }
nnex_ml_value* nnex_ml_value_operand(const nnex_ml_operand* o) { return o ? value(o->operand) : nullptr; }
nnex_ml_value* nnex_ml_value_tensor(const nnex_ml_tensor* t) { return t ? value(t->tensor) : nullptr; }
nnex_ml_value* nnex_ml_value_buffer(const void* bytes, size_t size) {
  if (!bytes && size) return nullptr;
  const std::span<const std::byte> all(static_cast<const std::byte*>(bytes), size);
  return value(ml::idl::View{ml::BufferSource(all), nullptr});
}
nnex_ml_value* nnex_ml_value_list(nnex_ml_value* const* items, size_t count) {
  try {
    ml::idl::Sequence all;
    for (size_t i = 0; i < count; ++i) {
      if (!items || !items[i]) return nullptr;
      all.push_back(items[i]->value);
    }
    return around(std::move(all), items, count);
  } catch (...) {
    return nullptr;
  }
}
nnex_ml_value* nnex_ml_value_numbers(const double* items, size_t count) {
  if (!items && count) return nullptr;
  try {
    ml::idl::Sequence all;
    for (size_t i = 0; i < count; ++i) all.emplace_back(items[i]);
    return value(std::move(all));
  } catch (...) {
    return nullptr;
  }
}
nnex_ml_value* nnex_ml_value_dictionary(const char* const* keys, nnex_ml_value* const* members, size_t count) {
  try {
    ml::idl::Dictionary all;
    for (size_t i = 0; i < count; ++i) {
      if (!keys || !keys[i] || !members || !members[i]) return nullptr;
      all.emplace_back(keys[i], members[i]->value);
    }
    return around(std::move(all), members, count);
  } catch (...) {
    return nullptr;
  }
}
void nnex_ml_value_free(nnex_ml_value* v) { delete v; }

nnex_error* nnex_ml_context_make(const nnex_ml_value* options, int threads, nnex_ml_context** out) {
  if (out) *out = nullptr;
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(out);
    std::vector<ml::idl::Value> args;
    if (options) args.push_back(options->value);
    ml::Environment environment;
    environment.threads = threads;
    auto made = ml::idl::create_context(args, std::move(environment)).get();
    if (!made.ok()) return std::move(made).error();
    *out = new nnex_ml_context{std::move(*made)};
    return {};
  });
}
void nnex_ml_context_destroy(const nnex_ml_context* context) {
  if (context) context->context.destroy();
}
const char* nnex_ml_context_limits(const nnex_ml_context* context) {
  if (!context) return nullptr;
  try {
    std::call_once(context->limits_made, [&] { context->limits = limits_json(context->context.opSupportLimits()); });
    return context->limits.c_str();
  } catch (...) {
    return nullptr;
  }
}
bool nnex_ml_context_lost(const nnex_ml_context* context, const char** message) {
  if (message) *message = nullptr;
  if (!context) return false;
  const auto lost = context->context.lost();
  if (!lost.settled()) return false;
  const auto& info = lost.wait();  // the context keeps it
  if (message && info.ok()) *message = info->message.c_str();
  return true;
}
nnex_error* nnex_ml_context_on_lost(const nnex_ml_context* context, void (*lost)(void* user, const char* message),
                                    void (*release)(void* user), void* user) {
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(context);
    NNEX_ML_NEED(lost);
    auto listener = std::make_shared<LostListener>();
    listener->lost = lost;
    listener->user = user;
    context->context.lost().then([listener](const ml::Result<ml::ContextLostInfo>& info) {
      if (info.ok()) listener->lost(listener->user, info->message.c_str());
    });
    listener->release = release;  // nothing fails from here on
    return {};
  });
}
void nnex_ml_context_free(nnex_ml_context* context) { delete context; }

nnex_error* nnex_ml_builder_make(const nnex_ml_context* context, nnex_ml_builder** out) {
  if (out) *out = nullptr;
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(context);
    NNEX_ML_NEED(out);
    auto made = ml::GraphBuilder::create(context->context);
    if (!made.ok()) return std::move(made).error();
    *out = new nnex_ml_builder{std::move(*made)};
    return {};
  });
}

nnex_error* nnex_ml_call(nnex_ml_builder* builder, const char* method, nnex_ml_value* const* arguments, size_t count,
                         nnex_ml_operand** out, size_t room, size_t* made) {
  for (size_t i = 0; out && i < room; ++i) out[i] = nullptr;
  if (made) *made = 0;
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(builder);
    NNEX_ML_NEED(method);
    if (!out && room) return null_type("out");
    std::vector<ml::idl::Value> args;
    for (size_t i = 0; i < count; ++i) {
      if (!arguments || !arguments[i]) return null_type("arguments");
      args.push_back(arguments[i]->value);
    }
    auto results = ml::call(builder->builder, method, args);
    if (!results.ok()) return std::move(results).error();
    std::vector<std::unique_ptr<nnex_ml_operand>> handles;
    for (const ml::Operand& o : *results)
      handles.emplace_back(new nnex_ml_operand{o, std::string(ml::name(o.dataType())), o.shape()});
    for (size_t i = 0; i < handles.size() && i < room; ++i) out[i] = handles[i].release();
    if (made) *made = results->size();
    return {};
  });
}

nnex_error* nnex_ml_build(nnex_ml_builder* builder, const char* const* names, nnex_ml_operand* const* outputs,
                          size_t count, nnex_ml_graph** out) {
  if (out) *out = nullptr;
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(builder);
    NNEX_ML_NEED(out);
    ml::NamedOperands all;
    for (size_t i = 0; i < count; ++i) {
      if (!names || !names[i]) return null_type("names");
      if (!outputs || !outputs[i]) return null_type("outputs");
      if (!all.emplace(names[i], outputs[i]->operand).second) return named_twice(names[i]);
    }
    auto made = builder->builder.build(all).get();
    if (!made.ok()) return std::move(made).error();
    *out = new nnex_ml_graph{std::move(*made)};
    return {};
  });
}
void nnex_ml_builder_free(nnex_ml_builder* builder) { delete builder; }

const char* nnex_ml_operand_type(const nnex_ml_operand* o) { return o ? o->type.c_str() : nullptr; }
size_t nnex_ml_operand_rank(const nnex_ml_operand* o) { return o ? o->shape.size() : 0; }
const uint32_t* nnex_ml_operand_shape(const nnex_ml_operand* o) { return o ? o->shape.data() : nullptr; }
void nnex_ml_operand_free(nnex_ml_operand* o) { delete o; }

nnex_error* nnex_ml_tensor_make(const nnex_ml_context* context, const nnex_ml_value* descriptor, nnex_ml_tensor** out) {
  if (out) *out = nullptr;
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(context);
    NNEX_ML_NEED(descriptor);
    NNEX_ML_NEED(out);
    const std::vector<ml::idl::Value> args = {descriptor->value};
    auto made = ml::idl::create_tensor(context->context, args).get();
    if (!made.ok()) return std::move(made).error();
    *out = new nnex_ml_tensor{std::move(*made)};
    return {};
  });
}

nnex_error* nnex_ml_constant_tensor_make(const nnex_ml_context* context, const nnex_ml_value* descriptor,
                                         const void* bytes, size_t size, nnex_ml_tensor** out) {
  if (out) *out = nullptr;
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(context);
    NNEX_ML_NEED(descriptor);
    NNEX_ML_NEED(out);
    if (!bytes && size) return null_type("bytes");
    const std::span<const std::byte> all(static_cast<const std::byte*>(bytes), size);
    const std::vector<ml::idl::Value> args = {descriptor->value, ml::idl::View{ml::BufferSource(all), nullptr}};
    auto made = ml::idl::create_constant_tensor(context->context, args).get();
    if (!made.ok()) return std::move(made).error();
    *out = new nnex_ml_tensor{std::move(*made)};
    return {};
  });
}

nnex_error* nnex_ml_tensor_write(const nnex_ml_context* context, const nnex_ml_tensor* tensor, const void* bytes,
                                 size_t size) {
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(context);
    NNEX_ML_NEED(tensor);
    if (!bytes && size) return null_type("bytes");
    const std::span<const std::byte> all(static_cast<const std::byte*>(bytes), size);
    return context->context.writeTensor(tensor->tensor, ml::BufferSource(all));
  });
}

nnex_error* nnex_ml_tensor_read(const nnex_ml_context* context, const nnex_ml_tensor* tensor, void* bytes,
                                size_t size) {
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(context);
    NNEX_ML_NEED(tensor);
    if (!bytes && size) return null_type("bytes");
    auto read = context->context.readTensor(tensor->tensor, {static_cast<std::byte*>(bytes), size}).get();
    return read.ok() ? ml::Status() : ml::Status(std::move(read).error());
  });
}
void nnex_ml_tensor_destroy(const nnex_ml_tensor* tensor) {
  if (tensor) tensor->tensor.destroy();
}
void nnex_ml_tensor_free(nnex_ml_tensor* tensor) { delete tensor; }

nnex_error* nnex_ml_dispatch(const nnex_ml_context* context, const nnex_ml_graph* graph, const char* const* input_names,
                             nnex_ml_tensor* const* inputs, size_t input_count, const char* const* output_names,
                             nnex_ml_tensor* const* outputs, size_t output_count) {
  return ml_guarded([&]() -> ml::Status {
    NNEX_ML_NEED(context);
    NNEX_ML_NEED(graph);
    auto in = named(input_names, inputs, input_count);
    if (!in.ok()) return std::move(in).error();
    auto out = named(output_names, outputs, output_count);
    if (!out.ok()) return std::move(out).error();
    return context->context.dispatch(graph->graph, *in, *out);
  });
}
void nnex_ml_graph_destroy(const nnex_ml_graph* graph) {
  if (graph) graph->graph.destroy();
}
void nnex_ml_graph_free(nnex_ml_graph* graph) { delete graph; }

}  // extern "C"
