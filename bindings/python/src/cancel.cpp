// nnex.Cancel: a flag that a run looks at while it computes.

#include "objects.h"

namespace nnex_python {
namespace {

PyTypeObject* type = nullptr;

std::atomic<bool>& set_of(PyObject* self) { return reinterpret_cast<CancelObject*>(self)->set; }

PyObject* make(PyTypeObject* of, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    if (PyTuple_Size(args) != 0 || (kwargs && PyDict_Size(kwargs) != 0))
      raise(PyExc_TypeError, "found arguments; nnex.Cancel takes none");
    PyObject* const self = need(PyType_GenericAlloc(of, 0)).release();
    new (&set_of(self)) std::atomic<bool>(false);
    return self;
  });
}
void free_it(PyObject* self) {
  PyTypeObject* const of = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(of, Py_tp_free))(self);
  Py_DECREF(of);
}

PyMethodDef methods[] = {
    {"set", [](PyObject* self, PyObject*) { return set_of(self) = true, Py_NewRef(Py_None); }, METH_NOARGS,
     "set($self, /)\n--\n\nRuns that have it end with Cancelled within some milliseconds, and later ones at once."},
    {"clear", [](PyObject* self, PyObject*) { return set_of(self) = false, Py_NewRef(Py_None); }, METH_NOARGS,
     "clear($self, /)\n--\n\nLater runs go on."},
    {"is_set", [](PyObject* self, PyObject*) { return PyBool_FromLong(set_of(self)); }, METH_NOARGS,
     "is_set($self, /)\n--\n\nWhether it was set."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_it)},
    {Py_tp_methods, methods},
    {Py_tp_doc, const_cast<char*>("Cancel()\n--\n\nEnds runs from another thread: model.run(x, cancel=c), and c.set() "
                                  "elsewhere, as of threading.Event.")},
    {0, nullptr}};
PyType_Spec spec = {"nnex._nnex.Cancel", sizeof(CancelObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

const std::atomic<bool>* flag_of(PyObject* cancel) {
  if (!PyObject_TypeCheck(cancel, type))
    raise(PyExc_TypeError, "cancel: found " + type_name(cancel) + "; needed nnex.Cancel");
  return &set_of(cancel);
}

void add_cancel(PyObject* module) {
  const Ref made = need(PyType_FromSpec(&spec));
  type = reinterpret_cast<PyTypeObject*>(Ref::of(made.get()).release());
  need(PyModule_AddObjectRef(module, "Cancel", made.get()));
}

}  // namespace nnex_python
