#include "describe.h"

#include "nnex/elements.h"
#include "nnex/tensor_file.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nnex::cli {
namespace {

constexpr int64_t kMaxValues = 1000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The ends and the mean of what is finite, and how much is not.
Json statistics(const Tensor& t) {
  double min = kInfinity, greatest = -kInfinity, sum = 0;
  int64_t nans = 0, infinite = 0, zeros = 0;
  for (int64_t i = 0; i < t.count(); ++i) {
    const double x = real_at(t, i);
    nans += std::isnan(x), infinite += std::isinf(x), zeros += x == 0;
    if (!std::isfinite(x)) continue;
    min = std::min(min, x), greatest = std::max(greatest, x), sum += x;
  }
  const int64_t finite = t.count() - nans - infinite;
  Json j = {{"count", t.count()}};
  if (finite > 0) j["min"] = min, j["max"] = greatest, j["mean"] = sum / static_cast<double>(finite);
  j["zeros"] = zeros;
  if (is_real(t.dtype())) j["nan"] = nans, j["infinite"] = infinite;
  return j;
}

/// What is being told.
struct Telling {
  std::string_view name;      ///< Of the output.
  bool whole = true;          ///< Whether the tensor at hand is all of it, and not an item.
  int64_t room = kMaxValues;  ///< How many elements may still be told.
  bool all = false;           ///< Or all of them.
  Status fault = {};          ///< Why what should be told cannot be.
};

Json described(const Value& value, Telling& telling);

/// The first ending of a file that holds tensors of the type.
std::string_view ending_for(DType type) {
  constexpr std::pair<TensorFormat, std::string_view> kEndings[] = {
      {TensorFormat::npy, "npy"}, {TensorFormat::onnx, "pb"}, {TensorFormat::nnef, "dat"}};
  const auto none = Tensor::make(type, Shape{0});
  for (const auto& [format, ending] : kEndings)
    if (none.ok() && tensor_bytes(*none, format).ok()) return ending;
  return "json";
}

/// Lists of nothing, as deep as the extents before the first of 0; one where they would be many.
Json empty_lists(const Shape& shape, int64_t axis = 0, int64_t lists = 1) {
  Json list = Json::array();
  if (axis + 1 >= shape.rank() || shape[axis] > kMaxValues / lists) return list;
  for (int64_t i = 0; i < shape[axis]; ++i) list.push_back(empty_lists(shape, axis + 1, lists * shape[axis]));
  return list;
}

void describe_in(const Value& value, Telling& telling, Json& row) {
  if (const Tensor* t = value.tensor()) {
    if (t->count() == 0 && t->shape().rank() > 0) {
      row["values"] = empty_lists(t->shape());
      return;
    }
    if (telling.all || t->count() <= telling.room) {
      auto text = tensor_bytes(*t, TensorFormat::json);
      if (text.ok()) {
        telling.room -= t->count();
        row["values"] = Json::parse(*text);
        return;
      }
      if (telling.all) return void(telling.fault = std::move(text).error());
    }
    if (t->dtype() != DType::str && !is_complex(t->dtype())) row["statistics"] = statistics(*t);
    row["hint"] = telling.whole ? fmt::format("--save '{}=FILE.{}' writes all {} values", telling.name,
                                              ending_for(t->dtype()), t->count())
                                : fmt::format("--save '{}=FILE.pb' writes all of it", telling.name);
    return;
  }
  telling.whole = false;
  if (const Sequence* s = value.sequence()) {
    row["items"] = Json::array();
    for (size_t i = 0; i < s->items.size() && (telling.all || telling.room > 0); ++i) {
      --telling.room;
      row["items"].push_back(described(s->items[i], telling));
    }
    if (row["items"].size() < s->items.size()) row["items_in_all"] = s->items.size();
  } else if (const Map* m = value.map()) {
    row["keys"] = described(Value(m->keys), telling);
    row["items"] = Json::array();
    for (const Value& v : m->values) {
      if (!telling.all && telling.room <= 0) break;
      row["items"].push_back(described(v, telling));
    }
  } else if (const Optional* o = value.optional(); o && o->item) {
    row["item"] = described(*o->item, telling);
  }
}

Json described(const Value& value, Telling& telling) {
  Json row = {{"type", value.text()}};
  describe_in(value, telling, row);
  return row;
}

}  // namespace

Json number_of(double x) {
  if (std::isnan(x)) return "NaN";
  return std::isinf(x) ? Json(x > 0 ? "Infinity" : "-Infinity") : Json(x);
}

void describe(const Value& value, std::string_view name, Json& row) {
  Telling telling{name};
  describe_in(value, telling, row);
}

Status describe_all(const Value& value, std::string_view name, Json& row) {
  Telling telling{name};
  telling.all = true;
  describe_in(value, telling, row);
  return std::move(telling.fault);
}

}  // namespace nnex::cli
