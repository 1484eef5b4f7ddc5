// Words and numbers replaced by a table.

#include "ops/label_encoder.h"

#include <cstring>
#include <unordered_map>

#include "ops/call.h"
#include "ops/infer_call.h"
#include "ops/stored.h"

namespace nnex {
namespace {

constexpr int64_t kNone = -1;

Status infer_label_encoder(InferCall& c) {
  const auto& a = c.attr<LabelEncoderAttrs>();
  if (a.keys.count() != a.values.count()) return c.error("{} keys; {} values", a.keys.count(), a.values.count());
  const DType type = a.values.dtype();
  if (!(kN & only(type)) && type != DType::str && type != DType::boolean)
    return c.error("values are {}; needed numbers or texts", name(type));
  const DType keys = a.keys.dtype();
  if (!(kN & only(keys)) && keys != DType::str && keys != DType::boolean)
    return c.error("keys are {}; needed numbers or texts", name(keys));
  if (c.dtype(0) != DType::none && (c.dtype(0) == DType::str) != (keys == DType::str))
    return c.error("x is {}; keys are {}", name(c.dtype(0)), name(keys));
  if (a.otherwise.count() > 1) return c.error("default has {} elements; needed 1", a.otherwise.count());
  if (a.otherwise.count() == 1 && a.otherwise.dtype() != type)
    return c.error("default is {}; values are {}", name(a.otherwise.dtype()), name(type));
  c.result(0, type, c.dims(0));
  return {};
}

/// For every element of x its place among the keys, the last of equal ones, or kNone.
template <class K, class Key>
Ints places(int64_t keys, Key key, int64_t n, Key x) {
  std::unordered_map<K, int64_t> table;
  table.reserve(static_cast<size_t>(keys));
  int64_t nan = kNone;
  for (int64_t i = 0; i < keys; ++i) {
    const K k = key(true, i);
    if (k != k)
      nan = i;
    else
      table[k] = i;
  }
  Ints out(static_cast<size_t>(n), kNone);
  for (int64_t i = 0; i < n; ++i) {
    const K k = x(false, i);
    if (k != k) {
      out[static_cast<size_t>(i)] = nan;
    } else if (auto at = table.find(k); at != table.end()) {
      out[static_cast<size_t>(i)] = at->second;
    }
  }
  return out;
}

Ints places(const Tensor& keys, const Tensor& x) {
  if (keys.dtype() == DType::str) {
    const auto at = [&](bool key, int64_t i) -> std::string_view {
      return (key ? keys : x).strings()[static_cast<size_t>(i)];
    };
    return places<std::string_view>(keys.count(), at, x.count(), at);
  }
  if (is_real(keys.dtype()) || is_real(x.dtype())) {
    const auto at = [&](bool key, int64_t i) { return real_at(key ? keys : x, i); };
    return places<double>(keys.count(), at, x.count(), at);
  }
  const auto at = [&](bool key, int64_t i) { return int_at(key ? keys : x, i); };
  return places<int64_t>(keys.count(), at, x.count(), at);
}

Result<Tensor> default_of(const LabelEncoderAttrs& a) {
  if (a.otherwise.count() == 1) return a.otherwise;
  NNEX_ASSIGN(Tensor t, Tensor::make(a.values.dtype(), Shape{}));
  if (t.dtype() == DType::str)
    t.mutable_as<std::string>()[0] = "_Unused";
  else if (is_real(t.dtype()))
    set_real(t, 0, -0.0);
  else
    set_int(t, 0, -1);
  return t;
}

Status run_label_encoder(Call& c) {
  const auto& a = c.attr<LabelEncoderAttrs>();
  NNEX_ASSIGN(Tensor otherwise, default_of(a));
  NNEX_ASSIGN(Tensor * y, c.make(0, a.values.dtype(), c.shape(0)));
  NNEX_ASSIGN(Tensor values, a.values.aligned_copy());
  const Ints from = places(a.keys, c.in(0));
  const int64_t width = bits(y->dtype()) / 8;
  for (int64_t i = 0; i < y->count(); ++i) {
    const int64_t at = from[static_cast<size_t>(i)];
    if (at == kNone && a.missing == MissingKey::fault)
      return c.fault("{} is not among the {} keys", element_text(c.in(0), i), a.keys.count());
    const Tensor& source = at == kNone ? otherwise : values;
    const int64_t item = at == kNone ? 0 : at;
    if (y->dtype() == DType::str)
      y->mutable_as<std::string>()[static_cast<size_t>(i)] = source.strings()[static_cast<size_t>(item)];
    else
      std::memcpy(y->mutable_data() + i * width, source.data() + item * width, static_cast<size_t>(width));
  }
  return {};
}

constexpr OpRow kLabelEncoderOps[] = {
    {.name = "label_encoder",
     .summary = "Each element replaced by the value that stands beside the same key; NaN is a key like any other.",
     .source = "ONNX ai.onnx.ml LabelEncoder-4; CategoryMapper, OneHotEncoder and older forms become it",
     .inputs = {{"x", kN | kS | kB}},
     .outputs = {{"y", kN | kS | kB}},
     .attrs = attrs_of<LabelEncoderAttrs>(
         {field<&LabelEncoderAttrs::keys>("keys", "What is looked up; the last of equal keys counts.", required),
          field<&LabelEncoderAttrs::values>("values", "What stands beside each key.", required),
          field<&LabelEncoderAttrs::otherwise>("default", "For keys not listed; absent: '_Unused', -1 or -0.0."),
          field<&LabelEncoderAttrs::missing>("missing", "What a key not listed does.")}),
     .infer = infer_label_encoder,
     .reference = any(run_label_encoder),
     .spelled = {{onnx, "LabelEncoder", {}, 1, "ai.onnx.ml"}}},
};
}  // namespace

std::span<const OpDef> label_encoder_ops() { return stored<kLabelEncoderOps>(); }

}  // namespace nnex
