#pragma once
// visit(): calls a generic lambda with the C++ type that stores a DType's elements, so that conversions are written
// once.

#include <cstdint>
#include <string>
#include <type_traits>

#include "base/built.h"
#include "nnex/dtype.h"
#include "tensor/half.h"

namespace nnex {

/// A bool in memory: a byte tested against 0.
struct Flag {
  uint8_t bits = 0;
};

/// f.template operator()<T>() for the byte-sized-or-wider real, integer and bool types; f.template operator()<void>()
/// for the others (sub-byte, complex, objects, those that this build leaves out).
template <class F>
decltype(auto) visit_element(DType type, F&& f) {
#define NNEX_ELEMENT(type, T) f.template operator()<std::conditional_t<has_elements(DType::type), T, void>>()
  switch (type) {
    case DType::f64:
      return NNEX_ELEMENT(f64, double);
    case DType::f32:
      return NNEX_ELEMENT(f32, float);
    case DType::f16:
      return NNEX_ELEMENT(f16, f16);
    case DType::bf16:
      return NNEX_ELEMENT(bf16, bf16);
    case DType::f8e4m3fn:
      return NNEX_ELEMENT(f8e4m3fn, f8e4m3fn);
    case DType::f8e4m3fnuz:
      return NNEX_ELEMENT(f8e4m3fnuz, f8e4m3fnuz);
    case DType::f8e5m2:
      return NNEX_ELEMENT(f8e5m2, f8e5m2);
    case DType::f8e5m2fnuz:
      return NNEX_ELEMENT(f8e5m2fnuz, f8e5m2fnuz);
    case DType::f8e8m0:
      return NNEX_ELEMENT(f8e8m0, f8e8m0);
    case DType::i64:
      return NNEX_ELEMENT(i64, int64_t);
    case DType::i32:
      return NNEX_ELEMENT(i32, int32_t);
    case DType::i16:
      return NNEX_ELEMENT(i16, int16_t);
    case DType::i8:
      return NNEX_ELEMENT(i8, int8_t);
    case DType::u64:
      return NNEX_ELEMENT(u64, uint64_t);
    case DType::u32:
      return NNEX_ELEMENT(u32, uint32_t);
    case DType::u16:
      return NNEX_ELEMENT(u16, uint16_t);
    case DType::u8:
      return NNEX_ELEMENT(u8, uint8_t);
    case DType::boolean:
      return NNEX_ELEMENT(boolean, Flag);
    default:
      return f.template operator()<void>();
  }
#undef NNEX_ELEMENT
}

}  // namespace nnex
