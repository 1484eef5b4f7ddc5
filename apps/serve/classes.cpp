#include "serve/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "nnex/elements.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

bool is_real(const Tensor& t) { return !is_int(t.dtype()) && t.dtype() != DType::boolean; }

/// Whether element a comes before element b.
bool before(const Tensor& t, int64_t a, int64_t b) {
  if (is_real(t)) {
    const double x = real_at(t, a), y = real_at(t, b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
    return x != y ? x > y : a < b;
  }
  const int64_t x = int_at(t, a), y = int_at(t, b);
  if (x == y) return a < b;
  return t.dtype() == DType::u64 ? static_cast<uint64_t>(x) > static_cast<uint64_t>(y) : x > y;
}

std::string number_at(const Tensor& t, int64_t i) {
  if (is_real(t)) return fmt::format("{:f}", real_at(t, i));
  const int64_t x = int_at(t, i);
  return t.dtype() == DType::u64 ? fmt::to_string(static_cast<uint64_t>(x)) : fmt::to_string(x);
}

}  // namespace

ClassCount class_count(const Tensor& t, int64_t classes, bool rows) {
  ClassCount out;
  if (rows && t.shape().rank() > 0) out.groups = t.shape()[0];
  out.each = out.groups > 0 ? std::min(classes, t.count() / out.groups) : 0;
  return out;
}

Result<Tensor> classified(const Tensor& t, int64_t classes, bool rows) {
  const auto [groups, each] = class_count(t, classes, rows);
  const int64_t width = groups > 0 ? t.count() / groups : 0;
  const bool in_rows = rows && t.shape().rank() > 0;
  NNEX_ASSIGN(Tensor out, Tensor::make(DType::str, in_rows ? Shape{groups, each} : Shape{each}));
  auto text = out.mutable_as<std::string>().begin();
  std::vector<int64_t> order(static_cast<size_t>(width));
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = g * width;
    std::iota(order.begin(), order.end(), begin);
    std::partial_sort(order.begin(), order.begin() + each, order.end(),
                      [&](int64_t a, int64_t b) { return before(t, a, b); });
    for (int64_t i = 0; i < each; ++i, ++text) {
      const int64_t at = order[static_cast<size_t>(i)];
      *text = fmt::format("{}:{}", number_at(t, at), at - begin);
    }
  }
  return out;
}

}  // namespace nnex::serve
