// Decision trees, and scores of classical models to labels and probabilities.

#include <algorithm>

#include "nnex/elements.h"
#include "ops/ml.h"
#include "ops/trees.h"
#include "standards/c/write_step.h"

namespace nnex::c_format {
namespace {

/// Transforms the n numbers that `row` points to.
void transform(StepWriter& w, PostTransform kind, DType type, const std::string& row, int64_t n) {
  Text& b = w.body();
  const std::string each = fmt::format("for (long j = 0; j < {}; ++j)", n);
  const std::string_view name = c_type(type);
  switch (kind) {
    case PostTransform::none:
      return;
    case PostTransform::logistic:
      return b.line("{} {}[j] = {}({}[j]);", each, row, w.need("sigmoid", type), row);
    case PostTransform::probit:
      return b.line("{} {}[j] = ({}){}({}[j]);", each, row, name, w.need("probit"), row);
    case PostTransform::softmax:
    case PostTransform::softmax_zero: {
      if (n == 0) return;
      const bool zeros = kind == PostTransform::softmax_zero;
      b.line("{} top = {}[0], sum = 0;", name, row);
      b.line("{0} top = {1}[j] > top ? {1}[j] : top;", each, row);
      b.open("{}", each);
      b.line("{0}[j] = {1}({2})exp((double)({0}[j] - top));", row, zeros ? row + "[j] == 0 ? 0 : " : "", name);
      b.line("sum += {}[j];", row);
      b.close();
      b.line("if (sum != 0)");
      b.line("  {} {}[j] /= sum;", each, row);
    }
  }
}

/// Rows and columns of scores: [n, c], or one row [c].
std::pair<int64_t, int64_t> rows_of(const Shape& s) {
  return s.rank() < 2 ? std::pair<int64_t, int64_t>(1, s.count())
                      : std::pair(s[0], s.count() / std::max<int64_t>(s[0], 1));
}

void write_post_transform(StepWriter& w) {
  const auto [rows, columns] = rows_of(w.x());
  const std::string in = w.in(), out = w.out();
  Text& b = w.body();
  b.open("for (long i = 0; i < {}; ++i)", rows);
  b.line("{0} *const row = {1} + i * {2};", c_type(w.x_type()), out, columns);
  b.line("for (long j = 0; j < {0}; ++j) row[j] = {1}[i * {0} + j];", columns, in);
  transform(w, w.attr<PostTransformAttrs>().kind, w.x_type(), "row", columns);
  b.close();
}

void write_classify(StepWriter& w) {
  const auto& a = w.attr<ClassifyAttrs>();
  const auto [rows, columns] = rows_of(w.x());
  if (!is_int(a.labels.dtype())) return w.refuse("classify: labels are no integers");
  const bool one = columns == 1, two = one && a.one_column != OneColumn::single;
  const std::string in = w.in();
  const DType type = w.x_type();
  Text& b = w.body();
  b.open("for (long i = 0; i < {}; ++i)", rows);
  b.line("const {} *const row = {} + i * {};", c_type(type), in, columns);
  if (w.wants(0)) {
    Ints labels;
    for (int64_t i = 0; i < a.labels.count(); ++i) labels.push_back(int_at(a.labels, i));
    const std::string table = w.table(Tensor::of(Shape{std::ssize(labels)}, labels), "labels");
    if (one) {
      b.line("const long best = {};", labels.size() > 1 ? "row[0] > " + literal(a.threshold, type) : "0");
    } else {
      b.line("long best = 0;");
      b.open("for (long j = 1; j < {}; ++j)", columns);
      b.line("if (row[best] < row[j]) best = j;");
      b.close();
    }
    b.line("{}[i] = ({}){}[best];", w.out(0), c_type(w.y_type(0)), table);
  }
  if (w.wants(1)) {
    b.line("{} *const to = {} + i * {};", c_type(type), w.out(1), two ? 2 : columns);
    if (two) {
      b.line("to[0] = {}row[0];", a.one_column == OneColumn::negate ? "-" : "1 - ");
      b.line("to[1] = row[0];");
    } else {
      b.line("for (long j = 0; j < {}; ++j) to[j] = row[j];", columns);
    }
    transform(w, a.post, type, "to", two ? 2 : columns);
  }
  b.close();
}

// ---- Trees

/// Whole numbers in as few bytes as hold them.
std::string whole_table(StepWriter& w, const Ints& values, std::string_view name) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const bool some = low != values.end();
  const DType type = some && (*low < INT16_MIN || *high > INT16_MAX) ? DType::i32
                     : some && (*low < INT8_MIN || *high > INT8_MAX) ? DType::i16
                                                                     : DType::i8;
  Tensor t = std::move(*Tensor::make(type, {std::ssize(values)}));
  for (size_t i = 0; i < values.size(); ++i) set_int(t, static_cast<int64_t>(i), values[i]);
  return w.table(std::move(t), name);
}

/// Numbers in float32 where it holds all of them, or is asked for.
std::string real_table(StepWriter& w, const Reals& values, std::string_view name, bool narrow) {
  narrow |= std::all_of(values.begin(), values.end(),
                        [](double v) { return v != v || static_cast<double>(static_cast<float>(v)) == v; });
  const Shape shape{std::ssize(values)};
  if (!narrow) return w.table(Tensor::of(shape, values), name);
  return w.table(Tensor::of(shape, std::vector<float>(values.begin(), values.end())), name);
}

/// The expression of whether a node's test holds for v.
std::string test_text(StepWriter& w, const TreeAttrs& a) {
  constexpr std::string_view kTests[] = {"<=", "<", ">=", ">", "==", "!="};
  const std::string splits = real_table(w, a.splits, "splits", false) + "[at]";
  const bool alike = std::all_of(a.modes.begin(), a.modes.end(), [&](int64_t m) { return m == a.modes[0]; });
  std::string test;
  if (alike) {
    test = fmt::format("v {} {}", kTests[static_cast<size_t>(a.modes[0])], splits);
  } else {
    w.body().line("const int mode = {}[at];", whole_table(w, a.modes, "modes"));
    for (size_t i = 0; i + 1 < std::size(kTests); ++i)
      test += fmt::format("mode == {} ? v {} {} : ", i, kTests[i], splits);
    test = fmt::format("({}v != {})", test, splits);
  }
  if (std::none_of(a.missing_true.begin(), a.missing_true.end(), [](int64_t m) { return m != 0; })) return test;
  return fmt::format("{} || ({}[at] && v != v)", test, whole_table(w, a.missing_true, "missing"));
}

/// What the leaf that a tree leads to adds to the scores.
void write_leaf(StepWriter& w, const TreeAttrs& a) {
  Text& b = w.body();
  const bool single = std::all_of(a.leaf_counts.begin(), a.leaf_counts.end(), [](int64_t n) { return n == 1; });
  const std::string weights = real_table(w, a.leaf_weights, "leaf_weights", !a.wide);
  const std::string target = a.targets == 1 ? "0" : whole_table(w, a.leaf_targets, "leaf_targets") + "[leaf]";
  if (single) {
    b.line("const long leaf = -1 - at;");
  } else {
    Ints first = {0};
    for (const int64_t n : a.leaf_counts) first.push_back(first.back() + n);
    const std::string table = whole_table(w, first, "leaf_first");
    b.open("for (long leaf = {0}[-1 - at]; leaf < {0}[-at]; ++leaf)", table);
  }
  if (a.aggregate == Aggregate::sum || a.aggregate == Aggregate::average) {
    b.line("scores[{}] += {}[leaf];", target, weights);
  } else {
    b.line("const long target = {};", target);
    b.line("if ({0}[leaf] {1} scores[target]) scores[target] = {0}[leaf];", weights,
           a.aggregate == Aggregate::min ? '<' : '>');
  }
  if (!single) b.close();
}

void write_trees(StepWriter& w) {
  const auto& a = w.attr<TreeAttrs>();
  const auto [rows, columns] = rows_of(w.x());
  if (std::count(a.modes.begin(), a.modes.end(), static_cast<int64_t>(Branch::member)))
    return w.refuse("tree_ensemble: a test of membership");
  const DType sum = a.wide ? DType::f64 : DType::f32;
  const bool real = is_float(w.x_type());
  const std::string in = w.in(), out = w.out(), scores = w.scratch(sum, a.targets);
  const bool extreme = a.aggregate == Aggregate::min || a.aggregate == Aggregate::max;
  const std::string start = !extreme ? "0" : a.aggregate == Aggregate::min ? "INFINITY" : "-INFINITY";
  Text& b = w.body();
  b.line("{} *const scores = {};", c_type(sum), scores);
  b.open("for (long i = 0; i < {}; ++i)", rows);
  b.line("for (long t = 0; t < {}; ++t) scores[t] = {};", a.targets, start);
  if (!a.roots.empty()) {
    Ints yes, no;
    for (size_t n = 0; n < a.features.size(); ++n) {
      yes.push_back(a.true_leafs[n] ? -1 - a.true_ids[n] : a.true_ids[n]);
      no.push_back(a.false_leafs[n] ? -1 - a.false_ids[n] : a.false_ids[n]);
    }
    b.open("for (long tree = 0; tree < {}; ++tree)", a.roots.size());
    b.line("long at = {}[tree];", whole_table(w, a.roots, "roots"));
    b.open("while (at >= 0)");
    b.line("const {} v = {}{}[i * {} + {}[at]];", real ? c_type(w.x_type()) : "double", real ? "" : "(double)", in,
           columns, whole_table(w, a.features, "features"));
    const std::string test = test_text(w, a);
    b.line("at = {} ? {}[at] : {}[at];", test, whole_table(w, yes, "yes"), whole_table(w, no, "no"));
    b.close();
    write_leaf(w, a);
    b.close();
  }
  b.open("for (long t = 0; t < {}; ++t)", a.targets);
  if (extreme) b.line("if (scores[t] == {}) scores[t] = 0;", start);
  if (a.aggregate == Aggregate::average && !a.roots.empty()) b.line("scores[t] /= {};", a.roots.size());
  if (a.base.size() > 1)
    b.line("scores[t] += {}[t];", real_table(w, a.base, "base", !a.wide));
  else if (a.base.size() == 1)
    b.line("scores[t] += {};", literal(a.base[0], sum));
  b.close();
  transform(w, a.post, sum, "scores", a.targets);
  b.line("for (long t = 0; t < {0}; ++t) {1}[i * {0} + t] = ({2})scores[t];", a.targets, out, c_type(w.y_type()));
  b.close();
}

constexpr RowEntry kClassRows[] = {
    {"classify", write_classify},
    {"post_transform", write_post_transform},
    {"tree_ensemble", write_trees},
};

}  // namespace

std::span<const RowEntry> class_rows() { return kClassRows; }

}  // namespace nnex::c_format
