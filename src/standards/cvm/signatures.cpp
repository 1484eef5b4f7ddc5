#include "standards/cvm/signatures.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/joined.h"
#include "base/letter_case.h"
#include "base/nearest.h"
#include "base/try.h"
#include "standards/cvm/import_quirks.h"

namespace nnex::cvm_format {
namespace {

using Kind = AttrRule::Kind;

constexpr AttrRule integer(std::string_view name) { return {name, Kind::integer}; }
constexpr AttrRule needed(std::string_view name) { return {name, Kind::integer, true}; }
constexpr AttrRule boolean(std::string_view name) { return {name, Kind::boolean}; }
constexpr AttrRule tuple(std::string_view name, bool required = false) { return {name, Kind::tuple, required}; }
constexpr AttrRule text_of(std::string_view name) { return {name, Kind::text}; }
constexpr AttrRule dtype(std::string_view name) { return {name, Kind::dtype}; }

using Written = SignatureOf<List>;

constexpr Written simple(std::string_view name, int inputs, Status (*prepare)(NodeImport&), bool in_place = false) {
  Written r;
  r.name = name, r.inputs = inputs, r.prepare = prepare, r.in_place = in_place;
  return r;
}

constexpr Written with(std::string_view name, int inputs, Status (*prepare)(NodeImport&), List<AttrRule, 12> attrs,
                       bool in_place = false) {
  Written r = simple(name, inputs, prepare, in_place);
  r.attrs = attrs;
  return r;
}

constexpr Written with_bias(std::string_view name, Status (*prepare)(NodeImport&), List<AttrRule, 12> attrs) {
  Written r = with(name, 2, prepare, attrs);
  r.bias = true;
  return r;
}

constexpr Written with_outputs(Written r, int outputs) {
  r.outputs = outputs;
  return r;
}

constexpr List<AttrRule, 12> kReduction = {tuple("axis"), boolean("keepdims"), boolean("exclude"), dtype("dtype")};
constexpr List<AttrRule, 12> kShift = {needed("precision"), needed("shift_bit"), boolean("is_sign")};

constexpr Written kRows[] = {
    simple("abs", 1, prepare_plain, true),
    simple("broadcast_add", 2, prepare_plain),
    simple("broadcast_div", 2, prepare_plain),
    simple("broadcast_greater", 2, prepare_plain),
    simple("broadcast_max", 2, prepare_plain),
    simple("broadcast_mul", 2, prepare_plain),
    simple("broadcast_sub", 2, prepare_plain),
    with("clip", 1, prepare_clip, {needed("a_min"), needed("a_max")}, true),
    with("concatenate", -1, prepare_concatenate, {integer("axis")}),
    with_bias("conv2d", prepare_conv2d,
              {needed("channels"), tuple("kernel_size", true), tuple("strides"), tuple("padding"), tuple("dilation"),
               integer("groups"), boolean("use_bias"), text_of("layout"), text_of("kernel_layout"),
               text_of("out_layout"), dtype("out_dtype")}),
    with("cvm_clip", 1, prepare_cvm_clip, {needed("precision"), boolean("is_sign")}, true),
    with("cvm_left_shift", 1, prepare_shift, kShift, true),
    with("cvm_lut", 2, prepare_lut, {needed("in_dim")}),
    simple("cvm_precision", 1, prepare_plain, true),
    with("cvm_right_shift", 1, prepare_shift, kShift, true),
    with_bias("dense", prepare_dense, {AttrRule{"units", Kind::integer, true, 1}, boolean("use_bias")}),
    simple("elemwise_add", 2, prepare_same_shapes, true),
    simple("elemwise_sub", 2, prepare_same_shapes, true),
    with("expand_dims", 1, prepare_expand_dims, {needed("axis"), AttrRule{"num_newaxis", Kind::integer, false, 1}},
         true),
    simple("flatten", 1, prepare_plain, true),
    with_outputs(with("get_valid_counts", 1, prepare_valid_counts, {integer("score_threshold")}), 2),
    with("max", 1, prepare_reduction, kReduction),
    with("max_pool2d", 1, prepare_max_pool2d,
         {tuple("pool_size", true), tuple("strides"), tuple("padding"), text_of("layout"), boolean("ceil_mode")}),
    simple("negative", 1, prepare_plain),
    with("non_max_suppression", 2, prepare_suppression,
         {integer("iou_threshold"), integer("max_output_size"), integer("top_k"), boolean("force_suppress"),
          integer("coord_start"), integer("score_index"), integer("id_index"), boolean("return_indices"),
          boolean("invalid_to_bottom")}),
    simple("relu", 1, prepare_plain, true),
    with("repeat", 1, prepare_repeat, {needed("repeats"), integer("axis")}),
    with("reshape", 1, prepare_reshape, {tuple("shape", true)}, true),
    with("slice_like", 2, prepare_slice_like, {tuple("axis")}),
    with("squeeze", 1, prepare_squeeze, {tuple("axis")}, true),
    with("strided_slice", 1, prepare_strided_slice, {tuple("begin"), tuple("end"), tuple("stride")}),
    with("sum", 1, prepare_reduction, kReduction),
    with("take", 2, prepare_take, {AttrRule{"axis", Kind::optional_integer}}),
    with("tile", 1, prepare_tile, {tuple("reps")}),
    with("transpose", 1, prepare_transpose, {tuple("axes")}),
    with("upsampling", 1, prepare_upsampling, {needed("scale"), text_of("method"), text_of("layout")}),
    simple("where", 3, prepare_where),
};

constexpr auto kSignatures = [] {
  std::array<Signature, std::size(kRows)> all = {};
  for (size_t i = 0; i < all.size(); ++i) {
    const Written& row = kRows[i];
    all[i] = {row.name,    row.inputs, row.bias, row.in_place, ItemsOf<kRows, &Written::attrs>::of(i),
              row.prepare, row.outputs};
  }
  return all;
}();

constexpr std::string_view kBlanks = " \t\n\r\v\f";

void skip_blanks(std::string_view& s) {
  while (!s.empty() && kBlanks.find(s.front()) != std::string_view::npos) s.remove_prefix(1);
}

/// A decimal number at the front of s, which is taken away.
std::optional<int64_t> take_number(std::string_view& s) {
  const bool negative = !s.empty() && s.front() == '-';
  if (!s.empty() && (s.front() == '-' || s.front() == '+')) s.remove_prefix(1);
  if (s.empty() || s.front() < '0' || s.front() > '9') return std::nullopt;
  int64_t n = 0;
  for (; !s.empty() && s.front() >= '0' && s.front() <= '9'; s.remove_prefix(1)) {
    const int64_t digit = s.front() - '0';
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n)) return std::nullopt;
  }
  return negative ? -n : n;
}

std::optional<int64_t> read_integer(std::string_view s) {
  skip_blanks(s);
  const auto n = take_number(s);
  skip_blanks(s);
  return s.empty() ? n : std::nullopt;
}

/// "(1, 2)", "[1,2]", "(1,)", "()", "3"; an L after a number is passed over.
std::optional<Ints> read_tuple(std::string_view s) {
  skip_blanks(s);
  if (!s.empty() && s.front() != '(' && s.front() != '[') {
    const auto n = take_number(s);
    if (n && !s.empty() && s.front() == 'L') s.remove_prefix(1);
    skip_blanks(s);
    return n && s.empty() ? std::optional<Ints>(Ints{*n}) : std::nullopt;
  }
  if (s.empty()) return std::nullopt;
  const char closes = s.front() == '(' ? ')' : ']';
  s.remove_prefix(1);
  skip_blanks(s);
  Ints out;
  while (!s.empty() && s.front() != closes) {
    const auto n = take_number(s);
    if (!n) return std::nullopt;
    out.push_back(*n);
    skip_blanks(s);
    if (!s.empty() && s.front() == 'L') s.remove_prefix(1);
    skip_blanks(s);
    if (!s.empty() && s.front() == ',')
      s.remove_prefix(1);
    else if (s.empty() || s.front() != closes)
      return std::nullopt;
    skip_blanks(s);
  }
  if (s.empty()) return std::nullopt;
  s.remove_prefix(1);
  skip_blanks(s);
  return s.empty() ? std::optional<Ints>(std::move(out)) : std::nullopt;
}

std::optional<bool> read_bool(std::string_view s) {
  const std::string lower = lower_case_text(s);
  if (lower == "true" || lower == "1") return true;
  if (lower == "false" || lower == "0") return false;
  return std::nullopt;
}

bool is_dtype_word(std::string_view s) {
  static constexpr std::string_view kWords[] = {"same",   "float16", "float32", "float64", "uint8", "uint16",
                                                "uint32", "uint64",  "int8",    "int16",   "int32", "int64"};
  return std::find(std::begin(kWords), std::end(kWords), s) != std::end(kWords);
}

/// The value of a text; nothing when it is not of the rule's kind. monostate: None.
std::optional<AttrValue> read_value(const AttrRule& rule, const std::string& s) {
  switch (rule.kind) {
    case Kind::optional_integer:
      if (s == "None") return AttrValue{};
      [[fallthrough]];
    case Kind::integer: {
      const auto n = read_integer(s);
      return n && *n >= rule.low && *n <= rule.high ? std::optional<AttrValue>(*n) : std::nullopt;
    }
    case Kind::boolean: {
      const auto b = read_bool(s);
      return b ? std::optional<AttrValue>(*b) : std::nullopt;
    }
    case Kind::tuple: {
      auto list = read_tuple(s);
      return list ? std::optional<AttrValue>(std::move(*list)) : std::nullopt;
    }
    case Kind::dtype:
      return is_dtype_word(s) ? std::optional<AttrValue>(s) : std::nullopt;
    case Kind::text:
      return AttrValue(s);
  }
  return std::nullopt;
}

/// "an integer of 1 to 4096": what the text of an attribute must be.
std::string needed_text(const AttrRule& rule) {
  static constexpr std::string_view kNames[] = {
      "an integer", "true or false", "a tuple of integers", "a 32-bit integer or None", "an element type's name",
      "text"};
  const std::string kind(kNames[static_cast<size_t>(rule.kind)]);
  if (rule.kind != Kind::integer) return kind;
  if (rule.low == INT32_MIN && rule.high == INT32_MAX) return "a 32-bit integer";
  return fmt::format("{} of {} to {}", kind, rule.low, rule.high);
}

bool is_private(std::string_view key) {
  return key.size() >= 4 && key.substr(0, 2) == "__" && key.substr(key.size() - 2) == "__";
}

}  // namespace

const Signature* find_signature(std::string_view name) {
  for (const Signature& r : kSignatures)
    if (r.name == name) return &r;
  return nullptr;
}

std::string near_operator(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Signature& r : kSignatures) names.push_back(r.name);
  return did_you_mean(name, names);
}

Result<AttrMap> read_attributes(const Signature& rule, const TextMap& texts) {
  AttrMap out;
  if (rule.attrs.empty() && !texts.empty())
    return logic_error("{} has no attributes; found '{}'", rule.name, texts[0].first);
  std::set<std::string_view> given;
  for (const auto& [key, text] : texts) {
    if (is_private(key)) continue;
    const auto attr = std::find_if(rule.attrs.begin(), rule.attrs.end(),
                                   [&, k = std::string_view(key)](const AttrRule& a) { return a.name == k; });
    if (attr == rule.attrs.end()) return runtime_error("{} has no attribute '{}'", rule.name, key);
    auto value = read_value(*attr, text);
    if (!value)
      return runtime_error("{}: attribute '{}': found '{}'; needed {}", rule.name, key, text, needed_text(*attr));
    given.insert(attr->name);
    if (!std::holds_alternative<std::monostate>(*value)) out.emplace_back(key, std::move(*value));
  }
  for (const AttrRule& a : rule.attrs)
    if (a.required && !given.count(a.name)) return runtime_error("{}: attribute '{}' is missing", rule.name, a.name);
  return out;
}

std::string attribute_text(const AttrValue& value) {
  if (auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (auto* b = std::get_if<bool>(&value)) return *b ? "True" : "False";
  if (auto* s = std::get_if<std::string>(&value)) return *s;
  if (auto* list = std::get_if<Ints>(&value))
    return list->size() == 1 ? fmt::format("({},)", (*list)[0]) : fmt::format("({})", joined(*list, ", "));
  return "None";
}

}  // namespace nnex::cvm_format
