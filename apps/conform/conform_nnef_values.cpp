// The cases of values/: operations on small tensors, run whole and by the bodies of the standard.

#include <cmath>
#include <limits>

#include "conform.h"
#include "run/compile.h"
#include "standards/nnef/import.h"
#include "tensor/convert.h"
#include "through.h"

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
    if (dtype == DType::f32) {
      set_real(t, i, real_of(v));
    } else {
      set_int(t, i, v.is_boolean() ? v.get<bool>() : v.get<int64_t>());
    }
  }
  return t;
}

/// |got - want| <= tolerance (1 + |want|) for scalars, or both infinite alike, or both NaN; others exactly. What
/// differs, or nothing.
std::string difference(const Value& got, const Tensor& want, double tolerance, bool types) {
  const Tensor* t = got.tensor();
  if (!t || (types && t->dtype() != want.dtype()) || !(t->shape() == want.shape()))
    return fmt::format("found {}; needed {}", got.text(), Value(want).text());
  for (int64_t i = 0; i < want.count(); ++i) {
    const bool real = want.dtype() == DType::f32;
    const double g = real ? real_at(*t, i) : static_cast<double>(int_at(*t, i));
    const double w = real ? real_at(want, i) : static_cast<double>(int_at(want, i));
    const bool close = real && std::isfinite(w) && std::fabs(g - w) <= tolerance * (1 + std::fabs(w));
    if (!(close || g == w || (std::isnan(g) && std::isnan(w))))
      return fmt::format("element {}: found {}; needed {}", i, g, w);
  }
  return {};
}

/// Whether a tensor of the case holds a NaN: NNEF's comparisons make of it what no other standard's operations do.
bool has_nan(const Json& one) {
  for (const char* side : {"inputs", "outputs"})
    for (const auto& [name, t] : one[side].items())
      for (const Json& v : t["values"])
        if (v.is_string() && v.get<std::string>() == "nan") return true;
  return false;
}

enum class How : uint8_t { plain, by_bodies, written };

/// Runs one case; what differs, or nothing.
Result<std::string> run_case(const Json& one, double tolerance, How how, const Verdicts& asked) {
  const std::string text = one.at("graph").get<std::string>();
  nnef_format::ImportOptions options;
  options.expand_compounds = how == How::by_bodies;
  NNEX_ASSIGN(ir::Graph graph, nnef_format::import_document(text, "graph.nnef", options));
  if (how == How::written) {
    NNEX_ASSIGN(graph, written_and_read(std::move(graph), asked.through));
  }
  std::map<std::string, Value> inputs;
  for (const ValueId v : graph.inputs()) {
    const auto given = one["inputs"].find(graph[v].name);
    if (given == one["inputs"].end()) continue;
    NNEX_ASSIGN(const Tensor in, tensor_of(*given));
    NNEX_ASSIGN(Tensor typed, convert(in, graph[v].type.dtype));
    inputs.emplace(graph[v].name, std::move(typed));
  }
  NNEX_ASSIGN(Model model, compile(std::move(graph), asked.load));
  Session session = model.session();
  NNEX_ASSIGN(const auto got, session.run(inputs));
  if (got.size() != one.at("outputs").size())
    return fmt::format("found {} outputs; {} are stored", got.size(), one.at("outputs").size());
  for (const auto& [name, t] : one.at("outputs").items()) {
    NNEX_ASSIGN(const Tensor want, tensor_of(t));
    auto found = got.find(name);
    if (found == got.end()) return fmt::format("no output '{}'", name);
    const bool types = how != How::written || asked.through != "webnn";  // WebNN's truth values are bytes
    if (std::string s = difference(found->second, want, tolerance, types); !s.empty())
      return fmt::format("{}'{}': {}",
                         how == How::by_bodies ? "by the standard's body, "
                         : how == How::written ? fmt::format("through {}, ", asked.through)
                                               : "",
                         name, s);
  }
  return std::string();
}

}  // namespace

Status conform_nnef_values(const std::string& folder, Verdicts& out) {
  NNEX_ASSIGN(const Json index, read_index(folder + "/values.json"));
  const double usual =
      index.contains("tolerance") && index["tolerance"].is_number() ? index["tolerance"].get<double>() : 1e-5;
  return each_case(index, "cases", folder, "id", out, [&](const std::string& name, const Json& one) {
    const double tolerance =
        one.contains("tolerance") && one["tolerance"].is_number() ? one["tolerance"].get<double>() : usual;
    std::string wrong, unsaid;
    for (const How how : {How::plain, How::by_bodies, How::written}) {
      if (how == How::written && out.through.empty()) continue;
      if (how == How::written && out.through != "nnef" && has_nan(one)) {
        unsaid = "a NaN is what the other standard makes of it";
        continue;
      }
      auto s = run_case(one, tolerance, how, out);
      if (!s.ok() && how == How::written && s.error().code() == Code::unsupported)
        unsaid = s.error().text();
      else if (wrong.empty())
        wrong = s.ok() ? *s : s.error().text();
    }
    if (wrong.empty() && !unsaid.empty())
      out.skip(name, unsaid);
    else
      out.add(name, wrong);
  });
}

}  // namespace nnex::cli
