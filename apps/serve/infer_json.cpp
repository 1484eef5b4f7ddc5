#include "serve/infer_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <new>

#include "nnex/elements.h"
#include "serve/protocol.h"
#include "shared/json.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

constexpr size_t kMaxDepth = 64, kMaxTensors = 1024, kMaxAxes = 32, kMaxParameters = 64;

struct Whole {
  bool wide = false;  ///< From 2^63 on, as uint64_t.
  uint64_t bits = 0;
};

/// The whole number that a text with a point or an exponent stands for; nothing where it is none of 64 bits.
std::optional<Whole> exact(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  int64_t exponent = 0;
  if (e < text.size()) {
    std::string_view digits = text.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc()) return {};
  }
  std::string digits(text.substr(0, e));
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    exponent -= static_cast<int64_t>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  for (; exponent < 0 && digits.ends_with('0'); ++exponent) digits.pop_back();
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (exponent < 0 || exponent > 20) return {};
  digits.append(static_cast<size_t>(exponent), '0');
  uint64_t n = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (fault != std::errc() || end != digits.data() + digits.size()) return {};
  if (!negative) return Whole{n > uint64_t{INT64_MAX}, n};
  return n <= uint64_t{1} << 63 ? std::optional(Whole{false, 0 - n}) : std::nullopt;
}

/// Takes the events of a parser. It looks at the innermost object or list that is open and, in an object, at the key.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  InferJson result;
  std::string fault;

  bool null() override { return may_lack() || refuse("null"); }
  bool boolean(bool b) override {
    if (inside(Place::data)) return item(JsonData::Kind::boolean, b);
    return parameter(b) || refuse("true or false");
  }
  bool number_integer(int64_t n) override { return whole(n, false); }
  bool number_unsigned(uint64_t n) override {
    return n > uint64_t{INT64_MAX} ? whole(static_cast<int64_t>(n), true) : whole(static_cast<int64_t>(n), false);
  }
  bool number_float(double x, const std::string& text) override {
    const bool cut = std::fabs(x) >= 0x1p53 && std::fabs(x) <= 0x1p64;  // a double may hold another number
    if (const auto n = cut ? exact(text) : std::nullopt)
      return n->wide ? number_unsigned(n->bits) : whole(static_cast<int64_t>(n->bits), false);
    if (inside(Place::data))
      return item(cut ? JsonData::Kind::fraction : JsonData::Kind::real, std::bit_cast<uint64_t>(x));
    if (inside(Place::shape) && text.find_first_of(".eE") == std::string::npos) return refuse_extent(text);
    return parameter(x) || refuse(text);
  }
  bool string(std::string& s) override {
    if (inside(Place::data)) {
      JsonData& data = *result.inputs.back().data;
      data.strings.emplace_back(data.numbers.size(), std::move(s));
      return item(JsonData::Kind::whole, 0);
    }
    if (inside(Place::root) && key_ == "id") return result.id = std::move(s), true;
    if (inside(Place::input) && key_ == "name") return result.inputs.back().name = std::move(s), true;
    if (inside(Place::input) && key_ == "datatype") return result.inputs.back().datatype = std::move(s), true;
    if (inside(Place::output) && key_ == "name") return result.outputs.back().name = std::move(s), true;
    return parameter(std::move(s)) || refuse("text");
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override {
    if (open_.empty()) return push(Place::root);
    if (inside(Place::inputs)) {
      if (result.inputs.size() == kMaxTensors) return fail(fmt::format("more than {} inputs", kMaxTensors));
      result.inputs.emplace_back();
      return push(Place::input);
    }
    if (inside(Place::outputs)) {
      if (result.outputs.size() == kMaxTensors) return fail(fmt::format("more than {} outputs", kMaxTensors));
      result.outputs.emplace_back();
      return push(Place::output);
    }
    if (key_ == "parameters") {
      if (inside(Place::root)) return push(Place::parameters, &result.parameters);
      if (inside(Place::input)) return push(Place::parameters, &result.inputs.back().parameters);
      if (inside(Place::output)) return push(Place::parameters, &result.outputs.back().parameters);
    }
    return skippable() ? push(Place::skipped) : refuse("an object");
  }
  bool end_object() override { return pop(); }

  bool start_array(size_t) override {
    if (inside(Place::data)) return deeper();
    if (inside(Place::root) && key_ == "inputs") return push(Place::inputs);
    if (inside(Place::root) && key_ == "outputs") return push(Place::outputs);
    if (inside(Place::input) && key_ == "shape") {
      result.inputs.back().has_shape = true;
      return push(Place::shape);
    }
    if (inside(Place::input) && key_ == "data") {
      result.inputs.back().data.emplace();
      counts_.clear();
      item_depth_ = 0;
      return deeper();
    }
    return skippable() && !open_.empty() ? push(Place::skipped) : refuse("a list");
  }
  bool end_array() override {
    if (!inside(Place::data)) return pop();
    JsonData& data = *result.inputs.back().data;
    const size_t depth = counts_.size();
    if (data.lengths.size() < depth) data.lengths.resize(depth, -1);
    int64_t& length = data.lengths[depth - 1];
    if (length >= 0 && length != counts_.back()) return fail("\"data\" has lists of different lengths");
    length = counts_.back();
    counts_.pop_back();
    if (!counts_.empty()) ++counts_.back();
    return pop();
  }

  /// A member of the protocol's that is given twice would be one thing to us, and another to a proxy before us.
  bool key(std::string& k) override {
    key_ = std::move(k);
    if (inside(Place::parameters))
      return !std::any_of(parameters_->begin(), parameters_->end(), [&](const auto& p) { return p.first == key_; }) ||
             fail(fmt::format("the parameter '{}' is given twice", key_));
    if (!inside(Place::root) && !inside(Place::input) && !inside(Place::output)) return true;
    constexpr std::string_view kMembers[] = {"id",   "inputs",   "outputs", "parameters",
                                             "name", "datatype", "shape",   "data"};
    const auto* at = std::find(std::begin(kMembers), std::end(kMembers), key_);
    if (at == std::end(kMembers)) return true;
    const uint8_t bit = static_cast<uint8_t>(1u << (at - std::begin(kMembers)));
    if (members_.back() & bit) return fail(fmt::format("\"{}\" is given twice", key_));
    members_.back() |= bit;
    return true;
  }

  bool parse_error(size_t at, const std::string& token, const nlohmann::detail::exception& e) override {
    constexpr int kOverflow = 406;
    constexpr size_t kShown = 40;
    if (e.id == kOverflow)
      return fail(fmt::format("{}found {}{}, which no number of 64 bits holds", inside(Place::data) ? "\"data\": " : "",
                              token.substr(0, kShown), token.size() > kShown ? "..." : ""));
    std::string_view what = e.what();  // "[its name] parse error at line 1, column 2: what is wrong"
    for (const std::string_view end : {"] ", ": "})
      if (const size_t found = what.find(end); found != std::string_view::npos) what.remove_prefix(found + end.size());
    return fail(fmt::format("not JSON at byte {}: {}", at, what));
  }

 private:
  enum class Place : uint8_t { root, inputs, input, shape, data, outputs, output, parameters, skipped };

  bool inside(Place place) const { return !open_.empty() && open_.back() == place; }
  /// Inside an input the message begins with it.
  bool fail(std::string message) {
    if (!fault.empty()) return false;
    if (std::find(open_.begin(), open_.end(), Place::input) != open_.end()) {
      const std::string& name = result.inputs.back().name;
      fault = name.empty() ? fmt::format("input {} of the request: ", result.inputs.size())
                           : fmt::format("input '{}': ", name);
    }
    fault += message;
    return false;
  }
  /// What stands where the protocol wants something else.
  bool refuse(std::string_view found) {
    if (open_.empty()) return fail(fmt::format("found {}; needed an object", found));
    if (skippable()) return true;
    const auto [name, needed] = expected();
    return fail(fmt::format("\"{}\": found {}; needed {}", name, found, needed));
  }
  /// What the protocol wants where the parser is: under which key, and what.
  std::pair<std::string_view, std::string_view> expected() const {
    switch (open_.back()) {
      case Place::inputs:
        return {"inputs", "an object"};
      case Place::outputs:
        return {"outputs", "an object"};
      case Place::shape:
        return {"shape", "a whole number"};
      case Place::data:
        return {"data", "a number, text, true or false"};
      default:
        break;
    }
    if (key_ == "parameters") return {key_, "an object"};
    return {key_, key_ == "id" || key_ == "name" || key_ == "datatype" ? "text" : "a list"};
  }
  /// Whether the member may be absent: clients without a value for it write null.
  bool may_lack() const {
    if (inside(Place::root)) return key_ == "id" || key_ == "outputs" || key_ == "parameters";
    return (inside(Place::input) && (key_ == "data" || key_ == "parameters")) ||
           (inside(Place::output) && key_ == "parameters");
  }
  /// Whether whatever stands here is none of the protocol's business.
  bool skippable() const {
    if (open_.empty()) return false;
    switch (open_.back()) {
      case Place::root:
        return key_ != "id" && key_ != "inputs" && key_ != "outputs" && key_ != "parameters";
      case Place::input:
        return key_ != "name" && key_ != "datatype" && key_ != "shape" && key_ != "data" && key_ != "parameters";
      case Place::output:
        return key_ != "name" && key_ != "parameters";
      case Place::parameters:
      case Place::skipped:
        return true;
      default:
        return false;
    }
  }
  bool push(Place place, Parameters* parameters = nullptr) {
    if (open_.size() == kMaxDepth) return fail(fmt::format("lists and objects are nested deeper than {}", kMaxDepth));
    open_.push_back(place);
    members_.push_back(0);
    if (parameters) parameters_ = parameters;
    return true;
  }
  bool pop() { return open_.pop_back(), members_.pop_back(), true; }

  template <class T>
  bool parameter(T value) {
    if (!inside(Place::parameters)) return false;
    if (parameters_->size() == kMaxParameters) return fail(fmt::format("more than {} parameters", kMaxParameters));
    parameters_->emplace_back(key_, std::move(value));
    return true;
  }
  bool whole(int64_t n, bool wide) {
    if (inside(Place::data)) return item(wide ? JsonData::Kind::wide : JsonData::Kind::whole, static_cast<uint64_t>(n));
    if (inside(Place::shape)) {
      std::vector<int64_t>& shape = result.inputs.back().shape;
      if (wide || n < 0) return refuse_extent(wide ? fmt::to_string(static_cast<uint64_t>(n)) : fmt::to_string(n));
      if (shape.size() == kMaxAxes) return fail(fmt::format("\"shape\" has more than {} axes", kMaxAxes));
      return shape.push_back(n), true;
    }
    if (wide) return parameter(std::ldexp(static_cast<double>(static_cast<uint64_t>(n)), 0)) || refuse("a number");
    return parameter(n) || refuse("a number");
  }
  bool refuse_extent(std::string_view found) {
    return fail(fmt::format("\"shape\": found {}; needed extents from 0 to 2^63 - 1", found));
  }
  /// Into a list of "data", or of its lists.
  bool deeper() {
    if (counts_.size() == kMaxAxes) return fail(fmt::format("\"data\" has lists nested deeper than {}", kMaxAxes));
    counts_.push_back(0);
    return push(Place::data);
  }
  bool item(JsonData::Kind kind, uint64_t bits) {
    if (item_depth_ == 0) item_depth_ = counts_.size();
    if (item_depth_ != counts_.size()) return fail("\"data\" has items at different depths of its lists");
    JsonData& data = *result.inputs.back().data;
    data.numbers.push_back(bits);
    data.kinds.push_back(kind);
    ++counts_.back();
    return true;
  }

  std::vector<Place> open_;
  std::vector<uint8_t> members_;  // of the protocol that each of them has had
  std::string key_;
  Parameters* parameters_ = nullptr;  // of the object of parameters that is open
  std::vector<int64_t> counts_;       // of the lists of "data" that are open: items so far
  size_t item_depth_ = 0;
};

double real_of(const JsonData& data, size_t i) {
  const uint64_t bits = data.numbers[i];
  switch (data.kinds[i]) {
    case JsonData::Kind::whole:
      return static_cast<double>(static_cast<int64_t>(bits));
    case JsonData::Kind::real:
    case JsonData::Kind::fraction:
      return std::bit_cast<double>(bits);
    default:
      return static_cast<double>(bits);
  }
}

std::optional<double> word(std::string_view s) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (s == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (s == "Infinity") return kInfinity;
  if (s == "-Infinity") return -kInfinity;
  return {};
}

struct Item {
  JsonData::Kind kind;
  uint64_t bits;
};

/// An item as a whole number, where it is one: 1.0 and 1e3 are.
Item whole_item(const JsonData& data, size_t i) {
  const Item item = {data.kinds[i], data.numbers[i]};
  if (item.kind != JsonData::Kind::real) return item;
  const auto x = std::bit_cast<double>(item.bits);
  if (x != std::trunc(x) || x < -0x1p63 || x >= 0x1p64) return item;
  if (x < 0x1p63) return {JsonData::Kind::whole, static_cast<uint64_t>(static_cast<int64_t>(x))};
  return {JsonData::Kind::wide, static_cast<uint64_t>(x)};
}

/// Whether an integer of the type holds the item; it is in `t` already, low bits alone.
bool held(const Item& item, size_t i, const Tensor& t) {
  const auto at = static_cast<int64_t>(i);
  switch (item.kind) {
    case JsonData::Kind::real:
    case JsonData::Kind::fraction:
      return false;
    case JsonData::Kind::wide:
      return t.dtype() == DType::u64;
    case JsonData::Kind::boolean:
      return true;
    case JsonData::Kind::whole:
      break;
  }
  const auto n = static_cast<int64_t>(item.bits);
  if (t.dtype() == DType::boolean) return n == 0 || n == 1;
  return t.dtype() == DType::u64 ? n >= 0 : int_at(t, at) == n;
}

std::string item_text(const JsonData& data, size_t i) {
  switch (data.kinds[i]) {
    case JsonData::Kind::whole:
      return fmt::to_string(static_cast<int64_t>(data.numbers[i]));
    case JsonData::Kind::wide:
      return fmt::to_string(data.numbers[i]);
    case JsonData::Kind::boolean:
      return data.numbers[i] ? "true" : "false";
    case JsonData::Kind::real:
    case JsonData::Kind::fraction:
      break;
  }
  const std::string text = number_text(std::bit_cast<double>(data.numbers[i]));
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

Status fill_strings(Tensor& t, const JsonData& data, std::string_view whose) {
  if (data.strings.size() != data.numbers.size()) return refused(fmt::format("{}: needed text in \"data\"", whose));
  auto out = t.mutable_as<std::string>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = data.strings[i].second;
  return {};
}

Status fill_reals(Tensor& t, const JsonData& data, std::string_view whose) {
  for (size_t i = 0; i < data.numbers.size(); ++i) {
    const double x = real_of(data, i);
    if (t.dtype() == DType::f32 && std::isinf(static_cast<float>(x)))  // a word says infinity
      return refused(fmt::format("{}: found {} in \"data\", which {} does not hold", whose, item_text(data, i),
                                 datatype_of(t.dtype())));
    set_real(t, static_cast<int64_t>(i), x);
  }
  for (const auto& [at, text] : data.strings) {
    const auto x = word(text);
    if (!x) return refused(fmt::format("{}: found text in \"data\"; needed numbers", whose));
    set_real(t, static_cast<int64_t>(at), *x);
  }
  return {};
}

Status fill_integers(Tensor& t, const JsonData& data, std::string_view whose) {
  if (!data.strings.empty())
    return refused(fmt::format("{}: found text in \"data\"; needed numbers{}", whose,
                               t.dtype() == DType::boolean ? ", true or false" : ""));
  for (size_t i = 0; i < data.numbers.size(); ++i) {
    const Item item = whole_item(data, i);
    if (item.kind != JsonData::Kind::real) set_int(t, static_cast<int64_t>(i), static_cast<int64_t>(item.bits));
    if (!held(item, i, t))
      return refused(fmt::format("{}: found {} in \"data\", which {} does not hold", whose, item_text(data, i),
                                 datatype_of(t.dtype())));
  }
  return {};
}

}  // namespace

int64_t reading_memory(std::string_view json) {
  constexpr int64_t kText = 80;  // objects of a text while it is read, and in the tensor
  const auto quotes = static_cast<int64_t>(std::count(json.begin(), json.end(), '"'));
  return static_cast<int64_t>(json.size()) * 8 + quotes / 2 * kText;
}

Result<InferJson> read_infer_json(std::string_view text) {
  // The parser takes a zero byte for the end of the text, and passes over whatever follows.
  if (const size_t at = text.find('\0'); at != std::string_view::npos)
    return refused(fmt::format("not JSON at byte {}: a zero byte", at + 1));
  Handler handler;
  try {
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler))
      return refused(handler.fault.empty() ? "not a JSON object" : std::move(handler.fault));
  } catch (const std::bad_alloc&) {
    return Error(Code::limit, "out of memory");
  }
  return std::move(handler.result);
}

Result<Tensor> tensor_of(const JsonData& data, DType type, const std::vector<int64_t>& extents,
                         std::string_view whose) {
  const Shape shape(extents);
  const auto count = shape.checked_count();
  if (!count || static_cast<uint64_t>(*count) != data.numbers.size())
    return refused(fmt::format("{}: \"data\" has {} items; shape {} has {}", whose, data.numbers.size(), shape.text(),
                               count ? fmt::to_string(*count) : "too many"));
  if (data.lengths.size() > 1 && data.lengths != extents && *count > 0)
    return refused(fmt::format("{}: \"data\" has lists of [{}]; the shape is {}", whose, fmt::join(data.lengths, ","),
                               shape.text()));
  NNEX_ASSIGN(Tensor t, Tensor::make(type, shape));
  if (type == DType::str)
    NNEX_TRY(fill_strings(t, data, whose));
  else if (is_real(type))
    NNEX_TRY(fill_reals(t, data, whose));
  else
    NNEX_TRY(fill_integers(t, data, whose));
  return t;
}

}  // namespace nnex::serve
