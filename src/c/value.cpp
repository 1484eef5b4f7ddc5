// Tensors and other values of the C interface.

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/try.h"
#include "c/handles.h"
#include "tensor/kept.h"
#include "tensor/sparse.h"

namespace nnex::c {
namespace {

Result<DType> element_type(nnex_dtype dtype) {
  if (dtype <= NNEX_NONE || dtype > NNEX_STR)
    return Error(Code::invalid_argument, "found no element type (" + std::to_string(static_cast<int>(dtype)) + ")");
  return static_cast<DType>(dtype);
}

const Tensor* tensor_of(const nnex_value* v) { return v ? v->value.tensor() : nullptr; }

/// The tensor of an argument that lasts. Errors: invalid_argument (it is none), limit.
Result<Tensor> tensor_for(const nnex_value& v, const char* argument) {
  NNEX_ASSIGN(Value held, lasting(v));
  if (!held.tensor())
    return Error(Code::invalid_argument, std::string("found ") + v.text + " for '" + argument + "'; needed a tensor");
  return std::move(*held.tensor());
}

/// The order in which keys ascend. Error: invalid_argument, one that is there twice.
template <class Keys>
Result<std::vector<size_t>> ascending(const Keys& keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
  for (size_t i = 1; i < order.size(); ++i)
    if (keys[order[i - 1]] == keys[order[i]])
      return Error(Code::invalid_argument, "found key " + std::to_string(std::min(order[i - 1], order[i])) +
                                               " again as key " + std::to_string(std::max(order[i - 1], order[i])));
  return order;
}

/// The map of keys in any order. Errors: invalid_argument, limit.
template <class T>
Result<Map> map_of(const Tensor& given, const std::vector<Value>& values) {
  NNEX_ASSIGN(const Tensor keys, given.aligned_copy());
  NNEX_ASSIGN(const std::vector<size_t> order, ascending(keys.as<T>()));
  std::vector<T> sorted;
  Map map;
  for (size_t i : order) sorted.push_back(keys.as<T>()[i]), map.values.push_back(values[i]);
  NNEX_ASSIGN(map.keys, Tensor::from(given.shape(), sorted));
  return map;
}

/// sizes: null where the texts end in 0.
nnex_error* tensor_of_texts(size_t rank, const int64_t* extents, const char* const* texts, const size_t* sizes,
                            size_t count, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    auto shape = shape_of(rank, extents);
    if (!shape.ok()) return std::move(shape).error();
    std::vector<std::string> all;
    for (size_t i = 0; i < count; ++i) {
      if (!texts || !texts[i]) return null_item("texts", texts, i);
      all.emplace_back(texts[i], sizes ? sizes[i] : std::strlen(texts[i]));
    }
    auto t = Tensor::from<std::string>(std::move(*shape), all);
    if (!t.ok()) return std::move(t).error();
    *out = new nnex_value(Value(std::move(*t)));
    return {};
  });
}

}  // namespace

constexpr size_t kMaxRank = 1024;

Result<Shape> shape_of(size_t rank, const int64_t* extents) {
  if (rank > kMaxRank || (rank && !extents))
    return Error(Code::invalid_argument,
                 "found a rank of " + std::to_string(rank) + (extents ? "" : " without extents"));
  Shape shape(std::span<const int64_t>(extents, rank));
  for (int64_t e : shape)
    if (e < 0) return Error(Code::invalid_argument, "found shape " + shape.text() + "; needed extents of 0 or more");
  if (!shape.checked_count()) return Error(Code::limit, "a shape of " + shape.text() + " is too large");
  return shape;
}

int nesting_of(const Value& v) {
  int nesting = 0;
  for (const Value* at = &v; at; ++nesting) {
    const Sequence* s = at->sequence();
    const Map* m = at->map();
    const Optional* o = at->optional();
    const std::vector<Value>* items = s ? &s->items : m ? &m->values : nullptr;
    if (!items && !o) break;
    at = o ? o->item.get() : items->empty() ? nullptr : &items->front();
  }
  return nesting;
}

Result<int> nesting_around(int nesting) {
  if (nesting < kMaxNesting) return nesting + 1;
  return Error(Code::limit, "values nest deeper than " + std::to_string(kMaxNesting));
}

Result<Value> lasting(const nnex_value& v) {
  if (!v.lent) return v.value;
  return kept(v.value);
}

}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_tensor_make(nnex_dtype dtype, size_t rank, const int64_t* extents, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    auto type = element_type(dtype);
    if (!type.ok()) return std::move(type).error();
    auto shape = shape_of(rank, extents);
    if (!shape.ok()) return std::move(shape).error();
    auto t = Tensor::make(*type, std::move(*shape));
    if (!t.ok()) return std::move(t).error();
    if (t->bytes() > 0 && *type != DType::str) std::memset(t->mutable_data(), 0, static_cast<size_t>(t->bytes()));
    *out = new nnex_value(Value(std::move(*t)));
    return {};
  });
}

nnex_error* nnex_tensor_borrow(nnex_dtype dtype, size_t rank, const int64_t* extents, void* data,
                               void (*release)(void*), void* context, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    auto type = element_type(dtype);
    if (!type.ok()) return std::move(type).error();
    if (*type == DType::str)
      return Error(Code::invalid_argument, "texts cannot be borrowed; nnex_tensor_strings copies them");
    auto shape = shape_of(rank, extents);
    if (!shape.ok()) return std::move(shape).error();
    if (!data && shape->count() > 0) return null_argument("data");
    auto owner = std::make_shared<Owner>();
    // Without a release the bytes have no owner: an empty pointer, which only counts who shares them.
    std::shared_ptr<const void> counted(owner, release ? owner.get() : nullptr);
    auto made =
        std::make_unique<nnex_value>(Tensor::borrow_mutable(*type, std::move(*shape), data, std::move(counted)));
    owner->context = context, owner->release = release;
    *out = made.release();
    return {};
  });
}

nnex_error* nnex_tensor_strings(size_t rank, const int64_t* extents, const char* const* texts, size_t count,
                                nnex_value** out) {
  return tensor_of_texts(rank, extents, texts, nullptr, count, out);
}

nnex_error* nnex_tensor_texts(size_t rank, const int64_t* extents, const char* const* texts, const size_t* sizes,
                              size_t count, nnex_value** out) {
  if (!sizes && count > 0) {
    if (out) *out = nullptr;
    return c::guarded([]() -> Status { return null_argument("sizes"); });
  }
  return tensor_of_texts(rank, extents, texts, sizes, count, out);
}

nnex_kind nnex_value_kind(const nnex_value* v) {
  if (!v || v->value.empty()) return NNEX_EMPTY;
  if (v->value.tensor()) return NNEX_TENSOR;
  if (v->value.sparse()) return NNEX_SPARSE;
  if (v->value.sequence()) return NNEX_SEQUENCE;
  return v->value.map() ? NNEX_MAP : NNEX_OPTIONAL;
}

const char* nnex_value_text(const nnex_value* v) { return v ? v->text.c_str() : nullptr; }

size_t nnex_value_count(const nnex_value* v) {
  switch (nnex_value_kind(v)) {
    case NNEX_SPARSE:
      return 2;
    case NNEX_SEQUENCE:
      return v->value.sequence()->items.size();
    case NNEX_MAP:
      return 1 + v->value.map()->values.size();
    case NNEX_OPTIONAL:
      return v->value.optional()->item ? 1 : 0;
    default:
      return 0;
  }
}

nnex_error* nnex_value_item(const nnex_value* value, size_t index, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(value);
    NNEX_C_NEED(out);
    const size_t count = nnex_value_count(value);
    if (index >= count)
      return Error(Code::invalid_argument,
                   "item " + std::to_string(index) + " of " + value->text + ", which has " + std::to_string(count));
    NNEX_ASSIGN(const Value all, lasting(*value));
    Value item;
    if (const SparseTensor* s = all.sparse())
      item = index == 0 ? s->values : s->indices;
    else if (const Sequence* s = all.sequence())
      item = s->items[index];
    else if (const Map* m = all.map())
      item = index == 0 ? Value(m->keys) : m->values[index - 1];
    else
      item = *all.optional()->item;
    *out = new nnex_value(std::move(item), value->nesting - 1);
    return {};
  });
}

nnex_error* nnex_sequence_make(nnex_value* const* items, size_t count, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    Sequence s;
    int nesting = 1;
    for (size_t i = 0; i < count; ++i) {
      if (!items || !items[i]) return null_item("items", items, i);
      NNEX_ASSIGN(const int around, nesting_around(items[i]->nesting));
      nesting = std::max(nesting, around);
      NNEX_ASSIGN(Value item, lasting(*items[i]));
      s.items.push_back(std::move(item));
      if (const Tensor* t = s.items.back().tensor(); t && i == 0) s.element = t->dtype();
    }
    *out = new nnex_value(Value(std::move(s)), nesting);
    return {};
  });
}

nnex_error* nnex_optional_make(const nnex_value* item, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(out);
    Optional o;
    int nesting = 1;
    if (item) {
      NNEX_ASSIGN(nesting, nesting_around(item->nesting));
      NNEX_ASSIGN(Value held, lasting(*item));
      o.item = std::make_shared<const Value>(std::move(held));
    }
    *out = new nnex_value(Value(std::move(o)), nesting);
    return {};
  });
}

nnex_error* nnex_map_make(const nnex_value* keys, nnex_value* const* values, size_t count, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(keys);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const Tensor k, tensor_for(*keys, "keys"));
    if (k.shape().rank() != 1 || (k.dtype() != DType::i64 && k.dtype() != DType::str))
      return Error(Code::invalid_argument, "found " + keys->text + " for 'keys'; needed i64[n] or str[n]");
    if (k.count() != static_cast<int64_t>(count))
      return Error(Code::invalid_argument, "found " + std::to_string(k.count()) + " keys and " + std::to_string(count) +
                                               " values; needed as many");
    std::vector<Value> held;
    int nesting = 1;
    for (size_t i = 0; i < count; ++i) {
      if (!values || !values[i]) return null_item("values", values, i);
      NNEX_ASSIGN(const int around, nesting_around(values[i]->nesting));
      nesting = std::max(nesting, around);
      NNEX_ASSIGN(Value one, lasting(*values[i]));
      held.push_back(std::move(one));
    }
    NNEX_ASSIGN(Map map, k.dtype() == DType::str ? map_of<std::string>(k, held) : map_of<int64_t>(k, held));
    *out = new nnex_value(Value(std::move(map)), nesting);
    return {};
  });
}

nnex_error* nnex_sparse_make(const nnex_value* values, const nnex_value* indices, size_t rank, const int64_t* extents,
                             nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(values);
    NNEX_C_NEED(indices);
    NNEX_C_NEED(out);
    SparseTensor t;
    NNEX_ASSIGN(t.values, tensor_for(*values, "values"));
    NNEX_ASSIGN(t.indices, tensor_for(*indices, "indices"));
    NNEX_ASSIGN(t.shape, shape_of(rank, extents));
    NNEX_TRY(check_sparse(t));
    *out = new nnex_value(Value(std::move(t)));
    return {};
  });
}

size_t nnex_sparse_rank(const nnex_value* v) {
  const SparseTensor* t = v ? v->value.sparse() : nullptr;
  return t ? static_cast<size_t>(t->shape.rank()) : 0;
}
const int64_t* nnex_sparse_extents(const nnex_value* v) {
  const SparseTensor* t = v ? v->value.sparse() : nullptr;
  return t ? t->shape.begin() : nullptr;
}

nnex_error* nnex_value_share(const nnex_value* value, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(value);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(Value same, lasting(*value));
    *out = new nnex_value(std::move(same));
    return {};
  });
}

void nnex_value_free(nnex_value* v) { delete v; }

nnex_dtype nnex_tensor_dtype(const nnex_value* v) {
  const Tensor* t = tensor_of(v);
  return t ? static_cast<nnex_dtype>(t->dtype()) : NNEX_NONE;
}
size_t nnex_tensor_rank(const nnex_value* v) {
  const Tensor* t = tensor_of(v);
  return t ? static_cast<size_t>(t->shape().rank()) : 0;
}
const int64_t* nnex_tensor_extents(const nnex_value* v) {
  const Tensor* t = tensor_of(v);
  return t ? t->shape().begin() : nullptr;
}
int64_t nnex_tensor_count(const nnex_value* v) {
  const Tensor* t = tensor_of(v);
  return t ? t->count() : 0;
}
size_t nnex_tensor_bytes(const nnex_value* v) {
  const Tensor* t = tensor_of(v);
  return t && t->dtype() != DType::str ? static_cast<size_t>(t->bytes()) : 0;
}
const void* nnex_tensor_data(const nnex_value* v) {
  const Tensor* t = tensor_of(v);
  return t && t->dtype() != DType::str ? t->data() : nullptr;
}
void* nnex_tensor_mutable_data(nnex_value* v) {
  Tensor* t = v ? v->value.tensor() : nullptr;
  const bool alone = t && t->writable() && t->owner().use_count() <= 1;
  return alone && t->dtype() != DType::str ? t->mutable_data() : nullptr;
}
const char* nnex_tensor_string(const nnex_value* v, int64_t index) { return nnex_tensor_text(v, index, nullptr); }
const char* nnex_tensor_text(const nnex_value* v, int64_t index, size_t* size) {
  if (size) *size = 0;
  const Tensor* t = tensor_of(v);
  if (!t || t->dtype() != DType::str || index < 0 || index >= t->count()) return nullptr;
  const std::string& text = t->strings()[static_cast<size_t>(index)];
  if (size) *size = text.size();
  return text.c_str();
}

}  // extern "C"
