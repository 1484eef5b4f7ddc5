// Element-wise nodes on whole numbers and on doubles: the reference's bytes, but for exp, tanh and sigmoid of doubles,
// which are within 3 ulp.

#include <limits>
#include <optional>

#include "base/built.h"
#include "base/split.h"
#include "kernels/elementwise/whole.h"
#include "kernels/kernel.h"
#include "kernels/simd/loops.h"
#include "ops/arithmetic.h"
#include "ops/compare.h"

namespace nnex::kernels {
namespace {

constexpr bool kHalves = runs_on(DType::f16) || runs_on(DType::bf16);

/// Calls use(T()) with the C++ type of whole numbers and doubles; false: another type, or one that is left out.
template <class F>
bool with_type(DType type, F use) {
  switch (type) {
    case DType::i8:
      return runs_on(DType::i8) && (use(int8_t()), true);
    case DType::i16:
      return runs_on(DType::i16) && (use(int16_t()), true);
    case DType::i32:
      return runs_on(DType::i32) && (use(int32_t()), true);
    case DType::i64:
      return runs_on(DType::i64) && (use(int64_t()), true);
    case DType::u8:
      return runs_on(DType::u8) && (use(uint8_t()), true);
    case DType::u16:
      return runs_on(DType::u16) && (use(uint16_t()), true);
    case DType::u32:
      return runs_on(DType::u32) && (use(uint32_t()), true);
    case DType::u64:
      return runs_on(DType::u64) && (use(uint64_t()), true);
    case DType::f64:
      return runs_on(DType::f64) && (use(double()), true);
    default:
      return false;
  }
}

// ---- Two operands

template <class T>
class WholeBinaryKernel : public Kernel {
 public:
  WholeBinaryKernel(WholeBinary kind, const Nest& nest, const KernelRequest& r)
      : loops_(r.loops), kind_(kind), nest_(nest) {
    for (size_t i : {0, 1}) dense_[i] = r.in[i].shape.count() == r.out[0].shape.count();
  }
  bool in_place(size_t input) const override { return dense_[input]; }
  Status run(Call& c) const override {
    whole_broadcast(loops_, *c.team, kind_, nest_, c.in<T>(0).data(), c.in<T>(1).data(), c.out<T>(0).data());
    return {};
  }

 private:
  const simd::Loops& loops_;
  WholeBinary kind_;
  Nest nest_;
  bool dense_[2] = {};
};

Result<std::unique_ptr<Kernel>> whole_binary(const KernelRequest& r, WholeBinary kind) {
  const DType type = r.in[0].dtype;
  if (r.in[1].dtype != type || r.out[0].dtype != type) return nullptr;
  const std::span<const int64_t> shapes[] = {r.in[0].shape.extents(), r.in[1].shape.extents()};
  const auto nest = broadcast_nest(r.out[0].shape.extents(), shapes);
  if (!nest) return nullptr;
  Result<std::unique_ptr<Kernel>> out = nullptr;
  with_type(type, [&]<class T>(T) { out = made<WholeBinaryKernel<T>>(kind, *nest, r); });
  return out;
}

template <WholeBinary kind>
Result<std::unique_ptr<Kernel>> make_whole_binary(const KernelRequest& r) {
  return whole_binary(r, kind);
}

/// Of doubles, with one rule on NaN alone.
template <WholeBinary kind>
Result<std::unique_ptr<Kernel>> make_whole_extreme(const KernelRequest& r) {
  if (r.in[0].dtype == DType::f64 && r.attr<NansAttrs>().nans != Nans::pass) return nullptr;
  return whole_binary(r, kind);
}

Result<std::unique_ptr<Kernel>> make_whole_mod(const KernelRequest& r) {
  if (r.in[0].dtype == DType::f64) return nullptr;
  const bool floor = r.attr<ModAttrs>().division == Division::floor;
  return whole_binary(r, floor ? WholeBinary::floor_mod : WholeBinary::trunc_mod);
}

Result<std::unique_ptr<Kernel>> make_shift(const KernelRequest& r) {
  const bool left = r.attr<BitShiftAttrs>().direction == ShiftDirection::left;
  return whole_binary(r, left ? WholeBinary::shift_left : WholeBinary::shift_right);
}

class ModKernel : public Kernel {
 public:
  ModKernel(bool floor, const Nest& nest, const KernelRequest& r) : floor_(floor), nest_(nest) {
    for (size_t i : {0, 1}) dense_[i] = r.in[i].shape.count() == r.out[0].shape.count();
  }
  bool in_place(size_t input) const override { return dense_[input]; }
  Status run(Call& c) const override {
    mod_broadcast(*c.team, floor_, nest_, c.in<float>(0).data(), c.in<float>(1).data(), c.out<float>(0).data());
    return {};
  }

 private:
  bool floor_;
  Nest nest_;
  bool dense_[2] = {};
};

Result<std::unique_ptr<Kernel>> make_mod(const KernelRequest& r) {
  if (!r.all_f32()) return nullptr;
  const std::span<const int64_t> shapes[] = {r.in[0].shape.extents(), r.in[1].shape.extents()};
  const auto nest = broadcast_nest(r.out[0].shape.extents(), shapes);
  if (!nest) return nullptr;
  return made<ModKernel>(r.attr<ModAttrs>().division == Division::floor, *nest, r);
}

// ---- One operand

template <class T>
class WholeUnaryKernel : public Kernel {
 public:
  WholeUnaryKernel(const simd::Loops& loops, WholeUnary kind) : loops_(loops), kind_(kind) {}
  bool in_place(size_t) const override { return true; }
  Status run(Call& c) const override {
    whole_map(loops_, *c.team, kind_, c.in<T>(0).data(), c.out<T>(0).data(), c.in(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  WholeUnary kind_;
};

/// Of float16 and bfloat16, where the bits tell the answer.
class HalfUnaryKernel : public Kernel {
 public:
  HalfUnaryKernel(const simd::Loops& loops, WholeUnary kind, bool brain) : loops_(loops), kind_(kind), brain_(brain) {}
  bool in_place(size_t) const override { return true; }
  Status run(Call& c) const override {
    half_map(loops_, *c.team, kind_, brain_, reinterpret_cast<const uint16_t*>(c.in(0).data()),
             reinterpret_cast<uint16_t*>(c.out(0).mutable_data()), c.in(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  WholeUnary kind_;
  bool brain_;
};

template <WholeUnary kind>
Result<std::unique_ptr<Kernel>> make_half_unary(const KernelRequest& r) {
  const DType type = r.in[0].dtype;
  if (!kHalves || r.out[0].dtype != type || (type != DType::f16 && type != DType::bf16)) return nullptr;
  if constexpr (kind == WholeUnary::relu)
    if (r.attr<NansAttrs>().nans != Nans::pass) return nullptr;
  return made<HalfUnaryKernel>(r.loops, kind, type == DType::bf16);
}

template <WholeUnary kind>
Result<std::unique_ptr<Kernel>> make_whole_unary(const KernelRequest& r) {
  const DType type = r.in[0].dtype;
  if (r.out[0].dtype != type) return nullptr;
  if constexpr (kind == WholeUnary::relu)
    if (type == DType::f64 && r.attr<NansAttrs>().nans != Nans::pass) return nullptr;
  Result<std::unique_ptr<Kernel>> out = nullptr;
  with_type(type, [&]<class T>(T) { out = made<WholeUnaryKernel<T>>(r.loops, kind); });
  return out;
}

// ---- Functions of doubles

class DoubleKernel : public Kernel {
 public:
  DoubleKernel(const simd::Loops& loops, UnaryKind kind) : loops_(loops), kind_(kind) {}
  bool in_place(size_t) const override { return true; }
  Status run(Call& c) const override {
    const double* const x = c.in<double>(0).data();
    double* const y = c.out<double>(0).data();
    split(*c.team, c.in(0).count(), c.in(0).count() * 32, 64, [&](int64_t begin, int64_t end) {
      loops_.unary_f64(kind_, x + begin, y + begin, static_cast<size_t>(end - begin));
    });
    return {};
  }

 private:
  const simd::Loops& loops_;
  UnaryKind kind_;
};

template <UnaryKind kind>
Result<std::unique_ptr<Kernel>> make_double(const KernelRequest& r) {
  if (!runs_on(DType::f64) || r.in[0].dtype != DType::f64 || r.out[0].dtype != DType::f64) return nullptr;
  return made<DoubleKernel>(r.loops, kind);
}

// ---- Limits

/// Limits of one element each, read at the run.
template <class T>
class WholeClampKernel : public Kernel {
 public:
  WholeClampKernel(const simd::Loops& loops, bool low_wins) : loops_(loops), low_wins_(low_wins) {}
  bool in_place(size_t input) const override { return input == 0; }
  Status run(Call& c) const override {
    const T low = c.has(1) ? c.in<T>(1)[0] : std::numeric_limits<T>::min();
    const T high = c.has(2) ? c.in<T>(2)[0] : std::numeric_limits<T>::max();
    whole_clamp(loops_, *c.team, low, high, low_wins_, c.in<T>(0).data(), c.out<T>(0).data(), c.in(0).count());
    return {};
  }

 private:
  const simd::Loops& loops_;
  bool low_wins_;
};

Result<std::unique_ptr<Kernel>> make_whole_clamp(const KernelRequest& r) {
  const DType type = r.in[0].dtype;
  if (r.out[0].dtype != type || r.out[0].shape.count() != r.in[0].shape.count()) return nullptr;
  for (size_t i : {1, 2})
    if (r.has(i) && (r.in[i].dtype != type || r.in[i].shape.count() != 1)) return nullptr;
  Result<std::unique_ptr<Kernel>> out = nullptr;
  with_type(type, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>)
      out = made<WholeClampKernel<T>>(r.loops, r.attr<ClampAttrs>().crossed == Crossed::low);
  });
  return out;
}

constexpr KernelDef kWholeKernels[] = {{"add", "map2_whole", make_whole_binary<WholeBinary::add>},
                                       {"sub", "map2_whole", make_whole_binary<WholeBinary::sub>},
                                       {"mul", "map2_whole", make_whole_binary<WholeBinary::mul>},
                                       {"div", "map2_whole", make_whole_binary<WholeBinary::div>},
                                       {"mod", "map2_whole", make_whole_mod},
                                       {"mod", "mod_f32", make_mod},
                                       {"min", "map2_whole", make_whole_extreme<WholeBinary::min>},
                                       {"max", "map2_whole", make_whole_extreme<WholeBinary::max>},
                                       {"bitwise_and", "map2_whole", make_whole_binary<WholeBinary::bit_and>},
                                       {"bitwise_or", "map2_whole", make_whole_binary<WholeBinary::bit_or>},
                                       {"bitwise_xor", "map2_whole", make_whole_binary<WholeBinary::bit_xor>},
                                       {"bit_shift", "map2_whole", make_shift},
                                       {"neg", "map_whole", make_whole_unary<WholeUnary::neg>},
                                       {"neg", "map_half", make_half_unary<WholeUnary::neg>},
                                       {"abs", "map_whole", make_whole_unary<WholeUnary::abs>},
                                       {"abs", "map_half", make_half_unary<WholeUnary::abs>},
                                       {"sign", "map_whole", make_whole_unary<WholeUnary::sign>},
                                       {"sign", "map_half", make_half_unary<WholeUnary::sign>},
                                       {"sqr", "map_whole", make_whole_unary<WholeUnary::square>},
                                       {"relu", "map_whole", make_whole_unary<WholeUnary::relu>},
                                       {"relu", "map_half", make_half_unary<WholeUnary::relu>},
                                       {"bitwise_not", "map_whole", make_whole_unary<WholeUnary::bit_not>},
                                       {"clamp", "map_whole", make_whole_clamp},
                                       {"sqrt", "map_f64", make_double<UnaryKind::sqrt>},
                                       {"exp", "map_f64", make_double<UnaryKind::exp>},
                                       {"tanh", "map_f64", make_double<UnaryKind::tanh>},
                                       {"sigmoid", "map_f64", make_double<UnaryKind::sigmoid>}};

}  // namespace

std::span<const KernelDef> whole_kernels() { return built<kWholeKernels>(); }

}  // namespace nnex::kernels
