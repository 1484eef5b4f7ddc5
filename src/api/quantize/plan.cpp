#include "api/quantize/plan.h"

#include "api/quantize/rewrite.h"

namespace nnex {
namespace {

constexpr std::string_view kBetween = " + ";  ///< In the place of a region, the places of its nodes.

/// Calls f for each node's place in a region's.
template <class F>
void each_part(std::string_view place, F f) {
  while (true) {
    const size_t end = place.find(kBetween);
    f(place.substr(0, end));
    if (end == std::string_view::npos) return;
    place.remove_prefix(end + kBetween.size());
  }
}

}  // namespace

std::map<uint32_t, LayerTimes> layer_times(const ir::Graph& graph, const Coding& coding, const Times& times) {
  std::map<uint32_t, LayerTimes> out;
  std::map<std::string, uint32_t, std::less<>> product_at;
  std::map<std::string, std::vector<uint32_t>, std::less<>> readers_of;
  for (const CodedLayer& layer : coding.layers) {
    if (!layer.kept.empty() || graph[layer.node].op->in_bytes != ByteRole::product) continue;
    out[layer.node.n];
    product_at.emplace(graph.place_of(layer.node), layer.node.n);
    // Codes of a product's end are its own; of another tensor they are made for those who read them.
    if (!coding.ends.count(graph[layer.node].in[0].n))
      readers_of[place_of_codes(graph, graph[layer.node].in[0])].push_back(layer.node.n);
    readers_of[place_of_codes(graph, layer.end)].push_back(layer.node.n);
  }
  const auto add = [&](const std::map<std::string, double>& places, double LayerTimes::*time) {
    for (const auto& [place, us] : places) {
      std::optional<uint32_t> product;
      const std::vector<uint32_t>* readers = nullptr;
      each_part(place, [&](std::string_view part) {
        if (const auto it = product_at.find(part); it != product_at.end() && !product) product = it->second;
        if (const auto it = readers_of.find(part); it != readers_of.end()) readers = &it->second;
      });
      if (product) {
        out[*product].*time += us;
      } else if (readers) {
        for (uint32_t n : *readers) out[n].*time += us / static_cast<double>(readers->size());
      }
    }
  };
  add(times.float_places, &LayerTimes::in_float);
  add(times.quantised_places, &LayerTimes::quantised);
  return out;
}

}  // namespace nnex
