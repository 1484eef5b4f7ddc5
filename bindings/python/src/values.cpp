// Python's objects as values of nnex and back.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "objects.h"

/// What DLPack declares of the part that is needed here (dlpack.h 0.6): what follows the tensor.
extern "C" struct DLManagedTensor {
  struct {
    void* data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
  } tensor;
  void* manager;
  void (*deleter)(DLManagedTensor*);
};

namespace nnex_python {
namespace {

/// What each element type is called by NumPy (or ml_dtypes, an extension of it), and in the buffer protocol: null where
/// that has none.
struct ElementType {
  nnex_dtype dtype;
  const char* name;
  const char* format;
};
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
const ElementType* type_of(nnex_dtype dtype) {
  const auto* const at =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const ElementType& t) { return t.dtype == dtype; });
  return at == std::end(kTypes) ? nullptr : at;
}

/// A module that may not be there; null then.
PyObject* module_if_there(const char* name) {
  PyObject* const module = PyImport_ImportModule(name);
  if (!module) {
    if (!PyErr_ExceptionMatches(PyExc_ImportError)) throw Raised();
    PyErr_Clear();
  }
  return module;
}

}  // namespace

PyObject* numpy() {
  static PyObject* const module = module_if_there("numpy");
  return module;
}

namespace {

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

/// The element type of a format of the buffer protocol; NNEX_NONE: none is so.
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

Ref shape_of(const nnex_value* v) {
  const size_t rank = nnex_value_kind(v) == NNEX_SPARSE ? nnex_sparse_rank(v) : nnex_tensor_rank(v);
  const int64_t* const extents = nnex_value_kind(v) == NNEX_SPARSE ? nnex_sparse_extents(v) : nnex_tensor_extents(v);
  Ref shape = need(PyTuple_New(static_cast<Py_ssize_t>(rank)));
  for (size_t i = 0; i < rank; ++i)
    need(PyTuple_SetItem(shape.get(), static_cast<Py_ssize_t>(i), need(PyLong_FromLongLong(extents[i])).release()));
  return shape;
}

// ---- From Python ----

/// Memory of Python's that a value borrows.
struct Borrowed {
  Py_buffer buffer;
  bool held = false;
  ~Borrowed() {
    if (held) PyBuffer_Release(&buffer);
  }
  bool take(PyObject* object) {
    return held = PyObject_GetBuffer(object, &buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0;
  }
  static void release(void* context) {
    const Locked locked;
    delete static_cast<Borrowed*>(context);
  }
};

Owned<nnex_value> borrow(std::unique_ptr<Borrowed> from, nnex_dtype dtype) {
  const Py_buffer& b = from->buffer;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  nnex_value* value = nullptr;
  need(nnex_tensor_borrow(dtype, static_cast<size_t>(b.ndim), reinterpret_cast<const int64_t*>(b.shape), b.buf,
                          Borrowed::release, from.get(), &value));
  (void)from.release();  // the value's now
  return Owned<nnex_value>(value);
}

/// The tensor over an object's own memory; null: its elements are of no type that nnex has. `as`: what the elements are
/// where the object's own buffer shows other ones of that size; NNEX_NONE: what it shows.
Owned<nnex_value> value_of_buffer(PyObject* object, nnex_dtype as) {
  auto from = std::make_unique<Borrowed>();
  if (!from->take(object)) {
    // Rows apart, or backwards: a copy. Types that the protocol lacks have no buffer at all.
    if (!numpy() || !PyErr_ExceptionMatches(PyExc_ValueError)) {
      PyErr_Clear();
      return nullptr;
    }
    PyErr_Clear();
    const Ref copy(PyObject_CallMethod(numpy(), "ascontiguousarray", "O", object));
    if (!copy || !from->take(copy.get())) {
      PyErr_Clear();
      return nullptr;
    }
  }
  const nnex_dtype dtype = as != NNEX_NONE ? as : type_of_format(from->buffer.format, from->buffer.itemsize);
  if (nnex_dtype_bits(dtype) != 8 * from->buffer.itemsize) return nullptr;
  return dtype == NNEX_NONE ? nullptr : borrow(std::move(from), dtype);
}

Owned<nnex_value> value_of_dlpack(PyObject* object) {
  const Ref capsule = need(PyObject_CallMethod(object, "__dlpack__", nullptr));
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (!managed) throw Raised();
  auto value = made<nnex_value>([&](nnex_value** out) { return nnex_tensor_from_dlpack(managed, out); });
  need(PyCapsule_SetName(capsule.get(), "used_dltensor"));
  return value;
}

bool is_list(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }
/// Of lists and tuples, as they are and not as a class that is derived says.
Py_ssize_t list_size(PyObject* list) { return PyList_Check(list) ? PyList_Size(list) : PyTuple_Size(list); }
PyObject* list_item(PyObject* list, Py_ssize_t i) {
  return PyList_Check(list) ? PyList_GetItem(list, i) : PyTuple_GetItem(list, i);
}

/// Numbers or texts in lists: their extents, and the elements in order.
struct Nested {
  std::vector<int64_t> extents;
  std::vector<Ref> elements;

  explicit Nested(PyObject* object) {
    for (PyObject* at = object; is_list(at); at = list_item(at, 0)) {
      extents.push_back(list_size(at));
      if (extents.back() == 0) break;
      if (extents.size() > 64) raise(PyExc_ValueError, "found lists in each other deeper than 64");
    }
    add(object, 0);
  }

 private:
  void add(PyObject* object, size_t depth) {
    if (depth == extents.size()) {
      if (is_list(object))
        raise(PyExc_ValueError, "found a list among numbers; needed lists of one length on each level");
      elements.push_back(Ref::of(object));
      return;
    }
    if (!is_list(object) || list_size(object) != extents[depth])
      raise(PyExc_ValueError,
            "found " + (is_list(object) ? "a list of " + std::to_string(list_size(object)) : type_name(object)) +
                "; needed a list of " + std::to_string(extents[depth]) + ", as its neighbours are");
    for (Py_ssize_t i = 0; i < extents[depth]; ++i) add(list_item(object, i), depth + 1);
  }
};

nnex_dtype natural_type(const Nested& n) {
  const auto all = [&](auto is) {
    return std::all_of(n.elements.begin(), n.elements.end(), [&](const Ref& o) { return is(o.get()); });
  };
  if (n.elements.empty()) return NNEX_F32;
  if (all([](PyObject* o) { return PyUnicode_Check(o) || PyBytes_Check(o); })) return NNEX_STR;
  if (all([](PyObject* o) { return PyBool_Check(o); })) return NNEX_BOOL;
  if (all([](PyObject* o) { return PyLong_Check(o); })) return NNEX_I64;
  return NNEX_F32;
}

uint16_t half_of(double x) {
  const Ref struct_ = need(PyImport_ImportModule("struct"));
  const Ref packed = need(PyObject_CallMethod(struct_.get(), "pack", "sd", "<e", x));
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  need(PyBytes_AsStringAndSize(packed.get(), &bytes, &size));
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  return bits;
}

template <class T>
T within(PyObject* o) {
  if (PyFloat_Check(o)) raise(PyExc_TypeError, "found a float; needed a whole number");
  if constexpr (sizeof(T) == 8 && static_cast<T>(-1) > 0) {
    const Ref index = need(PyNumber_Index(o));
    const unsigned long long value = PyLong_AsUnsignedLongLong(index.get());
    if (value == static_cast<unsigned long long>(-1) && PyErr_Occurred()) throw Raised();
    return value;
  } else {
    const int64_t value = integer_of(o);
    if (value != static_cast<int64_t>(static_cast<T>(value)))
      raise(PyExc_OverflowError, "found " + std::to_string(value) + ", which the element type cannot hold");
    return static_cast<T>(value);
  }
}

/// Writes element i.
void store(std::byte* data, nnex_dtype dtype, size_t i, PyObject* o) {
  const auto put = [&](auto value) { std::memcpy(data + i * sizeof value, &value, sizeof value); };
  switch (dtype) {
    case NNEX_F64:
      return put(real_of(o));
    case NNEX_F32:
      return put(static_cast<float>(real_of(o)));
    case NNEX_F16:
      return put(half_of(real_of(o)));
    case NNEX_BF16: {
      const auto single = static_cast<float>(real_of(o));
      uint32_t bits;
      std::memcpy(&bits, &single, 4);
      if (std::isnan(single)) return put(static_cast<uint16_t>(bits >> 16 | 0x40));
      return put(static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
    }
    case NNEX_I64:
      return put(within<int64_t>(o));
    case NNEX_I32:
      return put(within<int32_t>(o));
    case NNEX_I16:
      return put(within<int16_t>(o));
    case NNEX_I8:
      return put(within<int8_t>(o));
    case NNEX_U64:
      return put(within<uint64_t>(o));
    case NNEX_U32:
      return put(within<uint32_t>(o));
    case NNEX_U16:
      return put(within<uint16_t>(o));
    case NNEX_U8:
      return put(within<uint8_t>(o));
    case NNEX_BOOL:
      return put(static_cast<uint8_t>(truth_of(o)));
    case NNEX_I4:
    case NNEX_I2:
    case NNEX_U4:
    case NNEX_U2: {
      const int bits = nnex_dtype_bits(dtype);
      const bool sign = dtype == NNEX_I4 || dtype == NNEX_I2;
      const int64_t value = integer_of(o), low = sign ? -(1 << (bits - 1)) : 0, high = low + (1 << bits) - 1;
      if (value < low || value > high)
        raise(PyExc_OverflowError,
              "found " + std::to_string(value) + "; needed " + std::to_string(low) + " to " + std::to_string(high));
      const size_t shift = i * static_cast<size_t>(bits) % 8;
      data[i * static_cast<size_t>(bits) / 8] |= static_cast<std::byte>((value & ((1 << bits) - 1)) << shift);
      return;
    }
    default: {
      const ElementType* const type = type_of(dtype);
      raise(PyExc_TypeError, std::string("numbers do not become ") + (type ? type->name : "these elements") +
                                 "; needed an array of that type");
    }
  }
}

/// `array`: whose elements they are, where there is one: it knows its extents where some are 0.
Owned<nnex_value> value_of_numbers(PyObject* object, nnex_dtype dtype, PyObject* array = nullptr) {
  Nested n(object);
  if (array && n.elements.empty()) {
    n.extents.clear();
    each(need(PyObject_GetAttrString(array, "shape")).get(),
         [&](PyObject* extent) { n.extents.push_back(integer_of(extent)); });
  }
  if (dtype == NNEX_NONE) dtype = natural_type(n);
  if (dtype == NNEX_STR) {
    std::vector<std::string> texts;
    for (const Ref& element : n.elements) {
      PyObject* const o = element.get();
      if (!PyBytes_Check(o)) {
        texts.push_back(text_of(o));
        continue;
      }
      char* bytes = nullptr;
      need(PyBytes_AsStringAndSize(o, &bytes, nullptr));
      texts.emplace_back(bytes);
    }
    const auto at = pointers(texts);
    return made<nnex_value>([&](nnex_value** out) {
      return nnex_tensor_strings(n.extents.size(), n.extents.data(), at.data(), at.size(), out);
    });
  }
  auto value = made<nnex_value>(
      [&](nnex_value** out) { return nnex_tensor_make(dtype, n.extents.size(), n.extents.data(), out); });
  auto* const data = static_cast<std::byte*>(nnex_tensor_mutable_data(value.get()));
  for (size_t i = 0; i < n.elements.size(); ++i) store(data, dtype, i, n.elements[i].get());
  return value;
}

/// Items that values share.
struct Items {
  std::vector<Owned<nnex_value>> owned;
  std::vector<nnex_value*> all;
  void add(Owned<nnex_value> item) {
    all.push_back(item.get());
    owned.push_back(std::move(item));
  }
};

/// The first element of lists in each other; null: one is empty.
PyObject* first_leaf(PyObject* object) {
  for (int depth = 0; object && is_list(object) && depth < 64; ++depth)
    object = list_size(object) > 0 ? list_item(object, 0) : nullptr;
  return object;
}
/// Whether it has axes, as arrays of any library have.
bool is_array(PyObject* object) {
  if (!object || is<nnex_value>(object)) return false;
  const Ref shape(PyObject_GetAttrString(object, "shape"));
  PyErr_Clear();
  return shape && PyTuple_Check(shape.get()) && PyTuple_Size(shape.get()) > 0;
}

Owned<nnex_value> map_of(PyObject* dict, const Wanted& wanted) {
  const Ref keys = need(PyList_New(0));
  Items items;
  each_pair(dict, [&](PyObject* key, PyObject* value) {
    need(PyList_Append(keys.get(), key));
    items.add(value_of(value, wanted));
  });
  const Owned<nnex_value> names = value_of_numbers(keys.get(), NNEX_NONE);
  return made<nnex_value>(
      [&](nnex_value** out) { return nnex_map_make(names.get(), items.all.data(), items.all.size(), out); });
}

Owned<nnex_value> shared(const nnex_value* value) {
  nnex_value* out = nullptr;
  need(nnex_value_share(value, &out));
  return Owned<nnex_value>(out);
}

}  // namespace

const char* numpy_name(nnex_dtype dtype) {
  const ElementType* const type = type_of(dtype);
  return type ? type->name : "none";
}

nnex_dtype dtype_of(PyObject* name) {
  const Ref own(PyUnicode_Check(name) ? nullptr
                                      : PyObject_GetAttrString(name, PyType_Check(name) ? "__name__" : "name"));
  PyErr_Clear();
  std::string known = own ? text_of(own.get()) : text_of(name);
  if (known == "float") known = "float64";
  if (known == "int") known = "int64";
  if (known == "bool_") known = "bool";
  for (const ElementType& t : kTypes)
    if (known == t.name) return t.dtype;
  const nnex_dtype dtype = nnex_dtype_named(known.c_str());
  if (dtype == NNEX_NONE)
    raise(PyExc_ValueError, "found an element type '" + known + "'; needed one of NumPy's names (float32, int64, ...)");
  return dtype;
}

Wanted::Wanted(std::string text) : type(std::move(text)) {
  const size_t end = type.find('[');
  if (end != std::string::npos && type.find('(') > end) dtype = nnex_dtype_named(type.substr(0, end).c_str());
}
Wanted::Wanted(const nnex_port* port) : dtype(nnex_port_dtype(port)), type(nnex_port_type(port)) {}
Wanted Wanted::inside() const {
  const size_t begin = type.find('('), end = type.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return {};
  const size_t comma = type.starts_with("map") ? type.find(',') : std::string::npos;
  return Wanted(type.substr(comma == std::string::npos ? begin + 1 : comma + 1,
                            end - (comma == std::string::npos ? begin : comma) - 1));
}

Owned<nnex_value> value_of(PyObject* object, const Wanted& wanted) {
  const std::string_view type = wanted.type;
  if (is<nnex_value>(object)) return shared(handle_of<nnex_value>(object));
  if (object == Py_None) return made<nnex_value>([](nnex_value** out) { return nnex_optional_make(nullptr, out); });
  if (type.starts_with("optional")) {
    const Owned<nnex_value> item = value_of(object, wanted.inside());
    return made<nnex_value>([&](nnex_value** out) { return nnex_optional_make(item.get(), out); });
  }
  if (is_list(object) && type.starts_with("sequence")) {
    Items items;
    each(object, [&](PyObject* item) { items.add(value_of(item, wanted.inside())); });
    return made<nnex_value>(
        [&](nnex_value** out) { return nnex_sequence_make(items.all.data(), items.all.size(), out); });
  }
  if (PyDict_Check(object)) return map_of(object, wanted.inside());
  if (is_list(object) && is_array(first_leaf(object))) {  // rows of arrays
    if (!numpy()) raise(PyExc_TypeError, "found a list of arrays; needed one array");
    const Ref rows = need(PyObject_CallMethod(numpy(), "stack", "O", object));
    return value_of(rows.get(), wanted);
  }
  if (is_list(object) || PyUnicode_Check(object) || PyBytes_Check(object) || PyFloat_Check(object) ||
      PyLong_Check(object))
    return value_of_numbers(object, wanted.dtype);
  if (PyObject_CheckBuffer(object)) {
    if (auto value = value_of_buffer(object, NNEX_NONE)) return value;
  }
  const Ref own_type(PyObject_GetAttrString(object, "dtype"));
  PyErr_Clear();
  const Ref kind(own_type ? PyObject_GetAttrString(own_type.get(), "kind") : nullptr);
  PyErr_Clear();
  if (kind && numpy()) {  // an array whose elements have no buffer: texts, or types of ml_dtypes
    const std::string letter = text_of(kind.get());
    if (letter == "O" || letter == "U" || letter == "S") {
      const Ref list = need(PyObject_CallMethod(object, "tolist", nullptr));
      return value_of_numbers(list.get(), letter == "O" ? wanted.dtype : NNEX_STR, object);
    }
    if (letter == "i" || letter == "u" || letter == "f" || letter == "c") {  // the other order of bytes
      const Ref order = need(PyObject_CallMethod(own_type.get(), "newbyteorder", "s", "="));
      const Ref native = need(PyObject_CallMethod(object, "astype", "O", order.get()));
      if (auto value = value_of_buffer(native.get(), NNEX_NONE)) return value;
    }
    const nnex_dtype dtype = dtype_of(own_type.get());
    if (nnex_dtype_bits(dtype) < 8) {
      const Ref whole = need(PyObject_CallMethod(object, "astype", "s", "int64"));
      return value_of_numbers(need(PyObject_CallMethod(whole.get(), "tolist", nullptr)).get(), dtype);
    }
    if (nnex_dtype_bits(dtype) <= 16) {  // of ml_dtypes
      const Ref together = need(PyObject_CallMethod(numpy(), "ascontiguousarray", "O", object));
      const Ref bits =
          need(PyObject_CallMethod(together.get(), "view", "s", nnex_dtype_bits(dtype) == 16 ? "uint16" : "uint8"));
      if (auto value = value_of_buffer(bits.get(), dtype)) return value;
    }
  }
  const bool makes_array = numpy() && PyObject_HasAttrString(object, "__array__");
  if (PyObject_HasAttrString(object, "__dlpack__")) {
    try {
      return value_of_dlpack(object);
    } catch (const Raised&) {  // rows apart, a type that DLPack lacks
      if (!makes_array) throw;
      PyErr_Clear();
    }
  }
  if (makes_array) {
    const Ref array = need(PyObject_CallMethod(object, "__array__", nullptr));
    if (auto value = value_of_buffer(array.get(), NNEX_NONE)) return value;
  }
  if (PyNumber_Check(object)) return value_of_numbers(object, wanted.dtype);
  raise(PyExc_TypeError, "found " + type_name(object) + "; needed an array, numbers in lists, or a text");
}

namespace {

// ---- To Python ----

/// Texts, or what `element` gives, in lists as the extents say.
template <class F>
Ref nested(const int64_t* extents, size_t rank, int64_t& next, F element) {
  if (rank == 0) return element(next++);
  Ref list = need(PyList_New(0));
  for (int64_t i = 0; i < extents[0]; ++i)
    need(PyList_Append(list.get(), nested(extents + 1, rank - 1, next, element).get()));
  return list;
}

Ref lists_of(const nnex_value* v) {
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
        return text(nnex_tensor_string(v, i));
      case NNEX_BF16: {
        const uint32_t word = static_cast<uint32_t>(load(uint16_t{})) << 16;
        float single;
        std::memcpy(&single, &word, 4);
        return need(PyFloat_FromDouble(single));
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

Ref tensor_of(Owned<nnex_value> v) {
  const nnex_dtype dtype = nnex_tensor_dtype(v.get());
  if (dtype == NNEX_STR && numpy()) {
    Ref lists = lists_of(v.get());
    const Ref array = need(PyObject_CallMethod(numpy(), "empty", "(Os)", shape_of(v.get()).get(), "object"));
    const Ref ellipsis = Ref::of(Py_Ellipsis);
    if (nnex_tensor_count(v.get()) > 0) need(PyObject_SetItem(array.get(), ellipsis.get(), lists.get()));
    return Ref::of(array.get());
  }
  if (dtype == NNEX_STR) return lists_of(v.get());
  if (PyObject* const type = numpy_type(dtype)) return array_of(v.get(), type);
  return Ref(wrap(std::move(v)));
}

Owned<nnex_value> item_of(const nnex_value* v, size_t i) {
  return made<nnex_value>([&](nnex_value** out) { return nnex_value_item(v, i, out); });
}

}  // namespace

Ref python_of(Owned<nnex_value> v) {
  const size_t count = nnex_value_count(v.get());
  switch (nnex_value_kind(v.get())) {
    case NNEX_TENSOR:
      return tensor_of(std::move(v));
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
        const Ref key = texts ? text(nnex_tensor_string(keys.get(), static_cast<int64_t>(i) - 1))
                              : need(PyLong_FromLongLong(number));
        need(PyDict_SetItem(dict.get(), key.get(), python_of(item_of(v.get(), i)).get()));
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
  return need(PyObject_CallFunction(type, "NNsN", text(nnex_port_name(port)).release(),
                                    text(nnex_port_type(port)).release(), numpy_name(nnex_port_dtype(port)),
                                    shape.release()));
}

namespace {

// ---- The type ----

nnex_value* self_of(PyObject* self) { return handle_of<nnex_value>(self); }

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* const names[] = {"data", "dtype", nullptr};
    PyObject *data = nullptr, *dtype = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:Value", const_cast<char**>(names), &data, &dtype))
      throw Raised();
    if (!dtype || dtype == Py_None) return wrap(value_of(data), type);
    const nnex_dtype wanted = dtype_of(dtype);
    if (is_list(data) || PyNumber_Check(data) || PyUnicode_Check(data)) {
      if (!PyObject_CheckBuffer(data)) return wrap(value_of_numbers(data, wanted), type);
    }
    auto value = value_of(data);
    if (nnex_tensor_dtype(value.get()) == wanted) return wrap(std::move(value), type);
    if (nnex_dtype_bits(nnex_tensor_dtype(value.get())) != nnex_dtype_bits(wanted) || nnex_dtype_bits(wanted) < 8)
      raise(PyExc_TypeError, std::string("found elements of ") + numpy_name(nnex_tensor_dtype(value.get())) +
                                 "; needed " + numpy_name(wanted) + ", or the same number of bits");
    value = value_of_buffer(data, wanted);  // bits of another type, as those of bfloat16 in uint16
    if (!value) raise(PyExc_TypeError, "found " + type_name(data) + "; needed a buffer of as many bits");
    return wrap(std::move(value), type);
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

PyObject* to_dlpack(PyObject* self, PyObject*, PyObject*) {
  return guarded([&] {
    // Who reads DLPack may write, too: what a model or a session shares is copied.
    nnex_value* v = self_of(self);
    Owned<nnex_value> copy;
    if (nnex_tensor_bytes(v) > 0 && !nnex_tensor_mutable_data(v) && nnex_dtype_bits(nnex_tensor_dtype(v)) >= 8) {
      copy = made<nnex_value>([&](nnex_value** out) {
        return nnex_tensor_make(nnex_tensor_dtype(v), nnex_tensor_rank(v), nnex_tensor_extents(v), out);
      });
      std::memcpy(nnex_tensor_mutable_data(copy.get()), nnex_tensor_data(v), nnex_tensor_bytes(v));
      v = copy.get();
    }
    DLManagedTensor* managed = nullptr;
    need(nnex_tensor_to_dlpack(v, &managed));
    PyObject* const capsule = PyCapsule_New(managed, "dltensor", [](PyObject* c) {
      if (!PyCapsule_IsValid(c, "dltensor")) return;  // taken over
      auto* const left = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(c, "dltensor"));
      if (left->deleter) left->deleter(left);
    });
    if (!capsule) managed->deleter(managed);
    return need(capsule).release();
  });
}

PyMethodDef methods[] = {
    {"__copy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_NOARGS, "Itself: it never changes."},
    {"__deepcopy__", [](PyObject* self, PyObject*) { return Py_NewRef(self); }, METH_O, "Itself: it never changes."},
    {"__dlpack__", method(to_dlpack), METH_VARARGS | METH_KEYWORDS,
     "The tensor as a DLPack capsule; it shares the memory."},
    {"__dlpack_device__", [](PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }, METH_NOARGS,
     "(1, 0): the CPU."},
    {"__array__", method([](PyObject* self, PyObject* args, PyObject* kwargs) -> PyObject* {
       return guarded([&] {
         if (!numpy()) raise(PyExc_ImportError, "NumPy is not installed");
         static const char* const names[] = {"dtype", "copy", nullptr};
         PyObject *dtype = nullptr, *copy = nullptr;
         if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(names), &dtype, &copy))
           throw Raised();
         const nnex_dtype own = nnex_tensor_dtype(self_of(self));
         PyObject* const type = numpy_type(own);
         if (!type && own != NNEX_STR)
           raise(PyExc_TypeError, std::string("NumPy has no elements like those of ") + nnex_value_text(self_of(self)));
         Ref array = tensor_of(shared(self_of(self)));
         if (dtype && dtype != Py_None) array = need(PyObject_CallMethod(array.get(), "astype", "O", dtype));
         return array.release();
       });
     }),
     METH_VARARGS | METH_KEYWORDS, "An array of NumPy's: a copy."},
    {"python",
     [](PyObject* self, PyObject*) { return guarded([&] { return python_of(shared(self_of(self))).release(); }); },
     METH_NOARGS,
     "As runs give it: an array of NumPy's, a list of such, a dict, or None; what NumPy has no type for as it is."},
    {"tolist",
     [](PyObject* self, PyObject*) -> PyObject* {
       return guarded([&] {
         const ElementType* const type = type_of(nnex_tensor_dtype(self_of(self)));
         if (!type)
           raise(PyExc_TypeError, std::string("found ") + nnex_value_text(self_of(self)) + "; needed a tensor");
         if (!type->format) return lists_of(self_of(self)).release();
         if (type->dtype == NNEX_C64 || type->dtype == NNEX_C128)
           raise(PyExc_TypeError, "complex numbers do not become lists; numpy.asarray has them");
         const Ref view = need(PyMemoryView_FromObject(self));
         return need(PyObject_CallMethod(view.get(), "tolist", nullptr)).release();
       });
     },
     METH_NOARGS, "The elements of a tensor in lists."},
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
     METH_NOARGS, "The elements as they lie in memory; those narrower than 8 bits dense, low bits first."},
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
     "Of a sequence or optional its items; of a map its keys, then its values; of a sparse tensor values and indices."},
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
         "Value(data, dtype=None)\n--\n\nA tensor, or what else an edge of a network carries, in nnex's own memory "
         "or over an array's. Read-only; NumPy, memoryview and DLPack read it without a copy.")},
    {0, nullptr}};
PyType_Spec spec = {"nnex._nnex.Value", sizeof(HandleObject<nnex_value>), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

void add_values(PyObject* module) { add_type<nnex_value>(module, spec); }

}  // namespace nnex_python
