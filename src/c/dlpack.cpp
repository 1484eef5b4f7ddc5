// Tensors of other libraries, by DLPack, of the old kind and of version 1.

#include "c/dlpack.h"

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/try.h"
#include "c/handles.h"

namespace nnex::c {
namespace {

/// Floats of 8 bits have type codes of their own, from DLPack 1.1 on.
constexpr std::pair<DType, uint8_t> kDlFloat8[] = {
    {DType::f8e4m3fn, 10}, {DType::f8e4m3fnuz, 11}, {DType::f8e5m2, 12}, {DType::f8e5m2fnuz, 13}, {DType::f8e8m0, 14}};

/// DLPack's (type code, bits) of an element type; nothing: it has none.
std::optional<DlDataType> dl_type(DType t) {
  const auto bits_of = static_cast<uint8_t>(bits(t));
  if (t == DType::bf16) return DlDataType{kDlBfloat, 16, 1};
  if (is_float(t)) return DlDataType{kDlFloat, bits_of, 1};
  if (is_signed_int(t) && bits_of >= 8) return DlDataType{kDlInt, bits_of, 1};
  if (is_unsigned_int(t) && bits_of >= 8) return DlDataType{kDlUint, bits_of, 1};
  if (t == DType::boolean) return DlDataType{kDlBool, 8, 1};
  if (is_complex(t)) return DlDataType{kDlComplex, bits_of, 1};
  for (const auto& [type, code] : kDlFloat8)
    if (t == type) return DlDataType{code, 8, 1};
  return std::nullopt;
}

Result<DType> type_of(DlDataType d) {
  for (int t = static_cast<int>(DType::f64); t < static_cast<int>(DType::str); ++t)
    if (const auto mine = dl_type(static_cast<DType>(t)); mine && *mine == d) return static_cast<DType>(t);
  return Error(Code::unsupported, "a DLPack tensor of type code " + std::to_string(d.code) + ", " +
                                      std::to_string(d.bits) + " bits, " + std::to_string(d.lanes) + " lanes");
}

/// A value over what a capsule of either kind holds, which is taken over when nothing can fail any more.
template <class Managed>
nnex_error* imported(Managed* managed, nnex_value** out) noexcept {
  if (out) *out = nullptr;
  return guarded([&]() -> Status {
    NNEX_C_NEED(managed);
    NNEX_C_NEED(out);
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>)
      if (managed->version.major != kDlMajor)
        return Error(Code::unsupported, "a tensor of DLPack " + std::to_string(managed->version.major) + "." +
                                            std::to_string(managed->version.minor) + "; needed version " +
                                            std::to_string(kDlMajor));
    const DlTensor& d = managed->dl_tensor;
    if (d.device.device_type != kDlCpu)
      return Error(Code::unsupported,
                   "a DLPack tensor on device type " + std::to_string(d.device.device_type) + "; needed the CPU (1)");
    NNEX_ASSIGN(const DType type, type_of(d.dtype));
    if (d.ndim < 0) return Error(Code::invalid_argument, "found a rank of " + std::to_string(d.ndim));
    NNEX_ASSIGN(Shape shape, shape_of(static_cast<size_t>(d.ndim), d.shape));
    int64_t dense = 1;
    for (int64_t a = shape.rank(); d.strides && shape.count() > 0 && a-- > 0; dense *= shape[a])
      if (shape[a] != 1 && d.strides[a] != dense)
        return Error(Code::unsupported, "a DLPack tensor whose axis " + std::to_string(a) + " has stride " +
                                            std::to_string(d.strides[a]) + "; needed " + std::to_string(dense));
    if (!d.data && shape.count() > 0) return null_argument("data");
    auto owner = std::make_shared<Owner>();
    char* const data = static_cast<char*>(d.data) + d.byte_offset;
    auto made = std::make_unique<nnex_value>(Tensor::borrow(type, std::move(shape), data, owner));
    owner->context = managed;
    owner->release = [](void* context) {
      auto* m = static_cast<Managed*>(context);
      if (m->deleter) m->deleter(m);
    };
    *out = made.release();
    return {};
  });
}

/// What a capsule of ours keeps.
template <class Managed>
struct Exported {
  Managed managed = {};
  Tensor tensor;
  std::vector<int64_t> extents, strides;
};

template <class Managed>
nnex_error* exported(const nnex_value* tensor, Managed** out) noexcept {
  if (out) *out = nullptr;
  return guarded([&]() -> Status {
    NNEX_C_NEED(tensor);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const Value held, lasting(*tensor));
    const Tensor* t = held.tensor();
    if (!t) return Error(Code::invalid_argument, "found " + held.text() + "; needed a tensor");
    const auto type = dl_type(t->dtype());
    if (!type) return Error(Code::unsupported, "DLPack has no type " + std::string(name(t->dtype())));
    auto e = std::make_unique<Exported<Managed>>();
    e->tensor = *t;
    e->extents.assign(t->shape().begin(), t->shape().end());
    e->strides.assign(e->extents.size(), 1);
    for (size_t a = e->extents.size(); a-- > 1;) e->strides[a - 1] = t->count() ? e->strides[a] * e->extents[a] : 0;
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>)
      e->managed.version = {kDlMajor, kDlMinor}, e->managed.flags = kDlReadOnly;
    DlTensor& d = e->managed.dl_tensor;
    d.data = const_cast<std::byte*>(t->data());  // NOLINT: DLPack knows no constant tensors
    d.device = {kDlCpu, 0};
    d.ndim = static_cast<int32_t>(e->extents.size());
    d.dtype = *type;
    d.shape = e->extents.data();
    d.strides = e->strides.data();
    d.byte_offset = 0;
    e->managed.manager_ctx = e.get();
    e->managed.deleter = [](Managed* m) { delete static_cast<Exported<Managed>*>(m->manager_ctx); };
    *out = &e.release()->managed;
    return {};
  });
}

}  // namespace
}  // namespace nnex::c

extern "C" {

nnex_error* nnex_tensor_from_dlpack(DLManagedTensor* managed, nnex_value** out) {
  return nnex::c::imported(managed, out);
}
nnex_error* nnex_tensor_from_dlpack_versioned(DLManagedTensorVersioned* managed, nnex_value** out) {
  return nnex::c::imported(managed, out);
}
nnex_error* nnex_tensor_to_dlpack(const nnex_value* tensor, DLManagedTensor** out) {
  return nnex::c::exported(tensor, out);
}
nnex_error* nnex_tensor_to_dlpack_versioned(const nnex_value* tensor, DLManagedTensorVersioned** out) {
  return nnex::c::exported(tensor, out);
}

}  // extern "C"
