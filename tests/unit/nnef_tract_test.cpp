// Documents as sonos/tract writes them: read only when asked, with shapes, symbols and answers.

#include "standards/nnef/tract/reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/infer.h"
#include "nnex/model.h"
#include "run/compile.h"
#include "standards/nnef/import_calls.h"
#include "standards/nnef/tract/operations.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

const std::string kHead = "version 1.0;\nextension tract_registry tract_core;\n";

std::optional<ir::Graph> read(const std::string& text, Faults& faults, const TractOptions& options = {}) {
  return import_tract(text, "g", options, faults);
}

/// The first output of the document's graph for one input (or none).
Result<Tensor> run(const std::string& text, const std::vector<Tensor>& in, const TractOptions& options = {}) {
  Faults faults;
  auto graph = read(text, faults, options);
  if (!graph) return std::move(faults).first();
  NNEX_ASSIGN(Model model, compile(*std::move(graph)));
  Session session = model.session();
  std::vector<Value> inputs(in.begin(), in.end());
  NNEX_ASSIGN(auto out, session.run(inputs));
  return *out[0].tensor();
}

std::string shown(const Result<Tensor>& t) {
  if (!t.ok()) return t.error().text();
  std::string s = t->shape().text() + ":";
  for (int64_t i = 0; i < t->count(); ++i) s += " " + element_text(*t, i);
  return s;
}

Tensor reals(std::vector<int64_t> shape, std::vector<float> items) { return Tensor::of(Shape(shape), items); }

TEST(NnefTract, Answers) {
  const struct {
    const char* name;
    std::string body;
    Tensor in;
    const char* out;
  } rows[] = {
      {"arrays are tensors, which meet from axis 0",
       "x = external(shape = [2,2]); y = mul(x, [[2.0], [3.0]]) + [1.0, 2.0];", reals({2, 2}, {1, 2, 3, 4}),
       "[2,2]: 3 5 11 14"},
      {"operators in flat text, names again", "x = external(shape = [2]); y = x * 2.0; y = y - 1;", reals({2}, {1, 2}),
       "[2]: 1 3"},
      {"whole numbers take the type they meet", "x = external(shape = [2]); y = select(x < 2, 0, x);",
       reals({2}, {1, 2}), "[2]: 0 2"},
      {"extents are symbols",
       "x = external(shape = [S]); n = tract_core_shape_of(x); y = tract_core_cast(n, to = 'f32');",
       reals({3}, {1, 2, 3}), "[1]: 3"},
      {"symbols in attributes",
       "x = external(shape = [1,S]); y = tract_core_broadcast(0.5, shape = [2, S/2 + 1]) + 0.0 * "
       "slice(x, axes = [1], begin = [0], end = [1]);",
       reals({1, 4}, {1, 2, 3, 4}), "[2,3]: 0.5 0.5 0.5 0.5 0.5 0.5"},
      {"tensors in attributes",
       "x = external(shape = [S]); n = squeeze(tract_core_shape_of(x), axes = [0]); h = div(n, 2);"
       "y = slice(x, axes = [0], begin = [h], end = [n]);",
       reals({4}, {1, 2, 3, 4}), "[2]: 3 4"},
      {"an end of 0", "x = external(shape = [3]); y = slice(x, axes = [0], begin = [1], end = [0]);",
       reals({3}, {1, 2, 3}), "[2]: 2 3"},
      {"names in quotes", "i\"x\" = external(shape = [2]); i\"a.0/b\" = neg(i\"x\"); y = neg(i\"a.0/b\");",
       reals({2}, {1, 2}), "[2]: 1 2"},
      {"quoted names", "\"x\" = external(shape = [2]); y = copy(x);", reals({2}, {1, 2}), "[2]: 1 2"},
      {"windows",
       "x = external(shape = [1,1,4]); y = conv(x, [[[1.0, 1.0]]], [[0.5]], padding = [(0,0)], stride = [2], "
       "dilation = [1], border = 'constant');",
       reals({1, 1, 4}, {1, 2, 3, 4}), "[1,1,2]: 3.5 7.5"},
      {"the standard's other operations", "x = external(shape = [1,1,1,2]); y = nearest_upsample(x, factor = [1,2]);",
       reals({1, 1, 1, 2}, {1, 2}), "[1,1,1,4]: 1 1 2 2"},
      {"reduction", "x = external(shape = [2,2]); y = sum_reduce(x, axes = [1], normalize = true);",
       reals({2, 2}, {1, 2, 3, 5}), "[2,1]: 1.5 4"},
      {"padding of arrays", "x = external(shape = [2]); y = pad(x, padding = [[1,0]], value = 9.0);",
       reals({2}, {1, 2}), "[3]: 9 1 2"},
      {"a range", "x = external(shape = [1]); y = x * tract_core_range(0, 3, step = 1);", reals({1}, {2}),
       "[3]: 0 2 4"},
      {"einsum",
       "x = external(shape = [2,2]); y = tract_core_einsum([x, x], expr = 'mk,nk->mn', acc = 'f32', output = '');",
       reals({2, 2}, {1, 2, 3, 4}), "[2,2]: 5 11 11 25"},
      {"einsum of several element types, summed in one",
       "x = external(shape = [2,2]); h = tract_core_cast(x, to = 'f16'); "
       "y = tract_core_einsum([x, h], expr = 'mk,nk->mn', acc = 'f32', output = '');",
       reals({2, 2}, {1, 2, 3, 4}), "[2,2]: 5 11 11 25"},
      {"einsum in half",
       "x = external(shape = [1,2]); z = tract_core_einsum([x, x], expr = 'mk,nk->mn', acc = 'f16'); "
       "y = tract_core_cast(z, to = 'f32');",
       reals({1, 2}, {64, 1}), "[1,1]: 4096"},
      {"sizes of a picture",
       "x = external(shape = [1,1,2]); y = tract_core_resize(x, sizes = [1,1,4], interpolator = 'linear');",
       reals({1, 1, 2}, {0, 4}), "[1,1,4]: 0 1 3 4"},
      {"scales of a picture", "x = external(shape = [1,1,2]); y = tract_core_resize(x, [1.0,1.0,2.0]);",
       reals({1, 1, 2}, {0, 4}), "[1,1,4]: 0 0 0 4"},
      {"subscripts of extents",
       "x = external(shape = [A,B]); n = tract_core_shape_of(x); y = reshape(x, shape = [n[1], n[0]]);",
       reals({1, 3}, {1, 2, 3}), "[3,1]: 1 2 3"},
      {"ranges of extents",
       "x = external(shape = [A,B]); y = tract_core_cast(tract_core_shape_of(x)[1:], to = 'f32') + 0.0 * x[0];",
       reals({1, 2}, {1, 2}), "[2]: 2 2"},
      {"extents by the word of NNEF", "x = external(shape = [A,B]); y = reshape(x, shape = [shape_of(x)[1], -1]);",
       reals({1, 2}, {1, 2}), "[2,1]: 1 2"},
      {"no end", "x = external(shape = [2]); y = max(x, -inf) + select(x < inf, 0.0, 1.0);", reals({2}, {1, 2}),
       "[2]: 1 2"},
      {"a wave's spectrum", "x = external(shape = [4,2]); y = tract_core_fft(x, axis = 0, inverse = false);",
       reals({4, 2}, {1, 0, 2, 0, 3, 0, 5, 0}), "[4,2]: 11 0 -2 3 -3 0 -2 -3"},
      {"the inverse is not divided", "x = external(shape = [2,2]); y = tract_core_fft(x, axis = 0, inverse = true);",
       reals({2, 2}, {1, 0, 2, 0}), "[2,2]: 3 0 -1 0"},
      {"spectra of frames", "x = external(shape = [1,4,2]); y = tract_core_stft(x, axis = 1, frame = 2, stride = 2);",
       reals({1, 4, 2}, {1, 0, 2, 0, 3, 0, 5, 0}), "[1,2,2,2]: 3 0 -1 0 8 0 -2 0"},
      {"a short window stands in the middle",
       "x = external(shape = [5,2]); y = tract_core_stft(x, axis = 0, frame = 4, stride = 1, window = [2.0, 2.0]);",
       reals({5, 2}, {1, 0, 2, 0, 3, 0, 5, 0, 7, 0}), "[2,4,2]: 10 0 -6 -4 2 0 -6 4 16 0 -10 -6 4 0 -10 6"},
      {"frames of an axis before another",
       "x = external(shape = [2,2,2]); y = tract_core_stft(x, axis = 0, frame = 2, stride = 1);",
       reals({2, 2, 2}, {1, 0, 10, 0, 2, 0, 20, 0}), "[1,2,2,2]: 3 0 30 0 -1 0 -10 0"},
      {"what is infinite",
       "x = external(shape = [2]); z = tract_core_is_inf(x / 0.0, detect_negative = false); y = select(z, 1.0, 0.0);",
       reals({2}, {1, -1}), "[2]: 1 0"},
      {"a constant power", "x = external(shape = [2]); y = tract_core_pow_const(x, exponent = 3.0);",
       reals({2}, {1, 2}), "[2]: 1 8"},
      {"places of a grid",
       "x = external(shape = [1,1,1,3]); y = tract_core_grid_sample(x, [[[[0.0, 0.0], [1.0, 0.0]]]], mode = "
       "'bilinear', padding_mode = 'border', align_corners = true);",
       reals({1, 1, 1, 3}, {1, 2, 5}), "[1,1,1,2]: 2 5"},
      {"gates within limits",
       "x = external(shape = [3]); y = tract_core_clamped_swiglu(x, x, alpha = 0.0, limit = 2.0);",
       reals({3}, {1, 4, -3}), "[3]: 1 3 1.5"},
      {"the end of a step of an LSTM",
       "x = external(shape = [1,4]); (h, c) = tract_core_lstm_epilogue(x * 0.0, [[4.0]], hidden = 1); y = c;",
       reals({1, 4}, {1, 2, 3, 4}), "[1,1]: 2"},
      {"compound operations of what a run makes",
       "x = external(shape = [1,2]); h = neg(x); y = batch_normalization(h, [[1.0,2.0]], [[3.0,3.0]], 0.0, 1.0, "
       "epsilon = 1.0);",
       reals({1, 2}, {1, 2}), "[1,2]: -1 -2"},
      {"upsampling of what a run makes",
       "x = external(shape = [1,1,1,2]); h = neg(x); y = nearest_upsample(h, factor = [1,2]);",
       reals({1, 1, 1, 2}, {1, 2}), "[1,1,1,4]: -1 -1 -2 -2"},
      {"a convolution goes on with its edges",
       "x = external(shape = [1,1,3]); y = conv(x, [[[1.0,1.0,1.0]]], padding = [(1,1)], border = 'replicate');",
       reals({1, 1, 3}, {1, 2, 3}), "[1,1,3]: 4 6 8"},
      {"a convolution is reflected",
       "x = external(shape = [1,1,3]); y = conv(x, [[[1.0,1.0,1.0]]], padding = [(1,1)], border = 'reflect');",
       reals({1, 1, 3}, {1, 2, 3}), "[1,1,3]: 5 6 7"},
      {"a box goes on with its edges",
       "x = external(shape = [1,1,3]); y = box(x, size = [1,1,3], padding = [(0,0),(0,0),(1,1)], border = "
       "'reflect-even');",
       reals({1, 1, 3}, {1, 2, 3}), "[1,1,3]: 4 6 8"},
      {"a mean beyond the edges",
       "x = external(shape = [1,1,3]); y = avg_pool(x, size = [1,1,2], padding = [(0,0),(0,0),(1,0)], border = "
       "'replicate');",
       reals({1, 1, 3}, {1, 2, 3}), "[1,1,3]: 1 1.5 2.5"},
      {"what lies beyond a constant border does not count",
       "x = external(shape = [1,1,3]); y = avg_pool(x, size = [1,1,2], padding = [(0,0),(0,0),(1,0)]);",
       reals({1, 1, 3}, {1, 2, 3}), "[1,1,3]: 1 1.5 2.5"},
      {"copies", "x = external(shape = [2]); [a, b] = copy_n(x, times = 2); y = a + b;", reals({2}, {1, 2}),
       "[2]: 2 4"},
      {"attention sees no later key",
       "x = external(shape = [1,2,1]); y = tract_core_cast(x, to = 'f32'); y = reshape(y, shape = [1,-1,1]);",
       reals({1, 2, 1}, {1, 2}), "[1,2,1]: 1 2"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(shown(run(kHead + "graph g(x) -> (y) { " + row.body + " }", {row.in})), row.out);
  }
}

TEST(NnefTract, Scan) {
  // A running sum with the sum so far as state; the last state and all of them.
  const std::string text =
      kHead +
      "fragment step(h: tensor<scalar>, x_t: tensor<scalar>, w: tensor<scalar>) -> (n: tensor<scalar>)"
      "{ n = h + x_t * w; }\n"
      "graph g(x) -> (y) { x = external(shape = [T, 2]); (y, last) = tract_core_scan(body = 'step',"
      " scan = [('x.t', x, 0, 1)], full = [('w', 10.0)], state = [('h', [[0.0, 1.0]], 'n')],"
      " output = [('n', 'full', 0, 1), ('n', 'last', 0, 1)], skip = 0); ";
  const Tensor x = reals({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(shown(run(text + "}", {x})), "[3,2]: 10 21 40 61 90 121");
  std::string last = text;
  last.replace(last.find("-> (y) {"), 8, "-> (last) {");
  EXPECT_EQ(shown(run(last + "}", {x})), "[1,2]: 90 121");
}

TEST(NnefTract, ADelayKeepsTheEndOfTheStream) {
  Faults faults;
  auto graph =
      read(kHead +
               "extension tract_registry tract_pulse;\n"
               "graph g(x) -> (y, z) { x = external(shape = [1,2]); y = tract_pulse_delay(x, axis = 1, delay = 1,"
               " overlap = 2); z = tract_pulse_delay(x, axis = 1, delay = 0, overlap = 0); }",
           faults);
  ASSERT_TRUE(graph) << faults.list()[0].text();
  ASSERT_EQ(graph->states.size(), 1u);
  auto model = compile(*std::move(graph));
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session session = model->session();
  const char* const want[] = {"[1,4]: 0 0 0 1", "[1,4]: 0 1 2 3", "[1,4]: 2 3 4 5"};
  for (int step = 0; step < 3; ++step) {
    const std::vector<Value> in = {Value(reals({1, 2}, {2.0f * step + 1, 2.0f * step + 2}))};
    auto out = session.run(in);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(shown(*(*out)[0].tensor()), want[step]);
  }
}

TEST(NnefTract, UpdatedVariablesAreStates) {
  Faults faults;
  TractOptions options;
  options.variable = [](std::string_view, const Ints&) -> Result<Tensor> { return reals({1}, {1}); };
  auto graph = read(kHead +
                        "graph g(x) -> (y) { x = external(shape = [1]); c = variable<scalar>(label = 'c', shape = [1]);"
                        " y = c + x; n = update(c, y); }",
                    faults, options);
  ASSERT_TRUE(graph) << faults.list()[0].text();
  auto model = compile(*std::move(graph));
  ASSERT_TRUE(model.ok()) << model.error().text();
  Session session = model->session();
  for (const char* want : {"[1]: 3", "[1]: 5", "[1]: 7"}) {
    const std::vector<Value> in = {Value(reals({1}, {2}))};
    auto out = session.run(in);
    ASSERT_TRUE(out.ok()) << out.error().text();
    EXPECT_EQ(shown(*(*out)[0].tensor()), want);
  }
}

TEST(NnefTract, AllFaultsAreTold) {
  TractOptions options;
  options.variable = [](std::string_view, const Ints&) -> Result<Tensor> { return reals({1}, {1}); };
  Faults faults;
  EXPECT_FALSE(read(kHead + "graph g(x) -> (y, z) { x = external(shape = [1]);\n a = conv(x, x);\n b = neg(a);\n"
                            " y = copy(x);\n c = variable<scalar>(label = 'c', shape = [1]);\n"
                            " d = update(x, c);\n e = update(c, [1.0, 2.0]);\n"
                            " f = conv([[[1.0]]], [[[1.0]]], border = 'foo'); }",
                    faults, options));
  std::string places;
  for (const Error& e : faults.list()) places += e.where() + " ";
  EXPECT_EQ(places, "g:4:6 g:8:6 g:9:6 g:10:6 g:3:19 ") << "what reads a lost name has no fault of its own";
}

TEST(NnefTract, MissingOperationsAreNamedAtOnce) {
  Faults faults;
  EXPECT_FALSE(read(kHead +
                        "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = tract_core_qmatmul(nowhere(x)); }\n"
                        "graph g(x) -> (y) { x = external(shape = [2]); y = elsewhere(f(x)); }",
                    faults));
  ASSERT_EQ(faults.count(), 1u);
  EXPECT_EQ(faults.list()[0].code(), Code::unsupported);
  EXPECT_EQ(faults.list()[0].message(), "3 operations are missing: elsewhere, tract_core_qmatmul, nowhere");
}

TEST(NnefTract, RegistriesMustBeNamed) {
  Faults faults;
  EXPECT_FALSE(read("version 1.0;\ngraph g(x) -> (y) { x = external(shape = [2]); y = tract_core_erf(x); }", faults));
  EXPECT_NE(faults.list()[0].message().find("tract_core_erf"), std::string::npos);
  Faults others;
  EXPECT_FALSE(
      read("version 1.0;\nextension tract_registry mine;\ngraph g(x) -> (y) { x = external(shape = [2]); y = "
           "copy(x); }",
           others));
  EXPECT_NE(others.list()[0].message().find("'mine' is not known"), std::string::npos);
}

TEST(NnefTract, VariablesInFragments) {
  TractOptions options;
  std::string labels;
  options.variable = [&](std::string_view label, const Ints&) -> Result<Tensor> {
    labels += std::string(label) + " ";
    return reals({2}, {2, 3});
  };
  EXPECT_EQ(shown(run("version 1.0;\nextension tract_registry tract_core;\n"
                      "fragment layer(x: tensor<scalar>, scope: string) -> (y: tensor<scalar>) "
                      "{ w = variable<scalar>(label = scope + '.w', shape = [2]); y = x * w; }\n"
                      "graph g(x) -> (y) { x = external(shape = [2]); a = layer(x, scope = 'a'); y = layer(a, scope = "
                      "'b'); }",
                      {reals({2}, {1, 2})}, options)),
            "[2]: 4 18");
  EXPECT_EQ(labels, "a.w b.w ");
}

TEST(NnefTract, OtherShapes) {
  TractOptions options;
  options.shapes["x"] = {4};
  EXPECT_EQ(shown(run(kHead + "graph g(x) -> (y) { x = external(shape = [2]); y = sum_reduce(x, axes = [0]); }",
                      {reals({4}, {1, 2, 3, 4})}, options)),
            "[1]: 10");
}

TEST(NnefTract, FaultsTellTheirCallsAndWhatWasNeeded) {
  const struct {
    const char *body, *says;
  } rows[] = {
      {"y = [for i in [1, 2, 3], j in [x, x] yield i];", "g:4:78: a loop over arrays of 3 and 2 items"},
      {"y = [for i in 1 yield i];", "g:4:62: a loop over 1; needed an array"},
      {"y = f(x);", "g:3:35: A7: result 'y' is not assigned\n  while in f at g:4:52"},
      {"y = f(x, z = x);", "g:4:61: I5: 'f' has no parameter 'z'"},
      {"y = +x; y = f(+[1.0, 2.0], x);", "g:4:75: I2: 'f' takes 1 arguments"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.body);
    Faults faults;
    ASSERT_FALSE(read(kHead + "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { z = x; }\n" +
                          "graph g(x) -> (y) { x = external(shape = [2]); " + row.body + " }",
                      faults));
    EXPECT_EQ(faults.list()[0].text(), row.says);
  }
}

TEST(NnefTract, TheStandardRefusesAndSaysWhy) {
  const auto faults_of = [](const std::string& text) {
    ShapeChecker sink;
    Tensors tensors;
    Faults faults;
    evaluate(text, "g", sink, tensors, faults);
    return faults;
  };
  EXPECT_TRUE(faults_of(kHead + "graph g(x) -> (y) { x = external(shape = [2]); y = copy(x); }").none())
      << "an extension of which nothing is used is no fault";
  const Faults faults = faults_of(kHead + "graph g(x) -> (y) { x = external(shape = [2]); y = tract_core_erf(x); }");
  ASSERT_EQ(faults.count(), 2u);
  EXPECT_EQ(faults.list()[0].message().substr(0, 2), "I1");
  EXPECT_NE(faults.list()[1].text().find("; option nnef.dialect = tract reads what tract writes"), std::string::npos);
}

TEST(NnefTract, BlocksOfFourBits) {
  // One block: scale -0.5, items 8, 9, 10, ... in low and high halves.
  std::string file("\x4e\xef\x01\x00", 4);
  const auto number = [&](uint32_t n, size_t bytes) { file.append(reinterpret_cast<const char*>(&n), bytes); };
  number(18, 4), number(1, 4), number(32, 4);
  file.append(28, '\0');
  number(0xffffffff, 4), number(0x2040, 2), number(0x5452, 2);
  file.resize(128, '\0');
  number(0xb800, 2);
  for (int i = 0; i < 16; ++i) number(i == 0 ? 0x98 : 0x88, 1);
  auto t = tract_items(file, nullptr);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(real_at(*t, 0), 0);
  EXPECT_EQ(real_at(*t, 1), -0.5);
  EXPECT_EQ(real_at(*t, 2), 0);
  file.pop_back();
  EXPECT_FALSE(tract_items(file, nullptr).ok());
}

TEST(NnefTract, BrokenTextsEnd) {
  const std::string whole =
      kHead +
      "extension tract_symbol S;\nextension tract_assert S >= 1;\n"
      "fragment f(a: tensor<scalar>, n: integer[] = [1]) -> (b: tensor<scalar>) { b = f(a) if 1 < 2 else a; }\n"
      "graph g(x) -> (y, z) { x = external(shape = [S, 2*S]); (y, z) = tract_core_topk(x[0], k = [for i in [1] yield "
      "i], "
      "axis = 0); }";
  for (size_t n = 0; n < whole.size(); ++n) {
    Faults cut, erased;
    read(whole.substr(0, n), cut);
    std::string one = whole;
    read(one.erase(n, 1), erased);
  }
}

}  // namespace
}  // namespace nnex::nnef_format
