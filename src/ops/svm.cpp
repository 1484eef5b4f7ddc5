// Support vector machines.

#include "ops/svm.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

/// gamma, coef0 and degree in this order; missing ones are 0.
double param(const Reals& list, size_t i) { return i < list.size() ? list[i] : 0; }

double kernel_of(SvmKernel kernel, const Reals& params, const double* x, const double* v, int64_t n) {
  double sum = 0;
  if (kernel == SvmKernel::rbf) {
    for (int64_t i = 0; i < n; ++i) sum += (x[i] - v[i]) * (x[i] - v[i]);
    return std::exp(-param(params, 0) * sum);
  }
  for (int64_t i = 0; i < n; ++i) sum += x[i] * v[i];
  if (kernel == SvmKernel::linear) return sum;
  const double inner = param(params, 0) * sum + param(params, 1);
  return kernel == SvmKernel::poly ? std::pow(inner, param(params, 2)) : std::tanh(inner);
}

/// x as f64 rows of `features` columns.
struct Rows {
  Tensor x;
  int64_t n = 0, columns = 0;
  const double* row(int64_t i) const { return x.as<double>().data() + i * columns; }
};

Result<Rows> rows_of(const Call& c, int64_t features) {
  Rows r;
  NNEX_ASSIGN(r.x, convert(c.in(0), DType::f64));
  const Shape& s = r.x.shape();
  if (s.rank() < 1 || s.rank() > 2) return c.fault("x has {} axes; needed 1 or 2", s.rank());
  r.n = s.rank() == 2 ? s[0] : 1, r.columns = s[s.rank() - 1];
  if (r.n > 0 && r.columns != features) return c.fault("x has {} features; needed {}", r.columns, features);
  return r;
}

/// Rows of x; an error where its rank or the number of its columns is wrong.
Result<Dim> infer_rows(InferCall& c, int64_t features) {
  if (!c.dims(0)) return c.unknown();
  const Dims& d = *c.dims(0);
  if (d.empty() || d.size() > 2) return c.error("x has {} axes; needed 1 or 2", d.size());
  if (d.back().is_number() && d.back().value() != features)
    return c.error("x has {} features; needed {}", d.back().value(), features);
  return d.size() == 2 ? d[0] : Dim(1);
}

/// Features of `count` rows in a list of numbers; its length must be a multiple.
Result<int64_t> features_of(const InferCall& c, std::string_view what, size_t numbers, int64_t count) {
  if (count < 1 || numbers == 0 || static_cast<int64_t>(numbers) % count != 0)
    return c.error("{} numbers in {} for {} rows", numbers, what, count);
  return static_cast<int64_t>(numbers) / count;
}

Status check_params(const InferCall& c, SvmKernel kernel, const Reals& params) {
  const size_t needed = kernel == SvmKernel::linear ? 0
                        : kernel == SvmKernel::rbf  ? 1
                        : kernel == SvmKernel::poly ? 3
                                                    : 2;
  if (params.size() < needed) return c.error("{} kernel_params; needed {}", params.size(), needed);
  return {};
}

// ---- svm_classifier

int64_t pairs_of(int64_t classes) { return classes * (classes - 1) / 2; }

struct Machine {
  explicit Machine(const SvmClassifierAttrs& attrs) : a(attrs), classes(attrs.labels.count()) {
    for (int64_t n : a.vectors_per_class) {
      first.push_back(vectors);
      vectors += n;
    }
  }
  bool pairwise() const { return vectors > 0; }
  /// Scores before a lone one is doubled.
  int64_t scores() const { return !pairwise() || !a.prob_a.empty() ? classes : pairs_of(classes); }
  bool doubled() const { return scores() == 1 && classes == 2; }

  const SvmClassifierAttrs& a;
  int64_t classes, vectors = 0;
  Ints first;
};

constexpr int64_t kMaxClasses = 1 << 15;

Status infer_classifier(InferCall& c) {
  const auto& a = c.attr<SvmClassifierAttrs>();
  const int64_t classes = a.labels.count();
  if (classes < 1 || classes > kMaxClasses) return c.error("{} labels", classes);
  int64_t vectors = 0;
  for (int64_t n : a.vectors_per_class) {
    if (n < 0 || n > static_cast<int64_t>(a.support_vectors.size()))
      return c.error("a class has {} vectors; there are {} numbers in support_vectors", n, a.support_vectors.size());
    vectors += n;
  }
  NNEX_TRY(check_params(c, a.kernel, a.kernel_params));
  if (a.prob_a.size() != a.prob_b.size()) return c.error("{} prob_a; {} prob_b", a.prob_a.size(), a.prob_b.size());
  int64_t features = 0;
  if (vectors > 0) {
    if (static_cast<int64_t>(a.vectors_per_class.size()) != classes)
      return c.error("{} vectors_per_class; {} labels", a.vectors_per_class.size(), classes);
    NNEX_ASSIGN(features, features_of(c, "support_vectors", a.support_vectors.size(), vectors));
    const auto needed = checked_mul(classes - 1, vectors);
    if (!needed || static_cast<int64_t>(a.coefficients.size()) < *needed)
      return c.error("{} coefficients; needed {} for each of {} vectors", a.coefficients.size(), classes - 1, vectors);
    for (const Reals* list : {&a.rho, &a.prob_a})
      if ((list == &a.rho || !list->empty()) && static_cast<int64_t>(list->size()) < pairs_of(classes))
        return c.error("{} numbers in {}; needed one for each of {} pairs of labels", list->size(),
                       list == &a.rho ? "rho" : "prob_a", pairs_of(classes));
  } else {
    NNEX_ASSIGN(features, features_of(c, "coefficients", a.coefficients.size(), classes));
    if (a.rho.empty()) return c.error("rho is empty; needed 1 number");
  }
  NNEX_ASSIGN(Dim n, infer_rows(c, features));
  const Machine m(a);
  c.result(0, a.labels.dtype(), Dims{n});
  c.result(1, Dims{n, Dim(m.doubled() ? 2 : m.scores())});
  return {};
}

/// Probabilities of classes from those of every pair, r[i * k + j] for i against j: the p that minimises the sum over
/// pairs of (r_ji p_i - r_ij p_j)^2 under sum p = 1 (Wu, Lin and Weng 2004, second method), by its fixed point.
void couple(const Reals& r, size_t k, Reals& p) {
  if (k == 2) {
    p = {r[1], r[2]};
    return;
  }
  constexpr int kMaxRounds = 100;
  Reals q(k * k), qp(k);
  for (size_t i = 0; i < k; ++i)
    for (size_t j = 0; j < k; ++j) {
      if (i == j) continue;
      q[i * k + i] += r[j * k + i] * r[j * k + i];
      q[i * k + j] = -r[j * k + i] * r[i * k + j];
    }
  p.assign(k, 1.0 / static_cast<double>(k));
  for (int round = 0; round < std::max<int>(kMaxRounds, static_cast<int>(k)); ++round) {
    double all = 0, worst = 0;
    for (size_t i = 0; i < k; ++i) {
      qp[i] = 0;
      for (size_t j = 0; j < k; ++j) qp[i] += q[i * k + j] * p[j];
      all += p[i] * qp[i];
    }
    for (size_t i = 0; i < k; ++i) worst = std::max(worst, std::fabs(qp[i] - all));
    if (worst < 0.005 / static_cast<double>(k)) return;
    for (size_t i = 0; i < k; ++i) {
      const double own = q[i * k + i];
      if (own == 0) continue;
      const double step = (all - qp[i]) / own, scale = 1 + step;
      p[i] += step;
      all = (all + step * (step * own + 2 * qp[i])) / (scale * scale);
      for (size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[i * k + j]) / scale;
        p[j] /= scale;
      }
    }
  }
}

/// Pairwise scores of one row, and for each class how many of them speak for it.
void vote(const Machine& m, const Reals& kernels, Reals& scores, Ints& votes) {
  scores.clear();
  votes.assign(static_cast<size_t>(m.classes), 0);
  const auto weighed = [&](int64_t line, int64_t owner) {
    double sum = 0;
    const int64_t from = m.first[static_cast<size_t>(owner)];
    for (int64_t v = from; v < from + m.a.vectors_per_class[static_cast<size_t>(owner)]; ++v)
      sum += m.a.coefficients[static_cast<size_t>(line * m.vectors + v)] * kernels[static_cast<size_t>(v)];
    return sum;
  };
  for (int64_t i = 0; i < m.classes; ++i)
    for (int64_t j = i + 1; j < m.classes; ++j) {
      const double s = weighed(j - 1, i) + weighed(i, j) + m.a.rho[scores.size()];
      scores.push_back(s);
      ++votes[static_cast<size_t>(s > 0 ? i : j)];
    }
}

/// 1 / (1 + exp(a s + b)) of every pair, kept from 0 and 1, then coupled.
void probabilities(const Machine& m, Reals& scores) {
  const auto k = static_cast<size_t>(m.classes);
  constexpr double kMin = 1e-7;
  Reals r(k * k);
  size_t pair = 0;
  for (size_t i = 0; i < k; ++i)
    for (size_t j = i + 1; j < k; ++j, ++pair) {
      const double v = m.a.prob_a[pair] * scores[pair] + m.a.prob_b[pair];
      const double p = std::clamp(v > 0 ? std::exp(-v) / (1 + std::exp(-v)) : 1 / (1 + std::exp(v)), kMin, 1 - kMin);
      r[i * k + j] = p, r[j * k + i] = 1 - p;
    }
  couple(r, k, scores);
}

Status run_classifier(Call& c) {
  const Machine m(c.attr<SvmClassifierAttrs>());
  const auto& a = m.a;
  const int64_t features = m.pairwise() ? static_cast<int64_t>(a.support_vectors.size()) / m.vectors
                                        : static_cast<int64_t>(a.coefficients.size()) / m.classes;
  NNEX_ASSIGN(Rows x, rows_of(c, features));
  Reals kernels(static_cast<size_t>(m.vectors)), scores;
  Ints votes;
  std::vector<float> row;
  for (int64_t i = 0; i < x.n; ++i) {
    int64_t best = 0;
    if (m.pairwise()) {
      for (int64_t v = 0; v < m.vectors; ++v)
        kernels[static_cast<size_t>(v)] = kernel_of(a.kernel, a.kernel_params, x.row(i),
                                                    &a.support_vectors[static_cast<size_t>(v * features)], features);
      vote(m, kernels, scores, votes);
      best = std::max_element(votes.begin(), votes.end()) - votes.begin();
      if (!a.prob_a.empty()) probabilities(m, scores);
    } else {
      scores.clear();
      for (int64_t k = 0; k < m.classes; ++k)
        scores.push_back(
            kernel_of(SvmKernel::linear, {}, x.row(i), &a.coefficients[static_cast<size_t>(k * features)], features) +
            a.rho[0]);
      best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    }
    if (c.wants(0)) {
      Tensor& label = c.out(0);
      if (label.dtype() == DType::str)
        label.mutable_as<std::string>()[static_cast<size_t>(i)] = a.labels.strings()[static_cast<size_t>(best)];
      else
        set_int(label, i, int_at(a.labels, best));
    }
    if (!c.wants(1)) continue;
    row.assign(scores.begin(), scores.end());
    if (m.doubled()) row.insert(row.begin(), -row[0]);
    post_transform(a.post, std::span<float>(row));
    std::copy(row.begin(), row.end(), c.out<float>(1).begin() + i * static_cast<int64_t>(row.size()));
  }
  return {};
}

// ---- svm_regressor

Status infer_regressor(InferCall& c) {
  const auto& a = c.attr<SvmRegressorAttrs>();
  if (a.rho.empty()) return c.error("rho is empty; needed 1 number");
  NNEX_TRY(check_params(c, a.kernel, a.kernel_params));
  auto features = static_cast<int64_t>(a.coefficients.size());
  if (a.supports > 0) {
    NNEX_ASSIGN(features, features_of(c, "support_vectors", a.support_vectors.size(), a.supports));
    if (static_cast<int64_t>(a.coefficients.size()) < a.supports)
      return c.error("{} coefficients; {} support vectors", a.coefficients.size(), a.supports);
  }
  NNEX_ASSIGN(Dim n, infer_rows(c, features));
  c.result(0, Dims{n, Dim(1)});
  return {};
}

Status run_regressor(Call& c) {
  const auto& a = c.attr<SvmRegressorAttrs>();
  const int64_t features = static_cast<int64_t>(
      a.supports > 0 ? a.support_vectors.size() / static_cast<size_t>(a.supports) : a.coefficients.size());
  NNEX_ASSIGN(Rows x, rows_of(c, features));
  for (int64_t i = 0; i < x.n; ++i) {
    double sum = a.rho[0];
    if (a.supports == 0) sum += kernel_of(SvmKernel::linear, {}, x.row(i), a.coefficients.data(), features);
    for (int64_t v = 0; v < a.supports; ++v)
      sum += a.coefficients[static_cast<size_t>(v)] * kernel_of(a.kernel, a.kernel_params, x.row(i),
                                                                &a.support_vectors[static_cast<size_t>(v * features)],
                                                                features);
    if (a.one_class) sum = sum > 0 ? 1 : -1;
    float& y = c.out<float>(0)[static_cast<size_t>(i)];
    y = static_cast<float>(sum);
    post_transform(a.post, std::span<float>(&y, 1));
  }
  return {};
}

constexpr OpRow kSvmOps[] = {
    {.name = "svm_classifier",
     .summary =
         "The label most pairs of classes vote for, and the scores of the pairs or probabilities of the classes.",
     .source = "ONNX ai.onnx.ml SVMClassifier-1",
     .inputs = {{"x", kN}},
     .outputs = {{"label", types(DType::i64, DType::str), Arity::optional}, {"score", DType::f32, Arity::optional}},
     .attrs = attrs_of<SvmClassifierAttrs>(
         {field<&SvmClassifierAttrs::labels>("labels", "Integers or texts, one a class.", required),
          field<&SvmClassifierAttrs::coefficients>(
              "coefficients", "[classes - 1, vectors]; without support vectors [classes, features].", required),
          field<&SvmClassifierAttrs::kernel>("kernel", "What a row and a support vector have in common."),
          field<&SvmClassifierAttrs::kernel_params>("kernel_params", "gamma, coef0, degree."),
          field<&SvmClassifierAttrs::rho>("rho", "Offset of each pair of classes, (0,1) (0,2) ... (1,2) ..."),
          field<&SvmClassifierAttrs::support_vectors>("support_vectors", "[vectors, features], by class."),
          field<&SvmClassifierAttrs::vectors_per_class>("vectors_per_class", "How many each class has."),
          field<&SvmClassifierAttrs::prob_a>("prob_a", "Slope of each pair's probability; empty: no probabilities."),
          field<&SvmClassifierAttrs::prob_b>("prob_b", "Offset of each pair's probability."),
          field<&SvmClassifierAttrs::post>("post", "What becomes of a row of scores.")}),
     .infer = infer_classifier,
     .reference = any(run_classifier),
     .spelled = {{onnx,
                  "SVMClassifier",
                  {{"kernel", "kernel_type", &lower_case}, {"post", "post_transform", &lower_case}},
                  1,
                  "ai.onnx.ml"}}},
    {.name = "svm_regressor",
     .summary = "A weighed sum of what a row and the support vectors have in common.",
     .source = "ONNX ai.onnx.ml SVMRegressor-1",
     .inputs = {{"x", kN}},
     .outputs = {{"y", DType::f32}},
     .attrs = attrs_of<SvmRegressorAttrs>(
         {field<&SvmRegressorAttrs::coefficients>("coefficients", "One a support vector; without those one a feature.",
                                                  required),
          field<&SvmRegressorAttrs::kernel>("kernel", "What a row and a support vector have in common."),
          field<&SvmRegressorAttrs::kernel_params>("kernel_params", "gamma, coef0, degree."),
          field<&SvmRegressorAttrs::rho>("rho", "What every row starts from."),
          field<&SvmRegressorAttrs::support_vectors>("support_vectors", "[vectors, features]."),
          field<&SvmRegressorAttrs::supports>("supports", "How many support vectors there are."),
          field<&SvmRegressorAttrs::one_class>("one_class", "1 where the sum is above 0, else -1."),
          field<&SvmRegressorAttrs::post>("post", "What becomes of the number.")}),
     .infer = infer_regressor,
     .reference = any(run_regressor),
     .spelled = {{onnx,
                  "SVMRegressor",
                  {{"kernel", "kernel_type", &lower_case},
                   {"post", "post_transform", &lower_case},
                   {"supports", "n_supports"},
                   {"one_class", "one_class", &int_bool}},
                  1,
                  "ai.onnx.ml"}}},
};
}  // namespace

std::span<const OpDef> svm_ops() { return stored<kSvmOps>(); }

}  // namespace nnex
