#include "case_file.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/try.h"
#include "graph/text/parser.h"
#include "graph/text/value.h"
#include "tensor/convert.h"

namespace nnex::test {
namespace {

/// Words of a line; what stands in quotes, brackets or parentheses stays together, a comment goes.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  std::string word;
  int depth = 0;
  char quote = 0;
  for (char c : line) {
    if (quote) {
      quote = c == quote ? 0 : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '#' && depth == 0) {
      break;
    } else if ((c == ' ' || c == '\t') && depth == 0) {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
      continue;
    }
    if (!quote) depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    word += c;
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

Result<Tensor> tensor_of(const std::string& type, std::vector<std::string> elements) {
  NNEX_ASSIGN(auto e,
              graph_text::parse_expression(fmt::format("{}({})", type, fmt::join(elements, ", ")), "the tensor"));
  if (e.kind != graph_text::Expr::Kind::tensor)
    return Error(Code::invalid_argument, fmt::format("'{}' is no element type with extents", type));
  return *e.tensor;
}

/// NAME TYPE = ELEMENTS, or ~ and how far off elements may be.
Result<Expected> expected_of(const std::vector<std::string>& words) {
  if (words.size() < 3 || (words[2] != "=" && words[2] != "~"))
    return Error(Code::invalid_argument, "needed: name type = elements, or name = value");
  std::vector<std::string> elements(words.begin() + 3, words.end());
  Expected e;
  while (words[2] == "~" && elements.size() >= 2) {
    const std::string& unit = elements[elements.size() - 2];
    double* to = unit == "ulp" ? &e.ulp : unit == "abs" ? &e.abs : unit == "rel" ? &e.rel : nullptr;
    if (!to) break;
    *to = std::strtod(elements.back().c_str(), nullptr);
    elements.resize(elements.size() - 2);
  }
  NNEX_ASSIGN(e.tensor, tensor_of(words[1], elements));
  return e;
}

/// Whose items the tensor line `name` adds to: an input port, else an output port.
struct OpCaseReader {
  OpCase& c;
  std::vector<std::vector<Tensor>> given;  ///< By input port.

  Status line(const std::vector<std::string>& words) {
    if (words[0] == "says") {
      if (words.size() != 2) return Error(Code::invalid_argument, "says takes a message in quotes");
      c.says = words[1].substr(1, words[1].size() - 2);
      return {};
    }
    if (words.size() >= 3 && words[1] == "=") return attribute(words);
    NNEX_ASSIGN(Expected e, expected_of(words));
    if (const int port = c.op->input(words[0]); port >= 0) return input(static_cast<size_t>(port), std::move(e.tensor));
    const int port = c.op->output(words[0]);
    if (port < 0) return Error(Code::invalid_argument, fmt::format("{} has no port '{}'", c.op->name, words[0]));
    e.output = static_cast<size_t>(port);
    for (const Expected& other : c.outputs) e.output += other.output >= static_cast<size_t>(port);
    c.outputs.push_back(std::move(e));
    return {};
  }

  Status input(size_t port, Tensor t) {
    if (!given[port].empty() && c.op->inputs[port].arity != Arity::variadic)
      return Error(Code::invalid_argument, fmt::format("input '{}' is given twice", c.op->inputs[port].name));
    given[port].push_back(std::move(t));
    return {};
  }

  /// name = value: of a field, or of a parameter port.
  Status attribute(const std::vector<std::string>& words) {
    const std::string source = fmt::format("{}", fmt::join(words.begin() + 2, words.end(), " "));
    NNEX_ASSIGN(auto e, graph_text::parse_expression(source, "the value"));
    NNEX_ASSIGN(AttrValue value, literal_of(e));
    if (const int port = c.op->input(words[0]); port >= 0) {
      const auto* list = std::get_if<Ints>(&value);
      const auto* one = std::get_if<int64_t>(&value);
      if (!list && !one) return Error(Code::invalid_argument, "a parameter port takes integers");
      return input(static_cast<size_t>(port),
                   one ? Tensor::scalar<int64_t>(*one) : Tensor::of(Shape{static_cast<int64_t>(list->size())}, *list));
    }
    const Field* f = c.op->attrs.find(words[0]);
    if (!f) return Error(Code::invalid_argument, fmt::format("{} has no attribute '{}'", c.op->name, words[0]));
    if (!f->set(c.op->attrs.make().get(), value))
      return Error(Code::invalid_argument, fmt::format("attribute '{}' cannot be {}", words[0], source));
    c.attrs.emplace_back(words[0], std::move(value));
    return {};
  }

  static Result<AttrValue> literal_of(const graph_text::Expr& e) {
    using K = graph_text::Expr::Kind;
    const std::function<Result<graph_text::Item>(const graph_text::Expr&)> item =
        [&](const graph_text::Expr& x) -> Result<graph_text::Item> {
      if (x.kind == K::boolean) return graph_text::Item::boolean(x.integer != 0);
      if (x.kind == K::integer) return graph_text::Item::of(x.integer);
      if (x.kind == K::real) return graph_text::Item::of(x.real);
      if (x.kind == K::string) return graph_text::Item::of(x.text);
      if (x.kind != K::array && x.kind != K::tuple) return Error(Code::invalid_argument, "the value is no literal");
      std::vector<graph_text::Item> items;
      for (const auto& i : x.items) {
        NNEX_ASSIGN(graph_text::Item made, item(i));
        items.push_back(std::move(made));
      }
      return graph_text::Item::list(std::move(items),
                                    x.kind == K::array ? graph_text::Item::Kind::array : graph_text::Item::Kind::tuple);
    };
    if (e.kind == K::tensor) return AttrValue(*e.tensor);
    NNEX_ASSIGN(graph_text::Item made, item(e));
    return graph_text::attr_of(made);
  }

  Status finish(bool error) {
    if (error == c.says.empty() || error == !c.outputs.empty())
      return Error(Code::invalid_argument, "a case has outputs, an error has a message");
    for (size_t p = 0; p < given.size(); ++p) {
      if (c.op->inputs[p].arity == Arity::variadic)
        for (Tensor& t : given[p]) c.inputs.emplace_back(std::move(t));
      else
        c.inputs.push_back(given[p].empty() ? std::nullopt : std::optional<Tensor>(std::move(given[p][0])));
    }
    while (!c.inputs.empty() && !c.inputs.back()) c.inputs.pop_back();
    return {};
  }
};

Error at_line(Error e, const std::string& file, int line) {
  return Error(e.code(), e.message()).at(fmt::format("{}:{}", file, line));
}

double unit_in_last_place(double x, DType type) {
  const int digits = type == DType::f64 ? 52 : type == DType::f16 ? 10 : type == DType::bf16 ? 7 : 23;
  const int min = type == DType::f64 ? -1022 : type == DType::f16 ? -14 : -126;
  return std::ldexp(1.0, std::max(x == 0 ? min : std::ilogb(x), min) - digits);
}

}  // namespace

size_t OpCase::output_count() const {
  size_t n = 1;
  for (const Expected& e : outputs) n = std::max(n, e.output + 1);
  return n;
}

Result<std::vector<OpCase>> read_op_cases(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  const OpDef* op = find_op(std::filesystem::path(path).stem().string());
  if (!op) return Error(Code::invalid_argument, "no operator has the name of this file").at(file);
  std::ifstream in(path);
  std::vector<OpCase> out;
  OpCaseReader* reader = nullptr;
  std::optional<OpCaseReader> now;
  bool error = false;
  int number = 0, start = 0;
  auto finish = [&]() -> Status {
    if (!reader) return {};
    if (Status s = reader->finish(error); !s.ok()) return at_line(std::move(s).error(), file, start);
    return {};
  };
  out.reserve(4096);
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (words[0] == "case" || words[0] == "error") {
      NNEX_TRY(finish());
      if (words.size() != 2 || out.size() == out.capacity())
        return at_line(Error(Code::invalid_argument, "a case has a name of one word"), file, number);
      OpCase& c = out.emplace_back();
      c.place = fmt::format("{}:{}", file, number), c.name = words[1], c.op = op;
      now.emplace(OpCaseReader{c, std::vector<std::vector<Tensor>>(op->inputs.size())});
      reader = &*now;
      error = words[0] == "error", start = number;
      continue;
    }
    if (!reader) return at_line(Error(Code::invalid_argument, "the file begins with a case"), file, number);
    if (Status s = reader->line(words); !s.ok()) return at_line(std::move(s).error(), file, number);
  }
  NNEX_TRY(finish());
  return out;
}

const Expected* GraphCase::value(std::string_view wanted) const {
  for (const auto& [known, e] : values)
    if (known == wanted) return &e;
  return nullptr;
}

Result<std::vector<GraphCase>> read_graph_cases(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  std::ifstream in(path);
  std::vector<GraphCase> out;
  bool inside = false;
  int number = 0;
  const auto fault = [&](const char* says) { return at_line(Error(Code::invalid_argument, says), file, number); };
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto words = words_of(line);
    if (words.empty()) continue;
    if (inside || words[0] == "graph") {
      if (out.empty() || !out.back().values.empty()) return fault("a graph follows the name of its case");
      out.back().graph += line + "\n";
      inside = line != "}";
      continue;
    }
    if (words[0] == "case") {
      if (words.size() != 2) return fault("a case has a name of one word");
      GraphCase& c = out.emplace_back();
      c.place = fmt::format("{}:{}", file, number), c.name = words[1];
      continue;
    }
    auto e = expected_of(words);
    if (!e.ok()) return at_line(std::move(e).error(), file, number);
    if (out.empty()) return fault("the file begins with a case");
    out.back().values.emplace_back(words[0], std::move(*e));
  }
  return out;
}

Result<std::vector<PassCase>> read_pass_cases(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  std::ifstream in(path);
  std::vector<PassCase> out;
  std::string* into = nullptr;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const auto words = words_of(line);
    if (!words.empty() && words[0] == "case") {
      out.push_back({fmt::format("{}:{}", file, number), line.substr(5), {}, {}});
      into = nullptr;
    } else if (!into && !out.empty() && words.size() == 2 && words[0] == "steps") {
      out.back().steps = std::atoll(words[1].c_str());
    } else if (line == "before" || line == "after") {
      if (out.empty()) return at_line(Error(Code::invalid_argument, "the file begins with a case"), file, number);
      into = line == "before" ? &out.back().before : &out.back().after;
    } else if (line == "unchanged") {
      into = nullptr;
    } else if (into) {
      *into += line + "\n";
    } else if (!words.empty()) {
      return at_line(Error(Code::invalid_argument, "found text outside `before` and `after`"), file, number);
    }
  }
  return out;
}

Result<std::vector<ErrorCase>> read_error_cases(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  std::ifstream in(path);
  std::vector<ErrorCase> out;
  int number = 0;
  bool message = false;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!message && line.rfind("error ", 0) == 0) {
      out.push_back({fmt::format("{}:{}", file, number), line.substr(6), {}, {}});
      continue;
    }
    if (out.empty()) return at_line(Error(Code::invalid_argument, "the file begins with an error"), file, number);
    if (!message && line.rfind("says \"", 0) == 0)
      message = true, line.erase(0, 6);
    else if (!message) {
      out.back().graph += line + "\n";
      continue;
    } else {
      out.back().says += "\n";
    }
    message = line.empty() || line.back() != '"';
    if (!message) line.pop_back();
    out.back().says += line;
  }
  return out;
}

bool fits(const Expected& e, const Tensor& got, int64_t i) {
  const DType type = e.tensor.dtype();
  if (!is_float(type)) return element_text(got, i) == element_text(e.tensor, i);
  const double g = real_at(got, i), w = real_at(e.tensor, i);
  if (std::isnan(w) || std::isnan(g)) return std::isnan(w) && std::isnan(g);
  if (w == 0 && g == 0) return !std::signbit(w) || std::signbit(g);
  if (g == w) return true;
  return std::isfinite(g) && std::isfinite(w) &&
         std::fabs(g - w) <= e.ulp * unit_in_last_place(w, type) + e.abs + e.rel * std::fabs(w);
}

}  // namespace nnex::test
