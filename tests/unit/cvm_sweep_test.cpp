// Every stored operator case of CVM as a model: said in ONNX's standard operators, or in NNEF with CVM's own rows as
// custom operations, run, and made a model of CVM again. The same numbers at every stop.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "api/export.h"
#include "api/read.h"
#include "base/try.h"
#include "nnef_written.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "share.h"
#include "standards/cvm/import.h"
#include "standards/cvm/read_params.h"
#include "standards/cvm/write.h"
#include "standards/nnef/model.h"
#include "stored.h"
#include "tensor/convert.h"

namespace nnex {
namespace {

using namespace cvm_format;
using Json = nlohmann::json;

struct Stored {
  Ints shape;
  int64_t bits = 0;
  std::vector<int32_t> values;
};

Stored stored_tensor(const Json& j) {
  Stored s{j.at("shape").get<Ints>(), j.at("precision").get<int64_t>(), {}};
  if (j.contains("fill"))
    s.values.assign(static_cast<size_t>(Shape(s.shape).count()), j["fill"].get<int32_t>());
  else
    s.values = j.at("data").get<std::vector<int32_t>>();
  return s;
}

/// Whether every element is within the bits that its tensor promises: a model file holds nothing else.
bool keeps_promises(const std::vector<Stored>& tensors) {
  for (const Stored& s : tensors)
    for (int64_t x : s.values)
      if (s.bits < 1 || s.bits > 32 || std::abs(x) > (int64_t{1} << (s.bits - 1)) - 1) return false;
  return true;
}

/// The case as a model: input 0 is `data`, the others are parameters.
Result<ir::Graph> as_model(const std::string& op, const Json& c, const std::vector<Stored>& inputs) {
  Symbol s;
  Ints precision, row_ptr, arg_nodes;
  std::vector<Param> params;
  SymbolNode node{"y", op, {}};
  const auto entry = [&](const Ints& shape, int64_t bits) {
    s.storage_ids.push_back(static_cast<int64_t>(s.shapes.size()));
    s.shapes.push_back(shape);
    precision.push_back(bits);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = i == 0 ? "data" : "x" + std::to_string(i);
    s.nodes.push_back({name, "", {}});
    s.op_attrs.emplace_back("{}");
    node.inputs.push_back({static_cast<int64_t>(i), 0});
    row_ptr.push_back(static_cast<int64_t>(i)), arg_nodes.push_back(static_cast<int64_t>(i));
    entry(inputs[i].shape, inputs[i].bits);
    if (i > 0) params.push_back({name, Tensor::of(Shape(inputs[i].shape), inputs[i].values)});
  }
  const auto last = static_cast<int64_t>(inputs.size());
  s.nodes.push_back(node);
  s.op_attrs.push_back(c.at("attrs").dump());
  row_ptr.push_back(last);
  for (size_t o = 0; o < c.at("outputs").size(); ++o) {
    s.heads.push_back({last, static_cast<int64_t>(o)});
    entry(c["outputs"][o].at("shape").get<Ints>(), -1);
  }
  row_ptr.push_back(static_cast<int64_t>(s.shapes.size()));
  s.precision = precision, s.node_row_ptr = row_ptr, s.arg_nodes = arg_nodes;
  return read_model(write_symbol(s), write_params(params), nullptr, false);
}

/// What the graph makes of data, against what is stored: the same type, extents and numbers, so the same bytes. ""
/// where all is well.
std::string differs(ir::Graph graph, const Stored& data, const Json& wanted) {
  auto model = compile(std::move(graph));
  if (!model.ok()) return model.error().text();
  const Value in(Tensor::of(Shape(data.shape), data.values));
  auto out = model->session().run(std::span<const Value>(&in, 1));
  if (!out.ok()) return out.error().text();
  if (out->size() != wanted.size()) return "other outputs";
  for (size_t o = 0; o < out->size(); ++o) {
    const Stored want = stored_tensor(wanted[o]);
    const Tensor& got = *(*out)[o].tensor();
    if (got.dtype() != DType::i32 || !(got.shape() == Shape(want.shape)))
      return (*out)[o].text() + " for " + Shape(want.shape).text();
    const std::vector<int64_t> numbers = ints_of(got);
    if (!std::equal(numbers.begin(), numbers.end(), want.values.begin(), want.values.end())) return "other numbers";
  }
  return {};
}

/// Writes the model in another standard's words and reads that. Errors of writing are unsupported.
using Standard = Result<ir::Graph> (*)(ir::Graph graph);

Result<ir::Graph> plain_onnx(ir::Graph graph) {
  NNEX_ASSIGN(const auto written, to_onnx(graph, {{}, false, {}}));
  return read_model_bytes(written.model.text(), {});
}

Result<ir::Graph> custom_nnef(ir::Graph graph) {
  NNEX_ASSIGN(const auto written, to_nnef(graph, {"net", true}));
  return nnef_format::read_nnef(nnef_format::container_of(written), {});
}

/// Through another standard and back to CVM. Where a conversion is refused, `refused` is the step.
std::string there_and_back(Standard stop, const ir::Graph& graph, const Stored& data, const Json& wanted,
                           std::string& refused) {
  auto read = stop(ir::Graph(graph));
  if (!read.ok() && read.error().code() == Code::unsupported) return refused = "there", std::string();
  if (!read.ok()) return read.error().text();
  if (std::string wrong = differs(ir::Graph(*read), data, wanted); !wrong.empty()) return "there: " + wrong;
  auto back = to_cvm(*read);
  if (!back.ok()) return refused = "back to CVM: " + back.error().text(), std::string();
  auto again = read_model(back->symbol, back->params, nullptr, false);
  if (!again.ok()) return "written back: " + again.error().text();
  const std::string wrong = differs(std::move(*again), data, wanted);
  return wrong.empty() ? wrong : "back in CVM: " + wrong;
}

/// f(operator, case, inputs) of every stored case that the standard's formulas answer and that a model can hold.
template <class F>
void for_each_case(F f) {
  for (const auto& entry : std::filesystem::directory_iterator(stored::shared() / "conformance/cvm")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path());
    const Json file = Json::parse(in, nullptr, false);
    ASSERT_TRUE(file.is_object()) << entry.path();
    for (const Json& c : file.at("cases")) {
      if (c.at("expect") != "ok" || !c.value("normative", true)) continue;  // those are another runtime's own
      std::vector<Stored> inputs;
      for (const Json& j : c.at("inputs")) inputs.push_back(stored_tensor(j));
      if (keeps_promises(inputs)) f(file.at("op").get<std::string>(), c, inputs);
    }
  }
}

/// Every case through `stop`; `unsaid`: rows that it cannot say, all or some of them.
void sweep(Standard stop, const std::vector<std::string>& unsaid) {
  std::map<std::string, int> said, refused, seen;
  for_each_case([&](const std::string& op, const Json& c, const std::vector<Stored>& inputs) {
    if (seen[op]++ % test::share() != 0) return;
    SCOPED_TRACE(c.at("id").get<std::string>());
    auto graph = as_model(op, c, inputs);
    if (!graph.ok()) return;  // what no model can have: `nnex conform cvm` says why
    std::string why;
    EXPECT_EQ(there_and_back(stop, *graph, inputs[0], c.at("outputs"), why), "");
    ++(why.empty() ? said : refused)[why.empty() ? op : op + ", " + why];
  });
  for (const auto& [what, count] : refused)
    EXPECT_TRUE(std::find(unsaid.begin(), unsaid.end(), what) != unsaid.end()) << what << ": " << count << " cases";
  if (test::share() == 1) {
    EXPECT_GE(said.size(), 36U);
  }
  for (const auto& [op, count] : said) ::testing::Test::RecordProperty(op, count);
}

TEST(CvmSweep, EveryStoredOperatorThroughPlainOnnx) {
  if (!std::filesystem::exists(stored::shared() / "conformance/cvm")) GTEST_SKIP() << "the stored cases are not there";
  sweep(plain_onnx, {"non_max_suppression, there"});
}

TEST(CvmSweep, EveryStoredOperatorThroughNnef) {
  if (!std::filesystem::exists(stored::shared() / "conformance/cvm")) GTEST_SKIP() << "the stored cases are not there";
  sweep(custom_nnef, {});
}

}  // namespace
}  // namespace nnex
