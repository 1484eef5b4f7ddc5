#include "graph/late.h"

#include <cstring>

#include "base/interrupt.h"
#include "base/try.h"

namespace nnex {

Result<Tensor> LateConstant::make(Team& team, Tensor& room) const {
  if (room.bytes() < source.bytes() || !room.writable()) {
    room = Tensor();  // before there are both
    NNEX_ASSIGN(room, Tensor::make(DType::u8, Shape{source.bytes()}));
  }
  const std::byte* const from = source.data();
  auto* const to = reinterpret_cast<float*>(room.mutable_data());
  const size_t per_output = static_cast<size_t>(source.count()) / scale.size();
  const auto go_on = [] { return false; };
  const Interrupt uninterrupted(go_on);  // no part is left out
  team.run(static_cast<int64_t>(scale.size()), [&](int64_t part) {
    const size_t begin = static_cast<size_t>(part) * per_output;
    const double factor = scale[static_cast<size_t>(part)];
    for (size_t i = begin; i < begin + per_output; ++i) {
      float value = 0;
      std::memcpy(&value, from + i * sizeof value, sizeof value);
      to[i] = static_cast<float>(value * factor);
    }
  });
  return Tensor::adopt(DType::f32, source.shape(), to, room.owner());
}

}  // namespace nnex
