#pragma once
// Which layers gain by being quantised, on this machine.

#include "api/quantize/choose.h"
#include "api/quantize/judge.h"

namespace nnex {

/// The times of a layer in both networks, with those of codes that are made or read for it alone.
struct LayerTimes {
  double in_float = 0, quantised = 0;
};
/// By product that is quantised. `graph`: the float network.
std::map<uint32_t, LayerTimes> layer_times(const ir::Graph& graph, const Coding& coding, const Times& times);

}  // namespace nnex
