// Graphs walked through the C interface.

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "c_handles.h"

namespace {

using namespace nnex::test;

constexpr const char* kConv =
    "graph main(x: f32[N,1,4,4]) -> (y)\n{\n  c = conv(x, f32[1,1,2,2](1, 2, 3, 4), padding = [(0, 1), (1, 0)], stride "
    "= [2, 2]);\n  y = leaky_relu(c, alpha = 0.5);\n}\n";

/// y = x + 1 where c, else x * w.
constexpr const char* kBranches =
    "<ir_version: 8, opset_import: [\"\": 17, \"com.example\": 1]>\n"
    "net (bool c, float[2] x) => (float[2] y) <float[2] w = {5, 6}> {\n"
    "  y = If (c) <\n"
    "    then_branch = t () => (float[2] a) { one = Constant <value = float[2] {1, 1}> ()\n a = Add(x, one) },\n"
    "    else_branch = e () => (float[2] b) { b = Mul(x, w) }\n"
    "  >\n"
    "  z = com.example.Op <words = [\"a\", \"b\"], k = 3, r = 0.5, few = [1, 2], t = int64[2] {7, 8}> (x, y)\n"
    "}\n";

GraphHandle loaded(std::string_view text) {
  const auto source =
      made<SourceHandle>([&](nnex_source** s) { return nnex_source_memory(text.data(), text.size(), nullptr, s); });
  return made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_load(source.get(), nullptr, g); });
}

TEST(CWalk, NodesAndValues) {
  const GraphHandle graph = parsed(kConv);
  const nnex_graph* g = graph.get();
  const nnex_node *conv = nnex_graph_node(g, 0), *relu = nnex_graph_node(g, 1);
  ASSERT_TRUE(conv && relu);
  EXPECT_EQ(nnex_graph_node(g, 2), nullptr);
  EXPECT_STREQ(nnex_node_op(conv), "conv");
  EXPECT_STREQ(nnex_node_domain(conv), "");
  EXPECT_FALSE(nnex_node_custom(conv));
  EXPECT_NE(nnex_node_place(conv), nullptr);
  EXPECT_EQ(nnex_node_input(conv, 0), nnex_graph_input(g, 0));
  EXPECT_EQ(nnex_node_output(relu, 0), nnex_graph_output(g, 0));
  ASSERT_EQ(nnex_node_outputs(conv), 1u);
  const nnex_port* c = nnex_node_output(conv, 0);
  EXPECT_EQ(c, nnex_node_input(relu, 0));
  EXPECT_EQ(c, nnex_graph_find(g, "c"));
  EXPECT_STREQ(nnex_port_name(c), "c");
  EXPECT_STREQ(nnex_port_type(c), "f32[N,1,2,2]");
  size_t output = 7, at = 7;
  EXPECT_EQ(nnex_port_producer(c, &output), conv);
  EXPECT_EQ(output, 0u);
  const nnex_node* node = nullptr;
  const nnex_block* block = nullptr;
  ASSERT_EQ(nnex_port_users(c), 1u);
  ASSERT_TRUE(nnex_port_user(c, 0, &node, &block, &at));
  EXPECT_EQ(node, relu);
  EXPECT_EQ(at, 0u);
  EXPECT_EQ(block, nullptr);
  EXPECT_FALSE(nnex_port_user(c, 1, nullptr, nullptr, nullptr));
  ASSERT_TRUE(nnex_port_user(nnex_graph_output(g, 0), 0, &node, &block, &at));
  EXPECT_EQ(node, nullptr);
  EXPECT_EQ(block, nnex_graph_network(g));
  EXPECT_EQ(nnex_port_parameter_of(nnex_graph_input(g, 0)), nnex_graph_network(g));
  EXPECT_EQ(nnex_port_producer(nnex_graph_input(g, 0), nullptr), nullptr);
  EXPECT_EQ(nnex_node_parent(relu), nnex_graph_network(g));
  EXPECT_STREQ(nnex_graph_symbol(g, 0), "N");
  EXPECT_EQ(nnex_graph_symbol(g, 1), nullptr);
  EXPECT_EQ(nnex_graph_function(g, 0), nullptr);
  EXPECT_EQ(nnex_graph_states(g), 0u);

  const nnex_port* filter = nnex_node_input(conv, 1);
  EXPECT_TRUE(nnex_port_is_constant(filter));
  EXPECT_FALSE(nnex_port_is_constant(c));
  const auto content = made<ValueHandle>([&](nnex_value** v) { return nnex_port_constant(filter, v); });
  EXPECT_EQ(numbers_of(content.get()), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(refused<ValueHandle>([&](nnex_value** v) { return nnex_port_constant(c, v); }), "'c' is no constant");
}

TEST(CWalk, AttributesOfEveryKind) {
  const GraphHandle graph = parsed(kConv);
  const nnex_node* conv = nnex_graph_node(graph.get(), 0);
  const nnex_attribute* padding = nnex_node_attribute_named(conv, "padding");
  const nnex_attribute* stride = nnex_node_attribute_named(conv, "stride");
  ASSERT_TRUE(padding && stride);
  EXPECT_EQ(nnex_attribute_kind(padding), NNEX_ATTRIBUTE_PAIRS);
  EXPECT_STREQ(nnex_attribute_key(padding), "padding");
  EXPECT_STREQ(nnex_attribute_shown(padding), "[(0,1), (1,0)]");
  const int64_t* list = nullptr;
  size_t count = 0;
  EXPECT_EQ(said(nnex_attribute_pairs(padding, &list, &count)), "ok");
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(std::vector<int64_t>(list, list + 4), (std::vector<int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(said(nnex_attribute_ints(stride, &list, &count)), "ok");
  EXPECT_EQ(std::vector<int64_t>(list, list + count), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(with(said(nnex_attribute_ints(padding, &list, &count)), "needed ints"), "");
  double alpha = 0;
  EXPECT_EQ(said(nnex_attribute_real(nnex_node_attribute_named(nnex_graph_node(graph.get(), 1), "alpha"), &alpha)),
            "ok");
  EXPECT_EQ(alpha, 0.5);
  EXPECT_EQ(nnex_node_attribute_named(conv, "nosuch"), nullptr);
  size_t all = 0;
  while (nnex_node_attribute(conv, all)) ++all;
  EXPECT_EQ(all, nnex_node_attributes(conv));

  const GraphHandle custom = loaded(kBranches);
  const nnex_node* op = nnex_graph_node(custom.get(), 1);
  EXPECT_TRUE(nnex_node_custom(op));
  EXPECT_STREQ(nnex_node_op(op), "Op");
  EXPECT_STREQ(nnex_node_domain(op), "com.example");
  const char* const* words = nullptr;
  EXPECT_EQ(said(nnex_attribute_texts(nnex_node_attribute_named(op, "words"), &words, &count)), "ok");
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(words[1], "b");
  int64_t k = 0;
  EXPECT_EQ(said(nnex_attribute_int(nnex_node_attribute_named(op, "k"), &k)), "ok");
  EXPECT_EQ(k, 3);
  const double* reals = nullptr;
  EXPECT_EQ(said(nnex_attribute_reals(nnex_node_attribute_named(op, "few"), &reals, &count)), "ok");
  EXPECT_EQ(std::vector<double>(reals, reals + count), (std::vector<double>{1, 2}));
  const auto t =
      made<ValueHandle>([&](nnex_value** v) { return nnex_attribute_tensor(nnex_node_attribute_named(op, "t"), v); });
  EXPECT_STREQ(nnex_value_text(t.get()), "i64[2]");
  const char* text = nullptr;
  EXPECT_EQ(with(said(nnex_attribute_text(nnex_node_attribute_named(op, "k"), &text)), "needed str"), "");
  bool truth = false;
  nnex_dtype dtype = NNEX_NONE;
  EXPECT_EQ(with(said(nnex_attribute_bool(nnex_node_attribute_named(op, "k"), &truth)), "needed bool"), "");
  EXPECT_EQ(with(said(nnex_attribute_dtype(nnex_node_attribute_named(op, "k"), &dtype)), "needed dtype"), "");
}

TEST(CWalk, BlocksAndStates) {
  const GraphHandle graph = loaded(kBranches);
  const nnex_node* choice = nnex_graph_node(graph.get(), 0);
  EXPECT_STREQ(nnex_node_op(choice), "if_else");
  ASSERT_EQ(nnex_node_blocks(choice), 2u);
  const nnex_block* otherwise = nnex_node_block(choice, 1);
  EXPECT_EQ(nnex_block_owner(otherwise), choice);
  EXPECT_EQ(nnex_block_owner(nnex_graph_network(graph.get())), nullptr);
  ASSERT_EQ(nnex_block_nodes(otherwise), 1u);
  const nnex_node* product = nnex_block_node(otherwise, 0);
  EXPECT_STREQ(nnex_node_op(product), "mul");
  EXPECT_EQ(nnex_node_parent(product), otherwise);
  EXPECT_EQ(nnex_node_input(product, 0), nnex_graph_find(graph.get(), "x"));  // read from around
  ASSERT_EQ(nnex_block_results(otherwise), 1u);
  EXPECT_EQ(nnex_block_result(otherwise, 0), nnex_node_output(product, 0));
  EXPECT_EQ(nnex_block_parameters(otherwise), 0u);
  EXPECT_EQ(nnex_block_parameter(otherwise, 0), nullptr);
}

TEST(CWalk, StatesOfAModel) {
  constexpr const char* kCounter =
      "version 1.0;\ngraph net(x) -> (y)\n{\n  x = external(shape = [2]);\n  n = variable(shape = [2], label = "
      "'sum');\n  m = add(n, x);\n  y = update(n, m);\n}\n";
  const auto source = made<SourceHandle>(
      [&](nnex_source** s) { return nnex_source_memory(kCounter, std::strlen(kCounter), nullptr, s); });
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  EXPECT_EQ(said(nnex_load_options_set(load.get(), "weight_seed", "1")), "ok");
  const auto graph = made<GraphHandle>([&](nnex_graph** g) { return nnex_graph_load(source.get(), load.get(), g); });
  ASSERT_EQ(nnex_graph_states(graph.get()), 1u);
  const char* label = nullptr;
  const nnex_port *before = nullptr, *after = nullptr;
  ASSERT_TRUE(nnex_graph_state(graph.get(), 0, &label, &before, &after));
  EXPECT_STREQ(label, "sum");
  const nnex_block* network = nnex_graph_network(graph.get());
  EXPECT_EQ(before, nnex_block_parameter(network, nnex_block_parameters(network) - 1));
  EXPECT_EQ(after, nnex_block_result(network, nnex_block_results(network) - 1));
  EXPECT_FALSE(nnex_graph_state(graph.get(), 1, nullptr, nullptr, nullptr));
}

TEST(CWalk, FromManyThreadsAtOnce) {
  const GraphHandle graph = loaded(kBranches);
  std::vector<const nnex_node*> found(8);
  std::vector<std::thread> threads;
  for (const nnex_node*& f : found) threads.emplace_back([&] { f = nnex_graph_node(graph.get(), 1); });
  for (std::thread& t : threads) t.join();
  for (const nnex_node* f : found) EXPECT_EQ(f, found[0]);
}

TEST(CWalk, NothingOfNothing) {
  EXPECT_EQ(nnex_graph_network(nullptr), nullptr);
  EXPECT_EQ(nnex_graph_node(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_graph_find(nullptr, "x"), nullptr);
  EXPECT_EQ(nnex_graph_symbol(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_graph_function(nullptr, 0), nullptr);
  EXPECT_FALSE(nnex_graph_state(nullptr, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(nnex_graph_states(nullptr), 0u);
  EXPECT_EQ(nnex_block_owner(nullptr), nullptr);
  EXPECT_EQ(nnex_block_node(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_block_nodes(nullptr) + nnex_block_parameters(nullptr) + nnex_block_results(nullptr), 0u);
  EXPECT_EQ(nnex_node_op(nullptr), nullptr);
  EXPECT_EQ(nnex_node_inputs(nullptr) + nnex_node_outputs(nullptr) + nnex_node_blocks(nullptr), 0u);
  EXPECT_EQ(nnex_node_attribute(nullptr, 0), nullptr);
  EXPECT_EQ(nnex_node_attribute_named(nullptr, "x"), nullptr);
  EXPECT_EQ(nnex_attribute_kind(nullptr), NNEX_ATTRIBUTE_NONE);
  EXPECT_EQ(nnex_attribute_key(nullptr), nullptr);
  EXPECT_EQ(said(nnex_attribute_int(nullptr, nullptr)), "found NULL for 'attribute'");
  EXPECT_EQ(refused<ValueHandle>([](nnex_value** v) { return nnex_port_constant(nullptr, v); }),
            "found NULL for 'value'");
  EXPECT_EQ(nnex_port_users(nullptr), 0u);
  const GraphHandle graph = parsed(kConv);
  const ModelHandle model = compiled(graph.get());
  const nnex_port* x = nnex_model_input(model.get(), 0);  // no graph's
  EXPECT_EQ(nnex_port_producer(x, nullptr), nullptr);
  EXPECT_FALSE(nnex_port_is_constant(x));
  EXPECT_EQ(nnex_port_parameter_of(x), nullptr);
}

/// A network is made from a text without its weights, which come as tensors, and gets others.
TEST(CConstants, AreGivenAndReplaced) {
  const GraphHandle text = parsed(
      "graph net(x: f32[N,2], w: f32[2,2], b: f32[2]) -> (y, w2)\n{\n  y = add(matmul(x, w), b);\n  w2 = neg(w);\n}\n");
  const char* const names[] = {"b", "w"};
  const auto with_constants = [&](const nnex_graph* from, const nnex_value* b, const nnex_value* w, size_t count) {
    return [=](nnex_graph** out) {
      nnex_value* const both[] = {const_cast<nnex_value*>(b), const_cast<nnex_value*>(w)};
      return nnex_graph_set_constants(from, names, both, count, out);
    };
  };
  const ValueHandle b = floats({2}, {10, 20}), w = floats({2, 2}, {1, 0, 0, 1});
  const auto graph = made<GraphHandle>(with_constants(text.get(), b.get(), w.get(), 2));
  ASSERT_EQ(nnex_graph_inputs(graph.get()), 1u);
  EXPECT_EQ(nnex_graph_inputs(text.get()), 3u);  // graphs never change
  const auto answer = [](const nnex_graph* g) {
    const ModelHandle model = compiled(g);
    const SessionHandle session = session_of(model.get());
    const ValueHandle x = floats({1, 2}, {1, 2});
    nnex_value *in = x.get(), *outs[2] = {};
    EXPECT_EQ(said(nnex_session_run(session.get(), &in, 1, outs, 2, nullptr)), "ok");
    const ValueHandle y(outs[0]), w2(outs[1]);
    return numbers_of(y.get());
  };
  EXPECT_EQ(answer(graph.get()), (std::vector<float>{11, 22}));

  const ValueHandle other = floats({2}, {0, 5}), twice = floats({2, 2}, {2, 0, 0, 2});
  const auto changed = made<GraphHandle>(with_constants(graph.get(), other.get(), twice.get(), 2));
  EXPECT_EQ(answer(changed.get()), (std::vector<float>{2, 9}));
  EXPECT_EQ(answer(graph.get()), (std::vector<float>{11, 22}));
  const nnex_port* const port = nnex_graph_find(changed.get(), "w");
  ASSERT_NE(port, nullptr);
  const auto content = made<ValueHandle>([&](nnex_value** v) { return nnex_port_constant(port, v); });
  EXPECT_EQ(nnex_tensor_data(content.get()), nnex_tensor_data(twice.get()));  // no copy

  EXPECT_EQ(with(refused<GraphHandle>(with_constants(text.get(), w.get(), w.get(), 2)), "found f32[2,2]"), "");
  EXPECT_EQ(refused<GraphHandle>(with_constants(graph.get(), w.get(), w.get(), 2)),
            "constant 'b': found f32[2,2]; needed f32[2]");
  EXPECT_EQ(refused<GraphHandle>(with_constants(text.get(), b.get(), nullptr, 2)), "found NULL for 'tensors[1]'");
  const char *const same[] = {"b", "b"}, *const nosuch = "ww";
  nnex_value* const both[] = {b.get(), b.get()};
  EXPECT_EQ(
      refused<GraphHandle>([&](nnex_graph** o) { return nnex_graph_set_constants(text.get(), same, both, 2, o); }),
      "found the name 'b' twice");
  EXPECT_EQ(with(refused<GraphHandle>(
                     [&](nnex_graph** o) { return nnex_graph_set_constants(text.get(), &nosuch, both, 1, o); }),
                 "no value 'ww' (did you mean 'w'?) in the network"),
            "");
}

}  // namespace
