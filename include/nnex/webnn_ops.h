#pragma once
/// The operations of a graph builder, typed.

#include "nnex/webnn_types.h"

namespace nnex::ml {

/// What GraphBuilder inherits: one method an operation of the specification.
class Operations {
 protected:
  std::shared_ptr<BuilderState> state_;
};

}  // namespace nnex::ml
