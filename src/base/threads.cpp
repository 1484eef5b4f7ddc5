#include "base/threads.h"

namespace nnex {

int usable_threads() { return 1; }
Team::Team(int) {}
Team::~Team() = default;

void Team::run(int64_t parts, FunctionRef<void(int64_t part)> work) {
  for (int64_t part = 0; part < parts; ++part) work(part);
}

}  // namespace nnex
