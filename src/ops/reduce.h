#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// What an empty list of axes reduces.
enum class WhenEmpty : uint8_t { none, all };
constexpr std::array<std::string_view, 2> enumerators(WhenEmpty) { return {"none", "all"}; }

struct ReduceAttrs {
  bool keepdims = true;
  WhenEmpty when_empty = WhenEmpty::none;
  bool to_end = false;
};

struct ExtremeAttrs {
  bool keepdims = true;
  WhenEmpty when_empty = WhenEmpty::none;
  bool to_end = false;
  std::optional<double> initial;
};

struct TruthReduceAttrs {
  bool keepdims = true;
  WhenEmpty when_empty = WhenEmpty::none;
  bool to_end = false;
  DType result = DType::boolean;
};

struct MomentsAttrs {
  bool keepdims = true;
  bool to_end = false;
};

/// Which of several equal extremes an arg operator names.
enum class Ties : uint8_t { first, last };
constexpr std::array<std::string_view, 2> enumerators(Ties) { return {"first", "last"}; }

struct ArgReduceAttrs {
  Ints axes = {0};
  bool keepdims = true;
  Ties ties = Ties::first;
  DType result = DType::i64;
};

struct CumulativeAttrs {
  bool exclusive = false;
  bool reverse = false;
};

}  // namespace nnex
