#pragma once
// Forms of fused regions as bytes, for snapshots of graphs (graph/snapshot.h) that were fused already.

#include <memory>
#include <utility>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/function_ref.h"
#include "kernels/fused.h"

namespace nnex::kernels {

using Operation = std::pair<const OpDef*, std::shared_ptr<const void>>;

/// `operation` writes an operator and its attributes; null: none.
void write_form(const Fused& form, ByteWriter& to, FunctionRef<void(const Operation&)> operation);
/// A form of a node with so many inputs; where the bytes are none, null, and the reader is not ok().
std::shared_ptr<const Fused> read_form(ByteReader& from, size_t inputs, FunctionRef<Operation()> operation);

}  // namespace nnex::kernels
