#pragma once
// Where exceptions end.

#include <exception>
#include <new>
#include <stdexcept>

#include "nnex/result.h"

namespace nnex {

/// Runs f; what the standard library or a third party throws becomes an Error, once.
template <class F>
auto guarded(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Error(Code::limit, "out of memory");
  } catch (const std::length_error&) {
    return Error(Code::limit, "more items than memory can hold");
  } catch (const std::exception& e) {
    return Error(Code::internal, e.what());
  }
}

}  // namespace nnex
