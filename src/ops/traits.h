#pragma once
// What more than one pass, analysis or kernel asks of a row, answered by its columns: no list of names elsewhere says
// it again. tests/unit/table_test.cpp tells which rows each is.

#include "ops/compare.h"
#include "ops/pool.h"
#include "ops/table.h"

namespace nnex {

/// Output 0 is sums of products of inputs 0 and 1; input 2, if any, is added.
constexpr bool is_product(const OpDef& op) { return op.in_bytes == ByteRole::product; }

/// A product that may add a bias.
constexpr bool is_biased_product(const OpDef& op) { return is_product(op) && op.inputs.size() > 2; }

/// Output 0 is input 0 between limits, which are numbers or further inputs.
constexpr bool is_limit(const OpDef& op) { return op.in_bytes == ByteRole::limit; }

/// Output 0 has the greatest of each window of input 0: codes and narrow elements stay what they are.
inline bool takes_greatest(const OpDef& op) {
  return op.in_bytes == ByteRole::moves && op.attrs.type == &detail::type_tag<PoolAttrs>;
}

/// Every element of output 0 is 0 or 1.
inline bool is_answer(const OpDef& op) { return op.attrs.type == &detail::type_tag<AnswerAttrs>; }

}  // namespace nnex
