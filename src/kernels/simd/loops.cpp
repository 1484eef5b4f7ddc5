#include "kernels/simd/loops.h"

#include <array>
#include <cstdlib>

#include "kernels/product/loops_tile_avx2.h"
#include "kernels/product/loops_tile_u8.h"
#include "kernels/simd/builds.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace nnex::kernels::simd {
namespace {

constexpr size_t kIsas = static_cast<size_t>(Isa::count);

}  // namespace

#ifdef NNEX_LINKS_LOOPS

namespace {

Loops linked_loops(Numbers numbers) {
  Loops all;
  all.isa = Isa::wasm, all.numbers = numbers;
  return all;
}

bool is_built(Isa isa) { return isa == Isa::wasm; }

}  // namespace

const Loops& loops(Isa /*isa*/, Numbers numbers) {
  static const Loops fast = linked_loops(Numbers::fast), exact = linked_loops(Numbers::exact);
  return numbers == Numbers::fast ? fast : exact;
}

#else

#define NNEX_SIMD(name, signature) extern constinit const Builds<signature> name##_builds;
#define NNEX_SIMD_FUSED(name, signature)                  \
  extern constinit const Builds<signature> name##_builds; \
  extern constinit const Builds<signature> name##_exact_builds;
#include "kernels/simd/simd.def"
#undef NNEX_SIMD
#undef NNEX_SIMD_FUSED

namespace {

/// The tiles of bytes, of the machine's units that have them.
void add_byte_tiles(Loops& made, Isa isa) {
  if (isa == kTileIsaU8 && has_byte_dots()) {
    made.tile_u8 = tile_u8, made.tile_shape_u8 = kTileShapeU8;
    made.byte_unit = isa == Isa::neon ? "dotprod" : "vnni";
#if defined(__x86_64__) && defined(__linux__)
    if (best_isa() == isa && has_tile_unit()) {  // who wants a lower one wants nothing to be asked
      made.tile_u8 = tile_u8_amx, made.tile_shape_u8 = kTileShapeAmx, made.release_unit = release_tile_unit;
      made.byte_unit = "amx";
    }
#endif
    return;
  }
  if (has_pair_tiles(isa)) made.tile_pairs = tile_pairs;
  if (has_avx_vnni(isa)) made.tile_u8 = tile_u8_avx_vnni, made.tile_shape_u8 = kTileShapeAvx2, made.byte_unit = "vnni";
}

/// Loops that round products are those of AVX2 where AVX-512 is: they give the same bytes, and those of AVX-512 would
/// be 2 % of the program for what is slower anyway.
Isa isa_of(Isa isa, Numbers numbers) { return isa == Isa::avx512 && numbers == Numbers::exact ? Isa::avx2 : isa; }

Loops make_loops(Isa isa, Numbers numbers) {
  Loops made;
  made.isa = isa_of(isa, numbers);
  const size_t i = static_cast<size_t>(made.isa);
  made.numbers = numbers;
#define NNEX_SIMD(name, signature) made.name = name##_builds.of[i];
#define NNEX_SIMD_FUSED(name, signature) \
  made.name = numbers == Numbers::exact ? name##_exact_builds.of[i] : name##_builds.of[i];
#include "kernels/simd/simd.def"
#undef NNEX_SIMD
#undef NNEX_SIMD_FUSED
  add_byte_tiles(made, isa);
  return made;
}

bool is_built(Isa isa) {
  bool built = true;
#define NNEX_SIMD(name, signature) built = built && name##_builds.of[static_cast<size_t>(isa)] != nullptr;
#define NNEX_SIMD_FUSED(name, signature) NNEX_SIMD(name, signature)
#include "kernels/simd/simd.def"
#undef NNEX_SIMD
#undef NNEX_SIMD_FUSED
  return built;
}

}  // namespace

const Loops& loops(Isa isa, Numbers numbers) {
  static const auto tables = [] {
    std::array<std::array<Loops, 2>, kIsas> made;
    for (size_t i = 0; i < kIsas; ++i) {
      made[i][0] = make_loops(static_cast<Isa>(i), Numbers::fast);
      made[i][1] = make_loops(static_cast<Isa>(i), Numbers::exact);
    }
    return made;
  }();
  return tables[static_cast<size_t>(isa)][static_cast<size_t>(numbers)];
}

#endif

namespace {

/// What the processor has and the operating system saves.
bool machine_has(Isa isa) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  const bool has_f16c = c & (1U << 29);
  const bool has_sse4 = __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("sse4.2");
  const bool has_avx2 = has_sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_f16c;
  switch (isa) {
    case Isa::scalar:
      return true;
    case Isa::sse4:
      return has_sse4;
    case Isa::avx2:
      return has_avx2;
    case Isa::avx512:
      return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    default:
      return false;
  }
#else
  return isa == Isa::scalar || isa == Isa::neon ||
         isa == Isa::wasm;  // built means runnable: one machine family, no levels
#endif
}

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::scalar:
      return "scalar";
    case Isa::sse4:
      return "sse4";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::neon:
      return "neon";
    case Isa::wasm:
      return "wasm";
    case Isa::count:
      break;
  }
  return "unknown";
}

bool can_run(Isa isa) { return is_built(isa) && machine_has(isa); }

Isa best_isa() {
  static const Isa best = [] {
    const char* wish = std::getenv("NNEX_ISA");
    Isa found = Isa::scalar;
    for (size_t i = 0; i < kIsas; ++i) {
      const Isa isa = static_cast<Isa>(i);
      if (!can_run(isa)) continue;
      found = isa;
      if (wish && name(isa) == wish) break;
    }
    return found;
  }();
  return best;
}

}  // namespace nnex::kernels::simd
