#pragma once
// The parts of the addon. Each adds its functions and classes to the module's exports.

#include <napi.h>

namespace nnex::js {

/// Contexts, builders, tensors and graphs of WebNN: what packages/nnex/src/ml stands on.
void add_webnn(Napi::Env env, Napi::Object exports);
/// Models and sessions, checking, inspecting, converting: what packages/nnex/src/model stands on.
void add_models(Napi::Env env, Napi::Object exports);

}  // namespace nnex::js
