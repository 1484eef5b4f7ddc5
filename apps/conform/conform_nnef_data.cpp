// Cases of NNEF's data: tensor files, quantisation files, and models in folders and archives.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/mapped_file.h"
#include "conform.h"
#include "standards/nnef/model.h"
#include "standards/nnef/read_tensor.h"
#include "standards/nnef/signatures.h"
#include "standards/nnef/weights.h"
#include "tensor/convert.h"

namespace nnex::cli {
namespace {

using namespace nnef_format;
namespace fs = std::filesystem;

/// What is wrong with a refusal: nothing where it names the rule.
std::string compare_refusal(const Error& e, const std::string& rule) {
  if (rule.empty() || e.text().find(rule + ":") != std::string::npos) return {};
  return fmt::format("needed rule {}; found {}", rule, e.text());
}

bool is_valid(const Json& one) { return one.value("verdict", "") == "valid"; }

Result<std::string> text_of(const std::string& path) {
  NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
  return std::string(file.bytes());
}

// ---- dat

/// Element i against the index's number: floats are rounded to the stored width first, integers may exceed 2^53.
bool same_item(const Tensor& t, int64_t i, const Json& want) {
  if (!is_real(t.dtype())) {
    if (want.is_boolean()) return t.dtype() == DType::boolean && (int_at(t, i) != 0) == want.get<bool>();
    if (want.is_number_unsigned()) return static_cast<uint64_t>(int_at(t, i)) == want.get<uint64_t>();
    return want.is_number_integer() && int_at(t, i) == want.get<int64_t>();
  }
  if (!want.is_number() && !want.is_string()) return false;
  Tensor rounded = *Tensor::make(t.dtype(), Shape{});
  set_real(rounded, 0, real_of(want));
  return real_at(t, i) == real_at(rounded, 0) || (std::isnan(real_at(t, i)) && std::isnan(real_at(rounded, 0)));
}

std::string compare_items(const TensorFile& file, const Json& one) {
  auto found = items(file);
  if (!found.ok()) return "refused: " + found.error().text();
  const Ints shape = one.value("shape", Ints{});
  if (!(found->shape() == Shape(shape)))
    return fmt::format("found {}; needed {}", found->shape().text(), Shape(shape).text());
  if (file.header.bits != one.value("bits", 0u) || file.header.item != one.value("item_type", 0u))
    return fmt::format("found {}", file.header.text());
  const std::string type(name(*item_type(file.header)));
  if (type != one.value("dtype", "")) return fmt::format("found {}; needed {}", type, one.value("dtype", ""));
  const Json& values = one.at("values");
  if (static_cast<int64_t>(values.size()) != found->count())
    return fmt::format("found {} items; needed {}", found->count(), values.size());
  for (int64_t i = 0; i < found->count(); ++i)
    if (const Json& want = values.at(static_cast<size_t>(i)); !same_item(*found, i, want))
      return fmt::format("item {}: found {}; needed {}", i, element_text(*found, i), want.dump());
  return {};
}

std::string run_dat(const std::string& path, const Json& one) {
  auto opened = MappedFile::open(path, MapPolicy::never);
  if (!opened.ok()) return opened.error().text();
  auto file = read_tensor_file(opened->bytes());
  const std::string rule = one.value("rule", "");
  if (is_valid(one)) return file.ok() ? compare_items(*file, one) : "refused: " + file.error().text();
  if (!file.ok()) return compare_refusal(file.error(), rule);
  auto found = items(*file);
  return found.ok() ? "accepted" : compare_refusal(found.error(), rule);
}

// ---- quant

/// A literal as the index has it.
Json json_of(const Literal& l) {
  if (auto* b = l.get<bool>()) return *b;
  if (auto* i = l.get<int64_t>()) return *i;
  if (auto* x = l.get<double>()) return *x;
  if (auto* s = l.get<std::string>()) return *s;
  Json list = Json::array();
  if (auto* all = l.get<Literals>())
    for (const Literal& item : *all) list.push_back(json_of(item));
  return list;
}

std::string compare_entries(const QuantFile& file, const Json& want) {
  if (file.size() != want.size()) return fmt::format("found {} lines; needed {}", file.size(), want.size());
  for (const QuantRecord& r : file) {
    if (!want.contains(r.tensor)) return fmt::format("a line for '{}'", r.tensor);
    const Json& entry = want[r.tensor];
    if (entry.value("op", "") != r.operation) return fmt::format("found operation {}", r.operation);
    if (entry.size() != r.args.size() + 1) return fmt::format("found {} arguments", r.args.size());
    for (const auto& [name, value] : r.args)
      if (!entry.contains(name) || entry[name] != json_of(value))
        return fmt::format("argument '{}': found {}", name, literal_text(value));
  }
  return {};
}

std::string run_quant(const std::string& folder, const Json& one) {
  auto quant = text_of(folder + "/" + one.value("file", "")), graph = text_of(folder + "/" + one.value("graph", ""));
  if (!quant.ok() || !graph.ok()) return "a file of the case is missing";
  Faults faults;
  std::vector<std::string> notes;
  check_quant_file(*quant, one.value("file", ""), *graph, one.value("graph", ""), faults, notes);
  if (!is_valid(one)) {
    if (faults.none()) return "accepted";
    std::string difference;
    for (const Error& e : faults.list()) {
      difference = compare_refusal(e, one.value("rule", ""));
      if (difference.empty()) return {};
    }
    return difference;
  }
  if (!faults.none()) return "refused: " + faults.list()[0].text();
  auto file = parse_quant(*quant, one.value("file", ""));
  if (std::string s = compare_entries(*file, one.at("entries")); !s.empty()) return s;
  auto again = parse_quant(quant_text(*file), "printed");
  if (!again.ok()) return "what is written does not read back: " + again.error().text();
  return compare_entries(*again, one.at("entries"));
}

// ---- containers

Result<Tensor> stored(const std::string& path) {
  NNEX_ASSIGN(MappedFile opened, MappedFile::open(path, MapPolicy::never));
  auto owner = std::make_shared<const std::string>(opened.bytes());
  NNEX_ASSIGN(TensorFile file, read_tensor_file(*owner, owner));
  return items(file);
}

std::string compare_output(const Tensor& got, const Tensor& want) {
  if (!(got.shape() == want.shape()))
    return fmt::format("found {}; needed {}", got.shape().text(), want.shape().text());
  for (int64_t i = 0; i < want.count(); ++i)
    if (const double g = real_at(got, i), w = real_at(want, i); !(std::fabs(g - w) <= 1e-5 * (1 + std::fabs(w))))
      return fmt::format("element {}: found {}; needed {}", i, g, w);
  return {};
}

std::string run_model(const Model& model, const std::string& folder, const Json& one) {
  std::map<std::string, Value> inputs;
  for (const auto& [name, file] : one.at("input").items()) {
    auto t = stored(folder + "/" + file.get<std::string>());
    if (!t.ok()) return t.error().text();
    inputs.emplace(name, *t);
  }
  Session session = model.session();
  auto out = session.run(inputs);
  if (!out.ok()) return out.error().text();
  if (out->size() != one.at("output").size())
    return fmt::format("found {} outputs; {} are stored", out->size(), one.at("output").size());
  for (const auto& [name, file] : one.at("output").items()) {
    auto want = stored(folder + "/" + file.get<std::string>());
    if (!want.ok()) return want.error().text();
    const auto found = out->find(name);
    if (found == out->end() || !found->second.tensor()) return fmt::format("no output '{}'", name);
    if (std::string s = compare_output(*found->second.tensor(), *want); !s.empty()) return s;
  }
  return {};
}

std::string run_container(const std::string& folder, const Json& one) {
  auto model = Model::load(folder + "/" + one.value("path", ""));
  if (!is_valid(one)) return model.ok() ? "accepted" : compare_refusal(model.error(), one.value("rule", ""));
  return model.ok() ? run_model(*model, folder, one) : "refused: " + model.error().text();
}

Status each_file(const std::string& folder, const char* key, Verdicts& out,
                 const std::function<std::string(const Json&)>& run) {
  NNEX_ASSIGN(const Json index, read_index(folder + "/index.json"));
  return each_case(index, "cases", folder, key, out,
                   [&](const std::string& name, const Json& one) { out.add(name, run(one)); });
}

}  // namespace

Status conform_nnef_dat(const std::string& folder, Verdicts& out) {
  return each_file(folder, "file", out,
                   [&](const Json& one) { return run_dat(folder + "/" + one.value("file", ""), one); });
}

Status conform_nnef_quant(const std::string& folder, Verdicts& out) {
  return each_file(folder, "file", out, [&](const Json& one) { return run_quant(folder, one); });
}

Status conform_nnef_containers(const std::string& folder, Verdicts& out) {
  return each_file(folder, "path", out, [&](const Json& one) { return run_container(folder, one); });
}

}  // namespace nnex::cli
