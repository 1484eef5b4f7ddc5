#include "tensor/dim.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "base/checked.h"

namespace nnex {

/// A product of symbols, sorted; empty: the constant term.
using Product = std::vector<std::string>;

/// A sum of products with coefficients, none of them 0: canonical, since the map orders the products.
struct Dim::Formula {
  std::map<Product, int64_t> terms;
  std::string text;
};

namespace {

constexpr size_t kMostTerms = 16;

using Terms = std::map<Product, int64_t>;

/// Whether a name must stand in brackets inside a product.
bool compound(std::string_view s) { return s.find_first_of("+-* ") != std::string_view::npos && s.back() != ')'; }

std::string text_of(const Terms& terms) {
  std::string out;
  auto print = [&](const Product& product, int64_t k) {
    if (!out.empty() && k > 0) out += '+';
    if (product.empty()) {
      out += std::to_string(k);
      return;
    }
    if (k == -1)
      out += '-';
    else if (k != 1)
      out += std::to_string(k) + "*";
    for (size_t i = 0; i < product.size(); ++i) {
      if (i) out += '*';
      out += compound(product[i]) ? "(" + product[i] + ")" : product[i];
    }
  };
  for (const auto& [product, k] : terms)
    if (!product.empty()) print(product, k);
  if (auto it = terms.find({}); it != terms.end()) print({}, it->second);
  return out;
}

}  // namespace

// Access to a Dim's parts for the functions of this file.
struct DimParts {
  static Terms terms(const Dim& d);
  static Dim dim(Terms terms);
};

Dim Dim::symbol(std::string_view name) {
  Dim d;
  d.formula_ = std::make_shared<const Formula>(Formula{{{Product{std::string(name)}, 1}}, std::string(name)});
  return d;
}

Dim Dim::unknown(std::string_view why) {
  static std::atomic<uint64_t> counter{0};
  return symbol("?" + std::string(why) + std::to_string(counter++));
}

bool Dim::has_unknown() const { return formula_ && formula_->text.find('?') != std::string::npos; }
std::string Dim::text() const { return formula_ ? formula_->text : std::to_string(number_); }

std::vector<std::string> Dim::symbols() const {
  std::vector<std::string> out;
  if (!formula_) return out;
  for (const auto& [product, k] : formula_->terms)
    for (const std::string& s : product)
      if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
  return out;
}

Dim Dim::with(const std::vector<std::pair<std::string, int64_t>>& bound) const {
  if (!formula_) return *this;
  Dim sum = 0;
  for (const auto& [product, k] : formula_->terms) {
    Dim term = k;
    for (const std::string& s : product) {
      auto it = std::find_if(bound.begin(), bound.end(), [&](const auto& b) { return b.first == s; });
      term = term * (it == bound.end() ? symbol(s) : Dim(it->second));
    }
    sum = sum + term;
  }
  return sum;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number()) return wrap_add(a.value(), b.value());
  Terms sum = DimParts::terms(a);
  for (const auto& [product, k] : DimParts::terms(b))
    if ((sum[product] = wrap_add(sum[product], k)) == 0) sum.erase(product);
  return DimParts::dim(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number()) return wrap_mul(a.value(), b.value());
  Terms out;
  for (const auto& [p, k] : DimParts::terms(a))
    for (const auto& [q, m] : DimParts::terms(b)) {
      Product both = p;
      both.insert(both.end(), q.begin(), q.end());
      std::sort(both.begin(), both.end());
      if ((out[both] = wrap_add(out[both], wrap_mul(k, m))) == 0) out.erase(both);
    }
  return DimParts::dim(std::move(out));
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_number() || b.is_number()) return a.is_number() && b.is_number() && a.value() == b.value();
  return a.formula_ == b.formula_ || a.formula_->terms == b.formula_->terms;
}

Terms DimParts::terms(const Dim& d) {
  // A Dim of terms is built only here and in dim(); text() of a number is no formula.
  Terms out;
  if (auto n = d.number()) {
    if (*n != 0) out[{}] = *n;
    return out;
  }
  return d.formula_->terms;
}

Dim DimParts::dim(Terms terms) {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  std::string text = text_of(terms);
  if (terms.size() > kMostTerms) return Dim::symbol("(" + text + ")");
  Dim d;
  d.formula_ = std::make_shared<const Dim::Formula>(Dim::Formula{std::move(terms), std::move(text)});
  return d;
}

namespace {

/// a / b when every term divides: coefficients without rest, symbols that cancel.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  const Terms divisor = DimParts::terms(b);
  if (divisor.size() != 1) return std::nullopt;
  const auto& [symbols, k] = *divisor.begin();
  Terms out;
  for (const auto& [product, m] : DimParts::terms(a)) {
    if (k == 0 || m % k != 0) return std::nullopt;
    Product rest = product;
    for (const std::string& s : symbols) {
      auto it = std::find(rest.begin(), rest.end(), s);
      if (it == rest.end()) return std::nullopt;
      rest.erase(it);
    }
    out[rest] += m / k;
  }
  return DimParts::dim(std::move(out));
}

Dim opaque(std::string_view function, const Dim& a, std::string_view between, const Dim& b) {
  auto bracketed = [&](const Dim& d) { return compound(d.text()) && between != "," ? "(" + d.text() + ")" : d.text(); };
  return Dim::symbol(std::string(function) + "(" + bracketed(a) + std::string(between) + bracketed(b) + ")");
}

Dim divided(std::string_view function, const Dim& a, const Dim& b, int64_t (*numbers)(int64_t, int64_t)) {
  if (a.is_number() && b.is_number()) return b.value() == 0 ? 0 : numbers(a.value(), b.value());
  if (auto q = exact_quotient(a, b)) return *q;
  return opaque(function, a, "/", b);
}

int64_t floor_numbers(int64_t a, int64_t b) {
  if (b == -1) return wrap_sub(0, a);
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t ceil_numbers(int64_t a, int64_t b) {
  if (b == -1) return wrap_sub(0, a);
  return a / b + ((a % b != 0) && ((a < 0) == (b < 0)));
}
int64_t trunc_numbers(int64_t a, int64_t b) { return b == -1 ? wrap_sub(0, a) : a / b; }

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) { return divided("floor", a, b, floor_numbers); }
Dim ceil_div(const Dim& a, const Dim& b) { return divided("ceil", a, b, ceil_numbers); }

Dim trunc_div(const Dim& a, const Dim& b) {
  // Of extents, which are not negative, toward zero is down; one name for both keeps equal formulas equal.
  if (a.is_number() && b.is_number()) return divided("floor", a, b, trunc_numbers);
  return floor_div(a, b);
}

Dim floor_mod(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number())
    return b.value() == 0 ? 0 : wrap_sub(a.value(), wrap_mul(floor_numbers(a.value(), b.value()), b.value()));
  if (exact_quotient(a, b)) return 0;
  return opaque("mod", a, ",", b);
}

Dim min(const Dim& a, const Dim& b) {
  if (auto c = compare(a, b)) return *c <= 0 ? a : b;
  return a.text() < b.text() ? opaque("min", a, ",", b) : opaque("min", b, ",", a);
}

Dim max(const Dim& a, const Dim& b) {
  if (auto c = compare(a, b)) return *c >= 0 ? a : b;
  return a.text() < b.text() ? opaque("max", a, ",", b) : opaque("max", b, ",", a);
}

std::optional<int> compare(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (auto n = difference.number()) return (*n > 0) - (*n < 0);
  // Symbols are at least 0: a sum of terms of one sign with a constant of that sign is decided.
  bool positive = true, negative = true;
  int64_t constant = 0;
  for (const auto& [product, k] : DimParts::terms(difference)) {
    if (product.empty())
      constant = k;
    else
      (k > 0 ? negative : positive) = false;
  }
  if (positive && constant > 0) return 1;
  if (negative && constant < 0) return -1;
  return std::nullopt;
}

Dims dims_of(const Shape& shape) { return Dims(shape.begin(), shape.end()); }

std::optional<Shape> shape_of(const Dims& dims) {
  std::vector<int64_t> extents;
  for (const Dim& d : dims) {
    if (!d.is_number() || d.value() < 0) return std::nullopt;
    extents.push_back(d.value());
  }
  return Shape(extents);
}

Dim product(const Dims& dims) {
  Dim p = 1;
  for (const Dim& d : dims) p = p * d;
  return p;
}

std::string text(const MaybeDims& dims) {
  if (!dims) return "[?]";
  std::string out = "[";
  for (size_t i = 0; i < dims->size(); ++i) out += (i ? "," : "") + (*dims)[i].text();
  return out + "]";
}

}  // namespace nnex
