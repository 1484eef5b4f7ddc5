// Cases of NNEF documents: the rules, one document each.

#include <algorithm>

#include "base/mapped_file.h"
#include "conform_nnef_checked.h"

namespace nnex::cli {
namespace {

using namespace nnef_format;

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

}  // namespace

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

Status read_text(const std::string& path, Checked& c) {
  NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
  c.source.assign(file.bytes());
  return {};
}

void check_text(Checked& c, const std::string& file) {
  NamedShapes sink(c);
  evaluate(c.source, file, sink, c.tensors, c.faults);
}

Status conform_nnef_rules(const std::string& folder, Verdicts& out) {
  NNEX_ASSIGN(const Json index, read_index(folder + "/index.json"));
  return each_case(index, "cases", folder, "file", out, [&](const std::string& name, const Json& one) {
    const std::string file = one.value("file", "");
    Checked c;
    if (Status read = read_text(folder + "/" + file, c); !read.ok()) return out.add(name, read.error().text());
    check_text(c, file);
    out.add(name,
            one.value("verdict", "") == "valid" ? compare_valid(c, one) : compare_invalid(c, one.value("rule", "")));
  });
}

}  // namespace nnex::cli
