#include "tensor/kept.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/try.h"

namespace nnex {

Result<Value> kept(const Value& v) {
  const auto tensor = [](const Tensor& t) -> Result<Tensor> {
    if (t.owned() || t.count() == 0) return t;
    return t.clone();
  };
  const auto all = [](const std::vector<Value>& items) -> Result<std::vector<Value>> {
    std::vector<Value> out;
    for (const Value& item : items) {
      NNEX_ASSIGN(Value one, kept(item));
      out.push_back(std::move(one));
    }
    return out;
  };
  if (const Tensor* t = v.tensor()) {
    NNEX_ASSIGN(Tensor held, tensor(*t));
    return Value(std::move(held));
  }
  if (const SparseTensor* s = v.sparse()) {
    SparseTensor held{{}, {}, s->shape};
    NNEX_ASSIGN(held.values, tensor(s->values));
    NNEX_ASSIGN(held.indices, tensor(s->indices));
    return Value(std::move(held));
  }
  if (const Sequence* s = v.sequence()) {
    Sequence held{s->element, {}};
    NNEX_ASSIGN(held.items, all(s->items));
    return Value(std::move(held));
  }
  if (const Map* m = v.map()) {
    Map held;
    NNEX_ASSIGN(held.keys, tensor(m->keys));
    NNEX_ASSIGN(held.values, all(m->values));
    return Value(std::move(held));
  }
  if (const Optional* o = v.optional(); o && o->item) {
    NNEX_ASSIGN(Value held, kept(*o->item));
    return Value(Optional{std::make_shared<const Value>(std::move(held))});
  }
  return v;
}

}  // namespace nnex
