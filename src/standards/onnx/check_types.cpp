// What a model declares, against what inference found.

#include <fmt/format.h>

#include <map>

#include "graph/verify.h"
#include "standards/onnx/check.h"
#include "standards/onnx/signatures.h"

namespace nnex::onnx_format {
namespace {

/// Names of extents: what is known to be the same, and which number it is.
class Symbols {
 public:
  /// What is known of the extent by now: a number, the one name of those that are the same, or itself.
  Dim resolved(const Dim& d) const {
    if (d.is_number() || d.has_unknown()) return d;
    if (is_name(d)) {
      const auto it = known_.find(d.text());
      return it == known_.end() ? d : resolved(it->second);
    }
    std::vector<std::pair<std::string, int64_t>> numbers;
    for (const std::string& name : d.symbols())
      if (const auto number = resolved(Dim::symbol(name)).number()) numbers.emplace_back(name, *number);
    return d.with(numbers);
  }

  /// Whether both can be one extent; what that tells is kept.
  bool same(const Dim& a, const Dim& b) {
    const Dim x = resolved(a), y = resolved(b);
    if (x.is_number() && y.is_number()) return x.value() == y.value();
    if (x == y || x.has_unknown() || y.has_unknown()) return true;
    if (!can_meet(x, y)) return false;
    const Dim& name = is_name(x) ? x : y;
    const Dim& other = is_name(x) ? y : x;
    if (is_name(name) && (other.is_number() || is_name(other))) known_.emplace(name.text(), other);
    return true;
  }

 private:
  /// Whether some extent from 1 on makes both the same, where both are formulas of it alone.
  static bool can_meet(const Dim& x, const Dim& y) {
    constexpr int64_t kMax = int64_t{1} << 20, kEach = 64;
    const std::vector<std::string> symbols = x.symbols();
    if (symbols.size() != 1 || symbols != y.symbols()) return true;
    for (int64_t n = 1; n <= kMax; n = n < kEach ? n + 1 : 2 * n) {
      const std::vector<std::pair<std::string, int64_t>> here = {{symbols[0], n}};
      const auto a = x.with(here).number(), b = y.with(here).number();
      if (!a || !b || *a == *b) return true;
    }
    return false;
  }
  static bool is_name(const Dim& d) {
    if (d.is_number() || d.has_unknown()) return false;
    const auto symbols = d.symbols();
    return symbols.size() == 1 && symbols[0] == d.text();
  }

  std::map<std::string, Dim> known_;
};

class TypeChecker {
 public:
  TypeChecker(const ir::Graph& graph, Findings& findings, BrokenRules& broken)
      : graph_(graph), findings_(findings), broken_(broken) {}

  void operands() {
    for (const Findings::Used& n : findings_.nodes) {
      const bool doubtful = std::any_of(n.in.begin(), n.in.end(), [&](ValueId v) { return is_doubtful(v); });
      if (!doubtful && (broken_.at(n.place) || forms(n))) continue;
      if (doubtful) broken_.silence(n.place);
      for (ValueId v : n.out)
        if (v.valid()) findings_.doubtful.insert(findings_.now(v).n);
    }
  }

  void declared() {
    for (const Findings::Declared& d : findings_.declared) declared(d);
    for (size_t i = 0; i < findings_.outputs.size() && i < graph_.outputs().size(); ++i)
      if (const ValueId v = graph_.outputs()[i]; !is_doubtful(v))
        compare(graph_[v].type, findings_.output_types[i], fmt::format("output '{}'", findings_.outputs[i]), false);
  }

 private:
  void tell(Rule rule, const std::string& place, std::string message, std::string found, std::string needed) {
    broken_.add(place,
                {rule, Error(Code::invalid_model, std::move(message)).at(place), std::move(found), std::move(needed)});
  }

  void declared(const Findings::Declared& d) {
    const ValueId value = findings_.now(d.value);
    const ValueDef& v = graph_[value];
    if (v.producer.valid() && graph_[v.producer].erased) return;  // a call that could not be expanded
    if (is_doubtful(value)) return;
    compare(v.is_constant() ? type_of(v.constant) : v.type, d.type, d.place, d.inner);
  }

  void compare(const Type& found, const Type& said, const std::string& place, bool inner) {
    if (broken_.at(place)) return;
    if (!agree(found, said))
      return tell(Rule::declared, place, fmt::format("it is declared {}; it is {}", said.text(), found.text()),
                  said.text(), found.text());
    if (inner || !found.dims || !said.dims) return;
    for (size_t i = 0; i < found.dims->size(); ++i) {
      const Dim& is = (*found.dims)[i];
      const Dim& called = (*said.dims)[i];
      if (!symbols_.same(is, called))
        return tell(Rule::symbol, place,
                    fmt::format("it is declared {}; it is {}, where extent {} is {} and {}", said.text(), found.text(),
                                i, symbols_.resolved(called).text(), symbols_.resolved(is).text()),
                    symbols_.resolved(called).text(), symbols_.resolved(is).text());
    }
  }

  bool is_doubtful(ValueId v) const { return v.valid() && findings_.doubtful.count(findings_.now(v).n) != 0; }

  /// Whether the node's form takes its types.
  bool forms(const Findings::Used& n) {
    const Form* form = find_form(n.domain, n.op, n.version);
    if (!form) return true;
    FormUse use;
    const auto type = [&](ValueId v) -> const Type* { return v.valid() ? &graph_[findings_.now(v)].type : nullptr; };
    for (ValueId v : n.in) {
      use.in.push_back(type(v));
      use.least.push_back(v.valid() ? least_number(graph_[findings_.now(v)].constant.tensor()) : 0);
    }
    use.out.resize(n.out.size());  // what inference made of them is no fault of the model's
    use.result = n.out.empty() ? nullptr : type(n.out[0]);
    use.broadcast = n.broadcast;
    std::vector<BrokenForm> broken = broken_types(*form, use);
    for (BrokenForm& b : broken)
      tell(rule_of(b.kind), n.place, fmt::format("{}: {}", n.op, b.text), std::move(b.found), std::move(b.needed));
    return std::all_of(broken.begin(), broken.end(),
                       [](const BrokenForm& b) { return b.kind == BrokenForm::Kind::negative_axis; });
  }

  const ir::Graph& graph_;
  Findings& findings_;
  BrokenRules& broken_;
  Symbols symbols_;
};

}  // namespace

void check_operands(const ir::Graph& inferred, Findings& findings, BrokenRules& broken) {
  TypeChecker(inferred, findings, broken).operands();
}

void check_declared(const ir::Graph& inferred, Findings& findings, BrokenRules& broken) {
  TypeChecker(inferred, findings, broken).declared();
}

}  // namespace nnex::onnx_format
