// Normalisation by a window around each element, and by the norm of axes.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/failure.h"
#include "base/interrupt.h"
#include "ops/codecs.h"
#include "ops/norm.h"
#include "ops/reduction.h"
#include "ops/stored.h"

namespace nnex {
namespace {

// ---- Windows: `size` has an extent for each axis, trailing ones may be left out. The longer side of an even window
// lies after the element; beyond the border there are zeros, which count.

using Numbers = std::vector<double>;

/// Replaces every element by the sum of a window of `size` along one axis.
void window_sum(Numbers& x, int64_t outer, int64_t n, int64_t inner, int64_t size) {
  const int64_t before = std::min((size - 1) / 2, n), after = std::min(size - 1 - (size - 1) / 2, n);
  Numbers line(static_cast<size_t>(n));
  SeldomAsked asked;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < inner; ++k) {
      double* at = x.data() + o * n * inner + k;
      for (int64_t i = 0; i < n; ++i) line[static_cast<size_t>(i)] = at[i * inner];
      for (int64_t i = 0; i < n; ++i) {
        const int64_t first = std::max<int64_t>(i - before, 0), last = std::min(i + after, n - 1);
        double sum = 0;
        for (int64_t j = first; j <= last; ++j) sum += line[static_cast<size_t>(j)];
        at[i * inner] = sum;
        if (asked.stop(last - first)) return;
      }
    }
}

/// The mean of the window around every element.
Numbers window_mean(Numbers x, const Shape& shape, const Ints& size) {
  double volume = 1;
  int64_t inner = 1;
  for (int64_t a = shape.rank() - 1; a >= 0; --a) {
    const int64_t extent = static_cast<size_t>(a) < size.size() ? size[static_cast<size_t>(a)] : 1;
    const int64_t row = shape[a] * inner;
    if (extent > 1 && row > 0) window_sum(x, static_cast<int64_t>(x.size()) / row, shape[a], inner, extent);
    volume *= static_cast<double>(extent);
    inner = row;
  }
  for (double& v : x) v /= volume;
  return x;
}

Numbers squares(Numbers x) {
  for (double& v : x) v *= v;
  return x;
}

template <class A>
Status infer_local(InferCall& c) {
  const Ints& size = c.attr<A>().size;
  for (int64_t n : size)
    if (n < 1) return c.error("size holds {}; needed 1 or more", n);
  if (auto rank = c.rank(0); rank && size.size() > static_cast<size_t>(*rank))
    return c.error("size has {} extents; x has {} axes", size.size(), *rank);
  return same_shape(c);
}

/// y = f(x in double, its shape, attributes), rounded once.
template <class A, Numbers (*f)(const Numbers&, const Shape&, const A&)>
constexpr Reference in_double() {
  return typed<float, double>([]<class T>(Call& c) -> Status {
    auto x = c.in<T>(0);
    const Numbers y = f(Numbers(x.begin(), x.end()), c.shape(0), c.attr<A>());
    std::transform(y.begin(), y.end(), c.out<T>(0).begin(), [](double v) { return static_cast<T>(v); });
    return {};
  });
}

Numbers local_response(const Numbers& x, const Shape& shape, const LocalResponseNormAttrs& a) {
  Numbers y = window_mean(squares(x), shape, a.size);
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] / std::pow(a.bias + a.alpha * y[i], a.beta);
  return y;
}

Numbers local_mean(const Numbers& x, const Shape& shape, const Ints& size) {
  Numbers y = window_mean(x, shape, size);
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] - y[i];
  return y;
}
Numbers local_mean(const Numbers& x, const Shape& shape, const LocalMeanNormAttrs& a) {
  return local_mean(x, shape, a.size);
}

Numbers local_variance(const Numbers& x, const Shape& shape, const LocalVarianceNormAttrs& a) {
  Numbers y = window_mean(squares(x), shape, a.size);
  for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] / std::fmax(std::sqrt(y[i]) + a.bias, a.epsilon);
  return y;
}
Numbers local_contrast(const Numbers& x, const Shape& shape, const LocalVarianceNormAttrs& a) {
  return local_variance(local_mean(x, shape, a.size), shape, a);
}

// ---- Norms of axes

Status infer_norm(InferCall& c) {
  if (auto rank = c.rank(0)) NNEX_TRY(reduced_axes(c.op().name, c.attr<LpNormAttrs>().axes, *rank, {}));
  return same_shape(c);
}

template <class T, int p>
Status run_norm(Call& c) {
  const auto& a = c.attr<LpNormAttrs>();
  NNEX_ASSIGN(Reduction sets, reduction(c, 0, a.axes, {}));
  const T* from = c.in<T>(0).data();
  T* to = c.out<T>(0).data();
  sets.each(c.in<T>(0), [&](int64_t, const ElementSet<T>& set) {
    const T sum = pairwise_sum<T>(set, 0, set.n, [](T v) { return p == 1 ? std::fabs(v) : v * v; });
    const T norm = (p == 1 ? sum : std::sqrt(sum)) + static_cast<T>(a.bias);
    const bool stays = a.at_zero == AtZero::zero;  // ONNX's NaN; NNEF's maximum is a comparison
    const T by = norm > static_cast<T>(a.epsilon) || (stays && norm != norm) ? norm : static_cast<T>(a.epsilon);
    const bool nothing = by == T(0) && a.at_zero == AtZero::zero;
    for (int64_t i = 0; i < set.n; ++i) to[set.base - from + set.place(i)] = nothing ? T(0) : set[i] / by;
  });
  return {};
}

// ---- Codecs

/// ONNX LRN's size: the window along the channels, axis 1.
Result<AttrValue> sizes_from_channels(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(Ints{1, *i});
  return failure(Code::invalid_model, "found {}; needed one integer", text(v));
}
Result<AttrValue> channels_from_sizes(const AttrValue& v) {
  auto* l = std::get_if<Ints>(&v);
  bool fits = l && l->size() > 1;
  for (size_t i = 0; fits && i < l->size(); ++i) fits = i == 1 || (*l)[i] == 1;
  if (fits) return AttrValue((*l)[1]);
  return failure(Code::unsupported, "ONNX normalises over channels alone; found windows {}", text(v));
}
const Codec kChannelSize = {"channel_size", sizes_from_channels, channels_from_sizes};

// ---- Entries

constexpr OpRow one_real(std::string_view name, std::string_view summary, std::string_view source,
                         const AttrType& attrs, InferFn infer, Reference reference, std::string_view body,
                         List<SpellingRow, 6> spelled) {
  OpRow op;
  op.name = name, op.summary = summary, op.source = source;
  op.inputs = {{"x", kF}};
  op.outputs = {{"y", same_type_as("x")}};
  op.attrs = attrs;
  op.infer = infer;
  op.reference = reference;
  op.body = body;
  op.spelled = spelled;
  return op;
}

constexpr AttrType kVarianceFields = attrs_of<LocalVarianceNormAttrs>(
    {field<&LocalVarianceNormAttrs::size>("size", "Extents of the window, an axis each.", required),
     field<&LocalVarianceNormAttrs::bias>("bias", "Added to the deviation."),
     field<&LocalVarianceNormAttrs::epsilon>("epsilon", "Least divisor.")});

constexpr AttrType kLpFields = attrs_of<LpNormAttrs>(
    {field<&LpNormAttrs::axes>("axes", "Axes whose elements have one norm."),
     field<&LpNormAttrs::bias>("bias", "Added to the norm."), field<&LpNormAttrs::epsilon>("epsilon", "Least divisor."),
     field<&LpNormAttrs::at_zero>("at_zero", "What a divisor of zero gives.")});

constexpr OpRow kLocalNormOps[] = {
    in_layout(
        LayoutRole::sizes,
        one_real("local_response_normalization", "x / (bias + alpha times the mean square of a window)^beta.",
                 "NNEF 1.0.5 local_response_normalization; ONNX LRN-13",
                 attrs_of<LocalResponseNormAttrs>(
                     {field<&LocalResponseNormAttrs::size>("size", "Extents of the window, an axis each.", required),
                      field<&LocalResponseNormAttrs::alpha>("alpha", "Factor of the mean square."),
                      field<&LocalResponseNormAttrs::beta>("beta", "Exponent."),
                      field<&LocalResponseNormAttrs::bias>("bias", "Added to it.")}),
                 infer_local<LocalResponseNormAttrs>, in_double<LocalResponseNormAttrs, local_response>(), {},
                 {{nnef, "local_response_normalization"},
                  {onnx,
                   "LRN",
                   {{"size", "size", &kChannelSize}},
                   1,
                   "",
                   {{"alpha", "0.0001"}, {"beta", "0.75"}, {"bias", "1.0"}}}})),
    one_real("local_mean_normalization", "x less the mean of a window.", "NNEF 1.0.5 local_mean_normalization",
             attrs_of<LocalMeanNormAttrs>(
                 {field<&LocalMeanNormAttrs::size>("size", "Extents of the window, an axis each.", required)}),
             infer_local<LocalMeanNormAttrs>, in_double<LocalMeanNormAttrs, local_mean>(), {},
             {{nnef, "local_mean_normalization"}}),
    one_real("local_variance_normalization", "x by the root mean square of a window.",
             "NNEF 1.0.5 local_variance_normalization", kVarianceFields, infer_local<LocalVarianceNormAttrs>,
             in_double<LocalVarianceNormAttrs, local_variance>(), {}, {{nnef, "local_variance_normalization"}}),
    one_real("local_contrast_normalization", "local_mean_normalization, then local_variance_normalization.",
             "NNEF 1.0.5 local_contrast_normalization", kVarianceFields, infer_local<LocalVarianceNormAttrs>,
             in_double<LocalVarianceNormAttrs, local_contrast>(), {}, {{nnef, "local_contrast_normalization"}}),
    one_real("l2_normalization", "x by the root of its sum of squares over axes.",
             "NNEF 1.0.5 l2_normalization; ONNX LpNormalization-22 (p = 2)", kLpFields, infer_norm,
             typed<float, double>([]<class T>(Call& c) -> Status { return run_norm<T, 2>(c); }), {},
             {{nnef, "l2_normalization"},
              {onnx,
               "LpNormalization",
               {{"axes", "axis", &one_item_list}},
               1,
               "",
               {{"axes", "[-1]"}, {"at_zero", "'zero'"}}}}),
    one_real("l1_normalization", "x by its sum of magnitudes over axes.",
             "NNEF 1.0.5 l1_normalization; ONNX LpNormalization-22 (p = 1)", kLpFields, infer_norm,
             typed<float, double>([]<class T>(Call& c) -> Status { return run_norm<T, 1>(c); }), {},
             {{nnef, "l1_normalization"},
              {onnx,
               "LpNormalization",
               {{"axes", "axis", &one_item_list}},
               1,
               "",
               {{"axes", "[-1]"}, {"at_zero", "'zero'"}}}}),
};
}  // namespace

std::span<const OpDef> local_norm_ops() { return stored<kLocalNormOps>(); }

}  // namespace nnex
