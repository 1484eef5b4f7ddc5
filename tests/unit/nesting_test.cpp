// Values within values: as deep as they may be they go in at once, deeper ones are refused before anybody descends.

#include <gtest/gtest.h>

#include "nnex/graph.h"
#include "nnex/input_file.h"
#include "nnex/model.h"
#include "nnex/tensor_file.h"

namespace nnex {
namespace {

/// A number within so many sequences.
Value within_sequences(int levels) {
  Value v = Tensor::scalar(1.0f);
  for (int i = 0; i < levels; ++i) {
    Sequence s;
    s.items.push_back(std::move(v));
    v = std::move(s);
  }
  return v;
}

/// Gives back what it is given, whose type has so many sequences.
Model giving_sequences(int levels) {
  std::string type = "f32[?]";
  for (int i = 0; i < levels; ++i) type = "sequence(" + type + ")";
  return *Model::compile(*Graph::parse("graph g(s: " + type + ") -> (s) { }"));
}

std::string said_of(const Model& model, const Value& value) {
  const auto ran = model.session().run(std::vector<Value>{value});
  return ran.ok() ? "ran" : ran.error().text();
}

TEST(Nesting, AsDeepAsATypeIsNoWork) {
  EXPECT_EQ(said_of(giving_sequences(40), within_sequences(40)), "ran");
  const std::string other = said_of(giving_sequences(1), within_sequences(40));
  EXPECT_NE(other.find("needed sequence(f32[?])"), std::string::npos) << other;
}

TEST(Nesting, ListsOfJsonAreNoWork) {
  const Model model = giving_sequences(30);
  const auto file = InputFile::from_bytes("in.json", std::string(30, '[') + "1" + std::string(30, ']'));
  ASSERT_TRUE(file.ok()) << file.error().text();
  const auto value = file->value(model.inputs()[0]);
  ASSERT_TRUE(value.ok()) << value.error().text();
  EXPECT_EQ(said_of(model, *value), "ran");
}

TEST(Nesting, DeeperIsRefused) {
  const Model model = giving_sequences(1);
  for (int levels : {65, 5000}) {
    const auto ran = model.session().run(std::vector<Value>{within_sequences(levels)});
    ASSERT_FALSE(ran.ok());
    EXPECT_EQ(ran.error().code(), Code::limit);
    EXPECT_EQ(ran.error().text(), "input 's': values nest deeper than 64");
  }
  EXPECT_EQ(said_of(model, within_sequences(64)).find("deeper"), std::string::npos);
}

TEST(Nesting, ValuesOfAnyDepthEnd) {
  constexpr int levels = 300'000;  // a frame of the stack each would be more than a stack is
  Value sequences = within_sequences(levels), maps = Tensor::scalar(1.0f), optionals = maps;
  for (int i = 0; i < levels; ++i) {
    maps = Map{Tensor::of<int64_t>({1}, {i}), {std::move(maps)}};
    optionals = Optional{std::make_shared<const Value>(std::move(optionals))};
  }
  EXPECT_EQ(sequences.text(), "sequence of 1");
  const Value shared = sequences;
  sequences = Tensor::scalar(2.0f);
  maps = optionals;
  EXPECT_EQ(shared.sequence()->items[0].text(), "sequence of 1");
  EXPECT_EQ(sequences.text(), "f32[]");
}

TEST(Nesting, DeeperGoesIntoNoFile) {
  for (TensorFormat format : {TensorFormat::onnx, TensorFormat::json}) {
    EXPECT_TRUE(value_bytes(within_sequences(20), format, "s").ok());
    const auto bytes = value_bytes(within_sequences(5000), format, "s");
    ASSERT_FALSE(bytes.ok());
    EXPECT_EQ(bytes.error().text(), "values nest deeper than 64");
  }
}

TEST(Nesting, AKernelOfTheHostsMakesNoneThatIsDeeper) {
  CustomOperator wrap;
  wrap.domain = "com.example", wrap.name = "Wrap";
  wrap.run = [](CustomRun& c) { return c.set(0, within_sequences(100)); };
  LoadOptions options;
  ASSERT_TRUE(options.custom_operators.add(wrap).ok());
  Graph g;
  const ValueId x = *g.add_input("x", "f32[1]");
  ASSERT_TRUE(g.set_outputs({{"y", *g.add("com.example:Wrap", {x})}}).ok());
  const std::string said = said_of(*Model::compile(g, options), Tensor::of<float>({1}, {1}));
  EXPECT_NE(said.find("com.example:Wrap: output 0: values nest deeper than 64"), std::string::npos) << said;
}

TEST(Nesting, AMapHasAValueForEachKey) {
  const Model model = *Model::compile(*Graph::parse("graph g(m: map(i64, f32[?])) -> (m) { }"));
  Map m{Tensor::of<int64_t>({2}, {1, 2}), {Tensor::scalar(1.0f)}};
  EXPECT_EQ(said_of(model, m),
            "input 'm': found map of 1; needed map(i64, f32[?]); a map has keys of rank 1, and a value for each");
  m.values.push_back(Tensor::scalar(2.0f));
  EXPECT_EQ(said_of(model, m), "ran");
}

}  // namespace
}  // namespace nnex
