#pragma once
// Sources and options of models, from the plain objects that TypeScript makes of what users give.

#include <napi.h>

#include "nnex/model.h"
#include "nnex/save.h"
#include "nnex/source.h"

namespace nnex::js {

/// {path}, {bytes, name} or {files: [[name, bytes], ...], name}. Bytes are copied now.
ModelSource source_from(const Napi::Object& from);
/// Members that are absent stay as they are by default.
LoadOptions load_options_from(const Napi::Object& from);
SessionOptions session_options_from(const Napi::Object& from);
SaveOptions save_options_from(const Napi::Object& from);
/// {name: [extent, ...]}.
std::map<std::string, std::vector<int64_t>> shapes_from(const Napi::Value& from);

}  // namespace nnex::js
