#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace nnex {
namespace {

constexpr size_t kLongest = 64;  // longer names are compared by their first letters alone
constexpr size_t kFar = 3;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c; }

/// How many letters must change to make b of a; kFar where the lengths already differ by as many.
size_t distance(std::string_view a, std::string_view b) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= kFar) return kFar;
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + (lower(a[i]) != lower(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view found, std::span<const std::string_view> names) {
  std::string_view best, longer;
  size_t min = kFar, continued = 0;
  for (const std::string_view name : names) {
    const size_t n = distance(found.substr(0, kLongest), name.substr(0, kLongest));
    if (n < min && n < found.size()) min = n, best = name;
    if (!found.empty() && name.substr(0, found.size()) == found) ++continued, longer = name;
  }
  return best.empty() && continued == 1 ? longer : best;
}

std::string did_you_mean(std::string_view found, std::span<const std::string_view> names) {
  const std::string_view best = nearest(found, names);
  return best.empty() ? std::string() : fmt::format(" (did you mean '{}'?)", best);
}

std::string no_such(std::string_view kind, std::string_view found, std::span<const std::string_view> names) {
  std::string known;
  for (const std::string_view name : names) known += fmt::format(" '{}'", name);
  return fmt::format("no {} '{}'{}; the model has{}", kind, found, did_you_mean(found, names),
                     known.empty() ? " none" : ":" + known);
}

}  // namespace nnex
