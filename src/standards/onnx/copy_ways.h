#pragma once
// Where tensors lie in a model's messages: copies, and what compares them, go that way.

#include "standards/onnx/schema.h"

namespace nnex::onnx_format {

inline constexpr int kDeepestCopy = 256;  ///< As check_wire has it.

/// The message that a field holds, where tensors lie below it; else count.
inline MessageKind leads_to(MessageKind in, const wire::Field& f) {
  const FieldForm* const known = f.kind == wire::Kind::bytes ? find_field(in, f.number) : nullptr;
  return known && known->holds == Holds::message && has_tensors(known->message) ? known->message : MessageKind::count;
}

/// Fields of a TensorProto that are its data, or say where they are.
inline bool is_data(wire::FieldNumber field) {
  using T = TensorProto;
  return is_one_of(field, T::float_data, T::int32_data, T::string_data, T::int64_data, T::raw_data, T::double_data,
                   T::uint64_data, T::external_data, T::data_location);
}

/// Whether a field of a TensorProto says that its data lie in another file.
inline bool is_elsewhere(const wire::Field& f) {
  return f.number == TensorProto::data_location && f.integer() == kExternalData;
}

}  // namespace nnex::onnx_format
