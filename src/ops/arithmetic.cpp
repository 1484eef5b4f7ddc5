// Arithmetic of two operands and more.

#include "ops/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/failure.h"
#include "ops/elementwise.h"
#include "ops/infer_call.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Kernels of two operands. Integers wrap; nothing traps.

struct Add {
  float operator()(float x, float y) const { return x + y; }
  double operator()(double x, double y) const { return x + y; }
  int64_t operator()(int64_t x, int64_t y) const { return wrap_add(x, y); }
  uint64_t operator()(uint64_t x, uint64_t y) const { return x + y; }
  Dim operator()(const Dim& x, const Dim& y) const { return x + y; }
};

struct Sub {
  float operator()(float x, float y) const { return x - y; }
  double operator()(double x, double y) const { return x - y; }
  int64_t operator()(int64_t x, int64_t y) const { return wrap_sub(x, y); }
  uint64_t operator()(uint64_t x, uint64_t y) const { return x - y; }
  Dim operator()(const Dim& x, const Dim& y) const { return x - y; }
};

struct Mul {
  float operator()(float x, float y) const { return x * y; }
  double operator()(double x, double y) const { return x * y; }
  int64_t operator()(int64_t x, int64_t y) const { return wrap_mul(x, y); }
  uint64_t operator()(uint64_t x, uint64_t y) const { return x * y; }
  Dim operator()(const Dim& x, const Dim& y) const { return x * y; }
};

struct Div {
  float operator()(float x, float y) const { return x / y; }
  double operator()(double x, double y) const { return x / y; }
  int64_t operator()(int64_t x, int64_t y) const { return y == 0 ? 0 : y == -1 ? wrap_sub(0, x) : x / y; }
  uint64_t operator()(uint64_t x, uint64_t y) const { return y == 0 ? 0 : x / y; }
  Dim operator()(const Dim& x, const Dim& y) const { return y == Dim(0) ? Dim(0) : trunc_div(x, y); }
};

struct FloorMod {
  template <class T>
  static T real(T x, T y) {
    T r = std::fmod(x, y);
    if (r == 0) return std::copysign(r, y);
    return (r < 0) != (y < 0) ? r + y : r;
  }
  float operator()(float x, float y) const { return real(x, y); }
  double operator()(double x, double y) const { return real(x, y); }
  int64_t operator()(int64_t x, int64_t y) const {
    if (y == 0 || y == -1) return 0;
    const int64_t r = x % y;
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  }
  uint64_t operator()(uint64_t x, uint64_t y) const { return y == 0 ? 0 : x % y; }
  Dim operator()(const Dim& x, const Dim& y) const { return y == Dim(0) ? Dim(0) : floor_mod(x, y); }
};

struct TruncateMod {
  float operator()(float x, float y) const { return std::fmod(x, y); }
  double operator()(double x, double y) const { return std::fmod(x, y); }
  int64_t operator()(int64_t x, int64_t y) const { return y == 0 || y == -1 ? 0 : x % y; }
  uint64_t operator()(uint64_t x, uint64_t y) const { return y == 0 ? 0 : x % y; }
  Dim operator()(const Dim& x, const Dim& y) const { return y == Dim(0) ? Dim(0) : x - trunc_div(x, y) * y; }
};

/// Of equal operands the second, which decides the sign of a zero; a NaN y passes either way.
template <bool nan_passes>
struct Min {
  template <class T>
  T operator()(T x, T y) const {
    return x < y || (nan_passes && x != x) ? x : y;
  }
  Dim operator()(const Dim& x, const Dim& y) const { return min(x, y); }
};
template <bool nan_passes>
struct Max {
  template <class T>
  T operator()(T x, T y) const {
    return x > y || (nan_passes && x != x) ? x : y;
  }
  Dim operator()(const Dim& x, const Dim& y) const { return max(x, y); }
};

template <class T, class F>
void map_inputs(Call& c, F f) {
  map_two(c.in<T>(0), c.shape(0), c.in<T>(1), c.shape(1), c.out<T>(0), c.out(0).shape(), f);
}

/// The function of two operands for either rule on NaN.
template <template <bool> class F>
constexpr Reference by_nans() {
  return typed<float, double, int64_t, uint64_t, Dim>([]<class T>(Call& c) -> Status {
    if (c.attr<NansAttrs>().nans == Nans::pass)
      map_inputs<T>(c, F<true>{});
    else
      map_inputs<T>(c, F<false>{});
    return {};
  });
}

template <class T>
Status run_mod(Call& c) {
  auto run = [&](auto f) { map_inputs<T>(c, f); };
  if (c.attr<ModAttrs>().division == Division::floor)
    run(FloorMod{});
  else
    run(TruncateMod{});
  return {};
}

/// x to an unsigned power by repeated multiplication, wrapped.
uint64_t power(uint64_t x, uint64_t n) {
  uint64_t y = 1;
  for (; n; n >>= 1, x *= x)
    if (n & 1) y *= x;
  return y;
}

/// x to a signed power: below zero what 1 / x^-n truncates to.
int64_t power(int64_t x, int64_t n) {
  if (n >= 0) return static_cast<int64_t>(power(static_cast<uint64_t>(x), static_cast<uint64_t>(n)));
  if (x == 1) return 1;
  if (x == -1) return n % 2 ? -1 : 1;
  return 0;
}

/// An integer from a double: truncated, saturated, NaN is 0.
template <class T>
T saturated(double x) {
  if (x != x) return 0;
  if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(x);
}

/// Elements of input i as type `to`, in `held` when they are of another.
Result<const Tensor*> as_type(const Call& c, size_t i, DType to, Tensor& held) {
  if (c.in(i).dtype() == to) return &c.in(i);
  NNEX_ASSIGN(held, convert(c.in(i), to));
  return &held;
}

/// Float x: through double, rounded once. Integer x, float y: in double, then cast. Both integers: multiplied.
template <class T>
Status run_pow(Call& c) {
  Tensor held;
  const DType given = c.in(1).dtype();
  auto run = [&](auto zero, auto f) -> Status {
    using U = decltype(zero);
    NNEX_ASSIGN(const Tensor* y, as_type(c, 1, dtype_for<U>, held));
    map_two(c.in<T>(0), c.shape(0), y->as<U>(), y->shape(), c.out<T>(0), c.out(0).shape(), f);
    return {};
  };
  if constexpr (std::is_floating_point_v<T>) {
    return run(double{}, [](T x, double y) { return static_cast<T>(std::pow(static_cast<double>(x), y)); });
  } else {
    if (is_real(given))
      return run(double{}, [](T x, double y) { return saturated<T>(std::pow(static_cast<double>(x), y)); });
    if (given == DType::u64)
      return run(uint64_t{}, [](T x, uint64_t y) { return static_cast<T>(power(static_cast<uint64_t>(x), y)); });
    if constexpr (std::is_signed_v<T>)
      return run(int64_t{}, [](T x, int64_t y) { return power(x, y); });
    else
      return run(int64_t{}, [](T x, int64_t y) {
        return y >= 0 ? power(x, static_cast<uint64_t>(y)) : static_cast<uint64_t>(x == 1);
      });
  }
}

/// Left to right; one operand's own extents stretch to the result's.
template <class T>
Status run_add_n(Call& c) {
  auto y = c.out<T>(0);
  const Shape& shape = c.out(0).shape();
  if (c.inputs() == 0) {
    std::fill(y.begin(), y.end(), T(0));
    return {};
  }
  BroadcastWalk<1>(shape, {&c.shape(0)}).rows([&](int64_t at, const auto& from, int64_t n, const auto& step) {
    for (int64_t i = 0; i < n; ++i)
      y[static_cast<size_t>(at + i)] = c.in<T>(0)[static_cast<size_t>(from[0] + i * step[0])];
  });
  for (size_t k = 1; k < c.inputs(); ++k)
    map_two(std::span<const T>(y), shape, c.in<T>(k), c.shape(k), y, shape, Add{});
  return {};
}

Status infer_add_n(InferCall& c) {
  if (c.inputs() > 0) return broadcast_shape(c);
  c.result(0, DType::f32, Dims{});
  return {};
}

/// A limit that is absent does not limit; nor does a NaN, and NaN in x stays, where NaN passes. Else it is max(min(x,
/// high), low) or min(max(x, low), high) by comparisons.
template <class T>
Status run_clamp(Call& c) {
  static const Shape kScalar{};
  const bool high_wins = c.attr<ClampAttrs>().crossed == Crossed::high;
  const bool compare = c.attr<ClampAttrs>().nans == Nans::compare;
  const bool has_low = c.has(1), has_high = c.has(2);
  auto x = c.in<T>(0);
  auto y = c.out<T>(0);
  auto low = has_low ? c.in<T>(1) : std::span<const T>{}, high = has_high ? c.in<T>(2) : std::span<const T>{};
  const Shape &low_shape = has_low ? c.shape(1) : kScalar, &high_shape = has_high ? c.shape(2) : kScalar;
  auto raise = [=](T v, T limit) { return limit > v || (compare && !(v > limit)) ? limit : v; };
  auto lower = [=](T v, T limit) { return limit < v || (compare && !(v < limit)) ? limit : v; };
  BroadcastWalk<3>(c.out(0).shape(), {&c.shape(0), &low_shape, &high_shape})
      .rows([&](int64_t at, const auto& from, int64_t n, const auto& step) {
        const T* a = x.data() + from[0];
        const T* b = has_low ? low.data() + from[1] : nullptr;
        const T* d = has_high ? high.data() + from[2] : nullptr;
        T* out = y.data() + at;
        for (int64_t i = 0; i < n; ++i) {
          T v = a[i * step[0]];
          if (b && high_wins) v = raise(v, b[i * step[1]]);
          if (d) v = lower(v, d[i * step[2]]);
          if (b && !high_wins) v = raise(v, b[i * step[1]]);
          out[i] = v;
        }
      });
  return {};
}

template <>
Status run_clamp<Dim>(Call& c) {
  const bool high_wins = c.attr<ClampAttrs>().crossed == Crossed::high;
  for (size_t i = 0; i < c.inputs(); ++i)
    if (c.has(i) && c.in(i).count() != 1 && !(c.shape(i) == c.out(0).shape()))
      return c.fault("formulas are clamped without broadcast only");
  auto at = [&](size_t input, size_t i) {
    return c.in(input).count() == 1 ? c.in<Dim>(input)[0] : c.in<Dim>(input)[i];
  };
  auto y = c.out<Dim>(0);
  for (size_t i = 0; i < y.size(); ++i) {
    Dim v = at(0, i);
    if (c.has(1) && high_wins) v = max(v, at(1, i));
    if (c.has(2)) v = min(v, at(2, i));
    if (c.has(1) && !high_wins) v = max(v, at(1, i));
    y[i] = v;
  }
  return {};
}

// ---- Codecs

Result<AttrValue> division_from_fmod(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(std::string(*i ? "truncate" : "floor"));
  return failure(Code::invalid_model, "found {}; needed 0 or 1", text(v));
}
Result<AttrValue> fmod_from_division(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  return AttrValue(int64_t{s && *s == "truncate"});
}
const Codec kFmod = {"fmod", division_from_fmod, fmod_from_division};

/// The remainder has the divisor's sign, or the dividend's.
void mod_interval(IntervalCall& c) {
  const auto x = c.in(0), y = c.in(1);
  if (!x || !y) return;
  const int64_t max = std::max<int64_t>(y->magnitude() - 1, 0);
  const Interval& sign = c.attr<ModAttrs>().division == Division::floor ? *y : *x;
  c.result({sign.low < 0 ? -max : 0, sign.high > 0 ? max : 0});
}

// ---- Entries

/// A row of two operands of one type that broadcast.
constexpr OpRow two_operands(std::string_view name, std::string_view summary, std::string_view source,
                             Reference reference, List<SpellingRow, 6> spelled, PrecisionFn precision = nullptr,
                             const AttrType& attrs = {}) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.attrs = attrs;
  op.precision = precision;
  op.inputs = {{"x", kN}, {"y", same_type_as("x")}};
  op.outputs = {{"z", same_type_as("x")}};
  op.infer = broadcast_shape;
  op.reference = reference;
  op.spelled = spelled;
  op.elementwise = true;
  return op;
}

template <class F>
constexpr Reference number_reference() {
  return binary<F, float, double, int64_t, uint64_t, Dim>();
}

constexpr AttrType kNans = attrs_of<NansAttrs>({field<&NansAttrs::nans>("nans", "What a NaN in x gives.")});

constexpr OpRow kArithmeticOps[] = {
    in_bytes(
        ByteRole::sum,
        in_intervals(
            sum_interval,
            two_operands("add", "x + y; integers wrap.", "NNEF 1.0.5 add; ONNX Add-14; WebNN add(); CVM broadcast_add",
                         number_reference<Add>(),
                         {{nnef, "add"}, {onnx, "Add"}, {webnn, "add"}, {cvm, "broadcast_add"}, {cvm, "elemwise_add"}},
                         sum_precision))),
    in_intervals(
        difference_interval,
        two_operands("sub", "x - y; integers wrap.", "NNEF 1.0.5 sub; ONNX Sub-14; WebNN sub(); CVM broadcast_sub",
                     number_reference<Sub>(),
                     {{nnef, "sub"}, {onnx, "Sub"}, {webnn, "sub"}, {cvm, "broadcast_sub"}, {cvm, "elemwise_sub"}},
                     sum_precision)),
    in_intervals(
        product_interval,
        two_operands("mul", "x y; integers wrap.", "NNEF 1.0.5 mul; ONNX Mul-14; WebNN mul(); CVM broadcast_mul",
                     number_reference<Mul>(), {{nnef, "mul"}, {onnx, "Mul"}, {webnn, "mul"}, {cvm, "broadcast_mul"}},
                     product_precision)),
    in_intervals(quotient_interval,
                 two_operands("div", "x / y; integers truncate toward 0, x / 0 = 0.",
                              "NNEF 1.0.5 div; ONNX Div-14; WebNN div(); CVM broadcast_div", number_reference<Div>(),
                              {{nnef, "div"}, {onnx, "Div"}, {webnn, "div"}, {cvm, "broadcast_div"}}, keeps_precision)),
    in_intervals(minimum_interval,
                 two_operands("min", "The smaller of both; NaN wins, or only one in y.",
                              "NNEF 1.0.5 min; ONNX Min-13; WebNN min()", by_nans<Min>(),
                              {{nnef, "min", {}, 1, "", {{"nans", "'compare'"}}}, {onnx, "Min"}, {webnn, "min"}},
                              nullptr, kNans)),
    in_intervals(
        maximum_interval,
        two_operands(
            "max", "The larger of both; NaN wins, or only one in y.",
            "NNEF 1.0.5 max; ONNX Max-13; WebNN max(); CVM broadcast_max", by_nans<Max>(),
            {{nnef, "max", {}, 1, "", {{"nans", "'compare'"}}}, {onnx, "Max"}, {webnn, "max"}, {cvm, "broadcast_max"}},
            widest_precision, kNans)),
    {
        .name = "mod",
        .summary = "The remainder of x / y; 0 for an integer y of 0.",
        .source = "ONNX Mod-13",
        .inputs = {{"x", kN}, {"y", same_type_as("x")}},
        .outputs = {{"z", same_type_as("x")}},
        .attrs = attrs_of<ModAttrs>({field<&ModAttrs::division>("division", "How the quotient is rounded.")}),
        .infer = broadcast_shape,
        .interval = mod_interval,
        .reference =
            typed<float, double, int64_t, uint64_t, Dim>([]<class T>(Call& c) -> Status { return run_mod<T>(c); }),
        .spelled = {{onnx, "Mod", {{"division", "fmod", &kFmod}}, 10}},
        .elementwise = true,
    },
    {
        .name = "pow",
        .summary = "x to the power y, of x's type.",
        .source = "NNEF 1.0.5 pow; ONNX Pow-15; WebNN pow()",
        .inputs = {{"x", kN}, {"y", kN}},
        .outputs = {{"z", same_type_as("x")}},
        .infer = broadcast_shape,
        .reference = typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_pow<T>(c); }),
        .spelled = {{nnef, "pow"}, {onnx, "Pow"}, {webnn, "pow"}},
        .elementwise = true,
    },
    {
        .name = "add_n",
        .summary = "The sum of all items, added from left to right; 0 without items.",
        .source = "NNEF 1.0.5 add_n; ONNX Sum-13",
        .inputs = {{"x", kN, Arity::variadic}},
        .outputs = {{"y", same_type_as("x")}},
        .infer = infer_add_n,
        .reference =
            typed<float, double, int64_t, uint64_t>([]<class T>(Call& c) -> Status { return run_add_n<T>(c); }),
        .spelled = {{nnef, "add_n"}, {onnx, "Sum"}},
        .elementwise = true,
    },
    {
        .name = "clamp",
        .summary = "x, but not below low and not above high; an absent limit is none.",
        .source = "NNEF 1.0.5 clamp; ONNX Clip-13; WebNN clamp(); CVM clip",
        .inputs = {{"x", kN},
                   {"low", same_type_as("x"), Arity::optional},
                   {"high", same_type_as("x"), Arity::optional}},
        .outputs = {{"y", same_type_as("x")}},
        .attrs = attrs_of<ClampAttrs>(
            {field<&ClampAttrs::crossed>("crossed", "The limit that wins where low > high."),
             field<&ClampAttrs::nans>("nans", "What a NaN gives; where it passes, a NaN limit is none.")}),
        .infer = broadcast_shape,
        .precision = clamp_precision,
        .interval = clamp_interval,
        .reference =
            typed<float, double, int64_t, uint64_t, Dim>([]<class T>(Call& c) -> Status { return run_clamp<T>(c); }),
        .spelled = {{nnef, "clamp", {}, 1, "", {{"nans", "'compare'"}}},
                    {onnx, "Clip", {}, 11, "", {{"crossed", "'high'"}}},
                    {onnx, "Clip", {{"low", "min"}, {"high", "max"}}, 1, "", {{"crossed", "'high'"}}},
                    {webnn, "clamp", {{"low", "minValue"}, {"high", "maxValue"}}},
                    {cvm, "clip", {{"low", "a_min"}, {"high", "a_max"}}}},
        .elementwise = true,
        .in_bytes = ByteRole::limit,
    },
};
}  // namespace

std::span<const OpDef> arithmetic_ops() { return stored<kArithmeticOps>(); }

}  // namespace nnex
