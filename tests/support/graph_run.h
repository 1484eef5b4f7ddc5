#pragma once
// Running a graph that is written as text, as the library compiles it, and what ran its nodes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nnex/graph.h"
#include "nnex/model.h"

namespace nnex::test {

struct GraphRun {
  Tensor y;  ///< The first output.
  std::vector<NodeTime> nodes;

  /// The kernels of the nodes of this operator, each followed by a space.
  std::string kernels(std::string_view op) const {
    std::string all;
    for (const NodeTime& n : nodes)
      if (n.op == op) all += n.kernel + " ";
    return all;
  }
};

inline GraphRun run_graph(const std::string& text, const std::vector<Value>& inputs, bool optimize, int threads = 1) {
  auto graph = Graph::parse(text);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  LoadOptions options;
  options.optimize = optimize;
  auto model = Model::compile(*std::move(graph), options);
  EXPECT_TRUE(model.ok()) << model.error().text();
  SessionOptions how;
  how.threads = threads;
  Session session = model->session(how);
  session.profile(true);
  auto out = session.run(inputs);
  EXPECT_TRUE(out.ok()) << out.error().text();
  return {*(*out)[0].tensor(), session.nodes()};
}

}  // namespace nnex::test
