// Loading CVM models: what is read, refused and by whose fault, what an inference costs, what is written back.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "api/export.h"
#include "base/mapped_file.h"
#include "cvm_model.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "standards/cvm/signatures.h"
#include "standards/cvm/write.h"

namespace nnex {
namespace {

using namespace cvm_model;
using Numbers = std::vector<int32_t>;

Numbers outputs_of(ir::Graph graph, const Numbers& data) {
  auto model = compile(std::move(graph));
  EXPECT_TRUE(model.ok()) << model.error().text();
  const std::vector<Value> in = {Tensor::of(Shape(model->inputs()[0].extents), data)};
  auto out = model->session().run(in);
  EXPECT_TRUE(out.ok()) << out.error().text();
  auto y = (*out)[0].tensor()->as<int32_t>();
  return {y.begin(), y.end()};
}

TEST(CvmLoad, ReadsAndRuns) {
  const Loaded l = load(base_symbol());
  EXPECT_EQ(l.error, "");
  EXPECT_EQ(l.gas, 219);
  auto graph = read_model(write_symbol(base_symbol()), write_params(base_params()), nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(outputs_of(std::move(graph).value(), {16, 16, 16, -16, 8, 100}), (Numbers{1, 2, 3, 0, 1, 19}));
}

/// The runtime clamps its input to the promise of `data`: -128 counts as -127.
TEST(CvmLoad, InputIsClamped) {
  Symbol s = base_symbol();
  s.heads = {{0, 0}};
  auto graph = read_model(write_symbol(s), write_params(base_params()), nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(outputs_of(std::move(graph).value(), {-128, 127, 5000, INT32_MIN, 0, -1}),
            (Numbers{-127, 127, 127, -127, 0, -1}));
}

TEST(CvmLoad, SymbolFaults) {
  const struct {
    const char* name;
    std::function<void(Symbol&)> change;
    Blame symbol, all;
  } rows[] = {
      {"newer version derives its lists",
       [](Symbol& s) { s.version = "cvm_1.1.0", s.arg_nodes = Ints{7}, s.node_row_ptr = Ints{}; }, Blame::none,
       Blame::none},
      {"unknown version", [](Symbol& s) { s.version = "cvm_2.0.0"; }, Blame::runtime, Blame::runtime},
      {"unknown postprocess", [](Symbol& s) { s.postprocess = "softmax"; }, Blame::runtime, Blame::runtime},
      {"wrong arg_nodes",
       [](Symbol& s) {
         s.arg_nodes = Ints{0, 1};
       },
       Blame::logic, Blame::logic},
      {"wrong node_row_ptr", [](Symbol& s) { s.node_row_ptr->back() = 8; }, Blame::logic, Blame::logic},
      {"wrong dltype", [](Symbol& s) { s.dltypes = Texts(7, "int8"); }, Blame::logic, Blame::logic},
      {"op_attrs too short", [](Symbol& s) { s.op_attrs.pop_back(); }, Blame::logic, Blame::logic},
      {"shape too short", [](Symbol& s) { s.shapes.pop_back(); }, Blame::logic, Blame::logic},
      {"storage_id too short", [](Symbol& s) { s.storage_ids.pop_back(); }, Blame::logic, Blame::logic},
      {"storage_id too long", [](Symbol& s) { s.storage_ids.push_back(9); }, Blame::logic, Blame::logic},
      {"precision too short", [](Symbol& s) { s.precision->pop_back(); }, Blame::logic, Blame::logic},
      {"precision 33", [](Symbol& s) { s.precision->back() = 33; }, Blame::logic, Blame::logic},
      {"variable without precision", [](Symbol& s) { (*s.precision)[1] = -1; }, Blame::logic, Blame::logic},
      {"extent 0", [](Symbol& s) { s.shapes[0][0] = 0; }, Blame::logic, Blame::logic},
      {"extent beyond 2^24", [](Symbol& s) { s.shapes[0][0] = (1 << 24) + 1; }, Blame::logic, Blame::logic},
      {"too many elements",
       [](Symbol& s) {
         s.shapes[0] = {1 << 24, 1 << 24};
       },
       Blame::logic, Blame::logic},
      {"seven axes", [](Symbol& s) { s.shapes[0] = {1, 1, 1, 1, 1, 2, 3}; }, Blame::logic, Blame::logic},
      {"output shape differs",
       [](Symbol& s) {
         s.shapes[6] = {3, 2};
       },
       Blame::logic, Blame::logic},
      {"input node beyond the end", [](Symbol& s) { s.nodes[5].inputs[0].node = 99; }, Blame::logic, Blame::logic},
      {"input node below 0", [](Symbol& s) { s.nodes[5].inputs[0].node = -1; }, Blame::logic, Blame::logic},
      {"input node is itself", [](Symbol& s) { s.nodes[5].inputs[0].node = 5; }, Blame::logic, Blame::logic},
      {"input output 1 of one", [](Symbol& s) { s.nodes[5].inputs[0].output = 1; }, Blame::logic, Blame::logic},
      {"head beyond the end", [](Symbol& s) { s.heads[0].node = 7; }, Blame::logic, Blame::logic},
      {"head output below 0", [](Symbol& s) { s.heads[0].output = -1; }, Blame::logic, Blame::logic},
      {"no heads", [](Symbol& s) { s.heads.clear(); }, Blame::none, Blame::logic},
      {"no data", [](Symbol& s) { s.nodes[0].name = "input"; }, Blame::none, Blame::runtime},
      {"two variables of one name", [](Symbol& s) { s.nodes[2].name = "w"; }, Blame::runtime, Blame::runtime},
      {"operator named like a variable", [](Symbol& s) { s.nodes[5].name = "w"; }, Blame::none, Blame::none},
      {"numbered operator", [](Symbol& s) { s.nodes[5].op = "relu_12"; }, Blame::none, Blame::none},
      {"unknown operator", [](Symbol& s) { s.nodes[5].op = "relu12"; }, Blame::runtime, Blame::runtime},
      {"wrong number of inputs",
       [](Symbol& s) {
         s.nodes[5].inputs.push_back({0, 0});
       },
       Blame::logic, Blame::logic},
      {"attribute of an operator without", [](Symbol& s) { s.op_attrs[5] = R"({"a": "1"})"; }, Blame::logic,
       Blame::logic},
      {"attribute that is no text", [](Symbol& s) { s.op_attrs[6] = R"({"precision": 8, "shift_bit": "4"})"; },
       Blame::runtime, Blame::runtime},
      {"text of a variable is not read", [](Symbol& s) { s.op_attrs[0] = "}{"; }, Blame::none, Blame::none},
      {"negative storage", [](Symbol& s) { s.storage_ids[3] = -1; }, Blame::logic, Blame::logic},
      {"in place where it is allowed", [](Symbol& s) { s.storage_ids[5] = 4; }, Blame::none, Blame::none},
      {"in place where it is not", [](Symbol& s) { s.storage_ids[3] = 0; }, Blame::logic, Blame::logic},
      {"storage of what is done with", [](Symbol& s) { s.storage_ids[5] = 3; }, Blame::none, Blame::none},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Symbol s = base_symbol();
    row.change(s);
    const Loaded l = load(s);
    EXPECT_EQ(l.symbol, row.symbol) << l.error;
    EXPECT_EQ(l.all, row.all) << l.error;
  }
}

/// Upstream reads the list before it makes it; here it follows from the nodes.
TEST(CvmLoad, RowsOfNodesAreDerived) {
  std::string symbol = write_symbol(base_symbol());
  const size_t begin = symbol.find("\"node_row_ptr\""), end = symbol.find("],", begin) + 2;
  ASSERT_NE(begin, std::string::npos);
  symbol.erase(begin, end - begin);
  auto graph = read_model(symbol, write_params(base_params()), nullptr, false);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
}

/// Upstream runs these, and answers differently from one call to the next.
TEST(CvmLoad, FaultsSayWhatIsNeeded) {
  const auto said = [](const std::function<void(Symbol&)>& change) {
    Symbol s = base_symbol();
    change(s);
    return load(s).error;
  };
  const auto has = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(said([](Symbol& s) { s.dltypes = Texts(7, "int32"), (*s.dltypes)[2] = "int8"; }),
      "dltype of entry 2 is 'int8'; needed int32");
  has(said([](Symbol& s) { s.dltypes = Texts(6, "int32"); }),
      "dltype has 6 texts for 7 entries; needed int32 for each");
  has(said([](Symbol& s) { s.nodes.back().op += "s"; }), " (did you mean '");
}

TEST(CvmLoad, UnsafeStorageIsRefused) {
  const auto with_storage = [](size_t entry, int64_t id) {
    Symbol s = base_symbol();
    s.storage_ids[entry] = id;
    return s;
  };
  EXPECT_EQ(load(with_storage(3, 2)).all, Blame::logic) << "a parameter still to be read";
  EXPECT_EQ(load(with_storage(4, 1)).all, Blame::logic) << "a parameter the next run needs";
  EXPECT_EQ(load(with_storage(2, 1)).all, Blame::logic) << "two parameters";
  EXPECT_EQ(load(with_storage(4, 0)).all, Blame::none) << "the input, once it is read";
  EXPECT_EQ(load(with_storage(3, 2), true).all, Blame::none) << "upstream's rule";
  Symbol live = base_symbol();
  live.nodes[6].inputs[0] = {3, 0};
  live.storage_ids[4] = live.storage_ids[5] = 3;
  EXPECT_EQ(load(live).all, Blame::logic) << "a value still to be read";
}

/// A model is run more than once, parameters are loaded before the first run, and a node writes all its outputs.
TEST(CvmLoad, StorageIsHeldFromTheWriteToTheLastRead) {
  Symbol s;
  s.nodes = {{"data", "", {}},
             {"n", "negative", {{0, 0}}},
             {"m", "negative", {{1, 0}}},
             {"w", "", {}},
             {"a", "broadcast_add", {{2, 0}, {3, 0}}},
             {"g", "get_valid_counts", {{4, 0}}},
             {"r", "relu", {{5, 1}}}};
  s.heads = {{6, 0}};
  s.shapes = {{1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {1}, {1, 2, 2}, {1, 2, 2}};
  s.storage_ids = {0, 1, 2, 3, 4, 5, 6, 7};
  s.precision = Ints{8, -1, -1, 8, -1, -1, -1, -1};
  s.arg_nodes = Ints{0, 3};
  s.node_row_ptr = Ints{0, 1, 2, 3, 4, 5, 7, 8};
  s.op_attrs = Texts(7, "{}");
  const std::string params = write_params({{"w", Tensor::of<int8_t>(Shape{1, 2, 2}, {1, 2, 3, 4})}});
  const struct {
    const char* name;
    std::vector<std::pair<size_t, int64_t>> storage;
    const char* says;  // empty: safe
  } rows[] = {
      {"an output where a parameter of a later node lies", {{1, 3}}, "node 3 'w' (variable) always"},
      {"the input where a parameter lies", {{3, 0}}, "written to node 1, which reads it last"},
      {"an output unread beside its read one", {{5, 6}}, "at its node, which writes it unread"},
      {"an output unread over what is live", {{5, 4}}, "cannot write its output over its input"},
      {"an output unread over a parameter", {{5, 3}}, "always"},
      {"what is dead by then", {{4, 1}, {6, 0}, {7, 4}}, ""},
      {"the last output over its own input", {{7, 6}}, ""},
      {"the unread output's, later", {{7, 5}}, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    Symbol planned = s;
    for (const auto& [entry, id] : row.storage) planned.storage_ids[entry] = id;
    const Loaded l = load(write_symbol(planned), params);
    EXPECT_EQ(l.all, *row.says ? Blame::logic : Blame::none) << l.error;
    EXPECT_NE(l.error.find(row.says), std::string::npos) << l.error;
  }
  Symbol head = s;
  head.heads.push_back({1, 0}), head.storage_ids[4] = 1;
  EXPECT_NE(load(write_symbol(head), params).error.find("to the end, being a head"), std::string::npos);
  Symbol late = s;  // the input's variable stands behind a node that writes its storage
  std::swap(late.nodes[0], late.nodes[3]), late.nodes[1].inputs = {{0, 0}}, late.nodes[4].inputs = {{2, 0}, {3, 0}};
  EXPECT_EQ(load(write_symbol(late), params).all, Blame::none);
  late.storage_ids[1] = 3;
  EXPECT_NE(load(write_symbol(late), params).error.find("before the first node"), std::string::npos);
}

/// Two files make a model: a fault says in which it is.
TEST(CvmLoad, FaultsSayWhichFile) {
  const std::string symbol = write_symbol(base_symbol()), params = write_params(base_params());
  const auto fault = [](const std::string& s, const std::string& p) {
    auto graph = read_model(s, p, nullptr, false);
    return graph.ok() ? std::string("none") : graph.error().text();
  };
  EXPECT_EQ(fault(symbol, params), "none");
  for (const std::string& s : {std::string("x"), symbol.substr(0, 40), std::string("{}")})
    EXPECT_NE(fault(s, params).find("while reading the symbol file"), std::string::npos) << fault(s, params);
  EXPECT_NE(fault(symbol, "x").find("while reading the params file"), std::string::npos) << fault(symbol, "x");
}

TEST(CvmLoad, AttributesSayTheirRange) {
  const auto fault = [](const char* op, const TextMap& texts) {
    auto read = read_attributes(*find_signature(op), texts);
    return read.ok() ? std::string("none") : read.error().text();
  };
  EXPECT_EQ(fault("dense", {{"units", "0"}}),
            "dense: attribute 'units': found '0'; needed an integer of 1 to 2147483647");
  EXPECT_EQ(fault("expand_dims", {{"axis", "0"}, {"num_newaxis", "0"}}),
            "expand_dims: attribute 'num_newaxis': found '0'; needed an integer of 1 to 2147483647");
  EXPECT_EQ(fault("repeat", {{"repeats", "x"}}), "repeat: attribute 'repeats': found 'x'; needed a 32-bit integer");
}

/// A text below its range is a runtime error, a number above one a logic error; of shapes, only those that the weights
/// are given are runtime errors.
TEST(CvmLoad, OperatorsHaveTheirClass) {
  const TextMap conv = {{"channels", "2"}, {"kernel_size", "(1, 1)"}}, dense = {{"units", "2"}};
  const Ints image = {1, 3, 4, 4}, filter = {2, 3, 1, 1};
  const struct {
    const char* op;
    TextMap attrs;
    std::vector<Ints> inputs;
    Blame blame;
  } rows[] = {
      {"conv2d", conv, {image, filter, {2}}, Blame::none},
      {"conv2d", conv, {image, filter, {3}}, Blame::runtime},
      {"conv2d", conv, {image, filter, {1, 2}}, Blame::runtime},
      {"conv2d", conv, {image, {2, 4, 1, 1}, {2}}, Blame::logic},
      {"conv2d", conv, {image, {2, 4, 1, 1}, {3}}, Blame::runtime},
      {"dense", dense, {{1, 4}, {2, 4}, {2}}, Blame::none},
      {"dense", dense, {{1, 4}, {2, 4}, {3}}, Blame::runtime},
      {"dense", dense, {{1, 4}, {2, 5}, {2}}, Blame::runtime},
      {"expand_dims", {{"axis", "0"}, {"num_newaxis", "2"}}, {{3}}, Blame::none},
      {"expand_dims", {{"axis", "0"}, {"num_newaxis", "6"}}, {{3}}, Blame::logic},
      {"expand_dims", {{"axis", "0"}, {"num_newaxis", "4097"}}, {{3}}, Blame::logic},
      {"expand_dims", {{"axis", "0"}, {"num_newaxis", "2147483647"}}, {{3}}, Blame::logic},
      {"expand_dims", {{"axis", "0"}, {"num_newaxis", "2147483648"}}, {{3}}, Blame::runtime},
      {"expand_dims", {{"axis", "0"}, {"num_newaxis", "0"}}, {{3}}, Blame::runtime},
  };
  for (const auto& row : rows) {
    ir::Graph graph;
    Importer importer(graph, false);
    std::vector<ValueId> in;
    for (const Ints& extents : row.inputs) in.push_back(importer.variable(fmt::format("v{}", in.size()), extents, 8));
    auto out = importer.add(row.op, row.attrs, in, "y", {});
    EXPECT_EQ(out.ok() ? Blame::none : blame(out.error()), row.blame)
        << row.op << ": " << (out.ok() ? "accepted" : out.error().text());
  }
}

/// A tensor of the name `data` is what a run without input starts from.
TEST(CvmLoad, InitialInputIsKept) {
  std::vector<Param> params = base_params();
  params.push_back({"data", Tensor::of<int8_t>(Shape{2, 3}, {16, 16, 16, -16, 8, 100})});
  const std::string symbol = write_symbol(base_symbol());
  auto without = read_model(symbol, write_params(base_params()), nullptr, false);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(initial_input(*without), nullptr);
  auto graph = read_model(symbol, write_params(params), nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto written = write_model(*graph);
  ASSERT_TRUE(written.ok()) << written.error().text();
  auto back = read_model(written->symbol, written->params, nullptr, false);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(model_info(*back)->gas, 219);
  auto model = compile(std::move(*back));
  ASSERT_TRUE(model.ok());
  const Tensor* initial = initial_input(graph_of(*model));
  ASSERT_NE(initial, nullptr);
  const auto x = initial->as<int32_t>();
  EXPECT_EQ(Numbers(x.begin(), x.end()), (Numbers{16, 16, 16, -16, 8, 100}));
}

/// The symbol file alone has gas, operators and shapes; its parameters are numbers within their bits.
TEST(CvmLoad, SymbolAlone) {
  const std::string symbol = write_symbol(base_symbol());
  auto graph = read_seeded(symbol, 1, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(model_info(*graph)->gas, 219);
  auto again = read_seeded(symbol, 1, false);
  const Numbers x{16, 16, 16, -16, 8, 100};
  EXPECT_EQ(outputs_of(std::move(*graph), x), outputs_of(std::move(*again), x));
  Symbol large = base_symbol();
  large.shapes[2] = {1 << 10, 1 << 20};
  auto refused = read_seeded(write_symbol(large), 1, false);
  EXPECT_FALSE(refused.ok());
}

TEST(CvmLoad, ManyHeadsOfOneNode) {
  Symbol s = base_symbol();
  s.heads = std::vector<Entry>(100000, Entry{6, 0});
  auto graph = read_model(write_symbol(s), write_params(base_params()), nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(graph->outputs().size(), 100000U);
}

TEST(CvmLoad, TextFaults) {
  const std::string good = write_symbol(base_symbol()), params = write_params(base_params());
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string s = good;
    const size_t at = s.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return s.replace(at, from.size(), to);
  };
  const struct {
    const char* name;
    std::string text;
    Blame blame;
  } rows[] = {
      {"text behind", good + "} trailing", Blame::none},
      {"no JSON", "hello", Blame::runtime},
      {"empty", "", Blame::runtime},
      {"cut short", good.substr(0, good.size() - 1), Blame::runtime},
      {"unknown key", replaced("\"heads\"", "\"head\""), Blame::runtime},
      {"repeated key", replaced("\"heads\"", "\"heads\":[],\"heads\""), Blame::runtime},
      {"fraction", replaced("[[6,0,0]]", "[[6.0,0,0]]"), Blame::runtime},
      {"integer beyond 64 bits", replaced("[[6,0,0]]", "[[18446744073709551615,0,0]]"), Blame::runtime},
      {"four fields", replaced("[[6,0,0]]", "[[6,0,0,0]]"), Blame::logic},
      {"two fields", replaced("[[6,0,0]]", "[[6,0]]"), Blame::none},
      {"unicode escape", replaced("\"data\"", "\"d\\u0061ta\""), Blame::runtime},
      {"wrong type name", replaced("list_shape", "list_int"), Blame::logic},
      {"another kind of node", replaced("\"op\":\"null\"", "\"op\":\"tvm_op\""), Blame::logic},
      {"device_index",
       replaced("\"attrs\":{\"op_attrs\"", "\"attrs\":{\"device_index\":[\"list_int\",[1]],\"op_attrs\""),
       Blame::logic},
      {"empty device_index",
       replaced("\"attrs\":{\"op_attrs\"", "\"attrs\":{\"device_index\":[\"list_int\",[]],\"op_attrs\""), Blame::none},
      {"deep", replaced("[[6,0,0]]", std::string(100, '[') + std::string(100, ']')), Blame::runtime},
      {"wide", "{" + std::string(100000, ',') + "}", Blame::runtime},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Loaded l = load(row.text, params);
    EXPECT_EQ(l.all, row.blame) << l.error;
  }
}

TEST(CvmLoad, ParamsFaults) {
  const std::string symbol = write_symbol(base_symbol()), good = write_params(base_params());
  const auto with = [](std::vector<Param> params) { return write_params(params); };
  const auto poked = [&](size_t at, int value) {
    std::string s = good;
    s[at] = static_cast<char>(value);
    return s;
  };
  const size_t first_tensor = 8 + 8 + 8 + (8 + 1) * 2 + 8;
  std::vector<Param> extra = base_params(), twice = base_params(), data = base_params(), low = base_params(),
                     shape = base_params(), high = base_params(), named;
  extra.push_back({"q", Tensor::of<int8_t>(Shape{1}, {1})});
  twice.insert(twice.begin(), {"w", Tensor::of<int8_t>(Shape{3}, {9, 9, 9})});
  data.push_back({"data", Tensor::of<int8_t>(Shape{2, 3}, {1, 2, 3, 4, 5, 6})});
  low[0].tensor = Tensor::of<int8_t>(Shape{3}, {1, -128, 3});
  high[1].tensor = Tensor::of<int32_t>(Shape{2, 3}, {0, 1, 2, 3, 4, 32768});
  shape[0].tensor = Tensor::of<int8_t>(Shape{1, 3}, {1, 2, 3});
  named = shape;
  named.insert(named.begin(), {"q", Tensor::of<int8_t>(Shape{1}, {1})});
  const struct {
    const char* name;
    std::string bytes;
    Blame blame;
  } rows[] = {
      {"empty", "", Blame::logic},
      {"list header", poked(0, 0), Blame::logic},
      {"reserved bytes", poked(9, 5), Blame::none},
      {"very many names", poked(22, 127), Blame::logic},
      {"tensor header", poked(first_tensor, 0), Blame::runtime},
      {"device", poked(first_tensor + 16, 2), Blame::none},
      {"element code", poked(first_tensor + 28, 1), Blame::logic},
      {"16 bits in as many bytes", poked(first_tensor + 29, 16), Blame::runtime},
      {"24 bits", poked(first_tensor + 29, 24), Blame::runtime},
      {"no lanes", poked(first_tensor + 30, 0), Blame::runtime},
      {"two lanes", poked(first_tensor + 30, 2), Blame::logic},
      {"declared size", poked(first_tensor + 40, 7), Blame::runtime},
      {"cut inside the first header", good.substr(0, first_tensor + 20), Blame::runtime},
      {"cut inside the first extent", good.substr(0, first_tensor + 36), Blame::runtime},
      {"cut inside the names", good.substr(0, first_tensor - 10), Blame::logic},
      {"fewer axes than none", poked(first_tensor + 27, 255), Blame::logic},
      {"very many axes", poked(first_tensor + 27, 1), Blame::runtime},
      {"another extent", poked(first_tensor + 32, 2), Blame::runtime},
      {"no extent", poked(first_tensor + 32, 0), Blame::runtime},
      {"negative extent", poked(first_tensor + 39, 255), Blame::runtime},
      {"cut short", good.substr(0, good.size() - 1), Blame::runtime},
      {"a wrong shape before a file that ends", with(shape).substr(0, with(shape).size() - 30), Blame::logic},
      {"an unknown name before a wrong shape", with(named), Blame::runtime},
      {"bytes behind", good + "x", Blame::none},
      {"unknown name", with(extra), Blame::runtime},
      {"missing", with({base_params()[0]}), Blame::logic},
      {"name twice", with(twice), Blame::none},
      {"data too", with(data), Blame::none},
      {"-128 in 8 bits", with(low), Blame::logic},
      {"beyond 16 bits", with(high), Blame::logic},
      {"another rank", with(shape), Blame::logic},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const Loaded l = load(symbol, row.bytes);
    EXPECT_EQ(l.all, row.blame) << l.error;
  }
}

TEST(CvmLoad, OutputBytes) {
  const Tensor a = Tensor::of<int32_t>(Shape{2, 2}, {1, 2, 3, 4}), b = Tensor::of<int32_t>(Shape{2, 1}, {5, -6});
  CvmProvenance info;
  info.head_bits = {8, 8};
  const std::vector<Tensor> both = {a, b}, first = {a};
  EXPECT_EQ(*output_bytes(info, both), std::string("\x01\x02\x05\x03\x04\xfa", 6));
  info.head_bits = {8, 9};
  EXPECT_EQ(output_bytes(info, both)->size(), 24u);
  info.postprocess = "argmax";  // the low byte as a signed number, every row
  const std::vector<Tensor> scores = {Tensor::of<int32_t>(Shape{2, 3}, {1, 128, 2, 7, 9, 9})};
  EXPECT_EQ(*output_bytes(info, scores), std::string("\x02\0\0\0\x01\0\0\0", 8));
  // Upstream counts the rows of the last two axes alone and writes beyond what it said.
  const std::vector<Tensor> batches = {Tensor::of<int32_t>(Shape{2, 1, 2}, {1, 2, 3, 4}),
                                       Tensor::of<int32_t>(Shape{2, 1, 1}, {5, 6})};
  info.postprocess = "detection";
  EXPECT_EQ(*output_bytes(info, batches), std::string("\1\0\0\0\2\0\0\0\5\0\0\0\3\0\0\0\4\0\0\0\6\0\0\0", 24));
  const std::vector<Tensor> uneven = {a, Tensor::of<int32_t>(Shape{3, 1}, {1, 2, 3})};
  EXPECT_FALSE(output_bytes(info, uneven).ok());
}

TEST(CvmWrite, WrittenReadsBackTheSame) {
  const std::string symbol = write_symbol(base_symbol()), params = write_params(base_params());
  auto graph = read_model(symbol, params, nullptr, false);
  ASSERT_TRUE(graph.ok());
  auto first = write_model(*graph);
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_EQ(first->params, params);
  auto back = read_model(first->symbol, first->params, nullptr, false);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(model_info(*back)->gas, 219);
  auto second = write_model(*back);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->symbol, first->symbol);
  EXPECT_EQ(outputs_of(std::move(back).value(), {16, 16, 16, -16, 8, 100}), (Numbers{1, 2, 3, 0, 1, 19}));
}

/// A filter of bytes is read as bytes, runs, and is written as it was.
TEST(CvmWrite, FiltersStayBytes) {
  Symbol s;
  s.nodes = {{"data", "", {}}, {"w", "", {}}, {"d", "dense", {{0, 0}, {1, 0}}}, {"y", "cvm_right_shift", {{2, 0}}}};
  s.heads = {{3, 0}};
  s.arg_nodes = Ints{0, 1};
  s.node_row_ptr = Ints{0, 1, 2, 3, 4};
  s.shapes = {{1, 64}, {32, 64}, {1, 32}, {1, 32}};
  s.storage_ids = {0, 1, 2, 3};
  s.precision = Ints{8, 8, -1, -1};
  s.op_attrs = {"", "", R"({"units": "32", "use_bias": "False"})", R"({"precision": "8", "shift_bit": "7"})"};
  std::vector<int8_t> w(32 * 64);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127);
  const std::string params = write_params({{"w", Tensor::of(Shape{32, 64}, w)}});
  auto graph = read_model(write_symbol(s), params, nullptr, false);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (uint32_t v = 0; v < graph->value_count(); ++v) {
    const Tensor* t = (*graph)[ValueId{v}].constant.tensor();
    EXPECT_FALSE(t && t->dtype() == DType::i32 && t->count() > 1000) << "four times its bytes";
  }
  auto written = write_model(*graph);
  ASSERT_TRUE(written.ok()) << written.error().text();
  EXPECT_EQ(written->params, params);
  auto again = read_symbol(written->symbol);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->nodes.size(), 4U);
  Numbers x(64), expected(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * 11 % 200) - 100;
  for (size_t n = 0; n < expected.size(); ++n) {
    int64_t sum = 0;
    for (size_t k = 0; k < x.size(); ++k) sum += x[k] * w[n * 64 + k];
    expected[n] = static_cast<int32_t>(std::clamp<int64_t>(((sum >> 6) + 1) >> 1, -127, 127));
  }
  EXPECT_EQ(outputs_of(std::move(graph).value(), x), expected);
}

/// Names, bits, widths and order of parameters stay; so do those that nobody reads, and a parameter that is a head.
TEST(CvmWrite, ParametersStayAsTheyWere) {
  Symbol s;
  s.nodes = {{"u", "", {}},
             {"data", "", {}},
             {"w", "", {}},
             {"h", "", {}},
             {"y", "broadcast_max", {{1, 0}, {2, 0}}},
             {"unread", "negative", {{4, 0}}}};
  s.heads = {{4, 0}, {3, 0}};
  s.arg_nodes = Ints{0, 1, 2, 3};
  s.node_row_ptr = Ints{0, 1, 2, 3, 4, 5, 6};
  s.storage_ids = {0, 1, 2, 3, 4, 5};
  s.op_attrs = Texts(6, "{}");
  for (const int64_t n : {int64_t{4}, int64_t{2048}}) {
    SCOPED_TRACE(n);
    s.shapes = std::vector<Ints>(6, Ints{1, n});
    s.precision = Ints{8, 8, 16, 5, -1, -1};
    const std::vector<int8_t> bytes(static_cast<size_t>(n), 1);
    const std::vector<int32_t> words(static_cast<size_t>(n), 1);
    const std::string params = write_params({{"u", Tensor::of(Shape{1, n}, words)},
                                             {"w", Tensor::of(Shape{1, n}, bytes)},
                                             {"h", Tensor::of(Shape{1, n}, bytes)}});
    auto graph = read_model(write_symbol(s), params, nullptr, false);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    const CvmProvenance before = *model_info(*graph);
    auto written = to_cvm(*graph);
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_EQ(written->params, params);
    auto symbol = read_symbol(written->symbol);
    ASSERT_TRUE(symbol.ok());
    ASSERT_EQ(symbol->nodes.size(), s.nodes.size());
    for (size_t i = 0; i < s.nodes.size(); ++i) EXPECT_EQ(symbol->nodes[i].name, s.nodes[i].name);
    EXPECT_EQ(*symbol->precision, (Ints{8, 8, 16, 5, 16, 16}));
    auto back = read_model(written->symbol, written->params, nullptr, false);
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(model_info(*back)->gas, before.gas);
    EXPECT_EQ(model_info(*back)->head_bits, before.head_bits);
  }
}

TEST(CvmWrite, WhatCvmLacksIsRefused) {
  ir::Graph graph;
  const ValueId x = graph.add_param(kMain, "x", Type::tensor(DType::f32, Dims{Dim(2)}));
  Builder b(graph, kMain);
  graph.set_results(kMain, {b("relu", {x})});
  Faults faults;
  infer_types(graph, faults);
  auto written = write_model(graph);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), Code::unsupported);
}

TEST(CvmFiles, FoldersAndPairs) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "nnex_cvm_files_test";
  fs::remove_all(folder);
  auto graph = read_model(write_symbol(base_symbol()), write_params(base_params()), nullptr, false);
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(save_model(*graph, folder.string()).ok());
  for (const std::string& path : {folder.string(), (folder / "symbol").string(),
                                  (folder / "symbol").string() + "+" + (folder / "params").string()}) {
    auto model = Model::load(path);
    EXPECT_TRUE(model.ok()) << model.error().text();
  }
  fs::remove(folder / "params");
  for (const std::string& path : {folder.string(), (folder / "symbol").string()}) {
    auto model = Model::load(path);
    ASSERT_FALSE(model.ok());
    EXPECT_EQ(model.error().code(), Code::unreadable);
    EXPECT_NE(model.error().text().find("CVM's symbol without its params; looked for"), std::string::npos)
        << model.error().text();
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace nnex
