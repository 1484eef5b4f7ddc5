// The C interface where the caller errs or threads meet; tests/c has its everyday use as a C99 program.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "c_handles.h"
#include "nnex.h"
#include "onnx_bytes.h"

namespace {

namespace pb = nnex::test::onnx;
using nnex::test::said;

/// y = Scale(-x) of f32[2], whose kernel is `during`, then y = x.
struct Net {
  std::function<void()> during;
  nnex_model* model = nullptr;
  nnex_session* session = nullptr;
  nnex_value* x = nullptr;

  Net() {
    nnex_custom_op op = {};
    op.size = sizeof op;
    op.domain = "com.example", op.name = "Scale";
    op.context = this;
    op.run = [](void* net, nnex_custom_node* node) -> nnex_error* {
      if (const auto& during = static_cast<Net*>(net)->during) during();
      return nnex_custom_node_set_output(node, 0, nnex_custom_node_input(node, 0));
    };
    const std::string bytes =
        pb::model({{pb::node("Neg", {"x"}, {"n"}), pb::node("Scale", {"n"}, {"y"}, {}, "com.example")},
                   {pb::value("x", {2})},
                   {pb::value("y", {2})}},
                  pb::opset("com.example", 1));
    nnex_load_options* load = nullptr;
    EXPECT_EQ(said(nnex_load_options_make(&load)), "ok");
    EXPECT_EQ(said(nnex_load_options_custom_op(load, &op)), "ok");
    EXPECT_EQ(said(nnex_model_load_memory(bytes.data(), bytes.size(), load, &model)), "ok");
    nnex_load_options_free(load);
    EXPECT_EQ(said(nnex_session_make(model, nullptr, &session)), "ok");
    const int64_t two[] = {2};
    EXPECT_EQ(said(nnex_tensor_make(NNEX_F32, 1, two, &x)), "ok");
  }
  ~Net() {
    nnex_value_free(x);
    nnex_session_free(session);
    nnex_model_free(model);
  }
  Net(const Net&) = delete;
  Net& operator=(const Net&) = delete;

  std::string run(const nnex_run_options* options = nullptr) {
    nnex_value* y = nullptr;
    std::string text = said(nnex_session_run(session, &x, 1, &y, 1, options));
    nnex_value_free(y);
    return text;
  }
};

/// The kernel tries what another thread might.
TEST(CInterface, ARefusedRunLeavesTheTimesOfTheLast) {
  Net net;
  ASSERT_NE(net.session, nullptr);
  nnex_session_profile(net.session, true);
  ASSERT_EQ(net.run(), "ok");
  const size_t nodes = nnex_session_nodes(net.session);
  ASSERT_GE(nodes, 2u);
  const char *before = nullptr, *after = nullptr;
  ASSERT_TRUE(nnex_session_node(net.session, 0, &before, nullptr, nullptr, nullptr, nullptr));
  const std::string refusal = "the session is running already; use one session a thread";
  const int64_t two[] = {2};
  nnex_value* y = nullptr;
  ASSERT_EQ(said(nnex_tensor_make(NNEX_F32, 1, two, &y)), "ok");
  net.during = [&] {
    EXPECT_EQ(net.run(), refusal);
    EXPECT_EQ(said(nnex_session_run_into(net.session, &net.x, 1, &y, 1, nullptr)), refusal);
    EXPECT_EQ(said(nnex_session_prepare(net.session)), refusal);
    EXPECT_EQ(said(nnex_session_reset_states(net.session)), refusal);
    EXPECT_EQ(nnex_session_nodes(net.session), nodes);
    EXPECT_TRUE(nnex_session_node(net.session, 0, &after, nullptr, nullptr, nullptr, nullptr));
    EXPECT_EQ(before, after);
  };
  EXPECT_EQ(net.run(), "ok");
  EXPECT_EQ(nnex_session_nodes(net.session), nodes);
  nnex_value_free(y);
}

TEST(CInterface, TheLongestTimeoutIsNone) {
  Net net;
  nnex_run_options options = {};
  options.size = sizeof options;
  for (const int64_t ns : {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max() - 1,
                           std::numeric_limits<int64_t>::max() / 2, int64_t{3600} * 1000000000}) {
    options.timeout_ns = ns;
    EXPECT_EQ(net.run(&options), "ok") << ns;
  }
  options.timeout_ns = -1;
  EXPECT_EQ(net.run(&options), "found a timeout of -1 ns; needed 0 or more");
}

TEST(CInterface, ReleaseIsNotCalledWhereAFunctionFails) {
  int released = 0;
  nnex_custom_op op = {};
  op.size = sizeof op;
  op.domain = "t", op.name = "Op";
  op.context = &released;
  op.release = [](void* count) { ++*static_cast<int*>(count); };
  nnex_load_options* load = nullptr;
  ASSERT_EQ(said(nnex_load_options_make(&load)), "ok");
  EXPECT_EQ(said(nnex_load_options_custom_op(load, &op)), "found NULL for 'op->run'");
  op.run = [](void*, nnex_custom_node*) -> nnex_error* { return nullptr; };
  EXPECT_EQ(said(nnex_load_options_custom_op(nullptr, &op)), "found NULL for 'options'");
  EXPECT_EQ(said(nnex_load_options_custom_op(load, &op)), "ok");
  EXPECT_EQ(said(nnex_load_options_custom_op(load, &op)), "custom operator 't:Op' is there already");
  op.name = "Other", op.since = 5, op.until = 2;
  EXPECT_EQ(said(nnex_load_options_custom_op(load, &op)), "custom operator 't:Other' serves versions 5 to 2: none");
  EXPECT_EQ(released, 0);
  nnex_load_options_free(load);
  EXPECT_EQ(released, 1);  // the one that was taken

  nnex_reader reader = {};
  reader.size = sizeof reader;
  reader.context = op.context, reader.release = op.release;
  nnex_source* source = nullptr;
  EXPECT_EQ(said(nnex_source_callbacks(&reader, nullptr, &source)), "found NULL for 'reader->name'");
  reader.name = [](void*, size_t) -> const char* { return nullptr; };
  reader.read = [](void*, const char*, const void**, size_t*, void**) -> nnex_error* { return nullptr; };
  EXPECT_EQ(said(nnex_source_callbacks(&reader, nullptr, nullptr)), "found NULL for 'out'");
  EXPECT_EQ(released, 1);
  EXPECT_EQ(said(nnex_source_callbacks(&reader, nullptr, &source)), "ok");
  nnex_source_free(source);
  EXPECT_EQ(released, 2);
}

TEST(CInterface, SharedBytesAreNotGivenToBeWritten) {
  float numbers[2] = {1, 2};
  const int64_t two[] = {2};
  for (const bool releases : {false, true}) {
    int released = 0;
    const auto release = [](void* count) { ++*static_cast<int*>(count); };
    nnex_value *v = nullptr, *shared = nullptr, *list = nullptr;
    ASSERT_EQ(said(nnex_tensor_borrow(NNEX_F32, 1, two, numbers, releases ? +release : nullptr, &released, &v)), "ok");
    EXPECT_EQ(nnex_tensor_mutable_data(v), numbers);
    ASSERT_EQ(said(nnex_value_share(v, &shared)), "ok");
    EXPECT_EQ(nnex_tensor_mutable_data(v), nullptr);
    EXPECT_EQ(nnex_tensor_mutable_data(shared), nullptr);
    nnex_value_free(shared);
    EXPECT_EQ(nnex_tensor_mutable_data(v), numbers);
    ASSERT_EQ(said(nnex_sequence_make(&v, 1, &list)), "ok");
    EXPECT_EQ(nnex_tensor_mutable_data(v), nullptr);
    nnex_value_free(list);

    Net net;  // a run shares its inputs as long as it lasts
    std::swap(net.x, v);
    net.during = [&] { EXPECT_EQ(nnex_tensor_mutable_data(net.x), nullptr); };
    EXPECT_EQ(net.run(), "ok");
    EXPECT_EQ(nnex_tensor_mutable_data(net.x), numbers);
    nnex_run_options late = {};
    late.size = sizeof late;
    late.timeout_ns = 1;
    EXPECT_EQ(net.run(&late), "the run passed its deadline");
    EXPECT_EQ(nnex_tensor_mutable_data(net.x), numbers);
    std::swap(net.x, v);
    EXPECT_EQ(released, 0);
    nnex_value_free(v);
    EXPECT_EQ(released, releases ? 1 : 0);
  }
}

TEST(CInterface, AStandardIsThereWhereItsFilesAreWritten) {
  const auto graph = nnex::test::parsed("graph g(x: f32[2]) -> (y) { y = neg(x); }");
  for (const char* standard : {"onnx", "nnef", "webnn", "cvm", "c"}) {
    nnex_save_options save = {};
    save.size = sizeof save, save.format = standard;
    nnex_files* files = nullptr;
    const std::string text = said(nnex_graph_save_to_memory(graph.get(), &save, &files));
    EXPECT_EQ(nnex_has(standard), text.find("this build of nnex has no") == text.npos) << text;
    nnex_files_free(files);
  }
  EXPECT_FALSE(nnex_has("C"));
}

TEST(CInterface, OptionalsAreMade) {
  const auto graph = nnex::test::parsed("graph g(x: optional(f32[2])) -> (y) { y = optional_has_element(x); }");
  const auto model = nnex::test::compiled(graph.get());
  const auto session = nnex::test::session_of(model.get());
  const auto item = nnex::test::floats({2}, {1, 2});
  for (const nnex_value* held : {item.get(), static_cast<nnex_value*>(nullptr)}) {
    const auto x =
        nnex::test::made<nnex::test::ValueHandle>([&](nnex_value** out) { return nnex_optional_make(held, out); });
    EXPECT_EQ(nnex_value_kind(x.get()), NNEX_OPTIONAL);
    EXPECT_EQ(nnex_value_count(x.get()), held ? 1u : 0u);
    const auto y = nnex::test::run(session.get(), x);
    ASSERT_EQ(nnex_tensor_dtype(y.get()), NNEX_BOOL);
    EXPECT_EQ(*static_cast<const bool*>(nnex_tensor_data(y.get())), held != nullptr);
  }
}

TEST(CInterface, AnInspectionListsWhatItHas) {
  const std::string bytes = pb::model(
      {{pb::node("Neg", {"x"}, {"y"})}, {pb::value("x", {-1, 2})}, {pb::value("y", {-1, 2})}},
      pb::msg(14, pb::msg(1, "author") + pb::msg(2, "me")) + pb::msg(14, pb::msg(1, "licence") + pb::msg(2, "")));
  const auto source = nnex::test::made<nnex::test::SourceHandle>(
      [&](nnex_source** out) { return nnex_source_memory(bytes.data(), bytes.size(), nullptr, out); });
  const auto seen = nnex::test::made<nnex::test::InspectionHandle>(
      [&](nnex_inspection** out) { return nnex_inspect(source.get(), nullptr, out); });
  EXPECT_STREQ(nnex_inspection_metadata_key(seen.get(), 0), "author");
  EXPECT_STREQ(nnex_inspection_metadata_key(seen.get(), 1), "licence");
  EXPECT_EQ(nnex_inspection_metadata_key(seen.get(), 2), nullptr);
  EXPECT_STREQ(nnex_inspection_symbol(seen.get(), 0), "N");
  EXPECT_EQ(nnex_inspection_symbol(seen.get(), 1), nullptr);
  EXPECT_EQ(nnex_inspection_states(seen.get()), 0u);
  EXPECT_EQ(nnex_inspection_state(seen.get(), 0), nullptr);
  EXPECT_EQ(nnex_inspection_symbol(nullptr, 0), nullptr);
}

TEST(CInterface, SoundModelsMayHaveWarningsThatReadersForgive) {
  const std::string twice =
      pb::model({{pb::node("Neg", {"x"}, {"y"})}, {pb::value("x", {2})}, {pb::value("y", {2})}}, pb::opset("", 17));
  const auto source = nnex::test::made<nnex::test::SourceHandle>(
      [&](nnex_source** out) { return nnex_source_memory(twice.data(), twice.size(), nullptr, out); });
  nnex_report* report = nullptr;
  ASSERT_EQ(said(nnex_check(source.get(), nullptr, &report)), "ok");
  EXPECT_TRUE(nnex_report_sound(report));
  ASSERT_EQ(nnex_report_faults(report), 1u);
  EXPECT_EQ(nnex_report_severity(report, 0), NNEX_WARNING);
  EXPECT_EQ(nnex_report_code(report, 0), NNEX_INVALID_MODEL);
  EXPECT_STREQ(nnex_report_rule(report, 0), "onnx/opset-repeated");
  nnex_report_free(report);
}

TEST(CInterface, AMissingOperatorHasItsPlace) {
  const std::string bytes = pb::model(
      {{pb::node("Rotate", {"x"}, {"t"}, {}, "com.example"), pb::node("Rotate", {"t"}, {"y"}, {}, "com.example")},
       {pb::value("x", {2})},
       {pb::value("y", {2})}},
      pb::opset("com.example", 1));
  const auto source = nnex::test::made<nnex::test::SourceHandle>(
      [&](nnex_source** out) { return nnex_source_memory(bytes.data(), bytes.size(), nullptr, out); });
  nnex_report* report = nullptr;
  ASSERT_EQ(said(nnex_check(source.get(), nullptr, &report)), "ok");
  bool found = false;
  for (size_t i = 0; i < nnex_report_faults(report); ++i) {
    if (nnex_report_code(report, i) != NNEX_UNSUPPORTED) continue;
    found = true;
    EXPECT_STREQ(nnex_report_message(report, i),
                 "operator com.example.Rotate is missing (of 2 nodes, this is the first)");
    EXPECT_STRNE(nnex_report_where(report, i), "");
  }
  EXPECT_TRUE(found);
  nnex_report_free(report);
}

TEST(CInterface, RemediesAreOptionsOfC) {
  const auto open = nnex::test::parsed("graph g(x: f32[N,2]) -> (y) { y = neg(x); }");
  const std::string path = ::testing::TempDir() + "c_remedies.onnx";
  nnex_save_options save = {};
  save.size = sizeof save, save.overwrite = true;
  EXPECT_EQ(said(nnex_graph_save(open.get(), path.c_str(), &save)), "ok");
  EXPECT_EQ(said(nnex_graph_save(open.get(), path.c_str(), nullptr)),
            "'" + path + "' exists; option overwrite = true replaces it");
  save.format = "nnef";
  EXPECT_EQ(said(nnex_graph_save(open.get(), "nowhere", &save)),
            "input 'x' is f32[N,2]; NNEF needs numbers for extents; nnex_load_options_symbol or nnex_graph_set_symbol "
            "fixes them");
}

TEST(CInterface, AForgottenSizeIsRefused) {
  Net net;
  nnex_run_options run = {};
  run.timeout_ns = 1;
  EXPECT_EQ(net.run(&run), "found 0 for the member 'size' of nnex_run_options; needed sizeof(nnex_run_options), " +
                               std::to_string(sizeof run));
  run.size = offsetof(nnex_run_options, context);
  EXPECT_NE(net.run(&run), "ok");
  run.size = sizeof run, run.timeout_ns = 0;
  EXPECT_EQ(net.run(&run), "ok");
  struct {  // what a later version may hand in
    nnex_run_options run;
    int64_t more;
  } larger = {{sizeof larger, 0, nullptr, nullptr}, 0};
  EXPECT_EQ(net.run(&larger.run), "ok");
  larger.more = 7;
  EXPECT_EQ(net.run(&larger.run).find("nnex_run_options has members that this version of nnex"), 0u);
  larger.run.size = SIZE_MAX;
  EXPECT_NE(net.run(&larger.run), "ok");

  const auto names = [](const std::string& text, const char* type) {
    EXPECT_NE(text.find("'size' of " + std::string(type)), std::string::npos) << text;
  };
  nnex_session_options session = {};
  nnex_session* made = nullptr;
  names(said(nnex_session_make(net.model, &session, &made)), "nnex_session_options");
  nnex_load_options* load = nullptr;
  ASSERT_EQ(said(nnex_load_options_make(&load)), "ok");
  nnex_custom_op op = {};
  op.name = "Op";
  names(said(nnex_load_options_custom_op(load, &op)), "nnex_custom_op");
  nnex_load_options_free(load);
  nnex_reader reader = {};
  nnex_source* source = nullptr;
  names(said(nnex_source_callbacks(&reader, nullptr, &source)), "nnex_reader");
  ASSERT_EQ(said(nnex_source_path("nosuch.onnx", &source)), "ok");
  nnex_save_options save = {};
  names(said(nnex_convert(source, "x.onnx", nullptr, &save)), "nnex_save_options");
  nnex_source_free(source);
}

/// Memory of a large run is given back, and the next run has what it needs.
TEST(CInterface, ASessionIsTrimmed) {
  using namespace nnex::test;
  const GraphHandle graph = parsed(
      "graph main(x: f32[N,2], h: f32[2]) -> (y, h2)\n{\n  a = softmax(x, axes = [0]);\n  y = matmul(a, f32[2,2](1, 0, "
      "0, 1));\n"
      "  h2 = add(h, f32[2](1, 1));\n}\n");
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  ASSERT_EQ(said(nnex_load_options_carry(load.get(), "h2", "h")), "ok");
  const ModelHandle model = compiled(graph.get(), load.get());
  const SessionHandle session = session_of(model.get());
  EXPECT_EQ(said(nnex_session_trim(session.get())), "ok");
  const auto small = numbers_of(run(session.get(), floats({1, 2}, {1, 2})).get());
  const int64_t little = nnex_session_memory(session.get());
  (void)run(session.get(), floats({100000, 2}, {}));
  const int64_t much = nnex_session_memory(session.get());
  EXPECT_GT(much, 2 * little);
  EXPECT_EQ(said(nnex_session_trim(session.get())), "ok");
  EXPECT_EQ(nnex_session_memory(session.get()), 0);
  EXPECT_EQ(numbers_of(run(session.get(), floats({1, 2}, {1, 2})).get()), small);
  EXPECT_LE(nnex_session_memory(session.get()), little);
  const auto h = made<ValueHandle>([&](nnex_value** v) { return nnex_session_state(session.get(), "h", v); });
  EXPECT_EQ(numbers_of(h.get()), (std::vector<float>{3, 3}));  // of three runs
  EXPECT_EQ(said(nnex_session_trim(nullptr)), "found NULL for 'session'");
}

TEST(CInterface, AnArgumentThatCannotBeReadIsNamed) {
  using namespace nnex::test;
  const GraphHandle graph = parsed("graph main(x: f32[N,N]) -> (y)\n{\n  y = relu(x);\n}\n");
  nnex_quantize_options o = {};
  o.size = sizeof o, o.recipe = "{";
  nnex_quantized* out = nullptr;
  nnex_error* const e = nnex_quantize(graph.get(), nullptr, &o, &out);
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(nnex_error_code(e), NNEX_INVALID_ARGUMENT);
  EXPECT_STREQ(nnex_error_where(e), "options->recipe");
  nnex_error_free(e);

  const ModelHandle model = compiled(graph.get());
  const SessionHandle session = session_of(model.get());
  const ValueHandle x = floats({4, 5}, {}), wrong = floats({3}, {});
  nnex_value *const in = x.get(), *room[1] = {}, *const none = nullptr;
  EXPECT_EQ(said(nnex_session_run(session.get(), &in, 1, room, 1, nullptr)),
            "input 'x': found f32[4,5]; needed f32[N,N]; N is 4 in another axis");
  EXPECT_EQ(said(nnex_session_run(session.get(), &none, 1, room, 1, nullptr)), "found NULL for 'inputs[0]'");
  EXPECT_EQ(said(nnex_session_run_into(session.get(), &in, 1, &none, 1, nullptr)),
            "output 'y': found no tensor to write into");
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  EXPECT_EQ(said(nnex_load_options_set(load.get(), "isa", "avx-2")),
            "option 'isa': found 'avx-2'; needed one of best, scalar, sse4, avx2, avx512, neon, wasm");
}

TEST(CInterface, TheCacheSaysWhyAndWhere) {
  using namespace nnex::test;
  const GraphHandle graph = parsed("graph main(x: f32[2]) -> (y)\n{\n  y = relu(x);\n}\n");
  const ModelHandle model = compiled(graph.get());
  EXPECT_STREQ(nnex_model_cache(model.get()), "none");
  EXPECT_STREQ(nnex_model_cache_file(model.get()), "");
  EXPECT_NE(nnex_model_cache_why(model.get()), nullptr);
  EXPECT_EQ(nnex_model_cache_why(model.get()), nnex_model_cache_why(model.get()));  // it lives as long as the model
  EXPECT_EQ(nnex_model_cache_why(nullptr), nullptr);
  EXPECT_EQ(nnex_model_cache_file(nullptr), nullptr);
}

TEST(CInterface, TheHeaderHasTheVersionOfTheLibrary) {
  EXPECT_STREQ(NNEX_VERSION, nnex_version());
  EXPECT_EQ(std::to_string(NNEX_VERSION_MAJOR) + "." + std::to_string(NNEX_VERSION_MINOR) + "." +
                std::to_string(NNEX_VERSION_PATCH),
            nnex_version());
}

TEST(CInterface, AModelTellsItsMetadataAndPorts) {
  using namespace nnex::test;
  const std::string text =
      "<ir_version: 8, opset_import: [\"\": 17], producer_name: \"maker\", producer_version: \"2\", domain: \"d\", "
      "model_version: 7, metadata_props: [\"names\": \"cat,dog\"]>\n"
      "net (float[2] x, float[2] w) => (float[2] y, float[2] z) {\n  y = Add(x, w)\n  z = Neg(x)\n}\n";
  const auto model = made<ModelHandle>(
      [&](nnex_model** out) { return nnex_model_load_memory(text.data(), text.size(), nullptr, out); });
  EXPECT_STREQ(nnex_model_metadata(model.get(), "producer"), "maker");
  EXPECT_STREQ(nnex_model_metadata(model.get(), "producer_version"), "2");
  EXPECT_STREQ(nnex_model_metadata(model.get(), "model_version"), "7");
  EXPECT_STREQ(nnex_model_metadata(model.get(), "graph_name"), "net");
  EXPECT_STREQ(nnex_model_metadata(model.get(), "names"), "cat,dog");
  EXPECT_EQ(nnex_model_metadata(model.get(), "scale"), nullptr);
  EXPECT_EQ(nnex_model_metadata(nullptr, "names"), nullptr);
  EXPECT_STREQ(nnex_model_metadata_key(model.get(), 0), "names");
  EXPECT_EQ(nnex_model_metadata_key(model.get(), 1), nullptr);
  size_t size = 0;
  EXPECT_STREQ(nnex_model_metadata_value(model.get(), 0, &size), "cat,dog");
  EXPECT_EQ(size, 7u);
  EXPECT_EQ(nnex_model_metadata_value(model.get(), 1, &size), nullptr);
  EXPECT_EQ(nnex_model_input_index(model.get(), "w"), 1);
  EXPECT_EQ(nnex_model_output_index(model.get(), "z"), 1);
  EXPECT_EQ(nnex_model_output_index(model.get(), "x"), -1);
  EXPECT_EQ(nnex_model_input_index(model.get(), nullptr), -1);
}

TEST(CInterface, ATypeThatNobodyKnowsIsUnknown) {
  using namespace nnex::test;
  nnex_custom_op op = {};
  op.size = sizeof op, op.domain = "a", op.name = "B";
  op.run = [](void*, nnex_custom_node* node) {
    return nnex_custom_node_set_output(node, 0, nnex_custom_node_input(node, 0));
  };
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  EXPECT_EQ(said(nnex_load_options_custom_op(load.get(), &op)), "ok");
  const GraphHandle graph = parsed("graph g(x: f32[2]) -> (y, z) { z = custom 'a:B:'(x); y = relu(z); }");
  const ModelHandle model = compiled(graph.get(), load.get());
  EXPECT_STREQ(nnex_port_type(nnex_model_output(model.get(), 0)), "unknown");
  EXPECT_STREQ(nnex_port_type(nnex_model_output(model.get(), 1)), "unknown");
}

/// A pointer that is asked for once, and written before every run.
TEST(CInterface, AnswersStayWhereTheInputIsWrittenAgain) {
  using namespace nnex::test;
  const GraphHandle graph = parsed("graph f(x: f32[2]) -> (y) { y = reshape(x, [1, 2]); }");
  const ModelHandle model = compiled(graph.get());
  const SessionHandle session = session_of(model.get());
  const ValueHandle x = floats({2}, {1, 0});
  auto* const numbers = static_cast<float*>(nnex_tensor_mutable_data(x.get()));
  const ValueHandle first = nnex::test::run(session.get(), x);
  numbers[0] = 2;
  const ValueHandle second = nnex::test::run(session.get(), x);
  EXPECT_EQ(numbers_of(first.get()), (std::vector<float>{1, 0}));
  EXPECT_EQ(numbers_of(second.get()), (std::vector<float>{2, 0}));
  EXPECT_NE(nnex_tensor_mutable_data(first.get()), nullptr);
}

}  // namespace
