#pragma once
// visit(): calls a generic lambda with the C++ type that stores a DType's elements, so that conversions are written
// once.

#include <cstdint>
#include <string>

#include "nnex/dtype.h"
#include "tensor/half.h"

namespace nnex {

/// A bool in memory: a byte tested against 0.
struct Flag {
  uint8_t bits = 0;
};

/// f.template operator()<T>() for the byte-sized-or-wider real, integer and bool types; f.template operator()<void>()
/// for the others (sub-byte, complex, objects).
template <class F>
decltype(auto) visit_element(DType type, F&& f) {
  switch (type) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<f16>();
    case DType::bf16:
      return f.template operator()<bf16>();
    case DType::f8e4m3fn:
      return f.template operator()<f8e4m3fn>();
    case DType::f8e4m3fnuz:
      return f.template operator()<f8e4m3fnuz>();
    case DType::f8e5m2:
      return f.template operator()<f8e5m2>();
    case DType::f8e5m2fnuz:
      return f.template operator()<f8e5m2fnuz>();
    case DType::f8e8m0:
      return f.template operator()<f8e8m0>();
    case DType::i64:
      return f.template operator()<int64_t>();
    case DType::i32:
      return f.template operator()<int32_t>();
    case DType::i16:
      return f.template operator()<int16_t>();
    case DType::i8:
      return f.template operator()<int8_t>();
    case DType::u64:
      return f.template operator()<uint64_t>();
    case DType::u32:
      return f.template operator()<uint32_t>();
    case DType::u16:
      return f.template operator()<uint16_t>();
    case DType::u8:
      return f.template operator()<uint8_t>();
    case DType::boolean:
      return f.template operator()<Flag>();
    default:
      return f.template operator()<void>();
  }
}

}  // namespace nnex
