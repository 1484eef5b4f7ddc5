#include "ops/codecs.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/failure.h"

namespace nnex {
namespace {

Error expected(std::string_view what, const AttrValue& found) {
  return failure(Code::invalid_model, "found {}; needed {}", text(found), what);
}

Result<AttrValue> list_from_one(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(Ints{*i});
  return expected("one integer", v);
}
Result<AttrValue> one_from_list(const AttrValue& v) {
  if (auto* l = std::get_if<Ints>(&v); l && l->size() == 1) return AttrValue(l->front());
  return expected("a list of one integer", v);
}

Result<AttrValue> bool_from_int(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(*i != 0);
  return expected("0 or 1", v);
}
Result<AttrValue> int_from_bool(const AttrValue& v) {
  if (auto* b = std::get_if<bool>(&v)) return AttrValue(int64_t{*b});
  return expected("true or false", v);
}
Result<AttrValue> not_from_int(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(*i == 0);
  return expected("0 or 1", v);
}
Result<AttrValue> int_from_not(const AttrValue& v) {
  if (auto* b = std::get_if<bool>(&v)) return AttrValue(int64_t{!*b});
  return expected("true or false", v);
}

Result<AttrValue> pairs_from_halves(const AttrValue& v) {
  auto* l = std::get_if<Ints>(&v);
  if (!l || l->size() % 2) return expected("begins, then as many ends", v);
  Pairs p;
  for (size_t i = 0, n = l->size() / 2; i < n; ++i) p.emplace_back((*l)[i], (*l)[n + i]);
  return AttrValue(std::move(p));
}
Result<AttrValue> halves_from_pairs(const AttrValue& v) {
  auto* p = std::get_if<Pairs>(&v);
  if (!p) return expected("pairs", v);
  Ints l;
  for (auto [b, e] : *p) l.push_back(b);
  for (auto [b, e] : *p) l.push_back(e);
  return AttrValue(std::move(l));
}

Result<AttrValue> pairs_from_interleaved(const AttrValue& v) {
  auto* l = std::get_if<Ints>(&v);
  if (!l || l->size() % 2) return expected("begin, end for each axis", v);
  Pairs p;
  for (size_t i = 0; i < l->size(); i += 2) p.emplace_back((*l)[i], (*l)[i + 1]);
  return AttrValue(std::move(p));
}
Result<AttrValue> interleaved_from_pairs(const AttrValue& v) {
  auto* p = std::get_if<Pairs>(&v);
  if (!p) return expected("pairs", v);
  Ints l;
  for (auto [b, e] : *p) l.push_back(b), l.push_back(e);
  return AttrValue(std::move(l));
}

Result<AttrValue> full_from_spatial(const AttrValue& v) {
  auto* l = std::get_if<Ints>(&v);
  if (!l) return expected("a list of integers", v);
  Ints full = {1, 1};
  full.insert(full.end(), l->begin(), l->end());
  return AttrValue(std::move(full));
}
Result<AttrValue> spatial_from_full(const AttrValue& v) {
  auto* l = std::get_if<Ints>(&v);
  if (!l || (!l->empty() && (l->size() < 2 || (*l)[0] != 1 || (*l)[1] != 1)))
    return expected("1, 1 for batch and channels", v);
  return AttrValue(l->empty() ? Ints{} : Ints(l->begin() + 2, l->end()));
}

Result<AttrValue> spatial_pads_from_full(const AttrValue& v) {
  auto* p = std::get_if<Pairs>(&v);
  if (!p || (!p->empty() &&
             (p->size() < 2 || (*p)[0] != std::pair<int64_t, int64_t>{} || (*p)[1] != std::pair<int64_t, int64_t>{})))
    return expected("no padding of batch and channels", v);
  return halves_from_pairs(AttrValue(p->empty() ? Pairs{} : Pairs(p->begin() + 2, p->end())));
}

/// (0,0), (0,0) for batch and channels, then the pairs.
Result<AttrValue> with_full_rank(Result<AttrValue> pairs) {
  if (!pairs.ok()) return pairs;
  Pairs full = {{0, 0}, {0, 0}};
  const auto& p = std::get<Pairs>(*pairs);
  full.insert(full.end(), p.begin(), p.end());
  return AttrValue(std::move(full));
}
Result<AttrValue> full_pads_from_spatial(const AttrValue& v) { return with_full_rank(pairs_from_halves(v)); }
Result<AttrValue> full_from_interleaved(const AttrValue& v) { return with_full_rank(pairs_from_interleaved(v)); }
Result<AttrValue> interleaved_from_full(const AttrValue& v) {
  auto halves = spatial_pads_from_full(v);
  if (!halves.ok()) return halves;
  auto pairs = pairs_from_halves(*halves);
  if (!pairs.ok()) return pairs;
  return interleaved_from_pairs(*pairs);
}

Result<AttrValue> full_from_both_sides(const AttrValue& v) {
  auto* l = std::get_if<Ints>(&v);
  if (!l || l->empty() || l->size() > 2) return expected("one or two numbers", v);
  return AttrValue(Pairs{{0, 0}, {0, 0}, {l->front(), l->front()}, {l->back(), l->back()}});
}
Result<AttrValue> both_sides_from_full(const AttrValue& v) {
  auto halves = spatial_pads_from_full(v);
  if (!halves.ok()) return halves;
  auto& l = std::get<Ints>(*halves);
  const size_t n = l.size() / 2;
  if (!std::equal(l.begin(), l.begin() + static_cast<ptrdiff_t>(n), l.begin() + static_cast<ptrdiff_t>(n)))
    return expected("as much padding before as after", v);
  l.resize(n);
  return halves;
}

Result<AttrValue> index_as_from_order(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(std::string(*i ? "tensor_column_major" : "tensor"));
  return expected("0 or 1", v);
}
Result<AttrValue> order_from_index_as(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s || *s == "window") return expected("'tensor' or 'tensor_column_major'", v);
  return AttrValue(int64_t{*s == "tensor_column_major"});
}

Result<AttrValue> ceil_from_word(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s || (*s != "ceil" && *s != "floor")) return expected("'ceil' or 'floor'", v);
  return AttrValue(*s == "ceil");
}
Result<AttrValue> word_from_ceil(const AttrValue& v) {
  if (auto* b = std::get_if<bool>(&v)) return AttrValue(std::string(*b ? "ceil" : "floor"));
  return expected("true or false", v);
}

Result<AttrValue> divisor_from_normalize(const AttrValue& v) {
  if (auto* b = std::get_if<bool>(&v)) return AttrValue(std::string(*b ? "window" : "one"));
  return expected("true or false", v);
}
Result<AttrValue> normalize_from_divisor(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s || *s == "padded") return expected("'one', 'window' or 'inside'", v);
  return AttrValue(*s != "one");
}

Result<AttrValue> zero_from_flag(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(std::string(*i ? "literal" : "copy"));
  return expected("0 or 1", v);
}
Result<AttrValue> flag_from_zero(const AttrValue& v) {
  if (auto* s = std::get_if<std::string>(&v)) return AttrValue(int64_t{*s == "literal"});
  return expected("'literal' or 'copy'", v);
}

Result<AttrValue> border_from_word(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s) return expected("a word", v);
  return AttrValue(*s == "edge" ? std::string("replicate") : *s);
}
Result<AttrValue> word_from_border(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s || *s == "reflect_even" || *s == "ignore") return expected("constant, replicate, reflect or wrap", v);
  return AttrValue(*s == "replicate" ? std::string("edge") : *s);
}

/// A word of a format that is another word of ours; every other word stays.
Result<AttrValue> reworded(const AttrValue& v, std::span<const std::array<std::string_view, 2>> words, size_t from) {
  auto* s = std::get_if<std::string>(&v);
  if (!s) return expected("a word", v);
  for (const auto& pair : words)
    if (*s == pair[from]) return AttrValue(std::string(pair[1 - from]));
  return AttrValue(*s);
}
constexpr std::array<std::string_view, 2> kNnefBorders[] = {{"reflect-even", "reflect_even"}};
constexpr std::array<std::string_view, 2> kWebnnBorders[] = {{"edge", "replicate"}, {"reflection", "reflect"}};
Result<AttrValue> border_from_hyphens(const AttrValue& v) { return reworded(v, kNnefBorders, 0); }
Result<AttrValue> hyphens_from_border(const AttrValue& v) { return reworded(v, kNnefBorders, 1); }
Result<AttrValue> border_from_webnn(const AttrValue& v) { return reworded(v, kWebnnBorders, 0); }
Result<AttrValue> webnn_from_border(const AttrValue& v) { return reworded(v, kWebnnBorders, 1); }

Result<AttrValue> divisor_from_flag(const AttrValue& v) {
  if (auto* i = std::get_if<int64_t>(&v)) return AttrValue(std::string(*i ? "padded" : "inside"));
  return expected("0 or 1", v);
}
Result<AttrValue> flag_from_divisor(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s || (*s != "padded" && *s != "inside")) return expected("'padded' or 'inside'", v);
  return AttrValue(int64_t{*s == "padded"});
}

Result<AttrValue> to_lower(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s) return expected("a word", v);
  std::string out = *s;
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return AttrValue(std::move(out));
}
Result<AttrValue> to_upper(const AttrValue& v) {
  auto* s = std::get_if<std::string>(&v);
  if (!s) return expected("a word", v);
  std::string out = *s;
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return AttrValue(std::move(out));
}

constexpr DType kOnnxTypes[] = {
    DType::none, DType::f32,  DType::u8,      DType::i8,       DType::u16,        DType::i16,    DType::i32,
    DType::i64,  DType::str,  DType::boolean, DType::f16,      DType::f64,        DType::u32,    DType::u64,
    DType::c64,  DType::c128, DType::bf16,    DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
    DType::u4,   DType::i4,   DType::f4e2m1,  DType::f8e8m0,   DType::u2,         DType::i2};

Result<AttrValue> dtype_from_number(const AttrValue& v) {
  auto* i = std::get_if<int64_t>(&v);
  if (!i || dtype_of_onnx(*i) == DType::none) return expected("an element type number, 1 to 26", v);
  return AttrValue(dtype_of_onnx(*i));
}
Result<AttrValue> number_from_dtype(const AttrValue& v) {
  auto* t = std::get_if<DType>(&v);
  if (!t || onnx_number(*t) == 0) return expected("an element type", v);
  return AttrValue(onnx_number(*t));
}

}  // namespace

const Codec one_item_list = {"one_item_list", list_from_one, one_from_list};
const Codec int_bool = {"int_bool", bool_from_int, int_from_bool};
const Codec inverse_bool = {"inverse_bool", not_from_int, int_from_not};
const Codec begins_ends = {"begins_ends", pairs_from_halves, halves_from_pairs};
const Codec halves = {"halves", halves_from_pairs, pairs_from_halves};
const Codec nnef_border = {"nnef_border", border_from_hyphens, hyphens_from_border};
const Codec webnn_border = {"webnn_border", border_from_webnn, webnn_from_border};
const Codec zero_literal = {"zero_literal", zero_from_flag, flag_from_zero};
const Codec onnx_border = {"onnx_border", border_from_word, word_from_border};
const Codec padded_or_inside = {"padded_or_inside", divisor_from_flag, flag_from_divisor};
const Codec interleaved = {"interleaved", pairs_from_interleaved, interleaved_from_pairs};
const Codec full_rank_ints = {"full_rank_ints", full_from_spatial, spatial_from_full};
const Codec full_rank_pads = {"full_rank_pads", full_pads_from_spatial, spatial_pads_from_full};
const Codec full_rank_interleaved = {"full_rank_interleaved", full_from_interleaved, interleaved_from_full};
const Codec full_rank_both_sides = {"full_rank_both_sides", full_from_both_sides, both_sides_from_full};
const Codec storage_order = {"storage_order", index_as_from_order, order_from_index_as};
const Codec rounding_up = {"rounding_up", ceil_from_word, word_from_ceil};
const Codec normalized = {"normalized", divisor_from_normalize, normalize_from_divisor};
const Codec lower_case = {"lower_case", to_lower, to_upper};
const Codec onnx_dtype = {"onnx_dtype", dtype_from_number, number_from_dtype};

DType dtype_of_onnx(int64_t number) {
  return number > 0 && number < static_cast<int64_t>(std::size(kOnnxTypes)) ? kOnnxTypes[number] : DType::none;
}

int64_t onnx_number(DType type) {
  for (size_t i = 1; i < std::size(kOnnxTypes); ++i)
    if (kOnnxTypes[i] == type) return static_cast<int64_t>(i);
  return 0;
}

}  // namespace nnex
