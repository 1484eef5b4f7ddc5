// Counts of n-grams.

#include "ops/tf_idf.h"

#include <algorithm>
#include <unordered_map>

#include "ops/call.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

/// The n-grams of a pool as a tree of words. Words are numbers; -1 is a word no n-gram has.
class GramTree {
 public:
  int64_t step(int64_t node, int64_t word) const {
    if (word < 0) return -1;
    const auto at = next_.find(key(node, word));
    return at == next_.end() ? -1 : at->second;
  }
  int64_t grow(int64_t node, int64_t word) {
    const auto [at, fresh] = next_.emplace(key(node, word), static_cast<int64_t>(gram_.size()));
    if (fresh) gram_.push_back(-1);
    return at->second;
  }
  /// Which n-gram ends at a node; -1: none.
  int64_t gram(int64_t node) const { return gram_[static_cast<size_t>(node)]; }
  void set_gram(int64_t node, int64_t gram) { gram_[static_cast<size_t>(node)] = gram; }

 private:
  static uint64_t key(int64_t node, int64_t word) {
    return static_cast<uint64_t>(node) << 32 | static_cast<uint64_t>(word);
  }
  std::unordered_map<uint64_t, int64_t> next_;
  std::vector<int64_t> gram_ = {-1};
};

/// Numbers for the words of a pool.
class Words {
 public:
  explicit Words(const Tensor& pool) : texts_(pool.dtype() == DType::str) {
    for (int64_t i = 0; i < pool.count(); ++i) {
      if (texts_)
        text_.emplace(pool.strings()[static_cast<size_t>(i)], static_cast<int64_t>(text_.size()));
      else
        number_.emplace(int_at(pool, i), static_cast<int64_t>(number_.size()));
    }
  }
  int64_t of(const Tensor& t, int64_t i) const {
    if (texts_) {
      const auto at = text_.find(t.strings()[static_cast<size_t>(i)]);
      return at == text_.end() ? -1 : at->second;
    }
    const auto at = number_.find(int_at(t, i));
    return at == number_.end() ? -1 : at->second;
  }

 private:
  bool texts_;
  std::unordered_map<std::string, int64_t> text_;
  std::unordered_map<int64_t, int64_t> number_;
};

int64_t columns_of(const TfIdfAttrs& a) {
  return a.gram_columns.empty() ? 0 : *std::max_element(a.gram_columns.begin(), a.gram_columns.end()) + 1;
}

constexpr int64_t kMaxColumns = int64_t{1} << 31;

/// What must hold of the lists; the text of the fault.
Status check(const InferCall& c, const TfIdfAttrs& a) {
  if (a.min_gram < 1 || a.max_gram < a.min_gram)
    return c.error("n-grams of {} to {} words; needed at least 1", a.min_gram, a.max_gram);
  if (a.max_skip < 0) return c.error("max_skip is {}", a.max_skip);
  const DType words = a.pool.dtype();
  if (words != DType::str && words != DType::i64) return c.error("pool is {}; needed i64 or texts", name(words));
  if (a.gram_starts.empty() || a.gram_starts[0] != 0) return c.error("gram_starts must begin with 0");
  int64_t grams = 0;
  for (size_t i = 0; i < a.gram_starts.size(); ++i) {
    const int64_t from = a.gram_starts[i], to = i + 1 < a.gram_starts.size() ? a.gram_starts[i + 1] : a.pool.count();
    const auto size = static_cast<int64_t>(i) + 1;
    if (from < 0 || to < from || to > a.pool.count() || (to - from) % size != 0)
      return c.error("words {} to {} of {} in the pool are no {}-grams", from, to, a.pool.count(), size);
    grams += (to - from) / size;
  }
  if (grams != static_cast<int64_t>(a.gram_columns.size()))
    return c.error("{} n-grams in the pool; {} gram_columns", grams, a.gram_columns.size());
  if (!a.weights.empty() && a.weights.size() != a.gram_columns.size())
    return c.error("{} n-grams; {} weights", grams, a.weights.size());
  for (int64_t column : a.gram_columns)
    if (column < 0 || column >= kMaxColumns) return c.error("an n-gram counts in column {}", column);
  return {};
}

Status infer_tf_idf(InferCall& c) {
  const auto& a = c.attr<TfIdfAttrs>();
  NNEX_TRY(check(c, a));
  if (c.dtype(0) != DType::none && (c.dtype(0) == DType::str) != (a.pool.dtype() == DType::str))
    return c.error("x is {}; the pool is {}", name(c.dtype(0)), name(a.pool.dtype()));
  if (!c.dims(0)) {
    c.result(0, MaybeDims{});
    return {};
  }
  const Dims& d = *c.dims(0);
  if (d.size() > 2) return c.error("x has {} axes; needed 1 or 2", d.size());
  Dims out(d.size() == 2 ? 1 : 0, d.empty() ? Dim(1) : d[0]);
  out.emplace_back(columns_of(a));
  c.result(0, std::move(out));
  return {};
}

GramTree tree_of(const TfIdfAttrs& a, const Words& words) {
  GramTree tree;
  int64_t gram = 0;
  for (size_t i = 0; i < a.gram_starts.size(); ++i) {
    const auto size = static_cast<int64_t>(i) + 1;
    const int64_t to = i + 1 < a.gram_starts.size() ? a.gram_starts[i + 1] : a.pool.count();
    for (int64_t at = a.gram_starts[i]; at < to; at += size, ++gram) {
      if (size < a.min_gram || size > a.max_gram) continue;
      int64_t node = 0;
      for (int64_t k = 0; k < size; ++k) node = tree.grow(node, words.of(a.pool, at + k));
      tree.set_gram(node, gram);
    }
  }
  return tree;
}

/// found(gram) for every n-gram of a row: its words stand `pace` apart, 1 to max_skip + 1; single words count once.
template <class F>
Status each_gram(const TfIdfAttrs& a, const GramTree& tree, std::span<const int64_t> row, Asked& asked, F found) {
  const auto n = static_cast<int64_t>(row.size());
  for (int64_t pace = 1; pace <= std::min(a.max_skip, n) + 1; ++pace) {
    if (pace > 1 && (a.max_gram == 1 || pace >= n)) return {};
    for (int64_t start = 0; start < n; ++start) {
      int64_t node = 0, size = 1;
      for (int64_t at = start; at < n && size <= a.max_gram; at += pace, ++size) {
        node = tree.step(node, row[static_cast<size_t>(at)]);
        if (node < 0) break;
        if (tree.gram(node) >= 0 && (pace == 1 || size > 1)) found(tree.gram(node));
      }
      NNEX_TRY(asked.now_and_then(size));
    }
  }
  return {};
}

Status run_tf_idf(Call& c) {
  const auto& a = c.attr<TfIdfAttrs>();
  const Tensor& x = c.in(0);
  if (x.shape().rank() > 2) return c.fault("x has {} axes; needed 1 or 2", x.shape().rank());
  const Words words(a.pool);
  const GramTree tree = tree_of(a, words);
  const int64_t rows = x.shape().rank() == 2 ? x.shape()[0] : 1, length = rows ? x.count() / rows : 0,
                columns = columns_of(a);
  const auto y = c.out<float>(0);
  std::fill(y.begin(), y.end(), 0.0F);
  std::vector<int64_t> row(static_cast<size_t>(length)), counts(a.gram_columns.size());
  Asked asked(c);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < length; ++i) row[static_cast<size_t>(i)] = words.of(x, r * length + i);
    std::fill(counts.begin(), counts.end(), 0);
    NNEX_TRY(each_gram(a, tree, row, asked, [&](int64_t gram) { ++counts[static_cast<size_t>(gram)]; }));
    for (size_t g = 0; g < counts.size(); ++g) {
      if (counts[g] == 0) continue;
      const double weight = a.mode == TfIdfMode::tf || a.weights.empty() ? 1 : a.weights[g];
      const double times = a.mode == TfIdfMode::idf ? 1 : static_cast<double>(counts[g]);
      y[static_cast<size_t>(r * columns + a.gram_columns[g])] = static_cast<float>(times * weight);
    }
  }
  return {};
}

constexpr OpRow kTfIdfOps[] = {
    {.name = "tf_idf_vectorizer",
     .summary = "How often the n-grams of a pool occur in each row, perhaps weighed.",
     .source = "ONNX TfIdfVectorizer-9",
     .inputs = {{"x", types(DType::str, DType::i32, DType::i64)}},
     .outputs = {{"y", DType::f32}},
     .attrs = attrs_of<TfIdfAttrs>(
         {field<&TfIdfAttrs::min_gram>("min_gram", "Fewest words of an n-gram that counts.", required),
          field<&TfIdfAttrs::max_gram>("max_gram", "Most words.", required),
          field<&TfIdfAttrs::max_skip>("max_skip", "Most words left out between two words of an n-gram.", required),
          field<&TfIdfAttrs::mode>("mode", "What a column says.", required),
          field<&TfIdfAttrs::pool>("pool", "The words of all 1-grams, then of all 2-grams, ...", required),
          field<&TfIdfAttrs::gram_starts>("gram_starts", "Where in the pool the 1-grams, 2-grams, ... begin.",
                                          required),
          field<&TfIdfAttrs::gram_columns>("gram_columns", "Column of y of each n-gram of the pool.", required),
          field<&TfIdfAttrs::weights>("weights", "One an n-gram; empty: 1.")}),
     .infer = infer_tf_idf,
     .reference = any(run_tf_idf),
     .spelled = {{onnx,
                  "TfIdfVectorizer",
                  {{"min_gram", "min_gram_length"},
                   {"max_gram", "max_gram_length"},
                   {"max_skip", "max_skip_count"},
                   {"mode", "mode", &lower_case},
                   {"gram_starts", "ngram_counts"},
                   {"gram_columns", "ngram_indexes"}},
                  9}}},
};
}  // namespace

std::span<const OpDef> tf_idf_ops() { return stored<kTfIdfOps>(); }

}  // namespace nnex
