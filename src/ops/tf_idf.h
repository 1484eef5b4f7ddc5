#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

/// What a column says: how often, 1 or 0 times the weight, or how often times the weight.
enum class TfIdfMode : uint8_t { tf, idf, tfidf };
constexpr std::array<std::string_view, 3> enumerators(TfIdfMode) { return {"tf", "idf", "tfidf"}; }

struct TfIdfAttrs {
  int64_t min_gram = 1, max_gram = 1, max_skip = 0;
  TfIdfMode mode = TfIdfMode::tf;
  Tensor pool;
  Ints gram_starts, gram_columns;
  Reals weights;
};

}  // namespace nnex
