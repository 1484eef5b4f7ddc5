// The cases of values/: operations on small tensors, run whole and by the bodies of the standard.

#include <cmath>

#include "conform.h"
#include "formats/nnef/import.h"
#include "tensor/convert.h"

namespace nnex::cli {
namespace {

Result<Tensor> tensor_of(const Json& j) {
  const std::string type = j.value("dtype", "");
  const DType dtype = type == "scalar"    ? DType::f32
                      : type == "integer" ? DType::i64
                      : type == "logical" ? DType::boolean
                                          : DType::none;
  if (dtype == DType::none || !j.contains("shape") || !j.contains("values"))
    return Error(Code::unreadable, "a tensor of the case has no dtype, shape or values");
  NNEX_ASSIGN(Tensor t, Tensor::make(dtype, Shape(j["shape"].get<std::vector<int64_t>>())));
  const Json& values = j["values"];
  if (static_cast<int64_t>(values.size()) != t.count())
    return Error(Code::unreadable, fmt::format("found {} values; the shape needs {}", values.size(), t.count()));
  for (int64_t i = 0; i < t.count(); ++i) {
    const Json& v = values[static_cast<size_t>(i)];
    if (dtype == DType::f32)
      set_real(t, i, v.get<double>());
    else
      set_int(t, i, v.is_boolean() ? v.get<bool>() : v.get<int64_t>());
  }
  return t;
}

/// |got - want| <= tolerance (1 + |want|) for scalars; others exactly. What differs, or nothing.
std::string difference(const Value& got, const Tensor& want, double tolerance) {
  const Tensor* t = got.tensor();
  if (!t || t->dtype() != want.dtype() || !(t->shape() == want.shape()))
    return fmt::format("found {}; needed {}", got.text(), Value(want).text());
  for (int64_t i = 0; i < want.count(); ++i) {
    const bool real = want.dtype() == DType::f32;
    const double g = real ? real_at(*t, i) : static_cast<double>(int_at(*t, i));
    const double w = real ? real_at(want, i) : static_cast<double>(int_at(want, i));
    if (!(real ? std::fabs(g - w) <= tolerance * (1 + std::fabs(w)) : g == w))
      return fmt::format("element {}: found {}; needed {}", i, g, w);
  }
  return {};
}

/// Runs one case; what differs, or nothing.
Result<std::string> run_case(const Json& one, double tolerance, bool expand) {
  const std::string text = one["graph"].get<std::string>();
  nnef_format::ImportOptions options;
  options.expand_compounds = expand;
  NNEX_ASSIGN(Graph graph, nnef_format::import_document(text, "graph.nnef", options));
  NNEX_ASSIGN(Model model, Model::compile(std::move(graph)));
  std::map<std::string, Value> inputs;
  for (const auto& [name, t] : one["inputs"].items()) {
    NNEX_ASSIGN(Tensor in, tensor_of(t));
    inputs.emplace(name, std::move(in));
  }
  Session session = model.session();
  NNEX_ASSIGN(const auto got, session.run(inputs));
  for (const auto& [name, t] : one["outputs"].items()) {
    NNEX_ASSIGN(const Tensor want, tensor_of(t));
    auto found = got.find(name);
    if (found == got.end()) return fmt::format("no output '{}'", name);
    if (std::string s = difference(found->second, want, tolerance); !s.empty())
      return fmt::format("{}'{}': {}", expand ? "by the standard's body, " : "", name, s);
  }
  return std::string();
}

}  // namespace

Status conform_nnef_values(const std::string& folder, Verdicts& out) {
  NNEX_ASSIGN(const Json index, read_index(folder + "/values.json"));
  const double usual =
      index.contains("tolerance") && index["tolerance"].is_number() ? index["tolerance"].get<double>() : 1e-5;
  for (const Json& one : index["cases"]) {
    const std::string name = "values/" + one.value("id", "");
    if (!out.wants(name)) continue;
    const double tolerance =
        one.contains("tolerance") && one["tolerance"].is_number() ? one["tolerance"].get<double>() : usual;
    std::string wrong;
    for (const bool expand : {false, true}) {
      auto s = run_case(one, tolerance, expand);
      if (wrong.empty()) wrong = s.ok() ? *s : s.error().text();
    }
    out.add(name, wrong);
  }
  return {};
}

}  // namespace nnex::cli
