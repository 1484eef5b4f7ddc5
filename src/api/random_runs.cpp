#include "api/random_runs.h"

#include <fmt/format.h>

#include "base/try.h"
#include "nnex/elements.h"
#include "run/compile.h"
#include "run/inputs.h"

namespace nnex {

Result<std::vector<Value>> random_inputs(const ir::Graph& graph, uint64_t seed, int64_t unknown) {
  std::mt19937_64 random(seed);
  std::vector<Value> out;
  const size_t count = graph.inputs().size() - graph.states.size();
  for (size_t i = 0; i < count; ++i) {
    const PortInfo port = port_info(graph, graph.inputs()[i]);
    if (port.dtype == DType::none || is_object(port.dtype) || is_complex(port.dtype) || !port.known_rank)
      return Error(Code::unsupported, fmt::format("input '{}' is {}: no random numbers for it", port.name, port.type));
    std::vector<int64_t> extents = port.extents;
    for (int64_t& e : extents)
      if (e < 0) e = unknown;
    NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents)));
    for (int64_t k = 0; k < t.count(); ++k) {
      const double u = static_cast<double>(random() >> 11) * 0x1p-53;
      if (is_real(port.dtype))
        set_real(t, k, 2 * u - 1);
      else
        set_int(t, k, u < 0.5);
    }
    out.emplace_back(std::move(t));
  }
  return out;
}

Result<std::vector<Value>> plain_run(const ir::Graph& graph, const std::vector<Value>& inputs, const RunOptions& run) {
  LoadOptions plain;
  plain.optimize = false;
  NNEX_ASSIGN(const Model model, compile(ir::Graph(graph), plain));
  return model.session().run(inputs, run);
}

Result<RandomRun> random_run(const ir::Graph& graph, const RunOptions& run) {
  const auto with = [&](int64_t unknown) -> Result<RandomRun> {
    NNEX_ASSIGN(std::vector<Value> inputs, random_inputs(graph, 1, unknown));
    auto outputs = plain_run(graph, inputs, run);
    if (!outputs.ok()) return std::move(outputs).error().during("running the network on random inputs");
    return RandomRun{std::move(inputs), std::move(*outputs)};
  };
  auto ran = with(2);
  return ran.ok() ? std::move(ran) : with(1);
}

}  // namespace nnex
