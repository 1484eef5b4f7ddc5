// What a program that uses nnex may do wrong: an Error where one can be given back, else a sentence and the end; never
// a crash without a word, in any build.
#include <gtest/gtest.h>

#include <cfenv>
#include <functional>
#include <string>
#include <vector>

#include "base/try.h"
#include "graph/text/build.h"
#include "nnex/compare.h"
#include "nnex/cvm.h"
#include "nnex/elements.h"
#include "nnex/file.h"
#include "nnex/graph.h"
#include "nnex/model.h"
#include "nnex/quantize.h"
#include "nnex/save.h"
#include "nnex/view.h"
#include "nnex/webnn.h"
#include "run/compile.h"

namespace nnex {
namespace {

Model model_of(std::string_view text) {
  auto graph = graph_text::read_graph(text, "g");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return *compile(std::move(graph).value());
}

constexpr const char* kAdd = "graph main(x: f32[N,2], y: f32[N,2]) -> (z) { z = add(x, y); }";

/// Constants that are computed at loading are those of every host, however that rounds; its own way comes back.
TEST(Misuse, HostsThatRoundTheirOwnWay) {
  constexpr const char* kText = "graph main(x: f32[2]) -> (y) { c = div(f32[2](1, 1), f32[2](3, -3)); y = add(x, c); }";
  const auto answer = [](const Model& model) {
    const auto out = model.session().run(std::vector<Value>{Tensor::of<float>({2}, {0, 0})});
    if (!out.ok()) return std::vector<float>();
    const auto y = (*out)[0].tensor()->as<float>();
    return std::vector<float>(y.begin(), y.end());
  };
  const auto graph = Graph::parse(kText);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const std::vector<float> wanted = answer(*Model::compile(*graph));
  ASSERT_EQ(wanted.size(), 2U);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const auto model = Model::compile(*graph);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(answer(*model), wanted) << mode;
  }
}

/// Takes what is not there.
TEST(Misuse, EndsTheProgramWithASentence) {
  const struct {
    const char* says;
    std::function<void()> misuse;
  } rows[] = {
      {"failed Result was taken .ask ok.. first.: .*nosuch", [] { (void)*Model::load("nosuch"); }},
      {"failed Result was taken .*nosuch", [] { (void)Model::load("nosuch")->inputs(); }},
      {"failed Result was taken .*nosuch", [] { (void)Model::load("nosuch").value(); }},
      {"has none", [] { (void)Result<int>(3).error(); }},
      {"has none", [] { (void)Status().error(); }},
      {"moved elsewhere",
       [] {
         Error e(Code::limit, "too much");
         const Error other = std::move(e);
         (void)e.text();
       }},
      {"an Error was returned as a Status that had been moved elsewhere",
       [] {
         Error e(Code::limit, "too much");
         const Error other = std::move(e);
         const Status s = std::move(e);
         (void)s.ok();
       }},
      {"Tensor::of: found 3 values; shape .2,2. takes 4",
       [] {
         (void)Tensor::of(Shape{2, 2}, std::vector<float>{1, 2, 3});
       }},
      {"Tensor::of: a tensor f32.-1.; needed extents of 0 or more",
       [] { (void)Tensor::of(Shape{-1}, std::vector<float>{}); }},
      {"f32.2. was read as elements of another kind, of 8 bytes",
       [] {
         (void)Tensor::of(Shape{2}, std::vector<float>{1, 2}).as<double>();
       }},
      {"f32.2. was read as elements of another kind",
       [] {
         (void)Tensor::of(Shape{2}, std::vector<float>{1, 2}).strings();
       }},
      {"str.1. was read as elements of another kind",
       [] { (void)Tensor::scalar(std::string("a")).reshaped(Shape{1}).as<char>(); }},
      {"Tensor::reshaped: .2. into .3.",
       [] {
         (void)Tensor::of(Shape{2}, std::vector<float>{1, 2}).reshaped(Shape{3});
       }},
      {"Tensor::reinterpreted: f32 as i64", [] { (void)Tensor::scalar(1.0f).reinterpreted(DType::i64); }},
      {"a Model was used that holds no network", [] { (void)Model().inputs(); }},
      {"a Model was used that holds no network", [] { (void)Model().session(); }},
      {"a Model was used that holds no network", [] { (void)cvm_facts(Model()); }},
      {"a Session was used that had been moved",
       [] {
         Session a = model_of(kAdd).session();
         const Session b = std::move(a);
         (void)a.run(std::vector<Value>{});
       }},
      {"failed Result was taken .*InvalidStateError|failed Result was taken .*TypeError",
       [] { (void)*ml::GraphBuilder::create(ml::Context()); }},
      {"Operand::shape: the handle is empty", [] { (void)ml::Operand().shape(); }},
      {"Tensor::dataType: the handle is empty", [] { (void)ml::Tensor().dataType(); }},
      {"Graph::inputs: the handle is empty", [] { (void)ml::Graph().inputs(); }},
      {"no DataType 77", [] { (void)ml::name(static_cast<ml::DataType>(77)); }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.says);
    EXPECT_DEATH_IF_SUPPORTED(row.misuse(), row.says);
  }
}

TEST(Misuse, SaysNoPathOfTheBuild) {
  EXPECT_DEATH_IF_SUPPORTED(broken("a == b", "/somebody/nnex/src/base/x.cpp", 7), "hold .src/base/x.cpp:7.");
}

TEST(Misuse, TensorsAreErrors) {
  EXPECT_EQ(Tensor::from(Shape{2, 3}, std::vector<float>(5)).error().text(), "found 5 values; shape [2,3] takes 6");
  EXPECT_EQ(Tensor::from(Shape{-2, -3}, std::vector<float>(6)).error().code(), Code::invalid_argument);
  EXPECT_EQ(Tensor::from(Shape{1, 2}, std::vector<int64_t>{3, 4})->as<int64_t>()[1], 4);
  EXPECT_EQ(Tensor::make(DType::none, Shape{2}).error().code(), Code::invalid_argument);
  EXPECT_EQ(Tensor::make(static_cast<DType>(99), Shape{2}).error().code(), Code::invalid_argument);
  EXPECT_EQ(Tensor::make(DType::f32, Shape{-1}).error().code(), Code::invalid_argument);
  EXPECT_EQ(Tensor::borrow(DType::f32, Shape{2}, nullptr).clone().error().code(), Code::invalid_argument);
  EXPECT_EQ(Tensor::borrow(DType::f32, Shape{int64_t{1} << 62}, nullptr).count(), 0);
}

TEST(Misuse, TensorsWithoutMemoryAreErrors) {
  const float two[2] = {1, 2};
  const Tensor none = Tensor::borrow(DType::f32, Shape{2}, nullptr), some = Tensor::borrow(DType::f32, Shape{2}, two);
  const Tensor large = Tensor::borrow(DType::f32, Shape{int64_t{1} << 62, 2}, two);
  const Tensor words = Tensor::borrow(DType::str, Shape{2}, nullptr);
  const std::pair<Result<Tensor>, const char*> rows[] = {
      {cast(none, DType::i64), "a tensor f32[2] without memory"},
      {cast(none, DType::f32), "a tensor f32[2] without memory"},
      {cast(words, DType::f32), "a tensor str[2] without memory"},
      {cast(large, DType::f64), "a tensor f32[4611686018427387904,2] without memory"},
      {slice_at(none, 0, 0), "a tensor f32[2] without memory"},
      {slice_at(large, 0, 5), "a tensor f32[4611686018427387904,2] without memory"},
      {slice_at(some, 1, 0), "slice_at: axis 1 of a tensor of 1 axes"},
      {slice_at(some, -1, 0), "slice_at: axis -1 of a tensor of 1 axes"},
      {slice_at(Tensor::scalar(1.0f), 0, 0), "slice_at: axis 0 of a tensor of 0 axes"},
      {slice_at(some, 0, 2), "slice_at: index 2 is outside [0, 2) of axis 0"},
      {slice_at(some, 0, -1), "slice_at: index -1 is outside [0, 2) of axis 0"},
      {stack(std::vector<Tensor>{some, none}, 0), "a tensor f32[2] without memory"},
      {stack(std::vector<Tensor>{words}, 0), "a tensor str[2] without memory"},
  };
  for (const auto& [result, says] : rows) {
    ASSERT_FALSE(result.ok()) << says;
    EXPECT_EQ(result.error().code(), Code::invalid_argument) << says;
    EXPECT_EQ(result.error().text(), says);
  }
  EXPECT_EQ(element_text(none, 0), "");
  EXPECT_EQ(element_text(words, 1), "");
  EXPECT_EQ(element_text(some, 2), "");
  EXPECT_EQ(element_text(some, 1), "2");
}

TEST(Misuse, NumbersThatAreNoEnumerators) {
  const auto graph = [] {
    Graph g;
    const ValueId x = *g.add_input("x", "f32[2]");
    EXPECT_TRUE(g.set_outputs({{"y", *g.add("relu", {x})}}).ok());
    return g;
  };
  const auto loaded = [&](LoadOptions o) { return Model::compile(graph(), o).error().text(); };
  const auto quantized = [&](QuantizeOptions o) { return quantize(graph(), {}, o).error().text(); };
  LoadOptions map, dialect, answers;
  map.map = static_cast<Mapping>(9), dialect.nnef.dialect = static_cast<NnefDialect>(9);
  answers.cvm.answers = static_cast<CvmAnswers>(9);
  EXPECT_EQ(loaded(map), "option 'map': found 9; needed one of its 3 choices");
  EXPECT_EQ(loaded(dialect), "option 'nnef.dialect': found 9; needed one of its 3 choices");
  EXPECT_EQ(loaded(answers), "option 'cvm.answers': found 9; needed one of its 2 choices");
  QuantizeOptions method, weights, plan, arithmetic, to;
  method.settings.method = static_cast<RangeMethod>(9), weights.settings.weights = static_cast<WeightCodes>(9);
  plan.plan = static_cast<QuantizePlan>(9), arithmetic.arithmetic = static_cast<CalibrateOn>(9);
  to.to = static_cast<Format>(77);
  EXPECT_EQ(quantized(method), "option 'settings.method': found 9; needed one of its 4 choices");
  EXPECT_EQ(quantized(weights), "option 'settings.weights': found 9; needed one of its 2 choices");
  EXPECT_EQ(quantized(plan), "option 'plan': found 9; needed one of its 2 choices");
  EXPECT_EQ(quantized(arithmetic), "option 'arithmetic': found 9; needed one of its 2 choices");
  EXPECT_EQ(quantized(to), "option 'to': found 77; needed one of its 5 choices");
  SaveOptions save_options;
  save_options.overwrite = static_cast<Overwrite>(9);
  EXPECT_EQ(save(graph(), "never.onnx", save_options).error().text(),
            "option 'overwrite': found 9; needed one of its 2 choices");
  EXPECT_EQ(may_write("never", static_cast<Existing>(9)).error().text(),
            "option 'existing': found 9; needed one of its 3 choices");
  ViewOptions view_options;
  view_options.format = static_cast<ViewFormat>(9);
  EXPECT_EQ(view("never.onnx", view_options).error().text(), "option 'format': found 9; needed one of its 3 choices");
  Graph g;
  const ValueId x = *g.add_input("x", "f32[2]");
  EXPECT_EQ(g.add("cast", {x}, {{"to", static_cast<DType>(88)}}).error().code(), Code::invalid_argument);
}

TEST(Misuse, InputsAreErrors) {
  Session session = model_of(kAdd).session();
  const float two[2] = {1, 2};
  const Value good = Tensor::borrow(DType::f32, Shape{1, 2}, two);
  const struct {
    const char* says;
    std::vector<Value> inputs;
  } rows[] = {
      {"found 1 inputs; the model takes 2", {good}},
      {"input 'y' is missing; needed f32[N,2]", {good, Value()}},
      {"input 'y': found f32[1,2] without memory; needed f32[N,2]",
       {good, Tensor::borrow(DType::f32, Shape{1, 2}, nullptr)}},
      {"input 'x': found f32[-1,2] without memory; needed f32[N,2]",
       {Tensor::borrow(DType::f32, Shape{-1, 2}, two), good}},
      {"input 'y': found f64[1,2]; needed f32[N,2]", {good, Tensor::borrow(DType::f64, Shape{1, 2}, two)}},
      {"input 'y': found f32[3,2]; needed f32[N,2]; N is 1 in another input",
       {good, *Tensor::make(DType::f32, Shape{3, 2})}},
      {"input 'y': found sequence of 1; needed f32[N,2]", {good, Value(Sequence{DType::f32, {good}})}},
  };
  for (const auto& row : rows) {
    const auto ran = session.run(row.inputs);
    ASSERT_FALSE(ran.ok()) << row.says;
    EXPECT_EQ(ran.error().text(), row.says);
  }
  Session square = model_of("graph g(x: f32[N,N]) -> (y) { y = relu(x); }").session();
  EXPECT_EQ(square.run(std::vector<Value>{*Tensor::make(DType::f32, Shape{2, 3})}).error().text(),
            "input 'x': found f32[2,3]; needed f32[N,N]; N is 2 in another axis");
  EXPECT_EQ(session.run({{"x", good}, {"pic", good}}).error().text(), "no input 'pic'; the model has: 'x' 'y'");
  std::vector<Tensor> out = {Tensor::borrow_mutable(DType::f32, Shape{1, 2}, nullptr)};
  EXPECT_EQ(session.run_into(std::vector<Value>{good, good}, out).error().text(),
            "output 'z': found f32[1,2] without memory");
  out[0] = *good.tensor();
  EXPECT_EQ(session.run_into(std::vector<Value>{good, good}, out).error().text(),
            "output 'z': f32[1,2] was borrowed to be read; needed Tensor::borrow_mutable()");
  out[0] = *Tensor::make(DType::f32, Shape{1, 2});
  const Tensor copy = out[0];
  EXPECT_EQ(session.run_into(std::vector<Value>{good, good}, out).error().text(),
            "output 'z': others share the bytes of f32[1,2]; needed a tensor alone");
  out[0] = *Tensor::make(DType::f32, Shape{3});
  EXPECT_EQ(session.run_into(std::vector<Value>{good, good}, out).error().text(),
            "output 'z': found room for f32[3]; needed f32[1,2]");
  float row[3] = {1, 2, 3};
  const Value left = Tensor::borrow(DType::f32, Shape{1, 2}, row);
  out[0] = Tensor::borrow_mutable(DType::f32, Shape{1, 2}, row + 1);
  EXPECT_EQ(session.run_into(std::vector<Value>{good, left}, out).error().text(),
            "output 'z': found f32[1,2], which shares bytes with input 'y'; needed memory of its own");
  EXPECT_EQ(row[2], 3);
  EXPECT_TRUE(session.run({{"x", good}, {"y", good}}).ok());
}

TEST(Misuse, OneMemoryForTwoOutputs) {
  Session session = model_of("graph main(x: f32[2]) -> (y, z) { y = neg(x); z = relu(x); }").session();
  float memory[4] = {};
  const std::vector<Value> in = {Tensor::of(Shape{2}, std::vector<float>{1, -2})};
  std::vector<Tensor> out = {Tensor::borrow_mutable(DType::f32, Shape{2}, memory),
                             Tensor::borrow_mutable(DType::f32, Shape{2}, memory + 1)};
  EXPECT_EQ(session.run_into(in, out).error().text(),
            "output 'z': found f32[2], which shares bytes with output 'y'; needed memory of its own");
  out[1] = Tensor::borrow_mutable(DType::f32, Shape{2}, memory + 2);
  ASSERT_TRUE(session.run_into(in, out).ok());
  EXPECT_EQ(std::vector<float>(memory, memory + 4), (std::vector<float>{-1, 2, 1, 0}));
}

TEST(Misuse, FunctionsThatAreNotThere) {
  const Graph graph = *Graph::parse(kAdd);
  const ModelSource source = ModelSource::memory(*to_bytes(graph, Format::onnx));
  const InputsOf inputs = [](const Model&) -> Result<std::vector<Value>> { return std::vector<Value>(); };
  EXPECT_EQ(compare(source, source, InputsOf()).error().text(), "needed a function that gives the inputs of a run");
  EXPECT_EQ(compare(source, Others(), inputs).error().text(),
            "needed a function that gives the tensors to compare with");
  EXPECT_EQ(quantize(graph, {3, {}}).error().text(), "needed a function that reads the samples");
  EXPECT_EQ(quantize(graph, {3, {}}).error().code(), Code::invalid_argument);
}

TEST(Misuse, SequencesAreChecked) {
  Session session = model_of("graph main(s: sequence(f32[2]), i: i64[]) -> (z) { z = sequence_at(s, i); }").session();
  const Value place = Tensor::scalar<int64_t>(0), two = Tensor::of(Shape{2}, std::vector<float>{1, 2});
  const auto run = [&](Value s) { return session.run(std::vector<Value>{std::move(s), place}); };
  EXPECT_TRUE(run(Sequence{DType::f32, {two}}).ok());
  for (const Value& bad : {Value(two), Value(Map{Tensor::of(Shape{1}, std::vector<int64_t>{1}), {two}}),
                           Value(Sequence{DType::f32, {place}}), Value(Sequence{DType::f32, {two, Value()}}),
                           Value(Sequence{DType::f32, {Value(Sequence{})}}),
                           Value(Sequence{DType::f32, {Tensor::of(Shape{1}, std::vector<float>{1})}}),
                           Value(Sequence{DType::f32, {Tensor::borrow(DType::f32, Shape{2}, nullptr)}})}) {
    const auto ran = run(bad);
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code(), Code::invalid_argument) << ran.error().text();
  }
}

/// Empty handles, handles of another context or builder, and numbers that are no enumerators.
TEST(Misuse, WebNNGivesErrors) {
  using namespace ml;
  const Context context = *createContext().get(), nothing;
  GraphBuilder builder = *GraphBuilder::create(context), other = *GraphBuilder::create(context), empty;
  const OperandDescriptor one{DataType::float32, {1}}, no_type{static_cast<DataType>(77), {1}};
  const Operand x = *builder.input("x", one), foreign = *other.input("x", one), none;
  const ml::Graph graph = *builder.build({{"y", *builder.relu(x)}}).get();
  GraphBuilder fresh = *GraphBuilder::create(context);
  const Operand a = *fresh.input("a", one);
  const ml::Tensor tensor = *context.createTensor(one, {.readable = true, .writable = true}).get();
  const std::vector<float> value = {1};
  const auto said = [](const auto& result) { return result.ok() ? "nothing" : result.error().text(); };
  const std::pair<std::string, const char*> rows[] = {
      {said(fresh.relu(none)), "TypeError: relu: input is an empty operand; needed one that a builder made"},
      {said(fresh.relu(foreign)), "TypeError: relu: input is an operand of another builder"},
      {said(fresh.concat({a, none}, 0)),
       "TypeError: concat: inputs is an empty operand; needed one that a builder made"},
      {said(empty.relu(a)), "TypeError: the builder is empty; needed one of GraphBuilder::create()"},
      {said(empty.input("x", one)), "TypeError: the builder is empty; needed one of GraphBuilder::create()"},
      {said(empty.build({}).get()), "TypeError: the builder is empty; needed one of GraphBuilder::create()"},
      {said(GraphBuilder::create(nothing)), "TypeError: GraphBuilder: the context is empty"},
      {said(fresh.cast(a, static_cast<DataType>(77))), "TypeError: dataType: there is no data type 77"},
      {said(fresh.input("b", no_type)), "TypeError: input 'b': there is no data type 77"},
      {said(fresh.constant(static_cast<DataType>(77), 1.0)), "TypeError: constant: there is no data type 77"},
      {said(fresh.constant(ml::Tensor())), "TypeError: constant: the tensor is empty"},
      {said(fresh.build({{"y", none}}).get()), "TypeError: build: output 'y' is an empty operand"},
      {said(context.createTensor(no_type, {}).get()), "TypeError: createTensor: there is no data type 77"},
      {said(nothing.createTensor(one, {}).get()), "TypeError: createTensor: the context is empty"},
      {said(nothing.createConstantTensor(one, value).get()), "TypeError: createConstantTensor: the context is empty"},
      {said(nothing.dispatch(graph, {}, {})), "TypeError: dispatch: the context is empty"},
      {said(nothing.readTensor(tensor).get()), "TypeError: readTensor: the context is empty"},
      {said(nothing.writeTensor(tensor, value)), "TypeError: writeTensor: the context is empty"},
      {said(nothing.lost().get()), "TypeError: lost: the context is empty"},
      {said(context.dispatch({}, {}, {})), "TypeError: dispatch: the graph is empty"},
      {said(context.dispatch(graph, {{"x", {}}}, {{"y", tensor}})),
       "TypeError: dispatch: input 'x' is an empty tensor"},
      {said(context.readTensor({}).get()), "TypeError: readTensor: the tensor is empty"},
      {said(context.writeTensor({}, value)), "TypeError: writeTensor: the tensor is empty"},
  };
  for (const auto& [found, needed] : rows) EXPECT_EQ(found, needed);
  ml::Tensor().destroy();
  ml::Graph().destroy();
  nothing.destroy();
}

}  // namespace
}  // namespace nnex
