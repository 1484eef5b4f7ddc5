// Custom operators through the C interface: what a callback is told, and what it may keep.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "c_handles.h"
#include "nnex.h"

namespace {

using nnex::test::floats;
using nnex::test::LoadHandle;
using nnex::test::made;
using nnex::test::ModelHandle;
using nnex::test::numbers_of;
using nnex::test::said;
using nnex::test::SessionHandle;
using nnex::test::ValueHandle;

using Callback = std::function<nnex_error*(nnex_custom_node* node)>;

/// z = -Op(-x, w) of f32[2], with w = 5, 6 and Op the callbacks of a test.
struct Host {
  Callback infer, run;
  ModelHandle model;
  SessionHandle session;

  explicit Host(Callback kernel, const std::string& attributes = "", Callback rule = {})
      : infer(std::move(rule)), run(std::move(kernel)) {
    nnex_custom_op op = {};
    op.size = sizeof op, op.domain = "com.example", op.name = "Op", op.context = this;
    if (infer) op.infer = [](void* host, nnex_custom_node* node) { return static_cast<Host*>(host)->infer(node); };
    op.run = [](void* host, nnex_custom_node* node) { return static_cast<Host*>(host)->run(node); };
    const auto load = made<LoadHandle>(nnex_load_options_make);
    EXPECT_EQ(said(nnex_load_options_custom_op(load.get(), &op)), "ok");
    const std::string text =
        "<ir_version: 8, opset_import: [\"\": 17, \"com.example\": 1]>\n"
        "net (float[2] x) => (float[2] z) <float[2] w = {5, 6}> {\n"
        "  n = Neg(x)\n  y = com.example.Op" +
        attributes + "(n, w)\n  z = Neg(y)\n}\n";
    model = made<ModelHandle>(
        [&](nnex_model** out) { return nnex_model_load_memory(text.data(), text.size(), load.get(), out); });
    session = nnex::test::session_of(model.get());
  }

  std::vector<float> answer(const std::vector<float>& x) const {
    const ValueHandle in = floats({2}, x);
    return numbers_of(nnex::test::run(session.get(), in).get());
  }
};

/// y = the first input.
nnex_error* pass_on(nnex_custom_node* node) {
  return nnex_custom_node_set_output(node, 0, nnex_custom_node_input(node, 0));
}

/// An attribute by the function of its kind, or why there is none.
std::string attribute(nnex_custom_node* node, std::string_view kind, const char* name) {
  int64_t whole = 0;
  size_t count = 0;
  const double* reals = nullptr;
  const char* const* texts = nullptr;
  const nnex_value* tensor = nullptr;
  nnex_error* e = kind == "int"     ? nnex_custom_node_int(node, name, &whole)
                  : kind == "reals" ? nnex_custom_node_reals(node, name, &reals, &count)
                  : kind == "texts" ? nnex_custom_node_texts(node, name, &texts, &count)
                                    : nnex_custom_node_tensor(node, name, &tensor);
  if (e) return said(e);
  if (kind == "int") return std::to_string(whole);
  if (kind == "tensor") return nnex_value_text(tensor) + (" " + std::to_string(numbers_of(tensor)[1]));
  std::string all;
  for (size_t i = 0; i < count; ++i) all += (reals ? std::to_string(reals[i]) : std::string(texts[i])) + ";";
  return all;
}

TEST(CCustom, AttributesOfEveryKind) {
  const struct {
    const char *kind, *name, *says;
  } rows[] = {
      {"int", "i", "7"},
      {"int", "f", "attribute 'f' is 0.5 (real); needed int"},
      {"reals", "fs", "0.500000;1.500000;"},
      {"reals", "is", "1.000000;2.000000;"},
      {"reals", "none", "attribute 'none' is missing; needed reals"},
      {"reals", "f", "attribute 'f' is 0.5 (real); needed reals"},
      {"texts", "ss", "p;qr;"},
      {"texts", "fs", "attribute 'fs' is [0.5, 1.5] (reals); needed strs"},
      {"tensor", "t", "f32[2] 4.000000"},
      {"tensor", "is", "attribute 'is' is [1, 2] (ints); needed tensor"},
  };
  int asked = 0;
  const Host host(
      [&](nnex_custom_node* node) -> nnex_error* {
        for (const auto& row : rows) {
          EXPECT_EQ(attribute(node, row.kind, row.name), row.says);
          ++asked;
        }
        return pass_on(node);
      },
      "<i: int = 7, f: float = 0.5, is: ints = [1, 2], fs: floats = [0.5, 1.5], ss: strings = [\"p\", \"qr\"], "
      "t: tensor = float[2] {3, 4}>");
  host.answer({1, 2});
  EXPECT_EQ(asked, 10);
}

TEST(CCustom, AnErrorOfNnexComesThroughWhole) {
  const Host host([](nnex_custom_node*) {
    nnex_model* none = nullptr;
    return nnex_model_load_path("nosuch", nullptr, &none);
  });
  const ValueHandle x = floats({2}, {1, 2});
  nnex_value *in = x.get(), *out = nullptr;
  EXPECT_EQ(said(nnex_session_run(host.session.get(), &in, 1, &out, 1, nullptr)),
            "node 'y' (Op): cannot open 'nosuch': No such file or directory\n"
            "  while reading 'nosuch'\n"
            "  while the kernel of custom operator 'com.example:Op'");
}

TEST(CCustom, AShapeRuleSeesConstants) {
  std::string seen;
  const Host host(pass_on, "", [&](nnex_custom_node* node) -> nnex_error* {
    for (size_t i = 0; i < 3; ++i) {
      const nnex_value* input = nnex_custom_node_input(node, i);
      seen += input ? std::to_string(numbers_of(input)[1]) + " " : "unknown ";
    }
    return nnex_custom_node_set_type(node, 0, nnex_custom_node_input_type(node, 0));
  });
  EXPECT_EQ(seen.substr(0, 25), "unknown 6.000000 unknown ");
}

TEST(CCustom, WhatACallbackKeepsOutlivesTheRun) {
  const struct {
    const char* name;
    std::function<nnex_error*(const nnex_value* input, nnex_value** out)> keep;
  } rows[] = {
      {"another handle", nnex_value_share},
      {"an item of a sequence",
       [](const nnex_value* input, nnex_value** out) {
         auto* item = const_cast<nnex_value*>(input);  // NOLINT: arrays of handles are not of constant ones
         const auto list = made<ValueHandle>([&](nnex_value** v) { return nnex_sequence_make(&item, 1, v); });
         return nnex_value_item(list.get(), 0, out);
       }},
      {"a capsule",
       [](const nnex_value* input, nnex_value** out) {
         DLManagedTensor* capsule = nullptr;
         EXPECT_EQ(said(nnex_tensor_to_dlpack(input, &capsule)), "ok");
         return nnex_tensor_from_dlpack(capsule, out);
       }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    ValueHandle kept;
    {
      const Host host([&](nnex_custom_node* node) {
        const nnex_value* input = nnex_custom_node_input(node, 0);
        if (!kept) kept = made<ValueHandle>([&](nnex_value** out) { return row.keep(input, out); });
        return pass_on(node);
      });
      EXPECT_EQ(host.answer({1, 2}), (std::vector<float>{1, 2}));
      EXPECT_EQ(host.answer({30, 40}), (std::vector<float>{30, 40}));
    }
    EXPECT_EQ(numbers_of(kept.get()), (std::vector<float>{-1, -2}));
  }
}

TEST(CCustom, AStateThatACallbackSetsOutlivesTheRun) {
  const auto graph =
      nnex::test::parsed("graph g(x: f32[2], h_in: f32[2]) -> (y, h_out) { y = copy(x); h_out = add(x, h_in); }");
  const auto load = made<LoadHandle>(nnex_load_options_make);
  EXPECT_EQ(said(nnex_load_options_carry(load.get(), "h_out", "h_in")), "ok");
  const auto counter = nnex::test::compiled(graph.get(), load.get());
  const auto sums = nnex::test::session_of(counter.get());
  {
    int runs = 0;
    const Host host([&](nnex_custom_node* node) -> nnex_error* {
      if (runs++ > 0) return pass_on(node);
      EXPECT_EQ(said(nnex_session_set_state(sums.get(), "h_in", nnex_custom_node_input(node, 0))), "ok");
      return pass_on(node);
    });
    host.answer({1, 2});
    host.answer({30, 40});
  }
  const auto state = made<ValueHandle>([&](nnex_value** out) { return nnex_session_state(sums.get(), "h_in", out); });
  EXPECT_EQ(numbers_of(state.get()), (std::vector<float>{-1, -2}));
}

}  // namespace
