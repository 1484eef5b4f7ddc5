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

/// The k largest of the `count` elements from `first` on.
std::vector<Top::Item> largest(const Tensor& t, int64_t first, int64_t count, int k) {
  const auto rank = [&](int64_t i) {
    const double x = real_at(t, first + i);
    return std::isnan(x) ? std::pair(1, 0.0) : std::pair(0, -x);
  };
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return rank(a) < rank(b); });
  order.resize(std::min(order.size(), static_cast<size_t>(k)));
  std::vector<Top::Item> out;
  for (int64_t i : order) out.push_back({i, real_at(t, first + i)});
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
      say("  {:>8.4f}  {}\n", item.value, label.empty() ? std::to_string(item.index) : one_line(label));
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
      row["top"].push_back({{"row", r.at},
                            {"index", item.index},
                            {"value", number_of(item.value)},
                            {"label", label_of(labels, item.index)}});
}

}  // namespace nnex::cli
