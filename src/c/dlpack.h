#pragma once
// The part of DLPack's binary interface (of version 1, and of 0) that tensors in main memory need: structs as its
// consumers expect them.

#include <cstdint>

namespace nnex::c {

inline constexpr int32_t kDlCpu = 1;
inline constexpr uint32_t kDlMajor = 1, kDlMinor = 1;  ///< Of which the types are.
inline constexpr uint64_t kDlReadOnly = 1;             ///< A flag.

struct DlVersion {
  uint32_t major, minor;
};

enum : uint8_t { kDlInt = 0, kDlUint = 1, kDlFloat = 2, kDlBfloat = 4, kDlComplex = 5, kDlBool = 6 };

struct DlDevice {
  int32_t device_type, device_id;
};

struct DlDataType {
  uint8_t code, bits;
  uint16_t lanes;
  friend bool operator==(DlDataType a, DlDataType b) {
    return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
  }
};

struct DlTensor {
  void* data;
  DlDevice device;
  int32_t ndim;
  DlDataType dtype;
  int64_t* shape;
  int64_t* strides;  ///< In elements; null: dense and row-major.
  uint64_t byte_offset;
};

}  // namespace nnex::c

struct DLManagedTensor {
  nnex::c::DlTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLManagedTensorVersioned {
  nnex::c::DlVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  nnex::c::DlTensor dl_tensor;
};
