// Tensors and other values of the C interface.

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/try.h"
#include "c/dlpack.h"
#include "c/handles.h"
#include "tensor/kept.h"
#include "tensor/sparse.h"

namespace nnex::c {
namespace {

constexpr size_t kMaxRank = 1024;

Result<DType> element_type(nnex_dtype dtype) {
  if (dtype <= NNEX_NONE || dtype > NNEX_STR)
    return Error(Code::invalid_argument, "found no element type (" + std::to_string(static_cast<int>(dtype)) + ")");
  return static_cast<DType>(dtype);
}

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

/// Owner of a caller's memory: tells the caller when it goes. It is armed last, when nothing can fail any more, so that
/// memory stays the caller's where a function fails.
struct Owner {
  void (*release)(void* context) = nullptr;
  void* context = nullptr;

  Owner() = default;
  ~Owner() {
    if (release) release(context);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
};

/// Floats of 8 bits have type codes of their own, from DLPack 1.1 on.
constexpr std::pair<DType, uint8_t> kDlFloat8[] = {
    {DType::f8e4m3fn, 10}, {DType::f8e4m3fnuz, 11}, {DType::f8e5m2, 12}, {DType::f8e5m2fnuz, 13}, {DType::f8e8m0, 14}};

/// DLPack's (type code, bits) of an element type; nothing: it has none.
std::optional<DlDataType> dl_type(DType t) {
  const auto bits_of = static_cast<uint8_t>(bits(t));
  if (t == DType::bf16) return DlDataType{kDlBfloat, 16, 1};
  if (is_float(t)) return DlDataType{kDlFloat, bits_of, 1};
  if (is_signed_int(t) && bits_of >= 8) return DlDataType{kDlInt, bits_of, 1};
  if (is_unsigned_int(t) && bits_of >= 8) return DlDataType{kDlUint, bits_of, 1};
  if (t == DType::boolean) return DlDataType{kDlBool, 8, 1};
  if (is_complex(t)) return DlDataType{kDlComplex, bits_of, 1};
  for (const auto& [type, code] : kDlFloat8)
    if (t == type) return DlDataType{code, 8, 1};
  return std::nullopt;
}

Result<DType> type_of(DlDataType d) {
  for (int t = static_cast<int>(DType::f64); t < static_cast<int>(DType::str); ++t)
    if (const auto mine = dl_type(static_cast<DType>(t)); mine && *mine == d) return static_cast<DType>(t);
  return Error(Code::unsupported, "a DLPack tensor of type code " + std::to_string(d.code) + ", " +
                                      std::to_string(d.bits) + " bits, " + std::to_string(d.lanes) + " lanes");
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

/// What a DLManagedTensor of ours keeps.
struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  std::vector<int64_t> extents, strides;
};

}  // namespace

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

nnex_error* nnex_tensor_from_dlpack(DLManagedTensor* managed, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(managed);
    NNEX_C_NEED(out);
    const DlTensor& d = managed->dl_tensor;
    if (d.device.device_type != kDlCpu)
      return Error(Code::unsupported,
                   "a DLPack tensor on device type " + std::to_string(d.device.device_type) + "; needed the CPU (1)");
    auto type = type_of(d.dtype);
    if (!type.ok()) return std::move(type).error();
    if (d.ndim < 0) return Error(Code::invalid_argument, "found a rank of " + std::to_string(d.ndim));
    auto shape = shape_of(static_cast<size_t>(d.ndim), d.shape);
    if (!shape.ok()) return std::move(shape).error();
    int64_t dense = 1;
    for (int64_t a = shape->rank(); d.strides && shape->count() > 0 && a-- > 0; dense *= (*shape)[a])
      if ((*shape)[a] != 1 && d.strides[a] != dense)
        return Error(Code::unsupported, "a DLPack tensor whose axis " + std::to_string(a) + " has stride " +
                                            std::to_string(d.strides[a]) + "; needed " + std::to_string(dense));
    if (!d.data && shape->count() > 0) return null_argument("data");
    auto owner = std::make_shared<Owner>();
    char* const data = static_cast<char*>(d.data) + d.byte_offset;
    auto made = std::make_unique<nnex_value>(Tensor::borrow(*type, std::move(*shape), data, owner));
    owner->context = managed;
    owner->release = [](void* context) {
      auto* m = static_cast<DLManagedTensor*>(context);
      if (m->deleter) m->deleter(m);
    };
    *out = made.release();
    return {};
  });
}

nnex_error* nnex_tensor_to_dlpack(const nnex_value* tensor, DLManagedTensor** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(tensor);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const Value held, lasting(*tensor));
    const Tensor* t = held.tensor();
    if (!t) return Error(Code::invalid_argument, "found " + held.text() + "; needed a tensor");
    const auto type = dl_type(t->dtype());
    if (!type) return Error(Code::unsupported, "DLPack has no type " + std::string(name(t->dtype())));
    auto e = std::make_unique<Exported>();
    e->tensor = *t;
    e->extents.assign(t->shape().begin(), t->shape().end());
    e->strides.assign(e->extents.size(), 1);
    for (size_t a = e->extents.size(); a-- > 1;) e->strides[a - 1] = t->count() ? e->strides[a] * e->extents[a] : 0;
    DlTensor& d = e->managed.dl_tensor;
    d.data = const_cast<std::byte*>(t->data());  // NOLINT: DLPack knows no constant tensors
    d.device = {kDlCpu, 0};
    d.ndim = static_cast<int32_t>(e->extents.size());
    d.dtype = *type;
    d.shape = e->extents.data();
    d.strides = e->strides.data();
    d.byte_offset = 0;
    e->managed.manager_ctx = e.get();
    e->managed.deleter = [](DLManagedTensor* m) { delete static_cast<Exported*>(m->manager_ctx); };
    *out = &e.release()->managed;
    return {};
  });
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
