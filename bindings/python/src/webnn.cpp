// WebNN's objects: what nnex/webnn.py stands on.

#include <cstring>

#include "objects.h"

namespace nnex_python {
namespace {

using MlValue = Owned<nnex_ml_value>;

/// The bytes of an array, as they lie.
class Bytes {
 public:
  explicit Bytes(PyObject* object)
      : value_(value_of(PyBytes_Check(object) ? need(PyMemoryView_FromObject(object)).get() : object)) {
    if (nnex_value_kind(value_.get()) != NNEX_TENSOR || nnex_tensor_dtype(value_.get()) == NNEX_STR)
      raise(PyExc_TypeError, "found " + type_name(object) + "; needed an array of numbers");
  }
  const void* data() const { return nnex_tensor_data(value_.get()); }
  size_t size() const { return nnex_tensor_bytes(value_.get()); }

 private:
  Owned<nnex_value> value_;
};

/// Values as JavaScript would have them, and the memory that they point to.
class Arguments {
 public:
  void add(PyObject* object) {
    owned_.push_back(value(object));
    all_.push_back(owned_.back().get());
  }
  nnex_ml_value* const* data() const { return all_.data(); }
  size_t size() const { return all_.size(); }
  const nnex_ml_value* only() const { return all_[0]; }

 private:
  std::vector<Bytes> bytes_;
  std::vector<MlValue> owned_;
  std::vector<nnex_ml_value*> all_;
  MlValue value(PyObject* object);
};

/// A number of NumPy's, which is no array though it has a buffer.
bool is_scalar(PyObject* object) {
  if (!numpy()) return false;
  static PyObject* const generic = need(PyObject_GetAttrString(numpy(), "generic")).release();
  const int is = PyObject_IsInstance(object, generic);
  need(is);
  return is != 0;
}

MlValue Arguments::value(PyObject* object) {
  const auto made_it = [](nnex_ml_value* value) {
    if (!value) throw std::bad_alloc();
    return MlValue(value);
  };
  if (object == Py_None) return made_it(nnex_ml_value_undefined());
  if (PyBool_Check(object)) return made_it(nnex_ml_value_boolean(truth_of(object)));
  if (is<nnex_ml_operand>(object)) return made_it(nnex_ml_value_operand(handle_of<nnex_ml_operand>(object)));
  if (is<nnex_ml_tensor>(object)) return made_it(nnex_ml_value_tensor(handle_of<nnex_ml_tensor>(object)));
  if (PyUnicode_Check(object)) return made_it(nnex_ml_value_text(text_of(object).c_str()));
  if (PyLong_Check(object)) {
    constexpr int64_t kExact = int64_t{1} << 53;
    int overflow = 0;
    const long long small = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0 && small >= -kExact && small <= kExact)
      return made_it(nnex_ml_value_number(static_cast<double>(small)));
    return made_it(nnex_ml_value_bigint(text_of(need(PyObject_Str(object)).get()).c_str()));
  }
  if (PyFloat_Check(object)) return made_it(nnex_ml_value_number(real_of(object)));
  if (is_scalar(object)) return value(need(PyObject_CallMethod(object, "item", nullptr)).get());
  std::vector<MlValue> owned;
  std::vector<nnex_ml_value*> items;
  const auto add_item = [&](PyObject* item) {
    owned.push_back(value(item));
    items.push_back(owned.back().get());
  };
  if (PyDict_Check(object)) {
    std::vector<std::string> keys;
    each_pair(object, [&](PyObject* key, PyObject* item) {
      keys.push_back(text_of(key));
      add_item(item);
    });
    const auto names = pointers(keys);
    return made_it(nnex_ml_value_dictionary(names.data(), items.data(), names.size()));
  }
  if (PyList_Check(object) || PyTuple_Check(object)) {
    each(object, add_item);
    return made_it(nnex_ml_value_list(items.data(), items.size()));
  }
  bytes_.emplace_back(object);
  return made_it(nnex_ml_value_buffer(bytes_.back().data(), bytes_.back().size()));
}

template <class T>
T* needed(PyObject* object, const char* what) {
  if (!is<T>(object)) raise(PyExc_TypeError, "found " + type_name(object) + "; needed " + what);
  return handle_of<T>(object);
}
nnex_ml_context* context_of(PyObject* object) { return needed<nnex_ml_context>(object, "MLContext"); }

PyObject* create_context(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* dict = nullptr;
    int threads = 0;
    if (!PyArg_ParseTuple(args, "Oi", &dict, &threads)) throw Raised();
    Arguments options;
    options.add(dict);
    return wrap(made<nnex_ml_context>(
        [&](nnex_ml_context** out) { return nnex_ml_context_make(options.only(), threads, out); }));
  });
}

PyObject* limits(PyObject*, PyObject* context) {
  return guarded([&] { return text(nnex_ml_context_limits(context_of(context))).release(); });
}

PyObject* make_builder(PyObject*, PyObject* context) {
  return guarded([&] {
    const nnex_ml_context* const of = context_of(context);
    return wrap(made<nnex_ml_builder>([&](nnex_ml_builder** out) { return nnex_ml_builder_make(of, out); }));
  });
}
nnex_ml_builder* builder_of(PyObject* object) { return needed<nnex_ml_builder>(object, "MLGraphBuilder"); }

/// call(builder, method, arguments): operands, in a tuple.
PyObject* call(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *builder = nullptr, *given = nullptr;
    const char* method = nullptr;
    if (!PyArg_ParseTuple(args, "OsO", &builder, &method, &given)) throw Raised();
    nnex_ml_builder* const b = builder_of(builder);
    Arguments arguments;
    each(given, [&](PyObject* item) { arguments.add(item); });
    std::vector<nnex_ml_operand*> out(1024);
    size_t count = 0;
    need(unlocked(
        [&] { return nnex_ml_call(b, method, arguments.data(), arguments.size(), out.data(), out.size(), &count); }));
    std::vector<Owned<nnex_ml_operand>> owned;
    for (size_t i = 0; i < count && i < out.size(); ++i) owned.emplace_back(out[i]);
    Ref tuple = need(PyTuple_New(static_cast<Py_ssize_t>(owned.size())));
    for (size_t i = 0; i < owned.size(); ++i)
      need(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), wrap(std::move(owned[i]))));
    return tuple.release();
  });
}

/// Handles of objects by names: {name: object}.
template <class T>
struct Named {
  std::vector<std::string> texts;
  std::vector<const char*> names;
  std::vector<T*> all;

  Named(PyObject* dict, const char* what) {
    if (!PyDict_Check(dict)) raise(PyExc_TypeError, "found " + type_name(dict) + "; needed a dict by names");
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(dict, &at, &key, &value)) {
      texts.push_back(text_of(key));
      all.push_back(needed<T>(value, what));
    }
    names = pointers(texts);
  }
};

PyObject* build(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *builder = nullptr, *dict = nullptr;
    if (!PyArg_ParseTuple(args, "OO", &builder, &dict)) throw Raised();
    nnex_ml_builder* const b = builder_of(builder);
    const Named<nnex_ml_operand> outputs(dict, "MLOperand");
    return wrap(made<nnex_ml_graph>([&](nnex_ml_graph** out) {
      return nnex_ml_build(b, outputs.names.data(), outputs.all.data(), outputs.all.size(), out);
    }));
  });
}

/// create_tensor(context, descriptor, array or None): with an array a constant tensor.
PyObject* create_tensor(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *context = nullptr, *dict = nullptr, *array = nullptr;
    if (!PyArg_ParseTuple(args, "OOO", &context, &dict, &array)) throw Raised();
    const nnex_ml_context* const of = context_of(context);
    Arguments descriptor;
    descriptor.add(dict);
    if (array == Py_None)
      return wrap(
          made<nnex_ml_tensor>([&](nnex_ml_tensor** out) { return nnex_ml_tensor_make(of, descriptor.only(), out); }));
    const Bytes bytes(array);
    return wrap(made<nnex_ml_tensor>([&](nnex_ml_tensor** out) {
      return nnex_ml_constant_tensor_make(of, descriptor.only(), bytes.data(), bytes.size(), out);
    }));
  });
}

PyObject* write_tensor(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *context = nullptr, *tensor = nullptr, *array = nullptr;
    if (!PyArg_ParseTuple(args, "OOO", &context, &tensor, &array)) throw Raised();
    const nnex_ml_context* const of = context_of(context);
    const nnex_ml_tensor* const to = needed<nnex_ml_tensor>(tensor, "MLTensor");
    const Bytes bytes(array);
    need(unlocked([&] { return nnex_ml_tensor_write(of, to, bytes.data(), bytes.size()); }));
    return Py_NewRef(Py_None);
  });
}

/// read_tensor(context, tensor, writable memory).
PyObject* read_tensor(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *context = nullptr, *tensor = nullptr, *into = nullptr;
    if (!PyArg_ParseTuple(args, "OOO", &context, &tensor, &into)) throw Raised();
    const nnex_ml_context* const of = context_of(context);
    const nnex_ml_tensor* const from = needed<nnex_ml_tensor>(tensor, "MLTensor");
    Py_buffer memory;
    need(PyObject_GetBuffer(into, &memory, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS));
    nnex_error* const error =
        unlocked([&] { return nnex_ml_tensor_read(of, from, memory.buf, static_cast<size_t>(memory.len)); });
    PyBuffer_Release(&memory);
    need(error);
    return Py_NewRef(Py_None);
  });
}

/// read_value(context, tensor, type, shape): a Value of what it holds.
PyObject* read_value(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *context = nullptr, *tensor = nullptr, *type = nullptr, *shape = nullptr;
    if (!PyArg_ParseTuple(args, "OOOO", &context, &tensor, &type, &shape)) throw Raised();
    const nnex_ml_context* const of = context_of(context);
    const nnex_ml_tensor* const from = needed<nnex_ml_tensor>(tensor, "MLTensor");
    std::vector<int64_t> extents;
    each(shape, [&](PyObject* extent) { extents.push_back(integer_of(extent)); });
    const nnex_dtype dtype = dtype_of(type);
    auto value = made<nnex_value>(
        [&](nnex_value** out) { return nnex_tensor_make(dtype, extents.size(), extents.data(), out); });
    void* const to = nnex_tensor_mutable_data(value.get());
    const size_t bytes = nnex_tensor_bytes(value.get());
    need(unlocked([&] { return nnex_ml_tensor_read(of, from, to, bytes); }));
    return wrap(std::move(value));
  });
}

PyObject* dispatch(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *context = nullptr, *graph = nullptr, *in = nullptr, *out = nullptr;
    if (!PyArg_ParseTuple(args, "OOOO", &context, &graph, &in, &out)) throw Raised();
    const nnex_ml_context* const of = context_of(context);
    const nnex_ml_graph* const g = needed<nnex_ml_graph>(graph, "MLGraph");
    const Named<nnex_ml_tensor> inputs(in, "MLTensor"), outputs(out, "MLTensor");
    need(unlocked([&] {
      return nnex_ml_dispatch(of, g, inputs.names.data(), inputs.all.data(), inputs.all.size(), outputs.names.data(),
                              outputs.all.data(), outputs.all.size());
    }));
    return Py_NewRef(Py_None);
  });
}

PyObject* destroy(PyObject*, PyObject* object) {
  return guarded([&] {
    if (is<nnex_ml_tensor>(object))
      nnex_ml_tensor_destroy(handle_of<nnex_ml_tensor>(object));
    else if (is<nnex_ml_graph>(object))
      nnex_ml_graph_destroy(handle_of<nnex_ml_graph>(object));
    else
      unlocked([&, context = context_of(object)] { return nnex_ml_context_destroy(context), 0; });
    return Py_NewRef(Py_None);
  });
}

PyObject* lost(PyObject*, PyObject* context) {
  return guarded([&] {
    const char* message = nullptr;
    return (nnex_ml_context_lost(context_of(context), &message) ? text(message) : Ref::of(Py_None)).release();
  });
}

PyGetSetDef operand_properties[] = {
    {"dataType",
     [](PyObject* self, void*) {
       return guarded([&] { return text(nnex_ml_operand_type(handle_of<nnex_ml_operand>(self))).release(); });
     },
     nullptr, "'float32' and the like.", nullptr},
    {"shape",
     [](PyObject* self, void*) -> PyObject* {
       return guarded([&] {
         const nnex_ml_operand* const o = handle_of<nnex_ml_operand>(self);
         Ref tuple = need(PyTuple_New(static_cast<Py_ssize_t>(nnex_ml_operand_rank(o))));
         for (size_t i = 0; i < nnex_ml_operand_rank(o); ++i)
           need(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i),
                                need(PyLong_FromUnsignedLong(nnex_ml_operand_shape(o)[i])).release()));
         return tuple.release();
       });
     },
     nullptr, "The extents.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* repr(PyObject* self) {
  return guarded([&] {
    const nnex_ml_operand* const o = handle_of<nnex_ml_operand>(self);
    const Ref shape = need(PyObject_GetAttrString(self, "shape"));
    return need(PyUnicode_FromFormat("<MLOperand %s %S>", nnex_ml_operand_type(o), shape.get())).release();
  });
}

template <class T>
void add(PyObject* module, const char* name, PyGetSetDef* properties = nullptr) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc<T>)},
                         {properties ? Py_tp_getset : 0, properties},
                         {properties ? Py_tp_repr : 0, reinterpret_cast<void*>(repr)},
                         {0, nullptr}};
  PyType_Spec spec = {name, sizeof(HandleObject<T>), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  add_type<T>(module, spec);
}

}  // namespace

PyMethodDef webnn_functions[] = {{"ml_create_context", create_context, METH_VARARGS, nullptr},
                                 {"ml_limits", limits, METH_O, nullptr},
                                 {"ml_builder", make_builder, METH_O, nullptr},
                                 {"ml_call", call, METH_VARARGS, nullptr},
                                 {"ml_build", build, METH_VARARGS, nullptr},
                                 {"ml_create_tensor", create_tensor, METH_VARARGS, nullptr},
                                 {"ml_write_tensor", write_tensor, METH_VARARGS, nullptr},
                                 {"ml_read_tensor", read_tensor, METH_VARARGS, nullptr},
                                 {"ml_read_value", read_value, METH_VARARGS, nullptr},
                                 {"ml_dispatch", dispatch, METH_VARARGS, nullptr},
                                 {"ml_destroy", destroy, METH_O, nullptr},
                                 {"ml_lost", lost, METH_O, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};

void add_webnn(PyObject* module) {
  add<nnex_ml_context>(module, "nnex._nnex.ContextHandle");
  add<nnex_ml_builder>(module, "nnex._nnex.BuilderHandle");
  add<nnex_ml_operand>(module, "nnex._nnex.MLOperand", operand_properties);
  add<nnex_ml_tensor>(module, "nnex._nnex.TensorHandle");
  add<nnex_ml_graph>(module, "nnex._nnex.GraphHandle");
}

}  // namespace nnex_python
