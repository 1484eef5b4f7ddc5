#pragma once

#include <cstdint>

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
