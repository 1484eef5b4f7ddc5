#include "standards/nnef/read_quant.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/checked.h"
#include "base/failure.h"
#include "base/try.h"
#include "standards/nnef/check_call.h"
#include "standards/nnef/signatures.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

using graph_text::Lexer;
using graph_text::Tok;
using graph_text::Token;

constexpr int kMaxNesting = 16;
constexpr size_t kMaxLiterals = size_t{1} << 24;

/// The grammar of the file:  { string ":" identifier "(" identifier "=" literal { "," ... } ")" ";" }
class QuantParser {
 public:
  QuantParser(std::string_view source, std::string_view name)
      : lexer_(source, name, lexed_, graph_text::TextKind::dump) {}

  Result<QuantFile> file() {
    QuantFile out;
    NNEX_TRY(advance());
    while (now_.kind != Tok::end) {
      NNEX_ASSIGN(QuantRecord record, line());
      out.push_back(std::move(record));
    }
    return out;
  }

 private:
  Status advance() {
    now_ = lexer_.next();
    if (lexed_.none()) return {};
    const Error& e = lexed_.list().front();
    return failure(Code::invalid_model, "Q1: {}", e.message()).at(e.where());
  }
  Error wrong(const char* rule, std::string_view needed) const {
    const std::string found = now_.kind == Tok::end      ? "the end"
                              : now_.kind == Tok::string ? "a string"
                                                         : fmt::format("'{}'", now_.text.substr(0, 40));
    return lexer_.error(now_.at, fmt::format("{}: found {}; needed {}", rule, found, needed));
  }
  Result<Token> take(Tok kind, std::string_view needed, const char* rule = "Q1") {
    if (now_.kind != kind) return wrong(rule, needed);
    Token t = now_;
    NNEX_TRY(advance());
    return t;
  }
  bool at_name() const { return now_.kind == Tok::word && !graph_text::is_keyword(now_.text); }

  Result<QuantRecord> line() {
    QuantRecord r;
    r.at = now_.at;
    NNEX_ASSIGN(Token tensor, take(Tok::string, "the name of a tensor in quotes"));
    if (!graph_text::unescape(tensor.text, r.tensor))
      return lexer_.error(tensor.at, "Q1: the name has an escape other than \\' \\\" \\\\");
    NNEX_TRY(take(Tok::colon, "':' after the tensor's name"));
    if (!at_name()) return wrong("Q1", "the name of an operation");
    r.operation = std::string(now_.text);
    NNEX_TRY(advance());
    NNEX_TRY(take(Tok::open_round, "'('"));
    while (now_.kind != Tok::close_round || !r.args.empty()) {
      NNEX_TRY(argument(r));
      if (now_.kind != Tok::comma) break;
      NNEX_TRY(advance());
    }
    NNEX_TRY(take(Tok::close_round, "',' or ')'"));
    NNEX_TRY(take(Tok::semicolon, "';' after the line"));
    return r;
  }

  Status argument(QuantRecord& r) {
    if (!at_name()) return wrong("Q5", "the name of an argument: all of them are named");
    std::string name(now_.text);
    NNEX_TRY(advance());
    NNEX_TRY(take(Tok::assign, "'=': all arguments are named", "Q5"));
    NNEX_ASSIGN(Literal value, literal(0));
    r.args.emplace_back(std::move(name), std::move(value));
    return {};
  }

  Result<Literal> literal(int depth) {
    if (++literals_ > kMaxLiterals || depth > kMaxNesting)
      return failure(Code::limit, "more than {} literals, or deeper than {}", kMaxLiterals, kMaxNesting);
    if (now_.kind == Tok::open_square) return list(depth, Tok::close_square);
    if (now_.kind == Tok::open_round) return list(depth, Tok::close_round);
    bool negative = false;
    if (now_.kind == Tok::minus) {
      negative = true;
      NNEX_TRY(advance());
      if (now_.kind != Tok::integer && now_.kind != Tok::real) return wrong("Q1", "a number after '-'");
    }
    Literal out;
    const Token t = now_;
    if (t.kind == Tok::integer) {
      uint64_t n = 0;
      for (char c : t.text)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, static_cast<uint64_t>(c - '0'), &n) ||
            n > static_cast<uint64_t>(INT64_MAX) + negative)
          return wrong("Q9", "an integer of 64 bits");
      out.value = static_cast<int64_t>(negative ? ~n + 1 : n);
    } else if (t.kind == Tok::real) {
      double x = 0;
      fast_float::from_chars(t.text.data(), t.text.data() + t.text.size(), x);
      if (!std::isfinite(x)) return wrong("Q9", "a number that a double can hold");
      out.value = negative ? -x : x;
    } else if (t.kind == Tok::string) {
      std::string s;
      if (!graph_text::unescape(t.text, s)) return wrong("Q1", "a string without other escapes than \\' \\\" \\\\");
      out.value = std::move(s);
    } else if (t.kind == Tok::word && (t.text == "true" || t.text == "false")) {
      out.value = t.text == "true";
    } else {
      return wrong("Q5", "a literal: a number, string, true, false, or an array of them");
    }
    NNEX_TRY(advance());
    return out;
  }

  Result<Literal> list(int depth, Tok close) {
    NNEX_TRY(advance());
    Literals items;
    while (now_.kind != close || !items.empty()) {
      NNEX_ASSIGN(Literal item, literal(depth + 1));
      items.push_back(std::move(item));
      if (now_.kind != Tok::comma) break;
      NNEX_TRY(advance());
    }
    Literal out;
    out.tuple = close == Tok::close_round;
    if (out.tuple && items.size() < 2 && now_.kind == close) return wrong("Q1", "',': a tuple has at least two items");
    NNEX_TRY(take(close, fmt::format("',' or '{}'", graph_text::shown(close))));
    out.value = std::move(items);
    return out;
  }

  Faults lexed_;  ///< Of the lexer.
  Lexer lexer_;
  Token now_;
  size_t literals_ = 0;
};

struct Quantisation {
  std::string_view name;
  QuantParameters parameters;
};

/// The quantisation operations of the standard (8.10 of NNEF 1.0.5).
const std::vector<Quantisation>& quantisations() {
  static const std::vector<Quantisation> kOperations = {
      {"linear_quantize",
       {{"x", ItemType::scalar, true},
        {"min", ItemType::scalar, true},
        {"max", ItemType::scalar, true},
        {"bits", ItemType::integer}}},
      {"min_max_linear_quantize",
       {{"x", ItemType::scalar, true},
        {"min", ItemType::scalar, true},
        {"max", ItemType::scalar, true},
        {"bits", ItemType::integer},
        {"signed", ItemType::logical},
        {"symmetric", ItemType::logical}}},
      {"zero_point_linear_quantize",
       {{"x", ItemType::scalar, true},
        {"zero_point", ItemType::integer, true},
        {"scale", ItemType::scalar, true},
        {"bits", ItemType::integer},
        {"signed", ItemType::logical},
        {"symmetric", ItemType::logical}}},
      {"logarithmic_quantize",
       {{"x", ItemType::scalar, true}, {"max", ItemType::scalar, true}, {"bits", ItemType::integer}}},
  };
  return kOperations;
}

std::optional<QuantParameters> parameters_of(const std::string& operation, const QuantContext& context) {
  for (const Quantisation& s : quantisations())
    if (s.name == operation) return s.parameters;
  return context.fragment ? context.fragment(operation) : std::nullopt;
}

/// The data-type of a literal's items; nothing where they differ, or there are none.
std::optional<ItemType> literal_type(const Literal& arg) {
  if (arg.get<bool>()) return ItemType::logical;
  if (arg.get<int64_t>()) return ItemType::integer;
  if (arg.get<double>()) return ItemType::scalar;
  if (arg.get<std::string>()) return ItemType::string;
  const Literals* items = arg.get<Literals>();
  if (!items || items->empty()) return std::nullopt;
  const auto first = literal_type(items->front());
  for (const Literal& item : *items)
    if (literal_type(item) != first) return std::nullopt;
  return first;
}

/// Whether a literal is of an attribute's type: arrays of arrays, of any lengths, of one data-type.
bool fits(const Literal& arg, ItemType type, int arrays) {
  const Literals* items = arg.get<Literals>();
  if (arrays == 0) return !items && literal_type(arg) == type;
  return items && !arg.tuple &&
         std::all_of(items->begin(), items->end(), [&](const Literal& i) { return fits(i, type, arrays - 1); });
}

/// Whether a tuple is in it, or it is one.
bool has_tuple(const Literal& arg) {
  const Literals* items = arg.get<Literals>();
  return items && (arg.tuple || std::any_of(items->begin(), items->end(), has_tuple));
}

constexpr int64_t kMaxRunBits = 32;  ///< Of codes that a run makes.

/// Checks one line.
class LineChecker {
 public:
  LineChecker(const QuantRecord& r, const QuantContext& context, std::string_view file, Faults& faults,
              std::vector<std::string>& notes)
      : r_(r), context_(context), file_(file), faults_(faults), notes_(notes) {}

  void check(std::set<std::string>& seen) {
    if (!seen.insert(r_.tensor).second) fault("Q10", fmt::format("a second line for tensor '{}'", r_.tensor));
    tensor_ = context_.tensor(r_.tensor);
    if (!tensor_) fault("Q2", fmt::format("the graph's body has no tensor '{}'", r_.tensor));
    const auto parameters = parameters_of(r_.operation, context_);
    if (!parameters || parameters->empty() || !parameters->front().tensor) {
      std::string known;
      for (const Quantisation& s : quantisations()) known += fmt::format(" {}", s.name);
      return fault("Q3", fmt::format("'{}' is no quantisation operation; there are{} and fragments of the document "
                                     "whose first parameter is a tensor",
                                     r_.operation, known));
    }
    if (tensor_ && !parameters->front().any && tensor_->type != parameters->front().type)
      fault("Q3", fmt::format("tensor '{}' is {}; {} takes {}", r_.tensor, name(tensor_->type), r_.operation,
                              name(parameters->front().type)));
    for (size_t i = 0; i < r_.args.size(); ++i) argument(*parameters, i);
    for (size_t i = 1; i < parameters->size(); ++i)
      if (!(*parameters)[i].optional && !r_.find((*parameters)[i].name))
        fault("Q6", fmt::format("{}: argument '{}' is missing", r_.operation, (*parameters)[i].name));
    bits();
    if (!context_.fragment || !context_.fragment(r_.operation)) doubts();
  }

 private:
  std::string place() const { return fmt::format("{}:{}:{}", file_, r_.at.line, r_.at.column); }
  void fault(const char* rule, const std::string& message) {
    faults_.add(failure(Code::invalid_model, "{}: {}", rule, message).at(place()));
  }
  void note(const std::string& message) { notes_.push_back(fmt::format("{}: {}", place(), message)); }

  /// What the operations compute from it has one value, or none.
  void doubts() {
    const int64_t bits = r_.integer("bits", 0);
    if (bits > kMaxRunBits && bits <= 64)
      note(fmt::format("bits is {}; a run quantises by up to {}", bits, kMaxRunBits));
    const auto low = numbers("min"), high = numbers("max");
    const bool alike = low.size() == high.size() || low.size() == 1 || high.size() == 1;
    for (size_t i = 0; alike && i < std::max(low.size(), high.size()) && !low.empty() && !high.empty(); ++i) {
      const double a = low[low.size() == 1 ? 0 : i], b = high[high.size() == 1 ? 0 : i];
      if (a > b) return note(fmt::format("min is {}, which is more than max, {}", a, b));
    }
    for (const double scale : numbers("scale"))
      if (!(scale > 0)) return note(fmt::format("scale is {}; no numbers but 0 have codes by it", scale));
    if (r_.operation == "logarithmic_quantize")
      for (const double max : high)
        if (!(max > 0)) return note(fmt::format("max is {}; it has no logarithm", max));
    if (bits < 1 || bits > 64) return;
    const double top = std::ldexp(1.0, static_cast<int>(r_.flag("signed") ? bits - 1 : bits)) - 1;
    const double bottom = !r_.flag("signed") ? 0 : r_.flag("symmetric") ? -top : -top - 1;
    for (const double zero : numbers("zero_point"))
      if (zero < bottom || zero > top)
        return note(fmt::format("zero_point is {}; codes of {} bits go from {} to {}", zero, bits, bottom, top));
  }

  std::vector<double> numbers(std::string_view name) const {
    std::vector<double> out;
    if (const Literal* a = r_.find(name)) add_numbers(*a, out);
    return out;
  }
  static void add_numbers(const Literal& from, std::vector<double>& to) {
    if (const auto* n = from.get<int64_t>()) to.push_back(static_cast<double>(*n));
    if (const auto* x = from.get<double>()) to.push_back(*x);
    if (const auto* items = from.get<Literals>())
      for (const Literal& item : *items) add_numbers(item, to);
  }

  void argument(const QuantParameters& parameters, size_t index) {
    const auto& [name, value] = r_.args[index];
    for (size_t i = 0; i < index; ++i)
      if (r_.args[i].first == name) return fault("Q6", fmt::format("argument '{}' is given twice", name));
    const auto p = std::find_if(parameters.begin(), parameters.end(),
                                [&, n = std::string_view(name)](const QuantParameter& q) { return q.name == n; });
    if (p == parameters.end()) return fault("Q6", fmt::format("{} has no parameter '{}'", r_.operation, name));
    if (p == parameters.begin())
      return fault("Q4", fmt::format("argument '{}' is the quantised tensor itself; leave it out", name));
    typed(*p, value);
  }

  void typed(const QuantParameter& p, const Literal& value) {
    if (p.any) return;
    std::string wanted(name(p.type));
    for (int i = 0; i < p.arrays; ++i) wanted += "[]";
    if (!p.tensor) {
      if (!fits(value, p.type, p.arrays))
        fault("Q9", fmt::format("argument '{}' is {}; needed {}", p.name, literal_text(value).substr(0, 40), wanted));
      return;
    }
    if (has_tuple(value))
      return fault("Q9", fmt::format("argument '{}' has the tuple {}; a tensor is a number, or arrays of them in []",
                                     p.name, literal_text(value).substr(0, 40)));
    const auto extents = literal_extents(value);
    if (!extents) return fault("Q7", fmt::format("argument '{}': its arrays differ in length", p.name));
    const auto type = literal_type(value);
    if (type != p.type)
      return fault("Q9", fmt::format("argument '{}' is {}; needed {}", p.name,
                                     type ? std::string(name(*type)) : "of no one type", name(p.type)));
    if (tensor_ && tensor_->shaped && !broadcasts_to(*extents, tensor_->extents))
      fault("Q8", fmt::format("argument '{}' is {}; it does not broadcast to tensor '{}' of {}", p.name,
                              Shape(*extents).text(), r_.tensor, Shape(tensor_->extents).text()));
  }

  void bits() {
    const Literal* b = r_.find("bits");
    const int64_t* n = b ? b->get<int64_t>() : nullptr;
    if (n && (*n < 1 || *n > 64)) fault("Q9", fmt::format("argument 'bits' is {}; needed 1 to 64", *n));
  }

  const QuantRecord& r_;
  const QuantContext& context_;
  std::string_view file_;
  Faults& faults_;
  std::vector<std::string>& notes_;
  const TensorInfo* tensor_ = nullptr;
};

}  // namespace

const Literal* QuantRecord::find(std::string_view name) const {
  for (const auto& [key, value] : args)
    if (key == name) return &value;
  return nullptr;
}
int64_t QuantRecord::integer(std::string_view name, int64_t otherwise) const {
  const Literal* a = find(name);
  return a && a->get<int64_t>() ? *a->get<int64_t>() : otherwise;
}
bool QuantRecord::flag(std::string_view name) const {
  const Literal* a = find(name);
  return a && a->get<bool>() && *a->get<bool>();
}

Result<QuantFile> parse_quant(std::string_view source, std::string_view name) {
  return QuantParser(source, name).file();
}

void check_quant(const QuantFile& file, std::string_view name, const QuantContext& context, Faults& faults,
                 std::vector<std::string>& notes) {
  std::set<std::string> seen;
  for (const QuantRecord& r : file) LineChecker(r, context, name, faults, notes).check(seen);
}

std::optional<Ints> literal_extents(const Literal& arg) {
  const Literals* items = arg.get<Literals>();
  if (!items) return Ints{};
  std::optional<Ints> inner;
  for (const Literal& item : *items) {
    auto extents = literal_extents(item);
    if (!extents || (inner && *inner != *extents)) return std::nullopt;
    inner = std::move(extents);
  }
  Ints out = {static_cast<int64_t>(items->size())};
  if (inner) out.insert(out.end(), inner->begin(), inner->end());
  return out;
}

std::string literal_text(const Literal& arg) {
  if (auto* b = arg.get<bool>()) return *b ? "true" : "false";
  if (auto* i = arg.get<int64_t>()) return fmt::to_string(*i);
  if (auto* s = arg.get<std::string>()) return graph_text::quoted(*s);
  if (auto* x = arg.get<double>()) {
    std::string text = number_text(*x);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  std::string out(arg.tuple ? "(" : "[");
  if (const Literals* items = arg.get<Literals>())
    for (const Literal& item : *items) out += (out.size() > 1 ? ", " : "") + literal_text(item);
  return out + (arg.tuple ? ")" : "]");
}

std::string quant_text(const QuantFile& file) {
  std::string out;
  for (const QuantRecord& r : file) {
    std::string args;
    for (const auto& [name, value] : r.args)
      args += fmt::format("{}{} = {}", args.empty() ? "" : ", ", name, literal_text(value));
    out += fmt::format("{}: {}({});\n", graph_text::quoted(r.tensor), r.operation, args);
  }
  return out;
}

}  // namespace nnex::nnef_format
