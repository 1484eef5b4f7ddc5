// The module nnex._nnex, which nnex/__init__.py dresses: nnex's C interface as Python's objects, by the limited API of
// CPython 3.11, so that one file serves every later CPython.

#include "objects.h"

namespace nnex_python {
namespace {

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "nnex._nnex", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

PyObject* make() {
  return guarded([] {
    Ref module = need(PyModule_Create(&definition));
    add_cancel(module.get());
    add_values(module.get());
    add_models(module.get());
    add_graphs(module.get());
    for (PyMethodDef* functions : {value_functions, model_functions, graph_functions, report_functions})
      need(PyModule_AddFunctions(module.get(), functions));
    if (nnex_has("webnn")) {
      add_webnn(module.get());
      need(PyModule_AddFunctions(module.get(), webnn_functions));
    }
    return module.release();
  });
}

}  // namespace
}  // namespace nnex_python

PyMODINIT_FUNC PyInit__nnex() { return nnex_python::make(); }
