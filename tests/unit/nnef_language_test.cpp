// The language of NNEF: faults with their rules and places, evaluation, layout.

#include <gtest/gtest.h>

#include "formats/nnef/format.h"
#include "formats/nnef/shapes.h"

namespace nnex::nnef_format {
namespace {

const std::string kHead =
    "version 1.0;\nextension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n";
const std::string kGraph = "graph g(x) -> (y) { x = external(shape = [2, 3]); ";

/// The faults of a text, each "line:column RULE".
std::vector<std::string> faults_of(const std::string& source, EvaluateOptions options = {}) {
  ShapeChecker sink;
  Tensors tensors;
  Faults faults;
  evaluate(source, "g", sink, tensors, faults, options);
  std::vector<std::string> out;
  for (const Error& e : faults.list())
    out.push_back(e.where().substr(2) + " " + e.message().substr(0, e.message().find(':')));
  return out;
}

using List = std::vector<std::string>;

TEST(NnefLanguage, EveryFaultOfADocumentInOneRun) {
  EXPECT_EQ(faults_of("version 1.0;\n"
                      "graph g(x) -> (y)\n"
                      "{\n"
                      "  x = external(shape = [2, 3]);\n"
                      "  a = relu(x;\n"
                      "  b = exp();\n"
                      "  c = nothing(x);\n"
                      "  d = leaky_relu(x, 0.1);\n"
                      "  y = add(x, 1);\n"
                      "}\n"),
            (List{"5:13 S7", "6:11 S7", "8:21 I8", "9:14 T3"}))
      << "operations that are missing are not reported once text had to be left out";
}

TEST(NnefLanguage, FaultsSayWhatToDo) {
  const struct {
    const char *statement, *message;
  } rows[] = {
      {"y = rellu(x);", "I1: no operation is called 'rellu'; did you mean 'relu'?"},
      {"ab = relu(x); y = relu(ba);", "A8: 'ba' is not assigned before it is used; did you mean 'ab'?"},
      {"abc = relu(x); y = relu(abcd);", "A8: 'abcd' is not assigned before it is used; did you mean 'abc'?"},
      {"abc = relu(x); y = relu(ab);", "A8: 'ab' is not assigned before it is used; did you mean 'abc'?"},
      {"abc = relu(x); y = relu(aXc);", "A8: 'aXc' is not assigned before it is used; did you mean 'abc'?"},
      {"y = relu(other);", "A8: 'other' is not assigned before it is used"},
      {"y = softmax(x, axis = [1]);", "I5: 'softmax' has no parameter 'axis'; did you mean 'axes'?"},
      {"y = softmax(x, something = [1]);", "I5: 'softmax' has no parameter 'something'"},
      {"y = add(x, 1);", "T3: 'y' of 'add' is integer; needed tensor<scalar>; a scalar has a point, as 1.0"},
      {"y = leaky_relu(x, alpha = 1);",
       "T2: 'alpha' of 'leaky_relu' is integer; needed scalar; a scalar has a point, as 1.0"},
      {"y = concat(x, axis = 0);",
       "I9: 'values' of 'concat' is tensor<scalar>; needed tensor<?>[]; an array has brackets: [x]"},
      {"z = relu(x)\ny = relu(z);", "S6: found 'y'; needed ';' behind the line before"},
  };
  for (const auto& row : rows) {
    NoSink sink;
    Tensors tensors;
    Faults faults;
    const std::string text = "version 1.0;\n" + kGraph + row.statement + " }";
    evaluate(text, "g", sink, tensors, faults);
    ASSERT_EQ(faults.count(), 1u) << row.statement;
    EXPECT_EQ(faults.list()[0].message(), row.message);
  }
  EXPECT_EQ(faults_of("\xef\xbb\xbfversion 1.0;\n" + kGraph + "y = relu(x); }"), (List{"1:1 L1"}));
}

TEST(NnefLanguage, AFaultIsReportedOnce) {
  EXPECT_EQ(faults_of("version 1.0; graph g(x) -> (y) {\nx = external(shape = [2, 3]);\na = nothing(x);\nb = relu(a);\n"
                      "y = add(a, b);\n}"),
            (List{"3:5 I1"}));
  EXPECT_EQ(faults_of(kHead + "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = q; }\n" + kGraph +
                      "z = f(x); y = f(z); }"),
            (List{"4:60 A8"}));
}

TEST(NnefLanguage, ChainOfCallsIsTold) {
  ShapeChecker sink;
  Tensors tensors;
  Faults faults;
  evaluate(kHead +
               "fragment f(x: tensor<scalar>, n: integer) -> (y: tensor<scalar>) { y = sum_reduce(x, axes = [n]); }\n" +
               kGraph + "y = f(x, n = 5); }",
           "g", sink, tensors, faults);
  ASSERT_EQ(faults.count(), 1u);
  const std::string text = faults.list()[0].text();
  EXPECT_NE(text.find("O-RED-1"), std::string::npos) << text;
  EXPECT_NE(text.find("in f at g:5:55"), std::string::npos) << text;
}

TEST(NnefLanguage, EveryTextEnds) {
  const std::string f = "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) ";
  EXPECT_EQ(faults_of(kHead + f + "{ y = f(x); }\n" + kGraph + "y = f(x); }").size(), 1u);
  EXPECT_EQ(faults_of(kHead + f + "{ y = f(f(x)); }\n" + kGraph + "y = f(x); }").size(), 1u);
  EXPECT_FALSE(faults_of(kHead + kGraph + "y = reshape(x, shape = [1] * 9999999999); }").empty());
  EXPECT_FALSE(faults_of(kHead + kGraph + "y = " + std::string(100000, '(')).empty());
  EXPECT_FALSE(faults_of(kHead + kGraph + "for = graph fragment { [").empty());
}

TEST(NnefLanguage, BodiesOfTheStandardAreSound) {
  EXPECT_EQ(standard_operations().size(), 118u);
  EvaluateOptions lowered;
  lowered.lowered = [](const Declaration&) { return true; };
  for (const char* call :
       {"sqr(x)", "clamp(x, 0.0, 1.0)", "relu(x)", "gelu(x)", "selu(x)", "softmax(x)", "max_pool(x, size = [1,2])",
        "rms_pool(x, size = [1,2])", "local_contrast_normalization(x, size = [1,3], epsilon = 0.1)",
        "l2_normalization(x, axes = [1])", "linear(x, [[1.0]])",
        "batch_normalization(x, 0.0, 1.0, 0.0, 1.0, epsilon = 0.1)",
        "min_max_linear_quantize(x, 0.0, 1.0, bits = 8, signed = true, symmetric = true)",
        "zero_point_linear_quantize(x, 3, 0.5, bits = 8, signed = true, symmetric = false)",
        "logarithmic_quantize(x, 1.0, bits = 8)", "add_n([x, x, x])"}) {
    SCOPED_TRACE(call);
    const std::string text = "version 1.0; " + kGraph + "y = " + call + "; }";
    EXPECT_EQ(faults_of(text), faults_of(text, lowered));
  }
}

TEST(NnefLanguage, LayoutIsStableAndKeepsComments) {
  const std::string messy =
      "# about\nversion 1.0;extension KHR_enable_operator_expressions ,KHR_enable_fragment_definitions;\n\n"
      "fragment f<?>(x:tensor<?>,n:integer[]=[-1])->(y:tensor<?>){y=reshape(x,shape=[for i in n yield i])  ;# why\n}\n"
      "graph g(x)->(y){x=external<scalar>(shape=[2,3]);\n\n\n# next\ny=f(-x*2.0 if!(1<2)else x , n=[6]);}";
  Faults faults;
  const std::string once = format_text(messy, "g", faults);
  ASSERT_TRUE(faults.none()) << faults.list()[0].text();
  EXPECT_EQ(format_text(once, "g", faults), once);
  EXPECT_NE(once.find("  # why\n"), std::string::npos) << once;
  EXPECT_NE(once.find("    # next\n"), std::string::npos) << once;
  EXPECT_EQ(faults_of(messy).size(), faults_of(once).size());
}

}  // namespace
}  // namespace nnex::nnef_format
