#include "tensor/kept.h"

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "base/try.h"
#include "tensor/nesting.h"

namespace nnex {
namespace {

/// What a value holds by reference, which other values may hold too; null: a tensor, or nothing.
const void* held_by(const Value& v) {
  if (const Sequence* s = v.sequence()) return s;
  if (const Map* m = v.map()) return m;
  if (const SparseTensor* s = v.sparse()) return s;
  return v.optional() ? v.optional()->item.get() : nullptr;
}

/// Copies what is to be copied; what several values share is one again.
class Copier {
 public:
  explicit Copier(FunctionRef<bool(const Tensor&)> copied) : copied_(copied) {}

  Result<Value> of(const Value& v, int levels) {
    if (const Tensor* t = v.tensor()) {
      NNEX_ASSIGN(Tensor held, tensor(*t));
      return Value(std::move(held));
    }
    const void* const held = held_by(v);
    if (!held) return v;
    if (const auto known = made_.find(held); known != made_.end()) return known->second;
    if (levels == 0) return failure(Code::limit, "values nest deeper than {}", kMaxNesting);
    NNEX_ASSIGN(Value made, parts(v, levels - 1));
    return made_.emplace(held, std::move(made)).first->second;
  }

 private:
  Result<Tensor> tensor(const Tensor& t) const { return copied_(t) ? t.clone() : Result<Tensor>(t); }

  Result<std::vector<Value>> all(const std::vector<Value>& items, int levels) {
    std::vector<Value> out;
    for (const Value& item : items) {
      NNEX_ASSIGN(Value one, of(item, levels));
      out.push_back(std::move(one));
    }
    return out;
  }

  Result<Value> parts(const Value& v, int levels) {
    if (const SparseTensor* s = v.sparse()) {
      SparseTensor held{{}, {}, s->shape};
      NNEX_ASSIGN(held.values, tensor(s->values));
      NNEX_ASSIGN(held.indices, tensor(s->indices));
      return Value(std::move(held));
    }
    if (const Sequence* s = v.sequence()) {
      Sequence held{s->element, {}};
      NNEX_ASSIGN(held.items, all(s->items, levels));
      return Value(std::move(held));
    }
    if (const Map* m = v.map()) {
      Map held;
      NNEX_ASSIGN(held.keys, tensor(m->keys));
      NNEX_ASSIGN(held.values, all(m->values, levels));
      return Value(std::move(held));
    }
    NNEX_ASSIGN(Value item, of(*v.optional()->item, levels));
    return Value(Optional{std::make_shared<const Value>(std::move(item))});
  }

  FunctionRef<bool(const Tensor&)> copied_;
  std::unordered_map<const void*, Value> made_;  ///< By what a value holds.
};

}  // namespace

bool any_tensor(const Value& v, FunctionRef<bool(const Tensor&)> is) {
  if (const Tensor* t = v.tensor()) return is(*t);
  std::vector<const Value*> waiting{&v};  // a program may nest values deeper than the stack is
  std::unordered_set<const void*> seen;
  const auto each = [&](const std::vector<Value>& items) {
    for (const Value& item : items) {
      if (const Tensor* t = item.tensor()) {
        if (is(*t)) return true;
      } else {
        waiting.push_back(&item);
      }
    }
    return false;
  };
  while (!waiting.empty()) {
    const Value& at = *waiting.back();
    waiting.pop_back();
    const void* const held = held_by(at);
    if (!held || !seen.insert(held).second) continue;
    if (const Sequence* s = at.sequence(); s && each(s->items)) return true;
    if (const Map* m = at.map(); m && (is(m->keys) || each(m->values))) return true;
    if (const SparseTensor* s = at.sparse(); s && (is(s->values) || is(s->indices))) return true;
    if (!at.optional()) continue;
    const Value& item = *at.optional()->item;
    if (const Tensor* t = item.tensor(); t ? is(*t) : (waiting.push_back(&item), false)) return true;
  }
  return false;
}

Result<Value> with_copies(const Value& v, FunctionRef<bool(const Tensor&)> copied) {
  if (!any_tensor(v, copied)) return v;
  return Copier(copied).of(v, kMaxNesting);
}

Result<Value> kept(const Value& v) {
  return with_copies(v, [](const Tensor& t) { return !t.owned() && t.count() > 0; });
}

}  // namespace nnex
