// Models and sessions.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "objects.h"

namespace nnex_python {
namespace {

/// A session, and how long its last run took.
struct Runner {
  Owned<nnex_session> session;
  std::chrono::steady_clock::duration last = std::chrono::hours(1);  // not known: it may be long

  Runner(const nnex_model* model, nnex_session_options options)
      : session(made<nnex_session>([&](nnex_session** out) { return nnex_session_make(model, &options, out); })) {}
};

struct ModelObject : HandleObject<nnex_model> {
  nnex_session_options options;                // of the sessions below
  std::vector<std::unique_ptr<Runner>>* idle;  // of runs that name no session; the lock of Python guards them
};
struct SessionObject : HandleObject<nnex_session> {  // the runner's
  Runner* runner;
  PyObject* model;
};
nnex_model* model_of(PyObject* self) { return handle_of<nnex_model>(self); }
SessionObject& session_of(PyObject* self) { return *reinterpret_cast<SessionObject*>(self); }

[[noreturn]] void refuse(const std::string& message) {
  raise(nnex_error_make(NNEX_INVALID_ARGUMENT, message.c_str(), nullptr));
}

bool is_called(const nnex_port* port, const std::string& name) {
  return name.size() == nnex_port_name_size(port) && std::memcmp(name.data(), nnex_port_name(port), name.size()) == 0;
}
std::vector<std::string> all_bytes_of(PyObject* names) {
  if (PyUnicode_Check(names)) return {bytes_of(names)};
  std::vector<std::string> all;
  each(names, [&](PyObject* name) { all.push_back(bytes_of(name)); });
  return all;
}

/// What a run was given: values in the model's order.
struct Inputs {
  std::vector<Owned<nnex_value>> owned;
  std::vector<nnex_value*> all;

  Inputs(const nnex_model* model, PyObject* args) {
    const size_t count = nnex_model_inputs(model);
    const Py_ssize_t given = PyTuple_Size(args);
    const Ref named_inputs = given == 1 ? dict_of(PyTuple_GetItem(args, 0)) : Ref();
    PyObject* const first = named_inputs.get();
    const bool by_name = first && names_inputs(model, first);
    if (!by_name && static_cast<size_t>(given) != count)
      refuse("found " + std::to_string(given) + " inputs; needed " + std::to_string(count) + ": " + listed(model));
    for (size_t i = 0; i < count; ++i) {
      const nnex_port* const port = nnex_model_input(model, i);
      const Ref object = Ref::of(by_name ? item_named(first, port) : PyTuple_GetItem(args, static_cast<Py_ssize_t>(i)));
      if (!object)
        refuse(std::string("input '") + nnex_port_name(port) + "' is missing; it takes " + nnex_port_type(port));
      owned.push_back(named(std::string("input '") + nnex_port_name(port) + "'",
                            [&] { return value_of(object.get(), Wanted(port)); }));
      all.push_back(owned.back().get());
    }
  }

 private:
  /// Null: there is none.
  static PyObject* item_named(PyObject* dict, const nnex_port* port) {
    PyObject* const found = PyDict_GetItemWithError(dict, name_of(port).get());
    if (!found && PyErr_Occurred()) throw Raised();
    return found;
  }
  static std::string listed(const nnex_model* model) {
    std::string out;
    for (size_t i = 0; i < nnex_model_inputs(model); ++i)
      out += (i ? ", " : "") + std::string(nnex_port_name(nnex_model_input(model, i))) + " " +
             nnex_port_type(nnex_model_input(model, i));
    return out.empty() ? "none" : out;
  }
  /// Whether a dict holds inputs by their names: else, for a model of one input that is a map, it is that.
  static bool names_inputs(const nnex_model* model, PyObject* dict) {
    const size_t count = nnex_model_inputs(model);
    if (count == 1 && std::strncmp(nnex_port_type(nnex_model_input(model, 0)), "map", 3) == 0)
      return item_named(dict, nnex_model_input(model, 0)) != nullptr;
    each(dict, [&](PyObject* key) {
      const std::string name = bytes_of(key);
      for (size_t i = 0; i < count; ++i)
        if (is_called(nnex_model_input(model, i), name)) return;
      refuse("found an input '" + name + "'; needed " + listed(model));
    });
    return true;
  }
};

/// Keywords of a run: what follows the inputs.
struct Keywords {
  PyObject* outputs = nullptr;
  double timeout = 0;
  bool values = false;
  const std::atomic<bool>* cancel = nullptr;

  explicit Keywords(PyObject* kwargs) {
    if (!kwargs) return;
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(kwargs, &at, &key, &value)) {
      const std::string name = text_of(key);
      if (name == "outputs") {
        if (value != Py_None) outputs = value;
      } else if (name == "timeout") {
        timeout = value == Py_None ? 0 : real_of(value);
        if (value != Py_None && !(timeout > 0))
          raise(PyExc_ValueError, "found a timeout of " + std::to_string(timeout) + "; needed seconds above 0");
      } else if (name == "values") {
        values = truth_of(value);
      } else if (name == "cancel") {
        if (value != Py_None) cancel = flag_of(value);
      } else {
        raise(PyExc_TypeError, "found a keyword '" + name +
                                   "'; needed outputs, timeout, cancel or values (inputs by name are one dict)");
      }
    }
  }
  Ref python(Owned<nnex_value> value) const {
    return values ? Ref(wrap(std::move(value))) : python_of(std::move(value));
  }
};

/// One run: a dict by names; `bare`: the output itself, or a tuple of several.
Ref run(const nnex_model* model, Runner& runner, PyObject* args, PyObject* kwargs, bool bare) {
  const Keywords keywords(kwargs);
  const Inputs inputs(model, args);
  const size_t count = nnex_model_outputs(model);
  std::vector<size_t> wanted;
  if (keywords.outputs) {
    for (const std::string& name : all_bytes_of(keywords.outputs)) {
      size_t i = 0;
      while (i < count && !is_called(nnex_model_output(model, i), name)) ++i;
      if (i == count) refuse("found no output '" + name + "'");
      wanted.push_back(i);
    }
  } else {
    for (size_t i = 0; i < count; ++i) wanted.push_back(i);
  }
  std::vector<nnex_value*> raw(count);
  nnex_error* error = nullptr;
  bool timed_out = false;
  {
    constexpr auto kLong = std::chrono::milliseconds(20);
    const Interruptible watch(keywords.timeout, runner.last > kLong, keywords.cancel);
    const auto began = std::chrono::steady_clock::now();
    error = unlocked([&] {
      return nnex_session_run(runner.session.get(), inputs.all.data(), inputs.all.size(), raw.data(), count,
                              watch.options());
    });
    runner.last = std::chrono::steady_clock::now() - began;
    timed_out = watch.timed_out();
  }
  std::vector<Owned<nnex_value>> outputs;
  for (nnex_value* value : raw) outputs.emplace_back(value);
  if (error) raise(error, timed_out && nnex_error_code(error) == NNEX_CANCELLED);
  if (bare && wanted.size() == 1) return keywords.python(std::move(outputs[wanted[0]]));
  std::vector<Ref> made;
  for (size_t n = 0; n < wanted.size(); ++n) {
    const auto twin = std::find(wanted.begin(), wanted.begin() + static_cast<ptrdiff_t>(n), wanted[n]) - wanted.begin();
    made.push_back(static_cast<size_t>(twin) < n ? Ref::of(made[static_cast<size_t>(twin)].get())
                                                 : keywords.python(std::move(outputs[wanted[n]])));
  }
  if (!bare) {
    Ref dict = need(PyDict_New());
    for (size_t i = 0; i < wanted.size(); ++i)
      need(PyDict_SetItem(dict.get(), name_of(nnex_model_output(model, wanted[i])).get(), made[i].get()));
    return dict;
  }
  Ref tuple = need(PyTuple_New(static_cast<Py_ssize_t>(made.size())));
  for (size_t i = 0; i < made.size(); ++i)
    need(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), made[i].release()));
  return tuple;
}

/// A run of a model's: in a session that no other thread uses.
Ref run_model(PyObject* self, PyObject* args, PyObject* kwargs, bool bare) {
  auto& object = *reinterpret_cast<ModelObject*>(self);
  std::unique_ptr<Runner> runner;
  if (object.idle->empty()) {
    runner = std::make_unique<Runner>(object.handle, object.options);
  } else {
    runner = std::move(object.idle->back());
    object.idle->pop_back();
  }
  const auto give_back = [&] { object.idle->push_back(std::move(runner)); };
  try {
    // A model never changes: each of its runs begins as the first.
    if (nnex_model_states(object.handle) > 0) need(nnex_session_reset_states(runner->session.get()));
    Ref out = run(object.handle, *runner, args, kwargs, bare);
    give_back();
    return out;
  } catch (...) {
    give_back();
    throw;
  }
}

unsigned long long seed_of(PyObject* given) {
  return named("seed", [&] {
    const Ref index = need(PyNumber_Index(given));
    const unsigned long long seed = PyLong_AsUnsignedLongLong(index.get());
    if (PyErr_Occurred()) throw Raised();
    return seed;
  });
}
int threads_of(PyObject* given) {
  return named("threads", [&] {
    const int64_t threads = integer_of(given);
    if (threads > INT32_MAX) raise(PyExc_OverflowError, "found " + std::to_string(threads) + "; needed fewer");
    return static_cast<int>(std::max<int64_t>(threads, -1));
  });
}

nnex_session_options options_of(int threads, unsigned long long seed) {
  if (threads < 0) refuse("found " + std::to_string(threads) + " threads; needed 0 (all) or more");
  return {sizeof(nnex_session_options), threads, seed};
}

/// load(type, source, options, threads, seed): of a graph, too.
PyObject* load(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *type = nullptr, *source = nullptr, *dict = nullptr, *threads = nullptr, *seed = nullptr;
    if (!PyArg_ParseTuple(args, "OOOOO", &type, &source, &dict, &threads, &seed)) throw Raised();
    const nnex_session_options options = options_of(threads_of(threads), seed_of(seed));
    Owned<nnex_model> model;
    if (is<nnex_graph>(source)) {
      // What looks carried is seen in a source.
      const auto seen = member(dict, "carry") == Py_True ? source_of(source) : nullptr;
      const auto load_options = load_options_of(dict, seen.get());
      model = made<nnex_model>(
          [&](nnex_model** out) { return nnex_model_compile(handle_of<nnex_graph>(source), load_options.get(), out); });
    } else {
      const auto from = source_of(source);
      const auto load_options = load_options_of(dict, from.get());
      model = made<nnex_model>([&](nnex_model** out) { return nnex_model_load(from.get(), load_options.get(), out); });
    }
    auto idle = std::make_unique<std::vector<std::unique_ptr<Runner>>>();
    PyObject* const self = wrap(std::move(model), reinterpret_cast<PyTypeObject*>(type));
    reinterpret_cast<ModelObject*>(self)->options = options;
    reinterpret_cast<ModelObject*>(self)->idle = idle.release();
    return keep(self, dict, is<nnex_graph>(source) ? source : nullptr);
  });
}

void dealloc_model(PyObject* self) {
  untrack(self);
  clear_weak<nnex_model>(self);
  delete std::exchange(reinterpret_cast<ModelObject*>(self)->idle, nullptr);
  dealloc<nnex_model>(self);
}

PyObject* make_session(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* const names[] = {"threads", "seed", nullptr};
    const nnex_session_options& own = reinterpret_cast<ModelObject*>(self)->options;
    PyObject *threads = nullptr, *seed = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OO:session", const_cast<char**>(names), &threads, &seed))
      throw Raised();
    auto runner = std::make_unique<Runner>(
        model_of(self), options_of(threads ? threads_of(threads) : own.threads, seed ? seed_of(seed) : own.seed));
    PyObject* const object = need(PyType_GenericAlloc(Handle<nnex_session>::type, 0)).release();
    SessionObject& session = session_of(object);
    session.handle = runner->session.get();
    session.runner = runner.release();
    session.model = Py_NewRef(self);
    return object;
  });
}

/// The model, too. It is not cleared: a session has one as long as it lives, and the model's operators are cleared.
int traverse_session(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(session_of(self).model);
  return traverse<nnex_session>(self, visit, arg);
}

void dealloc_session(PyObject* self) {
  untrack(self);
  clear_weak<nnex_session>(self);
  SessionObject& session = session_of(self);
  session.handle = nullptr;  // the runner's
  if (Runner* const runner = std::exchange(session.runner, nullptr)) unlocked([&] { return delete runner, 0; });
  Py_CLEAR(session.model);
  dealloc<nnex_session>(self);
}

template <size_t (*kCount)(const nnex_model*), const nnex_port* (*kPort)(const nnex_model*, size_t)>
PyObject* model_ports(PyObject* self, void*) {
  return guarded(
      [&] { return ports_of(kCount(model_of(self)), [&](size_t i) { return kPort(model_of(self), i); }).release(); });
}

/// Whether a tensor has the extents that a port says.
bool has_extents(const nnex_port* port, const nnex_value* value) {
  if (nnex_value_kind(value) != NNEX_TENSOR || nnex_port_rank(port) < 0) return true;
  if (nnex_tensor_rank(value) != static_cast<size_t>(nnex_port_rank(port))) return false;
  for (size_t i = 0; i < nnex_tensor_rank(value); ++i) {
    const int64_t extent = nnex_port_extent(port, i);
    if (extent >= 0 && extent != nnex_tensor_extents(value)[i]) return false;
  }
  return true;
}

/// The file of an input, as the value that it takes.
PyObject* read_input(PyObject* self, PyObject* args) {
  return guarded([&] {
    PyObject *name = nullptr, *file = nullptr, *options = nullptr;
    if (!PyArg_ParseTuple(args, "OOO", &name, &file, &options)) throw Raised();
    const std::string wanted = text_of(name);
    const nnex_port* port = nullptr;
    for (size_t i = 0; i < nnex_model_inputs(model_of(self)); ++i)
      if (wanted == nnex_port_name(nnex_model_input(model_of(self), i))) port = nnex_model_input(model_of(self), i);
    if (!port) refuse("found no input '" + wanted + "'");
    nnex_input_options o = {};
    o.size = sizeof o;
    std::string layout;
    std::vector<double> mean, scale;
    const auto numbers = [&](const char* key, std::vector<double>& to) {
      PyObject* const given = member(options, key);
      if (!given) return;
      if (PyNumber_Check(given) && !PySequence_Check(given)) return to.push_back(real_of(given));
      each(given, [&](PyObject* number) { to.push_back(real_of(number)); });
    };
    if (PyObject* const given = member(options, "layout")) o.layout = (layout = text_of(given)).c_str();
    numbers("mean", mean), numbers("scale", scale);
    o.mean = mean.data(), o.mean_count = mean.size(), o.scale = scale.data(), o.scale_count = scale.size();
    if (PyObject* const given = member(options, "bgr")) o.bgr = truth_of(given);
    if (PyObject* const given = member(options, "cast")) o.cast = truth_of(given);
    if (PyObject* const given = member(options, "sample_rate")) o.sample_rate = integer_of(given);
    const std::string path = path_of(file);
    auto value = made<nnex_value>([&](nnex_value** out) { return nnex_port_read(port, path.c_str(), &o, out); });
    if (!has_extents(port, value.get())) {
      const std::string message = "found " + std::string(nnex_value_text(value.get())) + "; input '" + wanted +
                                  "' needs " + nnex_port_type(port);
      raise(nnex_error_make(NNEX_INVALID_ARGUMENT, message.c_str(), path.c_str()));
    }
    return python_of(std::move(value)).release();
  });
}

PyMethodDef model_methods[] = {
    {"__copy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_NOARGS, "Itself: it never changes."},
    {"__deepcopy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_O, "Itself: it never changes."},
    {"run", method([](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
       return guarded([&] { return run_model(self, args, kwargs, false).release(); });
     }),
     METH_VARARGS | METH_KEYWORDS,
     "run(*inputs, outputs=None, timeout=None, cancel=None, values=False)\n--\n\nOne inference: inputs in the model's "
     "order, or one mapping by their names; gives the outputs "
     "by theirs.\n\noutputs: names of those that are wanted. timeout: seconds. cancel: a nnex.Cancel, which ends the "
     "run "
     "from another\nthread. values: nnex.Value objects, which share the memory of the run, in place of NumPy's arrays. "
     "May be called from\nany number of threads at once."},
    {"session", method(make_session), METH_VARARGS | METH_KEYWORDS,
     "session(*, threads=0, seed=0)\n--\n\nMemory and states of one caller. threads: of a run; 0: all this process may "
     "use. seed: of random operators\nwithout one of their own."},
    {"_read_input", read_input, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef model_properties[] = {
    {"inputs", model_ports<nnex_model_inputs, nnex_model_input>, nullptr, "What a run takes, in order.", nullptr},
    {"outputs", model_ports<nnex_model_outputs, nnex_model_output>, nullptr, "What a run gives, in order.", nullptr},
    {"states", model_ports<nnex_model_states, nnex_model_state>, nullptr, "What sessions keep from run to run.",
     nullptr},
    {"cache",
     [](PyObject* self, void*) { return guarded([&] { return text(nnex_model_cache(model_of(self))).release(); }); },
     nullptr, "What the folder of compiled models did: 'found', 'due', 'written', 'failed', 'none'.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot model_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_model)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse<nnex_model>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear<nnex_model>)},
    {Py_tp_call, reinterpret_cast<void*>(+[](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
       return guarded([&] { return run_model(self, args, kwargs, true).release(); });
     })},
    {Py_tp_methods, model_methods},
    {Py_tp_getset, model_properties},
    {Py_tp_doc,
     const_cast<char*>(
         "A compiled network; it never changes. `model(x)` runs it and gives its output, or a tuple of several.")},
    {0, nullptr}};
PyType_Spec model_spec = {
    "nnex._nnex.Model", sizeof(ModelObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, model_slots};

Ref nodes_of(const nnex_session* session) {
  static PyObject* const type = kind("NodeTime");
  Ref list = need(PyList_New(0));
  const char *place = nullptr, *op = nullptr, *kernel = nullptr;
  double start = 0, us = 0;
  for (size_t i = 0; nnex_session_node(session, i, &place, &op, &kernel, &start, &us); ++i)
    need(PyList_Append(list.get(), need(PyObject_CallFunction(type, "NNNdd", text(place).release(), text(op).release(),
                                                              text(kernel).release(), start, us))
                                       .get()));
  return list;
}

PyObject* none_after(nnex_error* error) {
  need(error);
  return Py_NewRef(Py_None);
}

PyMethodDef session_methods[] = {
    {"run", method([](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
       return guarded([&] {
         return run(model_of(session_of(self).model), *session_of(self).runner, args, kwargs, false).release();
       });
     }),
     METH_VARARGS | METH_KEYWORDS,
     "run(*inputs, outputs=None, timeout=None, cancel=None, values=False)\n--\n\nAs Model.run; one at a time."},
    {"prepare",
     [](PyObject* self, PyObject* args) -> PyObject* {
       return guarded([&] {
         nnex_session* const session = session_of(self).handle;
         if (PyTuple_Size(args) == 0) return none_after(unlocked([&] { return nnex_session_prepare(session); }));
         const Inputs inputs(model_of(session_of(self).model), args);
         return none_after(
             unlocked([&] { return nnex_session_prepare_for(session, inputs.all.data(), inputs.all.size()); }));
       });
     },
     METH_VARARGS,
     "prepare(*inputs)\n--\n\nPlans and packs ahead, for the shapes of these inputs or those that the model declares: "
     "the first run is then as fast as the next."},
    {"state",
     [](PyObject* self, PyObject* name) -> PyObject* {
       return guarded([&] {
         const std::string label = text_of(name);
         return python_of(made<nnex_value>([&](nnex_value** out) {
                  return nnex_session_state(session_of(self).handle, label.c_str(), out);
                }))
             .release();
       });
     },
     METH_O, "state(label)\n--\n\nWhat the session keeps under this label."},
    {"set_state",
     [](PyObject* self, PyObject* args) -> PyObject* {
       return guarded([&] {
         PyObject *name = nullptr, *value = nullptr;
         if (!PyArg_ParseTuple(args, "OO:set_state", &name, &value)) throw Raised();
         const std::string label = text_of(name);
         const nnex_model* const model = model_of(session_of(self).model);
         Wanted wanted;
         for (size_t i = 0; i < nnex_model_states(model); ++i)
           if (label == nnex_port_name(nnex_model_state(model, i))) wanted = Wanted(nnex_model_state(model, i));
         Owned<nnex_value> content = value_of(value, wanted);
         if (auto copy = copied(content.get())) content = std::move(copy);  // it outlives the call
         return none_after(nnex_session_set_state(session_of(self).handle, label.c_str(), content.get()));
       });
     },
     METH_VARARGS, "set_state(label, value)\n--\n\nGives a state other content."},
    {"reset_states",
     [](PyObject* self, PyObject*) {
       return guarded([&] { return none_after(nnex_session_reset_states(session_of(self).handle)); });
     },
     METH_NOARGS, "reset_states()\n--\n\nEvery state has its first content again."},
    {"profile",
     [](PyObject* self, PyObject* on) -> PyObject* {
       return guarded([&] { return nnex_session_profile(session_of(self).handle, truth_of(on)), Py_NewRef(Py_None); });
     },
     METH_O, "profile(on)\n--\n\nFrom now on every run is timed node by node, or no more."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef session_properties[] = {
    {"nodes",
     [](PyObject* self, void*) { return guarded([&] { return nodes_of(session_of(self).handle).release(); }); },
     nullptr, "How long each node took in the last run that was timed.", nullptr},
    {"model", [](PyObject* self, void*) { return Py_NewRef(session_of(self).model); }, nullptr, "Its model.", nullptr},
    {"memory", [](PyObject* self, void*) { return PyLong_FromLongLong(nnex_session_memory(session_of(self).handle)); },
     nullptr, "Bytes of activations and scratch memory it holds.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot session_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_session)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_session)},
    {Py_tp_repr, reinterpret_cast<void*>(+[](PyObject* self) -> PyObject* {
       return PyUnicode_FromFormat("<nnex.Session of %R>", session_of(self).model);
     })},
    {Py_tp_call, reinterpret_cast<void*>(+[](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
       return guarded([&] {
         return run(model_of(session_of(self).model), *session_of(self).runner, args, kwargs, true).release();
       });
     })},
    {Py_tp_methods, session_methods},
    {Py_tp_getset, session_properties},
    {Py_tp_doc,
     const_cast<char*>("Memory and states of one caller, who runs one inference at a time (Model.session).")},
    {0, nullptr}};
PyType_Spec session_spec = {
    "nnex._nnex.Session", sizeof(SessionObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, session_slots};

}  // namespace

PyMethodDef model_functions[] = {{"load", load, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

void add_models(PyObject* module) {
  add_type<nnex_model>(module, model_spec);
  add_type<nnex_session>(module, session_spec);
}

}  // namespace nnex_python
