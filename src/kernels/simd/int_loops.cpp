#include "kernels/simd/int_loops.h"

#include "kernels/simd/builds.h"

namespace nnex::simd {

extern constinit const Builds<ChainI32> chain_i32_builds;
extern constinit const Builds<ChainI16> chain_i16_builds;
extern constinit const Builds<MaxBytesLoop> max_bytes_builds;
extern constinit const Builds<InterleaveThree> interleave_three_builds;
extern constinit const Builds<AddBytesLoop> add_bytes_builds;
extern constinit const Builds<TransposeNarrow<uint8_t>> transpose_u8_builds;
extern constinit const Builds<TransposeNarrow<uint16_t>> transpose_u16_builds;

IntLoops int_loops(Isa isa) {
  const auto i = static_cast<size_t>(isa);
  return {chain_i32_builds.of[i], chain_i16_builds.of[i],    max_bytes_builds.of[i],    interleave_three_builds.of[i],
          add_bytes_builds.of[i], transpose_u8_builds.of[i], transpose_u16_builds.of[i]};
}

}  // namespace nnex::simd
