// The provisional draft of NNEF: recognised, upgraded construct by construct, faults at their old places.

#include "standards/nnef/read_provisional.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/mapped_file.h"
#include "nnef_written.h"
#include "standards/nnef/import.h"
#include "standards/nnef/import_calls.h"
#include "standards/nnef/model.h"
#include "stored.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

using List = std::vector<std::string>;

/// Remembers the shape of each name.
class Shapes : public ShapeChecker {
 public:
  void assigned(std::string_view name, TensorId id, Tensors& tensors) override {
    std::string s;
    for (int64_t n : tensors[id].extents) s += (s.empty() ? "" : ",") + std::to_string(n);
    shapes[std::string(name)] = s;
  }
  std::map<std::string, std::string> shapes;
};

struct Read {
  bool provisional = false;
  List faults;  ///< Each "line:column RULE".
  std::map<std::string, std::string> shapes;
  std::string text;
  List notes;
};

Read read(const std::string& source) {
  Read out;
  Faults faults;
  EvaluateOptions options;
  options.dialect = Dialect::any;
  const Edition edition(source, "g", options, faults);
  out.provisional = edition.provisional();
  out.text = edition.text();
  out.notes = edition.notes();
  Shapes sink;
  Tensors tensors;
  if (faults.none()) evaluate(edition.text(), "g", sink, tensors, faults, edition.options());
  for (const Error& e : faults.list())
    out.faults.push_back(e.where().substr(2) + " " + e.message().substr(0, e.message().find(':')));
  out.shapes = sink.shapes;
  return out;
}

/// The upgraded text is a 1.0 document that needs no upgrade and no help.
void expect_clean(const std::string& old, const std::map<std::string, std::string>& shapes) {
  const Read r = read(old);
  EXPECT_TRUE(r.provisional) << old;
  EXPECT_EQ(r.faults, List{}) << r.text;
  for (const auto& [name, shape] : shapes) EXPECT_EQ(r.shapes.at(name), shape) << name << "\n" << r.text;
  EXPECT_FALSE(is_provisional(r.text)) << r.text;
  const Read again = read(r.text);
  EXPECT_EQ(again.faults, List{});
  EXPECT_EQ(again.shapes, r.shapes);
}

const std::string kGraph = "graph g( x ) -> ( y )\n{\n\tx = external(shape = [2,3,8,8])\n";

TEST(NnefProvisional, Statements) {
  const struct {
    const char* name;
    std::string body;
    const char* y;
  } rows[] = {
      {"a line each", "\ty = relu(x)\n}", "2,3,8,8"},
      {"with semicolons", "\ty = relu(x);\n}", "2,3,8,8"},
      {"some with semicolons", "\ta = relu(x);\n\ty = relu(a)\n}", "2,3,8,8"},
      {"several in a line", "a = relu(x) b = exp(a) y = log(b) }", "2,3,8,8"},
      {"one over several lines", "\ty =\n conv(x,\n variable(shape = [4,3,1,1],\n label = 'w'))\n}", nullptr},
      {"a tuple on the left", "\tm, v = moments(x, axes = [2,3])\n\ty = add(m, v)\n}", "2,3,1,1"},
      {"a tuple in parentheses", "a = relu(x) (m, v) = moments(a, axes = [2,3]) y = add(m, v) }", "2,3,1,1"},
      {"an array on the left", "a = relu(x) [m, v] = split(a, axis = 2, ratios = [1,1]) y = add(m, v) }", "2,3,4,8"},
      {"comments", "\ta = relu(x) # one\n# two\n\ty = exp(a)\n}", "2,3,8,8"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string text = "version 1.0\n\n" + kGraph + row.body;
    if (row.y)
      expect_clean(text, {{"y", row.y}});
    else
      EXPECT_TRUE(read(text).provisional);
  }
}

TEST(NnefProvisional, RenamedOperationsAndParameters) {
  const struct {
    std::string call;
    const char* y;
  } rows[] = {
      {"transpose(x, perm = [1,0,2,3])", "3,2,8,8"},
      {"matmul(w, w, trA = true)", "3,3"},
      {"matmul(w, w, trB = true)", "2,2"},
      {"idn(x)", "2,3,8,8"},
      {"planewise_conv(x, f, 0.0, padding = [(0,0), (0,0)])", "2,3,6,6"},
      {"planewise_deconv(x, f, padding = [(0,0), (0,0)])", "2,3,10,10"},
      {"softabs(x, epsilon = 0.1)", "2,3,8,8"},
      {"layer_normalization(x, axes = [1])", "2,3,8,8"},
      {"l2_normalization(x, axes = [1], bias = 0.1)", "2,3,8,8"},
      {"l2_normalization(x, axes = [1])", "2,3,8,8"},
      {"leaky_relu(x, alpha = 1)", "2,3,8,8"},
      {"add(x, 1)", "2,3,8,8"},
      {"constant(shape = [2], value = [1, 2])", "2"},
      {"batch_normalization(x, m, m, m, m, epsilon = 0.1)", "2,3,8,8"},
  };
  for (const auto& row : rows)
    expect_clean(
        "version 1.0\n" + kGraph + "w = constant(shape = [2,3], value = [1.0])\n" +
            "f = constant(shape = [3,1,3,3], value = [1.0])\nm = constant(shape = [1,3], value = [1.0])\ny = " +
            row.call + "\n}\n",
        {{"y", row.y}});
}

TEST(NnefProvisional, WhatOneHasOnlyWithoutFragments) {
  const struct {
    const char* name;
    std::string fragment, call;
    const char* y;
  } rows[] = {
      {"a variable in a fragment",
       "fragment layer( a: tensor, n: extent, scope: string ) -> ( b: tensor )\n{\n"
       "  w = variable(shape = [n,3,1,1], label = scope + '/w')\n  b = conv(a, w)\n}",
       "layer(x, n = 5, scope = 'one')", "2,5,8,8"},
      {"an update in a fragment",
       "fragment keep( a: tensor ) -> ( b: tensor )\n{\n"
       "  v = variable(shape = [2,3,8,8], label = 'v')\n  b = update(v, a + v)\n}",
       "keep(x)", "2,3,8,8"},
      {"short lists of a window", "", "max_pool(x, size = [1,1,2], stride = [1,1,2], padding = [(0,0),(0,0),(0,0)])",
       "2,3,4,8"},
      {"a short size alone", "", "local_response_normalization(x, size = [1,3])", "2,3,8,8"},
      {"short lists by a fragment",
       "fragment p( a: tensor, n: extent[] ) -> ( b: tensor ) { b = avg_pool(a, size = n) }", "p(x, n = [1,1,8])",
       "2,3,8,8"},
      {"scalars in arrays",
       "fragment sum( a: tensor[], f: scalar[] = [1, 2] ) -> ( b: tensor )\n{\n"
       "  b = add_n([s * t for s in a, t in f])\n}",
       "sum([x, x], f = [3, 4])", "2,3,8,8"},
      {"scalars in arrays, by default",
       "fragment sum( a: tensor[], f: scalar[] = [1, 2] ) -> ( b: tensor )\n{\n"
       "  b = add_n([s * t for s in a, t in f])\n}",
       "sum([x, x])", "2,3,8,8"},
      {"the shape of a tensor of one axis",
       "fragment f( a: tensor ) -> ( b: tensor )\n{\n  b = reshape(a, shape = shape_of(a))\n}",
       "f(reshape(x, shape = [384]))", "384,1"},
      {"the shape of a number",
       "fragment f( a: tensor, s: tensor ) -> ( b: tensor )\n{\n  b = reshape(a, shape = shape_of(s) + [-1])\n}",
       "f(x, 0.5)", "1,1,384"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string text = "version 1.0\n" + row.fragment + "\n" + kGraph + "\ty = " + row.call + "\n}\n";
    const Read r = read(text);
    EXPECT_TRUE(r.provisional);
    ASSERT_EQ(r.faults, List{}) << r.text;
    EXPECT_EQ(r.shapes.at("y"), row.y) << r.text;
  }
}

TEST(NnefProvisional, Fragments) {
  const struct {
    const char* name;
    std::string fragment, call;
    const char* y;
  } rows[] = {
      {"bare tensors and extents",
       "fragment f( a: tensor, n: extent[] = [1] ) -> ( b: tensor )\n{\n b = sum_reduce(a, axes = n)\n}", "f(x)",
       "2,1,8,8"},
      {"tensors of a data-type", "fragment f( a: tensor ) -> ( b: tensor<logical> ) { b = a > 0.0 }", "f(x)",
       "2,3,8,8"},
      {"tensors of coordinates",
       "fragment f( a: tensor ) -> ( b: tensor, i: tensor<coordinate> ) "
       "{ b, i = max_pool_with_index(a, size = [1,1,2,2], stride = [1,1,2,2]) }\n"
       "fragment g( a: tensor ) -> ( b: tensor ) { b, i = f(a) }",
       "g(x)", "2,3,4,4"},
      {"a comprehension",
       "fragment f( a: tensor, n: extent[] ) -> ( b: tensor ) { b = tile(a, repeats = [i * 2 for i in n]) }",
       "f(x, n = [1,1,1,1])", "4,6,16,16"},
      {"a comprehension with a condition",
       "fragment f( a: tensor, n: extent[] ) -> ( b: tensor ) { b = sum_reduce(a, axes = [i for i in n if i > 0]) }",
       "f(x, n = [0,1,2])", "2,1,1,8"},
      {"a comprehension of tuples",
       "fragment f( a: tensor, n: extent[] ) -> ( b: tensor ) { b = pad(a, padding = [i, i for i in n]) }",
       "f(x, n = [0,0,1,1])", "2,3,10,10"},
      {"tuples without parentheses",
       "fragment f( a: tensor, n: (extent,extent) = 1, 2, k: extent = 0 ) -> ( b: tensor, c: tensor ) "
       "{ s = exp(a), log(a)\n b = s[0]\n c = sum_reduce(s[1], axes = [n[0], n[1]]) }\n"
       "fragment g( a: tensor ) -> ( b: tensor ) { p, b = f(a, n = 2, 3, k = 1) }",
       "g(x)", "2,3,1,1"},
      {"branches, types as functions, recursion",
       "fragment f( a: tensor, n: extent ) -> ( b: tensor ) "
       "{ b = f(a * scalar(n), n = n - 1) if n > extent(0.5) else a }",
       "f(x, n = 3)", "2,3,8,8"},
      {"chains", "fragment f( a: tensor ) -> ( b: tensor ) { b = relu(exp(a) + log(a)) ^ 2.0 }", "f(x)", "2,3,8,8"},
      {"whole numbers for scalars", "fragment f( a: tensor, s: scalar = 2 ) -> ( b: tensor ) { b = a * s }",
       "f(x, s = 3)", "2,3,8,8"},
      {"names that are keywords now",
       "fragment f( integer: tensor, yield: extent ) -> ( extension: tensor ) "
       "{ extension = sum_reduce(integer, axes = [yield]) }",
       "f(x, yield = 1)", "2,1,8,8"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    expect_clean("version 1.0\n\n" + std::string(row.fragment) + "\n" + kGraph + "y = " + row.call + "\n}\n",
                 {{"y", row.y}});
  }
}

TEST(NnefProvisional, Recognised) {
  const std::string good = "graph g(x) -> (y) { x = external(shape = [2]); y = relu(x); }";
  const std::string bare = "graph g(x) -> (y) { x = external(shape = [2])\n y = relu(x) }";
  EXPECT_TRUE(is_provisional("# old\nversion 1.0\n" + bare));
  EXPECT_TRUE(is_provisional("version 1.0\n" + good));
  EXPECT_TRUE(is_provisional("version 1.0;\n" + bare));
  EXPECT_TRUE(is_provisional("version 1.0; fragment f(a: tensor) -> (b: tensor) { b = a; }\n" + good));
  EXPECT_TRUE(is_provisional("version 1.0; fragment f(a: extent) -> (b: tensor<scalar>) { b = 1.0; }\n" + good));
  EXPECT_FALSE(is_provisional("version 1.0;\n" + good));
  EXPECT_FALSE(
      is_provisional("version 1.0;\nextension KHR_enable_fragment_definitions;\n"
                     "fragment f(a: tensor) -> (b: tensor<scalar>) { b = a; }\n" +
                     good));
  EXPECT_FALSE(is_provisional("version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2]); y = relu(x) }"));
  EXPECT_FALSE(is_provisional("version 1\n" + bare));
  EXPECT_FALSE(is_provisional("graph"));
  EXPECT_FALSE(is_provisional(""));
}

/// What is asked of 1.0 is asked where a draft would be upgraded, too.
TEST(NnefProvisional, OtherTextsKeepToTheStandard) {
  EXPECT_EQ(read("version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2]);\ny = leaky_relu(x, 0.1); }").faults,
            (List{"3:19 I8"}));
}

TEST(NnefProvisional, StandardReadersStillRefuseIt) {
  Faults faults;
  ShapeChecker sink;
  Tensors tensors;
  evaluate("version 1.0\n" + kGraph + "\ty = relu(x)\n}\n", "g", sink, tensors, faults);
  ASSERT_FALSE(faults.none());
  EXPECT_EQ(faults.list()[0].message().substr(0, 2), "S2");
}

TEST(NnefProvisional, FaultsNameThePlacesOfTheOldText) {
  EXPECT_EQ(read("# a\nversion 1.0\n\n" + kGraph + "\t# b\n\tz = nothing(x)\n\ty = add(x,   q)\n}\n").faults,
            (List{"8:6 I1", "9:15 A8"}));
  EXPECT_EQ(read("version 1.0\nfragment f( a: tensor, n: extent ) -> ( b: tensor )\n{\n"
                 "\tb = sum_reduce(a,\n\t  axes = [i for i in  m])\n}\n" +
                 kGraph + "y = f(x, n = 1)\n}\n")
                .faults,
            (List{"5:24 A8"}));
  EXPECT_EQ(read("version 1.0\n" + kGraph + "\ty = transpose(x, perm = [0,1,2,9])\n}\n").faults,
            (List{"5:6 O-TRANS-1"}));
  EXPECT_EQ(read("version 1.0\n" + kGraph + "\ty = relu(x, 'open)\n}\n").faults, (List{"5:14 L3"}));
  EXPECT_EQ(read("version 1.0\n" + kGraph + "\ty = relu((x\n}\n").faults.empty(), false);
}

TEST(NnefProvisional, BrokenTextsEnd) {
  const std::string whole =
      "version 1.0\nfragment f( a: tensor, n: (extent,extent)[] = [(1,2)] ) -> ( b: tensor )\n{\n"
      " b, c = [i for i in n if i > 0], f(a, x = (1, [2])) if a else -b\n}\n" +
      kGraph + "y = f(x, n = [1])\n}\n";
  for (size_t n = 0; n < whole.size(); ++n) {
    read(whole.substr(0, n));
    std::string cut = whole;
    cut.erase(n, 1);
    read(cut);
  }
  read("version 1.0\ngraph g(x) -> (y) { y = " + std::string(100'000, '(') + "x }");
  read("version 1.0\ngraph g(x) -> (y) { y = " + std::string(100'000, '[') + "x for x in x }");
}

TEST(NnefProvisional, OpenExtentsAreToldAndReplaceable) {
  const std::string text = "version 1.0\ngraph g( x ) -> ( y ) { x = external(shape = [0,3]) y = relu(x) }";
  const Read r = read(text);
  EXPECT_EQ(r.shapes.at("y"), "1,3");
  EXPECT_EQ(r.notes.size(), 1u);
  ImportOptions options;
  options.language.dialect = Dialect::any;
  options.language.shapes["x"] = {5, 3};
  auto graph = import_document(text, "g", options);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ((*graph)[graph->outputs()[0]].type.text(), "f32[5,3]");
}

// ---- Tensor files

std::string number(uint64_t n, size_t bytes) { return std::string(reinterpret_cast<const char*>(&n), bytes); }

/// A tensor file as the draft has it, field after field.
std::string draft_file(const std::vector<uint32_t>& extents, int type, int bits, const std::string& items,
                       const std::string& text = "") {
  const size_t header = 12 + 4 * extents.size() + 4 + text.size();
  std::string out = std::string("\x4e\xef\x01\x00", 4) + number(header, 4) + number(extents.size(), 4);
  for (uint32_t e : extents) out += number(e, 4);
  return out + number(static_cast<uint64_t>(type), 1) + number(static_cast<uint64_t>(bits), 1) +
         number(text.size(), 2) + text + items;
}

template <class T>
std::string bytes_of(const std::vector<T>& items) {
  return std::string(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
}

std::vector<double> items_of(const std::string& bytes) {
  auto file = read_provisional_tensor_file(bytes, nullptr);
  EXPECT_TRUE(file.ok()) << file.error().text();
  if (!file.ok()) return {};
  auto t = items(*file);
  EXPECT_TRUE(t.ok()) << t.error().text();
  return t.ok() ? reals_of(*t) : std::vector<double>{};
}

std::string refusal(const std::string& bytes) {
  auto file = read_provisional_tensor_file(bytes, nullptr);
  return file.ok() ? "" : file.error().message();
}

TEST(NnefProvisional, TensorFilesOfEveryItemType) {
  EXPECT_EQ(items_of(draft_file({2, 2}, 0, 32, bytes_of<float>({0.5f, -1, 2, 3}))),
            (std::vector<double>{0.5, -1, 2, 3}));
  EXPECT_EQ(items_of(draft_file({2}, 0, 64, bytes_of<double>({0.1, -1e300}))), (std::vector<double>{0.1, -1e300}));
  EXPECT_EQ(items_of(draft_file({3}, 2, 16, bytes_of<int16_t>({-2, 0, 300}))), (std::vector<double>{-2, 0, 300}));
  EXPECT_EQ(items_of(draft_file({3}, 3, 8, "\x01\xff\x7f")), (std::vector<double>{1, 255, 127}));
  EXPECT_EQ(items_of(draft_file({3}, 2, 4, "\x1f\x80")), (std::vector<double>{1, -1, -8}));
  EXPECT_EQ(items_of(draft_file({}, 2, 8, "\xfe")), (std::vector<double>{-2}));
}

TEST(NnefProvisional, TensorFilesThatLieAreRefused) {
  const std::string good = draft_file({2, 3}, 3, 8, "abcdef");
  EXPECT_EQ(refusal(good), "");
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(refusal(good.substr(0, n)), "") << n;
  EXPECT_NE(refusal(good + "g").find("its length"), std::string::npos);
  const auto with = [&](size_t at, char c) {
    std::string s = good;
    s[at] = c;
    return refusal(s);
  };
  EXPECT_NE(with(0, 'x').find("does not begin"), std::string::npos);
  EXPECT_NE(with(3, 1).find("does not begin"), std::string::npos);
  EXPECT_NE(with(4, 25).find("elsewhere"), std::string::npos);
  EXPECT_NE(with(8, 9).find("header is cut off"), std::string::npos);
  EXPECT_NE(with(12, 3).find("its length"), std::string::npos);
  EXPECT_NE(refusal(draft_file({2}, 4, 8, "ab")).find("item type is unknown"), std::string::npos);
  EXPECT_NE(refusal(draft_file({2}, 2, 0, "")).find("item type is unknown"), std::string::npos);
  EXPECT_NE(refusal(draft_file({1}, 2, 65, "123456789")).find("item type is unknown"), std::string::npos);
  EXPECT_NE(refusal(draft_file({2}, 0, 8, "ab")).find("another width"), std::string::npos);
  EXPECT_NE(refusal(draft_file({0xffffffff, 0xffffffff, 0xffffffff}, 2, 8, "")).find("its length"), std::string::npos);
  auto quantised =
      read_provisional_tensor_file(draft_file({2}, 1, 8, "ab", "linear_quantize(min = 0, max = 1)"), nullptr);
  ASSERT_FALSE(quantised.ok());
  EXPECT_EQ(quantised.error().code(), Code::unsupported);
}

Container folder_of(const std::vector<std::pair<std::string, std::string>>& files) {
  Container all = Container::of_folder("");
  for (const auto& [name, bytes] : files) {
    auto owner = std::make_shared<const std::string>(bytes);
    all.add(name, name, {*owner, owner});
  }
  return all;
}

/// The constant that the graph has under a name.
std::vector<double> weight(const ir::Graph& graph, std::string_view name) {
  for (uint32_t v = 0; v < graph.value_count(); ++v)
    if (const Tensor* t = graph[ValueId{v}].constant.tensor(); t && graph[ValueId{v}].name == name) return reals_of(*t);
  return {};
}

TEST(NnefProvisional, FoldersOfTheDraftHaveItsTensorFiles) {
  const std::string text =
      "version 1.0\ngraph g( x ) -> ( y )\n{\n\tx = external(shape = [1,2])\n"
      "\tw = variable(shape = [1,2], label = 'layer/w')\n\ty = x + w\n}\n";
  const std::string file = draft_file({1, 2}, 0, 32, bytes_of<float>({0.25f, -8}));
  const std::vector<double> wanted = {0.25, -8};
  ImportOptions options;
  options.language.dialect = Dialect::any;
  auto graph = read_nnef(folder_of({{"graph.nnef", text}, {"layer/w.dat", file}}), options);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  EXPECT_EQ(weight(*graph, "w"), wanted);
  // Upgraded, the document and its data are of 1.0.
  auto upgraded = upgraded_model(folder_of({{"graph.nnef", text}, {"layer/w.dat", file}}));
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().text();
  ASSERT_TRUE(*upgraded);
  auto again = read_nnef(container_of((*upgraded)->model));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(weight(*again, "w"), wanted);
  // Beside a document of 1.0 such a file is refused, and of other extents anywhere.
  const std::string now =
      "version 1.0;\ngraph g(x) -> (y)\n{\n x = external(shape = [1,2]);\n"
      " w = variable(shape = [1,2], label = 'layer/w');\n y = add(x, w);\n}\n";
  EXPECT_FALSE(read_nnef(folder_of({{"graph.nnef", now}, {"layer/w.dat", file}}), options).ok());
  const std::string other = draft_file({2, 1}, 0, 32, bytes_of<float>({0.25f, -8}));
  auto refused = read_nnef(folder_of({{"graph.nnef", text}, {"layer/w.dat", other}}), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("C6"), std::string::npos) << refused.error().text();
}

/// The stored cases of every rule that are not written as the draft is: who upgrades drafts finds the standard's
/// faults.
TEST(NnefProvisional, CasesOfTheRulesKeepTheirFaults) {
  const std::filesystem::path folder = stored::shared() / "conformance/nnef/rules";
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) GTEST_SKIP() << "no shared vectors";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".nnef") continue;
    SCOPED_TRACE(entry.path().filename().string());
    auto file = MappedFile::open(entry.path().string(), MapPolicy::never);
    ASSERT_TRUE(file.ok()) << file.error().text();
    const std::string text(file->bytes());
    if (is_provisional(text)) continue;
    List faults;
    Faults found;
    ShapeChecker sink;
    Tensors tensors;
    evaluate(text, "g", sink, tensors, found);
    for (const Error& e : found.list())
      faults.push_back(e.where().substr(2) + " " + e.message().substr(0, e.message().find(':')));
    EXPECT_EQ(read(text).faults, faults);
  }
}

TEST(NnefProvisional, NetworksOfTheCorpus) {
  const std::filesystem::path folder = stored::shared() / "conformance/nnef/graphs";
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) GTEST_SKIP() << "no shared vectors";
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    auto file = MappedFile::open((entry.path() / "graph.nnef").string(), MapPolicy::never);
    if (!file.ok() || !is_provisional(file->bytes())) continue;
    SCOPED_TRACE(entry.path().filename().string());
    expect_clean(std::string(file->bytes()), {});
    ++found;
  }
  EXPECT_GE(found, 4);
}

}  // namespace
}  // namespace nnex::nnef_format
