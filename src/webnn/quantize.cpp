#include "base/try.h"
#include "webnn/rules.h"

namespace nnex::ml {

/// quantizeLinear, dequantizeLinear: scale and zero point have one shape; each of its extents divides the input's, and
/// stands for blocks of the quotient.
Status quantize_rule(Step& step) {
  const Ints shape = step.shape("input"), scale = step.shape("scale");
  NNEX_TRY(step.need_shape("zeroPoint", scale));
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] % scale[i] != 0)
      return step.fail("scale has extent {} at axis {}; it does not divide the input's {}", scale[i], i, shape[i]);
  return {};
}

}  // namespace nnex::ml
