// Maps from labels to numbers and back. Keys of a map ascend.

#include "ops/maps.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

bool is_key(DType type) { return type == DType::i64 || type == DType::str; }

/// Element 0 of the value that stands beside key i.
Result<Tensor> item(const Call& c, const Map& m, size_t i) {
  const Tensor* t = m.values[i].tensor();
  if (!t || t->count() != 1) return c.fault("value {} of the map is {}; needed one element", i, m.values[i].text());
  return *t;
}

Result<const Map*> map_in(const Call& c) {
  const Map* m = c.value(0).map();
  if (!m) return c.fault("x is {}; needed a map", c.value(0).text());
  if (m->keys.count() != static_cast<int64_t>(m->values.size()) || !is_key(m->keys.dtype()))
    return c.fault("x has {} keys of type {} and {} values", m->keys.count(), name(m->keys.dtype()), m->values.size());
  return m;
}

// ---- zip_map

Status infer_zip_map(InferCall& c) {
  const Tensor& keys = c.attr<ZipMapAttrs>().keys;
  if (!is_key(keys.dtype())) return c.error("keys are {}; needed i64 or texts", name(keys.dtype()));
  if (c.dims(0)) {
    const Dims& d = *c.dims(0);
    if (d.empty() || d.size() > 2) return c.error("x has {} axes; needed 1 or 2", d.size());
    if (d.back().is_number() && d.back().value() != keys.count())
      return c.error("x has {} columns; there are {} keys", d.back().value(), keys.count());
  }
  c.result_type(0, Type::sequence(Type::map(keys.dtype(), Type::tensor(c.dtype(0), Dims{}))));
  return {};
}

/// The order that makes the keys ascend.
Result<std::vector<size_t>> ascending(const Call& c, const Tensor& keys) {
  std::vector<size_t> order(static_cast<size_t>(keys.count()));
  std::iota(order.begin(), order.end(), size_t{0});
  const auto sorted = [&](auto list) -> bool {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return list[a] < list[b]; });
    return std::adjacent_find(order.begin(), order.end(), [&](size_t a, size_t b) { return list[a] == list[b]; }) ==
           order.end();
  };
  if (!(keys.dtype() == DType::str ? sorted(keys.strings()) : sorted(keys.as<int64_t>())))
    return c.fault("a key is given twice");
  return order;
}

Status run_zip_map(Call& c) {
  NNEX_ASSIGN(Tensor keys, c.attr<ZipMapAttrs>().keys.aligned_copy());
  const Tensor& x = c.in(0);
  if (x.shape().rank() < 1 || x.shape().rank() > 2) return c.fault("x has {} axes; needed 1 or 2", x.shape().rank());
  const int64_t columns = x.shape()[x.shape().rank() - 1], rows = x.shape().rank() == 2 ? x.shape()[0] : 1;
  if (columns != keys.count()) return c.fault("x has {} columns; there are {} keys", columns, keys.count());
  NNEX_ASSIGN(const std::vector<size_t> order, ascending(c, keys));
  NNEX_ASSIGN(Tensor sorted, Tensor::make(keys.dtype(), Shape{columns}));
  for (size_t i = 0; i < order.size(); ++i) {
    if (keys.dtype() == DType::str)
      sorted.mutable_as<std::string>()[i] = keys.strings()[order[i]];
    else
      sorted.mutable_as<int64_t>()[i] = keys.as<int64_t>()[order[i]];
  }
  Sequence out;
  for (int64_t row = 0; row < rows; ++row) {
    Map m{sorted, {}};
    for (size_t at : order) {
      NNEX_ASSIGN(Tensor v, Tensor::make(x.dtype(), Shape{}));
      set_real(v, 0, real_at(x, row * columns + static_cast<int64_t>(at)));
      m.values.emplace_back(std::move(v));
    }
    out.items.emplace_back(std::move(m));
  }
  c.set(0, Value(std::move(out)));
  return {};
}

// ---- cast_map

Status infer_cast_map(InferCall& c) {
  const auto& a = c.attr<CastMapAttrs>();
  const Type& t = c.in(0);
  if (t.kind != Kind::unknown && t.kind != Kind::map) return c.error("x is {}; needed a map", t.text());
  if (t.kind == Kind::map && t.dtype != DType::i64) return c.error("keys are {}; needed i64", name(t.dtype));
  if (a.to != DType::f32 && a.to != DType::i64 && a.to != DType::str)
    return c.error("to is {}; needed f32, i64 or str", name(a.to));
  if (a.sparse && a.length < 0) return c.error("length is {}", a.length);
  c.result(0, a.to, Dims{Dim(1), a.sparse ? Dim(a.length) : c.unknown()});
  return {};
}

Status run_cast_map(Call& c) {
  const auto& a = c.attr<CastMapAttrs>();
  NNEX_ASSIGN(const Map* m, map_in(c));
  if (m->keys.dtype() != DType::i64) return c.fault("keys are {}; needed i64", name(m->keys.dtype()));
  const int64_t n = m->keys.count();
  NNEX_ASSIGN(const std::vector<size_t> order, ascending(c, m->keys));
  NNEX_ASSIGN(Tensor * y, c.make(0, a.to, Shape{1, a.sparse ? a.length : n}));
  if (a.to == DType::str)
    std::fill(y->mutable_as<std::string>().begin(), y->mutable_as<std::string>().end(), std::string());
  else
    std::fill_n(y->mutable_data(), y->bytes(), std::byte{0});
  for (int64_t i = 0; i < n; ++i) {
    const size_t from = order[static_cast<size_t>(i)];
    const int64_t key = m->keys.as<int64_t>()[from], to = a.sparse ? key : i;
    if (to < 0 || to >= y->count()) return c.fault("key {} is outside [0, {})", key, a.length);
    NNEX_ASSIGN(Tensor v, item(c, *m, from));
    NNEX_ASSIGN(v, convert(v, a.to));
    if (a.to == DType::str)
      y->mutable_as<std::string>()[static_cast<size_t>(to)] = v.strings()[0];
    else if (a.to == DType::i64)
      set_int(*y, to, int_at(v, 0));
    else
      set_real(*y, to, real_at(v, 0));
  }
  return {};
}

// ---- dict_vectorizer

Status infer_dict_vectorizer(InferCall& c) {
  const Tensor& words = c.attr<DictVectorizerAttrs>().vocabulary;
  if (!is_key(words.dtype())) return c.error("vocabulary is {}; needed i64 or texts", name(words.dtype()));
  const Type& t = c.in(0);
  if (t.kind != Kind::unknown && t.kind != Kind::map) return c.error("x is {}; needed a map", t.text());
  if (t.kind == Kind::map && t.dtype != words.dtype())
    return c.error("keys are {}; the vocabulary is {}", name(t.dtype), name(words.dtype()));
  c.result(0, t.element && t.element->is_tensor() ? t.element->dtype : DType::none, Dims{Dim(1), Dim(words.count())});
  return {};
}

Status run_dict_vectorizer(Call& c) {
  NNEX_ASSIGN(Tensor words, c.attr<DictVectorizerAttrs>().vocabulary.aligned_copy());
  NNEX_ASSIGN(const Map* m, map_in(c));
  if (m->keys.dtype() != words.dtype())
    return c.fault("keys are {}; the vocabulary is {}", name(m->keys.dtype()), name(words.dtype()));
  std::map<std::string_view, size_t> texts;
  std::map<int64_t, size_t> numbers;
  for (size_t i = 0; i < m->values.size(); ++i) {
    if (words.dtype() == DType::str)
      texts[m->keys.strings()[i]] = i;
    else
      numbers[m->keys.as<int64_t>()[i]] = i;
  }
  DType type = c.ready(0) ? c.ready(0)->dtype() : DType::f32;
  if (!m->values.empty()) {
    NNEX_ASSIGN(Tensor first, item(c, *m, 0));
    type = first.dtype();
  }
  NNEX_ASSIGN(Tensor * y, c.make(0, type, Shape{1, words.count()}));
  const auto find = [&](const auto& table, const auto& key) -> std::optional<size_t> {
    const auto at = table.find(key);
    return at == table.end() ? std::nullopt : std::optional<size_t>(at->second);
  };
  for (int64_t i = 0; i < words.count(); ++i) {
    const auto at = words.dtype() == DType::str ? find(texts, std::string_view(words.strings()[static_cast<size_t>(i)]))
                                                : find(numbers, words.as<int64_t>()[static_cast<size_t>(i)]);
    Tensor v;
    if (at) {
      NNEX_ASSIGN(v, item(c, *m, *at));
      if (v.dtype() != type) return c.fault("values are {} and {}", name(type), name(v.dtype()));
    }
    if (type == DType::str)
      y->mutable_as<std::string>()[static_cast<size_t>(i)] = at ? v.strings()[0] : std::string();
    else if (is_real(type))
      set_real(*y, i, at ? real_at(v, 0) : 0);
    else
      set_int(*y, i, at ? int_at(v, 0) : 0);
  }
  return {};
}

constexpr OpRow kMapOps[] = {
    {.name = "zip_map",
     .summary = "Each row as a map from its column's key to its element.",
     .source = "ONNX ai.onnx.ml ZipMap-1",
     .inputs = {{"x", kF}},
     .outputs = {{"y", any_value()}},
     .attrs = attrs_of<ZipMapAttrs>({field<&ZipMapAttrs::keys>("keys", "Integers or texts, one a column.", required)}),
     .infer = infer_zip_map,
     .reference = any(run_zip_map),
     .spelled = {{onnx, "ZipMap", {}, 1, "ai.onnx.ml"}}},
    {.name = "cast_map",
     .summary = "A map's values in order of their keys, or each at the place its key names.",
     .source = "ONNX ai.onnx.ml CastMap-1",
     .inputs = {{"x", any_value()}},
     .outputs = {{"y", type_from("to")}},
     .attrs = attrs_of<CastMapAttrs>(
         {field<&CastMapAttrs::to>("to", "f32, i64 or str."),
          field<&CastMapAttrs::sparse>("sparse", "Keys are places in the result; places without a key are 0."),
          field<&CastMapAttrs::length>("length", "Places of a sparse result.")}),
     .infer = infer_cast_map,
     .reference = any(run_cast_map),
     .spelled = {{onnx, "CastMap", {}, 1, "ai.onnx.ml"}}},
    {.name = "dict_vectorizer",
     .summary = "A map's values in the order of a vocabulary; 0 or \"\" for keys the map lacks.",
     .source = "ONNX ai.onnx.ml DictVectorizer-1",
     .inputs = {{"x", any_value()}},
     .outputs = {{"y", kN | kS | kB}},
     .attrs = attrs_of<DictVectorizerAttrs>(
         {field<&DictVectorizerAttrs::vocabulary>("vocabulary", "Keys, integers or texts, one a column.", required)}),
     .infer = infer_dict_vectorizer,
     .reference = any(run_dict_vectorizer),
     .spelled = {{onnx, "DictVectorizer", {}, 1, "ai.onnx.ml"}}},
};
}  // namespace

std::span<const OpDef> map_ops() { return stored<kMapOps>(); }

}  // namespace nnex
