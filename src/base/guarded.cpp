#include "base/guarded.h"

namespace nnex {

std::string out_of_memory() {
  try {
    throw;
  } catch (const NoMemory& told) {
    return told.what();
  } catch (...) {
    return "out of memory";
  }
}

}  // namespace nnex
