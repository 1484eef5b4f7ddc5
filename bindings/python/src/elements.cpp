// Element types, as NumPy, ml_dtypes and the buffer protocol call them.

#include <algorithm>
#include <cctype>
#include <string_view>

#include "values.h"

namespace nnex_python {
namespace {

constexpr ElementType kTypes[] = {
    {NNEX_F64, "float64", "d"},
    {NNEX_F32, "float32", "f"},
    {NNEX_F16, "float16", "e"},
    {NNEX_BF16, "bfloat16", nullptr},
    {NNEX_F8E4M3FN, "float8_e4m3fn", nullptr},
    {NNEX_F8E4M3FNUZ, "float8_e4m3fnuz", nullptr},
    {NNEX_F8E5M2, "float8_e5m2", nullptr},
    {NNEX_F8E5M2FNUZ, "float8_e5m2fnuz", nullptr},
    {NNEX_F8E8M0, "float8_e8m0fnu", nullptr},
    {NNEX_F4E2M1, "float4_e2m1fn", nullptr},
    {NNEX_I64, "int64", "q"},
    {NNEX_I32, "int32", "i"},
    {NNEX_I16, "int16", "h"},
    {NNEX_I8, "int8", "b"},
    {NNEX_I4, "int4", nullptr},
    {NNEX_I2, "int2", nullptr},
    {NNEX_U64, "uint64", "Q"},
    {NNEX_U32, "uint32", "I"},
    {NNEX_U16, "uint16", "H"},
    {NNEX_U8, "uint8", "B"},
    {NNEX_U4, "uint4", nullptr},
    {NNEX_U2, "uint2", nullptr},
    {NNEX_BOOL, "bool", "?"},
    {NNEX_C64, "complex64", "Zf"},
    {NNEX_C128, "complex128", "Zd"},
    {NNEX_STR, "str", nullptr},
};
/// A module that may not be there; null then. No error is set before.
PyObject* module_if_there(const char* name) {
  PyObject* const module = PyImport_ImportModule(name);
  if (!module) {
    if (!PyErr_ExceptionMatches(PyExc_ImportError)) throw Raised();
    PyErr_Clear();
  }
  return module;
}

}  // namespace

const ElementType* type_of(nnex_dtype dtype) {
  const auto* const at =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const ElementType& t) { return t.dtype == dtype; });
  return at == std::end(kTypes) ? nullptr : at;
}

PyObject* numpy() {
  static PyObject* const module = module_if_there("numpy");
  return module;
}

/// NumPy's type of these elements, or that of ml_dtypes where it is there; null: neither has it.
PyObject* numpy_type(nnex_dtype dtype) {
  static PyObject* found[NNEX_STR + 1] = {};
  static bool asked[NNEX_STR + 1] = {};
  if (asked[dtype]) return found[dtype];
  const ElementType* const type = type_of(dtype);
  const bool plain = type && type->format;
  static PyObject* const more = numpy() ? module_if_there("ml_dtypes") : nullptr;
  PyObject* const from = plain ? numpy() : more;
  if (type && from && nnex_dtype_bits(dtype) >= 8) {
    const Ref scalar(PyObject_GetAttrString(from, dtype == NNEX_BOOL ? "bool_" : type->name));
    if (!scalar) PyErr_Clear();
    if (scalar) found[dtype] = need(PyObject_CallMethod(numpy(), "dtype", "O", scalar.get())).release();
  }
  asked[dtype] = true;
  return found[dtype];
}

nnex_dtype type_of_format(const char* format, Py_ssize_t bytes) {
  std::string_view f = format ? format : "B";
  if (f.size() > 1 && (f[0] == '@' || f[0] == '=' || f[0] == '<')) f.remove_prefix(1);
  if (f == "Zf") return NNEX_C64;
  if (f == "Zd") return NNEX_C128;
  if (f.size() != 1) return NNEX_NONE;
  const auto whole = [&](bool sign) {
    switch (bytes) {
      case 1:
        return sign ? NNEX_I8 : NNEX_U8;
      case 2:
        return sign ? NNEX_I16 : NNEX_U16;
      case 4:
        return sign ? NNEX_I32 : NNEX_U32;
      case 8:
        return sign ? NNEX_I64 : NNEX_U64;
      default:
        return NNEX_NONE;
    }
  };
  switch (f[0]) {
    case 'd':
      return NNEX_F64;
    case 'f':
      return NNEX_F32;
    case 'e':
      return NNEX_F16;
    case '?':
      return NNEX_BOOL;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return whole(true);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return whole(false);
    default:
      return NNEX_NONE;
  }
}

const char* numpy_name(nnex_dtype dtype) {
  const ElementType* const type = type_of(dtype);
  return type ? type->name : "none";
}

nnex_dtype dtype_of(PyObject* name) {
  const Ref own(PyUnicode_Check(name) ? nullptr
                                      : PyObject_GetAttrString(name, PyType_Check(name) ? "__name__" : "name"));
  PyErr_Clear();
  std::string known = own ? text_of(own.get()) : text_of(name);
  const bool twice = known.size() == 2 && (known[0] == 'i' || known[0] == 'u') && std::isdigit(known[1]);
  if (twice && known[1] != '1')  // NumPy counts bytes, the types of ports bits
    raise(PyExc_ValueError, "found an element type '" + known + "'; needed its whole name (int64, int8, uint32, ...)");
  for (const auto& [brief, whole] :
       {std::pair("f2", "float16"), std::pair("f4", "float32"), std::pair("f8", "float64")})
    if (known == brief) known = whole;
  if (known == "float") known = "float64";
  if (known == "int") known = "int64";
  if (known == "bool_") known = "bool";
  for (const ElementType& t : kTypes)
    if (known == t.name) return t.dtype;
  const nnex_dtype dtype = nnex_dtype_named(known.c_str());
  if (dtype == NNEX_NONE)
    raise(PyExc_ValueError,
          "found an element type '" + known + "'; needed one that networks have (float32, int64, bool, str, ...)");
  return dtype;
}

Ref shape_of(const nnex_value* v) {
  const size_t rank = nnex_value_kind(v) == NNEX_SPARSE ? nnex_sparse_rank(v) : nnex_tensor_rank(v);
  const int64_t* const extents = nnex_value_kind(v) == NNEX_SPARSE ? nnex_sparse_extents(v) : nnex_tensor_extents(v);
  Ref shape = need(PyTuple_New(static_cast<Py_ssize_t>(rank)));
  for (size_t i = 0; i < rank; ++i)
    need(PyTuple_SetItem(shape.get(), static_cast<Py_ssize_t>(i), need(PyLong_FromLongLong(extents[i])).release()));
  return shape;
}

}  // namespace nnex_python
