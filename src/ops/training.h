#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "nnex/result.h"
#include "ops/attrs.h"

namespace nnex {

class Call;

struct DropoutAttrs {
  std::optional<int64_t> seed;
};

/// What becomes of the losses of all items.
enum class LossReduction : uint8_t { none, sum, mean };
constexpr std::array<std::string_view, 3> enumerators(LossReduction) { return {"none", "sum", "mean"}; }

struct LossAttrs {
  LossReduction reduction = LossReduction::mean;
  std::optional<int64_t> ignore;
};

/// Output 0 of a loss over classes from the logarithms of probabilities, which have the shape of input 0.
Status loss_of(Call& c, const float* log_prob);

struct GradientAttrs {
  Texts xs;
  Texts zs;
  std::string y;
};

struct AdagradAttrs {
  double decay = 0;
  double epsilon = 1e-6;
  double norm = 0;
};

struct AdamAttrs {
  double alpha = 0.9;
  double beta = 0.999;
  double epsilon = 1e-6;
  double norm = 0;
  double norm_post = 0;
};

struct MomentumAttrs {
  double alpha = 0;
  double beta = 0;
  double norm = 0;
  bool nesterov = false;
};

}  // namespace nnex
