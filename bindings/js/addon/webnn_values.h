#pragma once
// Values of JavaScript, converted already by packages/nnex/src/ml, as those of nnex/webnn_call.h, and back.

#include <napi.h>

#include <string>

#include "nnex/webnn_call.h"

namespace nnex::js {

ml::idl::Value value_of(Napi::Env env, napi_value value);
ml::BigInt big_int_of(Napi::Env env, napi_value value);
std::string text_of(Napi::Env env, napi_value value);
/// Where the type's name is unknown: throws.
ml::DataType data_type_of(Napi::Env env, napi_value name);
ml::OperandDescriptor descriptor_of(const Napi::Object& descriptor);
/// Bytes (engine.ts) as they lie in JavaScript's memory.
ml::BufferSource source_of(const Napi::Object& data);
/// Sets own properties and items, whatever a page has done to the prototypes: plain assignments would find its setters.
void put(napi_env env, napi_value object, const std::string& name, napi_value value);
void put(napi_env env, napi_value array, size_t index, napi_value value);
Napi::Object limits_object(Napi::Env env, const ml::OpSupportLimits& limits);
Napi::String string_of(Napi::Env env, std::string_view text);
Napi::Array shape_array(Napi::Env env, const std::vector<uint32_t>& shape);

/// The exception of an error: what engine.ts says. `error` stays valid as long as the handle scope.
napi_value exception_of(napi_env env, const ml::Error& error);
[[noreturn]] void throw_error(Napi::Env env, const ml::Error& error);
/// The value, or a thrown exception.
template <class T>
T needed(Napi::Env env, ml::Result<T> result) {
  if (!result.ok()) throw_error(env, result.error());
  return std::move(result).value();
}
inline void needed(Napi::Env env, const ml::Status& status) {
  if (!status.ok()) throw_error(env, status.error());
}

}  // namespace nnex::js
