#include "base/loading.h"

namespace nnex {

Status Loading::asked() const {
  if (cancel_ && cancel_->load(std::memory_order_relaxed)) return Error(Code::cancelled, "loading was cancelled");
  if (deadline_ && std::chrono::steady_clock::now() > *deadline_)
    return Error(Code::cancelled, "loading passed its deadline");
  return outer_ ? outer_->asked() : Status();
}

}  // namespace nnex
