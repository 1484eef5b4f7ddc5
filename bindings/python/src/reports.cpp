// Checking, inspecting, converting, drawing, comparing; values in files.

#include "objects.h"

namespace nnex_python {
namespace {

Ref list_of_texts(const char* (*get)(const void*, size_t), const void* of) {
  Ref list = need(PyList_New(0));
  for (size_t i = 0; const char* const found = get(of, i); ++i) need(PyList_Append(list.get(), text(found).get()));
  return list;
}
template <auto kGet, class T>
Ref texts(const T* of) {
  return list_of_texts([](const void* o, size_t i) { return kGet(static_cast<const T*>(o), i); }, of);
}

/// check(source, options): (sound, [(severity, code, where, message, rule, found, needed)]).
PyObject* check(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *source = nullptr, *options = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &source, &options)) throw Raised();
    const auto from = source_of(source);
    const auto load = load_options_of(options, from.get());
    const auto report = made<nnex_report>([&](nnex_report** out) { return nnex_check(from.get(), load.get(), out); });
    const nnex_report* const r = report.get();
    for (size_t i = 0; i < nnex_report_faults(r); ++i) {
      Ref cause = cause_of(nnex_report_message(r, i));
      pass_on(cause);
    }
    const Ref faults = need(PyList_New(0));
    for (size_t i = 0; i < nnex_report_faults(r); ++i)
      need(PyList_Append(
          faults.get(),
          need(Py_BuildValue("(iiNNNNN)", static_cast<int>(nnex_report_severity(r, i)),
                             static_cast<int>(nnex_report_code(r, i)), text(nnex_report_where(r, i)).release(),
                             sentence(nnex_report_message(r, i)).release(), text(nnex_report_rule(r, i)).release(),
                             sentence(nnex_report_found(r, i)).release(), text(nnex_report_needed(r, i)).release()))
              .get()));
    return need(Py_BuildValue("(NO)", PyBool_FromLong(nnex_report_sound(r)), faults.get())).release();
  });
}

/// inspect(source, options): a dict of nnex.Inspection's fields.
PyObject* inspect(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *source = nullptr, *options = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &source, &options)) throw Raised();
    const auto from = source_of(source);
    const auto load = load_options_of(options, from.get());
    const auto seen =
        made<nnex_inspection>([&](nnex_inspection** out) { return nnex_inspect(from.get(), load.get(), out); });
    const nnex_inspection* const i = seen.get();
    Ref dict = need(PyDict_New()), metadata = need(PyDict_New()), operators = need(PyDict_New());
    set(dict.get(), "format", text(nnex_inspection_format(i)));
    for (const char* const key : {"graph_name", "producer", "producer_version", "domain", "doc", "graph_doc"}) {
      const char* const found = nnex_inspection_metadata(i, key);
      set(dict.get(), key, text(found ? found : ""));
    }
    set(dict.get(), "model_version",
        need(PyLong_FromString(nnex_inspection_metadata(i, "model_version"), nullptr, 10)));
    for (size_t k = 0; const char* const key = nnex_inspection_metadata_key(i, k); ++k) {
      size_t size = 0;
      const char* const value = nnex_inspection_metadata_value(i, k, &size);
      set(metadata.get(), key, exact(value, size));
    }
    for (size_t k = 0; k < nnex_inspection_operators(i); ++k) {
      int64_t nodes = 0;
      const char* const name = nnex_inspection_operator(i, k, &nodes);
      set(operators.get(), name, need(PyLong_FromLongLong(nodes)));
    }
    set(dict.get(), "metadata", std::move(metadata));
    set(dict.get(), "operators", std::move(operators));
    set(dict.get(), "symbols", texts<nnex_inspection_symbol>(i));
    set(dict.get(), "inputs",
        ports_of(nnex_inspection_inputs(i), [&](size_t k) { return nnex_inspection_input(i, k); }));
    set(dict.get(), "outputs",
        ports_of(nnex_inspection_outputs(i), [&](size_t k) { return nnex_inspection_output(i, k); }));
    set(dict.get(), "states",
        ports_of(nnex_inspection_states(i), [&](size_t k) { return nnex_inspection_state(i, k); }));
    set(dict.get(), "nodes", need(PyLong_FromLongLong(nnex_inspection_nodes(i))));
    set(dict.get(), "parameters", need(PyLong_FromLongLong(nnex_inspection_parameters(i))));
    set(dict.get(), "parameter_bytes", need(PyLong_FromLongLong(nnex_inspection_parameter_bytes(i))));
    const char* const work = nnex_inspection_multiply_adds(i);
    set(dict.get(), "multiply_adds", text(work ? work : ""));
    const int64_t activations = nnex_inspection_activation_bytes(i);
    set(dict.get(), "activation_bytes", activations < 0 ? Ref::of(Py_None) : need(PyLong_FromLongLong(activations)));
    return dict.release();
  });
}

/// nnex_save_options of a dict, and the texts that it points to.
struct SaveOptions {
  std::string format, name;
  nnex_save_options c = {};

  explicit SaveOptions(PyObject* dict) {
    c.size = sizeof c;
    const auto words = [&](const char* key, std::string& to) -> const char* {
      PyObject* const given = member(dict, key);
      return given ? (to = text_of(given)).c_str() : nullptr;
    };
    const auto truth = [&](const char* key) {
      PyObject* const given = member(dict, key);
      return given && truth_of(given);
    };
    c.format = words("format", format), c.name = words("name", name);
    c.custom = truth("custom"), c.overwrite = truth("overwrite"), c.external_data = truth("external_data"),
    c.keep_fragments = truth("keep_fragments"), c.prove = truth("prove");
    if (PyObject* const opset = member(dict, "opset")) c.opset = named("opset", [&] { return integer_of(opset); });
  }
};

Ref contents_of(const nnex_files* files) {
  Ref dict = need(PyDict_New());
  for (size_t i = 0; i < nnex_files_count(files); ++i) {
    size_t size = 0;
    const void* const data = nnex_files_data(files, i, &size);
    set(dict.get(), nnex_files_name(files, i),
        need(PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(size))));
  }
  return dict;
}

/// convert(source or graph, path or None, load options, save options): None, or {name: bytes}.
PyObject* convert(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *source = nullptr, *path = nullptr, *options = nullptr, *save_options = nullptr;
    if (!PyArg_ParseTuple(args, "OOOO", &source, &path, &options, &save_options)) throw Raised();
    const SaveOptions save(save_options);
    const nnex_graph* graph = is<nnex_graph>(source) ? handle_of<nnex_graph>(source) : nullptr;
    const Owned<nnex_graph> changed = graph ? graph_with(source, options) : nullptr;
    if (changed) graph = changed.get();
    Owned<nnex_source> from;
    Owned<nnex_load_options> load;
    if (!graph) from = source_of(source), load = load_options_of(options, from.get());
    if (path == Py_None)
      return contents_of(made<nnex_files>([&](nnex_files** out) {
                           return graph ? nnex_graph_save_to_memory(graph, &save.c, out)
                                        : nnex_convert_to_memory(from.get(), load.get(), &save.c, out);
                         }).get())
          .release();
    const std::string to = path_of(path);
    need(unlocked([&] {
      return graph ? nnex_graph_save(graph, to.c_str(), &save.c)
                   : nnex_convert(from.get(), to.c_str(), load.get(), &save.c);
    }));
    return Py_NewRef(Py_None);
  });
}

/// view(source, load options, format, unfolded, unchecked): bytes.
PyObject* view(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *source = nullptr, *options = nullptr;
    const char* format = nullptr;
    int unfolded = 0, unchecked = 0;
    if (!PyArg_ParseTuple(args, "OOspp", &source, &options, &format, &unfolded, &unchecked)) throw Raised();
    const auto from = source_of(source);
    const auto load = load_options_of(options, from.get());
    const nnex_view_options c = {sizeof c, format, unfolded != 0, unchecked != 0};
    const auto files = made<nnex_files>([&](nnex_files** out) { return nnex_view(from.get(), load.get(), &c, out); });
    size_t size = 0;
    const void* const data = nnex_files_data(files.get(), 0, &size);
    return need(PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(size))).release();
  });
}

/// A dict of nnex.Compared's fields.
Ref compared(const nnex_compared* c) {
  if (!c) return Ref::of(Py_None);
  const char *a = nullptr, *b = nullptr;
  const int64_t worst = nnex_compared_worst(c, &a, &b);
  Ref dict = need(PyDict_New());
  const auto put = [&](const char* key, const char* value) { set(dict.get(), key, text(value ? value : "")); };
  put("a", nnex_compared_a(c)), put("b", nnex_compared_b(c)), put("op", nnex_compared_op(c)),
      put("place", nnex_compared_place(c));
  put("type", nnex_compared_type(c)), put("by", nnex_compared_by(c)), put("mismatch", nnex_compared_mismatch(c));
  put("worst_a", a), put("worst_b", b);
  set(dict.get(), "same", Ref(PyBool_FromLong(nnex_compared_same(c))));
  set(dict.get(), "elements", need(PyLong_FromLongLong(nnex_compared_count(c))));
  set(dict.get(), "differing", need(PyLong_FromLongLong(nnex_compared_differing(c))));
  set(dict.get(), "worst", need(PyLong_FromLongLong(worst)));
  set(dict.get(), "max_absolute", need(PyFloat_FromDouble(nnex_compared_max_absolute(c))));
  set(dict.get(), "max_relative", need(PyFloat_FromDouble(nnex_compared_max_relative(c))));
  set(dict.get(), "cosine", need(PyFloat_FromDouble(nnex_compared_cosine(c))));
  set(dict.get(), "sqnr_db", need(PyFloat_FromDouble(nnex_compared_sqnr_db(c))));
  return dict;
}

/// compare(a, b or {name: array}, [inputs of a], options): a dict of nnex.Comparison's fields.
PyObject* compare(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *a = nullptr, *b = nullptr, *inputs = nullptr, *dict = nullptr;
    int tensors = 0;
    if (!PyArg_ParseTuple(args, "OOpOO", &a, &b, &tensors, &inputs, &dict)) throw Raised();
    const auto from_a = source_of(a);
    const auto load_a = load_options_of(member(dict, "a"), from_a.get());
    std::vector<Owned<nnex_value>> owned;
    std::vector<nnex_value*> in, others;
    std::vector<std::string> names;
    each(inputs, [&](PyObject* pair) {  // (array, the type of a's input as its Port has it)
      owned.push_back(value_of(pair));
      in.push_back(owned.back().get());
    });
    Owned<nnex_source> from_b;
    Owned<nnex_load_options> load_b;
    if (tensors) {
      each_pair(b, [&](PyObject* name, PyObject* tensor) {
        names.push_back(text_of(name));
        owned.push_back(value_of(tensor));
        others.push_back(owned.back().get());
      });
    } else {
      from_b = source_of(b);
      load_b = load_options_of(member(dict, "b"), from_b.get());
    }
    nnex_compare_options c = {};
    c.size = sizeof c;
    const auto real = [&](const char* key) { return member(dict, key) ? real_of(member(dict, key)) : 0; };
    const auto truth = [&](const char* key) { return member(dict, key) && truth_of(member(dict, key)); };
    c.atol = real("atol"), c.rtol = real("rtol");
    c.ulp = member(dict, "ulp") ? integer_of(member(dict, "ulp")) : 0;
    c.a = load_a.get(), c.b = load_b.get();
    c.layers = truth("layers"), c.no_search = member(dict, "search") && !truth("search"),
    c.overwrite = truth("overwrite");
    std::string isolate;
    if (PyObject* const path = member(dict, "isolate")) c.isolate = (isolate = path_of(path)).c_str();
    c.threads = member(dict, "threads") ? static_cast<int>(integer_of(member(dict, "threads"))) : 0;
    const auto at = pointers(names);
    nnex_comparison* out = nullptr;
    nnex_error* error = nullptr;
    {
      const Interruptible watch;
      c.run = watch.options();
      error = unlocked([&] {
        return tensors ? nnex_compare_tensors(from_a.get(), at.data(), others.data(), at.size(), in.data(), in.size(),
                                              &c, &out)
                       : nnex_compare(from_a.get(), from_b.get(), in.data(), in.size(), &c, &out);
      });
    }
    need(error);
    const Owned<nnex_comparison> made_it(out);
    const nnex_comparison* const made = out;
    Ref result = need(PyDict_New()), outputs = need(PyList_New(0)), layers = need(PyList_New(0));
    for (size_t i = 0; i < nnex_comparison_outputs(made); ++i)
      need(PyList_Append(outputs.get(), compared(nnex_comparison_output(made, i)).get()));
    for (size_t i = 0; i < nnex_comparison_layers(made); ++i)
      need(PyList_Append(layers.get(), compared(nnex_comparison_layer(made, i)).get()));
    set(result.get(), "same", Ref(PyBool_FromLong(nnex_comparison_same(made))));
    set(result.get(), "outputs", std::move(outputs));
    set(result.get(), "layers", std::move(layers));
    set(result.get(), "only_a", texts<nnex_comparison_only_a>(made));
    set(result.get(), "only_b", texts<nnex_comparison_only_b>(made));
    set(result.get(), "first", compared(nnex_comparison_first(made)));
    set(result.get(), "cause", texts<nnex_comparison_cause>(made));
    const char* note = nullptr;
    bool reproduced = false;
    const bool isolated = nnex_comparison_isolated(made, &note, &reproduced);
    set(result.get(), "isolated",
        isolated ? need(Py_BuildValue("(NN)", PyBool_FromLong(reproduced), text(note).release())) : Ref::of(Py_None));
    return result.release();
  });
}

PyObject* read_value(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *path = nullptr, *type = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &path, &type)) throw Raised();
    const std::string from = path_of(path);
    const nnex_dtype dtype = type == Py_None ? NNEX_NONE : dtype_of(type);
    return python_of(made<nnex_value>([&](nnex_value** out) { return nnex_tensor_read_as(from.c_str(), dtype, out); }))
        .release();
  });
}

PyObject* write_value(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *value = nullptr, *path = nullptr, *name = nullptr;
    int overwrite = 0;
    if (!PyArg_ParseTuple(args, "OOOp", &value, &path, &name, &overwrite)) throw Raised();
    const auto tensor = value_of(value);
    const std::string to = path_of(path), called = name == Py_None ? "" : text_of(name);
    need(unlocked([&] {
      return nnex_tensor_write(tensor.get(), to.c_str(), name == Py_None ? nullptr : called.c_str(), overwrite != 0);
    }));
    return Py_NewRef(Py_None);
  });
}

PyObject* environment(PyObject*, PyObject*) {
  return guarded(
      [] { return need(Py_BuildValue("(ssi)", nnex_version(), nnex_isa(), nnex_usable_threads())).release(); });
}
PyObject* has(PyObject*, PyObject* feature) {
  return guarded([&] { return PyBool_FromLong(nnex_has(text_of(feature).c_str())); });
}

}  // namespace

PyMethodDef report_functions[] = {{"check", check, METH_VARARGS, nullptr},
                                  {"inspect", inspect, METH_VARARGS, nullptr},
                                  {"convert", convert, METH_VARARGS, nullptr},
                                  {"view", view, METH_VARARGS, nullptr},
                                  {"compare", compare, METH_VARARGS, nullptr},
                                  {"read_value", read_value, METH_VARARGS, nullptr},
                                  {"write_value", write_value, METH_VARARGS, nullptr},
                                  {"environment", environment, METH_NOARGS, nullptr},
                                  {"has", has, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

}  // namespace nnex_python
