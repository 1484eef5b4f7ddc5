#include "exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "nnex/elements.h"
#include "nnex/type.h"
#include "shared/json.h"
#include "shared/try.h"

namespace nnex::cli {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// NumPy's names of types, which dtype_named() knows too; other ones have nnex's.
constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"float64", DType::f64},   {"float32", DType::f32},    {"float16", DType::f16}, {"int64", DType::i64},
    {"int32", DType::i32},     {"int16", DType::i16},      {"int8", DType::i8},     {"uint64", DType::u64},
    {"uint32", DType::u32},    {"uint16", DType::u16},     {"uint8", DType::u8},    {"bool", DType::boolean},
    {"complex64", DType::c64}, {"complex128", DType::c128}};

std::string_view type_word(DType type) {
  for (const auto& [word, t] : kTypes)
    if (t == type) return word;
  return name(type);
}

std::string base64(const std::byte* bytes, size_t count) {
  std::string out;
  out.reserve((count + 2) / 3 * 4);
  for (size_t i = 0; i < count; i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < count ? static_cast<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += i + k > count ? '=' : kLetters[three >> (18 - 6 * k) & 63];
  }
  return out;
}

/// Fills the tensor's bytes. Error: unreadable.
Status from_base64(std::string_view text, Tensor& t) {
  while (text.ends_with('=')) text.remove_suffix(1);
  const auto needed = static_cast<size_t>(t.bytes());
  if (text.size() / 4 * 3 + (text.size() % 4 * 3 / 4) != needed || text.size() % 4 == 1)
    return Error(Code::unreadable, fmt::format("found base64 of {} letters; needed {} bytes", text.size(), needed));
  uint32_t bits = 0, held = 0;
  std::byte* to = t.mutable_data();
  for (char c : text) {
    const size_t at = kLetters.find(c);
    if (at == std::string_view::npos) return Error(Code::unreadable, fmt::format("found '{}' in base64", c));
    bits = bits << 6 | static_cast<uint32_t>(at), held += 6;
    if (held < 8) continue;
    held -= 8;
    *to++ = static_cast<std::byte>(bits >> held & 255);
  }
  return {};
}

/// The extents of nested lists, by their first items.
std::vector<int64_t> extents_of(const Json& values) {
  std::vector<int64_t> out;
  for (const Json* at = &values; at->is_array() && out.size() < 64; at = &at->front()) {
    out.push_back(static_cast<int64_t>(at->size()));
    if (at->empty()) break;
  }
  return out;
}

Status set_element(const Json& value, Tensor& t, int64_t i) {
  if (value.is_boolean()) return set_int(t, i, value.get<bool>()), Status();
  if (value.is_number_integer() && (is_int(t.dtype()) || t.dtype() == DType::boolean))
    return set_int(t, i,
                   value.is_number_unsigned() ? static_cast<int64_t>(value.get<uint64_t>()) : value.get<int64_t>()),
           Status();
  if (value.is_number()) return set_real(t, i, value.get<double>()), Status();
  const std::string word = value.is_string() ? value.get<std::string>() : "";
  if (word == "NaN") return set_real(t, i, NAN), Status();
  if (word == "Infinity" || word == "-Infinity") return set_real(t, i, word[0] == '-' ? -INFINITY : INFINITY), Status();
  return Error(Code::unreadable, fmt::format("found {} as element {}; needed a number", value.dump().substr(0, 40), i));
}

Status fill(const Json& values, size_t axis, Tensor& t, int64_t& next) {
  if (axis == static_cast<size_t>(t.shape().rank())) return set_element(values, t, next++);
  if (!values.is_array() || static_cast<int64_t>(values.size()) != t.shape()[static_cast<int64_t>(axis)])
    return Error(Code::unreadable, "found lists of different lengths side by side");
  for (const Json& item : values) NNEX_TRY(fill(item, axis + 1, t, next));
  return {};
}

/// The element type and the extents that an answer names, where it does.
Result<std::pair<DType, std::optional<std::vector<int64_t>>>> type_of(const Json& row) {
  std::pair<DType, std::optional<std::vector<int64_t>>> out = {DType::f32, std::nullopt};
  if (const auto type = row.find("type"); type != row.end() && type->is_string()) {
    NNEX_ASSIGN(const TypeInfo info, TypeInfo::parse(type->get<std::string>()));
    if (info.dtype != DType::none) out.first = info.dtype;
    if (info.known_rank) out.second = info.extents;
  }
  if (const auto word = row.find("dtype"); word != row.end()) {
    const auto type = word->is_string() ? dtype_named(word->get<std::string>()) : std::nullopt;
    if (!type) return Error(Code::unreadable, fmt::format("found \"dtype\": {}; needed a type's name", word->dump()));
    out.first = *type;
  }
  if (const auto shape = row.find("shape"); shape != row.end()) {
    std::vector<int64_t> extents;
    const bool list = shape->is_array();
    for (size_t i = 0; list && i < shape->size(); ++i)
      extents.push_back((*shape)[i].is_number_integer() ? (*shape)[i].get<int64_t>() : -1);
    if (!list || std::any_of(extents.begin(), extents.end(), [](int64_t e) { return e < 0; }))
      return Error(Code::unreadable, fmt::format("found \"shape\": {}; needed a list of extents", shape->dump()));
    out.second = std::move(extents);
  }
  if (is_object(out.first)) return Error(Code::unreadable, "found text; needed numbers");
  return out;
}

Result<Value> tensor_of(const Json& row) {
  NNEX_ASSIGN(const auto type, type_of(row));
  const auto bytes = row.find("base64"), values = row.find("values");
  if (bytes != row.end()) {
    if (!type.second || !bytes->is_string()) return Error(Code::unreadable, "\"base64\" needs text, and a \"shape\"");
    NNEX_ASSIGN(Tensor t, Tensor::make(type.first, Shape(*type.second)));
    NNEX_TRY(from_base64(bytes->get_ref<const std::string&>(), t));
    return Value(std::move(t));
  }
  if (values == row.end()) return Error(Code::unreadable, "found neither \"base64\" nor \"values\"");
  if (is_complex(type.first)) return Error(Code::unreadable, "complex numbers need \"base64\"");
  NNEX_ASSIGN(Tensor t, Tensor::make(type.first, Shape(extents_of(*values))));
  int64_t next = 0;
  NNEX_TRY(fill(*values, 0, t, next));
  if (!type.second) return Value(std::move(t));
  if (Shape(*type.second).checked_count() != t.count())
    return Error(Code::unreadable,
                 fmt::format("found {} values; the shape is {}", t.count(), Shape(*type.second).text()));
  return Value(t.reshaped(Shape(*type.second)));
}

}  // namespace

Result<std::string> exchange_request(const std::string& model, const std::map<std::string, Value>& inputs,
                                     std::span<const std::string> wanted) {
  Json j = {{"schema", "nnex.exchange/1"}, {"model", model}, {"inputs", Json::array()}, {"outputs", wanted}};
  for (const auto& [name, value] : inputs) {
    const Tensor* t = value.tensor();
    if (!t || is_object(t->dtype()))
      return Error(Code::unsupported,
                   fmt::format("input '{}' is {}; only tensors of numbers are exchanged", name, value.text()));
    j["inputs"].push_back({{"name", name},
                           {"dtype", type_word(t->dtype())},
                           {"shape", std::vector<int64_t>(t->shape().begin(), t->shape().end())},
                           {"base64", base64(t->data(), static_cast<size_t>(t->bytes()))}});
  }
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

/// JSON as Python writes it, where NaN and infinities stand bare, as JSON, where they are words.
std::string with_words(std::string_view text) {
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      out += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      const std::string_view rest = text.substr(i);
      const std::string_view word = rest.starts_with("NaN")         ? rest.substr(0, 3)
                                    : rest.starts_with("Infinity")  ? rest.substr(0, 8)
                                    : rest.starts_with("-Infinity") ? rest.substr(0, 9)
                                                                    : std::string_view();
      if (!word.empty()) {
        out.append("\"").append(word).append("\"");
        i += word.size() - 1;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

}  // namespace

Result<std::map<std::string, Value>> exchange_answer(const std::string& text) {
  Json j = Json::parse(text, nullptr, false);
  if (j.is_discarded()) j = Json::parse(with_words(text), nullptr, false);
  const auto list = j.is_object() ? j.find("outputs") : j.end();
  if (!j.is_object() || list == j.end() || !list->is_array())
    return Error(Code::unreadable, fmt::format("found {}; needed a JSON object with a list \"outputs\"",
                                               j.is_discarded() ? "no JSON" : "other JSON"));
  std::map<std::string, Value> out;
  for (const Json& row : *list) {
    if (!row.is_object() || !row.contains("name") || !row["name"].is_string())
      return Error(Code::unreadable, "found one of \"outputs\" without a \"name\"");
    const std::string name = row["name"];
    auto value = tensor_of(row);
    if (!value.ok()) return std::move(value).error().during(fmt::format("reading the tensor '{}' of an answer", name));
    out[name] = std::move(*value);
  }
  return out;
}

}  // namespace nnex::cli
