#pragma once
// What exports that work with models answer.

#include "model_in.h"
#include "model_out.h"

namespace nnex::wasm {

/// What the last reply points into: JavaScript has copied it when it calls again.
struct Kept {
  std::vector<Value> values;
  std::vector<NamedBytes> files;
};
inline Kept& kept() {
  static Kept all;
  return all;
}

inline const uint8_t* bad(const Error& e) {
  Reply& reply = Reply::fresh();
  reply.bad(e);
  return reply.done();
}
inline Reply& good() {
  Reply& reply = Reply::fresh();
  reply.good();
  return reply;
}
template <class T>
const uint8_t* answer(const Result<T>& result) {
  if (!result.ok()) return bad(result.error());
  Reply& reply = good();
  put(reply, *result);
  return reply.done();
}
inline const uint8_t* answer(const Status& status) { return status.ok() ? good().done() : bad(status.error()); }

}  // namespace nnex::wasm
