#include "tensor/nesting.h"

#include <algorithm>

#include "base/failure.h"

namespace nnex {
namespace {

/// Whether there are at most `levels` below.
bool nests(const Value& value, int levels) {
  const auto each = [&](const std::vector<Value>& items) {
    return std::all_of(items.begin(), items.end(), [&](const Value& item) { return nests(item, levels - 1); });
  };
  const Sequence* s = value.sequence();
  const Map* m = value.map();
  const Optional* o = value.optional();
  if (!s && !m && !o) return true;
  if (levels == 0) return false;
  if (o) return !o->item || nests(*o->item, levels - 1);
  return each(s ? s->items : m->values);
}

}  // namespace

Status check_nesting(const Value& value) {
  if (nests(value, kMaxNesting)) return {};
  return failure(Code::limit, "values nest deeper than {}", kMaxNesting);
}

}  // namespace nnex
