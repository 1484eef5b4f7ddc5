#include "top.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "describe.h"
#include "nnex/elements.h"

namespace nnex::cli {
namespace {

constexpr int64_t kMaxRows = 16;

/// The order of --topk: the largest first, NaN last.
bool before(const Tensor& t, int64_t a, int64_t b) {
  if (t.dtype() == DType::u64) return static_cast<uint64_t>(int_at(t, a)) > static_cast<uint64_t>(int_at(t, b));
  if (!is_real(t.dtype())) return int_at(t, a) > int_at(t, b);
  const double x = real_at(t, a), y = real_at(t, b);
  return std::isnan(y) ? !std::isnan(x) : x > y;
}

/// What is told of the element `i`, which has an index in its row.
Top::Item item_at(const Tensor& t, int64_t i, int64_t index) {
  if (is_real(t.dtype())) {
    const double x = real_at(t, i);
    return {index, fmt::format("{:.4f}", x), number_of(x)};
  }
  const int64_t x = int_at(t, i);
  if (t.dtype() == DType::u64) return {index, std::to_string(static_cast<uint64_t>(x)), static_cast<uint64_t>(x)};
  return {index, std::to_string(x), x};
}

/// The k largest of the `count` elements from `first` on.
std::vector<Top::Item> largest(const Tensor& t, int64_t first, int64_t count, int k) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(t, a, b); });
  order.resize(std::min(order.size(), static_cast<size_t>(k)));
  std::vector<Top::Item> out;
  for (int64_t i : order) out.push_back(item_at(t, i, i - first));
  return out;
}

/// The indices of row number `n`.
std::vector<int64_t> place(const Shape& shape, int64_t n) {
  std::vector<int64_t> at(static_cast<size_t>(std::max<int64_t>(shape.rank() - 1, 0)));
  for (size_t a = at.size(); a-- > 0;) {
    at[a] = n % shape[static_cast<int64_t>(a)];
    n /= shape[static_cast<int64_t>(a)];
  }
  return at;
}

std::string label_of(const std::vector<std::string>& labels, int64_t i) {
  return static_cast<size_t>(i) < labels.size() ? labels[static_cast<size_t>(i)] : "";
}

}  // namespace

std::optional<Top> top_of(const Value& value, int k) {
  const Tensor* t = value.tensor();
  if (!t || t->dtype() == DType::str || is_complex(t->dtype())) return std::nullopt;
  Top top;
  const int64_t width = t->shape().rank() > 0 ? t->shape()[t->shape().rank() - 1] : 1;
  if (width == 0) return top;
  top.rows_in_all = t->count() / width;
  for (int64_t n = 0; n < std::min(top.rows_in_all, kMaxRows); ++n)
    top.rows.push_back({place(t->shape(), n), largest(*t, n * width, width, k)});
  return top;
}

void print(const Top& top, const std::vector<std::string>& labels) {
  for (const Top::Row& row : top.rows) {
    if (top.rows_in_all > 1) say("  row [{}]\n", fmt::join(row.at, ","));
    for (const Top::Item& item : row.items) {
      const std::string label = label_of(labels, item.index);
      say("  {:>8}  {}\n", item.text, label.empty() ? std::to_string(item.index) : one_line(label));
    }
  }
  const auto shown = static_cast<int64_t>(top.rows.size());
  if (shown < top.rows_in_all) say("  ... {} more rows ({} in all)\n", top.rows_in_all - shown, top.rows_in_all);
}

void to_json(const Top& top, const std::vector<std::string>& labels, Json& row) {
  row["rows"] = top.rows_in_all;
  row["top"] = Json::array();
  for (const Top::Row& r : top.rows)
    for (const Top::Item& item : r.items)
      row["top"].push_back(
          {{"row", r.at}, {"index", item.index}, {"value", item.value}, {"label", label_of(labels, item.index)}});
}

}  // namespace nnex::cli
