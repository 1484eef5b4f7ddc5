#pragma once
// Which operators this build runs: all, or those that NNEX_OPS names; and which it knows more of than the name
// (NNEX_OPS_ALONE, docs/small-builds.md).

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>

namespace nnex {

class Error;

namespace detail {
constexpr std::string_view kBuiltOps[] = {
#include "ops_built.inc"
};
constexpr std::string_view kKnownOps[] = {
#include "ops_known.inc"
};
constexpr std::string_view kOnnxOps[] = {
#include "ops_onnx.inc"
};

constexpr std::string_view kBuiltPasses[] = {
#include "passes_built.inc"
};

/// A list of all is one empty name.
template <size_t N>
constexpr bool lists(const std::string_view (&names)[N], std::string_view name) {
  return names[0].empty() || std::find(std::begin(names), std::end(names), name) != std::end(names);
}
}  // namespace detail

/// A row that is not keeps its ports and its shape rule: models with it are read, checked and converted, but not run.
constexpr bool is_built(std::string_view op) { return detail::lists(detail::kBuiltOps, op); }

/// Of a row that is not the table has the name and what standards call it: models with it are refused.
constexpr bool is_known(std::string_view op) { return detail::lists(detail::kKnownOps, op); }
/// What is said of it.
Error left_out(std::string_view op);
inline constexpr bool kKnowsAll = detail::kKnownOps[0].empty();
/// Whether a pass, or a stage of making a graph ready, is in this build.
constexpr bool has_pass(std::string_view name) { return detail::lists(detail::kBuiltPasses, name); }
/// Whether nodes of ONNX that are called so are read by more than their spelling.
constexpr bool is_read_of_onnx(std::string_view name) { return detail::lists(detail::kOnnxOps, name); }

}  // namespace nnex
