#include "serve/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace nnex::serve {

std::string in_mib(int64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1 << 20)); }

std::string ModelMemory::text() const {
  std::string out = fmt::format("{} MiB (weights {}", in_mib(all()), in_mib(weights));
  if (instance > 0)
    out += fmt::format(", each of {} instance{} {}", instances, instances == 1 ? "" : "s", in_mib(instance));
  return out + ")";
}

ModelMemory memory_of(const Model& model, const Inspection& inspection, const SessionOptions& options, int instances,
                      int64_t rows) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const PortInfo& port : model.inputs()) {
    if (!port.known_rank) continue;
    std::vector<int64_t> extents = port.extents;
    for (size_t i = 0; i < extents.size(); ++i)
      if (extents[i] < 0) extents[i] = i == 0 ? rows : 1;
    shapes.emplace(port.name, std::move(extents));
  }
  Session session = model.session(options);
  const bool planned = session.prepare(shapes).ok();
  ModelMemory out;
  out.weights = std::max(inspection.parameter_bytes, model.packed_memory());
  out.instance = planned ? session.memory() : inspection.activation_bytes.value_or(0);
  out.instances = instances;
  return out;
}

}  // namespace nnex::serve
