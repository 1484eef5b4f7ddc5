// Values of nnex as Python has them, and their own type.

#include <cmath>
#include <cstring>

#include "values.h"

namespace nnex_python {
namespace {

/// Texts, or what `element` gives, in lists as the extents say.
template <class F>
Ref nested(const int64_t* extents, size_t rank, int64_t& next, F element) {
  if (rank == 0) return element(next++);
  Ref list = need(PyList_New(0));
  for (int64_t i = 0; i < extents[0]; ++i)
    need(PyList_Append(list.get(), nested(extents + 1, rank - 1, next, element).get()));
  return list;
}

Ref element_text(const nnex_value* v, int64_t i) {
  size_t size = 0;
  const char* const bytes = nnex_tensor_text(v, i, &size);
  return exact(bytes, size);
}

double number_of_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction ? std::nan("") : HUGE_VAL)
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return std::copysign(size, bits >> 15 ? -1.0 : 1.0);
}

Ref lists_of_elements(const nnex_value* v) {
  const nnex_dtype dtype = nnex_tensor_dtype(v);
  const auto* const data = static_cast<const std::byte*>(nnex_tensor_data(v));
  const int bits = nnex_dtype_bits(dtype);
  const auto element = [&](int64_t i) -> Ref {
    const auto load = [&](auto value) {
      std::memcpy(&value, data + static_cast<size_t>(i) * sizeof value, sizeof value);
      return value;
    };
    switch (dtype) {
      case NNEX_STR:
        return element_text(v, i);
      case NNEX_BF16: {
        const uint32_t word = static_cast<uint32_t>(load(uint16_t{})) << 16;
        float single;
        std::memcpy(&single, &word, 4);
        return need(PyFloat_FromDouble(single));
      }
      case NNEX_F16:
        return need(PyFloat_FromDouble(number_of_half(load(uint16_t{}))));
      case NNEX_C64: {
        float parts[2];
        std::memcpy(parts, data + static_cast<size_t>(i) * sizeof parts, sizeof parts);
        return need(PyComplex_FromDoubles(parts[0], parts[1]));
      }
      case NNEX_C128: {
        double parts[2];
        std::memcpy(parts, data + static_cast<size_t>(i) * sizeof parts, sizeof parts);
        return need(PyComplex_FromDoubles(parts[0], parts[1]));
      }
      case NNEX_I4:
      case NNEX_I2:
      case NNEX_U4:
      case NNEX_U2: {
        const auto byte = static_cast<int>(data[i * bits / 8]);
        int code = byte >> (i * bits % 8) & ((1 << bits) - 1);
        if ((dtype == NNEX_I4 || dtype == NNEX_I2) && code >> (bits - 1)) code -= 1 << bits;
        return need(PyLong_FromLong(code));
      }
      default:
        raise(PyExc_TypeError, std::string("elements of ") + numpy_name(dtype) +
                                   " do not become numbers of Python's; `tobytes()` has them");
    }
  };
  int64_t next = 0;
  return nested(nnex_tensor_extents(v), nnex_tensor_rank(v), next, element);
}

Ref array_of(const nnex_value* v, PyObject* type) {
  static PyObject* const empty = need(PyObject_GetAttrString(numpy(), "empty")).release();
  const Ref shape = shape_of(v);
  Ref array = need(PyObject_CallFunctionObjArgs(empty, shape.get(), type, nullptr));
  const size_t bytes = nnex_tensor_bytes(v);
  if (bytes == 0) return array;
  Ref bits = Ref::of(array.get());
  if (!type_of(nnex_tensor_dtype(v))->format)
    bits = need(PyObject_CallMethod(array.get(), "view", "s",
                                    nnex_dtype_bits(nnex_tensor_dtype(v)) == 16 ? "uint16" : "uint8"));
  Py_buffer to;
  need(PyObject_GetBuffer(bits.get(), &to, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS));
  std::memcpy(to.buf, nnex_tensor_data(v), bytes);
  PyBuffer_Release(&to);
  return array;
}

Ref python_tensor(Owned<nnex_value> v) {
  const nnex_dtype dtype = nnex_tensor_dtype(v.get());
  if (dtype == NNEX_STR && numpy()) {
    Ref lists = lists_of_elements(v.get());
    const Ref array = need(PyObject_CallMethod(numpy(), "empty", "(Os)", shape_of(v.get()).get(), "object"));
    const Ref ellipsis = Ref::of(Py_Ellipsis);
    if (nnex_tensor_count(v.get()) > 0) need(PyObject_SetItem(array.get(), ellipsis.get(), lists.get()));
    return Ref::of(array.get());
  }
  if (dtype == NNEX_STR) return lists_of_elements(v.get());
  if (PyObject* const type = numpy_type(dtype)) return array_of(v.get(), type);
  return Ref(wrap(std::move(v)));
}

Owned<nnex_value> item_of(const nnex_value* v, size_t i) {
  return made<nnex_value>([&](nnex_value** out) { return nnex_value_item(v, i, out); });
}

/// What a map has for a key: of a tensor without axes its number or text.
Ref item_in_dict(Owned<nnex_value> item) {
  const bool one = nnex_value_kind(item.get()) == NNEX_TENSOR && nnex_tensor_rank(item.get()) == 0;
  return one ? lists_of(item.get()) : python_of(std::move(item));
}

}  // namespace

Ref lists_of(const nnex_value* v) {
  const ElementType* const type = type_of(nnex_tensor_dtype(v));
  const bool complex = type && (type->dtype == NNEX_C64 || type->dtype == NNEX_C128);
  if (!type || !type->format || complex || type->dtype == NNEX_F16)  // which memoryview.tolist() lacks
    return lists_of_elements(v);
  const Ref view = need(PyMemoryView_FromObject(Ref(wrap(shared(v))).get()));
  return need(PyObject_CallMethod(view.get(), "tolist", nullptr));
}

Ref python_of(Owned<nnex_value> v) {
  const size_t count = nnex_value_count(v.get());
  switch (nnex_value_kind(v.get())) {
    case NNEX_TENSOR:
      return python_tensor(std::move(v));
    case NNEX_SEQUENCE: {
      Ref list = need(PyList_New(0));
      for (size_t i = 0; i < count; ++i) need(PyList_Append(list.get(), python_of(item_of(v.get(), i)).get()));
      return list;
    }
    case NNEX_MAP: {
      const Owned<nnex_value> keys = item_of(v.get(), 0);
      const bool texts = nnex_tensor_dtype(keys.get()) == NNEX_STR;
      Ref dict = need(PyDict_New());
      for (size_t i = 1; i < count; ++i) {
        int64_t number = 0;
        if (!texts) std::memcpy(&number, static_cast<const std::byte*>(nnex_tensor_data(keys.get())) + (i - 1) * 8, 8);
        const Ref key =
            texts ? element_text(keys.get(), static_cast<int64_t>(i) - 1) : need(PyLong_FromLongLong(number));
        need(PyDict_SetItem(dict.get(), key.get(), item_in_dict(item_of(v.get(), i)).get()));
      }
      return dict;
    }
    case NNEX_OPTIONAL:
      return count == 0 ? Ref::of(Py_None) : python_of(item_of(v.get(), 0));
    case NNEX_EMPTY:
      return Ref::of(Py_None);
    case NNEX_SPARSE:
      break;
  }
  return Ref(wrap(std::move(v)));
}

Ref port_of(const nnex_port* port) {
  Ref shape = Ref::of(Py_None);
  const int rank = nnex_port_rank(port);
  if (rank >= 0) {
    shape = need(PyTuple_New(rank));
    for (int i = 0; i < rank; ++i) {
      const auto axis = static_cast<size_t>(i);
      const int64_t extent = nnex_port_extent(port, axis);
      const char* const symbol = nnex_port_dimension(port, axis);
      Ref item = extent >= 0 ? need(PyLong_FromLongLong(extent)) : text(symbol && *symbol == '?' ? nullptr : symbol);
      need(PyTuple_SetItem(shape.get(), i, item.release()));
    }
  }
  static PyObject* const type = kind("Port");
  return need(PyObject_CallFunction(type, "NNsN", name_of(port).release(), text(nnex_port_type(port)).release(),
                                    numpy_name(nnex_port_dtype(port)), shape.release()));
}

namespace {

nnex_value* self_of(PyObject* self) { return handle_of<nnex_value>(self); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"data", "dtype", "shape", nullptr};
    PyObject *data = nullptr, *dtype = Py_None, *shape = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$O:Value", const_cast<char**>(names), &data, &dtype, &shape))
      throw Raised();
    if (shape != Py_None) {
      if (dtype == Py_None) raise(PyExc_TypeError, "found a shape without a dtype; needed that of the bytes' elements");
      std::vector<int64_t> extents;
      each(shape, [&](PyObject* extent) { extents.push_back(integer_of(extent)); });
      return wrap(tensor_of_bytes(data, dtype_of(dtype), extents), type);
    }
    return wrap(dtype == Py_None ? value_of(data) : tensor_of(data, dtype_of(dtype)), type);
  });
}

PyObject* repr(PyObject* self) {
  return guarded(
      [&] { return need(PyUnicode_FromFormat("<nnex.Value %s>", nnex_value_text(self_of(self)))).release(); });
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  return guarded(
      [&] {
        const nnex_value* const v = self_of(self);
        const ElementType* const type = type_of(nnex_tensor_dtype(v));
        view->obj = nullptr;
        if (nnex_value_kind(v) != NNEX_TENSOR || !type || !type->format)
          raise(PyExc_BufferError,
                std::string("found ") + nnex_value_text(v) +
                    "; needed a tensor whose elements the buffer protocol knows; tobytes() has all others");
        if (flags & PyBUF_WRITABLE) raise(PyExc_BufferError, "a nnex.Value is read-only; a copy is not (numpy.array)");
        const size_t rank = nnex_tensor_rank(v);
        const auto bytes = static_cast<Py_ssize_t>(nnex_tensor_bytes(v));
        const Py_ssize_t item = nnex_dtype_bits(type->dtype) / 8;
        auto* const numbers = static_cast<Py_ssize_t*>(PyMem_Malloc(2 * (rank + 1) * sizeof(Py_ssize_t)));
        if (!numbers) throw std::bad_alloc();
        Py_ssize_t step = item;
        for (size_t i = rank; i-- > 0;) {
          numbers[i] = nnex_tensor_extents(v)[i];
          numbers[rank + i] = step;
          step *= numbers[i];
        }
        static char nothing;
        view->buf = bytes ? const_cast<void*>(nnex_tensor_data(v)) : &nothing;
        view->len = bytes, view->itemsize = item, view->readonly = 1;
        view->ndim = flags & PyBUF_ND ? static_cast<int>(rank) : 1;
        view->format = flags & PyBUF_FORMAT ? const_cast<char*>(type->format) : nullptr;
        view->shape = flags & PyBUF_ND ? numbers : nullptr;
        view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? numbers + rank : nullptr;
        view->suboffsets = nullptr, view->internal = numbers;
        view->obj = Py_NewRef(self);
        return 0;
      },
      -1);
}
void release_buffer(PyObject*, Py_buffer* view) { PyMem_Free(view->internal); }

PyMethodDef methods[] = {
    {"__copy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_NOARGS, "Itself: it never changes."},
    {"__deepcopy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_O, "Itself: it never changes."},
    {"__dlpack__", method(to_dlpack), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nThe tensor as a DLPack "
     "capsule: a copy, as who reads it may write; copy=False is a BufferError."},
    {"__dlpack_device__", [](PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(1, 0): the CPU."},
    {"__array__", method([](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
       return guarded([&] {
         if (!numpy()) raise(PyExc_ImportError, "NumPy is not installed");
         static const char* const names[] = {"dtype", "copy", nullptr};
         PyObject *dtype = nullptr, *copy = nullptr;
         if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype, &copy))
           throw Raised();
         const nnex_dtype own = nnex_tensor_dtype(self_of(self));
         PyObject* const type = numpy_type(own);
         const bool converted = dtype && dtype != Py_None && nnex_value_kind(self_of(self)) == NNEX_TENSOR;
         if (!type && own != NNEX_STR && !converted)
           raise(PyExc_TypeError, std::string("NumPy has no elements like those of ") + nnex_value_text(self_of(self)));
         const bool never = copy && copy != Py_None && !truth_of(copy);
         if (never && !type_of(own)->format)
           raise(PyExc_ValueError, std::string("a copy of ") + nnex_value_text(self_of(self)) + " cannot be avoided");
         if (!type && own != NNEX_STR)
           return need(PyObject_CallMethod(numpy(), "array", "NO", lists_of(self_of(self)).release(), dtype)).release();
         Ref array = never ? need(PyObject_CallMethod(numpy(), "asarray", "N", PyMemoryView_FromObject(self)))
                           : python_tensor(shared(self_of(self)));
         if (dtype && dtype != Py_None) {
           const Ref wanted = need(PyObject_CallMethod(numpy(), "dtype", "O", dtype));
           const int same =
               PyObject_RichCompareBool(wanted.get(), need(PyObject_GetAttrString(array.get(), "dtype")).get(), Py_EQ);
           need(same);
           if (never && !same) raise(PyExc_ValueError, "a copy of other elements cannot be avoided");
           if (!same) array = need(PyObject_CallMethod(array.get(), "astype", "O", dtype));
         }
         return array.release();
       });
     }),
     METH_VARARGS | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nAn array of NumPy's: a copy; with copy=False the same memory, "
     "to "
     "be read."},
    {"python",
     [](PyObject* self, PyObject*) { return guarded([&] { return python_of(shared(self_of(self))).release(); }); },
     METH_NOARGS,
     "python($self, /)\n--\n\nAs runs give it: an array of NumPy's, a list of such, a dict, or None; what NumPy has no "
     "type for as it is."},
    {"tolist",
     [](PyObject* self, PyObject*) -> PyObject* {
       return guarded([&] {
         if (nnex_value_kind(self_of(self)) != NNEX_TENSOR)
           raise(PyExc_TypeError, std::string("found ") + nnex_value_text(self_of(self)) + "; needed a tensor");
         return lists_of(self_of(self)).release();
       });
     },
     METH_NOARGS, "tolist($self, /)\n--\n\nThe elements of a tensor in lists."},
    {"tobytes",
     [](PyObject* self, PyObject*) -> PyObject* {
       return guarded([&] {
         if (nnex_value_kind(self_of(self)) != NNEX_TENSOR || nnex_tensor_dtype(self_of(self)) == NNEX_STR)
           raise(PyExc_TypeError,
                 std::string("found ") + nnex_value_text(self_of(self)) + "; needed a tensor of numbers");
         return need(PyBytes_FromStringAndSize(static_cast<const char*>(nnex_tensor_data(self_of(self))),
                                               static_cast<Py_ssize_t>(nnex_tensor_bytes(self_of(self)))))
             .release();
       });
     },
     METH_NOARGS,
     "tobytes($self, /)\n--\n\nThe elements as they lie in memory; those narrower than 8 bits dense, low bits first."},
    {"items",
     [](PyObject* self, PyObject*) -> PyObject* {
       return guarded([&] {
         Ref list = need(PyList_New(0));
         for (size_t i = 0; i < nnex_value_count(self_of(self)); ++i)
           need(PyList_Append(list.get(), Ref(wrap(item_of(self_of(self), i))).get()));
         return list.release();
       });
     },
     METH_NOARGS,
     "items($self, /)\n--\n\nOf a sequence or optional its items; of a map its keys, then its values; of a sparse "
     "tensor values and indices."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"kind",
     [](PyObject* self, void*) -> PyObject* {
       return guarded([&] {
         static const char* const names[] = {"empty", "tensor", "sparse", "sequence", "map", "optional"};
         return text(names[nnex_value_kind(self_of(self))]).release();
       });
     },
     nullptr, "'tensor', 'sparse', 'sequence', 'map' or 'optional'.", nullptr},
    {"dtype",
     [](PyObject* self, void*) -> PyObject* {
       return guarded([&] {
         const nnex_dtype dtype = nnex_tensor_dtype(self_of(self));
         return (dtype == NNEX_NONE ? Ref::of(Py_None) : text(numpy_name(dtype))).release();
       });
     },
     nullptr, "The element type by NumPy's name ('float32'); None of what is no tensor.", nullptr},
    {"shape", [](PyObject* self, void*) { return guarded([&] { return shape_of(self_of(self)).release(); }); }, nullptr,
     "The extents.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc<nnex_value>)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {Py_tp_doc,
     const_cast<char*>(
         "Value(data, dtype=None, *, shape=None)\n--\n\nA tensor, or what else an edge of a network carries, in nnex's "
         "own memory or over an array's. Read-only; NumPy and memoryview read it without a copy, DLPack takes one."
         "\n\ndtype: what numbers become, of lists and of arrays of another type; of 'bfloat16' and float8, unsigned "
         "integers\nof as many bits are the bits. shape: data are bytes, and these the extents of the elements that "
         "they "
         "are\n(tobytes() gives them; those narrower than 8 bits dense, low bits first).")},
    {0, nullptr}};
PyType_Spec spec = {"nnex._nnex.Value", sizeof(HandleObject<nnex_value>), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

/// What stands beside the type: memory of other kinds.
PyMethodDef value_functions[] = {
    {"copy_of",
     [](PyObject*, PyObject* value) -> PyObject* {
       return guarded([&] {
         const auto from = value_of(value);
         auto copy = copied(from.get());
         return wrap(copy ? std::move(copy) : shared(from.get()));
       });
     },
     METH_O, nullptr},
    {"zeros",
     [](PyObject*, PyObject* args) -> PyObject* {
       return guarded([&] {
         PyObject *shape = nullptr, *dtype = nullptr;
         if (!PyArg_ParseTuple(args, "OO", &shape, &dtype)) throw Raised();
         std::vector<int64_t> extents;
         each(shape, [&](PyObject* extent) { extents.push_back(integer_of(extent)); });
         const nnex_dtype type = dtype_of(dtype);
         return wrap(made<nnex_value>(
             [&](nnex_value** out) { return nnex_tensor_make(type, extents.size(), extents.data(), out); }));
       });
     },
     METH_VARARGS, nullptr},
    {"address",
     [](PyObject*, PyObject* value) -> PyObject* {
       return guarded([&] {
         if (!is<nnex_value>(value)) raise(PyExc_TypeError, "found " + type_name(value) + "; needed nnex.Value");
         return need(Py_BuildValue("(Nn)", PyLong_FromVoidPtr(const_cast<void*>(nnex_tensor_data(self_of(value)))),
                                   static_cast<Py_ssize_t>(nnex_tensor_bytes(self_of(value)))))
             .release();
       });
     },
     METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

void add_values(PyObject* module) { add_type<nnex_value>(module, spec); }

}  // namespace nnex_python
