// Models with one fault each: the code and the words a user gets. Then any prefix and any flipped bit of sound models.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "nnex/check.h"
#include "nnex/load.h"
#include "nnex/model.h"
#include "onnx_bytes.h"
#include "share.h"
#include "source.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;
namespace fs = std::filesystem;

using OnnxGraph = nnex::test::onnx::Graph;

const std::string kX = value("x", {2, 3}), kY = value("y", {2, 3});

/// y = x + w, with the given bytes for w.
std::string with_weight(const std::string& w) { return model({{node("Add", {"x", "w"}, {"y"})}, {kX}, {kY}, {w}}); }
std::string with_nodes(const std::vector<std::string>& nodes) { return model({nodes, {kX}, {kY}}); }

/// If in If in If: `levels` of them around an Identity.
std::string nested_ifs(int levels) {
  OnnxGraph inner{{node("Identity", {"x"}, {"r"})}, {}, {value("r", {2, 3})}};
  for (int i = 0; i < levels; ++i) {
    const std::string branches = attr_graph("then_branch", inner.bytes()) + attr_graph("else_branch", inner.bytes());
    inner = {{node("If", {"c"}, {"r"}, branches)}, {}, {value("r", {2, 3})}};
    if (inner.bytes().size() > (1 << 20)) break;
  }
  inner.nodes.push_back(node("Identity", {"r"}, {"y"}));
  return model({inner.nodes, {kX, value("c", {}, 9)}, {kY}});
}

/// The same depth with one branch nested and one flat, so that the bytes stay few.
std::string deep_ifs(int levels) {
  const std::string flat = OnnxGraph{{node("Identity", {"x"}, {"r"})}, {}, {value("r", {2, 3})}}.bytes();
  std::string inner = flat;
  for (int i = 0; i < levels; ++i)
    inner = OnnxGraph{{node("If", {"c"}, {"r"}, attr_graph("then_branch", inner) + attr_graph("else_branch", flat))},
                      {},
                      {value("r", {2, 3})}}
                .bytes();
  return num(1, 8) +
         msg(7,
             inner + msg(1, node("Identity", {"r"}, {"y"})) + msg(11, kX) + msg(11, value("c", {}, 9)) + msg(12, kY)) +
         opset("", 17);
}

/// The attributes of an If whose first branch takes an input, which no If gives.
std::string taking_branch(const std::string& around = {}) {
  const auto branch = [](const std::string& n, const std::vector<std::string>& inputs) {
    return OnnxGraph{{n}, inputs, {value("r", {2, 3})}}.bytes();
  };
  const std::string fine = branch(node("Neg", {"x"}, {"r"}), {}),
                    takes = branch(node("Relu", {"z"}, {"r"}), {value("z", {2, 3})});
  const std::string own = attr_graph("then_branch", takes) + attr_graph("else_branch", fine);
  if (around.empty()) return own;
  return attr_graph("then_branch", branch(node(around, {"c"}, {"r"}, own), {})) + attr_graph("else_branch", fine);
}
std::string with_if(const std::string& branches) {
  return model({{node("If", {"c"}, {"y"}, branches)}, {kX, value("c", {}, 9)}, {kY}});
}

std::string deep_type(int levels) {
  std::string type = tensor_type({1});
  for (int i = 0; i < levels; ++i) type = msg(4, msg(1, type));
  return model({{node("Identity", {"x"}, {"y"})}, {msg(1, "x") + msg(2, type)}, {kY}});
}

/// Functions f0 ... that each call the next one twice: 2^levels nodes when inlined.
std::string doubling_functions(int levels) {
  std::string functions;
  for (int i = 0; i < levels; ++i) {
    const std::string next = i + 1 < levels ? "f" + std::to_string(i + 1) : "Relu", domain = i + 1 < levels ? "f" : "";
    functions += function("f" + std::to_string(i), {"a"}, {"c"},
                          {node(next, {"a"}, {"b"}, {}, domain), node(next, {"b"}, {"c"}, {}, domain)});
  }
  return model({{node("f0", {"x"}, {"y"}, {}, "f")}, {kX}, {kY}}, opset("f", 1) + functions);
}

struct Row {
  const char* name;
  std::string bytes;
  Code code;
  const char* text;
};

std::vector<Row> wire_rows() {
  const std::string sound = with_nodes({node("Relu", {"x"}, {"y"})});
  return {
      {"no bytes", "", Code::unreadable, "the model is empty"},
      {"another file", "%!PS-1.4\n1 0 obj\x01", Code::invalid_model,
       "not an ONNX model, or cut off: a length runs past the end of the message"},
      {"a text", "%!PS-1.4\n1 0 obj", Code::unreadable, "the model is text, not a model"},
      {"a document", "%PDF-1.4\n1 0 obj", Code::unreadable, "the model is a PDF document, not a model"},
      {"zeros", std::string(100, '\0'), Code::unreadable, "the model is nothing but zeros where models begin"},
      {"cut off", sound.substr(0, 20), Code::invalid_model,
       "not an ONNX model, or cut off: a length runs past the end of the message"},
      {"cut off in a number", num(1, 8) + "\x08", Code::invalid_model,
       "not an ONNX model, or cut off: a number is cut off"},
      {"length of nearly 2^63", num(1, 8) + varint(7 << 3 | 2) + varint(uint64_t{1} << 62) + "abc", Code::invalid_model,
       "not an ONNX model, or cut off: a length runs past the end of the message"},
      {"length past the graph", num(1, 8) + msg(7, varint(1 << 3 | 2) + varint(100)) + opset("", 17),
       Code::invalid_model, "graph '': a length runs past the end of the message"},
      {"number of 11 bytes", "\x08" + std::string(10, '\xff') + "\x01", Code::invalid_model,
       "not an ONNX model, or cut off: a number has more than 64 bits"},
      {"field 0", std::string(2, '\0'), Code::invalid_model,
       "not an ONNX model, or cut off: a field number is out of range"},
      {"group", sound + "\x0b", Code::invalid_model, "not an ONNX model, or cut off: a field has an unknown kind"},
      {"graph is a number", num(1, 8) + num(7, 1) + opset("", 17), Code::invalid_model,
       "not an ONNX model: it has no graph"},
      {"raw data is a number", with_weight(num(1, 2) + num(2, 1) + msg(8, "w") + num(9, 7)), Code::invalid_model,
       "tensor 'w': found 0 bytes; its shape [2] of f32 needs 8"},
  };
}

std::vector<Row> tensor_rows() {
  const std::string six = raw_bytes(std::vector<float>(6)), five = six.substr(4);
  auto typed = [](const std::vector<int64_t>& extents, const std::string& data, int64_t element = kFloat) {
    std::string out;
    for (int64_t e : extents) out += num(1, e);
    return with_weight(out + num(2, element) + msg(8, "w") + data);
  };
  return {
      {"too few raw bytes", with_weight(tensor("w", {2, 3}, five)), Code::invalid_model,
       "tensor 'w': found 20 bytes; its shape [2,3] of f32 needs 24"},
      {"too few numbers", typed({2, 3}, msg(4, five)), Code::invalid_model,
       "tensor 'w': found 5 numbers; its shape [2,3] needs 6"},
      {"too many numbers", typed({2, 3}, msg(4, six + five)), Code::invalid_model,
       "tensor 'w': found 11 numbers; its shape [2,3] needs 6"},
      {"numbers cut off", typed({1}, msg(7, "\xff"), kInt64), Code::invalid_model,
       "tensor 'w': found 0 numbers; its shape [1] needs 1"},
      {"numbers that end inside one", typed({5}, msg(4, five + "ab")), Code::invalid_model,
       "tensor 'w': its numbers are cut off"},
      {"numbers in two pieces, the first of which ends inside one", typed({2}, msg(4, "abcdef") + msg(4, "abcd")),
       Code::invalid_model, "tensor 'w': its numbers are cut off"},
      {"numbers in a wrong field", typed({2}, msg(7, varint(1) + varint(2))), Code::invalid_model,
       "tensor 'w': elements stand in a field of another type"},
      {"raw and typed", typed({1}, msg(9, "abcd") + msg(4, "abcd")), Code::invalid_model,
       "tensor 'w': it has both raw and typed data"},
      {"raw strings", with_weight(tensor("w", {1}, "abc", kString)), Code::invalid_model,
       "tensor 'w': strings cannot be raw"},
      {"too few strings", typed({2}, msg(6, "one"), kString), Code::invalid_model,
       "tensor 'w': found 1 strings; its shape [2] needs 2"},
      {"negative extent", with_weight(tensor("w", {2, -3}, six)), Code::invalid_model,
       "tensor 'w': extent -3 is negative"},
      {"extents overflow", with_weight(tensor("w", {int64_t{1} << 40, int64_t{1} << 40}, six)), Code::invalid_model,
       "tensor 'w': shape [1099511627776,1099511627776] is too large"},
      {"bytes overflow", with_weight(tensor("w", {int64_t{1} << 62}, six)), Code::invalid_model,
       "tensor 'w': shape [4611686018427387904] is too large"},
      {"much memory for few bytes", typed({int64_t{1} << 40}, msg(4, six)), Code::invalid_model,
       "tensor 'w': its data end before the shape [1099511627776] is filled"},
      {"unknown type", with_weight(tensor("w", {2, 3}, six, 99)), Code::invalid_model,
       "tensor 'w': element type 99 is unknown"},
      {"nameless", with_weight(num(1, 6) + num(2, 1) + msg(9, six)), Code::invalid_model, "an initializer has no name"},
      {"external from memory", with_weight(external("w", {2, 3}, {{"location", "w.bin"}})), Code::unreadable,
       "tensor 'w': its data lie in 'w.bin', and no folder is known; needed that file with the model"},
  };
}

std::vector<Row> graph_rows() {
  const std::string w = tensor("w", {2, 3}, raw_bytes(std::vector<float>(6)));
  const std::string relu = node("Relu", {"x"}, {"y"});
  return {
      {"value nobody makes", with_nodes({node("Add", {"x", "z"}, {"y"})}), Code::invalid_model,
       "node 'y' (Add): input 'z' is not made by any node before, nor an input or initializer"},
      {"nodes in a circle", with_nodes({node("Add", {"x", "b"}, {"a"}), node("Add", {"x", "a"}, {"b"})}),
       Code::invalid_model, "node 'a' (Add): input 'b' is made by a node behind it"},
      {"output nobody makes", with_nodes({node("Relu", {"x"}, {"z"})}), Code::invalid_model,
       "output 'y' is made by no node"},
      {"value made twice", with_nodes({relu, relu}), Code::invalid_model, "node 'y' (Relu): value 'y' is made twice"},
      {"node makes an input", with_nodes({node("Relu", {"x"}, {"x"}), relu}), Code::invalid_model,
       "node 'x' (Relu): value 'x' is made twice"},
      {"weight given twice", model({{relu}, {kX}, {kY}, {w, w}}), Code::invalid_model,
       "initializer 'w' is given twice"},
      {"input given twice", model({{relu}, {kX, kX}, {kY}}), Code::invalid_model,
       "input 'x' is nameless or given twice"},
      {"input without a type", model({{relu}, {msg(1, "x")}, {kY}}), Code::invalid_model, "input 'x' has no type"},
      {"attribute given twice", with_nodes({node("Softmax", {"x"}, {"y"}, attr_int("axis", 0) + attr_int("axis", 1))}),
       Code::invalid_model, "node 'y' (Softmax): attribute 'axis' is given twice"},
      {"attribute of another operator", with_nodes({node("GlobalMaxPool", {"x"}, {"y"}, attr_int("strides", 2))}),
       Code::invalid_model, "node 'y' (GlobalMaxPool): GlobalMaxPool: it has no attribute 'strides'"},
      {"node without an operator", with_nodes({msg(1, "x") + msg(2, "y")}), Code::invalid_model,
       "node 'y' (): a node has no operator"},
      {"no opset", num(1, 8) + msg(7, OnnxGraph{{relu}, {kX}, {kY}}.bytes()), Code::invalid_model,
       "node 'y' (Relu): the model imports no opset for the standard domain"},
      {"opset of the future", model({{relu}, {kX}, {kY}}, {}, 99), Code::unsupported,
       "the model imports opset 99 of the standard domain; nnex knows those up to 28"},
      {"opset below 0", model({{relu}, {kX}, {kY}}, {}, -1), Code::invalid_model, "opset version -1 is out of range"},
      {"IR of the future", model({{relu}, {kX}, {kY}}, {}, 17, 99), Code::unsupported,
       "the model has IR version 99; nnex knows those up to 13"},
      {"element types differ", model({{node("Add", {"x", "i"}, {"y"})}, {kX, value("i", {2, 3}, kInt64)}, {kY}}),
       Code::invalid_model, "node 'y' (Add): add: x has elements of type f32, y of type i64; needed one type"},
      {"element type not allowed",
       model({{node("Sqrt", {"i"}, {"y"})}, {value("i", {2}, kString)}, {value("y", {2}, kString)}}),
       Code::invalid_model, "node 'y' (Sqrt): "},
      {"extents differ", model({{node("Add", {"x", "v"}, {"y"})}, {kX, value("v", {4})}, {kY}}), Code::invalid_model,
       "node 'y' (Add): "},
      {"a graph in two parts", with_nodes({relu}) + msg(7, OnnxGraph{{relu}, {kX}, {kY}}.bytes()), Code::invalid_model,
       "the graph comes in two parts"},
      {"a constant of two values",
       with_nodes(
           {node("Constant", {}, {"c"}, attr_int("value_int", 1) + attr_tensor("value", longs("v", {2}))), relu}),
       Code::invalid_model, "node 'c' (Constant): Constant: found 2 values; needed one"},
      {"an index outside", model({{node("Gather", {"x", "i"}, {"y"})}, {kX}, {value("y", {1, 3})}, {longs("i", {2})}}),
       Code::invalid_model, "node 'y' (Gather): gather: index 2 is outside [-2, 2) of axis 0"},
      {"three values for two",
       model({{node("OneHot", {"i", "d", "w"}, {"y"})},
              {value("i", {2}, kInt64)},
              {kY},
              {longs("d", {3}), tensor("w", {3}, raw_bytes(std::vector<float>(3)))}}),
       Code::invalid_model, "node 'y' (OneHot): one_hot: values has 3 elements; needed 2"},
      {"a hidden size of another network",
       model({{node("RNN", {"x", "w", "r"}, {"y"}, attr_int("hidden_size", 3))},
              {value("x", {1, 1, 2})},
              {value("y", {1, 1, 1, 2})},
              {tensor("w", {1, 2, 2}, raw_bytes(std::vector<float>(4))),
               tensor("r", {1, 2, 2}, raw_bytes(std::vector<float>(4)))}}),
       Code::invalid_model, "node 'y' (RNN): RNN: hidden_size is 3; R has 2"},
      {"missing operators",
       model({{node("Fft", {"x"}, {"a"}, msg(3, "first"), "lab"), node("Fft", {"a"}, {"b"}, msg(3, "second"), "lab"),
               node("Nonsense", {"b"}, {"y"})},
              {kX},
              {kY}},
             opset("lab", 1)),
       Code::unsupported,
       "2 operators are missing:\n  Nonsense (node 'y' (Nonsense))\n  lab.Fft (2 nodes, first: node 'first' (Fft))"},
      {"branches too deep", deep_ifs(40), Code::limit, "sub-graphs are nested deeper than 16"},
      {"type too deep", deep_type(100), Code::limit, "a type is nested deeper than 64"},
      {"branch is missing", model({{node("If", {"c"}, {"y"})}, {value("c", {}, 9)}, {kY}}), Code::invalid_model,
       "node 'y' (If): If: attribute 'then_branch' is required"},
      {"a branch with an input", with_if(taking_branch()), Code::invalid_model,
       "node 'y' (If): If: then_branch takes 1 values; it is given 0"},
      {"a branch with an input in a branch", with_if(taking_branch("If")), Code::invalid_model,
       "node 'r' (If): If: then_branch takes 1 values; it is given 0"},
  };
}

std::vector<Row> function_rows() {
  auto call = [](const char* f) { return node(f, {"x"}, {"y"}, {}, "f"); };
  auto calling = [](const char* name, const char* callee) {
    return function(name, {"a"}, {"b"}, {node(callee, {"a"}, {"b"}, {}, "f")});
  };
  auto with = [&](const std::string& functions, const char* first = "g") {
    return model({{call(first)}, {kX}, {kY}}, opset("f", 1) + functions);
  };
  return {
      {"a function calls itself", with(calling("g", "g")), Code::invalid_model, "function 'f:g:' calls itself"},
      {"functions in a circle", with(calling("g", "h") + calling("h", "g")), Code::invalid_model,
       "function 'f:g:' calls itself"},
      {"too many inputs", with(function("g", {}, {"b"}, {node("Relu", {"x"}, {"b"})})), Code::invalid_model,
       "function 'g' takes 0 inputs; it is given 1"},
      {"too few outputs", with(function("g", {"a"}, {}, {})), Code::invalid_model, "function 'g' has 0 outputs"},
      {"a body reads what is not its own", with(function("g", {"a"}, {"b"}, {node("Relu", {"x"}, {"b"})})),
       Code::invalid_model, "input 'x' is not made by any node before"},
      {"defined twice", with(calling("g", "h") + calling("g", "h")), Code::invalid_model,
       "function 'f:g:' is defined twice"},
      {"a branch with an input in a function",
       model({{node("g", {"x", "c"}, {"y"}, {}, "f")}, {kX, value("c", {}, 9)}, {kY}},
             opset("f", 1) + function("g", {"x", "c"}, {"y"}, {node("If", {"c"}, {"y"}, taking_branch("If"))})),
       Code::invalid_model, "(If): If: then_branch takes 1 values; it is given 0"},
      {"doubling", doubling_functions(40), Code::limit, "inlined functions make more than 250000 nodes"},
  };
}

void expect_error(const Row& row, const Result<Model>& loaded) {
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code(), row.code) << name(loaded.error().code());
  EXPECT_NE(loaded.error().text().find(row.text), std::string::npos)
      << loaded.error().text() << "\nneeded: " << row.text;
}

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    expect_error(row, Model::from_bytes(row.bytes));
    const auto report = nnex::check(ModelSource::memory(row.bytes));
    EXPECT_FALSE(report.ok() && report->sound()) << "a check finds nothing";
  }
}

TEST(BrokenOnnx, Wire) { check(wire_rows()); }
TEST(BrokenOnnx, Tensors) { check(tensor_rows()); }
TEST(BrokenOnnx, Graphs) { check(graph_rows()); }
TEST(BrokenOnnx, Functions) { check(function_rows()); }

/// Rules speak of the table's inputs; the author has other names for them.
TEST(BrokenOnnx, FaultsSayWhichOperandsTheyMean) {
  using namespace test::onnx;
  const auto said = [](const std::string& n) {
    const auto loaded = load_model(ModelSource::memory(
        test::onnx::model({{n}, {value("a", {2, 63}), value("w", {64, 5})}, {value("y", {2, 5})}})));
    return loaded.ok() ? std::string() : loaded.error().text();
  };
  const std::string operands = said(node("MatMul", {"a", "w"}, {"y"}));
  EXPECT_NE(operands.find("(x: 'a' f32[2,63], y: 'w' f32[64,5])"), std::string::npos) << operands;
  const std::string one = said(node("Softmax", {"a"}, {"y"}, attr_int("axis", 7)));
  EXPECT_NE(one.find("(x: 'a' f32[2,63])"), std::string::npos) << one;
}

/// A byte that is neither 0 nor 1 is true, with one set of bytes whether or not it is looked at before a run.
TEST(BrokenOnnx, TruthsThatAreOtherBytes) {
  const std::string bytes = model({{node("Identity", {"w"}, {"y"})},
                                   {},
                                   {value("y", {4}, 9)},
                                   {tensor("w", {4}, std::string("\0\2\1\xff", 4), 9)}});
  for (const bool optimize : {true, false}) {
    LoadOptions options;
    options.optimize = optimize;
    auto loaded = Model::from_bytes(bytes, options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const auto out = loaded->session().run(std::vector<Value>{});
    ASSERT_TRUE(out.ok()) << out.error().text();
    const auto* y = reinterpret_cast<const uint8_t*>((*out)[0].tensor()->data());
    EXPECT_EQ(std::vector<uint8_t>(y, y + 4), (std::vector<uint8_t>{0, 1, 1, 1}));
  }
}

TEST(BrokenOnnx, NestingBelowTheLimitLoads) {
  auto loaded = Model::from_bytes(deep_ifs(10));
  EXPECT_TRUE(loaded.ok()) << loaded.error().text();
  loaded = Model::from_bytes(nested_ifs(6));
  EXPECT_TRUE(loaded.ok()) << loaded.error().text();
  loaded = Model::from_bytes(doubling_functions(8));
  EXPECT_TRUE(loaded.ok()) << loaded.error().text();
}

// ---- External data ----

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("nnex_broken_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_ / "model" / "data");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  fs::path operator/(const char* name) const { return path_ / "model" / name; }

 private:
  fs::path path_;
};

void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

TEST(BrokenOnnx, ExternalData) {
#ifdef __EMSCRIPTEN__
  GTEST_SKIP() << "its files have neither hard links nor pipes";
#endif
  Folder folder;
  const std::string floats = raw_bytes(std::vector<float>{1, 2, 3, 4, 5, 6});
  write(folder / "w.bin", "1234" + floats);
  write(folder / "data/w.bin", floats);
  write(folder / "../outside.bin", floats);
  fs::create_symlink("w.bin", folder / "link.bin");
  fs::create_symlink("data", folder / "linked");
  write(folder / "first.bin", floats);
  fs::create_hard_link(folder / "first.bin", folder / "second.bin");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  auto load = [&](const std::vector<std::pair<std::string, std::string>>& entries) {
    write(folder / "model.onnx", with_weight(external("w", {2, 3}, entries)));
    return Model::load((folder / "model.onnx").string());
  };
  const struct {
    const char* name;
    std::vector<std::pair<std::string, std::string>> entries;
    Code code;
    const char* text;
  } rows[] = {
      {"no location", {}, Code::invalid_model, "external data have no location"},
      {"empty", {{"location", ""}}, Code::invalid_model, "external location '' must be a relative path"},
      {"absolute",
       {{"location", "/etc/passwd"}},
       Code::invalid_model,
       "external location '/etc/passwd' must be a relative path"},
      {"above",
       {{"location", "../outside.bin"}},
       Code::invalid_model,
       "external location '../outside.bin' leaves the model's folder"},
      {"above, from a folder",
       {{"location", "data/../../outside.bin"}},
       Code::invalid_model,
       "external location 'data/../../outside.bin' leaves the model's folder"},
      {"a link to a folder and on",
       {{"location", "data/../linked/w.bin"}},
       Code::unreadable,
       "cannot open external location 'data/../linked/w.bin': a link or no folder on the way"},
      {"the folder", {{"location", "."}}, Code::invalid_model, "external location '.' names no file"},
      {"a folder", {{"location", "data"}}, Code::unreadable, "external location 'data' is no regular file"},
      {"a pipe", {{"location", "pipe"}}, Code::unreadable, "external location 'pipe' is no regular file"},
      {"missing",
       {{"location", "none.bin"}},
       Code::unreadable,
       "cannot open external location 'none.bin': no such file"},
      {"link to a file",
       {{"location", "link.bin"}},
       Code::unreadable,
       "cannot open external location 'link.bin': a link or no folder on the way"},
      {"link to a folder",
       {{"location", "linked/w.bin"}},
       Code::unreadable,
       "cannot open external location 'linked/w.bin': a link or no folder on the way"},
      {"hard link", {{"location", "second.bin"}}, Code::unreadable, "external location 'second.bin' is a hard link"},
      {"offset past the end",
       {{"location", "w.bin"}, {"offset", "29"}},
       Code::invalid_model,
       "external offset 29 is past the 28 bytes of 'w.bin'"},
      {"length past the end",
       {{"location", "w.bin"}, {"offset", "8"}, {"length", "24"}},
       Code::invalid_model,
       "24 bytes of external data from 8 on run past the 28 bytes of 'w.bin'"},
      {"sum overflows",
       {{"location", "w.bin"}, {"offset", "8"}, {"length", "18446744073709551615"}},
       Code::invalid_model,
       "18446744073709551615 bytes of external data from 8 on run past the 28 bytes of 'w.bin'"},
      {"no number", {{"location", "w.bin"}, {"offset", "-4"}}, Code::invalid_model, "external offset '-4' is no size"},
      {"number too large",
       {{"location", "w.bin"}, {"length", "99999999999999999999"}},
       Code::invalid_model,
       "external length '99999999999999999999' is no size"},
      {"too short",
       {{"location", "w.bin"}, {"offset", "4"}, {"length", "20"}},
       Code::invalid_model,
       "tensor 'w': found 20 external bytes; needed 24"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    expect_error({row.name, {}, row.code, row.text}, load(row.entries));
    const auto report = nnex::check((folder / "model.onnx").string());
    ASSERT_TRUE(report.ok()) << report.error().text();
    ASSERT_EQ(report->faults.size(), 1u);
    EXPECT_TRUE(report->faults[0].rule.starts_with("onnx/external-")) << report->faults[0].rule;
    EXPECT_EQ(report->faults[0].where, "initializer 'w'");
  }
  for (const auto& entries : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"location", "w.bin"}, {"offset", "4"}, {"length", "24"}}, {{"location", "./data//w.bin"}}}) {
    auto loaded = load(entries);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    auto out = loaded->session().run(std::vector<Value>{Tensor::of(Shape{2, 3}, std::vector<float>(6, 1))});
    ASSERT_TRUE(out.ok()) << out.error().text();
    const auto y = (*out)[0].tensor()->as<float>();
    EXPECT_EQ(std::vector<float>(y.begin(), y.end()), (std::vector<float>{2, 3, 4, 5, 6, 7}));
  }
}

// ---- Memory ----

TEST(BrokenOnnx, RunsRefuseWhatExceedsTheLimit) {
  LoadOptions options;
  options.memory_limit = int64_t{16} << 20;
  const std::string fill = node("ConstantOfShape", {"s"}, {"y"});
  const struct {
    const char* name;
    std::string bytes;
    std::vector<int64_t> extents;
  } rows[] = {
      {"constant shape", model({{fill}, {value("s", {2}, kInt64)}, {value("y", {-1, -1})}}), {1 << 20, 1 << 20}},
      {"overflowing shape",
       model({{fill}, {value("s", {2}, kInt64)}, {value("y", {-1, -1})}}),
       {int64_t{1} << 40, int64_t{1} << 40}},
      {"range",
       model({{node("Range", {"zero", "s", "one"}, {"y"})},
              {value("s", {}, kInt64)},
              {value("y", {-1}, kInt64)},
              {tensor("zero", {}, raw_bytes(std::vector<int64_t>{0}), kInt64),
               tensor("one", {}, raw_bytes(std::vector<int64_t>{1}), kInt64)}}),
       {int64_t{1} << 40}},
      {"tile",
       model({{node("Tile", {"w", "s"}, {"y"})},
              {value("s", {1}, kInt64)},
              {value("y", {-1})},
              {tensor("w", {1}, raw_bytes(std::vector<float>{1}))}}),
       {int64_t{1} << 40}},
      {"expand",
       model({{node("Expand", {"w", "s"}, {"y"})},
              {value("s", {1}, kInt64)},
              {value("y", {-1})},
              {tensor("w", {1}, raw_bytes(std::vector<float>{1}))}}),
       {int64_t{1} << 40}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    auto loaded = Model::from_bytes(row.bytes, options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const Shape shape = loaded->inputs()[0].extents.empty() ? Shape{} : Shape{static_cast<int64_t>(row.extents.size())};
    auto out = loaded->session().run(std::vector<Value>{Tensor::of(shape, row.extents)});
    ASSERT_FALSE(out.ok());
    EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
  }
}

TEST(BrokenOnnx, ConstantsThatWouldFoldIntoMuchMemory) {
  LoadOptions options;
  options.memory_limit = int64_t{16} << 20;
  auto loaded = Model::from_bytes(
      model({{node("ConstantOfShape", {"s"}, {"y"})}, {}, {value("y", {-1, -1})}, {longs("s", {1 << 20, 1 << 20})}}),
      options);
  if (!loaded.ok()) {
    EXPECT_EQ(loaded.error().code(), Code::limit) << loaded.error().text();
    return;
  }
  auto out = loaded->session().run(std::vector<Value>{});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), Code::limit) << out.error().text();
}

// ---- Whatever the bytes ----

/// Loads and, where that works and the inputs are small, runs: it may fail, but cleanly.
void load_and_run(const std::string& bytes) {
  LoadOptions options;
  options.memory_limit = int64_t{64} << 20;
  auto loaded = Model::from_bytes(bytes, options);
  const auto report = nnex::check(ModelSource::memory(bytes), options);
  if (!loaded.ok()) {
    EXPECT_FALSE(loaded.error().text().empty());
    EXPECT_NE(loaded.error().code(), Code::internal) << loaded.error().text();
    if (loaded.error().code() == Code::invalid_model) {
      EXPECT_FALSE(report.ok() && report->sound()) << "a check finds nothing: " << loaded.error().text();
    }
    return;
  }
  std::vector<Value> inputs;
  int64_t elements = 0;
  for (const PortInfo& p : loaded->inputs()) {
    std::vector<int64_t> extents;
    for (int64_t e : p.extents) extents.push_back(e < 0 ? 1 : e);
    const auto count = Shape(extents).checked_count();
    if (p.dtype == DType::none || !p.known_rank || !count || (elements += *count) > 1 << 16) return;
    auto t = Tensor::make(p.dtype, Shape(extents));
    ASSERT_TRUE(t.ok());
    if (!is_object(p.dtype) && t->bytes() > 0) std::memset(t->mutable_data(), 0, static_cast<size_t>(t->bytes()));
    inputs.emplace_back(std::move(t).value());
  }
  SessionOptions one_thread;
  one_thread.threads = 1;
  RunOptions run;
  run.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  auto out = loaded->session(one_thread).run(inputs, run);
  if (!out.ok()) {
    EXPECT_NE(out.error().code(), Code::internal) << out.error().text();
  }
}

std::vector<std::pair<std::string, std::string>> sound_models() {
  std::vector<std::pair<std::string, std::string>> out;
  std::vector<fs::path> paths = {fs::path(test::source_dir()) / "models/shapes/model.onnx"};
  for (const auto& entry : fs::directory_iterator(fs::path(test::source_dir()) / "fuzz/corpus/fuzz_onnx_run"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    out.emplace_back(path.filename().string(), bytes.str());
  }
  out.emplace_back("branches", nested_ifs(2));
  out.emplace_back("functions", doubling_functions(3));
  return out;
}

TEST(AnyBytes, EveryPrefix) {
  for (const auto& [name, bytes] : sound_models()) {
    SCOPED_TRACE(name);
    // Long files are mostly weights: every byte of their first and last kilobyte, then steps.
    const auto share = static_cast<size_t>(test::share());
    for (size_t n = 0; n < bytes.size(); n += n < 1024 || bytes.size() - n < 1024 ? share : 509 * share)
      load_and_run(bytes.substr(0, n));
  }
}

TEST(AnyBytes, FlippedBits) {
  for (const auto& [name, bytes] : sound_models()) {
    SCOPED_TRACE(name);
    std::mt19937 random(20240617);
    // Instrumented code is fuzzed besides.
    const int64_t rounds = test::some_of(test::some_of(bytes.size() > 65536 ? 300 : 3000));
    for (int64_t i = 0; i < rounds; ++i) {
      std::string broken = bytes;
      for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
        // Half of them near an end of the file, where the structure of a large one is.
        size_t at = random() % broken.size();
        if (random() % 2) at = random() % 2 ? at % 512 % broken.size() : broken.size() - 1 - at % 512 % broken.size();
        broken[at] = static_cast<char>(broken[at] ^ (1 << random() % 8));
      }
      load_and_run(broken);
    }
  }
}

}  // namespace
