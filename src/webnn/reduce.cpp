#include "webnn/rules.h"

namespace nnex::ml {

/// The row counts an axis named twice once.
Status reduce_rule(Step& step) { return step.need_axes("axes", step.shape("input").size()); }

}  // namespace nnex::ml
