// Tensors of other libraries, and for them, by DLPack.

#include "dlpack.h"

#include <cstring>

#include "values.h"

namespace nnex_python {
namespace {

constexpr int32_t kCpu = 1;
constexpr int32_t kMaxRank = 64;

/// A tensor whose elements lie together, with memory of its own.
struct Compact {
  DLManagedTensor managed;
  std::vector<int64_t> extents;
  std::vector<std::byte> bytes;
};

/// Whether elements are whole bytes on the CPU that lie apart: what is copied. All else is taken or refused as it is.
bool lies_apart(const DLManagedTensor& m) {
  const auto& t = m.tensor;
  if (t.device_type != kCpu || !t.strides || t.ndim < 0 || t.ndim > kMaxRank || t.bits * t.lanes % 8 != 0) return false;
  int64_t step = 1;
  bool apart = false;
  for (int32_t i = t.ndim; i-- > 0;) {
    if (t.shape[i] <= 0) return false;
    apart = apart || (t.shape[i] > 1 && t.strides[i] != step);
    step *= t.shape[i];
  }
  return apart;
}

/// The elements below an axis, in order.
std::byte* gather(const DLManagedTensor& m, int32_t axis, const std::byte* from, size_t element, std::byte* to) {
  const auto& t = m.tensor;
  if (axis == t.ndim) return std::memcpy(to, from, element), to + element;
  const ptrdiff_t step = static_cast<ptrdiff_t>(t.strides[axis]) * static_cast<ptrdiff_t>(element);
  for (int64_t i = 0; i < t.shape[axis]; ++i) to = gather(m, axis + 1, from + i * step, element, to);
  return to;
}

std::unique_ptr<Compact> compact(const DLManagedTensor& m) {
  const auto& t = m.tensor;
  const size_t element = static_cast<size_t>(t.bits) * t.lanes / 8;
  auto made = std::make_unique<Compact>();
  made->extents.assign(t.shape, t.shape + t.ndim);
  size_t bytes = element;
  for (int64_t extent : made->extents)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes)) throw std::bad_alloc();
  made->bytes.resize(bytes);
  gather(m, 0, static_cast<const std::byte*>(t.data) + t.byte_offset, element, made->bytes.data());
  made->managed = {m.tensor, made.get(), [](DLManagedTensor* self) { delete static_cast<Compact*>(self->manager); }};
  made->managed.tensor.data = made->bytes.data(), made->managed.tensor.byte_offset = 0;
  made->managed.tensor.shape = made->extents.data(), made->managed.tensor.strides = nullptr;
  return made;
}

}  // namespace

Owned<nnex_value> value_of_dlpack(PyObject* object) {
  const Ref capsule = need(PyObject_CallMethod(object, "__dlpack__", nullptr));
  auto* const managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (!managed) throw Raised();
  if (lies_apart(*managed)) {  // the capsule lets the other one go
    auto own = compact(*managed);
    auto value = made<nnex_value>([&](nnex_value** out) { return nnex_tensor_from_dlpack(&own->managed, out); });
    (void)own.release();  // the value's now
    return value;
  }
  auto value = made<nnex_value>([&](nnex_value** out) { return nnex_tensor_from_dlpack(managed, out); });
  need(PyCapsule_SetName(capsule.get(), "used_dltensor"));
  return value;
}

PyObject* to_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static const char* const names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
    PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream, &version,
                                     &device, &copy))
      throw Raised();
    if (stream != Py_None) raise(PyExc_BufferError, "found a stream; needed none, on the CPU");
    if (device != Py_None) {
      int kind = 0, number = 0;
      if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii:dl_device", &kind, &number)) {
        PyErr_Clear();
        raise(PyExc_TypeError, "dl_device: found " + type_name(device) + "; needed a pair of numbers");
      }
      if (kind != kCpu || number != 0)
        raise(PyExc_BufferError, "found the device (" + std::to_string(kind) + ", " + std::to_string(number) +
                                     "); needed the CPU, (1, 0)");
    }
    if (copy != Py_None && !truth_of(copy))
      raise(PyExc_BufferError, "who reads DLPack may write, and a nnex.Value does not change: needed copy=True");
    nnex_value* v = handle_of<nnex_value>(self);
    const Owned<nnex_value> own = copied(v);
    if (own) v = own.get();
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

}  // namespace nnex_python
