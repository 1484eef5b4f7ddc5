#pragma once
// Tensors of given extents and elements, by type.

#include <cstdint>
#include <utility>
#include <vector>

#include "nnex/tensor.h"

namespace nnex::test {

inline Tensor f(Shape s, const std::vector<float>& v) { return Tensor::of(std::move(s), v); }
inline Tensor i64(Shape s, const std::vector<int64_t>& v) { return Tensor::of(std::move(s), v); }
inline Tensor i32(Shape s, const std::vector<int32_t>& v) { return Tensor::of(std::move(s), v); }
inline Tensor i8(Shape s, const std::vector<int8_t>& v) { return Tensor::of(std::move(s), v); }
inline Tensor u8(Shape s, const std::vector<uint8_t>& v) { return Tensor::of(std::move(s), v); }

}  // namespace nnex::test
