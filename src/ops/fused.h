#pragma once

#include <memory>

#include "ops/table.h"

namespace nnex {

namespace kernels {
struct Fused;
}

/// What the body of a `fused` node is, as whoever put it there found it: kernels/fused.h. Null: nodes that run one by
/// one.
struct FusedAttrs {
  std::shared_ptr<const kernels::Fused> form;
};

/// Whether a row's nodes are regions that passes made.
inline bool is_fused(const OpDef& op) { return op.attrs.type == &detail::type_tag<FusedAttrs>; }

}  // namespace nnex
