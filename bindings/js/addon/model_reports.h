#pragma once
// What is known of models, as JavaScript's plain objects.

#include <napi.h>

#include "nnex/check.h"
#include "nnex/inspect.h"
#include "nnex/model.h"
#include "nnex/save.h"

namespace nnex::js {

Napi::Value to_js(Napi::Env env, const std::vector<PortInfo>& ports);
Napi::Value to_js(Napi::Env env, const Metadata& metadata);
Napi::Value to_js(Napi::Env env, const std::vector<NodeTime>& times);
Napi::Value to_js(Napi::Env env, const CheckReport& report);
Napi::Value to_js(Napi::Env env, const Inspection& inspection);
Napi::Value to_js(Napi::Env env, const SaveReport& report);
Napi::Value to_js(Napi::Env env, const std::vector<NamedBytes>& files);

}  // namespace nnex::js
