#include "api/view/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/mapped_file.h"
#include "nnex/elements.h"

namespace nnex::drawing {
namespace {

/// The elements to look at, as numbers.
std::vector<double> sample(const Tensor& tensor, int64_t limit) {
  constexpr int64_t kStretches = 16;
  const int64_t n = tensor.count(), taken = std::min(n, limit);
  const int64_t stretches = taken < n ? std::min(kStretches, taken) : 1, each = taken / stretches;
  std::vector<double> out;
  out.reserve(static_cast<size_t>(each * stretches));
  for (int64_t s = 0; s < stretches; ++s) {
    const int64_t begin = stretches == 1 ? 0
                                         : static_cast<int64_t>(static_cast<double>(n - each) * static_cast<double>(s) /
                                                                static_cast<double>(stretches - 1));
    for (int64_t i = begin; i < begin + each; ++i) out.push_back(real_at(tensor, i));
  }
  return out;
}

void release(const Tensor& tensor) {
  const MappedFile* file = file_of(tensor.owner());
  if (!file) return;
  const auto* begin = reinterpret_cast<const char*>(tensor.data());
  if (begin >= file->bytes().data())
    file->release_pages(static_cast<uint64_t>(begin - file->bytes().data()), static_cast<uint64_t>(tensor.bytes()));
}

}  // namespace

std::optional<Statistics> statistics_of(const Tensor& tensor, int64_t limit) {
  if (!tensor.data() || tensor.count() <= 0 || limit <= 0 || is_object(tensor.dtype()) || is_complex(tensor.dtype()) ||
      tensor.dtype() == DType::none)
    return {};
  const std::vector<double> all = sample(tensor, limit);
  release(tensor);
  Statistics s;
  s.count = tensor.count(), s.looked = static_cast<int64_t>(all.size());
  s.low = std::numeric_limits<double>::infinity(), s.high = -s.low;
  for (double x : all) {
    if (!std::isfinite(x)) continue;
    ++s.finite;
    s.zeros += x == 0 ? 1 : 0;
    s.low = std::min(s.low, x), s.high = std::max(s.high, x);
    const double step = (x - s.mean) / static_cast<double>(s.finite);  // Welford
    s.deviation += step * (x - s.mean - step) * static_cast<double>(s.finite);
    s.mean += step;
  }
  if (s.finite == 0) {
    s.low = s.high = 0;
    return s;
  }
  s.deviation = std::sqrt(std::max(0.0, s.deviation / static_cast<double>(s.finite)));
  const double half = s.high / 2 - s.low / 2;  // the whole may pass what a double holds
  for (double x : all) {
    if (!std::isfinite(x)) continue;
    const double part = half > 0 ? std::clamp((x / 2 - s.low / 2) / half, 0.0, 1.0) : 0.5;
    ++s.bars[std::min(kBars - 1, static_cast<size_t>(part * kBars))];
  }
  return s;
}

}  // namespace nnex::drawing
