// Cases of NNEF documents: the rules, one document each, and graphs as other projects write them.

#include <algorithm>
#include <map>

#include "base/mapped_file.h"
#include "conform.h"
#include "formats/nnef/shapes.h"

namespace nnex::cli {
namespace {

using namespace nnef_format;

/// What checking a document gave.
struct Checked {
  std::string source;
  Tensors tensors;
  Faults faults;
  std::map<std::string, TensorId, std::less<>> names;  ///< Of the graph's body.
};

/// Checks shapes, and remembers which tensor each name is.
class NamedShapes : public ShapeChecker {
 public:
  explicit NamedShapes(Checked& to) : to_(to) {}
  void assigned(std::string_view name, TensorId tensor, Tensors&) override { to_.names.emplace(name, tensor); }

 private:
  Checked& to_;
};

/// Compares data-type and shape of one tensor of the index.
std::string compare_tensor(const TensorInfo& t, const Json& want) {
  const std::string type = want.value("dtype", "");
  if (!type.empty() && type != name(t.type)) return fmt::format("found {}; needed {}", name(t.type), type);
  if (!want.contains("shape") || !want["shape"].is_array()) return {};
  if (!t.shaped) return "no shape was found";
  std::vector<int64_t> shape;
  for (const Json& n : want["shape"]) shape.push_back(n.is_number_integer() ? n.get<int64_t>() : -1);
  if (shape == t.extents) return {};
  return fmt::format("found [{}]; needed [{}]", fmt::join(t.extents, ","), fmt::join(shape, ","));
}

std::string compare_valid(const Checked& c, const Json& one) {
  if (!c.faults.none()) return "refused: " + c.faults.list()[0].text();
  if (!one.contains("tensors")) return {};
  for (const auto& [name, want] : one["tensors"].items()) {
    const auto it = c.names.find(name);
    if (it == c.names.end()) return fmt::format("'{}' is missing", name);
    if (std::string s = compare_tensor(c.tensors[it->second], want); !s.empty())
      return fmt::format("'{}': {}", name, s);
  }
  return {};
}

/// An invalid document is refused, and one of its faults has the rule's number.
std::string compare_invalid(const Checked& c, const std::string& rule) {
  if (c.faults.none()) return "accepted";
  if (rule.empty()) return {};
  std::string found;
  for (const Error& e : c.faults.list()) {
    if (e.message().starts_with(rule + ":")) return {};
    found += fmt::format("{}{}", found.empty() ? "" : "; ", e.text());
  }
  return fmt::format("needed rule {}; found {}", rule, found);
}

Status check(const std::string& path, Checked& c) {
  NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
  c.source.assign(file.bytes());
  return {};
}

void run(Checked& c, const std::string& file, Dialect dialect = Dialect::standard) {
  NamedShapes sink(c);
  EvaluateOptions options;
  options.dialect = dialect;
  evaluate(c.source, file, sink, c.tensors, c.faults, options);
}

/// Fragments alone: in a document of their own.
std::string with_graph(const std::string& fragments) {
  return "version 1.0;\nextension KHR_enable_fragment_definitions, KHR_enable_operator_expressions;\n" + fragments +
         "\ngraph g(x) -> (y) { x = external(shape = [1]); y = copy(x); }\n";
}

}  // namespace

Status conform_nnef_rules(const std::string& folder, Verdicts& out) {
  NNEX_ASSIGN(Json index, read_index(folder + "/index.json"));
  for (const Json& one : index["cases"]) {
    const std::string file = one.value("file", "");
    if (!out.wants("rules/" + file)) continue;
    Checked c;
    NNEX_TRY(check(folder + "/" + file, c));
    run(c, file);
    out.add("rules/" + file,
            one.value("verdict", "") == "valid" ? compare_valid(c, one) : compare_invalid(c, one.value("rule", "")));
  }
  return {};
}

Status conform_nnef_graphs(const std::string& folder, Verdicts& out) {
  NNEX_ASSIGN(Json index, read_index(folder + "/index.json"));
  for (const Json& one : index["units"]) {
    const std::string unit = one.value("unit", "");
    const std::string name = "graphs/" + unit;
    if (!out.wants(name)) continue;
    std::string file;
    for (const Json& f : one["files"])
      if (f == "graph.nnef" || f == "fragment.nnef") file = f.get<std::string>();
    if (file.empty()) {
      out.skip(name, "no text of its own");
      continue;
    }
    Checked c;
    NNEX_TRY(check(folder + "/" + unit + "/" + file, c));
    if (file == "fragment.nnef") c.source = with_graph(c.source);
    run(c, file);
    out.add(name, one.value("verdict", "") == "valid" ? compare_valid(c, one) : compare_invalid(c, ""));
  }
  return {};
}

}  // namespace nnex::cli
