#pragma once
// The inner loops, each built once per instruction set; simd.def lists them.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/simd/signatures.h"

namespace nnex::kernels::simd {

/// The instruction sets a loop may be built for; a build for one machine family has some of them.
enum class Isa : uint8_t { scalar, sse4, avx2, avx512, neon, wasm, count };

/// "scalar", "sse4", ..., as the environment variable NNEX_ISA spells them.
std::string_view name(Isa isa);

/// fast: multiply-add rounds once where the machine can. exact: it always rounds twice, so every instruction set gives
/// the same bytes.
enum class Numbers : uint8_t { fast, exact };

/// A loop of each instruction set that has it: kernels/simd/builds.h.
template <class F>
struct Builds {
  F* of[static_cast<size_t>(Isa::count)] = {};
};

#ifdef NNEX_LINKS_LOOPS
// A build for one instruction set, whose multiply-adds round twice. Each loop has a type of its own that finds the loop
// in the loop's own table, so a program is linked with those alone that its kernels name.
#define NNEX_LOOP(name, signature, table)                                            \
  extern constinit const Builds<signature> table;                                    \
  struct Linked_##name {                                                             \
    operator signature*() const { return table.of[static_cast<size_t>(Isa::wasm)]; } \
  };
#define NNEX_SIMD(name, signature) NNEX_LOOP(name, signature, name##_builds)
#define NNEX_SIMD_FUSED(name, signature) NNEX_LOOP(name, signature, name##_exact_builds)
#include "kernels/simd/simd.def"
#undef NNEX_SIMD
#undef NNEX_SIMD_FUSED
#undef NNEX_LOOP
#endif

/// Every inner loop of one instruction set.
struct Loops {
  Isa isa = Isa::scalar;
  Numbers numbers = Numbers::fast;
#ifdef NNEX_LINKS_LOOPS
#define NNEX_SIMD(name, signature) [[no_unique_address]] Linked_##name name;
#else
#define NNEX_SIMD(name, signature) signature* name = nullptr;
#endif
#define NNEX_SIMD_FUSED(name, signature) NNEX_SIMD(name, signature)
#include "kernels/simd/simd.def"
#undef NNEX_SIMD
#undef NNEX_SIMD_FUSED
  /// What tile_i16 computes, from bytes: only on machines with dot products of bytes, else null
  /// (product/loops_tile_u8.h, product/loops_tile_avx2.h).
  TileU8* tile_u8 = nullptr;
  TileShape tile_shape_u8 = {};
  std::string_view byte_unit;        ///< What tile_u8 runs on: "vnni", "amx" or "dotprod".
  void (*release_unit)() = nullptr;  ///< What a thread calls after tiles with IntTile::unit; null: none takes it.
  /// The same of columns of seven bits, on AVX2 alone (product/loops_tile_avx2.h).
  TileU8* tile_pairs = nullptr;
};

/// The loops of an instruction set that can_run(). The reference lives as long as the program.
const Loops& loops(Isa isa, Numbers numbers = Numbers::fast);

/// Whether this program has loops for the instruction set and this machine can run them.
bool can_run(Isa isa);

/// The widest one that can run, lowered by the environment variable NNEX_ISA. Read once.
Isa best_isa();

}  // namespace nnex::kernels::simd
