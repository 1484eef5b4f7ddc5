#pragma once
// Which operators this build runs: all, or those that NNEX_OPS names (docs/small-builds.md).

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace nnex {
namespace detail {
constexpr std::string_view kBuiltOps[] = {
#include "ops_built.inc"
};
}  // namespace detail

/// A row that is not keeps its ports and its shape rule: models with it are read, checked and converted, but not run.
/// (A list of all is one empty name.)
constexpr bool is_built(std::string_view op) {
  return detail::kBuiltOps[0].empty() ||
         std::find(std::begin(detail::kBuiltOps), std::end(detail::kBuiltOps), op) != std::end(detail::kBuiltOps);
}

}  // namespace nnex
