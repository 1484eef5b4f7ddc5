// Operators that Python computes.

#include <cstring>

#include "objects.h"

namespace nnex_python {
namespace {

constexpr const char* kNothing = "run() returned None; needed the output, or a tuple of several";

/// A Python object with `domain`, `name`, `since`, `until`, `pure`, `infer` and `run` (nnex.CustomOp).
struct CustomOp {
  Ref weak;  ///< A reference that does not keep it: a model that its own operator reaches could not be collected.
  std::string domain, name;

  /// Attributes as Python asks for them, one at a time: get(name).
  static Ref attribute(nnex_custom_node* node, const char* name) {
    if (!nnex_custom_node_has(node, name)) return Ref::of(Py_None);
    int64_t integer = 0;
    double real = 0;
    const char* words = nullptr;
    const int64_t* integers = nullptr;
    const double* reals = nullptr;
    const char* const* texts = nullptr;
    const nnex_value* tensor = nullptr;
    size_t count = 0;
    const auto is = [](nnex_error* error) {
      const bool done = error == nullptr;
      nnex_error_free(error);
      return done;
    };
    const auto list = [&](auto item) {
      Ref out = need(PyList_New(0));
      for (size_t i = 0; i < count; ++i) need(PyList_Append(out.get(), item(i).get()));
      return out;
    };
    if (is(nnex_custom_node_int(node, name, &integer))) return need(PyLong_FromLongLong(integer));
    if (is(nnex_custom_node_real(node, name, &real))) return need(PyFloat_FromDouble(real));
    if (is(nnex_custom_node_text(node, name, &words))) return text(words);
    if (is(nnex_custom_node_ints(node, name, &integers, &count)))
      return list([&](size_t i) { return need(PyLong_FromLongLong(integers[i])); });
    if (is(nnex_custom_node_reals(node, name, &reals, &count)))
      return list([&](size_t i) { return need(PyFloat_FromDouble(reals[i])); });
    if (is(nnex_custom_node_texts(node, name, &texts, &count))) return list([&](size_t i) { return text(texts[i]); });
    need(nnex_custom_node_tensor(node, name, &tensor));
    return python_of(made<nnex_value>([&](nnex_value** out) { return nnex_value_share(tensor, out); }));
  }

  /// What Python asks a node with, during a call alone.
  static PyObject* ask(PyObject* capsule, PyObject* name) {
    return guarded([&] {
      auto* const node = static_cast<nnex_custom_node*>(PyCapsule_GetPointer(capsule, "nnex.node"));
      if (!node) {
        PyErr_Clear();
        raise(PyExc_ValueError, "an attribute is asked for while its node is computed, and not later");
      }
      return attribute(node, text_of(name).c_str()).release();
    });
  }

  /// Whether a list is of outputs, and no output in lists: of arrays, or of types as texts.
  static bool is_outputs(PyObject* list) {
    if (!PyList_Check(list) || PyList_Size(list) == 0) return false;
    bool all = true;
    each(list, [&](PyObject* item) {
      all = all && (item == Py_None || PyUnicode_Check(item) || PyObject_HasAttrString(item, "shape"));
    });
    return all;
  }

  /// Calls object.METHOD(inputs, attributes) with NODE's; gives what it returned as a list of as many as outputs.
  static std::vector<Ref> call(const CustomOp& op, nnex_custom_node* node, const char* method, PyObject* inputs) {
    static PyMethodDef definition = {"attribute", ask, METH_O,
                                     "An attribute of the node by its name; None: it has none."};
    const Ref capsule = need(PyCapsule_New(node, "nnex.node", nullptr));
    const Ref attribute = need(PyCFunction_NewEx(&definition, capsule.get(), nullptr));
    const Ref object = need(PyObject_CallObject(op.weak.get(), nullptr));
    if (object.get() == Py_None) raise(PyExc_ReferenceError, "the CustomOp is gone, and the model that kept it");
    const Ref given(PyObject_CallMethod(object.get(), method, "OO", inputs, attribute.get()));
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    if (!given) PyErr_Fetch(&type, &value, &trace);
    PyCapsule_SetName(capsule.get(), "ended");  // who kept it asks in vain
    if (!given) PyErr_Restore(type, value, trace);
    if (!given) throw Raised();
    std::vector<Ref> outputs;
    const bool several = PyList_Check(given.get()) && nnex_custom_node_outputs(node) > 1 &&
                         static_cast<size_t>(PyList_Size(given.get())) == nnex_custom_node_outputs(node);
    if (several || is_outputs(given.get()) || PyTuple_Check(given.get()))
      each(given.get(), [&](PyObject* item) { outputs.push_back(Ref::of(item)); });
    else
      outputs.push_back(Ref::of(given.get()));
    if (outputs.size() > nnex_custom_node_outputs(node))
      raise(PyExc_ValueError, "found " + std::to_string(outputs.size()) + " outputs; needed " +
                                  std::to_string(nnex_custom_node_outputs(node)));
    return outputs;
  }

  /// Copied, as Python may write into its array again; a nnex.Value never changes.
  static void set_output(nnex_custom_node* node, size_t i, PyObject* object) {
    const auto value = value_of(object);
    const size_t bytes = nnex_tensor_bytes(value.get());
    if (is<nnex_value>(object) || bytes == 0) return need(nnex_custom_node_set_output(node, i, value.get()));
    void* to = nullptr;
    need(nnex_custom_node_output(node, i, nnex_tensor_dtype(value.get()), nnex_tensor_rank(value.get()),
                                 nnex_tensor_extents(value.get()), &to));
    std::memcpy(to, nnex_tensor_data(value.get()), bytes);
  }

  static nnex_error* run(void* context, nnex_custom_node* node) {
    const Locked locked;
    const auto& op = *static_cast<CustomOp*>(context);
    const bool done = guarded(
        [&] {
          const Ref inputs = need(PyList_New(0));
          for (size_t i = 0; i < nnex_custom_node_inputs(node); ++i) {
            const nnex_value* const in = nnex_custom_node_input(node, i);
            need(PyList_Append(inputs.get(), in ? python_of(made<nnex_value>([&](nnex_value** out) {
                                                    return nnex_value_share(in, out);
                                                  })).get()
                                                : Py_None));
          }
          const std::vector<Ref> outputs = call(op, node, "run", inputs.get());
          if (outputs.size() == 1 && outputs[0].get() == Py_None) raise(PyExc_TypeError, kNothing);
          for (size_t i = 0; i < outputs.size(); ++i) set_output(node, i, outputs[i].get());
          return true;
        },
        false);
    return done ? nullptr : error_of_callback(NNEX_FAULT, op.where().c_str());
  }

  static nnex_error* infer(void* context, nnex_custom_node* node) {
    const Locked locked;
    const auto& op = *static_cast<CustomOp*>(context);
    const bool done = guarded(
        [&] {
          const Ref types = need(PyList_New(0));
          for (size_t i = 0; i < nnex_custom_node_inputs(node); ++i)
            need(PyList_Append(types.get(), text(nnex_custom_node_input_type(node, i)).get()));
          const std::vector<Ref> outputs = call(op, node, "infer", types.get());
          for (size_t i = 0; i < outputs.size(); ++i)
            need(nnex_custom_node_set_type(node, i, text_of(outputs[i].get()).c_str()));
          return true;
        },
        false);
    return done ? nullptr : error_of_callback(NNEX_INVALID_MODEL, op.where().c_str());
  }

  std::string where() const { return "operator '" + (domain.empty() ? name : domain + ":" + name) + "'"; }
  static void release(void* context) {
    if (ending()) return;
    const Locked locked;
    delete static_cast<CustomOp*>(context);
  }
};

Ref attribute_of(PyObject* object, const char* name) { return need(PyObject_GetAttrString(object, name)); }

}  // namespace

void add_custom_op(nnex_load_options* options, PyObject* object) {
  auto op = std::make_unique<CustomOp>();
  op->weak = need(PyWeakref_NewRef(object, nullptr));
  op->domain = text_of(attribute_of(object, "domain").get());
  op->name = text_of(attribute_of(object, "name").get());
  nnex_custom_op c = {};
  c.size = sizeof c;
  c.domain = op->domain.c_str(), c.name = op->name.c_str();
  c.since = integer_of(attribute_of(object, "since").get()), c.until = integer_of(attribute_of(object, "until").get());
  c.pure = truth_of(attribute_of(object, "pure").get());
  if (attribute_of(object, "infer").get() != Py_None) c.infer = CustomOp::infer;
  c.run = CustomOp::run, c.release = CustomOp::release, c.context = op.get();
  need(nnex_load_options_custom_op(options, &c));
  (void)op.release();  // the options' now
}

PyObject* keep(PyObject* object, PyObject* options, PyObject* other) {
  const Ref owned(object);
  const auto kept = [](PyObject* of) -> PyObject*& {  // where models and graphs have it
    return reinterpret_cast<HandleObject<nnex_model>*>(of)->keeps;
  };
  static_assert(offsetof(HandleObject<nnex_model>, keeps) == offsetof(HandleObject<nnex_graph>, keeps));
  const Ref all = need(PyList_New(0));
  const auto add = [&](PyObject* op) { need(PyList_Append(all.get(), op)); };
  if (PyObject* const ops = member(options, "custom_ops")) each(ops, add);
  if (other && kept(other)) each(kept(other), add);
  if (PyList_Size(all.get()) > 0) kept(object) = need(PyList_AsTuple(all.get())).release();
  return Ref::of(object).release();
}

}  // namespace nnex_python
