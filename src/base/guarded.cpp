#include "base/guarded.h"

namespace nnex {

std::string out_of_memory(const std::bad_alloc& thrown) {
  const auto* told = dynamic_cast<const NoMemory*>(&thrown);
  return told ? told->what() : "out of memory";
}

}  // namespace nnex
