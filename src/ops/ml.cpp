// Scores of classical models to labels and probabilities.

#include "ops/ml.h"

#include <algorithm>
#include <cmath>

#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {

namespace {

double logistic(double v) { return v >= 0 ? 1 / (1 + std::exp(-v)) : 1 - 1 / (1 + std::exp(v)); }

/// sqrt(2) erf^-1(2 p - 1) by Winitzki's approximation, as the field computes it (relative error 2e-3).
double probit(double p) {
  constexpr double kA = 0.147;
  const double x = 2 * p - 1, log = std::log((1 - x) * (1 + x));
  const double v = 2 / (M_PI * kA) + log / 2;
  return std::sqrt(2.0) * std::copysign(std::sqrt(std::sqrt(v * v - log / kA) - v), x);
}

}  // namespace

template <class T>
void post_transform(PostTransform kind, std::span<T> row) {
  switch (kind) {
    case PostTransform::none:
      return;
    case PostTransform::logistic:
      for (T& v : row) v = static_cast<T>(logistic(static_cast<double>(v)));
      return;
    case PostTransform::probit:
      for (T& v : row) v = static_cast<T>(probit(static_cast<double>(v)));
      return;
    case PostTransform::softmax:
    case PostTransform::softmax_zero: {
      if (row.empty()) return;
      const bool zeros = kind == PostTransform::softmax_zero;
      const T largest = *std::max_element(row.begin(), row.end());
      T sum = 0;
      for (T& v : row) {
        v = zeros && v == 0 ? T(0) : static_cast<T>(std::exp(static_cast<double>(v - largest)));
        sum += v;
      }
      if (sum != 0)
        for (T& v : row) v /= sum;
      return;
    }
  }
}
template void post_transform(PostTransform, std::span<float>);
template void post_transform(PostTransform, std::span<double>);

namespace {

/// Rows and columns of scores: [n, c], or one row [c].
std::pair<int64_t, int64_t> rows_of(const Shape& s) {
  return s.rank() < 2 ? std::pair<int64_t, int64_t>(1, s.count())
                      : std::pair(s[0], s.count() / std::max<int64_t>(s[0], 1));
}

template <class T>
Status run_post_transform(Call& c) {
  const auto [n, columns] = rows_of(c.shape(0));
  std::copy(c.in<T>(0).begin(), c.in<T>(0).end(), c.out<T>(0).begin());
  for (int64_t i = 0; i < n; ++i)
    post_transform(c.attr<PostTransformAttrs>().kind,
                   c.out<T>(0).subspan(static_cast<size_t>(i * columns), static_cast<size_t>(columns)));
  return {};
}

Status infer_classify(InferCall& c) {
  const auto& a = c.attr<ClassifyAttrs>();
  const int64_t labels = a.labels.count();
  if (labels == 0) return c.error("no labels");
  Dim n = c.unknown(), columns = c.unknown();
  if (c.dims(0)) {
    const Dims& d = *c.dims(0);
    if (d.empty() || d.size() > 2) return c.error("score has {} axes; needed 1 or 2", d.size());
    n = d.size() == 2 ? d[0] : Dim(1);
    columns = d.back();
    if (columns == Dim(1) && a.one_column != OneColumn::single) columns = Dim(2);
    if (columns.is_number() && columns.value() > labels && labels > 1)
      return c.error("{} columns of scores; {} labels", columns.value(), labels);
  }
  c.result(0, a.labels.dtype(), Dims{n});
  c.result(1, Dims{n, columns});
  return {};
}

template <class T>
Status run_classify(Call& c) {
  const auto& a = c.attr<ClassifyAttrs>();
  const auto [n, columns] = rows_of(c.shape(0));
  const bool one = columns == 1, two = one && a.one_column != OneColumn::single;
  const int64_t out = two ? 2 : columns;
  const T* scores = c.in<T>(0).data();
  std::vector<T> row(static_cast<size_t>(out));
  for (int64_t i = 0; i < n; ++i) {
    const T* s = scores + i * columns;
    int64_t best = 0;
    if (one)
      best = s[0] > static_cast<T>(a.threshold) && a.labels.count() > 1 ? 1 : 0;
    else
      best = std::max_element(s, s + columns) - s;
    if (c.wants(0)) {
      Tensor& label = c.out(0);
      if (label.dtype() == DType::str)
        label.mutable_as<std::string>()[static_cast<size_t>(i)] = a.labels.as<std::string>()[static_cast<size_t>(best)];
      else
        set_int(label, i, int_at(a.labels, best));
    }
    if (!c.wants(1)) continue;
    std::copy_n(s, columns, row.end() - columns);
    if (two) row[0] = a.one_column == OneColumn::negate ? -s[0] : T(1) - s[0];
    post_transform(a.post, std::span<T>(row));
    std::copy(row.begin(), row.end(), c.out<T>(1).begin() + i * out);
  }
  return {};
}

constexpr OpRow kMlOps[] = {
    {.name = "post_transform",
     .summary = "Rows of scores to probabilities.",
     .source = "ONNX ai.onnx.ml, attribute post_transform",
     .inputs = {{"x", kF}},
     .outputs = {{"y", same_type_as("x")}},
     .attrs = attrs_of<PostTransformAttrs>({field<&PostTransformAttrs::kind>("kind", "How.", required)}),
     .infer = same_shape,
     .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_post_transform<T>(c); })},
    {.name = "classify",
     .summary = "The label of the first largest score of each row, and the scores transformed.",
     .source = "ONNX ai.onnx.ml LinearClassifier, TreeEnsembleClassifier",
     .inputs = {{"score", kF}},
     .outputs = {{"label", {}, Arity::optional}, {"z", same_type_as("score"), Arity::optional}},
     .attrs = attrs_of<ClassifyAttrs>(
         {field<&ClassifyAttrs::labels>("labels", "Integers or texts, one a column.", required),
          field<&ClassifyAttrs::post>("post", "What becomes of scores."),
          field<&ClassifyAttrs::one_column>("one_column", "What a single column for two classes becomes."),
          field<&ClassifyAttrs::threshold>("threshold", "A single score above it names the second label.")}),
     .infer = infer_classify,
     .reference = typed<float, double>([]<class T>(Call& c) -> Status { return run_classify<T>(c); })},
};
}  // namespace

std::span<const OpDef> ml_ops() { return stored<kMlOps>(); }

}  // namespace nnex
