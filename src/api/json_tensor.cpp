#include "api/json_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/failure.h"
#include "base/try.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMaxAxes = 32;  // lists in lists
constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr struct {
  std::string_view word;
  double value;
} kWords[] = {{"NaN", std::numeric_limits<double>::quiet_NaN()}, {"Infinity", kInfinity}, {"-Infinity", -kInfinity}};

/// Lists as items and extents.
Status flatten(const Json& j, std::vector<const Json*>& items, std::vector<int64_t>& extents, int64_t depth,
               int64_t& item_depth) {
  if (!j.is_array()) {
    if (items.empty()) item_depth = depth;
    if (item_depth != depth) return Error(Code::unreadable, "lists of different depth");
    items.push_back(&j);
    return {};
  }
  if (depth >= kMaxAxes) return failure(Code::unreadable, "lists are nested deeper than {}", kMaxAxes);
  const auto axis = static_cast<size_t>(depth);
  if (extents.size() == axis) extents.push_back(static_cast<int64_t>(j.size()));
  if (extents[axis] != static_cast<int64_t>(j.size())) return Error(Code::unreadable, "lists of different lengths");
  for (const Json& item : j) NNEX_TRY(flatten(item, items, extents, depth + 1, item_depth));
  return {};
}

Error refused(const Json& item, std::string_view needed) {
  return failure(Code::invalid_argument, "found {}; needed {}",
                 item.dump(-1, ' ', false, Json::error_handler_t::replace), needed);
}

Status set_real_item(Tensor& t, int64_t at, const Json& item) {
  if (item.is_number()) {
    set_real(t, at, item.get<double>());
    if (std::isfinite(real_at(t, at))) return {};
    return refused(item, fmt::format("a number that {} holds, or \"Infinity\"", name(t.dtype())));
  }
  if (item.is_boolean()) return set_int(t, at, item.get<bool>()), Status();
  for (const auto& w : kWords)
    if (item.is_string() && item.get_ref<const std::string&>() == w.word) return set_real(t, at, w.value), Status();
  return refused(item, "a number");
}

Status set_int_item(Tensor& t, int64_t at, const Json& item, bool cast) {
  if (item.is_boolean()) return set_int(t, at, item.get<bool>()), Status();
  if (!item.is_number()) return refused(item, "a number");
  if (!item.is_number_integer()) {
    if (!cast) return refused(item, "a whole number").helped_by({"cast", "true", "converts it"});
    return set_real(t, at, item.get<double>()), Status();
  }
  const bool wide = item.is_number_unsigned() && item.get<uint64_t>() > uint64_t{INT64_MAX};
  const auto value = item.get<int64_t>();
  set_int(t, at, value);
  const bool held = t.dtype() == DType::u64 ? wide || value >= 0 : !wide && int_at(t, at) == value;
  if (held || cast) return {};
  return refused(item, fmt::format("a number that {} holds", name(t.dtype())))
      .helped_by({"cast", "true", "converts it"});
}

/// The number, or its word.
Json number_of(double x) {
  if (std::isnan(x)) return kWords[0].word;
  return std::isinf(x) ? Json(kWords[x > 0 ? 1 : 2].word) : Json(x);
}

Json element(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::str) return t.strings()[static_cast<size_t>(i)];
  if (t.dtype() == DType::boolean) return int_at(t, i) != 0;
  if (is_complex(t.dtype())) return element_text(t, i);
  if (is_real(t.dtype())) return number_of(real_at(t, i));
  return t.dtype() == DType::u64 ? Json(static_cast<uint64_t>(int_at(t, i))) : Json(int_at(t, i));
}

/// What items become that nobody says the type of: texts (of which numbers have some, too), else f32.
DType type_of(const std::vector<const Json*>& items) {
  const auto is_word = [](const Json* j) {
    return std::any_of(std::begin(kWords), std::end(kWords), [&](const auto& w) { return *j == w.word; });
  };
  const bool texts = std::all_of(items.begin(), items.end(), [](const Json* j) { return j->is_string(); });
  return texts && !std::all_of(items.begin(), items.end(), is_word) ? DType::str : DType::f32;
}

/// Whole numbers are not rounded where nobody asked for floats.
Status check_exact(const Tensor& t, int64_t at, const Json& item) {
  if (!item.is_number_integer()) return {};
  const bool wide = item.is_number_unsigned() && item.get<uint64_t>() > uint64_t{INT64_MAX};
  const double held = real_at(t, at);
  if (wide ? held == std::ldexp(1.0, 64) || static_cast<uint64_t>(held) != item.get<uint64_t>()
           : held == std::ldexp(1.0, 63) || static_cast<int64_t>(held) != item.get<int64_t>())
    return refused(item, "a number that f32 holds, which numbers become that are read without a type");
  return {};
}

Json lists_from(const Tensor& t, int64_t axis, int64_t& at) {
  if (axis == t.shape().rank()) return element(t, at++);
  Json list = Json::array();
  for (int64_t i = 0; i < t.shape()[axis]; ++i) list.push_back(lists_from(t, axis + 1, at));
  return list;
}

Json lists_from(const Tensor& t) {
  int64_t at = 0;
  return lists_from(t, 0, at);
}

}  // namespace

Result<Tensor> tensor_of(const Json& lists, DType wanted, bool cast) {
  std::vector<const Json*> items;
  std::vector<int64_t> extents;
  int64_t item_depth = 0;
  NNEX_TRY(flatten(lists, items, extents, 0, item_depth));
  const auto count = Shape(extents).checked_count();
  const bool deep = !items.empty() && item_depth != static_cast<int64_t>(extents.size());
  if (deep || count != static_cast<int64_t>(items.size())) return Error(Code::unreadable, "lists of different depth");
  const DType type = wanted == DType::none ? type_of(items) : wanted;
  if (is_complex(type)) return Error(Code::unsupported, "JSON has no complex numbers; give them as .npy");
  NNEX_ASSIGN(Tensor t, Tensor::make(type, Shape(extents)));
  if (bits(type) < 8 && t.bytes() > 0) std::memset(t.mutable_data(), 0, static_cast<size_t>(t.bytes()));
  for (size_t i = 0; i < items.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (type == DType::str) {
      if (!items[i]->is_string()) return refused(*items[i], "a string");
      t.mutable_as<std::string>()[i] = items[i]->get<std::string>();
    } else if (is_real(type)) {
      NNEX_TRY(set_real_item(t, at, *items[i]));
      if (wanted == DType::none) NNEX_TRY(check_exact(t, at, *items[i]));
    } else {
      NNEX_TRY(set_int_item(t, at, *items[i], cast));
    }
  }
  return t;
}

Result<Json> lists_of(const Tensor& t) {
  if (is_complex(t.dtype())) return Error(Code::unsupported, "JSON has no complex numbers; save them as .npy");
  if (t.shape().rank() > kMaxAxes)
    return failure(Code::unsupported, "{} has more than {} axes; save it as .npy", Value(t).text(), kMaxAxes);
  const auto empty = std::find(t.shape().begin(), t.shape().end(), 0);
  if (empty != t.shape().end() && empty + 1 != t.shape().end())
    return failure(Code::unsupported,
                   "{}: nested lists end at the extent of 0 and lose those after it; save it as .npy", Value(t).text());
  return lists_from(t);
}

namespace {

Type element_of(const Type& type) { return type.element ? *type.element : Type{}; }

Result<Value> sequence_of(const Json& json, const Type& type, bool cast) {
  if (!json.is_array()) return refused(json, "a list of the items of " + type.text());
  Sequence s{element_of(type).dtype, {}};
  for (const Json& item : json) {
    auto v = value_of(item, element_of(type), cast);
    if (!v.ok()) return std::move(v).error().during(fmt::format("reading item {}", s.items.size()));
    s.items.push_back(std::move(*v));
  }
  return Value(std::move(s));
}

Result<Value> map_of(const Json& json, const Type& type, bool cast) {
  if (!json.is_object()) return refused(json, "an object with the keys of " + type.text());
  std::vector<int64_t> numbers;
  std::vector<std::string> words;
  Map m;
  for (const auto& [key, item] : json.items()) {
    auto v = value_of(item, element_of(type), cast);
    if (!v.ok()) return std::move(v).error().during(fmt::format("reading the value of key '{}'", key));
    m.values.push_back(std::move(*v));
    words.push_back(key);
    if (type.dtype == DType::str) continue;
    const char* end = key.data() + key.size();
    const auto read = std::from_chars(key.data(), end, numbers.emplace_back());
    if (read.ec != std::errc() || read.ptr != end)
      return failure(Code::invalid_argument, "found the key '{}'; needed a whole number", key);
  }
  const Shape count{static_cast<int64_t>(words.size())};
  m.keys = type.dtype == DType::str ? Tensor::of(count, words) : Tensor::of(count, numbers);
  return Value(std::move(m));
}

}  // namespace

Result<Value> value_of(const Json& json, const Type& type, bool cast) {
  switch (type.kind) {
    case Kind::sequence:
      return sequence_of(json, type, cast);
    case Kind::map:
      return map_of(json, type, cast);
    case Kind::optional: {
      if (json.is_null()) return Value(Optional{});
      NNEX_ASSIGN(Value item, value_of(json, element_of(type), cast));
      return Value(Optional{std::make_shared<const Value>(std::move(item))});
    }
    case Kind::sparse:
      return Error(Code::unsupported, "JSON has no sparse tensors; give them as .pb");
    default:
      break;
  }
  NNEX_ASSIGN(Tensor t, tensor_of(json, type.dtype, cast));
  return Value(std::move(t));
}

Result<Json> json_of(const Value& value) {
  if (const Tensor* t = value.tensor()) return lists_of(*t);
  if (const Sequence* s = value.sequence()) {
    Json list = Json::array();
    for (const Value& item : s->items) {
      NNEX_ASSIGN(Json one, json_of(item));
      list.push_back(std::move(one));
    }
    return list;
  }
  if (const Map* m = value.map()) {
    Json object = Json::object();
    for (size_t i = 0; i < m->values.size(); ++i) {
      const std::string key =
          m->keys.dtype() == DType::str ? m->keys.strings()[i] : element_text(m->keys, static_cast<int64_t>(i));
      NNEX_ASSIGN(object[key], json_of(m->values[i]));
    }
    return object;
  }
  if (const Optional* o = value.optional()) return o->item ? json_of(*o->item) : Result<Json>(Json());
  return failure(Code::unsupported, "JSON has no {}; save it as .pb", value.text());
}

}  // namespace nnex
