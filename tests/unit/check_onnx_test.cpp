// Models with faults, and all that a check says of them: every fault, once, with its place.

#include <gtest/gtest.h>

#include "nnex/check.h"
#include "onnx_bytes.h"
#include "ops/table.h"
#include "standards/onnx/signatures.h"

namespace {

using namespace nnex;
using namespace nnex::test::onnx;
using OnnxGraph = nnex::test::onnx::Graph;

const std::string kX = value("x", {2, 3}), kY = value("y", {2, 3});

std::vector<std::string> faults_of(const std::string& bytes) {
  auto report = nnex::check(ModelSource::memory(bytes));
  if (!report.ok()) return {report.error().text()};
  std::vector<std::string> out;
  for (const Fault& f : report->faults) out.push_back(f.text());
  return out;
}

struct Row {
  const char* name;
  std::string bytes;
  std::vector<std::string> faults;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(faults_of(row.bytes), row.faults);
  }
}

std::string relu(const char* in, const char* out) { return node("Relu", {in}, {out}); }
std::string named(std::string_view name, const std::vector<std::string>& extents, int64_t element = kFloat) {
  std::string dims;
  for (const std::string& e : extents) dims += msg(1, e[0] >= '0' && e[0] <= '9' ? num(1, std::stoi(e)) : msg(2, e));
  return msg(1, name) + msg(2, msg(1, num(1, element) + msg(2, dims)));
}

TEST(CheckOnnx, DeclaredAgainstInferred) {
  const auto through = [](const std::string& in, const std::string& out, const std::vector<std::string>& infos = {}) {
    return model({{relu("x", "t"), relu("t", "y")}, {in}, {out}, {}, infos});
  };
  check({
      {"as it is", through(kX, kY), {}},
      {"an extent",
       through(named("x", {"N", "3", "8"}), named("y", {"N", "4", "8"})),
       {"output 'y': it is declared f32[N,4,8]; it is f32[N,3,8]"}},
      {"the rank", through(kX, value("y", {6})), {"output 'y': it is declared f32[6]; it is f32[2,3]"}},
      {"the element type",
       through(kX, value("y", {2, 3}, kInt64)),
       {"output 'y': it is declared i64[2,3]; it is f32[2,3]"}},
      {"a value between",
       through(kX, kY, {value("t", {2, 4})}),
       {"value 't': it is declared f32[2,4]; it is f32[2,3]"}},
      {"another name for an extent", through(named("x", {"N", "3"}), named("y", {"M", "3"})), {}},
      {"a number for a name", through(named("x", {"N", "3"}), named("y", {"5", "3"})), {}},
      {"two numbers for a name",
       through(named("x", {"N", "3"}), named("y", {"5", "3"}), {named("t", {"4", "3"})}),
       {"output 'y': it is declared f32[5,3]; it is f32[N,3], where extent 0 is 5 and 4"}},
      {"two numbers over two names",
       through(named("x", {"N", "3"}), named("y", {"5", "3"}), {named("t", {"M", "3"})}),
       {}},
      {"a formula that its name never is",
       model({{node("Concat", {"x", "x"}, {"y"}, attr_int("axis", 0))},
              {named("x", {"N", "3"})},
              {named("y", {"N", "3"})}}),
       {"output 'y': it is declared f32[N,3]; it is f32[2*N,3], where extent 0 is N and 2*N"}},
      {"names that are not the same",
       through(named("x", {"N", "N"}), named("y", {"5", "6"})),
       {"output 'y': it is declared f32[5,6]; it is f32[N,N], where extent 1 is 6 and 5"}},
      {"results of a branch",
       model({{node("If", {"c"}, {"y"},
                    attr_graph("then_branch", OnnxGraph{{relu("x", "a")}, {}, {value("a", {2, 4})}}.bytes()) +
                        attr_graph("else_branch", OnnxGraph{{relu("x", "b")}, {}, {value("b", {2, 3})}}.bytes()))},
              {kX, value("c", {}, 9)},
              {kY}}),
       {"node 'y' (If) > attribute 'then_branch' > output 'a': it is declared f32[2,4]; it is f32[2,3]"}},
  });
}

TEST(CheckOnnx, DeclaredResultsOfCalls) {
  const std::string fn = opset("f", 1) + function("g", {"a"}, {"b"}, {relu("a", "b")});
  const auto calling = [&](const std::string& info) {
    return model({{node("g", {"x"}, {"t"}, {}, "f"), relu("t", "y")}, {kX}, {kY}, {}, {info}}, fn);
  };
  check({
      {"as it is", calling(value("t", {2, 3})), {}},
      {"other extents", calling(value("t", {7, 7})), {"value 't': it is declared f32[7,7]; it is f32[2,3]"}},
      {"another type", calling(value("t", {2, 3}, kString)), {"value 't': it is declared str[2,3]; it is f32[2,3]"}},
  });
}

TEST(CheckOnnx, AxesAndRanksOfOlderOpsets) {
  const auto concat = [](int64_t version) {
    return model({{node("Concat", {"x", "x"}, {"y"}, attr_int("axis", -1))}, {kX}, {value("y", {2, 6})}}, {}, version);
  };
  const auto slice = [](int64_t version) {
    return model({{node("Slice", {"x", "b", "e", "a"}, {"y"})},
                  {kX},
                  {value("y", {2, 2})},
                  {longs("b", {1}), longs("e", {3}), longs("a", {-1})}},
                 {}, version);
  };
  const auto sample = [](int64_t version) {
    return model({{node("GridSample", {"x", "i"}, {"y"})},
                  {value("x", {1, 1, 2, 2, 2}), value("i", {1, 1, 1, 1, 3})},
                  {value("y", {1, 1, 1, 1, 1})}},
                 {}, version, 10);
  };
  check({
      {"an attribute", concat(11), {}},
      {"an attribute, before",
       concat(10),
       {"node 'y' (Concat) > attribute 'axis': Concat: attribute 'axis' has -1; axes count from the start in its form "
        "of opset 4"}},
      {"an input", slice(11), {}},
      {"an input, before",
       slice(10),
       {"node 'y' (Slice): Slice: input 3 has -1; it counts from the start in its form of opset 10"}},
      {"negative indices of Gather",
       model({{node("Gather", {"x", "i"}, {"y"})}, {kX}, {value("y", {1, 3})}, {longs("i", {-1})}}, {}, 10),
       {"node 'y' (Gather): Gather: input 1 has -1; it counts from the start in its form of opset 1"}},
      {"samples of volumes", sample(20), {}},
      {"samples of volumes, before",
       sample(19),
       {"node 'y' (GridSample): GridSample: input 0 has 5 axes; needed 4",
        "node 'y' (GridSample): GridSample: input 1 has 5 axes; needed 4"}},
  });
}

/// Until opset 6 operands broadcast where the node says so, and those of Min, Max, Sum and Mean until 7 not at all.
TEST(CheckOnnx, ShapesOfOlderOpsets) {
  const auto two = [](const char* op, int64_t version, std::string_view more = {}) {
    return model({{node(op, {"x", "z"}, {"y"}, more)}, {kX, value("z", {3})}, {kY}}, {}, version);
  };
  const std::string broadcast = attr_int("broadcast", 1);
  const std::string unless = ", where attribute 'broadcast' is not 1";
  const auto fault = [](const std::string& op, int form, const std::string& more = {}) {
    return std::vector<std::string>{"node 'y' (" + op + "): " + op +
                                    ": input 1 is f32[3], the result f32[2,3]; they have "
                                    "one shape in its form of opset " +
                                    std::to_string(form) + more};
  };
  check({
      {"a sum", two("Add", 7), {}},
      {"a sum, before", two("Add", 6), fault("Add", 6, unless)},
      {"a sum that says so", two("Add", 6, broadcast), {}},
      {"a product, before", two("Mul", 5), fault("Mul", 1, unless)},
      {"the least", two("Min", 8), {}},
      {"the least, before", two("Min", 7), fault("Min", 6)},
      {"a sum of many, before", two("Sum", 6), fault("Sum", 6)},
      {"a mean, before", two("Mean", 3), fault("Mean", 1)},
      {"a bias, before",
       model({{node("Gemm", {"x", "w", "b"}, {"y"})}, {kX, value("w", {3, 4}), value("b", {4})}, {value("y", {2, 4})}},
             {}, 6),
       {"node 'y' (Gemm): Gemm: input 2 is f32[4], the result f32[2,4]; they have one shape in its form of opset 6" +
        unless}},
      {"an open extent may be the other's",
       model({{node("Min", {"x", "z"}, {"y"})}, {kX, named("z", {"N", "3"})}, {kY}}, {}, 7),
       {}},
  });
}

/// is_test and output_sequence are off unless they are said; here they are on.
TEST(CheckOnnx, TrainingOfOlderOpsets) {
  const auto norm = [](int64_t version, std::string_view more, const std::vector<std::string>& out = {"y"}) {
    const std::string c = value("c", {3});
    return model({{node("BatchNormalization", {"x", "c", "c", "c", "c"}, out, more)}, {kX, c}, {kY}}, {}, version);
  };
  const auto lstm = [](std::string_view more) {
    return model({{node("LSTM", {"x", "w", "r"}, {"y"}, attr_int("hidden_size", 2) + std::string(more))},
                  {value("x", {3, 1, 4}), value("w", {1, 8, 4}), value("r", {1, 8, 2})},
                  {value("y", {3, 1, 1, 2})}},
                 {}, 6);
  };
  check({
      {"of later opsets", norm(7, {}), {}},
      {"left out",
       norm(6, {}),
       {"node 'y' (BatchNormalization) > attribute 'is_test': BatchNormalization: attribute 'is_test' is left out, so "
        "it "
        "is training; nnex takes it as 1"}},
      {"off",
       norm(6, attr_int("is_test", 0)),
       {"node 'y' (BatchNormalization) > attribute 'is_test': BatchNormalization: attribute 'is_test' is 0, so it is "
        "training; nnex takes it as 1"}},
      {"on", norm(6, attr_int("is_test", 1)), {}},
      {"training that is asked for", norm(6, {}, {"y", "m", "v"}), {}},
      {"a sequence",
       lstm({}),
       {"node 'y' (LSTM) > attribute 'output_sequence': LSTM: attribute 'output_sequence' is left out, so output 0 is "
        "not made; nnex takes it as 1"}},
      {"a sequence that is asked for", lstm(attr_int("output_sequence", 1)), {}},
  });
}

TEST(CheckOnnx, RemaindersOfReals) {
  const auto mod = [](int64_t element, std::string_view more) {
    return model({{node("Mod", {"x", "x"}, {"y"}, more)}, {value("x", {2}, element)}, {value("y", {2}, element)}});
  };
  check({{"of integers", mod(kInt64, ""), {}},
         {"of reals", mod(kFloat, attr_int("fmod", 1)), {}},
         {"of reals, with the divisor's sign", mod(kFloat, ""), {"node 'y' (Mod): Mod: fmod is 0; f32 needs 1"}}});
}

TEST(CheckOnnx, AllFaultsOfAModel) {
  const std::string w = tensor("w", {2, 3}, "few");
  check({{"four nodes",
          model({{node("Add", {"x", "nobody"}, {"a"}), node("Softmax", {"a"}, {"b"}, attr_int("axes", 1)),
                  node("Concat", {"x", "x"}, {"c"}), node("Add", {"w", "b"}, {"d"}), relu("d", "y")},
                 {kX},
                 {kY, value("z", {2})},
                 {w}}),
          {"initializer 'w': found 3 bytes; its shape [2,3] of f32 needs 24",
           "node 'a' (Add): input 'nobody' is not made by any node before, nor an input or initializer",
           "node 'b' (Softmax) > attribute 'axes': Softmax: it has no attribute 'axes' in its form of opset 13",
           "node 'c' (Concat) > attribute 'axis': Concat: attribute 'axis' is required",
           "output 'z': output 'z' of graph 'g' is made by no node in it"}},
         {"what follows a fault is silent",
          model({{node("MatMul", {"x"}, {"a"}), relu("a", "b"), relu("b", "y")}, {kX}, {kY}}),
          {"node 'a' (MatMul): MatMul: input 1 is required"}},
         {"no opset",
          num(1, 8) + msg(7, OnnxGraph{{relu("x", "t"), relu("t", "y")}, {kX}, {kY}}.bytes()),
          {"the model imports no opset"}}});
}

TEST(CheckOnnx, Structure) {
  const auto with = [](const std::string& more) { return model({{relu("x", "y")}, {kX}, {kY}}, more); };
  const auto plain = [](const std::string& attribute) {
    return model({{node("Softmax", {"x"}, {"y"}, msg(5, attribute))}, {kX}, {kY}});
  };
  const auto branch = [](const std::string& made, const std::string& given) {
    const std::string graph = OnnxGraph{{relu("x", made.c_str())}, {}, {value(given, {2, 3})}}.bytes();
    return model({{relu("x", "t"),
                   node("If", {"c"}, {"y"}, attr_graph("then_branch", graph) + attr_graph("else_branch", graph))},
                  {kX, value("c", {}, 9)},
                  {kY}});
  };
  const std::string in_if = "node 'y' (If) > attribute '";
  check({
      {"no IR version",
       msg(7, OnnxGraph{{relu("x", "y")}, {kX}, {kY}}.bytes()) + opset("", 17),
       {"the model has no IR version"}},
      {"an opset imported twice",
       with(opset("", 16)),
       {"the opset of domain 'ai.onnx' is imported twice, as 17 and 16"}},
      {"a property given twice",
       with(msg(14, msg(1, "k") + msg(2, "a")) + msg(14, msg(1, "k") + msg(2, "b"))),
       {"property 'k' is given twice"}},
      {"a weight that is no input in IR 3",
       model({{node("Add", {"x", "w"}, {"y"})}, {kX}, {kY}, {tensor("w", {1}, "four")}}, {}, 7, 3),
       {"initializer 'w': it is no input; IR version 3 needs it there"}},
      {"an output without a shape",
       model({{relu("x", "y")}, {kX}, {msg(1, "y") + msg(2, msg(1, num(1, 1)))}}),
       {"output 'y': its type has no shape"}},
      {"an input without an element type",
       model({{relu("x", "y")}, {msg(1, "x") + msg(2, msg(1, msg(2, "")))}, {kY}}),
       {"input 'x': its type has no element type", "output 'y': it is declared f32[2,3]; it is f32[]"}},
      {"a branch hides a value",
       branch("t", "t"),
       {in_if + "then_branch' > node 't' (Relu): value 't' hides one of a graph around it",
        in_if + "else_branch' > node 't' (Relu): value 't' hides one of a graph around it"}},
      {"a branch gives what it does not make",
       branch("u", "t"),
       {in_if + "then_branch' > output 't': output 't' of graph 'g' is made by no node in it",
        in_if + "else_branch' > output 't': output 't' of graph 'g' is made by no node in it"}},
      {"a domain without an opset",
       model({{node("Fft", {"x"}, {"y"}, {}, "lab")}, {kX}, {kY}}),
       {"node 'y' (Fft): the opset of its domain 'lab' is not imported"}},
      {"an operator of a later opset",
       model({{node("Gelu", {"x"}, {"y"})}, {kX}, {kY}}),
       {"node 'y' (Gelu): Gelu came with opset 20; the model imports 17"}},
      {"an operator that was withdrawn",
       model({{node("Upsample", {"x", "s"}, {"y"})}, {kX, value("s", {2})}, {kY}}),
       {"node 'y' (Upsample): Upsample: it was withdrawn with opset 10"}},
      {"an attribute without a type",
       plain(msg(1, "axis") + num(3, 1)),
       {"node 'y' (Softmax) > attribute 'axis': it has no type"}},
      {"an attribute of another type",
       plain(msg(1, "axis") + varint(2 << 3 | 5) + "1234" + num(20, 1)),
       {"node 'y' (Softmax) > attribute 'axis': Softmax: attribute 'axis' is a number; needed an integer"}},
      {"a value of another kind than its type",
       plain(msg(1, "axis") + msg(4, "one") + num(20, 2)),
       {"node 'y' (Softmax) > attribute 'axis': its value is of another kind than its type says"}},
      {"an attribute filled doubly",
       plain(msg(1, "axis") + num(3, 1) + msg(4, "one") + num(20, 2)),
       {"node 'y' (Softmax) > attribute 'axis': it has values of 2 kinds"}},
      {"a reference outside of functions",
       plain(msg(1, "axis") + num(20, 2) + msg(21, "a")),
       {"node 'y' (Softmax) > attribute 'axis': it stands for a function's attribute 'a'; it is in no function"}},
      {"a word that the opset does not have",
       model({{node("Pad", {"x", "p"}, {"y"}, msg(5, msg(1, "mode") + msg(4, "wrap") + num(20, 3)))},
              {kX},
              {kY},
              {longs("p", {0, 0, 0, 0})}}),
       {"node 'y' (Pad) > attribute 'mode': Pad: attribute 'mode' is 'wrap'; needed one of constant,reflect,edge"}},
      {"too many inputs",
       model({{node("Relu", {"x", "x"}, {"y"})}, {kX}, {kY}}),
       {"node 'y' (Relu): Relu: found 2 inputs; needed at most 1"}},
  });
}

TEST(CheckOnnx, TypesOfTheModelsOwnOpset) {
  const auto equal = [](int64_t version) {
    return model({{node("Equal", {"x", "x"}, {"y"})}, {value("x", {2}, kString)}, {value("y", {2}, 9)}}, {}, version);
  };
  check({{"texts are equal from 19 on", equal(19), {}},
         {"texts before",
          equal(17),
          {"node 'y' (Equal): Equal: input 0 is str; allowed: f64, f32, f16, i64, i32, i16, i8, u64, u32, u16, u8, "
           "bf16, bool"}},
         {"two types where one is needed",
          model({{node("Where", {"c", "x", "i"}, {"y"})}, {kX, value("c", {}, 9), value("i", {2, 3}, kInt64)}, {kY}}),
          {"node 'y' (Where): Where: input 1 is f32, input 2 is i64; needed one type"}}});
}

TEST(CheckOnnx, FunctionsThatNobodyCalls) {
  const auto with = [](const std::string& functions) {
    return model({{relu("x", "y")}, {kX}, {kY}}, opset("f", 1) + functions);
  };
  const auto calling = [](const char* name, const char* callee) {
    return function(name, {"a"}, {"b"}, {node(callee, {"a"}, {"b"}, {}, "f")});
  };
  check({{"sound", with(function("g", {"a"}, {"b"}, {relu("a", "b")})), {}},
         {"a value nobody makes",
          with(function("g", {"a"}, {"b"}, {relu("z", "b")})),
          {"function 'f:g:' > node 'b' (Relu): input 'z' is not made by any node before, nor an input or initializer"}},
         {"an output nobody makes",
          with(function("g", {"a"}, {"b"}, {relu("a", "c")})),
          {"function 'f:g:': output 'b' is made by no node"}},
         {"an input given twice",
          with(function("g", {"a", "a"}, {"b"}, {relu("a", "b")})),
          {"function 'f:g:': input 'a' is given twice"}},
         {"an attribute that the operator has not",
          with(function("g", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"}, attr_int("alpha", 1))})),
          {"function 'f:g:' > node 'b' (Relu) > attribute 'alpha': Relu: it has no attribute 'alpha' in its form of "
           "opset 14"}},
         {"a circle",
          with(calling("g", "h") + calling("h", "g")),
          {"function 'f:g:': function 'f:g:' calls itself: 'f:g:' > 'f:h:' > 'f:g:'"}}});
}

// ---- The forms themselves

TEST(OnnxForms, EveryLineCanBeRead) {
  using namespace onnx_format;
  int count = 0;
  for (const auto& part : {forms_a_l(), forms_m_z(), forms_ml()})
    for (const OperatorForms& o : part) {
      SCOPED_TRACE(o.name);
      int before = 0;
      for (const Form& form : forms_of(o.domain, o.name)) {
        SCOPED_TRACE(form.since);
        EXPECT_GT(form.since, before);
        before = form.since, ++count;
        EXPECT_EQ(form.deprecated, form.out.empty());
        for (const auto* ports : {&form.in, &form.out})
          for (const FormPort& p : *ports) {
            const TypeSet& t = p.types;
            EXPECT_TRUE(t.tensors || t.sequences || t.optionals || t.maps || t.sequences_of_maps) << p.written;
          }
        for (const FormAttribute& a : form.attributes)
          EXPECT_NE(std::string_view("ifstgpIFST").find(a.kind), std::string_view::npos) << a.name;
      }
    }
  EXPECT_EQ(count, 640);
}

TEST(OnnxForms, EverySpellingOfTheTableHasForms) {
  for (const OpDef* op : all_ops())
    for (const Spelling& s : op->spelled) {
      if (s.format != Format::onnx || !onnx_format::is_standard(s.domain)) continue;
      EXPECT_FALSE(onnx_format::forms_of(s.domain, s.name).empty()) << s.name;
    }
}

}  // namespace
