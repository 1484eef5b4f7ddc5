#pragma once
// Values, between JavaScript's plain objects and nnex's. A tensor is {type, dims, data}: the number of its DType, an
// array, a typed array (strings: an array); a sequence {element, items}; a map {keys, values}; an optional {item},
// where null is nothing; a sparse tensor {values, indices, dims}; null stands for no value at all.

#include <napi.h>

#include "buffers.h"
#include "nnex/tensor.h"

namespace nnex::js {

enum class Bytes : uint8_t {
  copy,    ///< JavaScript goes on while they are read.
  borrow,  ///< JavaScript waits. Memory that other threads can write is copied all the same.
  lend     ///< JavaScript goes on and leaves them alone. Memory that can be resized is copied too.
};

/// Throws a TypeError for what is no such object, or holds too few bytes: a mistake of our own TypeScript.
Value value_from(const Napi::Value& from, Bytes bytes);

/// Memory that is the value's alone becomes JavaScript's without a copy, as buffer_of() has it. Throws NoMemory.
Napi::Value to_js(Napi::Env env, Value value, Handing handing);

}  // namespace nnex::js
