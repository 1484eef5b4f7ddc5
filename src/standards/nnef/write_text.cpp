// What a writer of NNEF says of names, numbers and attributes.

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/joined.h"
#include "graph/text/lexer.h"
#include "standards/nnef/export_document.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {

std::string with_commas(const std::vector<std::string>& items) { return joined(items, ", "); }

std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += fine ? c : '_';
  }
  if (!out.empty() && out[0] >= '0' && out[0] <= '9') out.insert(0, "t");
  if (graph_text::is_keyword(out)) out += "_";
  return out;
}

std::optional<ItemType> item_type_of(DType type) {
  if (type == DType::boolean) return ItemType::logical;
  if (is_real(type)) return ItemType::scalar;
  if (is_int(type)) return ItemType::integer;
  return std::nullopt;
}

std::string real_text(double x) {
  const auto narrow = static_cast<float>(x);
  std::string s = number_text(x);
  if (static_cast<double>(narrow) == x) {
    const std::string shorter = number_text(narrow);
    double back = 0;
    fast_float::from_chars(shorter.data(), shorter.data() + shorter.size(), back);
    if (static_cast<float>(back) == narrow) s = shorter;
  }
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
}

std::string extents_text(const Ints& extents) { return fmt::format("[{}]", joined(extents, ", ")); }

std::string attribute_text(const AttrValue& value, bool real) {
  if (auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (auto* i = std::get_if<int64_t>(&value)) return real ? real_text(static_cast<double>(*i)) : fmt::to_string(*i);
  if (auto* x = std::get_if<double>(&value)) return real_text(*x);
  if (auto* s = std::get_if<std::string>(&value)) return graph_text::quoted(*s);
  std::vector<std::string> items;
  if (auto* l = std::get_if<Ints>(&value))
    for (int64_t i : *l) items.push_back(real ? real_text(static_cast<double>(i)) : fmt::to_string(i));
  if (auto* l = std::get_if<Reals>(&value))
    for (double x : *l) items.push_back(real ? real_text(x) : fmt::format("{:.0f}", x));
  if (auto* l = std::get_if<Texts>(&value))
    for (const std::string& s : *l) items.push_back(graph_text::quoted(s));
  if (auto* l = std::get_if<Pairs>(&value))
    for (auto [a, b] : *l) items.push_back(fmt::format("({}, {})", a, b));
  return "[" + with_commas(items) + "]";
}

}  // namespace nnex::nnef_format
