// The module that Node loads: once in every thread of JavaScript that asks for it, each with objects of its own.

#include "module.h"

#include "buffers.h"
#include "nnex/version.h"

namespace nnex::js {
namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  exports.Set("kind", "addon");
  exports.Set("version", std::string(kVersion));
  prepare_buffers(env);
  add_webnn(env, exports);
  add_models(env, exports);
  return exports;
}

}  // namespace
}  // namespace nnex::js

NAPI_MODULE_INIT() { return Napi::RegisterModule(env, exports, nnex::js::init); }
