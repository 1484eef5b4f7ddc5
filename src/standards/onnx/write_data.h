#pragma once
// Values as ONNX's messages of data: TensorProto, SparseTensorProto, SequenceProto, MapProto, OptionalProto.

#include <string>
#include <string_view>

#include "base/try.h"
#include "nnex/tensor.h"

namespace nnex::onnx_format {

/// The message of the value, as read_value() takes it. Errors: unsupported (a type ONNX has not), limit (too deep).
Result<std::string> write_value(const Value& value, std::string_view name);

}  // namespace nnex::onnx_format
