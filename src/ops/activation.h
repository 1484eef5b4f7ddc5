#pragma once

#include <array>
#include <string_view>

#include "ops/attrs.h"

namespace nnex {

struct AlphaAttrs {
  double alpha = 1;
};

struct LeakyReluAttrs {
  double alpha = 0.01;
};

enum class GeluForm : uint8_t {
  erf,      ///< x/2 (1 + erf(x / sqrt 2))
  tanh,     ///< x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  sigmoid,  ///< x sigmoid(1.702 x)
};
constexpr std::array<std::string_view, 3> enumerators(GeluForm) { return {"erf", "tanh", "sigmoid"}; }

struct GeluAttrs {
  GeluForm form = GeluForm::erf;
};

struct SeluAttrs {
  double alpha = 1.67326319;
  double lambda = 1.05070102;
};

struct ShrinkAttrs {
  double lambda = 0.5;
  double bias = 0;
};

struct HardSigmoidAttrs {
  double alpha = 0.2;
  double beta = 0.5;
};

}  // namespace nnex
