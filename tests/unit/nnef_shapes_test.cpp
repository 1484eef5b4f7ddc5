// Shapes of NNEF's operations: extents of results, and the rule that a wrong call breaks.

#include "standards/nnef/import_calls.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace nnex::nnef_format {
namespace {

/// A document of one graph whose inputs are what the body calls external.
std::string document(const std::string& body) {
  std::string parameters, rest = body;
  size_t at = 0;
  while ((at = rest.find("= external")) != std::string::npos) {
    size_t begin = rest.rfind(';', at);
    begin = begin == std::string::npos ? 0 : begin + 1;
    std::string name = rest.substr(begin, at - begin);
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    parameters += (parameters.empty() ? "" : ", ") + name;
    rest = rest.substr(at + 10);
  }
  return fmt::format("version 1.0;\ngraph net({}) -> (y) {{\n{}\n}}\n", parameters, body);
}

/// Remembers the extents of named tensors.
class Shapes : public ShapeChecker {
 public:
  void assigned(std::string_view name, TensorId id, Tensors& tensors) override {
    if (tensors[id].shaped) extents[std::string(name)] = tensors[id].extents;
  }
  std::map<std::string, Ints> extents;
};

struct Row {
  const char* body;
  Ints y;                      ///< The extents of y;
  const char* rule = nullptr;  ///< or the rule that is broken.
};

void check(const Row& row) {
  SCOPED_TRACE(row.body);
  const std::string text = document(row.body);
  Shapes sink;
  Tensors tensors;
  Faults faults;
  const bool fine = evaluate(text, "graph.nnef", sink, tensors, faults);
  if (row.rule) {
    ASSERT_FALSE(fine) << "accepted";
    EXPECT_NE(faults.list()[0].text().find(fmt::format("{}: ", row.rule)), std::string::npos)
        << faults.list()[0].text();
    return;
  }
  ASSERT_TRUE(fine) << faults.list()[0].text();
  EXPECT_EQ(sink.extents["y"], row.y);
}

const Row kElementwise[] = {
    {"x = external(shape = [2,3,1]); y = atanh(x);", {2, 3, 1}},
    {"x = external(shape = []); y = neg(x);", {}},
    {"x = external(shape = [2,0]); y = neg(x);", {}, "O-INTRO-1"},
    {"x = external(shape = [4294967296,4294967296]); y = neg(x);", {}, "O-INTRO-1"},
    {"x = external(shape = [2,1,4]); z = external(shape = [1,3]); y = mul(x, z);", {2, 3, 4}},
    {"x = external(shape = [2,3]); z = external(shape = [2]); y = add(x, z);", {2, 3}},
    {"x = external(shape = [2,3]); z = external(shape = [3]); y = add(x, z);", {}, "O-BIN-1"},
    {"x = external(shape = [2,3]); y = max(x, 1.0);", {2, 3}},
    {"x = external(shape = [1,1]); a = external(shape = [1,4]); y = prelu(x, a);", {1, 4}},
    {"x = external(shape = [2,3]); a = external(shape = [2,2]); y = clamp(x, a, 6.0);", {}, "O-SEL-1"},
    {"x = external(shape = [2,3]); z = external(shape = [1,3]); y = add_n([x, z, 1.0]);", {2, 3}},
    {"x = external(shape = [2,3]); z = external(shape = [2,4]); y = add_n([x, z]);", {}, "O-MISC-2"},
    {"x = external(shape = [2,3]); [y, z] = copy_n(x, times = 2);", {2, 3}},
    {"x = external(shape = [2,3]); [y, z] = copy_n(x, times = 3);", {}, "A2"},
    {"x = external(shape = [2,3]); c = constant(shape = [2,3], value = [0.5]); y = add(x, c);", {2, 3}},
    {"x = external(shape = [2,3]); c = constant(shape = [1,3], value = [0.5, 1.0]); y = add(x, c);", {}, "O-CONST-1"},
    {"x = external(shape = [2,3]); v = variable(shape = [2,3], label = 'a b'); y = add(x, v);", {}, "O-VAR-1"},
    {"x = external(shape = [2,3]); v = variable(shape = [1,3], label = 'a'); w = variable(shape = [2,3], label = 'A'); "
     "u = add(v, w); y = add(x, u);",
     {},
     "A14"},
    {"x = external(shape = [1,3]); v = variable(shape = [2,3], label = 'a'); y = update(v, x);", {}, "O-UPD-1"},
    {"x = external(shape = [2,3]); v = variable(shape = [2,3], label = 'a'); w = variable(shape = [2,3], label = 'A'); "
     "u = update(v, x); y = update(w, x);",
     {},
     "A13"},
};

const Row kWindows[] = {
    {"x = external(shape = [1,3,7,8]); f = external(shape = [4,3,3,3]); y = conv(x, f, stride = [2,2]);", {1, 4, 4, 4}},
    {"x = external(shape = [1,2,10]); f = external(shape = [4,2,3]); y = conv(x, f, padding = [(0,0)], stride = [2]);",
     {1, 4, 4}},
    {"x = external(shape = [1,1,8]); f = external(shape = [1,1,3]); y = conv(x, f, padding = [(-1,-2)]);", {1, 1, 3}},
    {"x = external(shape = [1,3,8,8]); f = external(shape = [4,3,3]); y = conv(x, f);", {}, "O-CONV-1"},
    {"x = external(shape = [1,3,8,8]); f = external(shape = [4,3,3,3]); y = conv(x, f, padding = [(1,1)]);",
     {},
     "O-CONV-2"},
    {"x = external(shape = [1,6,8,8]); f = external(shape = [4,2,3,3]); y = conv(x, f, groups = 3);", {}, "O-CONV-3"},
    {"x = external(shape = [1,3,8,8]); f = external(shape = [4,2,3,3]); y = conv(x, f);", {}, "O-CONV-4"},
    {"x = external(shape = [1,6,5,5]); f = external(shape = [12,1,3,3]); y = conv(x, f, groups = 0);", {1, 12, 5, 5}},
    {"x = external(shape = [1,3,5,5]); f = external(shape = [4,3,3,3]); b = external(shape = [4]); y = conv(x, f, b);",
     {},
     "O-CONV-5"},
    {"x = external(shape = [1,3,8,8]); f = external(shape = [4,3,3,3]); y = conv(x, f, border = 'ignore');",
     {},
     "O-CONV-6"},
    {"x = external(shape = [1,3,8,8]); f = external(shape = [4,3,3,3]); y = conv(x, f, border = 'edge');",
     {},
     "O-SW-6"},
    {"x = external(shape = [1,3,8,8]); f = external(shape = [4,3,3,3]); y = conv(x, f, stride = [0,1]);", {}, "O-SW-2"},
    {"x = external(shape = [1,3,8,8]); f = external(shape = [4,3,3,3]); y = conv(x, f, dilation = [1,0]);",
     {},
     "O-SW-3"},
    {"x = external(shape = [1,3,2,8]); f = external(shape = [4,3,5,3]); y = conv(x, f, padding = [(1,1),(0,0)]);",
     {},
     "O-SW-4"},
    {"x = external(shape = [1,4,5,5]); f = external(shape = [4,2,3,3]); y = deconv(x, f, stride = [2,2]);",
     {1, 2, 10, 10}},
    {"x = external(shape = [1,4,5,5]); f = external(shape = [4,2,3,3]); y = deconv(x, f, padding = [(0,0),(1,1)], "
     "stride = [1,2]);",
     {1, 2, 7, 9}},
    {"x = external(shape = [1,4,5,5]); f = external(shape = [4,2,3,3]); y = deconv(x, f, stride = [2,2], output_shape "
     "= [1,2,9,10]);",
     {1, 2, 9, 10}},
    {"x = external(shape = [1,4,5,5]); f = external(shape = [4,2,3,3]); y = deconv(x, f, stride = [2,2], output_shape "
     "= [1,2,11,10]);",
     {},
     "O-SW-7"},
    {"x = external(shape = [1,6,9,9]); p = external(shape = [12,1,3,3]); q = external(shape = [4,12,1,1]); y = "
     "separable_conv(x, p, q, padding = [(0,0),(0,0)]);",
     {1, 4, 7, 7}},
    {"x = external(shape = [1,6,9,9]); p = external(shape = [6,2,3,3]); q = external(shape = [4,6,1,1]); y = "
     "separable_conv(x, p, q);",
     {},
     "O-SEP-1"},
    {"x = external(shape = [1,4,5,5]); p = external(shape = [6,1,2,2]); q = external(shape = [4,6,1,1]); y = "
     "separable_deconv(x, p, q, stride = [2,2], padding = [(0,0),(0,0)]);",
     {1, 6, 10, 10}},
    {"x = external(shape = [1,8,4,4]); y = box(x, size = [1,5,1,1], padding = [(0,0),(0,0),(0,0),(0,0)]);",
     {1, 4, 4, 4}},
    {"x = external(shape = [1,3,7,7]); y = box(x, size = [3,3]);", {}, "O-BOX-1"},
    {"x = external(shape = [1,3,7,7]); y = box(x, size = [1,1,0,3]);", {}, "O-SW-1"},
    {"x = external(shape = [1,2,8,8]); y = max_pool(x, size = [1,1,3,3], stride = [1,1,2,2], border = 'ignore');",
     {1, 2, 4, 4}},
    {"x = external(shape = [1,3,4,4]); y = debox(x, size = [1,1,2,3], stride = [1,1,2,2], padding = "
     "[(0,0),(0,0),(0,0),(1,0)]);",
     {1, 3, 8, 8}},
    {"x = external(shape = [1,2,8,8]); i = external<integer>(shape = [1,2,8,8]); y = sample(x, i, size = [1,1,2,2], "
     "stride = [1,1,2,2]);",
     {},
     "O-SAMPLE-1"},
    {"x = external(shape = [1,2,4,4]); i = external<integer>(shape = [1,2,4,4]); y = desample(x, i, size = [1,1,2,2], "
     "border = 'replicate');",
     {},
     "O-SAMPLE-2"},
    {"x = external(shape = [1,3,4,5]); y = multilinear_upsample(x, factor = [2,3], method = 'aligned');",
     {1, 3, 8, 15}},
    {"x = external(shape = [1,3,4,5]); y = multilinear_upsample(x, factor = [2,2], method = 'cubic');", {}, "O-UPS-2"},
    {"x = external(shape = [1,3,7,6]); y = area_downsample(x, factor = [2,3]);", {}, "O-UPS-1"},
    {"x = external(shape = [2,3,16,16]); r = external(shape = [7,4]); b = external<integer>(shape = [7,1]); y = "
     "avg_roi_align(x, r, b, output_size = [3,2], sampling_rate = [2,2]);",
     {7, 3, 3, 2}},
    {"x = external(shape = [2,3,16,16]); r = external(shape = [7,5]); b = external<integer>(shape = [7,1]); y = "
     "max_roi_pool(x, r, b, output_size = [3,2]);",
     {},
     "O-ROI-1"},
    {"x = external(shape = [1,8,4,4]); y = local_mean_normalization(x, size = [3,3]);", {}, "O-NORM-1"},
    {"x = external(shape = [4,5]); z = slice(x, axes = [0], begin = [2], end = [2]); y = max_pool(z, size = [1,1], "
     "padding = [(0,0),(0,0)]);",
     {},
     "O-SW-4"},
    {"x = external(shape = [1,4]); y = debox(x, size = [1,1], padding = [(1,0),(0,0)]);", {}, "O-SW-4"},
};

// Numbers that would overflow, or that nobody means: each is a fault under the operation's rule.
const Row kHostile[] = {
    {"x = external(shape = [1,1,144115188075855872]); f = external(shape = [1,1,3]); y = conv(x, f, padding = "
     "[(0,0)]);",
     {},
     "O-SW-4"},
    {"x = external(shape = [1,1,144115188075855872]); f = external(shape = [1,1,3]); y = deconv(x, f, stride = "
     "[1073741824], padding = [(0,0)]);",
     {},
     "O-SW-4"},
    {"x = external(shape = [1,1,4]); y = nearest_upsample(x, factor = [1152921504606846976]);", {}, "O-UPS-1"},
    {"x = external(shape = [1,1,4503599627370499]); y = nearest_upsample(x, factor = [31]);", {}, "O-UPS-1"},
    {"x = external(shape = [4]); y = reshape(x, shape = [4294967296,4294967296]);", {}, "O-RESH-3"},
    {"x = external(shape = [4]); y = reshape(x, shape = [4294967296,4294967296,-1]);", {}, "O-RESH-3"},
    {"x = external(shape = [1,268435456]); y = tile(x, repeats = [4611686018427387904,1]);", {}, "O-TILE-1"},
    {"x = external(shape = [4,5]); y = pad(x, padding = [(9223372036854775807,9223372036854775807),(0,0)]);",
     {},
     "O-PAD-1"},
    {"x = external(shape = [268435456,1]); z = external(shape = [1,536870912]); y = add(x, z);",
     {268435456, 536870912}},
    {"x = external(shape = [536870912,1]); z = external(shape = [1,536870912]); y = add(x, z);", {}, "O-BIN-1"},
    {"x = external(shape = [4,5]); y = slice(x, axes = [0], begin = [-1], end = [-5], stride = "
     "[-9223372036854775807]);",
     {1, 5}},
    {"x = external(shape = [4,5]); [y] = split(x, axis = 0, ratios = []);", {}, "O-SPLIT-1"},
};

const Row kMoves[] = {
    {"x = external(shape = [5,2,3,4]); y = reshape(x, shape = [0,-1], axis_start = 1);", {5, 2, 12}},
    {"x = external(shape = [1,2,3,4]); y = reshape(x, shape = [6], axis_start = 1, axis_count = 2);", {1, 6, 4}},
    {"x = external(shape = [1,1]); y = reshape(x, shape = []);", {}},
    {"x = external(shape = [2,3]); y = reshape(x, shape = [1], axis_start = 3);", {}, "O-RESH-1"},
    {"x = external(shape = [2,3]); y = reshape(x, shape = [6], axis_count = -2);", {}, "O-RESH-2"},
    {"x = external(shape = [2,3,4]); y = reshape(x, shape = [5,-1]);", {}, "O-RESH-3"},
    {"x = external(shape = [2,3]); y = reshape(x, shape = [2,3,0]);", {}, "O-RESH-3"},
    {"x = external(shape = [1,3,1,4]); y = squeeze(x, axes = [0,2]);", {3, 4}},
    {"x = external(shape = [1,3,1,4]); y = squeeze(x, axes = [1]);", {}, "O-SQZ-1"},
    {"x = external(shape = [3,4]); y = unsqueeze(x, axes = [0,2]);", {1, 3, 1, 4}},
    {"x = external(shape = [2,3]); y = unsqueeze(x, axes = [0,0]);", {}, "O-SQZ-2"},
    {"x = external(shape = [2,3,4]); y = transpose(x, axes = [1,0]);", {3, 2, 4}},
    {"x = external(shape = [2,3,4]); y = transpose(x, axes = [0,2]);", {}, "O-TRANS-1"},
    {"x = external(shape = [2,12]); [y, a, b] = split(x, axis = 1, ratios = [1,2,3]);", {2, 2}},
    {"x = external(shape = [2,12]); [y, a] = split(x, axis = 1, ratios = [1,2,3]);", {}, "A2"},
    {"x = external(shape = [2,7]); [y, b] = split(x, axis = 1, ratios = [1,2]);", {}, "O-SPLIT-1"},
    {"x = external(shape = [2,3,4]); z = external(shape = [2,5,4]); y = concat([x, z], axis = 1);", {2, 8, 4}},
    {"x = external(shape = [2,3]); z = external(shape = [2,3,1]); y = concat([x, z], axis = 1);", {}, "O-CONCAT-1"},
    {"x = external(shape = [2,3]); z = external(shape = [2,3]); y = stack([x, z], axis = 2);", {2, 3, 2}},
    {"x = external(shape = [2,3]); z = external(shape = [2,4]); y = stack([x, z], axis = 0);", {}, "O-STACK-1"},
    {"x = external(shape = [3,2,4]); [y, b] = unstack(x, axis = 1);", {3, 4}},
    {"x = external(shape = [3,2,4]); [y, b] = unstack(x, axis = 3);", {}, "O-STACK-2"},
    {"x = external(shape = [4,10]); y = slice(x, axes = [1], begin = [8], end = [99]);", {4, 2}},
    {"x = external(shape = [4,10]); y = slice(x, axes = [1], begin = [-99], end = [3]);", {4, 3}},
    {"x = external(shape = [4,10]); y = slice(x, axes = [1], begin = [3], end = [0]);", {4, 7}},
    {"x = external(shape = [1,5]); y = slice(x, axes = [1], begin = [-1], end = [-6], stride = [-1]);", {1, 5}},
    {"x = external(shape = [1,5]); y = slice(x, axes = [1], begin = [0], end = [5], stride = [2]);", {1, 3}},
    {"x = external(shape = [4,10]); y = slice(x, axes = [0,1], begin = [2], end = [4]);", {}, "O-SLICE-1"},
    {"x = external(shape = [4,10]); y = slice(x, axes = [1], begin = [2], end = [7], stride = [0]);", {}, "O-SLICE-2"},
    {"x = external(shape = [4,10]); y = slice(x, axes = [1], begin = [7], end = [2]);", {}, "O-SLICE-4"},
    {"x = external(shape = [4,10]); y = slice(x, axes = [1], begin = [3], end = [0], stride = [2]);", {}, "O-SLICE-5"},
    {"x = external(shape = [4,5]); y = pad(x, padding = [(-1,0),(2,-3)]);", {3, 4}},
    {"x = external(shape = [4,5]); y = pad(x, padding = [(0,0),(1,1)], border = 'ignore');", {}, "O-PAD-1"},
    {"x = external(shape = [2,3,1]); y = tile(x, repeats = [1,2,4]);", {2, 6, 4}},
    {"x = external(shape = [2,3,1]); y = tile(x, repeats = [2,4]);", {}, "O-TILE-1"},
    {"x = external(shape = [5,6,7]); i = external<integer>(shape = [2,3]); y = gather(x, i, axis = 1);", {5, 2, 3, 7}},
    {"x = external(shape = [5,6]); i = external<integer>(shape = [4]); y = gather(x, i, axis = -1);", {}, "O-GATHER-1"},
};

const Row kMath[] = {
    {"x = external(shape = [2,3,4,5]); y = mean_reduce(x, axes = [3,0,2]);", {1, 3, 1, 1}},
    {"x = external(shape = [2,3]); y = sum_reduce(x, axes = [1,1]);", {}, "O-RED-1"},
    {"x = external(shape = [2,3]); (y, v) = moments(x, axes = [0]);", {1, 3}},
    {"a = external(shape = [4,1,2,3]); b = external(shape = [1,6,3,5]); y = matmul(a, b);", {4, 6, 2, 5}},
    {"a = external(shape = [3,2]); b = external(shape = [5,3]); y = matmul(a, b, transposeA = true, transposeB = "
     "true);",
     {2, 5}},
    {"a = external(shape = [4,2,3]); b = external(shape = [3,5]); y = matmul(a, b);", {}, "O-MATMUL-1"},
    {"x = external(shape = [8,3]); f = external(shape = [5,3]); b = external(shape = [5]); y = linear(x, f, b);",
     {},
     "O-LIN-1"},
    {"x = external(shape = [2,8,3]); f = external(shape = [2,5,3]); y = linear(x, f);", {2, 8, 5}},
    {"x = external(shape = [10]); y = softmax(x);", {}, "O-NORM-2"},
    {"x = external(shape = [2,8,4]); m = external(shape = [1,8]); v = external(shape = [1,7]); y = "
     "batch_normalization(x, m, v, 0.0, 1.0, epsilon = 0.001);",
     {},
     "O-NORM-3"},
    {"x = external(shape = [2,3,4]); m = external(shape = [1,3]); y = min_max_linear_quantize(x, 0.0, m, bits = 8, "
     "signed = false, symmetric = false);",
     {2, 3, 4}},
    {"x = external(shape = [2,3]); m = external(shape = [1,4]); y = linear_quantize(x, 0.0, m, bits = 8);",
     {},
     "O-QNT-1"},
};

TEST(NnefShapes, Elementwise) {
  for (const Row& row : kElementwise) check(row);
}
TEST(NnefShapes, Windows) {
  for (const Row& row : kWindows) check(row);
}
TEST(NnefShapes, Hostile) {
  for (const Row& row : kHostile) check(row);
}
TEST(NnefShapes, Moves) {
  for (const Row& row : kMoves) check(row);
}
TEST(NnefShapes, Math) {
  for (const Row& row : kMath) check(row);
}

/// What a custom operation makes has no shape, and neither has what is made of it; nothing is said about that.
TEST(NnefShapes, CustomOperationsHideThem) {
  const std::string text =
      "version 1.0;\nextension KHR_enable_fragment_definitions;\n"
      "fragment mystery(x: tensor<scalar>) -> (y: tensor<scalar>);\n"
      "graph net(x) -> (y) { x = external(shape = [2,3]); z = mystery(x); w = conv(z, x); y = relu(w); }";
  Shapes sink;
  Tensors tensors;
  Faults faults;
  EXPECT_TRUE(evaluate(text, "graph.nnef", sink, tensors, faults));
  EXPECT_EQ(sink.extents.size(), 1u);
}

TEST(NnefShapes, SaysFoundAndNeeded) {
  const std::string text = document("x = external(shape = [2,3]); z = external(shape = [3]);\ny = add(x, z);");
  Shapes sink;
  Tensors tensors;
  Faults faults;
  ASSERT_FALSE(evaluate(text, "graph.nnef", sink, tensors, faults));
  const std::string said = faults.list()[0].text();
  for (const char* part : {"graph.nnef:4:", "O-BIN-1", "[2,3]", "[3]", "[1,3]"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " in: " << said;
}

/// What the table finds is said under the operation's rule, with its name, and with the tensors and lists of the call.
TEST(NnefShapes, SaysWhatTheTableFinds) {
  const struct {
    const char *body, *said;
  } rows[] = {
      {"x = external(shape = [2,3,4]); y = reshape(x, shape = [5,5]);",
       "graph.nnef:3:36: O-RESH-3: reshape: 24 elements cannot fill a shape of 25 (input [2,3,4], shape [5,5])"},
      {"x = external(shape = [2,3]); z = external(shape = [2,4]); y = stack([x, z], axis = 0);",
       "graph.nnef:3:63: O-STACK-1: stack: extent of item 1 at axis 1: found 4, needed 3 (values[0] [2,3], values[1] "
       "[2,4])"},
      {"x = external(shape = [1,3,2,8]); f = external(shape = [4,3,5,3]); y = conv(x, f, padding = [(1,1),(0,0)]);",
       "graph.nnef:3:71: O-SW-4: conv: spatial axis 0: a window of 5 elements does not fit into 2 padded by (1, 1) "
       "(input [1,3,2,8], filter [4,3,5,3], padding[0] [1,1], padding[1] [0,0])"},
      {"x = external(shape = [1,8]); y = avg_pool(x, size = [1,9], padding = [(0,0),(0,0)]);",
       "graph.nnef:3:34: O-SW-4: avg_pool: axis 1: a window of 9 elements does not fit into 8 padded by (0, 0) (input "
       "[1,8], size [1,9], padding[0] [0,0], padding[1] [0,0])"},
  };
  for (const auto& row : rows) {
    Shapes sink;
    Tensors tensors;
    Faults faults;
    const std::string text = document(row.body);
    ASSERT_FALSE(evaluate(text, "graph.nnef", sink, tensors, faults));
    EXPECT_EQ(faults.list()[0].text(), row.said);
    EXPECT_EQ(faults.count(), 1u);
  }
}

/// A fault hides its results alone: what follows of other tensors is checked.
TEST(NnefShapes, FindsAllFaults) {
  const std::string text = document(
      "x = external(shape = [2,3]); z = external(shape = [3]); a = add(x, z); b = neg(a); c = matmul(x, x);\n"
      "d = squeeze(x, axes = [5]); y = neg(x);");
  Shapes sink;
  Tensors tensors;
  Faults faults;
  ASSERT_FALSE(evaluate(text, "graph.nnef", sink, tensors, faults));
  std::string rules;
  for (const Error& e : faults.list()) rules += e.message().substr(0, e.message().find(':')) + " ";
  EXPECT_EQ(rules, "O-BIN-1 O-MATMUL-1 O-SQZ-1 ");
}

TEST(NnefShapes, ExternalsTakeOtherShapes) {
  const std::string text = document("x = external(shape = [1,3,8,8]); y = max_pool(x, size = [1,1,2,2]);");
  Shapes sink;
  Tensors tensors;
  Faults faults;
  EvaluateOptions options;
  options.shapes["x"] = {4, 3, 6, 10};
  ASSERT_TRUE(evaluate(text, "graph.nnef", sink, tensors, faults, options));
  EXPECT_EQ(sink.extents["y"], (Ints{4, 3, 6, 10}));
}

}  // namespace
}  // namespace nnex::nnef_format
