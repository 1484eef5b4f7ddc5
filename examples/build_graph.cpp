// Builds a network in the program, compiles it and runs it for two batch sizes.

#include <cstdio>
#include <vector>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace {

using nnex::Result;
using nnex::Shape;
using nnex::Tensor;
using nnex::ValueId;

/// y = softmax(relu(x w1 + b1) w2), x: f32[N,2].
Result<nnex::Graph> network() {
  nnex::Graph g;
  auto x = g.add_input("x", "f32[N,2]");
  if (!x.ok()) return std::move(x).error();
  auto w1 = g.add_constant(Tensor::of<float>(Shape{2, 3}, {1, -1, 0.5f, 2, 0, -0.5f}), "w1");
  auto b1 = g.add_constant(Tensor::of<float>(Shape{3}, {0, 1, 0}), "b1");
  auto w2 = g.add_constant(Tensor::of<float>(Shape{3, 2}, {1, 0, 0, 1, 1, 1}), "w2");
  if (!w1.ok() || !b1.ok() || !w2.ok()) return nnex::Error(nnex::Code::limit, "no memory for the weights");
  auto product = g.add("matmul", {*x, *w1});
  if (!product.ok()) return std::move(product).error();
  auto sum = g.add("add", {*product, *b1});
  if (!sum.ok()) return std::move(sum).error();
  auto hidden = g.add("relu", {*sum});
  if (!hidden.ok()) return std::move(hidden).error();
  auto scores = g.add("matmul", {*hidden, *w2});
  if (!scores.ok()) return std::move(scores).error();
  auto y = g.add("softmax", {*scores}, {{"axes", nnex::Ints{1}}});
  if (!y.ok()) return std::move(y).error();
  if (nnex::Status named = g.set_outputs({{"y", *y}}); !named.ok()) return std::move(named).error();
  return g;
}

nnex::Status run() {
  auto graph = network();
  if (!graph.ok()) return std::move(graph).error();
  std::printf("%s", graph->text().c_str());
  auto model = nnex::Model::compile(*graph);
  if (!model.ok()) return std::move(model).error();
  nnex::Session session = model->session();
  // Plans and packs before the first picture comes.
  if (nnex::Status ready = session.prepare({{"x", {2, 2}}}); !ready.ok()) return ready;
  for (const std::vector<float>& batch : {std::vector<float>{1, 2, -1, 0.5f}, std::vector<float>{3, 1}}) {
    const auto rows = static_cast<int64_t>(batch.size() / 2);
    const std::vector<nnex::Value> inputs = {Tensor::of<float>(Shape{rows, 2}, batch)};
    auto outputs = session.run(inputs);
    if (!outputs.ok()) return std::move(outputs).error();
    const auto y = (*outputs)[0].tensor()->as<float>();
    for (size_t i = 0; i < y.size(); i += 2) std::printf("%.4f %.4f\n", y[i], y[i + 1]);
  }
  return {};
}

}  // namespace

int main() {
  const nnex::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().text().c_str());
  return status.ok() ? 0 : 1;
}
