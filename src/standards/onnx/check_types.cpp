// What a model declares, against what inference found.

#include <fmt/ranges.h>

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
    const Dim& name = is_name(x) ? x : y;
    const Dim& other = is_name(x) ? y : x;
    if (is_name(name) && (other.is_number() || is_name(other))) known_.emplace(name.text(), other);
    return true;
  }

 private:
  static bool is_name(const Dim& d) {
    if (d.is_number() || d.has_unknown()) return false;
    const auto symbols = d.symbols();
    return symbols.size() == 1 && symbols[0] == d.text();
  }

  std::map<std::string, Dim> known_;
};

class TypeChecker {
 public:
  TypeChecker(const ir::Graph& graph, const Findings& findings, Faults& faults)
      : graph_(graph), findings_(findings), faults_(faults) {}

  void run() {
    for (const Findings::Declared& d : findings_.declared) declared(d);
    for (size_t i = 0; i < findings_.outputs.size() && i < graph_.outputs().size(); ++i)
      compare(graph_[graph_.outputs()[i]].type, findings_.output_types[i],
              fmt::format("output '{}'", findings_.outputs[i]), false);
    Faults of_forms;
    for (const Findings::Used& n : findings_.nodes) forms(n, of_forms);
    faults_.add_elsewhere(std::move(of_forms));  // a node that inference refused has been told
  }

 private:
  void declared(const Findings::Declared& d) {
    const ValueDef& v = graph_[d.value];
    if (v.producer.valid() && graph_[v.producer].erased) return;  // a call that its function's body replaced
    compare(v.is_constant() ? type_of(v.constant) : v.type, d.type, fmt::format("value '{}'", d.name), d.inner);
  }

  void compare(const Type& found, const Type& said, const std::string& what, bool inner) {
    bool fine = agree(found, said);
    if (fine && !inner && found.dims && said.dims)
      for (size_t i = 0; i < found.dims->size(); ++i) fine &= symbols_.same((*found.dims)[i], (*said.dims)[i]);
    if (!fine)
      faults_.add(
          Error(Code::invalid_model, fmt::format("it is declared {}; it is {}", said.text(), found.text())).at(what));
  }

  void forms(const Findings::Used& n, Faults& faults) const {
    const Form* form = find_form(n.domain, n.op, n.version);
    if (!form) return;
    FormUse use;
    const auto type = [&](ValueId v) -> const Type* { return v.valid() ? &graph_[v].type : nullptr; };
    for (ValueId v : n.in) use.in.push_back(type(v));
    use.out.resize(n.out.size());  // what inference made of them is no fault of the model's
    const auto broken = broken_types(*form, use);
    if (!broken.empty())
      faults.add(Error(Code::invalid_model, fmt::format("{}: {}", n.op, fmt::join(broken, "; "))).at(n.place));
  }

  const ir::Graph& graph_;
  const Findings& findings_;
  Faults& faults_;
  Symbols symbols_;
};

}  // namespace

void check_types(const ir::Graph& inferred, const Findings& findings, Faults& faults) {
  TypeChecker(inferred, findings, faults).run();
}

}  // namespace nnex::onnx_format
