#pragma once
// What the files of values share: element types as each side calls them, and tensors of a wanted type.

#include "objects.h"

namespace nnex_python {

/// What an element type is called by NumPy (or ml_dtypes, an extension of it), and in the buffer protocol: null where
/// that has none.
struct ElementType {
  nnex_dtype dtype;
  const char* name;
  const char* format;
};
/// Null: there is none.
const ElementType* type_of(nnex_dtype dtype);
/// NumPy's type of these elements, or that of ml_dtypes where it is there; null: neither has it.
PyObject* numpy_type(nnex_dtype dtype);
/// The element type of a format of the buffer protocol; NNEX_NONE: none is so.
nnex_dtype type_of_format(const char* format, Py_ssize_t bytes);
/// The extents of a tensor, dense or sparse.
Ref shape_of(const nnex_value* tensor);

/// An object as a tensor of these elements, which numbers become; bits in unsigned integers are those of elements that
/// NumPy lacks.
Owned<nnex_value> tensor_of(PyObject* object, nnex_dtype dtype);
/// Bytes as the elements of a tensor, as Value.tobytes() gives them.
Owned<nnex_value> tensor_of_bytes(PyObject* bytes, nnex_dtype dtype, const std::vector<int64_t>& extents);
/// The elements of a tensor in lists; of complex numbers too.
Ref lists_of(const nnex_value* tensor);
/// What an object's __dlpack__() gives: its memory, or a copy where rows lie apart.
Owned<nnex_value> value_of_dlpack(PyObject* object);
/// Value.__dlpack__(stream, max_version, dl_device, copy).
PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs);
/// Another handle.
Owned<nnex_value> shared(const nnex_value* value);

}  // namespace nnex_python
