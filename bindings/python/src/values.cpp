// Python's objects as values of nnex.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "values.h"

namespace nnex_python {
namespace {

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
    if (ending()) return;
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
    PyErr_Clear();  // first of all: no call of Python's begins with an error set
    const Ref copy(PyMemoryView_GetContiguous(object, PyBUF_READ, 'C'));
    if (!copy || !from->take(copy.get())) {
      PyErr_Clear();
      return nullptr;
    }
  }
  const nnex_dtype dtype = as != NNEX_NONE ? as : type_of_format(from->buffer.format, from->buffer.itemsize);
  if (nnex_dtype_bits(dtype) != 8 * from->buffer.itemsize) return nullptr;
  return dtype == NNEX_NONE ? nullptr : borrow(std::move(from), dtype);
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

[[noreturn]] void too_large(const char* type, const char* max) {
  raise(PyExc_OverflowError, std::string("found a number beyond what ") + type + " holds (" + max + ")");
}

float single_of(double x) {
  const auto single = static_cast<float>(x);
  if (std::isinf(single) && !std::isinf(x)) too_large("float32", "3.4028235e+38");
  return single;
}

uint16_t brain_of(double x) {
  const auto single = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  if (std::isnan(single)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  const auto brain = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  if ((brain & 0x7fff) == 0x7f80 && !std::isinf(x)) too_large("bfloat16", "3.3895314e+38");
  return brain;
}

uint16_t half_of(double x) {
  constexpr double kBeyond = 65520;  // what rounds to more than 65504
  if (std::abs(x) >= kBeyond && !std::isinf(x)) too_large("float16", "65504");
  const Ref struct_ = need(PyImport_ImportModule("struct"));
  const Ref packed = need(PyObject_CallMethod(struct_.get(), "pack", "sd", "<e", x));
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  need(PyBytes_AsStringAndSize(packed.get(), &bytes, &size));
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  return bits;
}

/// Whether it is one of NumPy's, which are no whole numbers to Python.
bool is_truth(PyObject* o) {
  if (PyLong_Check(o) || !numpy()) return false;
  static PyObject* const type = need(PyObject_GetAttrString(numpy(), "bool_")).release();
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == type;
}

template <class T>
T within(PyObject* o) {
  if (PyFloat_Check(o)) raise(PyExc_TypeError, "found a float; needed a whole number");
  if (is_truth(o)) return static_cast<T>(truth_of(o));
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
      return put(single_of(real_of(o)));
    case NNEX_F16:
      return put(half_of(real_of(o)));
    case NNEX_BF16:
      return put(brain_of(real_of(o)));
    case NNEX_C64:
    case NNEX_C128: {
      const double parts[] = {PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)};
      if (PyErr_Occurred()) throw Raised();
      const float narrow[] = {dtype == NNEX_C64 ? single_of(parts[0]) : 0, dtype == NNEX_C64 ? single_of(parts[1]) : 0};
      if (dtype == NNEX_C64)
        std::memcpy(data + i * sizeof narrow, narrow, sizeof narrow);
      else
        std::memcpy(data + i * sizeof parts, parts, sizeof parts);
      return;
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
      if (!PyNumber_Check(o)) raise(PyExc_TypeError, "found " + type_name(o) + "; needed a truth value");
      return put(static_cast<uint8_t>(truth_of(o)));
    case NNEX_I4:
    case NNEX_I2:
    case NNEX_U4:
    case NNEX_U2: {
      const int bits = nnex_dtype_bits(dtype);
      const bool sign = dtype == NNEX_I4 || dtype == NNEX_I2;
      const int64_t value = is_truth(o) ? truth_of(o) : integer_of(o), low = sign ? -(1 << (bits - 1)) : 0,
                    high = low + (1 << bits) - 1;
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
        texts.push_back(bytes_of(o));
        continue;
      }
      char* bytes = nullptr;
      Py_ssize_t size = 0;
      need(PyBytes_AsStringAndSize(o, &bytes, &size));
      texts.emplace_back(bytes, static_cast<size_t>(size));
    }
    const auto at = pointers(texts);
    std::vector<size_t> sizes;
    for (const std::string& t : texts) sizes.push_back(t.size());
    return made<nnex_value>([&](nnex_value** out) {
      return nnex_tensor_texts(n.extents.size(), n.extents.data(), at.data(), sizes.data(), at.size(), out);
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
  if (!object) return false;
  const Ref shape(PyObject_GetAttrString(object, "shape"));
  PyErr_Clear();
  return shape && PyTuple_Check(shape.get()) && PyTuple_Size(shape.get()) > 0;
}

Owned<nnex_value> map_of(PyObject* dict, const Wanted& wanted) {
  const Ref keys = need(PyList_New(0));
  const Wanted inside = wanted.inside();
  Items items;
  each_pair(dict, [&](PyObject* key, PyObject* value) {
    need(PyList_Append(keys.get(), key));
    items.add(value_of(value, inside));
  });
  const Owned<nnex_value> names = value_of_numbers(keys.get(), wanted.of_keys());
  return made<nnex_value>(
      [&](nnex_value** out) { return nnex_map_make(names.get(), items.all.data(), items.all.size(), out); });
}

}  // namespace

Owned<nnex_value> shared(const nnex_value* value) {
  nnex_value* out = nullptr;
  need(nnex_value_share(value, &out));
  return Owned<nnex_value>(out);
}

Owned<nnex_value> copied(const nnex_value* v) {
  if (nnex_tensor_bytes(v) == 0 || nnex_dtype_bits(nnex_tensor_dtype(v)) < 8) return nullptr;
  auto copy = made<nnex_value>([&](nnex_value** out) {
    return nnex_tensor_make(nnex_tensor_dtype(v), nnex_tensor_rank(v), nnex_tensor_extents(v), out);
  });
  std::memcpy(nnex_tensor_mutable_data(copy.get()), nnex_tensor_data(v), nnex_tensor_bytes(v));
  return copy;
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
  const size_t from = comma == std::string::npos ? begin + 1 : type.find_first_not_of(' ', comma + 1);
  return Wanted(type.substr(from, end - from));
}
nnex_dtype Wanted::of_keys() const {
  if (!type.starts_with("map(")) return NNEX_NONE;
  return nnex_dtype_named(type.substr(4, type.find(',') - 4).c_str());
}

Ref dict_of(PyObject* object) {
  if (PyDict_Check(object)) return Ref::of(object);
  if (is<nnex_value>(object) || is_list(object) || PyObject_CheckBuffer(object) || !PyMapping_Check(object) ||
      !PyObject_HasAttrString(object, "keys") || PyObject_HasAttrString(object, "__array__"))  // a table of pandas
    return {};
  Ref dict = need(PyDict_New());
  need(PyDict_Update(dict.get(), object));
  return dict;
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
  if (const Ref dict = dict_of(object)) return map_of(dict.get(), wanted);
  if (is_list(object) && is_array(first_leaf(object))) {  // rows of arrays
    if (!numpy()) raise(PyExc_TypeError, "found a list of arrays; needed one array");
    const Ref rows = need(PyObject_CallMethod(numpy(), "stack", "O", object));
    return value_of(rows.get(), wanted);
  }
  if (PyBytes_Check(object) && wanted.dtype != NNEX_NONE && wanted.dtype != NNEX_STR)
    return value_of_buffer(object, NNEX_NONE);
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

Owned<nnex_value> tensor_of(PyObject* data, nnex_dtype wanted) {
  Ref rows;
  if (is_list(data) && is_array(first_leaf(data)) && numpy()) {
    rows = need(PyObject_CallMethod(numpy(), "stack", "O", data));
    data = rows.get();
  }
  const bool plain = is_list(data) || PyNumber_Check(data) || PyUnicode_Check(data);
  if (plain && !PyObject_CheckBuffer(data)) return value_of_numbers(data, wanted);
  auto value = PyBytes_Check(data) && wanted != NNEX_STR ? value_of_buffer(data, NNEX_NONE) : value_of(data);
  const nnex_dtype found = nnex_tensor_dtype(value.get());
  if (found == wanted) return value;
  if (nnex_value_kind(value.get()) != NNEX_TENSOR)
    raise(PyExc_TypeError, std::string("found ") + nnex_value_text(value.get()) + "; needed a tensor");
  const bool bits = (found == NNEX_U16 || found == NNEX_U8) && nnex_dtype_bits(found) == nnex_dtype_bits(wanted) &&
                    !type_of(wanted)->format;
  if (bits)  // those of bfloat16 in uint16
    if (auto same = value_of_buffer(data, wanted)) return same;
  if (PyBytes_Check(data) || PyByteArray_Check(data))
    raise(PyExc_TypeError,
          std::string("found bytes; needed a shape, of the elements of ") + numpy_name(wanted) + " that they are");
  const Ref lists = lists_of(value.get());
  return value_of_numbers(lists.get(), wanted, is_array(data) ? data : nullptr);
}

Owned<nnex_value> tensor_of_bytes(PyObject* bytes, nnex_dtype dtype, const std::vector<int64_t>& extents) {
  if (dtype == NNEX_STR) raise(PyExc_TypeError, "found bytes for texts; needed a list of texts");
  Py_buffer from;
  need(PyObject_GetBuffer(bytes, &from, PyBUF_SIMPLE));
  const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> held(&from, PyBuffer_Release);
  auto value =
      made<nnex_value>([&](nnex_value** out) { return nnex_tensor_make(dtype, extents.size(), extents.data(), out); });
  if (nnex_tensor_bytes(value.get()) != static_cast<size_t>(from.len))
    raise(PyExc_ValueError, "found " + std::to_string(from.len) + " bytes; needed " +
                                std::to_string(nnex_tensor_bytes(value.get())) + " for " +
                                nnex_value_text(value.get()));
  if (from.len > 0) std::memcpy(nnex_tensor_mutable_data(value.get()), from.buf, static_cast<size_t>(from.len));
  return value;
}

}  // namespace nnex_python
