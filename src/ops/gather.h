#pragma once

#include <array>

#include "ops/attrs.h"

namespace nnex {

/// What an index still outside its axis does.
enum class Outside : uint8_t { fault, clamp };
constexpr std::array<std::string_view, 2> enumerators(Outside) { return {"fault", "clamp"}; }

struct GatherAttrs {
  int64_t axis = 0;
  bool from_end = true;
  Outside outside = Outside::fault;
};

struct GatherNdAttrs {
  int64_t batch_dims = 0;
  bool from_end = true;
  Outside outside = Outside::fault;
};

struct OneHotAttrs {
  int64_t axis = -1;
  bool from_end = true;
};

}  // namespace nnex
