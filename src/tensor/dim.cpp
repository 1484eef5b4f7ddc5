#include "tensor/dim.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>

#include "base/checked.h"
#include "base/sha256.h"
#include "tensor/unknown_names.h"

namespace nnex {

/// A product of symbols, sorted; empty: the constant term.
using Product = std::vector<std::string>;

using Terms = std::map<Product, int64_t>;

/// What a symbol such as "floor((H+1)/2)" stands for.
struct Quotient {
  Dim a, b;
  bool up = false;  ///< ceil, else floor.
};
using Quotients = std::map<std::string, std::shared_ptr<const Quotient>>;

/// A sum of products with coefficients, none of them 0: canonical, since the map orders the products.
struct Dim::Formula {
  Terms terms;
  std::string text;
  Quotients divisions;  ///< Of the symbols in it that are divisions.
};

namespace {

constexpr size_t kMaxTerms = 16, kMaxFactors = 16;
constexpr size_t kMaxText = 400;  ///< Of an opaque symbol's name: it holds the texts of all that it was made of.
constexpr std::string_view kOverflow = "?beyond 2^63-1";

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
  /// The terms of a Dim, which outlives them; a number has one, 0 none.
  class List {
   public:
    explicit List(const Dim& d);
    List(const List&) = delete;
    List& operator=(const List&) = delete;
    Terms::const_iterator begin() const { return all_->begin(); }
    Terms::const_iterator end() const { return all_->end(); }
    const Terms& operator*() const { return *all_; }

   private:
    Terms number_;
    const Terms* all_ = &number_;
  };
  static const Quotients& divisions(const Dim& d);
  /// The symbol d, which stands for a division.
  static Dim division(const Dim& d, std::shared_ptr<const Quotient> meaning);
  /// The sum of the terms; what its symbols stand for is found in the Dims it was made of.
  static Dim dim(Terms terms, std::initializer_list<const Quotients*> known);
};

namespace {

/// A symbol that stands for a computation; `text` is all of it.
Dim named(const std::string& text) {
  if (text.size() <= kMaxText) return Dim::symbol(text);
  const bool unknown = text.find('?') != std::string::npos;
  Sha256 digest;
  digest.add(text);
  return Dim::symbol((unknown ? "?formula#" : "formula#") + digest.text().substr(0, 32));
}

Dim opaque(std::string_view function, const Dim& a, std::string_view between, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return Dim::overflow();
  auto bracketed = [&](const Dim& d) { return compound(d.text()) && between != "," ? "(" + d.text() + ")" : d.text(); };
  return named(std::string(function) + "(" + bracketed(a) + std::string(between) + bracketed(b) + ")");
}

Dim number_or_overflow(std::optional<int64_t> n) { return n ? Dim(*n) : Dim::overflow(); }

}  // namespace

Dim Dim::symbol(std::string_view name) {
  Dim d;
  d.formula_ = std::make_shared<const Formula>(Formula{{{Product{std::string(name)}, 1}}, std::string(name), {}});
  return d;
}

Dim Dim::overflow() {
  static const Dim one = symbol(kOverflow);
  return one;
}

bool Dim::overflowed() const { return formula_ && formula_->text == kOverflow; }

namespace {

std::atomic<uint64_t> next_unknown{0};
thread_local uint64_t* numbering = nullptr;  ///< Of the scope, if there is one.

}  // namespace

UnknownNames::UnknownNames() : outermost_(numbering == nullptr) {
  if (outermost_) numbering = &next_;
}
UnknownNames::~UnknownNames() {
  if (!outermost_) return;
  numbering = nullptr;
  uint64_t known = next_unknown;
  while (known < next_ && !next_unknown.compare_exchange_weak(known, next_)) {
  }
}

Dim Dim::unknown(std::string_view why) {
  return symbol("?" + std::string(why) + std::to_string(numbering ? (*numbering)++ : next_unknown++));
}

bool Dim::has_unknown() const { return formula_ && formula_->text.find('?') != std::string::npos; }
std::string Dim::text() const { return formula_ ? formula_->text : std::to_string(number_); }

std::vector<std::string> Dim::symbols() const {
  std::vector<std::string> out;
  if (!formula_) return out;
  const auto add = [&](const std::string& s) {
    if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
  };
  for (const auto& [product, k] : formula_->terms)
    for (const std::string& s : product) {
      auto it = formula_->divisions.find(s);
      if (it == formula_->divisions.end()) {
        add(s);
        continue;
      }
      for (const Dim* part : {&it->second->a, &it->second->b})
        for (const std::string& inner : part->symbols()) add(inner);
    }
  return out;
}

Dim Dim::with(const std::vector<std::pair<std::string, int64_t>>& bound) const {
  if (!formula_) return *this;
  Dim sum = 0;
  for (const auto& [product, k] : formula_->terms) {
    Dim term = k;
    for (const std::string& s : product) {
      auto it = std::find_if(bound.begin(), bound.end(), [&](const auto& b) { return b.first == s; });
      auto division = formula_->divisions.find(s);
      if (it != bound.end()) {
        term = term * Dim(it->second);
      } else if (division == formula_->divisions.end()) {
        term = term * symbol(s);
      } else {
        const Dim a = division->second->a.with(bound), b = division->second->b.with(bound);
        term = term * (division->second->up ? ceil_div(a, b) : floor_div(a, b));
      }
    }
    sum = sum + term;
  }
  return sum;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.overflowed() || b.overflowed()) return Dim::overflow();
  if (a.is_number() && b.is_number()) return number_or_overflow(checked_add(a.value(), b.value()));
  if (b == Dim(0)) return a;
  if (a == Dim(0)) return b;
  Terms sum = *DimParts::List(a);
  for (const auto& [product, k] : DimParts::List(b)) {
    const auto both = checked_add(sum[product], k);
    if (!both) return Dim::overflow();
    if ((sum[product] = *both) == 0) sum.erase(product);
  }
  return DimParts::dim(std::move(sum), {&DimParts::divisions(a), &DimParts::divisions(b)});
}

Dim operator-(const Dim& a, const Dim& b) {
  if (a.is_number() && b.is_number()) {
    int64_t difference = 0;
    return __builtin_sub_overflow(a.value(), b.value(), &difference) ? Dim::overflow() : Dim(difference);
  }
  return a + Dim(-1) * b;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a == Dim(0) || b == Dim(0)) return 0;
  if (a.overflowed() || b.overflowed()) return Dim::overflow();
  if (a.is_number() && b.is_number()) return number_or_overflow(checked_mul(a.value(), b.value()));
  if (b == Dim(1)) return a;
  if (a == Dim(1)) return b;
  Terms out;
  for (const auto& [p, k] : DimParts::List(a))
    for (const auto& [q, m] : DimParts::List(b)) {
      if (p.size() + q.size() > kMaxFactors) return opaque("", a, "*", b);
      Product both = p;
      both.insert(both.end(), q.begin(), q.end());
      std::sort(both.begin(), both.end());
      const auto factor = checked_mul(k, m);
      const auto sum = factor ? checked_add(out[both], *factor) : std::nullopt;
      if (!sum) return Dim::overflow();
      if ((out[both] = *sum) == 0) out.erase(both);
    }
  return DimParts::dim(std::move(out), {&DimParts::divisions(a), &DimParts::divisions(b)});
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.is_number() || b.is_number()) return a.is_number() && b.is_number() && a.value() == b.value();
  return a.formula_ == b.formula_ || a.formula_->terms == b.formula_->terms;
}

DimParts::List::List(const Dim& d) {
  if (d.formula_)
    all_ = &d.formula_->terms;
  else if (d.number_ != 0)
    number_[{}] = d.number_;
}

const Quotients& DimParts::divisions(const Dim& d) {
  static const Quotients none;
  return d.formula_ ? d.formula_->divisions : none;
}

Dim DimParts::division(const Dim& d, std::shared_ptr<const Quotient> meaning) {
  auto formula = std::make_shared<Dim::Formula>(*d.formula_);
  formula->divisions.emplace(formula->text, std::move(meaning));
  Dim out;
  out.formula_ = std::move(formula);
  return out;
}

Dim DimParts::dim(Terms terms, std::initializer_list<const Quotients*> known) {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  std::string text = text_of(terms);
  if (terms.size() > kMaxTerms) return named("(" + text + ")");
  Quotients divisions;
  for (const Quotients* some : known)
    for (const auto& [name, division] : *some)
      if (std::any_of(terms.begin(), terms.end(), [&, n = std::string_view(name)](const auto& term) {
            return std::find(term.first.begin(), term.first.end(), n) != term.first.end();
          }))
        divisions.emplace(name, division);
  Dim d;
  d.formula_ =
      std::make_shared<const Dim::Formula>(Dim::Formula{std::move(terms), std::move(text), std::move(divisions)});
  return d;
}

namespace {

/// a / b when every term divides: coefficients without rest, symbols that cancel.
std::optional<Dim> exact_quotient(const Dim& a, const Dim& b) {
  if (a == b) return Dim(1);
  const DimParts::List divisor(b);
  if ((*divisor).size() != 1) return std::nullopt;
  const auto& [symbols, k] = *divisor.begin();
  Terms out;
  for (const auto& [product, m] : DimParts::List(a)) {
    if (k == 0 || m % k != 0) return std::nullopt;
    Product rest = product;
    for (const std::string& s : symbols) {
      auto it = std::find(rest.begin(), rest.end(), s);
      if (it == rest.end()) return std::nullopt;
      rest.erase(it);
    }
    if (k == -1 && m == std::numeric_limits<int64_t>::min()) return Dim::overflow();
    out[rest] += m / k;
  }
  return DimParts::dim(std::move(out), {&DimParts::divisions(a)});
}

/// Of quotients that exist.
int64_t floor_numbers(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
int64_t ceil_numbers(int64_t a, int64_t b) { return a / b + ((a % b != 0) && ((a < 0) == (b < 0))); }

/// The quotient of two numbers; 0 by 0.
Dim of_numbers(const Dim& a, const Dim& b, int64_t (*quotient)(int64_t, int64_t)) {
  if (b.value() == 0) return 0;
  if (b.value() == -1) return Dim(0) - a;
  return quotient(a.value(), b.value());
}

/// A symbol that stands for a / b.
Dim named_division(const Dim& a, const Dim& b, bool up) {
  const Dim d = opaque(up ? "ceil" : "floor", a, "/", b);
  if (d.overflowed() || a.text().size() + b.text().size() > kMaxText / 2) return d;  // its name may not say it all
  return DimParts::division(d, std::make_shared<const Quotient>(Quotient{a, b, up}));
}

/// The quotient rounded down or up, canonical where b is a positive number n:
///     (n*q + r) / n = q + r / n                       coefficients of r in [0, n)
///     ((x / m rounded) + c) / n = (x + c*m) / (m*n)   rounded the same way
Dim divided(const Dim& a, const Dim& b, bool up) {
  const auto numbers = up ? ceil_numbers : floor_numbers;
  if (a.overflowed() || b.overflowed()) return Dim::overflow();
  if (a.is_number() && b.is_number()) return of_numbers(a, b, numbers);
  if (b == Dim(1)) return a;
  if (auto q = exact_quotient(a, b)) return *q;
  const int64_t n = b.number().value_or(0);
  if (n <= 0) return named_division(a, b, up);
  Terms whole, rest;
  for (const auto& [product, k] : DimParts::List(a)) {
    const int64_t q = floor_numbers(k, n);
    if (q != 0) whole[product] = q;
    if (k - q * n != 0) rest[product] = k - q * n;
  }
  const Dim out = DimParts::dim(std::move(whole), {&DimParts::divisions(a)});
  const Dim left = DimParts::dim(rest, {&DimParts::divisions(a)});
  if (left.is_number()) return out + numbers(left.value(), n);
  const int64_t constant = rest.count({}) ? rest[{}] : 0;
  rest.erase(Product());
  if (rest.size() == 1 && rest.begin()->second == 1 && rest.begin()->first.size() == 1) {
    const auto& known = DimParts::divisions(a);
    const auto inner = known.find(rest.begin()->first[0]);
    if (inner != known.end() && inner->second->up == up && inner->second->b.number().value_or(0) > 0) {
      const int64_t m = inner->second->b.value();
      const auto both = checked_mul(m, n), moved = checked_mul(constant, m);
      if (both && moved) return out + divided(inner->second->a + *moved, *both, up);
    }
  }
  return out + named_division(left, b, up);
}

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) { return divided(a, b, false); }
Dim ceil_div(const Dim& a, const Dim& b) { return divided(a, b, true); }

Dim trunc_div(const Dim& a, const Dim& b) {
  // Of extents, which are not negative, toward zero is down; one name for both keeps equal formulas equal.
  if (a.is_number() && b.is_number()) return of_numbers(a, b, [](int64_t x, int64_t y) { return x / y; });
  return floor_div(a, b);
}

Dim floor_mod(const Dim& a, const Dim& b) {
  if (b == Dim(-1)) return 0;
  if (a.is_number() && b.is_number())
    return of_numbers(a, b, [](int64_t x, int64_t y) { return x % y + ((x % y != 0 && (x < 0) != (y < 0)) ? y : 0); });
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
  if (a.is_number() && b.is_number()) return (a.value() > b.value()) - (a.value() < b.value());
  const Dim difference = a - b;
  if (difference.overflowed()) return std::nullopt;
  if (auto n = difference.number()) return (*n > 0) - (*n < 0);
  // Symbols are at least 0: a sum of terms of one sign with a constant of that sign is decided.
  bool positive = true, negative = true;
  int64_t constant = 0;
  for (const auto& [product, k] : DimParts::List(difference)) {
    if (product.empty())
      constant = k;
    else
      (k > 0 ? negative : positive) = false;
  }
  if (positive && constant > 0) return 1;
  if (negative && constant < 0) return -1;
  return std::nullopt;
}

namespace {

/// How a stored Dim begins.
enum class Stored : uint8_t { number, formula, overflow, unknown };
constexpr int kDeepestDivision = 64;  ///< Divisions in divisions.

Dim read_formula(ByteReader& from, int depth) {
  Terms terms;
  for (size_t n = from.count(12); n > 0; --n) {
    Product product;
    for (size_t factors = from.count(4); factors > 0; --factors) product.emplace_back(from.text());
    terms[std::move(product)] = from.number<int64_t>();
  }
  Quotients divisions;
  for (size_t n = from.count(15); n > 0; --n) {
    std::string name(from.text());
    const bool up = from.number<uint8_t>() != 0;
    Dim a = read_dim(from, depth + 1), b = read_dim(from, depth + 1);
    if (!from.ok()) return 0;
    divisions.emplace(std::move(name), std::make_shared<const Quotient>(Quotient{std::move(a), std::move(b), up}));
  }
  if (!from.ok()) return 0;
  if (terms.size() != 1 || terms.begin()->second != 1 || terms.begin()->first.size() != 1)
    return DimParts::dim(std::move(terms), {&divisions});
  const Dim symbol = Dim::symbol(terms.begin()->first[0]);  // whose text is its name, without brackets
  const auto division = divisions.find(symbol.text());
  return division == divisions.end() ? symbol : DimParts::division(symbol, division->second);
}

}  // namespace

void write_dim(const Dim& dim, ByteWriter& to) {
  if (const auto n = dim.number()) {
    to.number(Stored::number);
    to.number(*n);
  } else if (dim.overflowed() || dim.has_unknown()) {
    to.number(dim.overflowed() ? Stored::overflow : Stored::unknown);
  } else {
    to.number(Stored::formula);
    const DimParts::List terms(dim);
    to.number(static_cast<uint32_t>((*terms).size()));
    for (const auto& [product, k] : terms) {
      to.number(static_cast<uint32_t>(product.size()));
      for (const std::string& s : product) to.text(s);
      to.number(k);
    }
    const Quotients& divisions = DimParts::divisions(dim);
    to.number(static_cast<uint32_t>(divisions.size()));
    for (const auto& [name, division] : divisions) {
      to.text(name);
      to.number(static_cast<uint8_t>(division->up));
      write_dim(division->a, to);
      write_dim(division->b, to);
    }
  }
}

Dim read_dim(ByteReader& from, int depth) {
  switch (from.number<Stored>()) {
    case Stored::number:
      return from.number<int64_t>();
    case Stored::overflow:
      return Dim::overflow();
    case Stored::unknown:
      return Dim::unknown("kept");
    case Stored::formula:
      if (depth < kDeepestDivision) return read_formula(from, depth);
      break;
  }
  from.fail();
  return 0;
}

Dims dims_of(const Shape& shape) { return Dims(shape.begin(), shape.end()); }

std::optional<Shape> shape_of(const Dims& dims) {
  if (!std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is_number() && d.value() >= 0; }))
    return std::nullopt;
  int64_t few[8];  // most shapes have no more
  std::vector<int64_t> many(dims.size() > std::size(few) ? dims.size() : 0);
  const std::span extents(many.empty() ? few : many.data(), dims.size());
  for (size_t i = 0; i < dims.size(); ++i) extents[i] = dims[i].value();
  return Shape(std::span<const int64_t>(extents));
}

Dim product(const Dims& dims) {
  Dim p = 1;
  if (std::find(dims.begin(), dims.end(), Dim(0)) != dims.end()) return 0;
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

template class std::vector<nnex::Dim>;
