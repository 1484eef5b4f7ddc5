#include "stored_networks.h"

#include <algorithm>

#include "api/read.h"
#include "graph/infer.h"
#include "graph/work.h"
#include "share.h"
#include "source.h"
#include "stored.h"

namespace nnex::stored {
namespace {

namespace fs = std::filesystem;

/// Whether an answer takes so few multiply-adds that instrumented code has it in a second. Not where extents are open.
bool is_small(const fs::path& model) {
  int64_t sum = 0;
  Faults faults;
  ir::Graph graph = read_model(model.string(), {}).value();
  infer_types(graph, faults);
  for (NodeId id : graph.order()) {
    const auto n = multiply_adds(graph, graph[id]).number();
    if (!n || (sum += *n) > 5'000'000) return false;
  }
  return true;
}

}  // namespace

std::vector<Network> networks() {
  std::vector<Network> out = {{"shapes", fs::path(test::source_dir()) / "models/shapes"}};
  const fs::path more = shared() / "models/onnx";
  if (!fs::exists(more)) return out;
  for (const auto& entry : fs::directory_iterator(more))
    if (const fs::path model = entry.path() / "model.onnx"; fs::exists(model))
      if (test::share() == 1 || is_small(model)) out.push_back({entry.path().filename().string(), entry.path()});
  std::sort(out.begin(), out.end(), [](const Network& a, const Network& b) { return a.name < b.name; });
  return out;
}

}  // namespace nnex::stored
