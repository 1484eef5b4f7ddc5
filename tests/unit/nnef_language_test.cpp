// The language of NNEF: faults with their rules and places, evaluation, layout.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cpu_time.h"
#include "share.h"
#include "standards/nnef/format.h"
#include "standards/nnef/import_calls.h"

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
  EXPECT_EQ(faults_of(kHead + kGraph + "y = x * [][0]; }"), (List{"4:61 E6"}));
  EXPECT_EQ(faults_of("\xef\xbb\xbfversion 1.0;\n" + kGraph + "y = relu(x); }"), (List{"1:1 L1"}));
}

TEST(NnefLanguage, ADefaultHasNoParentheses) {
  const auto with = [](const std::string& otherwise) {
    return faults_of(kHead + "fragment f(x: tensor<scalar>, a: integer = " + otherwise +
                     ") -> (y: tensor<scalar>) { y = relu(x); }\n" + kGraph + "y = f(x); }");
  };
  EXPECT_EQ(with("-1"), List{});
  EXPECT_EQ(with("(1)"), (List{"4:44 S13"}));
  EXPECT_EQ(with("-(1)"), (List{"4:45 S13"}));
}

TEST(NnefLanguage, AFaultIsReportedOnce) {
  EXPECT_EQ(faults_of("version 1.0; graph g(x) -> (y) {\nx = external(shape = [2, 3]);\na = nothing(x);\nb = relu(a);\n"
                      "y = add(a, b);\n}"),
            (List{"3:5 I1"}));
  EXPECT_EQ(faults_of(kHead + "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = q; }\n" + kGraph +
                      "z = f(x); y = f(z); }"),
            (List{"4:60 A8"}));
}

/// Of a document that breaks one rule once: the place, what was found and what is needed, and nothing that follows.
TEST(NnefLanguage, AFaultTellsNoOtherThatFollows) {
  const auto in_graph = [](const std::string& statements) {
    return "version 1.0;\n" + kGraph + "\n" + statements + "\n}";
  };
  const std::string graph = kGraph + "y = relu(x); }";
  std::string wide = "\xff\xfe";
  for (const char c : "version 1.0;\n" + graph) wide += {c, '\0'};
  const struct {
    std::string text, fault;
  } rows[] = {
      {"version 1.0.5;\n" + graph, "g:1:9: L2: '1.0.5' is no number; needed one as 1, 1.0 or 1.0e-3"},
      {"version -1.0;\n" + graph, "g:1:9: S2: found '-'; needed a version as 1.0"},
      {"", "g:1:1: S1: found the end; needed the version of the document; put 'version 1.0;' first"},
      {wide, "g:1:1: L1: the text is of characters of 2 or 4 bytes (UTF-16, UTF-32); needed ASCII"},
      {in_graph("y = copy<foo>(x);"), "g:3:10: T11: found 'foo'; needed a type: integer, scalar, logical, string or ?"},
      {in_graph("y = copy< 1 > (x);"), "g:3:11: T11: found '1'; needed a type: integer, scalar, logical, string or ?"},
      {in_graph("y = copy<>(x);"), "g:3:10: T11: found '>'; needed a type: integer, scalar, logical, string or ?"},
      {in_graph("y = reshape(x, shape = [99999999999999999999]);"),
       "g:3:25: L2: 99999999999999999999 does not fit in 64 bits"},
      {in_graph("y = add(x, 1.0e999);"), "g:3:12: L2: 1.0e999 does not fit in a real of 64 bits"},
      {"version 1.0;\ngraph g(x) -> (y) { y = relu(x); }",
       "g:2:30: A3: graph parameter 'x' is used before its external"},
      {in_graph("y = relu(x); x = relu(y);"),
       "g:3:14: A3: graph parameter 'x' is assigned by something else than external"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.fault);
    ShapeChecker sink;
    Tensors tensors;
    Faults faults;
    evaluate(row.text, "g", sink, tensors, faults);
    List found;
    for (const Error& e : faults.list()) found.push_back(e.text());
    EXPECT_EQ(found, List{row.fault});
  }
  EXPECT_EQ(faults_of(in_graph("y = x < x;")), (List{"3:7 S8"}));
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

TEST(NnefLanguage, TextsOfNoLanguageEndEarly) {
  EXPECT_EQ(faults_of("version 1.0;\n@@@@$~@ graph").size(), faults_of("version 1.0;\n@ graph").size());
  const double before = test::cpu_seconds();
  EXPECT_FALSE(faults_of(std::string(size_t{16} << 20, '@')).empty());
  std::string mixed = "version 1.0;\n";
  for (size_t i = 0; i < size_t{4} << 20; ++i) mixed += "@ ";
  EXPECT_LE(faults_of(mixed).size(), 1002u);
  EXPECT_LT(test::cpu_seconds() - before, 5.0 * static_cast<double>(test::share()));
}

/// `unit` n times.
std::string times(size_t n, const std::string& unit) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += unit;
  return out;
}

/// The graph's body with `y` a fragment's result, whose body is given.
std::string by_fragment(const std::string& body) {
  return kHead + "fragment f(x: tensor<scalar>, n: integer = 1) -> (y: tensor<scalar>) { " + body + " }\n" + kGraph +
         "y = f(x); }";
}

/// Texts that nest n deep in one way each.
struct Nested {
  const char* name;
  std::string (*text)(size_t n);
};
const Nested kNested[] = {
    {"sum", [](size_t n) { return kHead + kGraph + "y = x" + times(n, " + x") + "; }"; }},
    {"sum of numbers",
     [](size_t n) { return by_fragment("k = 1" + times(n, " + 1") + "; y = leaky_relu(x, alpha = scalar(k));"); }},
    {"if-else", [](size_t n) { return by_fragment("y = " + times(n, "copy(x) if n == 0 else ") + "relu(x);"); }},
    {"parentheses",
     [](size_t n) { return kHead + kGraph + "y = " + times(n, "(") + "x" + times(n, ")") + " + 1.0; }"; }},
    {"calls", [](size_t n) { return kHead + kGraph + "y = " + times(n, "relu(") + "x" + times(n, ")") + "; }"; }},
    {"signs", [](size_t n) { return kHead + kGraph + "y = " + times(n, "-") + "x; }"; }},
    {"subscripts",
     [](size_t n) { return by_fragment("k = [0]; j = " + times(n, "k[") + "0" + times(n, "]") + "; y = relu(x);"); }},
    {"ranges", [](size_t n) { return by_fragment("k = [0]; j = k" + times(n, "[0:1]") + "; y = relu(x);"); }},
    {"loops",
     [](size_t n) {
       return by_fragment("k = " + times(n, "[for i in ") + "[1]" + times(n, " yield i]") + "; y = relu(x);");
     }},
    {"a fragment that calls itself",
     [](size_t n) {
       return kHead +
              "fragment f(x: tensor<scalar>, n: integer) -> (y: tensor<scalar>) { y = exp(f(x, n = n - 1)) if n > 0 "
              "else "
              "copy(x); }\n" +
              kGraph + "y = f(x, n = " + std::to_string(n) + "); }";
     }},
    {"a list that shortens",
     [](size_t n) {
       return kHead +
              "fragment s(x: tensor<scalar>[]) -> (y: tensor<scalar>) { y = x[0] + s(x[1:]) if length_of(x) > 1 else "
              "x[0]; }\n" +
              kGraph + "y = s([x] * " + std::to_string(n) + "); }";
     }},
};

TEST(NnefLanguage, TextsNestTenThousandDeep) {
  for (const Nested& row : kNested) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(faults_of(row.text(9000)), List{});
    const List deeper = faults_of(row.text(100000));
    EXPECT_EQ(deeper.size(), 1u);
  }
}

TEST(NnefLanguage, ListsNestAFewHundredDeep) {
  EXPECT_EQ(faults_of(by_fragment("k = " + times(200, "[") + "1" + times(200, "]") + "; y = relu(x);")), List{});
  std::string grown = "a0 = [1]; ";
  for (int i = 0; i < 20000; ++i) grown += "a" + std::to_string(i + 1) + " = [a" + std::to_string(i) + "]; ";
  for (const std::string& text :
       {by_fragment("k = " + times(5000, "[") + "1" + times(5000, "]") + "; y = relu(x);"),
        by_fragment("k = " + times(5000, "(1, ") + "1" + times(5000, ")") + "; y = relu(x);"),
        by_fragment(grown + "y = relu(x);"), kHead + kGraph + times(5000, "[") + "y" + times(5000, "]") + " = x; }",
        kHead + "fragment f(x: tensor<scalar>, n: integer" + times(5000, "[]") +
            ") -> (y: tensor<scalar>) { y = relu(x); }\n" + kGraph + "y = f(x, n = []); }",
        kHead + "fragment f(x: tensor<scalar>, n: integer[] = " + times(5000, "[") + times(5000, "]") +
            ") -> (y: tensor<scalar>) { y = relu(x); }\n" + kGraph + "y = f(x); }"})
    EXPECT_EQ(faults_of(text).size(), 1u) << text.substr(0, 200);
}

/// `item(i)` for each number below n, with commas.
std::string listed(size_t n, const std::function<std::string(size_t)>& item) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += (i ? ", " : "") + item(i);
  return out;
}
std::string number(size_t i) { return std::to_string(i); }
/// A graph on a tensor of n axes.
std::string of_rank(size_t n, const std::string& call) {
  return "version 1.0; graph g(x) -> (y) { x = external(shape = [" + listed(n, [](size_t) { return "1"; }) +
         "]); y = " + call + "; }";
}

TEST(NnefLanguage, WorkGrowsWithTheText) {
  const Nested rows[] = {
      {"unsqueeze", [](size_t n) { return of_rank(1, "unsqueeze(x, axes = [" + listed(n, number) + "])"); }},
      {"squeeze", [](size_t n) { return of_rank(n, "squeeze(x, axes = [" + listed(n, number) + "])"); }},
      {"sum_reduce", [](size_t n) { return of_rank(n, "sum_reduce(x, axes = [" + listed(n, number) + "])"); }},
      {"slice",
       [](size_t n) {
         const auto same = [&](const char* item) { return listed(n, [&](size_t) { return item; }); };
         return of_rank(
             n, "slice(x, axes = [" + listed(n, number) + "], begin = [" + same("0") + "], end = [" + same("1") + "])");
       }},
      {"parameters",
       [](size_t n) {
         return kHead + "fragment f(x: tensor<scalar>, " +
                listed(n, [](size_t i) { return "p" + number(i) + ": integer = 1"; }) +
                ") -> (y: tensor<scalar>) { y = relu(x); }\n" + kGraph + "y = f(x, " +
                listed(n, [n](size_t i) { return "p" + number(n - 1 - i) + " = 2"; }) + "); }";
       }},
      {"names that nobody assigned",
       [](size_t n) {
         std::string body;
         for (size_t i = 0; i < n / 10; ++i) body += "v" + number(i) + " = relu(unassigned" + number(i) + "); ";
         return "version 1.0; " + kGraph + body + "y = relu(v0); }";
       }},
      {"operations that there are not",
       [](size_t n) {
         std::string body;
         for (size_t i = 0; i < n / 10; ++i) body += "v" + number(i) + " = unheard_of" + number(i) + "(x); ";
         return "version 1.0; " + kGraph + body + "y = relu(v0); }";
       }},
  };
  const auto seconds = [](const std::string& text) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double begin = test::cpu_seconds();
      faults_of(text);
      best = std::min(best, test::cpu_seconds() - begin);
    }
    return best;
  };
  for (const Nested& row : rows) {
    // Four times as much is 16 times the work where each meets each. What is longer than 65,536 shape rules do not
    // see.
    const double few = seconds(row.text(15000)), many = seconds(row.text(60000));
    EXPECT_LT(many, 9 * std::max(few, 0.002)) << row.name << ": " << few << " s for 15,000, " << many << " for 60,000";
  }
}

TEST(NnefLanguage, EveryTypeCastsToAGenericOne) {
  const std::string graph =
      "graph g(x, i) -> (y) { x = external(shape = [2, 3]); i = external<integer>(shape = [2, 3]); y = ";
  const struct {
    const char *fragment, *call;
    List faults;
  } rows[] = {
      {"f<?>(x: tensor<?>) -> (y: tensor<?>) { y = select(true, x, constant<?>(shape = [1], value = [0.0])); }",
       "f(x)",
       {}},
      {"f<?>(x: tensor<?>) -> (y: tensor<?>) { y = select(true, x, constant<?>(shape = [1], value = [0.0])); }",
       "f(i)",
       {"4:69 I9"}},
      {"f<?>(x: tensor<?>) -> (y: tensor<?>) { y = select(true, 1.0, x); }", "f(x)", {}},
      {"f<?>(x: tensor<?>) -> (y: tensor<?>) { y = select(true, 1.0, x); }", "f(i)", {"4:53 I9"}},
      {"f<?>(x: tensor<?>, v: ? = 1) -> (y: tensor<?>) { y = select(true, x, v); }", "f(i)", {}},
      {"f<? = scalar>(x: tensor<?>, v: ? = 1) -> (y: tensor<?>) { y = select(true, x, v); }", "f<integer>(i)", {}},
      {"f<? = scalar>(x: tensor<?>, v: ? = 1) -> (y: tensor<?>) { y = select(true, x, v); }", "f(x, v = 2.5)", {}},
      {"f<? = scalar>(x: tensor<?>, v: ? = 1) -> (y: tensor<?>) { y = select(true, x, v); }",
       "f(x, v = 2)",
       {"5:106 T12"}},
      {"f<?>(x: tensor<?>) -> (y: tensor<?>) { y = 1.0; }", "f(x)", {}},
      {"f<?>(x: tensor<?>) -> (y: tensor<?>) { y = 1.0; }", "f(i)", {"5:97 T7"}},
      {"f<?>(x: tensor<?>) -> (y: tensor<scalar>) { y = x; }", "f(x)", {"4:33 T7"}},
  };
  for (const auto& row : rows)
    EXPECT_EQ(faults_of(kHead + "fragment " + row.fragment + "\n" + graph + row.call + "; }"), row.faults)
        << row.fragment << " " << row.call;
}

TEST(NnefLanguage, BodiesOfTheStandardAreSound) {
  EXPECT_EQ(standard_operations().size(), 118u);
  EvaluateOptions lowered;
  lowered.expanded = [](const Declaration&) { return true; };
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
