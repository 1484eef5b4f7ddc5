// Walks a network and edits it: every relu becomes a clamp to [0, 6], and what an operator costs is counted.

#include <cstdio>
#include <map>
#include <string>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace {

constexpr char kNetwork[] = R"(graph small(x: f32[N,4]) -> (y)
{
  a = relu(x);
  b = mul(a, f32[](2.0));
  y = relu(b);
}
)";

nnex::Status run() {
  auto graph = nnex::Graph::parse(kNetwork);
  if (!graph.ok()) return std::move(graph).error();

  for (const nnex::NodeId id : graph->nodes()) {
    const auto node = graph->node(id);
    if (!node.ok() || node->op != "relu") continue;
    auto low = graph->add_constant(nnex::Tensor::scalar<float>(0));
    auto high = graph->add_constant(nnex::Tensor::scalar<float>(6));
    if (!low.ok() || !high.ok()) return nnex::Error(nnex::Code::limit, "no memory");
    nnex::AddOptions here;
    here.before = id;
    auto clamp = graph->add_node("clamp", {node->inputs[0], *low, *high}, {}, here);
    if (!clamp.ok()) return std::move(clamp).error();
    if (nnex::Status s = graph->replace_uses(node->outputs[0], graph->node(*clamp)->outputs[0]); !s.ok()) return s;
    if (nnex::Status s = graph->erase(id); !s.ok()) return s;
  }
  if (nnex::Status s = graph->infer(); !s.ok()) return s;
  for (const nnex::Error& fault : graph->verify()) std::printf("fault: %s\n", fault.text().c_str());

  std::map<std::string, int> operators;
  for (const nnex::NodeId id : graph->nodes()) ++operators[graph->node(id)->op];
  for (const auto& [op, count] : operators) std::printf("%-8s %d\n", op.c_str(), count);
  std::printf("%s", graph->text().c_str());

  auto model = nnex::Model::compile(*graph);
  if (!model.ok()) return std::move(model).error();
  auto out = model->session().run({{"x", nnex::Tensor::of<float>(nnex::Shape{1, 4}, {-1, 1, 2, 9})}});
  if (!out.ok()) return std::move(out).error();
  for (const float y : out->at("y").tensor()->as<float>()) std::printf("%g ", y);
  std::printf("\n");
  return {};
}

}  // namespace

int main() {
  const nnex::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().text().c_str());
  return status.ok() ? 0 : 1;
}
