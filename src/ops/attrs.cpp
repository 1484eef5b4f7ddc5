#include "ops/attrs.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/failure.h"
#include "tensor/convert.h"

namespace nnex {

bool same(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  const Tensor* x = std::get_if<Tensor>(&a);
  if (!x) return text(a) == text(b);
  const Tensor& y = std::get<Tensor>(b);
  if (x->dtype() != y.dtype() || !(x->shape() == y.shape())) return false;
  if (x->dtype() == DType::str) return std::equal(x->strings().begin(), x->strings().end(), y.strings().begin());
  return x->data() == y.data() || std::memcmp(x->data(), y.data(), static_cast<size_t>(x->bytes())) == 0;
}

namespace {

std::string quoted(const std::string& s) {
  std::string out = "'";
  for (char c : s) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

template <class List, class Print>
std::string listed(const List& items, Print print) {
  std::string out = "[";
  for (const auto& x : items) {
    if (out.size() > 1) out += ", ";
    out += print(x);
  }
  return out + "]";
}

std::string real_text(double x) {
  std::string s = number_text(x);
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
}

}  // namespace

std::string_view kind_name(const AttrValue& v) {
  constexpr std::string_view kNames[] = {"none",  "bool", "int",   "real",  "str",   "ints",
                                         "reals", "strs", "pairs", "dtype", "tensor"};
  static_assert(std::size(kNames) == std::variant_size_v<AttrValue>);
  return kNames[v.index()];
}

const AttrValue* find_attribute(const AttrMap& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

Error wrong_attribute(std::string_view name, const AttrValue* found, std::string_view needed) {
  if (!found) return failure(Code::invalid_argument, "attribute '{}' is missing; needed {}", name, needed);
  return failure(Code::invalid_argument, "attribute '{}' is {} ({}); needed {}", name, text(*found), kind_name(*found),
                 needed);
}

std::string text(const AttrValue& v) {
  struct Print {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const { return real_text(x); }
    std::string operator()(const std::string& x) const { return quoted(x); }
    std::string operator()(const Ints& x) const {
      return listed(x, [](int64_t i) { return std::to_string(i); });
    }
    std::string operator()(const Reals& x) const { return listed(x, real_text); }
    std::string operator()(const Texts& x) const { return listed(x, quoted); }
    std::string operator()(const Pairs& x) const {
      return listed(x, [](auto p) { return fmt::format("({},{})", p.first, p.second); });
    }
    std::string operator()(DType x) const { return quoted(std::string(name(x))); }
    std::string operator()(const Tensor& x) const {
      std::string out = fmt::format("{}{}(", name(x.dtype()), x.shape().text());
      for (int64_t i = 0; i < x.count() && i < 8; ++i) out += (i ? ", " : "") + element_text(x, i);
      return out + (x.count() > 8 ? ", ...)" : ")");
    }
  };
  return std::visit(Print{}, v);
}

namespace detail {

bool set_bool(bool& to, const AttrValue& from) {
  if (auto* b = std::get_if<bool>(&from)) return to = *b, true;
  if (auto* i = std::get_if<int64_t>(&from)) return to = *i != 0, true;
  return false;
}

bool set_int(int64_t& to, const AttrValue& from) {
  if (auto* i = std::get_if<int64_t>(&from)) return to = *i, true;
  if (auto* b = std::get_if<bool>(&from)) return to = *b, true;
  if (auto* x = std::get_if<double>(&from); x && *x == std::trunc(*x) && std::fabs(*x) < 9e18)
    return to = static_cast<int64_t>(*x), true;
  return false;
}

bool set_real(double& to, const AttrValue& from) {
  if (auto* x = std::get_if<double>(&from)) return to = *x, true;
  if (auto* i = std::get_if<int64_t>(&from)) return to = static_cast<double>(*i), true;
  return false;
}

bool set_text(std::string& to, const AttrValue& from) {
  if (auto* s = std::get_if<std::string>(&from)) return to = *s, true;
  return false;
}

bool set_ints(Ints& to, const AttrValue& from) {
  if (auto* l = std::get_if<Ints>(&from)) return to = *l, true;
  if (auto* l = std::get_if<Reals>(&from)) return to.clear(), l->empty();
  if (auto* l = std::get_if<Texts>(&from)) return to.clear(), l->empty();
  if (auto* l = std::get_if<Pairs>(&from)) return to.clear(), l->empty();
  return false;
}

bool set_reals(Reals& to, const AttrValue& from) {
  if (auto* l = std::get_if<Reals>(&from)) return to = *l, true;
  if (auto* l = std::get_if<Ints>(&from)) return to.assign(l->begin(), l->end()), true;
  return false;
}

bool set_texts(Texts& to, const AttrValue& from) {
  if (auto* l = std::get_if<Texts>(&from)) return to = *l, true;
  if (auto* l = std::get_if<Ints>(&from)) return to.clear(), l->empty();
  return false;
}

bool set_pairs(Pairs& to, const AttrValue& from) {
  if (auto* l = std::get_if<Pairs>(&from)) return to = *l, true;
  if (auto* l = std::get_if<Ints>(&from)) return to.clear(), l->empty();
  return false;
}

bool set_dtype(DType& to, const AttrValue& from) {
  if (auto* t = std::get_if<DType>(&from)) return to = *t, true;
  auto* s = std::get_if<std::string>(&from);
  if (!s) return false;
  auto t = dtype_named(*s);
  if (t) to = *t;
  return t.has_value();
}

bool set_tensor(Tensor& to, const AttrValue& from) {
  if (auto* t = std::get_if<Tensor>(&from)) return to = *t, true;
  if (auto* l = std::get_if<Ints>(&from)) return to = Tensor::of(Shape{static_cast<int64_t>(l->size())}, *l), true;
  if (auto* l = std::get_if<Reals>(&from))
    return to = Tensor::of(Shape{static_cast<int64_t>(l->size())}, std::vector<float>(l->begin(), l->end())), true;
  if (auto* l = std::get_if<Texts>(&from)) return to = Tensor::of(Shape{static_cast<int64_t>(l->size())}, *l), true;
  return false;
}

int word_index(std::span<const std::string_view> words, const AttrValue& from) {
  auto* s = std::get_if<std::string>(&from);
  if (!s) return -1;
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == *s) return static_cast<int>(i);
  return -1;
}

}  // namespace detail
}  // namespace nnex
