#include "api/random_runs.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/failure.h"
#include "base/try.h"
#include "nnex/elements.h"
#include "run/compile.h"
#include "run/inputs.h"

namespace nnex {

double Dice::real(Numbers kind) {
  if (kind == Numbers::usual) return static_cast<double>(random_() >> 11) * 0x1p-52 - 1;
  if (kind == Numbers::positive) return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;
  constexpr double kEdges[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, -2.5, 6, -6, 8, 1e-3, 0x1p-126, -0x1p-149};
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity()};
  if (kind == Numbers::special && below(16) == 0) return kSpecial[below(std::size(kSpecial))];
  return kEdges[below(std::size(kEdges))];
}

int64_t Dice::whole(Numbers kind, DType type) {
  if (type == DType::boolean) return static_cast<int64_t>(below(2));
  if (bits(type) <= 8) return static_cast<int64_t>(below(uint64_t{1} << bits(type)));  // set_int wraps
  return kind == Numbers::usual || kind == Numbers::positive ? static_cast<int64_t>(below(2))
                                                             : static_cast<int64_t>(below(256)) - 128;
}

bool has_open_extents(const std::vector<PortInfo>& ports) {
  for (const PortInfo& p : ports)
    if (std::any_of(p.extents.begin(), p.extents.end(), [](int64_t e) { return e < 0; })) return true;
  return false;
}

Result<Tensor> made_input(const PortInfo& port, int64_t unknown, Numbers kind, Dice& dice) {
  if (port.dtype == DType::none || is_object(port.dtype) || is_complex(port.dtype) || !port.known_rank)
    return failure(Code::unsupported, "input '{}' is {}: no numbers can be made for it", port.name, port.type);
  std::vector<int64_t> extents = port.extents;
  for (int64_t& e : extents)
    if (e < 0) e = unknown;
  NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents)));
  for (int64_t i = 0; i < t.count(); ++i) {
    if (is_real(port.dtype))
      set_real(t, i, dice.real(kind));
    else
      set_int(t, i, dice.whole(kind, port.dtype));
  }
  // Few elements may have drawn no NaN, which is what many standards say otherwise.
  if (kind == Numbers::special && is_real(port.dtype) && t.count() > 0)
    set_real(t, t.count() / 2, std::numeric_limits<double>::quiet_NaN());
  return t;
}

Result<std::vector<Value>> plain_run(const ir::Graph& graph, const std::vector<Value>& inputs, const RunOptions& run) {
  LoadOptions plain;
  plain.optimize = false;
  NNEX_ASSIGN(const Model model, compile(ir::Graph(graph), plain));
  return model.session().run(inputs, run);
}

Result<RandomRun> random_run(const ir::Graph& graph, const RunOptions& run) {
  std::vector<PortInfo> ports;
  for (ValueId v : graph.inputs()) ports.push_back(port_info(graph, v));
  ports.resize(ports.size() - graph.states.size());
  std::optional<Error> refused;
  for (int64_t extent : kUsualExtents) {
    RandomRun out;
    Dice dice(1);
    for (const PortInfo& port : ports) {
      NNEX_ASSIGN(Tensor t, made_input(port, extent, Numbers::usual, dice));
      out.inputs.emplace_back(std::move(t));
    }
    auto outputs = plain_run(graph, out.inputs, run);
    if (outputs.ok()) {
      out.outputs = std::move(*outputs);
      return out;
    }
    const Code code = outputs.error().code();
    if (!refused) refused = std::move(outputs).error();
    if (code == Code::cancelled || code == Code::limit || !has_open_extents(ports)) break;
  }
  return std::move(*refused).during("running the network on random inputs");
}

Result<RandomRun> proof_run(const ir::Graph& graph, const RunOptions& run, const std::vector<Value>& given) {
  if (!given.empty()) {
    auto outputs = plain_run(graph, given, run);
    if (!outputs.ok()) return std::move(outputs).error().during("running the network on the inputs given");
    return RandomRun{given, std::move(*outputs)};
  }
  auto ran = random_run(graph, run);
  const Code code = ran.ok() ? Code::internal : ran.error().code();
  if (code != Code::fault && code != Code::invalid_argument && code != Code::invalid_model) return ran;
  const Error& refused = ran.error();
  Error error(Code::unsupported, refused.message() + "; its inputs take numbers that cannot be made up");
  for (const std::string& task : refused.tasks()) error = std::move(error).during(task);
  return std::move(error).at(refused.where()).helped_by({"inputs", "", "gives them"});
}

}  // namespace nnex
