// Reductions of axes to one element.

#include "ops/reduce.h"

#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/failure.h"
#include "ops/answer.h"
#include "ops/codecs.h"
#include "ops/int_limits.h"
#include "ops/interval_call.h"
#include "ops/precision_call.h"
#include "ops/reduction.h"
#include "ops/stored.h"

namespace nnex {
namespace {

template <class A>
ReduceRule rule_of(const A& a) {
  return {a.keepdims, a.when_empty == WhenEmpty::all, a.to_end};
}

template <class A>
Status infer_reduce(InferCall& c) {
  NNEX_ASSIGN(MaybeDims out, reduced_dims(c, 0, 1, rule_of(c.attr<A>())));
  c.result(0, std::move(out));
  return {};
}

// ---- Folds: each makes one element of the set it is given.

template <class T>
constexpr bool kFloating = std::is_floating_point_v<T>;

template <class T>
struct Arithmetic {
  static T add(const T& a, const T& b) { return a + b; }
  static T mul(const T& a, const T& b) { return a * b; }
};
template <>
struct Arithmetic<int64_t> {
  static int64_t add(int64_t a, int64_t b) { return wrap_add(a, b); }
  static int64_t mul(int64_t a, int64_t b) { return wrap_mul(a, b); }
};

/// The sum of term(x): pairwise for floats, wrapped for integers.
template <class T, class F>
T sum(const ElementSet<T>& set, const F& term) {
  if constexpr (kFloating<T>) return pairwise_sum<T>(set, 0, set.n, term);
  T s(0);
  for (int64_t i = 0; i < set.n; ++i) s = Arithmetic<T>::add(s, term(set[i]));
  return s;
}

/// What the elements are, as opposed to what stands in for them.
template <class T>
DType real_type(const Call& c) {
  return c.narrowed == DType::none ? dtype_for<T> : c.narrowed;
}

struct Sum {
  template <class T>
  static T of(const ElementSet<T>& set, const Call&) {
    return sum(set, [](const T& x) { return x; });
  }
};

struct Mean {
  template <class T>
  static T of(const ElementSet<T>& set, const Call& c) {
    const T total = Sum::of(set, c);
    if constexpr (kFloating<T>) return total / static_cast<T>(set.n);
    return set.n ? total / static_cast<T>(set.n) : T(0);
  }
};

struct Product {
  template <class T>
  static T of(const ElementSet<T>& set, const Call&) {
    T p(1);
    for (int64_t i = 0; i < set.n; ++i) p = Arithmetic<T>::mul(p, set[i]);
    return p;
  }
};

struct SumOfAbs {
  template <class T>
  static T of(const ElementSet<T>& set, const Call&) {
    return sum(set, [](T x) -> T {
      if constexpr (std::is_same_v<T, int64_t>) return x < 0 ? wrap_sub(0, x) : x;
      if constexpr (kFloating<T>) return std::fabs(x);
      return x;
    });
  }
};

struct SumOfSquares {
  template <class T>
  static T of(const ElementSet<T>& set, const Call&) {
    return sum(set, [](T x) { return Arithmetic<T>::mul(x, x); });
  }
};

/// A double as T: rounded, or truncated and saturated.
template <class T>
T from_double(double x, const Call& c) {
  if constexpr (kFloating<T>)
    return static_cast<T>(x);
  else
    return saturated_int<T>(x, real_type<T>(c));
}

struct RootOfSquares {
  template <class T>
  static T of(const ElementSet<T>& set, const Call& c) {
    if constexpr (kFloating<T>) return std::sqrt(SumOfSquares::of(set, c));
    return from_double<T>(std::sqrt(pairwise_sum<double>(set, 0, set.n,
                                                         [](T x) {
                                                           const double v = static_cast<double>(x);
                                                           return v * v;
                                                         })),
                          c);
  }
};

struct LogOfSum {
  template <class T>
  static T of(const ElementSet<T>& set, const Call& c) {
    return from_double<T>(std::log(static_cast<double>(Sum::of(set, c))), c);
  }
};

/// Shifted by the maximum, where that is finite.
struct LogOfSumOfExp {
  template <class T>
  static T of(const ElementSet<T>& set, const Call& c) {
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < set.n; ++i) {
      const double v = static_cast<double>(set[i]);
      if (v > top || v != v) top = v;
    }
    const double shift = std::isfinite(top) ? top : 0;
    const double s = pairwise_sum<double>(set, 0, set.n, [=](T x) { return std::exp(static_cast<double>(x) - shift); });
    return from_double<T>(shift + std::log(s), c);
  }
};

template <class F, class... T>
constexpr Reference folding() {
  return typed<T...>([]<class E>(Call& c) -> Status {
    NNEX_ASSIGN(Reduction r, reduction(c, 0, 1, rule_of(c.attr<ReduceAttrs>())));
    NNEX_ASSIGN(Tensor * out, c.make(0, dtype_for<E>, r.result()));
    auto y = out->mutable_as<E>();
    r.each(c.in<E>(0), [&](int64_t o, const ElementSet<E>& set) { y[static_cast<size_t>(o)] = F::of(set, c); });
    return {};
  });
}
template <class F>
constexpr Reference folding_numbers() {
  return folding<F, float, double, int64_t, uint64_t>();
}

// ---- Extremes

/// Where a maximum (or minimum) over nothing starts: the end of the real type's range.
template <class T, bool largest>
T start(const Call& c) {
  if constexpr (kFloating<T>) {
    const T end = std::numeric_limits<T>::infinity();
    return largest ? -end : end;
  } else {
    const IntLimits r = int_limits(real_type<T>(c));
    return largest ? static_cast<T>(r.low) : static_cast<T>(r.high);
  }
}

/// A NaN wins, and stays.
template <class T, bool largest>
T better(T best, T x) {
  return (largest ? x > best : x < best) || x != x ? x : best;
}

template <class T, bool largest>
Status run_extreme(Call& c) {
  const auto& a = c.attr<ExtremeAttrs>();
  NNEX_ASSIGN(Reduction r, reduction(c, 0, 1, rule_of(a)));
  NNEX_ASSIGN(Tensor * out, c.make(0, dtype_for<T>, r.result()));
  auto y = out->mutable_as<T>();
  T first = start<T, largest>(c);
  if (a.initial) {
    if constexpr (kFloating<T>)
      first = static_cast<T>(*a.initial);
    else
      first = saturated_int<T>(*a.initial, real_type<T>(c));
  }
  r.each(c.in<T>(0), [&](int64_t o, const ElementSet<T>& set) {
    T best = first;
    for (int64_t i = 0; i < set.n; ++i) best = better<T, largest>(best, set[i]);
    y[static_cast<size_t>(o)] = best;
  });
  return {};
}

template <bool largest>
Status extreme_of_formulas(Call& c) {
  const auto& a = c.attr<ExtremeAttrs>();
  NNEX_ASSIGN(Reduction r, reduction(c, 0, 1, rule_of(a)));
  NNEX_ASSIGN(Tensor * out, c.make(0, kDimType, r.result()));
  if (r.set_size() == 0 || a.initial) return c.fault("no formula for an extreme over nothing");
  auto y = out->mutable_as<Dim>();
  r.each(c.in<Dim>(0), [&](int64_t o, const ElementSet<Dim>& set) {
    Dim best = set[0];
    for (int64_t i = 1; i < set.n; ++i) best = largest ? max(best, set[i]) : min(best, set[i]);
    y[static_cast<size_t>(o)] = best;
  });
  return {};
}

template <bool largest>
constexpr Reference extreme() {
  return typed<float, double, int64_t, uint64_t, int32_t, uint8_t, Dim>([]<class T>(Call& c) -> Status {
    if constexpr (std::is_same_v<T, Dim>)
      return extreme_of_formulas<largest>(c);
    else
      return run_extreme<T, largest>(c);
  });
}

// ---- Truth

template <bool all>
Status run_truth_reduce(Call& c) {
  const auto& a = c.attr<TruthReduceAttrs>();
  Tensor held;
  NNEX_ASSIGN(auto x, truth_of(c, 0, held));
  NNEX_ASSIGN(Reduction r, reduction(c, 0, 1, rule_of(a)));
  NNEX_TRY(c.make(0, a.result, r.result()));
  return write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    r.each(x, [&](int64_t o, const ElementSet<uint8_t>& set) {
      bool answer = all;
      for (int64_t i = 0; i < set.n && answer == all; ++i) answer = set[i] != 0;
      y[static_cast<size_t>(o)] = answer;
    });
    return {};
  });
}

// ---- Moments

ReduceRule rule_of(const MomentsAttrs& a) { return {a.keepdims, false, a.to_end}; }

Status infer_moments(InferCall& c) {
  NNEX_ASSIGN(MaybeDims out, reduced_dims(c, 0, 1, rule_of(c.attr<MomentsAttrs>())));
  c.result(0, out);
  c.result(1, std::move(out));
  return {};
}

template <class T>
Status run_moments(Call& c) {
  NNEX_ASSIGN(Reduction r, reduction(c, 0, 1, rule_of(c.attr<MomentsAttrs>())));
  Tensor* mean_out = nullptr;
  Tensor* variance_out = nullptr;
  if (c.wants(0)) {
    NNEX_ASSIGN(mean_out, c.make(0, dtype_for<T>, r.result()));
  }
  if (c.wants(1)) {
    NNEX_ASSIGN(variance_out, c.make(1, dtype_for<T>, r.result()));
  }
  r.each(c.in<T>(0), [&](int64_t o, const ElementSet<T>& set) {
    const T n = static_cast<T>(set.n);
    const T mean = pairwise_sum<T>(set, 0, set.n, [](T x) { return x; }) / n;
    if (mean_out) mean_out->mutable_as<T>()[static_cast<size_t>(o)] = mean;
    if (!variance_out) return;
    const T squares = pairwise_sum<T>(set, 0, set.n, [=](T x) { return (x - mean) * (x - mean); });
    variance_out->mutable_as<T>()[static_cast<size_t>(o)] = squares / n;
  });
  return {};
}

// ---- Codecs

/// ONNX noop_with_empty_axes: 1 leaves x alone, 0 reduces everything.
Result<AttrValue> when_empty_from_noop(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(std::string(*i ? "none" : "all"));
  return failure(Code::invalid_model, "found {}; needed 0 or 1", text(v));
}
Result<AttrValue> noop_from_when_empty(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  return AttrValue(int64_t{s && *s == "none"});
}
const Codec kNoop = {"noop_with_empty_axes", when_empty_from_noop, noop_from_when_empty};

/// A start of 0 needs no bits of its own.
Status max_reduce_precision(PrecisionCall& c) {
  const auto& a = c.attr<ExtremeAttrs>();
  if (a.initial && *a.initial != 0) return c.error("initial is {}; needed 0 or none", *a.initial);
  return keeps_precision(c);
}

/// Elements of x and the number that takes part in every set. Over nothing the result is the end of the type's range.
template <bool kMax>
void extreme_interval(IntervalCall& c) {
  const auto x = c.in(0);
  const auto from = c.shape(0);
  const auto& initial = c.attr<ExtremeAttrs>().initial;
  if (!x || !from || from->count() == 0 || (initial && *initial != 0)) return;
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  c.result(!initial ? *x : kMax ? clamped(*x, 0, kEnd) : clamped(*x, -kEnd, 0));
}

// ---- Entries

template <class A>
constexpr AttrType kReduceFields =
    attrs_of<A>({field<&A::keepdims>("keepdims", "Reduced axes stay, with extent 1."),
                 field<&A::when_empty>("when_empty", "What an empty list of axes reduces."),
                 field<&A::to_end>("to_end", "The one axis listed, and every later one.")});

constexpr AttrType kExtremeFields =
    attrs_of<ExtremeAttrs>({field<&ExtremeAttrs::keepdims>("keepdims", "Reduced axes stay, with extent 1."),
                            field<&ExtremeAttrs::when_empty>("when_empty", "What an empty list of axes reduces."),
                            field<&ExtremeAttrs::to_end>("to_end", "The one axis listed, and every later one."),
                            field<&ExtremeAttrs::initial>("initial", "A number that takes part in every set.")});

constexpr AttrType kTruthReduceFields = attrs_of<TruthReduceAttrs>(
    {field<&TruthReduceAttrs::keepdims>("keepdims", "Reduced axes stay, with extent 1."),
     field<&TruthReduceAttrs::when_empty>("when_empty", "What an empty list of axes reduces."),
     field<&TruthReduceAttrs::to_end>("to_end", "The one axis listed, and every later one."),
     field<&TruthReduceAttrs::result>("result", "Element type of the answers, 0 and 1.")});

constexpr SpellingRow in_nnef(std::string_view name) { return {nnef, name}; }
/// ONNX since the opset that made `axes` an input.
constexpr SpellingRow in_onnx(std::string_view name, int port_since) {
  return {onnx,       name, {{"keepdims", "keepdims", &int_bool}, {"when_empty", "noop_with_empty_axes", &kNoop}},
          port_since, "",   {{"when_empty", "'all'"}}};
}
/// ONNX while `axes` was an attribute.
constexpr SpellingRow in_old_onnx(std::string_view name) {
  return {onnx, name, {{"axes", "axes"}, {"keepdims", "keepdims", &int_bool}}, 1, "", {{"when_empty", "'all'"}}};
}
constexpr SpellingRow in_webnn(std::string_view name) {
  return {webnn, name, {{"axes", "axes"}, {"keepdims", "keepDimensions"}}, 1, "", {{"keepdims", "false"}}};
}
constexpr SpellingRow in_cvm(std::string_view name) {
  return {cvm, name, {{"axes", "axis"}}, 1, "", {{"keepdims", "false"}}};
}

constexpr OpRow reduce_row(std::string_view name, std::string_view summary, std::string_view source, Types allowed,
                           const AttrType& attrs, InferFn infer, Reference reference, List<SpellingRow, 6> spelled,
                           std::string_view body = {}, PrecisionFn precision = nullptr) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", allowed},
               {.name = "axes", .type = kIndex, .arity = Arity::optional, .by_value = true, .doc = "Absent: all."}};
  op.outputs = {{"y", same_type_as("x")}};
  op.attrs = attrs;
  op.infer = infer;
  op.reference = reference;
  op.body = body;
  op.spelled = spelled;
  op.precision = precision;
  return op;
}

constexpr OpRow sum_like(std::string_view name, std::string_view summary, std::string_view source, Reference reference,
                         List<SpellingRow, 6> spelled, std::string_view body = {}, PrecisionFn precision = nullptr) {
  return reduce_row(name, summary, source, kN, kReduceFields<ReduceAttrs>, infer_reduce<ReduceAttrs>, reference,
                    spelled, body, precision);
}

constexpr OpRow truth_reduce(std::string_view name, std::string_view summary, std::string_view source,
                             Reference reference) {
  OpRow op = reduce_row(name, summary, source, kL, kTruthReduceFields, infer_reduce<TruthReduceAttrs>, reference,
                        {in_nnef(name)});
  op.outputs = {{"y", type_among(kB | kN, "result")}};
  return op;
}

constexpr OpRow kReduceOps[] = {
    in_layout(LayoutRole::reduced,
              in_intervals(reduced_sum_interval,
                           sum_like("sum_reduce", "The sum over axes; 0 over nothing, integers wrap.",
                                    "NNEF 1.0.5 sum_reduce; ONNX ReduceSum-13; WebNN reduceSum(); CVM sum",
                                    folding<Sum, float, double, int64_t, uint64_t, Dim>(),
                                    {in_nnef("sum_reduce"), in_onnx("ReduceSum", 13), in_old_onnx("ReduceSum"),
                                     in_webnn("reduceSum"), in_cvm("sum")},
                                    {}, reduced_sum_precision))),
    in_layout(LayoutRole::reduced,
              sum_like("mean_reduce", "The mean over axes; NaN over nothing, of integers truncated.",
                       "NNEF 1.0.5 mean_reduce; ONNX ReduceMean-18; WebNN reduceMean()", folding_numbers<Mean>(),
                       {in_nnef("mean_reduce"), in_onnx("ReduceMean", 18), in_old_onnx("ReduceMean"),
                        in_webnn("reduceMean")})),
    in_layout(LayoutRole::reduced,
              in_intervals(extreme_interval<true>,
                           reduce_row("max_reduce",
                                      "The maximum over axes; a NaN wins; over nothing -inf or the type's minimum.",
                                      "NNEF 1.0.5 max_reduce; ONNX ReduceMax-20; WebNN reduceMax(); CVM max", kN | kB,
                                      kExtremeFields, infer_reduce<ExtremeAttrs>, extreme<true>(),
                                      {in_nnef("max_reduce"), in_onnx("ReduceMax", 18), in_old_onnx("ReduceMax"),
                                       in_webnn("reduceMax"), in_cvm("max")},
                                      {}, max_reduce_precision))),
    in_layout(LayoutRole::reduced,
              in_intervals(
                  extreme_interval<false>,
                  reduce_row("min_reduce", "The minimum over axes; a NaN wins; over nothing inf or the type's maximum.",
                             "NNEF 1.0.5 min_reduce; ONNX ReduceMin-20; WebNN reduceMin()", kN | kB, kExtremeFields,
                             infer_reduce<ExtremeAttrs>, extreme<false>(),
                             {in_nnef("min_reduce"), in_onnx("ReduceMin", 18), in_old_onnx("ReduceMin"),
                              in_webnn("reduceMin")}))),
    sum_like("reduce_prod", "The product over axes; 1 over nothing, integers wrap.",
             "ONNX ReduceProd-18; WebNN reduceProduct()", folding<Product, float, double, int64_t, uint64_t, Dim>(),
             {in_onnx("ReduceProd", 18), in_old_onnx("ReduceProd"), in_webnn("reduceProduct")}),
    sum_like("reduce_l1", "The sum of magnitudes over axes.", "ONNX ReduceL1-18; WebNN reduceL1()",
             folding_numbers<SumOfAbs>(), {in_onnx("ReduceL1", 18), in_old_onnx("ReduceL1"), in_webnn("reduceL1")},
             "y = sum_reduce(abs(x), axes, keepdims = keepdims, when_empty = when_empty, to_end = to_end);"),
    sum_like("reduce_l2", "The root of the sum of squares over axes.", "ONNX ReduceL2-18; WebNN reduceL2()",
             folding_numbers<RootOfSquares>(), {in_onnx("ReduceL2", 18), in_old_onnx("ReduceL2"), in_webnn("reduceL2")},
             "real = dtype(x) == 'f32' || dtype(x) == 'f64'; v = x if real else cast(x, to = 'f64'); "
             "r = sqrt(sum_reduce(v * v, axes, keepdims = keepdims, when_empty = when_empty, to_end = to_end)); "
             "y = r if real else cast(r, to = dtype(x));"),
    sum_like("reduce_sum_square", "The sum of squares over axes.", "ONNX ReduceSumSquare-18; WebNN reduceSumSquare()",
             folding_numbers<SumOfSquares>(),
             {in_onnx("ReduceSumSquare", 18), in_old_onnx("ReduceSumSquare"), in_webnn("reduceSumSquare")},
             "y = sum_reduce(x * x, axes, keepdims = keepdims, when_empty = when_empty, to_end = to_end);"),
    sum_like(
        "reduce_log_sum", "The logarithm of the sum over axes; -inf over nothing.",
        "ONNX ReduceLogSum-18; WebNN reduceLogSum()", folding_numbers<LogOfSum>(),
        {in_onnx("ReduceLogSum", 18), in_old_onnx("ReduceLogSum"), in_webnn("reduceLogSum")},
        "real = dtype(x) == 'f32' || dtype(x) == 'f64'; v = x if real || dtype(x) == 'u64' else cast(x, to = 'i64'); "
        "s = sum_reduce(v, axes, keepdims = keepdims, when_empty = when_empty, to_end = to_end); "
        "y = log(s) if real else cast(log(cast(s, to = 'f64')), to = dtype(x));"),
    sum_like("reduce_log_sum_exp", "The logarithm of the sum of exponentials over axes, without overflow.",
             "ONNX ReduceLogSumExp-18; WebNN reduceLogSumExp()", folding_numbers<LogOfSumOfExp>(),
             {in_onnx("ReduceLogSumExp", 18), in_old_onnx("ReduceLogSumExp"), in_webnn("reduceLogSumExp")}),
    truth_reduce("all_reduce", "Whether all elements over axes are true.", "NNEF 1.0.5 all_reduce",
                 any(run_truth_reduce<true>)),
    truth_reduce("any_reduce", "Whether one element over axes is true.", "NNEF 1.0.5 any_reduce",
                 any(run_truth_reduce<false>)),
    {
        .name = "moments",
        .summary = "Mean and population variance over axes, in two passes.",
        .source = "NNEF 1.0.5 moments",
        .inputs = {{"x", kF}, {.name = "axes", .type = kIndex, .arity = Arity::optional, .by_value = true}},
        .outputs = {{"mean", same_type_as("x")}, {"variance", same_type_as("x")}},
        .attrs =
            attrs_of<MomentsAttrs>({field<&MomentsAttrs::keepdims>("keepdims", "Reduced axes stay, with extent 1."),
                                    field<&MomentsAttrs::to_end>("to_end",
                                                                 "The one axis listed, and every later "
                                                                 "one.")}),
        .infer = infer_moments,
        .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_moments<T>(c); }),
        .spelled = {{nnef, "moments"}},
    },
};
}  // namespace

std::span<const OpDef> reduce_ops() { return stored<kReduceOps>(); }

}  // namespace nnex
