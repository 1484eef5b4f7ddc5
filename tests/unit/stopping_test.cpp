// What stops before it is done: planning and packing, reading and compiling; and what is left then is whole.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>

#include "c_handles.h"
#include "door.h"
#include "nnex.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "source.h"

namespace nnex::test {
namespace {

std::string joined(const Shape& shape) {
  std::string text;
  for (int64_t i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text;
}

/// y = x through eight products with weights of their own, of open extents.
Model eight_products() {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,64]");
  ValueId y = x;
  for (int i = 0; i < 8; ++i) {
    std::vector<float> w(64 * 64);
    for (size_t k = 0; k < 64; ++k) w[k * 65] = 1;
    y = *g.add("matmul", {y, *g.add_constant(Tensor::of<float>({64, 64}, w))});
  }
  EXPECT_TRUE(g.set_outputs({{"y", y}}).ok());
  return *Model::compile(g);
}

TEST(Stopping, PlanningAsksBetweenNodes) {
  const Model model = eight_products();
  Session session = model.session({.threads = 1});
  std::atomic<bool> cancel{true};
  RunOptions options;
  options.cancel = &cancel;
  const std::vector<Value> in{Tensor::of<float>({1, 64}, std::vector<float>(64, 3))};
  const auto stopped = session.run(in, options);
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code(), Code::cancelled);
  EXPECT_EQ(stopped.error().text(), "the run was cancelled");
  EXPECT_EQ(model.packed_memory(), 0);
  RunOptions late;
  late.deadline = std::chrono::steady_clock::now();
  const Status prepared = session.prepare({{"x", {1, 64}}}, late);
  ASSERT_FALSE(prepared.ok());
  EXPECT_EQ(prepared.error().text(), "the run passed its deadline");
  EXPECT_EQ(model.packed_memory(), 0);
  cancel = false;
  const auto ran = session.run(in, options);
  ASSERT_TRUE(ran.ok()) << ran.error().text();
  EXPECT_EQ((*ran)[0].tensor()->as<float>()[63], 3);
  EXPECT_GT(model.packed_memory(), 0);
}

TEST(Stopping, ALargeProductOfOneThreadIsLeft) {
  Graph g;
  const ValueId x = *g.add_input("x", "f32[N,1024]");
  const ValueId w = *g.add_constant(Tensor::of<float>({1024, 4096}, std::vector<float>(1024 * 4096, 1)));
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("matmul", {x, w})}}).ok());
  const Model model = *Model::compile(g);
  Session session = model.session({.threads = 1});
  const std::vector<Value> in{Tensor::of<float>({1024, 1024}, std::vector<float>(1024 * 1024, 1))};
  const auto seconds = [](auto since) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
  };
  double whole = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(session.run(in).ok());
    whole = std::min(whole, seconds(start));
  }
  double stopped = 1e9;
  for (int i = 0; i < 5; ++i) {
    RunOptions options;
    const auto start = std::chrono::steady_clock::now();
    options.deadline =
        start + std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(whole / 10));
    EXPECT_FALSE(session.run(in, options).ok());
    stopped = std::min(stopped, seconds(start));
  }
  EXPECT_LT(stopped, whole / 2);
}

// Windows, filters and grams as large as a small file can ask for: each would take minutes.
TEST(Stopping, LongNodesOfAnyKindAreLeft) {
#ifndef __OPTIMIZE__
  GTEST_SKIP() << "loops that are not optimised take seconds between two looks at the clock";
#endif
#ifdef __x86_64__
  constexpr std::chrono::seconds kLatest(4);
#else
  constexpr std::chrono::seconds kLatest(60);  // perhaps emulated
#endif
  const struct {
    const char* name;
    std::string node;
    Shape x;
  } rows[] = {
      {"max pool",
       "y = MaxPool <kernel_shape = [20001, 20001], pads = [10000, 10000, 10000, 10000]> (x)",
       {1, 1, 600, 600}},
      {"indices",
       "y, i = MaxPool <kernel_shape = [2001, 2001], pads = [1000, 1000, 1000, 1000]> (x)",
       {1, 1, 600, 600}},
      {"a line", "y = MaxPool <kernel_shape = [2000001], pads = [1000000, 1000000]> (x)", {1, 1, 3000000}},
      {"mean",
       "y = AveragePool <kernel_shape = [20001, 20001], pads = [10000, 10000, 10000, 10000]> (x)",
       {1, 1, 600, 600}},
      {"norm", "y = LpPool <kernel_shape = [999, 999], pads = [499, 499, 499, 499]> (x)", {1, 1, 600, 600}},
      {"neighbours", "y = LRN <size = 40001> (x)", {1, 40000, 20, 20}},
      {"filters",
       "s = Constant <value_ints = [8, 1, 599, 599]> ()  w = ConstantOfShape (s)  "
       "y = Conv <pads = [299, 299, 299, 299]> (x, w)",
       {1, 1, 600, 600}},
      {"transposed",
       "s = Constant <value_ints = [1, 1, 600, 600]> ()  w = ConstantOfShape (s)  "
       "y = ConvTranspose (x, w)",
       {1, 1, 600, 600}},
      {"grams",
       "n = Cast <to = 7> (x)  y = TfIdfVectorizer <max_gram_length = 2, min_gram_length = 2, max_skip_count = "
       "2000000000, mode = \"TF\", ngram_counts = [0, 0], ngram_indexes = [0], pool_int64s = [0, 1]> (n)",
       {200000}},
      {"draws", "y = Multinomial <sample_size = 60000000> (x)", {1, 3}},
      {"product", "d = Cast <to = 11> (x)  p = MatMul (d, d)  y = ReduceSum (p)", {6000, 6000}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string text =
        "<ir_version: 8, opset_import: [\"\": 17]> g (float[" + joined(row.x) + "] x) => (y) { " + row.node + " }";
    auto loaded = Model::from_bytes(text);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const Tensor x = Tensor::of<float>(row.x, std::vector<float>(static_cast<size_t>(row.x.count()), 1));
    for (const int threads : {1, 2}) {
      Session session = loaded->session({.threads = threads});
      RunOptions options;
      const auto began = std::chrono::steady_clock::now();
      options.deadline = began + std::chrono::milliseconds(200);
      const auto out = session.run(std::vector<Value>{x}, options);
      ASSERT_FALSE(out.ok());
      EXPECT_EQ(out.error().code(), Code::cancelled) << out.error().text();
      EXPECT_LT(std::chrono::steady_clock::now() - began, kLatest);
    }
  }
}

TEST(Stopping, ReadingAndCompilingAreCancelled) {
  std::atomic<bool> cancel{true};
  LoadOptions options, late;
  options.cancel = &cancel;
  late.deadline = std::chrono::steady_clock::now();
  for (Format format : {Format::onnx, Format::nnef}) {
    const Files files = files_of(format);
    const auto loaded = load_model(ModelSource::memory(files), options);
    ASSERT_FALSE(loaded.ok()) << name(format);
    EXPECT_EQ(loaded.error().code(), Code::cancelled);
    EXPECT_EQ(loaded.error().message(), "loading was cancelled");
    const auto read = load_graph(ModelSource::memory(files), late);
    ASSERT_FALSE(read.ok()) << name(format);
    EXPECT_EQ(read.error().code(), Code::cancelled);
    EXPECT_EQ(read.error().message(), "loading passed its deadline");
  }
  cancel = false;
  const auto graph = load_graph(ModelSource::memory(files_of(Format::onnx)), options);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  cancel = true;  // which the graph does not keep
  EXPECT_TRUE(Model::compile(*graph).ok());
  const auto compiled = Model::compile(*graph, options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code(), Code::cancelled);
}

TEST(Stopping, CTakesATimeout) {
  nnex_load_options* options = nullptr;
  ASSERT_EQ(nnex_load_options_make(&options), nullptr);
  ASSERT_EQ(nnex_load_options_set(options, "timeout_ns", "1"), nullptr);
  const std::string path = source_dir() + "/models/shapes/model.onnx";
  nnex_model* model = nullptr;
  nnex_error* e = nnex_model_load_path(path.c_str(), options, &model);
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(nnex_error_code(e), NNEX_CANCELLED);
  EXPECT_EQ(model, nullptr);
  nnex_error_free(e);
  for (const char* enough : {"0", "600000000000", "9223372036854775807"}) {
    ASSERT_EQ(nnex_load_options_set(options, "timeout_ns", enough), nullptr);
    EXPECT_EQ(nnex_model_load_path(path.c_str(), options, &model), nullptr) << enough;
    nnex_model_free(model);
  }
  nnex_load_options_free(options);
}

/// The n-th time that it is asked a callback says that it is over, or throws.
struct Asked {
  int stop_at = 1;
  int how = 0;  ///< 0: it says so; 1: an exception; 2: what is none.
  std::atomic<int> asked{0};

  static bool cancelled(void* context) {
    auto& self = *static_cast<Asked*>(context);
    if (++self.asked < self.stop_at) return false;
    if (self.how == 1) throw std::runtime_error("boom");
    if (self.how == 2) throw 3;
    return true;
  }
  nnex_run_options run() {
    nnex_run_options o = {};
    o.size = sizeof o, o.cancelled = cancelled, o.context = this;
    return o;
  }
};
constexpr const char* kBoom[] = {"", "boom\n  while the host's 'cancelled' was called",
                                 "the host threw what is no std::exception\n  while the host's 'cancelled' was called"};

TEST(Stopping, ACallbackOfCMayThrowOnAnyThread) {
  const GraphHandle graph = parsed(
      "graph g(n: i64[], x: f32[64,64]) -> (y)\n{\n  [y] = loop(count = n, state = [x], body = graph (i: i64[], go: "
      "bool[], a: f32[64,64]) -> (more, b) { more = copy(go); b = relu(matmul(a, x)); });\n}\n");
  ASSERT_NE(graph, nullptr);
  const ModelHandle model = compiled(graph.get());
  const SessionHandle session = session_of(model.get());
  const auto turns = made<ValueHandle>([](nnex_value** v) { return nnex_tensor_make(NNEX_I64, 0, nullptr, v); });
  *static_cast<int64_t*>(nnex_tensor_mutable_data(turns.get())) = int64_t{1} << 40;
  const ValueHandle x = floats({64, 64}, {});
  nnex_value* const in[] = {turns.get(), x.get()};
  for (const int how : {1, 2})
    for (const int at : {1, 3}) {  // on this thread, and on one of nnex
      Asked asked;
      asked.how = how, asked.stop_at = at;
      const nnex_run_options o = asked.run();
      nnex_value* y = nullptr;
      EXPECT_EQ(said(nnex_session_run(session.get(), in, 2, &y, 1, &o)), kBoom[how]) << at;
      EXPECT_EQ(y, nullptr);
      Asked quiet;
      const nnex_run_options stop = quiet.run();
      EXPECT_EQ(said(nnex_session_run(session.get(), in, 2, &y, 1, &stop)), "the run was cancelled");
    }
}

TEST(Stopping, CCancelsLoadingAndPreparing) {
  const LoadHandle load = made<LoadHandle>(nnex_load_options_make);
  const std::string path = source_dir() + "/models/shapes/model.onnx";
  const auto model_of = [&](nnex_model** m) { return nnex_model_load_path(path.c_str(), load.get(), m); };
  for (const int how : {0, 1, 2}) {
    Asked asked;
    asked.how = how;
    EXPECT_EQ(said(nnex_load_options_cancelled(load.get(), Asked::cancelled, &asked)), "ok");
    const std::string text = refused<ModelHandle>(model_of);
    EXPECT_EQ(with(text, how == 0 ? "loading was cancelled" : kBoom[how]), "");
    EXPECT_EQ(asked.asked, 1);
  }
  Asked later;
  later.stop_at = 1 << 30;
  EXPECT_EQ(said(nnex_load_options_cancelled(load.get(), Asked::cancelled, &later)), "ok");
  EXPECT_NE(made<ModelHandle>(model_of), nullptr);
  EXPECT_GT(later.asked, 0);
  EXPECT_EQ(said(nnex_load_options_cancelled(load.get(), nullptr, nullptr)), "ok");
  EXPECT_EQ(said(nnex_load_options_cancelled(nullptr, nullptr, nullptr)), "found NULL for 'options'");

  const ValueHandle picture = floats({1, 3, 32, 32}, {});
  nnex_value* const in = picture.get();
  for (const int how : {0, 1, 2}) {
    const SessionHandle session = session_of(made<ModelHandle>(model_of).get());  // nothing of it is packed yet
    Asked asked;
    asked.how = how;
    const nnex_run_options o = asked.run();
    EXPECT_EQ(said(nnex_session_prepare_with(session.get(), &in, 1, &o)),
              how == 0 ? "the run was cancelled" : kBoom[how]);
    EXPECT_EQ(said(nnex_session_prepare_with(session.get(), &in, 1, nullptr)), "ok");
    EXPECT_NE(said(nnex_session_prepare_with(session.get(), nullptr, 0, nullptr)), "ok");  // of N nothing is known
  }
  EXPECT_EQ(said(nnex_load_options_symbol(load.get(), "N", 1)), "ok");
  const SessionHandle session = session_of(made<ModelHandle>(model_of).get());
  EXPECT_EQ(said(nnex_session_prepare_with(session.get(), nullptr, 0, nullptr)), "ok");
  EXPECT_EQ(said(nnex_session_prepare_with(nullptr, nullptr, 0, nullptr)), "found NULL for 'session'");
}

TEST(Stopping, TextsGoIntoTheCallersMemory) {
  const Model model =
      *Model::compile(*Graph::parse("graph g(x: str[2]) -> (y, z) { y = copy(x); z = string_concat(x, x); }"));
  std::string first[2], second[2];
  std::vector<Tensor> out{Tensor::borrow_mutable(DType::str, {2}, first), Tensor::make(DType::str, {2}).value()};
  const std::vector<Value> in{Tensor::of<std::string>({2}, {"a", "b"})};
  const Status ran = model.session().run_into(in, out);
  ASSERT_TRUE(ran.ok()) << ran.error().text();
  EXPECT_EQ(first[0] + first[1], "ab");
  EXPECT_EQ(out[1].strings()[1], "bb");
  out[0] = Tensor::borrow_mutable(DType::str, {1}, second);
  EXPECT_FALSE(model.session().run_into(in, out).ok());
}

}  // namespace
}  // namespace nnex::test
