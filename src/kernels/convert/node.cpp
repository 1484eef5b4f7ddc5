// Casts (docs/operators/c.md), with the reference's bytes but for the payload of NaN.

#include "ops/cast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/split.h"
#include "kernels/convert/convert.h"
#include "kernels/kernel.h"
#include "kernels/moves/copy.h"

namespace nnex::kernels {
namespace {

using CastLoop = void (*)(const simd::Loops& loops, Team& team, const std::byte* x, std::byte* y, int64_t n);

struct Truth {
  uint8_t byte;
};

/// One element. Floats towards zero, saturating, NaN gives 0; whole numbers keep their low bits; to truth: not 0.
template <class To, class From>
To element(From x) {
  if constexpr (std::is_same_v<From, Truth>) {
    return static_cast<To>(x.byte != 0);
  } else if constexpr (std::is_same_v<To, Truth>) {
    return Truth{static_cast<uint8_t>(!(x == 0))};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
    constexpr From kEnd = static_cast<From>(kHalf) * 2;
    if (x >= kEnd) return std::numeric_limits<To>::max();
    return x < kLow ? std::numeric_limits<To>::min() : std::isnan(x) ? To{0} : static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void plain(const simd::Loops&, Team& team, const std::byte* from, std::byte* to, int64_t n) {
  const auto* x = reinterpret_cast<const From*>(from);
  auto* y = reinterpret_cast<To*>(to);
  split(team, n, n * int64_t{sizeof(From) + sizeof(To)}, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = element<To>(x[i]);
  });
}

/// A loop of vectors.
template <class From, class To, auto loop>
void vectors(const simd::Loops& loops, Team& team, const std::byte* x, std::byte* y, int64_t n) {
  convert(team, loops.*loop, reinterpret_cast<const From*>(x), reinterpret_cast<To*>(y), n);
}

struct CastPair {
  DType from, to;
  CastLoop run;
};

using L = simd::Loops;
constexpr CastPair kCasts[] = {
    {DType::f32, DType::f16, vectors<float, uint16_t, &L::f16_from_f32>},
    {DType::f16, DType::f32, vectors<uint16_t, float, &L::f32_from_f16>},
    {DType::f32, DType::bf16, vectors<float, uint16_t, &L::bf16_from_f32>},
    {DType::bf16, DType::f32, vectors<uint16_t, float, &L::f32_from_bf16>},
    {DType::f32, DType::i32, vectors<float, int32_t, &L::i32_from_f32>},
    {DType::i32, DType::f32, vectors<int32_t, float, &L::f32_from_i32>},
    {DType::f32, DType::u8, vectors<float, uint8_t, &L::u8_from_f32>},
    {DType::u8, DType::f32, vectors<uint8_t, float, &L::f32_from_u8>},
    {DType::f32, DType::f64, plain<float, double>},
    {DType::f32, DType::i64, vectors<float, int64_t, &L::i64_from_f32>},
    {DType::f32, DType::i8, plain<float, int8_t>},
    {DType::f32, DType::boolean, vectors<float, uint8_t, &L::bool_from_f32>},
    {DType::f64, DType::f32, vectors<double, float, &L::f32_from_f64>},
    {DType::f64, DType::i64, plain<double, int64_t>},
    {DType::f64, DType::i32, plain<double, int32_t>},
    {DType::i64, DType::f32, vectors<int64_t, float, &L::f32_from_i64>},
    {DType::i64, DType::f64, plain<int64_t, double>},
    {DType::i64, DType::i32, plain<int64_t, int32_t>},
    {DType::i64, DType::u8, plain<int64_t, uint8_t>},
    {DType::i64, DType::i8, plain<int64_t, int8_t>},
    {DType::i64, DType::boolean, vectors<int64_t, uint8_t, &L::bool_from_i64>},
    {DType::i32, DType::f64, plain<int32_t, double>},
    {DType::i32, DType::i64, vectors<int32_t, int64_t, &L::i64_from_i32>},
    {DType::i32, DType::u8, plain<int32_t, uint8_t>},
    {DType::i32, DType::i8, plain<int32_t, int8_t>},
    {DType::i32, DType::boolean, plain<int32_t, Truth>},
    {DType::u8, DType::i64, plain<uint8_t, int64_t>},
    {DType::u8, DType::i32, plain<uint8_t, int32_t>},
    {DType::u8, DType::i8, plain<uint8_t, int8_t>},
    {DType::u8, DType::boolean, plain<uint8_t, Truth>},
    {DType::i8, DType::f32, plain<int8_t, float>},
    {DType::i8, DType::i64, plain<int8_t, int64_t>},
    {DType::i8, DType::i32, plain<int8_t, int32_t>},
    {DType::i8, DType::u8, plain<int8_t, uint8_t>},
    {DType::i8, DType::boolean, plain<int8_t, Truth>},
    {DType::boolean, DType::f32, plain<Truth, float>},
    {DType::boolean, DType::i64, plain<Truth, int64_t>},
    {DType::boolean, DType::i32, plain<Truth, int32_t>},
    {DType::boolean, DType::u8, plain<Truth, uint8_t>},
    {DType::boolean, DType::i8, plain<Truth, int8_t>},
};

class CastKernel : public Kernel {
 public:
  CastKernel(const simd::Loops& loops, CastLoop cast) : loops_(loops), cast_(cast) {}
  Status run(Call& c) const override {
    cast_(loops_, *c.team, c.in(0).data(), c.out(0).mutable_data(), c.in(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  CastLoop cast_;
};

/// To float16 or bfloat16 by way of float32, block by block. From them kernels/convert/widened.h serves.
class HalfCast : public Kernel {
 public:
  HalfCast(const simd::Loops& loops, const CastPair& to_f32, DType half)
      : loops_(loops), to_f32_(to_f32), narrow_(half == DType::f16 ? loops.f16_from_f32 : loops.bf16_from_f32) {}

  Status run(Call& c) const override {
    constexpr int64_t kBlock = 2048;
    const int64_t n = c.in(0).count(), bytes = bits(c.in(0).dtype()) / 8;
    const std::byte* const x = c.in(0).data();
    auto* const y = reinterpret_cast<uint16_t*>(c.out(0).mutable_data());
    split(*c.team, n, n * (bytes + 2), kBlock, [&](int64_t begin, int64_t end) {
      Team alone;
      alignas(64) float wide[kBlock];
      for (int64_t i = begin; i < end; i += kBlock) {
        const int64_t count = std::min(kBlock, end - i);
        to_f32_.run(loops_, alone, x + i * bytes, reinterpret_cast<std::byte*>(wide), count);
        narrow_(wide, y + i, static_cast<size_t>(count));
      }
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  const CastPair& to_f32_;
  simd::ConvertF32ToHalf* narrow_;
};

/// To the type it has: the bytes.
class SameType : public Kernel {
 public:
  bool in_place(size_t) const override { return true; }
  Status run(Call& c) const override {
    const int64_t bytes = c.in(0).bytes();
    if (c.in(0).data() != c.out(0).data())
      copy_runs(*c.team, c.in(0).data(), bytes, c.out(0).mutable_data(), bytes, 1, bytes);
    return {};
  }
};

const CastPair* pair_of(DType from, DType to) {
  const auto* at = std::find_if(std::begin(kCasts), std::end(kCasts),
                                [&](const CastPair& p) { return p.from == from && p.to == to; });
  return at == std::end(kCasts) ? nullptr : at;
}

/// Whether float32 holds what these whole numbers become when they are rounded once: all of them, or those that
/// float16 does not make infinite.
bool rounds_once(DType from, DType half) {
  const bool large = from == DType::i32 || from == DType::i64;
  return (is_int(from) || from == DType::boolean) && (!large || half == DType::f16);
}

Result<std::unique_ptr<Kernel>> make_cast(const KernelRequest& r) {
  const auto& a = r.attr<CastAttrs>();
  const DType from = r.in[0].dtype, to = r.out[0].dtype;
  if (from == to && !is_object(from)) return made<SameType>();
  if (a.rounding != CastRounding::truncate && is_real(from) && is_int(to)) return nullptr;
  if (const CastPair* p = pair_of(from, to)) return made<CastKernel>(r.loops, p->run);
  const CastPair* const to_f32 = pair_of(from, DType::f32);
  if (to_f32 && (to == DType::f16 || to == DType::bf16) && rounds_once(from, to))
    return made<HalfCast>(r.loops, *to_f32, to);
  return nullptr;
}

constexpr KernelDef kCastKernels[] = {{"cast", "cast", make_cast}};

}  // namespace

std::span<const KernelDef> cast_kernels() { return built<kCastKernels>(); }

}  // namespace nnex::kernels
