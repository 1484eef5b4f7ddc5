#pragma once
// What JavaScript gives for models: sources, options, values of inputs. The shapes are those of
// packages/nnex/src/model/native.ts.

#include "nnex/load.h"
#include "nnex/model.h"
#include "nnex/save.h"
#include "wire.h"

namespace nnex::wasm {

/// The bytes of files become the source's: they are freed with it. Text in the place of bytes says why there are none.
ModelSource source_from(const ml::idl::Value& from);
LoadOptions load_options_from(const ml::idl::Value& from);
SessionOptions session_options_from(const ml::idl::Value& from);
SaveOptions save_options_from(const ml::idl::Value& from);
std::map<std::string, std::vector<int64_t>> shapes_from(const ml::idl::Value& from);
/// Tensors borrow the bytes of the heap, which stay until the run is over.
Result<Value> value_from(const ml::idl::Value& from);

}  // namespace nnex::wasm
