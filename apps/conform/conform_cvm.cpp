// nnex conform cvm: stored operator cases, whole models and load cases (cvm_1.x), each by the reference kernels and by
// those of the plan.

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "api/read.h"
#include "base/mapped_file.h"
#include "conform.h"
#include "ops/call.h"
#include "ops/precision_call.h"
#include "run/compile.h"
#include "standards/cvm/import.h"
#include "standards/cvm/read_params.h"
#include "standards/cvm/write.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;
using cvm_format::Importer;

Result<Json> read_json(const std::string& path) {
  NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
  auto j = parse_json(file.bytes());
  if (!j.ok()) return std::move(j).error().at(path);
  if (!j->is_object()) return Error(Code::unreadable, "not a JSON object").at(path);
  return j;
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    if (c == '=') break;
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if ((held += 6) >= 8) out += static_cast<char>(bits >> (held -= 8));
  }
  return out;
}

/// Keeps a row, and prints what did not pass.
void add_row(std::vector<Verdict>& rows, Verdict row, bool quiet) {
  if (!quiet && row.verdict != "passed") say("{} {}: {}\n", row.verdict, row.name, row.reason);
  rows.push_back(std::move(row));
}

/// What a piece of JSON is, in few letters.
std::string shown(const Json& j) {
  constexpr size_t kGlance = 40;
  std::string text = j.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kGlance ? text : text.substr(0, kGlance) + "...";
}

/// f(case, its name) of every item of a file's list that is asked for: what is wrong of it. A file without the list is
/// a failed row of its own.
template <class F>
void each_case(const fs::path& at, const Json& file, const char* list, std::vector<Verdict>& rows, const CvmCases& how,
               F f) {
  if (!file.contains(list) || !file[list].is_array()) {
    add_row(rows, {at.string(), "failed", fmt::format("needed \"{}\": [...]", list)}, how.quiet);
    return;
  }
  for (size_t i = 0; i < file[list].size(); ++i) {
    const Json& c = file[list][i];
    const bool named = c.is_object() && c.contains("id") && c["id"].is_string();
    std::string id = named ? c["id"].get<std::string>() : fmt::format("{} {}[{}]", at.string(), list, i);
    if (named && c.contains("name") && c["name"].is_string()) id += fmt::format(" ({})", c["name"].get<std::string>());
    if (!how.wants(id)) continue;
    const std::string wrong =
        wrong_of([&]() -> Result<std::string> { return c.is_object() ? f(c) : Error(Code::unreadable, "no object"); });
    const bool normative = !c.is_object() || !c.contains("normative") || c["normative"] != false;
    if (normative)
      add_row(rows, {id, wrong.empty() ? "passed" : "failed", wrong}, how.quiet);
    else
      add_row(rows, {id, "informative", wrong.empty() ? "as upstream" : "not as upstream: " + wrong}, how.quiet);
  }
}

// ---- Tensors of cases

struct Stored {
  Ints shape;
  int64_t precision = 0;
  Tensor tensor;
};

/// A whole number of the range; a text, a fraction or what another number would become is none.
Result<int64_t> whole(const Json& j, std::string_view what, int64_t low, int64_t high) {
  const bool fits = j.is_number_unsigned() ? j.get<uint64_t>() <= INT64_MAX : j.is_number_integer();
  if (fits && j.get<int64_t>() >= low && j.get<int64_t>() <= high) return j.get<int64_t>();
  return Error(Code::unreadable,
               fmt::format("{}: found {}; needed a whole number from {} to {}", what, shown(j), low, high));
}

Result<Ints> whole_list(const Json& j, std::string_view what, int64_t low, int64_t high) {
  if (!j.is_array()) return Error(Code::unreadable, fmt::format("{}: found {}; needed a list", what, shown(j)));
  Ints out;
  for (size_t i = 0; i < j.size(); ++i) {
    NNEX_ASSIGN(const int64_t n, whole(j[i], fmt::format("{}[{}]", what, i), low, high));
    out.push_back(n);
  }
  return out;
}

/// {"shape": [..], "precision": 8}: what a refusal is decided by.
Result<Stored> stored_type(const Json& j) {
  Stored s;
  NNEX_ASSIGN(s.shape, whole_list(j.at("shape"), "shape", 0, INT32_MAX));
  if (j.contains("precision")) {
    NNEX_ASSIGN(s.precision, whole(j["precision"], "precision", INT32_MIN, INT32_MAX));
  }
  return s;
}

/// The same with "data": [..] or "fill": 1
Result<Stored> stored_tensor(const Json& j) {
  NNEX_ASSIGN(Stored s, stored_type(j));
  NNEX_ASSIGN(s.tensor, Tensor::make(DType::i32, Shape(s.shape)));
  auto y = s.tensor.mutable_as<int32_t>();
  if (j.contains("fill")) {
    NNEX_ASSIGN(const int64_t n, whole(j["fill"], "fill", INT32_MIN, INT32_MAX));
    std::fill(y.begin(), y.end(), static_cast<int32_t>(n));
    return s;
  }
  NNEX_ASSIGN(const Ints data, whole_list(j.at("data"), "data", INT32_MIN, INT32_MAX));
  if (data.size() != y.size())
    return Error(Code::unreadable, fmt::format("data: found {} numbers; needed {} for the shape {}", data.size(),
                                               y.size(), Shape(s.shape).text()));
  std::transform(data.begin(), data.end(), y.begin(), [](int64_t n) { return static_cast<int32_t>(n); });
  return s;
}

std::string difference(const Tensor& got, const Tensor& want) {
  if (got.dtype() != DType::i32 || !(got.shape() == want.shape()))
    return fmt::format("found {}{}; needed i32{}", name(got.dtype()), got.shape().text(), want.shape().text());
  auto a = got.as<int32_t>(), b = want.as<int32_t>();
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return fmt::format("element {}: found {}; needed {}", i, a[i], b[i]);
  return {};
}

// ---- Two ways to run

/// Every node by its reference kernel, one after another.
Result<std::vector<Value>> run_plainly(const ir::Graph& graph, const std::vector<Value>& inputs) {
  std::vector<Value> values(graph.value_count());
  for (uint32_t n = 0; n < graph.value_count(); ++n) values[n] = graph[ValueId{n}].constant;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i].n] = inputs[i];
  for (NodeId id : graph.order()) {
    const Node& node = graph[id];
    std::vector<const Value*> in;
    std::vector<Value*> out;
    for (ValueId v : node.in) in.push_back(v.valid() ? &values[v.n] : nullptr);
    for (ValueId v : node.out) {
      out.push_back(v.valid() ? &values[v.n] : nullptr);
      if (!v.valid()) continue;
      const auto shape = concrete(graph[v].type);
      NNEX_ASSERT(shape);
      NNEX_ASSIGN(Tensor t, Tensor::make(graph[v].type.dtype, *shape));
      values[v.n] = std::move(t);
    }
    Call call(*node.op, node.attrs.get(), in, out);
    NNEX_TRY(run_reference(call));
  }
  std::vector<Value> out;
  for (ValueId v : graph.outputs()) out.push_back(values[v.n]);
  return out;
}

Result<std::vector<Value>> run_planned(ir::Graph graph, const std::vector<Value>& inputs, const CvmCases& how) {
  NNEX_ASSIGN(Model model, compile(std::move(graph), how.load));
  SessionOptions options;
  options.threads = how.threads;
  auto answers = model.session(options).run(inputs);
  if (how.load.cache.empty() || !answers.ok()) return answers;
  NNEX_ASSIGN(model, kept_and_found(model, how.load));
  return model.session(options).run(inputs);
}

/// What both ways give, compared with `check`; "" where all is well.
template <class F>
std::string both_ways(const ir::Graph& graph, const std::vector<Value>& inputs, const CvmCases& how, F check) {
  for (const bool planned : {false, true}) {
    auto got = planned ? run_planned(graph, inputs, how) : run_plainly(graph, inputs);
    const std::string wrong = got.ok() ? check(*got) : got.error().text();
    if (!wrong.empty()) return fmt::format("{}: {}", planned ? "by the plan" : "by reference", wrong);
  }
  return {};
}

// ---- Operator cases

/// A graph of one operator.
struct OneOperator {
  ir::Graph graph;
  std::vector<int64_t> bits;  ///< Of the outputs.
};

Result<OneOperator> one_operator(const std::string& op, const Json& attrs, const std::vector<Stored>& inputs,
                                 bool compatible) {
  OneOperator out;
  Importer importer(out.graph, compatible);
  std::vector<ValueId> in;
  for (size_t i = 0; i < inputs.size(); ++i)
    in.push_back(importer.variable(fmt::format("x{}", i), inputs[i].shape, inputs[i].precision));
  cvm_format::TextMap texts;
  for (const auto& [key, value] : attrs.items()) texts.emplace_back(key, value.get<std::string>());
  NNEX_ASSIGN(std::vector<ValueId> results, importer.add(op, texts, in, "y", 0));
  for (ValueId v : results) out.bits.push_back(importer.bits(v));
  out.graph.set_results(kMain, results);
  return out;
}

/// Whether every element lies within the bits that its tensor promises: a model file holds nothing else.
bool keeps_promises(const std::vector<Stored>& inputs) {
  for (const Stored& s : inputs)
    for (int64_t x : s.tensor.as<int32_t>())
      if (s.precision < 1 || s.precision > 32 || std::abs(x) > bound_of_bits(s.precision)) return false;
  return true;
}

/// The case as a model: input 0 is `data`, the others are parameters.
cvm_format::ModelFiles as_files(const std::string& op, const Json& c, const std::vector<Stored>& inputs) {
  cvm_format::Symbol s;
  Ints precision, row_ptr, arg_nodes;
  std::vector<cvm_format::Param> params;
  cvm_format::SymbolNode node{"y", op, {}};
  const auto add_entry = [&](const Ints& shape, int64_t bits) {
    s.storage_ids.push_back(static_cast<int64_t>(s.shapes.size()));
    s.shapes.push_back(shape);
    precision.push_back(bits);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = i == 0 ? "data" : fmt::format("x{}", i);
    const auto at = static_cast<int64_t>(i);
    s.nodes.push_back({name, "", {}});
    s.op_attrs.emplace_back("{}");
    node.inputs.push_back({at, 0});
    row_ptr.push_back(at), arg_nodes.push_back(at);
    add_entry(inputs[i].shape, inputs[i].precision);
    if (i > 0) params.push_back({name, inputs[i].tensor});
  }
  const auto last = static_cast<int64_t>(inputs.size());
  s.nodes.push_back(node);
  s.op_attrs.push_back(c.at("attrs").dump());
  row_ptr.push_back(last);
  for (size_t o = 0; o < c.at("outputs").size(); ++o) {
    s.heads.push_back({last, static_cast<int64_t>(o)});
    add_entry(c.at("outputs")[o].at("shape").get<Ints>(), -1);
  }
  row_ptr.push_back(static_cast<int64_t>(s.shapes.size()));
  s.precision = precision, s.node_row_ptr = row_ptr, s.arg_nodes = arg_nodes;
  return {cvm_format::write_symbol(s), cvm_format::write_params(params)};
}

/// Reads the case as a model, writes that, reads what was written: the answers stay, and a second time the bytes do.
template <class F>
Result<std::string> through_files(const cvm_format::ModelFiles& files, const Value& data, bool compatible, F check) {
  NNEX_ASSIGN(ir::Graph first, cvm_format::read_model(files.symbol, files.params, nullptr, compatible));
  NNEX_ASSIGN(const cvm_format::ModelFiles written, cvm_format::write_model(first));
  NNEX_ASSIGN(ir::Graph second, cvm_format::read_model(written.symbol, written.params, nullptr, compatible));
  NNEX_ASSIGN(const std::vector<Value> got, run_plainly(second, {data}));
  if (std::string wrong = check(got); !wrong.empty()) return wrong;
  NNEX_ASSIGN(const cvm_format::ModelFiles again, cvm_format::write_model(second));
  return std::string(again.symbol == written.symbol && again.params == written.params ? "" : "other bytes");
}

Result<std::string> check_accepted(const std::string& op, const Json& c, const std::vector<Stored>& inputs,
                                   const CvmCases& how) {
  NNEX_ASSIGN(OneOperator ours, one_operator(op, c.at("attrs"), inputs, how.load.cvm.answers == CvmAnswers::formal));
  // The stored bits are upstream's; our own rules may only ask for more.
  NNEX_ASSIGN(OneOperator theirs, one_operator(op, c.at("attrs"), inputs, true));
  std::vector<Tensor> wanted;
  for (size_t o = 0; o < c.at("outputs").size(); ++o) {
    NNEX_ASSIGN(Stored want, stored_tensor(c.at("outputs")[o]));
    if (o >= theirs.bits.size() || theirs.bits[o] != want.precision)
      return fmt::format("output {}: found {} bits; needed {}", o, o < theirs.bits.size() ? theirs.bits[o] : 0,
                         want.precision);
    wanted.push_back(std::move(want.tensor));
  }
  std::vector<Value> values;
  for (const Stored& s : inputs) values.emplace_back(s.tensor);
  const auto check = [&](const std::vector<Value>& got) -> std::string {
    if (got.size() != wanted.size()) return fmt::format("found {} outputs; {} are stored", got.size(), wanted.size());
    for (size_t o = 0; o < wanted.size(); ++o)
      if (std::string s = difference(*got[o].tensor(), wanted[o]); !s.empty())
        return fmt::format("output {}: {}", o, s);
    return {};
  };
  std::string wrong = both_ways(ours.graph, values, how, check);
  if (!wrong.empty() || how.load.cvm.answers == CvmAnswers::formal || !keeps_promises(inputs)) return wrong;
  auto written = through_files(as_files(op, c, inputs), values[0], false, check);
  if (!written.ok()) return "written and read back: " + written.error().text();
  return written->empty() ? wrong : "written and read back: " + *written;
}

/// "" when a refusal is what the case wants.
std::string check_refused(const std::string& op, const Json& c, const std::vector<Stored>& inputs) {
  for (const bool compatible : {false, true}) {
    auto made = one_operator(op, c.at("attrs"), inputs, compatible);
    if (made.ok()) return fmt::format("accepted{}; needed a refusal", compatible ? " in compatibility" : "");
    const auto found = cvm_format::name(cvm_format::blame(made.error()));
    const std::string wanted = c.value("error_class", std::string(found));
    if (found != wanted) return fmt::format("a {} error; needed a {} error: {}", found, wanted, made.error().text());
  }
  return {};
}

void run_operators(const fs::path& at, const Json& file, std::vector<Verdict>& rows, const CvmCases& how) {
  const std::string op = file.contains("op") && file["op"].is_string() ? file["op"].get<std::string>() : "";
  each_case(at, file, "cases", rows, how, [&](const Json& c) -> Result<std::string> {
    const bool refuse = c.value("expect", "") == "reject";  // by shapes and bits alone
    std::vector<Stored> inputs;
    for (const Json& j : c.at("inputs")) {
      NNEX_ASSIGN(Stored s, refuse ? stored_type(j) : stored_tensor(j));
      inputs.push_back(std::move(s));
    }
    if (refuse) return check_refused(op, c, inputs);
    return check_accepted(op, c, inputs, how);
  });
}

// ---- Load cases

/// What the reference loader says of a model: 0, or its class of error.
int status_of(const Status& s) { return s.ok() ? 0 : static_cast<int>(cvm_format::blame(s.error())); }

Result<std::string> check_load(const Json& c, bool compatible) {
  const auto symbol = c.at("symbol").get<std::string>();
  const auto params = from_base64(c.at("params_b64").get<std::string>());
  if (!params) return std::string("params_b64 is no base64");
  auto read = cvm_format::read_symbol(symbol);
  ir::Graph graph;
  Importer importer(graph, compatible);
  Status s = read.ok() ? importer.symbol(*read) : Status(std::move(read).error());
  const int gas_status = status_of(s);
  const int64_t gas = s.ok() ? importer.info().gas : 0;
  if (s.ok()) s = importer.finish(*params, std::make_shared<const std::string>(*params));
  if (status_of(s) != c.at("status").get<int>())
    return fmt::format("status {}; needed {}{}", status_of(s), c["status"].get<int>(),
                       s.ok() ? "" : ": " + s.error().text());
  const auto wanted_status = c.at("gas_status").get<int>();
  const auto wanted_gas = c.at("gas").get<int64_t>();
  if (gas_status == wanted_status && gas == wanted_gas) return std::string();
  return fmt::format("gas status {} and gas {}; needed {} and {}", gas_status, gas, wanted_status, wanted_gas);
}

void run_loads(const fs::path& at, const Json& file, std::vector<Verdict>& rows, const CvmCases& how) {
  each_case(at, file, "cases", rows, how, [&](const Json& c) -> Result<std::string> {
    NNEX_ASSIGN(std::string wrong, check_load(c, how.load.cvm.answers == CvmAnswers::formal));
    const std::string note = c.value("note", "");
    return wrong.empty() || note.empty() ? wrong : wrong + "; " + note;
  });
}

// ---- Whole models

std::string check_info(const Json& want, const CvmProvenance& info) {
  const std::array<std::tuple<const char*, int64_t>, 4> facts = {{{"gas", info.gas},
                                                                  {"storage_bytes", info.storage_bytes},
                                                                  {"input_elem_bytes", info.input_width()},
                                                                  {"output_elem_bytes", info.output_width()}}};
  for (const auto& [key, found] : facts)
    if (want.contains(key) && want[key] != found)
      return fmt::format("{} is {}; needed {}", key, found, shown(want[key]));
  return {};
}

/// The output bytes as integers.
Ints elements_of(const std::string& bytes, int64_t width) {
  Ints out;
  for (size_t i = 0; i + static_cast<size_t>(width) <= bytes.size(); i += static_cast<size_t>(width)) {
    int32_t x = width == 1 ? static_cast<int8_t>(bytes[i]) : 0;
    if (width == 4) std::memcpy(&x, bytes.data() + i, 4);
    out.push_back(x);
  }
  return out;
}

Result<std::string> run_pair(const ir::Graph& graph, const CvmProvenance& info, const Json& pair, const CvmCases& how) {
  const auto shape = concrete(graph[graph.inputs()[0]].type);
  auto input = stored_tensor({{"shape", Ints(shape->begin(), shape->end())}, {"data", pair.at("input")}});
  if (!input.ok()) return std::move(input).error().during("reading the pair's input");
  NNEX_ASSIGN(const Ints wanted, whole_list(pair.at("output"), "output", INT32_MIN, INT32_MAX));
  return both_ways(graph, {input->tensor}, how, [&](const std::vector<Value>& got) -> std::string {
    std::vector<Tensor> heads;
    for (const Value& v : got) heads.push_back(*v.tensor());
    auto bytes = cvm_format::output_bytes(info, heads);
    if (!bytes.ok()) return bytes.error().text();
    const Ints found = elements_of(*bytes, info.output_width());
    if (found.size() != wanted.size())
      return fmt::format("found {} output elements; needed {}", found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i] != wanted[i]) return fmt::format("output element {}: found {}; needed {}", i, found[i], wanted[i]);
    return {};
  });
}

/// A model written and read back is written the same again, with the same gas.
std::string written_and_read(const ir::Graph& graph) {
  const auto run = [&]() -> Result<std::string> {
    NNEX_ASSIGN(const cvm_format::ModelFiles first, cvm_format::write_model(graph));
    NNEX_ASSIGN(ir::Graph back, cvm_format::read_model(first.symbol, first.params, nullptr, false));
    NNEX_ASSIGN(const cvm_format::ModelFiles second, cvm_format::write_model(back));
    if (first.symbol != second.symbol || first.params != second.params) return std::string("other bytes");
    const int64_t before = cvm_format::model_info(graph)->gas, after = cvm_format::model_info(back)->gas;
    return before == after ? std::string() : fmt::format("gas was {} and is {}", before, after);
  };
  auto wrong = run();
  return wrong.ok() ? *wrong : wrong.error().text();
}

/// Input and output pairs of a model; `io` may lie beside the model or elsewhere under its name.
void run_model(const std::string& folder, const fs::path& at, const Json& io, std::vector<Verdict>& rows,
               const CvmCases& how) {
  const std::string model_name = fs::path(folder).filename().string();
  auto graph = read_model(folder, how.load);
  if (!graph.ok()) {
    if (how.wants(model_name)) add_row(rows, {model_name, "failed", graph.error().text()}, how.quiet);
    return;
  }
  const CvmProvenance info = *cvm_format::model_info(*graph);
  const auto add = [&](const std::string& what, const std::string& wrong) {
    add_row(rows, {model_name + what, wrong.empty() ? "passed" : "failed", wrong}, how.quiet);
  };
  if (how.wants(model_name)) {
    if (io.contains("info"))
      add(" facts", wrong_of([&]() -> Result<std::string> { return check_info(io["info"], info); }));
    add(" written", written_and_read(*graph));
  }
  each_case(at, io, "pairs", rows, how,
            [&](const Json& pair) -> Result<std::string> { return run_pair(*graph, info, pair, how); });
}

/// The folder of the model that an io file's pairs are for: its own, or one of its name beside it.
std::string model_folder(const fs::path& file, const CvmCases& how) {
  std::error_code ignored;
  const std::array<fs::path, 3> places = {file.parent_path(), file.parent_path() / file.stem(),
                                          fs::path(how.path) / "models" / file.stem()};
  for (const fs::path& p : places)
    if (fs::is_regular_file(p / "symbol", ignored)) return p.string();
  return {};
}

Status run_file(const fs::path& file, std::vector<Verdict>& rows, const CvmCases& how) {
  NNEX_ASSIGN(const Json j, read_json(file.string()));
  const std::string schema = j.contains("schema") && j["schema"].is_string() ? j["schema"].get<std::string>() : "";
  if (schema.rfind("cvm-op-vectors/", 0) == 0) {
    run_operators(file, j, rows, how);
  } else if (schema.rfind("cvm-load/", 0) == 0) {
    run_loads(file, j, rows, how);
  } else if (j.contains("pairs")) {
    const std::string folder = model_folder(file, how);
    if (folder.empty())
      add_row(rows, {file.string(), "skipped", "the model of its pairs is not beside it"}, how.quiet);
    else
      run_model(folder, file, j, rows, how);
  }
  return {};
}

}  // namespace

int conform_cvm(const CvmCases& options) {
  std::vector<fs::path> files;
  std::error_code failed;
  if (fs::is_regular_file(options.path, failed)) {
    files.emplace_back(options.path);
  } else {
    for (fs::recursive_directory_iterator it(options.path, failed), end; !failed && it != end; it.increment(failed))
      if (it->path().extension() == ".json") files.push_back(it->path());
    if (failed)
      return report(Error(Code::unreadable, fmt::format("cannot read '{}': {}", options.path, failed.message())));
  }
  std::sort(files.begin(), files.end());
  std::vector<Verdict> rows;
  for (const fs::path& file : files)
    if (Status s = run_file(file, rows, options); !s.ok())
      add_row(rows, {file.string(), "failed", s.error().text()}, options.quiet);
  return finish(rows, options.json);
}

}  // namespace nnex::cli
