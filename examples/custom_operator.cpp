// An operator that nnex lacks, computed by the host: y = x rotated by `by` places along its last axis.

#include <cstdio>
#include <vector>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace {

nnex::CustomOperator rotate() {
  nnex::CustomOperator op;
  op.domain = "com.example", op.name = "Rotate";
  op.pure = true;
  op.infer = [](const nnex::CustomInfer& c) -> nnex::Result<std::vector<nnex::TypeInfo>> {
    return std::vector{c.inputs[0]};  // the same type and extents
  };
  op.run = [](nnex::CustomRun& c) -> nnex::Status {
    auto by = nnex::attribute_as<int64_t>(c.attributes(), "by", 1);
    if (!by.ok()) return std::move(by).error();
    const nnex::Tensor* x = c.tensor(0);
    if (!x || x->dtype() != nnex::DType::f32 || x->shape().rank() == 0)
      return nnex::Error(nnex::Code::fault, "Rotate takes an f32 tensor of one axis or more");
    auto y = c.output(0, x->dtype(), x->shape());
    if (!y.ok()) return std::move(y).error();
    const int64_t n = x->shape()[x->shape().rank() - 1];
    const auto from = x->as<float>();
    const auto to = (*y)->mutable_as<float>();
    for (int64_t i = 0; i < x->count(); ++i) {
      const int64_t place = i % n, row = i - place;
      const int64_t moved = ((place + *by) % n + n) % n;
      to[static_cast<size_t>(row + moved)] = from[static_cast<size_t>(i)];
    }
    return {};
  };
  return op;
}

nnex::Status run() {
  nnex::LoadOptions options;
  if (nnex::Status s = options.custom_operators.add(rotate()); !s.ok()) return s;

  // The same operator in a model file is found by its domain and name; here the program makes the node.
  nnex::Graph graph;
  auto x = graph.add_input("x", "f32[N,4]");
  if (!x.ok()) return std::move(x).error();
  auto rotated = graph.add("com.example:Rotate", {*x}, {{"by", int64_t{1}}});
  if (!rotated.ok()) return std::move(rotated).error();
  auto y = graph.add("sub", {*x, *rotated});
  if (!y.ok()) return std::move(y).error();
  if (nnex::Status s = graph.set_outputs({{"y", *y}}); !s.ok()) return s;

  auto model = nnex::Model::compile(graph, options);
  if (!model.ok()) return std::move(model).error();
  auto out = model->session().run({{"x", nnex::Tensor::of<float>(nnex::Shape{1, 4}, {1, 4, 9, 16})}});
  if (!out.ok()) return std::move(out).error();
  for (const float v : out->at("y").tensor()->as<float>()) std::printf("%g ", v);
  std::printf("\n");
  return {};
}

}  // namespace

int main() {
  const nnex::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().text().c_str());
  return status.ok() ? 0 : 1;
}
