// Models and sessions of the C interface.

#include <atomic>

#include "base/try.h"
#include "c/handles.h"
#include "c/watch.h"

namespace nnex::c {

std::vector<nnex_port> ports_of(const std::vector<PortInfo>& infos) {
  std::vector<nnex_port> ports;
  for (const PortInfo& info : infos) ports.push_back({info});
  return ports;
}

const nnex_port* port_at(const std::vector<nnex_port>& ports, size_t index) {
  return index < ports.size() ? &ports[index] : nullptr;
}

Status add_values(nnex_value* const* values, size_t count, const char* argument, std::vector<Value>& to) {
  if (!values && count) return null_argument(argument);
  for (size_t i = 0; i < count; ++i) {
    if (!values[i]) return null_item(argument, values, i);
    to.push_back(values[i]->value);
  }
  return {};
}

Result<std::vector<Value>> values_of(nnex_value* const* values, size_t count, const char* argument) {
  std::vector<Value> all;
  NNEX_TRY(add_values(values, count, argument, all));
  return all;
}

nnex_model* model_handle(Model model) {
  auto inputs = ports_of(model.inputs()), outputs = ports_of(model.outputs()), states = ports_of(model.states());
  std::string version = std::to_string(model.metadata().model_version);
  return new nnex_model{std::move(model), std::move(inputs), std::move(outputs), std::move(states), std::move(version)};
}

namespace {

/// One run on these inputs, and its times: nobody else runs the session before they are copied.
template <class Run>
Status run(nnex_session* session, nnex_value* const* inputs, size_t input_count, const nnex_run_options* given,
           Run&& body) {
  NNEX_ASSIGN(const nnex_run_options o, run_options(given));
  if (session->running.exchange(true))
    return Error(Code::invalid_argument, "the session is running already; use one session a thread");
  struct Done {
    nnex_session& session;
    ~Done() { session.inputs.clear(), session.outputs.clear(), session.running = false; }
  } done{*session};
  NNEX_TRY(add_values(inputs, input_count, "inputs", session->inputs));
  const Watch watch(o);
  NNEX_TRY(body(watch.options()));
  if (session->profiled) session->nodes = session->session.nodes();
  return {};
}

/// What the cache says now, in a text that lives as long as the model. NULL where there is no memory.
const char* told(const nnex_model& m, std::string CacheInfo::*text) noexcept {
  try {
    const CacheInfo info = m.model.cache();
    const std::lock_guard lock(m.telling);
    return m.told.insert(info.*text).first->c_str();
  } catch (...) {
    return nullptr;
  }
}

/// Of output `index`, by its name or the number of one that the model does not have: "output 'y': found ...".
Error wrong_output(const nnex_session& session, size_t index, const std::string& found) {
  const std::vector<PortInfo>& outputs = session.model.outputs();
  const std::string called = index < outputs.size() ? "'" + outputs[index].name + "'" : std::to_string(index);
  return {Code::invalid_argument, "output " + called + ": found " + found};
}

/// Tensors of the caller's to write into.
Status add_outputs(nnex_value* const* outputs, size_t count, nnex_session& session) {
  if (!outputs && count) return null_argument("outputs");
  for (size_t i = 0; i < count; ++i) {
    Tensor* t = outputs[i] ? outputs[i]->value.tensor() : nullptr;
    if (!t) return wrong_output(session, i, "no tensor to write into");
    if (!t->writable())
      return wrong_output(session, i,
                          outputs[i]->text + (t->read_only() ? ", which may only be read" : ", which others share") +
                              "; needed a tensor that may be written");
    // The handle keeps the bytes; the run gets them as the caller's.
    session.outputs.push_back(Tensor::borrow_mutable(t->dtype(), t->shape(), t->mutable_data()));
  }
  return {};
}

/// Plans and packs for inputs of these shapes, by name.
Status prepare(nnex_session& session, const std::map<std::string, std::vector<int64_t>>& shapes,
               const nnex_run_options* given) {
  NNEX_ASSIGN(const nnex_run_options o, run_options(given));
  const Watch watch(o);
  return session.session.prepare(shapes, watch.options());
}

/// The same for those of these tensors.
Status prepare(nnex_session& session, nnex_value* const* inputs, size_t input_count, const nnex_run_options* given) {
  NNEX_ASSIGN(const std::vector<Value> in, values_of(inputs, input_count, "inputs"));
  const std::vector<PortInfo>& ports = session.model.inputs();
  if (in.size() != ports.size())
    return Error(Code::invalid_argument,
                 "found " + std::to_string(in.size()) + " inputs; the model takes " + std::to_string(ports.size()));
  std::map<std::string, std::vector<int64_t>> shapes;
  for (size_t i = 0; i < in.size(); ++i)
    if (const Tensor* t = in[i].tensor()) shapes[ports[i].name].assign(t->shape().begin(), t->shape().end());
  return prepare(session, shapes, given);
}

/// Which of the ports has the name; -1: none.
int64_t index_of(const std::vector<nnex_port>& ports, const char* name) {
  for (size_t i = 0; name && i < ports.size(); ++i)
    if (ports[i].info.name == name) return static_cast<int64_t>(i);
  return -1;
}

}  // namespace
}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_model_load(const nnex_source* source, const nnex_load_options* options, nnex_model** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(source);
    NNEX_C_NEED(out);
    auto model = load_model(source->source, LoadWatch(options).options());
    if (!model.ok()) return std::move(model).error();
    *out = model_handle(std::move(*model));
    return {};
  });
}

nnex_error* nnex_model_load_path(const char* path, const nnex_load_options* options, nnex_model** out) {
  if (out) *out = nullptr;
  nnex_source* source = nullptr;
  nnex_error* e = nnex_source_path(path, &source);
  if (!e) e = nnex_model_load(source, options, out);
  nnex_source_free(source);
  return e;
}

nnex_error* nnex_model_load_memory(const void* bytes, size_t size, const nnex_load_options* options, nnex_model** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    if (!bytes && size) return null_argument("bytes");
    const std::string_view all(static_cast<const char*>(bytes), size);
    NNEX_ASSIGN(Model model, Model::from_bytes(all, LoadWatch(options).options()));
    *out = model_handle(std::move(model));
    return {};
  });
}

void nnex_model_free(nnex_model* model) { delete model; }

const char* nnex_model_cache(const nnex_model* m) {
  static constexpr const char* kWords[] = {"none", "found", "due", "written", "failed"};  // as CacheUse has them
  return m ? kWords[static_cast<size_t>(m->model.cache().use)] : nullptr;
}

const char* nnex_model_cache_why(const nnex_model* m) { return m ? told(*m, &CacheInfo::why) : nullptr; }
const char* nnex_model_cache_file(const nnex_model* m) { return m ? told(*m, &CacheInfo::file) : nullptr; }

size_t nnex_model_inputs(const nnex_model* m) { return m ? m->inputs.size() : 0; }
size_t nnex_model_outputs(const nnex_model* m) { return m ? m->outputs.size() : 0; }
size_t nnex_model_states(const nnex_model* m) { return m ? m->states.size() : 0; }
const nnex_port* nnex_model_input(const nnex_model* m, size_t i) { return m ? port_at(m->inputs, i) : nullptr; }
const nnex_port* nnex_model_output(const nnex_model* m, size_t i) { return m ? port_at(m->outputs, i) : nullptr; }
const nnex_port* nnex_model_state(const nnex_model* m, size_t i) { return m ? port_at(m->states, i) : nullptr; }
int64_t nnex_model_input_index(const nnex_model* m, const char* name) { return m ? index_of(m->inputs, name) : -1; }
int64_t nnex_model_output_index(const nnex_model* m, const char* name) { return m ? index_of(m->outputs, name) : -1; }

const char* nnex_model_metadata(const nnex_model* m, const char* key) {
  if (!m || !key) return nullptr;
  const Metadata& all = m->model.metadata();
  if (const std::string* text = said_of_itself(all, key)) return text->c_str();
  if (std::string_view("model_version") == key) return m->version.c_str();
  for (const auto& [property, text] : all.properties)
    if (property == key) return text.c_str();
  return nullptr;
}
const char* nnex_model_metadata_key(const nnex_model* m, size_t k) {
  return m && k < m->model.metadata().properties.size() ? m->model.metadata().properties[k].first.c_str() : nullptr;
}
const char* nnex_model_metadata_value(const nnex_model* m, size_t k, size_t* size) {
  const bool there = m && k < m->model.metadata().properties.size();
  const std::string* const text = there ? &m->model.metadata().properties[k].second : nullptr;
  if (size) *size = text ? text->size() : 0;
  return text ? text->c_str() : nullptr;
}

const char* nnex_port_name(const nnex_port* p) { return p ? p->info.name.c_str() : nullptr; }
size_t nnex_port_name_size(const nnex_port* p) { return p ? p->info.name.size() : 0; }
const char* nnex_port_type(const nnex_port* p) { return p ? p->info.type.c_str() : nullptr; }
nnex_dtype nnex_port_dtype(const nnex_port* p) { return p ? static_cast<nnex_dtype>(p->info.dtype) : NNEX_NONE; }
int nnex_port_rank(const nnex_port* p) {
  return p && p->info.known_rank ? static_cast<int>(p->info.extents.size()) : -1;
}
int64_t nnex_port_extent(const nnex_port* p, size_t axis) {
  return p && axis < p->info.extents.size() ? p->info.extents[axis] : -1;
}
const char* nnex_port_dimension(const nnex_port* p, size_t axis) {
  return p && axis < p->info.dims.size() ? p->info.dims[axis].c_str() : nullptr;
}

nnex_error* nnex_session_make(const nnex_model* model, const nnex_session_options* options, nnex_session** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(model);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const nnex_session_options o, known(options));
    if (o.threads < 0)
      return Error(Code::invalid_argument, "found " + std::to_string(o.threads) + " threads; needed 0 or more");
    SessionOptions s;
    s.threads = o.threads;
    s.seed = o.seed;
    *out = new nnex_session{model->model, model->model.session(s), {}};
    return {};
  });
}

void nnex_session_free(nnex_session* session) { delete session; }

nnex_error* nnex_session_run(nnex_session* session, nnex_value* const* inputs, size_t input_count, nnex_value** outputs,
                             size_t output_count, const nnex_run_options* options) {
  for (size_t i = 0; outputs && i < output_count; ++i) outputs[i] = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    if (!outputs && output_count) return null_argument("outputs");
    const size_t gives = session->model.outputs().size();
    if (output_count != gives)
      return Error(Code::invalid_argument, "found room for " + std::to_string(output_count) +
                                               " outputs; the model gives " + std::to_string(gives));
    return run(session, inputs, input_count, options, [&](const RunOptions& o) -> Status {
      auto made = session->session.run(session->inputs, o);
      if (!made.ok()) return std::move(made).error();
      std::vector<std::unique_ptr<nnex_value>> handles;
      for (Value& v : *made) handles.push_back(std::make_unique<nnex_value>(std::move(v)));
      for (size_t i = 0; i < gives; ++i) outputs[i] = handles[i].release();
      return {};
    });
  });
}

nnex_error* nnex_session_run_into(nnex_session* session, nnex_value* const* inputs, size_t input_count,
                                  nnex_value* const* outputs, size_t output_count, const nnex_run_options* options) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    return run(session, inputs, input_count, options, [&](const RunOptions& o) -> Status {
      NNEX_TRY(add_outputs(outputs, output_count, *session));
      return session->session.run_into(session->inputs, session->outputs, o);
    });
  });
}

nnex_error* nnex_session_prepare(nnex_session* session) {
  return nnex_session_prepare_with(session, nullptr, 0, nullptr);
}

nnex_error* nnex_session_prepare_for(nnex_session* session, nnex_value* const* inputs, size_t input_count) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    return prepare(*session, inputs, input_count, nullptr);
  });
}

nnex_error* nnex_session_prepare_with(nnex_session* session, nnex_value* const* inputs, size_t input_count,
                                      const nnex_run_options* options) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    if (!inputs && input_count == 0) return prepare(*session, {}, options);
    return prepare(*session, inputs, input_count, options);
  });
}

nnex_error* nnex_session_state(const nnex_session* session, const char* label, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    NNEX_C_NEED(label);
    NNEX_C_NEED(out);
    auto value = session->session.state(label);
    if (!value.ok()) return std::move(value).error();
    *out = new nnex_value(std::move(*value));
    return {};
  });
}

nnex_error* nnex_session_set_state(nnex_session* session, const char* label, const nnex_value* value) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    NNEX_C_NEED(label);
    NNEX_C_NEED(value);
    return session->session.set_state(label, value->value);
  });
}

nnex_error* nnex_session_reset_states(nnex_session* session) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    return session->session.reset_states();
  });
}

int64_t nnex_session_memory(const nnex_session* session) { return session ? session->session.memory() : 0; }

nnex_error* nnex_session_trim(nnex_session* session) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(session);
    return session->session.trim();
  });
}

void nnex_session_profile(nnex_session* session, bool on) {
  if (!session) return;
  session->profiled = on;
  session->session.profile(on);
}
size_t nnex_session_nodes(const nnex_session* session) { return session ? session->nodes.size() : 0; }
bool nnex_session_node(const nnex_session* session, size_t index, const char** place, const char** op,
                       const char** kernel, double* start_us, double* us) {
  if (!session || index >= session->nodes.size()) return false;
  const NodeTime& n = session->nodes[index];
  if (place) *place = n.place.c_str();
  if (op) *op = n.op.c_str();
  if (kernel) *kernel = n.kernel.c_str();
  if (start_us) *start_us = n.start_us;
  if (us) *us = n.us;
  return true;
}

}  // extern "C"
