// Graphs: walked, edited, quantised.

#include "objects.h"

namespace nnex_python {
namespace {

nnex_graph* graph_of(PyObject* self) { return handle_of<nnex_graph>(self); }

template <class F>
Ref tuple_of(size_t count, F item) {
  Ref tuple = need(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) need(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), item(i).release()));
  return tuple;
}
/// What is made of a graph keeps its operators.
PyObject* edited(PyObject* self, Owned<nnex_graph> graph) { return keep(wrap(std::move(graph)), nullptr, self); }

Ref port_or_none(const nnex_port* port) { return port ? port_of(port) : Ref::of(Py_None); }

Ref attribute_of(const nnex_attribute* a) {
  bool truth = false;
  int64_t integer = 0;
  double real = 0;
  const char* words = nullptr;
  const int64_t* integers = nullptr;
  const double* reals = nullptr;
  const char* const* many = nullptr;
  size_t count = 0;
  nnex_dtype dtype = NNEX_NONE;
  const auto number = [&](size_t i) { return need(PyLong_FromLongLong(integers[i])); };
  switch (nnex_attribute_kind(a)) {
    case NNEX_ATTRIBUTE_NONE:
      break;
    case NNEX_ATTRIBUTE_BOOL:
      return need(nnex_attribute_bool(a, &truth)), Ref(PyBool_FromLong(truth));
    case NNEX_ATTRIBUTE_INT:
      return need(nnex_attribute_int(a, &integer)), need(PyLong_FromLongLong(integer));
    case NNEX_ATTRIBUTE_REAL:
      return need(nnex_attribute_real(a, &real)), need(PyFloat_FromDouble(real));
    case NNEX_ATTRIBUTE_TEXT:
      return need(nnex_attribute_text(a, &words)), text(words);
    case NNEX_ATTRIBUTE_INTS:
      return need(nnex_attribute_ints(a, &integers, &count)), tuple_of(count, number);
    case NNEX_ATTRIBUTE_REALS:
      return need(nnex_attribute_reals(a, &reals, &count)),
             tuple_of(count, [&](size_t i) { return need(PyFloat_FromDouble(reals[i])); });
    case NNEX_ATTRIBUTE_TEXTS:
      return need(nnex_attribute_texts(a, &many, &count)), tuple_of(count, [&](size_t i) { return text(many[i]); });
    case NNEX_ATTRIBUTE_PAIRS:
      need(nnex_attribute_pairs(a, &integers, &count));
      return tuple_of(count, [&](size_t i) { return tuple_of(2, [&](size_t j) { return number(2 * i + j); }); });
    case NNEX_ATTRIBUTE_DTYPE:
      return need(nnex_attribute_dtype(a, &dtype)), text(numpy_name(dtype));
    case NNEX_ATTRIBUTE_TENSOR:
      return python_of(made<nnex_value>([&](nnex_value** out) { return nnex_attribute_tensor(a, out); }));
  }
  return Ref::of(Py_None);
}

Ref node_of(const nnex_node* node);

Ref block_of(const nnex_block* block) {
  static PyObject* const type = kind("Block");
  return need(PyObject_CallFunction(
      type, "NNN",
      tuple_of(nnex_block_nodes(block), [&](size_t i) { return node_of(nnex_block_node(block, i)); }).release(),
      tuple_of(nnex_block_parameters(block), [&](size_t i) { return port_or_none(nnex_block_parameter(block, i)); })
          .release(),
      tuple_of(nnex_block_results(block), [&](size_t i) {
        return port_or_none(nnex_block_result(block, i));
      }).release()));
}

Ref node_of(const nnex_node* node) {
  static PyObject* const type = kind("Node");
  Ref attributes = need(PyDict_New());
  for (size_t i = 0; i < nnex_node_attributes(node); ++i) {
    const nnex_attribute* const a = nnex_node_attribute(node, i);
    set(attributes.get(), nnex_attribute_key(a), attribute_of(a));
  }
  return need(PyObject_CallFunction(
      type, "NNNNNNN", text(nnex_node_op(node)).release(), text(nnex_node_domain(node)).release(),
      text(nnex_node_place(node)).release(),
      tuple_of(nnex_node_inputs(node), [&](size_t i) { return port_or_none(nnex_node_input(node, i)); }).release(),
      tuple_of(nnex_node_outputs(node), [&](size_t i) { return port_or_none(nnex_node_output(node, i)); }).release(),
      attributes.release(),
      tuple_of(nnex_node_blocks(node), [&](size_t i) { return block_of(nnex_node_block(node, i)); }).release()));
}

PyObject* load(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *source = nullptr, *options = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &source, &options)) throw Raised();
    if (is<nnex_model>(source))
      return keep(wrap(made<nnex_graph>(
                      [&](nnex_graph** out) { return nnex_graph_of_model(handle_of<nnex_model>(source), out); })),
                  nullptr, source);
    const auto from = source_of(source);
    const auto load_options = load_options_of(options, from.get());
    return keep(
        wrap(made<nnex_graph>([&](nnex_graph** out) { return nnex_graph_load(from.get(), load_options.get(), out); })),
        options, nullptr);
  });
}

/// with_options(graph, options): the graph as they change it.
PyObject* with_options(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *graph = nullptr, *options = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &graph, &options)) throw Raised();
    auto changed = graph_with(graph, options);
    return changed ? keep(wrap(std::move(changed)), options, graph) : Py_NewRef(graph);
  });
}

PyObject* parse(PyObject*, PyObject* given) {
  return guarded([&] {
    const std::string words = text_of(given);
    return wrap(made<nnex_graph>([&](nnex_graph** out) { return nnex_graph_parse(words.c_str(), nullptr, out); }));
  });
}

PyObject* text_method(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* const names[] = {"whole", nullptr};
    int whole = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:text", const_cast<char**>(names), &whole)) throw Raised();
    const char* const words = nnex_graph_text(graph_of(self), whole != 0);
    if (!words) throw std::bad_alloc();
    return text(words).release();
  });
}

PyObject* extract(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* const names[] = {"inputs", "outputs", nullptr};
    PyObject *inputs = Py_None, *outputs = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OO:extract", const_cast<char**>(names), &inputs, &outputs))
      throw Raised();
    const auto from = inputs == Py_None ? std::vector<std::string>() : texts_of(inputs);
    const auto to = outputs == Py_None ? std::vector<std::string>() : texts_of(outputs);
    const auto a = pointers(from), b = pointers(to);
    return edited(self, made<nnex_graph>([&](nnex_graph** out) {
                    return nnex_graph_extract(graph_of(self), a.data(), a.size(), b.data(), b.size(), out);
                  }));
  });
}

PyObject* rename(PyObject* self, PyObject* names) {
  return guarded([&] {
    std::vector<std::string> old_names, new_names;
    each_pair(names, [&](PyObject* from, PyObject* to) {
      old_names.push_back(text_of(from));
      new_names.push_back(text_of(to));
    });
    const auto a = pointers(old_names), b = pointers(new_names);
    return edited(self, made<nnex_graph>([&](nnex_graph** out) {
                    return nnex_graph_rename(graph_of(self), a.data(), b.data(), a.size(), out);
                  }));
  });
}

/// An edit that runs the graph: Ctrl-C ends it.
template <class F>
PyObject* run_edited(PyObject* self, F edit) {
  nnex_graph* out = nullptr;
  nnex_error* error = nullptr;
  {
    const Interruptible watch;
    error = unlocked([&] { return edit(watch.options(), &out); });
  }
  need(error);
  return edited(self, Owned<nnex_graph>(out));
}

PyMethodDef methods[] = {
    {"__copy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_NOARGS, "Itself: it never changes."},
    {"__deepcopy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_O, "Itself: it never changes."},
    {"text", method(text_method), METH_VARARGS | METH_KEYWORDS,
     "text(*, whole=False)\n--\n\nThe graph as text; whole: with all numbers, as parse_graph reads it."},
    {"extract", method(extract), METH_VARARGS | METH_KEYWORDS,
     "extract(*, inputs=None, outputs=None)\n--\n\nThe part that makes these tensors from those: without inputs, from "
     "what it needs of the graph's; without outputs, up to the graph's."},
    {"rename", rename, METH_O,
     "rename(names)\n--\n\nOther names for inputs, outputs and tensors inside: a dict from the old ones."},
    {"set_batch",
     [](PyObject* self, PyObject* batch) -> PyObject* {
       return guarded([&] {
         const int64_t n = integer_of(batch);
         return run_edited(self, [&](const nnex_run_options* run, nnex_graph** out) {
           return nnex_graph_set_batch(graph_of(self), n, run, out);
         });
       });
     },
     METH_O,
     "set_batch(n)\n--\n\nEvery input has n as its first extent; one run of it is proven to equal n runs, on random "
     "inputs."},
    {"simplify",
     [](PyObject* self, PyObject*) -> PyObject* {
       return guarded([&] {
         return run_edited(self, [&](const nnex_run_options* run, nnex_graph** out) {
           return nnex_graph_simplify(graph_of(self), run, out);
         });
       });
     },
     METH_NOARGS,
     "simplify()\n--\n\nConstants folded, what nobody reads dropped, what is computed twice merged; each step is taken "
     "back where it moves an output."},
    {"narrow",
     [](PyObject* self, PyObject* dtype) -> PyObject* {
       return guarded([&] {
         const nnex_dtype to = dtype_of(dtype);
         return run_edited(self, [&](const nnex_run_options* run, nnex_graph** out) {
           return nnex_graph_narrow(graph_of(self), to, run, out);
         });
       });
     },
     METH_O,
     "narrow(dtype)\n--\n\nWeights of float32 stored as 'float16' or 'bfloat16'; it computes in float32 as before."},
    {"strip", method([](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
       return guarded([&] {
         static const char* const names[] = {"names", nullptr};
         int too = 0;
         if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:strip", const_cast<char**>(names), &too)) throw Raised();
         return edited(
             self, made<nnex_graph>([&](nnex_graph** out) { return nnex_graph_strip(graph_of(self), too != 0, out); }));
       });
     }),
     METH_VARARGS | METH_KEYWORDS,
     "strip(*, names=False)\n--\n\nWithout what no run needs: texts and properties of the file; with names those of "
     "tensors inside, too."},
    {"set_inputs",
     [](PyObject* self, PyObject* values) -> PyObject* {
       return guarded([&] {
         std::vector<std::string> names;
         std::vector<Owned<nnex_value>> owned;
         std::vector<nnex_value*> tensors;
         each_pair(values, [&](PyObject* name, PyObject* value) {
           names.push_back(text_of(name));
           const nnex_port* const port = nnex_graph_find(graph_of(self), names.back().c_str());
           auto tensor = named(names.back(), [&] { return value_of(value, port ? Wanted(port) : Wanted()); });
           if (auto copy = copied(tensor.get())) tensor = std::move(copy);  // the graph keeps it
           tensors.push_back(tensor.get()), owned.push_back(std::move(tensor));
         });
         const auto at = pointers(names);
         return edited(self, made<nnex_graph>([&](nnex_graph** out) {
                         return nnex_graph_set_constants(graph_of(self), at.data(), tensors.data(), at.size(), out);
                       }));
       });
     },
     METH_O,
     "set_inputs(values)\n--\n\nInputs of these names become constants, a dict from names to arrays; other tensors of "
     "the graph do, too."},
    {"find",
     [](PyObject* self, PyObject* name) -> PyObject* {
       return guarded([&] { return port_or_none(nnex_graph_find(graph_of(self), text_of(name).c_str())).release(); });
     },
     METH_O, "find(name)\n--\n\nThe tensor of this name, as a Port; None: there is none."},
    {"constant",
     [](PyObject* self, PyObject* name) -> PyObject* {
       return guarded([&] {
         const nnex_port* const port = nnex_graph_find(graph_of(self), text_of(name).c_str());
         if (!port || !nnex_port_is_constant(port)) return Py_NewRef(Py_None);
         return python_of(made<nnex_value>([&](nnex_value** out) { return nnex_port_constant(port, out); })).release();
       });
     },
     METH_O, "constant(name)\n--\n\nThe content of the constant of this name; None: there is none."},
    {nullptr, nullptr, 0, nullptr}};

template <const char* (*kGet)(const nnex_graph*, size_t)>
PyObject* names_of(PyObject* self, void*) {
  return guarded([&] {
    Ref list = need(PyList_New(0));
    for (size_t i = 0; const char* const found = kGet(graph_of(self), i); ++i)
      need(PyList_Append(list.get(), text(found).get()));
    return list.release();
  });
}

PyGetSetDef properties[] = {
    {"inputs",
     [](PyObject* self, void*) {
       return guarded([&] {
         return ports_of(nnex_graph_inputs(graph_of(self)),
                         [&](size_t i) { return nnex_graph_input(graph_of(self), i); })
             .release();
       });
     },
     nullptr, "Its inputs, in order.", nullptr},
    {"outputs",
     [](PyObject* self, void*) {
       return guarded([&] {
         return ports_of(nnex_graph_outputs(graph_of(self)),
                         [&](size_t i) { return nnex_graph_output(graph_of(self), i); })
             .release();
       });
     },
     nullptr, "Its outputs, in order.", nullptr},
    {"nodes",
     [](PyObject* self, void*) {
       return guarded([&] {
         return tuple_of(nnex_graph_nodes(graph_of(self)),
                         [&](size_t i) { return node_of(nnex_graph_node(graph_of(self), i)); })
             .release();
       });
     },
     nullptr, "Its nodes, in order; those of blocks are their owners'.", nullptr},
    {"symbols", names_of<nnex_graph_symbol>, nullptr, "Symbols of extents.", nullptr},
    {"functions", names_of<nnex_graph_function>, nullptr, "Functions that the model defines.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

/// "<nnex.Graph of 21 nodes: (picture) -> (probabilities)>".
PyObject* repr(PyObject* self) {
  return guarded([&] {
    const nnex_graph* const g = graph_of(self);
    const auto names = [](size_t count, auto port) {
      std::string out;
      for (size_t i = 0; i < count; ++i) out += (i ? ", " : "") + std::string(nnex_port_name(port(i)));
      return out;
    };
    const std::string in = names(nnex_graph_inputs(g), [&](size_t i) { return nnex_graph_input(g, i); });
    const std::string out = names(nnex_graph_outputs(g), [&](size_t i) { return nnex_graph_output(g, i); });
    const std::string nodes = std::to_string(nnex_graph_nodes(g));
    return text(("<nnex.Graph of " + nodes + " nodes: (" + in + ") -> (" + out + ")>").c_str()).release();
  });
}

PyType_Slot slots[] = {
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<nnex_graph>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse<nnex_graph>)},
    {Py_tp_clear, reinterpret_cast<void*>(clear<nnex_graph>)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_doc,
     const_cast<char*>(
         "A network as its file has it; it never changes: what edits one makes another, which shares its weights.")},
    {0, nullptr}};
PyType_Spec spec = {"nnex._nnex.Graph", sizeof(HandleObject<nnex_graph>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

// ---- Quantising ----

struct Samples {
  PyObject* object;  // item(i) gives a sample: a tuple in the graph's order

  static nnex_error* read(void* context, int64_t index, nnex_value** inputs, size_t count) {
    const Locked locked;
    const bool done = guarded(
        [&] {
          const Ref sample =
              need(PyObject_CallFunction(static_cast<Samples*>(context)->object, "L", static_cast<long long>(index)));
          if (!PyTuple_Check(sample.get()) || PyTuple_Size(sample.get()) != static_cast<Py_ssize_t>(count))
            raise(PyExc_ValueError, "a sample needs " + std::to_string(count) + " inputs");
          for (size_t i = 0; i < count; ++i)
            inputs[i] = value_of(PyTuple_GetItem(sample.get(), static_cast<Py_ssize_t>(i))).release();
          return true;
        },
        false);
    return done ? nullptr : error_of_callback(NNEX_INVALID_ARGUMENT, ("sample " + std::to_string(index)).c_str());
  }
};

/// quantize(graph, count, item, options): (Graph, dict of nnex.Quantized's other fields).
PyObject* quantize(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *graph = nullptr, *item = nullptr, *dict = nullptr;
    long long count = 0;
    if (!PyArg_ParseTuple(args, "OLOO", &graph, &count, &item, &dict)) throw Raised();
    if (!is<nnex_graph>(graph)) raise(PyExc_TypeError, "found " + type_name(graph) + "; needed nnex.Graph");
    nnex_quantize_options c = {};
    c.size = sizeof c;
    std::vector<std::string> held(4);
    const auto words = [&](const char* key, size_t place) -> const char* {
      PyObject* const given = member(dict, key);
      return given ? (held[place] = text_of(given)).c_str() : nullptr;
    };
    const auto truth = [&](const char* key) { return member(dict, key) && truth_of(member(dict, key)); };
    const auto real = [&](const char* key) { return member(dict, key) ? real_of(member(dict, key)) : 0; };
    const auto integer = [&](const char* key) { return member(dict, key) ? integer_of(member(dict, key)) : 0; };
    c.to = words("to", 0), c.weights = words("weights", 1), c.method = words("method", 2),
    c.recipe = words("recipe", 3);
    c.percentile = real("percentile"), c.min_sqnr_db = real("min_sqnr_db");
    c.block = integer("block"), c.judge_count = integer("judge_count"),
    c.threads = static_cast<int>(integer("threads"));
    const auto keep = member(dict, "keep_float") ? texts_of(member(dict, "keep_float")) : std::vector<std::string>();
    const auto kept = pointers(keep);
    c.keep_float = kept.data(), c.keep_float_count = kept.size();
    c.per_tensor = truth("per_tensor"),
    c.no_bias_correction = member(dict, "bias_correction") && !truth("bias_correction");
    c.equalize = truth("equalize"), c.smooth = truth("smooth"), c.measured = truth("measured"),
    c.fastest = truth("fastest");
    c.no_judge = member(dict, "judge") && !truth("judge");
    Samples context = {item};
    const nnex_samples samples = {sizeof samples, count, Samples::read, &context};
    nnex_quantized* out = nullptr;
    nnex_error* error = nullptr;
    {
      const Interruptible watch;
      c.run = watch.options();
      error = unlocked([&] { return nnex_quantize(graph_of(graph), item == Py_None ? nullptr : &samples, &c, &out); });
    }
    need(error);
    const Owned<nnex_quantized> done(out);
    Ref made_graph(edited(graph, made<nnex_graph>([&](nnex_graph** g) { return nnex_quantized_graph(out, g); })));
    Ref result = need(PyDict_New()), layers = need(PyList_New(0)), outputs = need(PyList_New(0)),
        notes = need(PyList_New(0));
    const char *name = nullptr, *op = nullptr, *why = nullptr;
    int64_t bytes = 0, rows = 0, agreed = 0;
    double sqnr = 0;
    for (size_t i = 0; nnex_quantized_layer(out, i, &name, &op, &why, &bytes, &sqnr); ++i)
      need(PyList_Append(layers.get(), need(Py_BuildValue("(NNNLd)", text(name).release(), text(op).release(),
                                                          text(why).release(), static_cast<long long>(bytes), sqnr))
                                           .get()));
    for (size_t i = 0; nnex_quantized_output(out, i, &name, &sqnr, &rows, &agreed); ++i)
      need(
          PyList_Append(outputs.get(), need(Py_BuildValue("(NdLL)", text(name).release(), sqnr,
                                                          static_cast<long long>(rows), static_cast<long long>(agreed)))
                                           .get()));
    for (size_t i = 0; const char* const note = nnex_quantized_note(out, i); ++i)
      need(PyList_Append(notes.get(), text(note).get()));
    set(result.get(), "recipe", text(nnex_quantized_recipe(out)));
    set(result.get(), "layers", std::move(layers));
    set(result.get(), "outputs", std::move(outputs));
    set(result.get(), "notes", std::move(notes));
    set(result.get(), "float_bytes", need(PyLong_FromLongLong(nnex_quantized_float_bytes(out))));
    set(result.get(), "bytes", need(PyLong_FromLongLong(nnex_quantized_bytes(out))));
    set(result.get(), "float_us", need(PyFloat_FromDouble(nnex_quantized_float_us(out))));
    set(result.get(), "us", need(PyFloat_FromDouble(nnex_quantized_us(out))));
    return need(Py_BuildValue("(NN)", made_graph.release(), result.release())).release();
  });
}

}  // namespace

PyMethodDef graph_functions[] = {{"graph_load", load, METH_VARARGS, nullptr},
                                 {"graph_parse", parse, METH_O, nullptr},
                                 {"graph_with", with_options, METH_VARARGS, nullptr},
                                 {"quantize", quantize, METH_VARARGS, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

void add_graphs(PyObject* module) { add_type<nnex_graph>(module, spec); }

}  // namespace nnex_python
