#include "serve/model_facts.h"

#include <cmath>
#include <numeric>

namespace nnex::serve {
namespace {

using cli::Json;

/// "TYPE_FP32"
std::string type_of(DType type) {
  const std::string_view name = datatype_of(type);
  return "TYPE_" + std::string(name == "BYTES" ? "STRING" : name);
}

Json ports_of(const std::vector<PortInfo>& ports, bool batched) {
  Json out = Json::array();
  for (const PortInfo& port : ports) {
    const auto first = port.extents.begin() + (batched ? 1 : 0);
    out.push_back({{"name", port.name},
                   {"data_type", type_of(port.dtype)},
                   {"dims", std::vector<int64_t>(first, port.extents.end())}});
  }
  return out;
}

Json duration(uint64_t count, double seconds) {
  return {{"count", count}, {"ns", static_cast<uint64_t>(std::llround(seconds * 1e9))}};
}

Json statistics_of(const Served& served) {
  const ModelMetrics& m = *served.metrics;
  const uint64_t all = std::accumulate(m.answered.begin(), m.answered.end(), uint64_t{0});
  const uint64_t good = m.latency.count(), runs = m.running.count();
  return {{"name", served.place.name},
          {"version", served.place.version},
          {"last_inference", m.last_ms.load()},
          {"inference_count", static_cast<uint64_t>(m.batch_rows.sum())},
          {"execution_count", runs},
          {"inference_stats",
           {{"success", duration(good, m.latency.sum())},
            {"fail", duration(all - std::min(all, good), 0)},
            {"queue", duration(m.queued.count(), m.queued.sum())},
            {"compute_input", duration(0, 0)},
            {"compute_infer", duration(runs, m.running.sum())},
            {"compute_output", duration(0, 0)},
            {"cache_hit", duration(0, 0)},
            {"cache_miss", duration(0, 0)}}},
          {"batch_stats", Json::array()}};
}

}  // namespace

Json config_of(const Served& served) {
  const Json latest = {{"num_versions", 1}};
  Json config = {{"name", served.place.name},
                 {"platform", served.platform},
                 {"backend", "nnex"},
                 {"version_policy", {{"latest", latest}}},
                 {"max_batch_size", served.batched ? served.max_batch : 0},
                 {"input", ports_of(served.model.inputs(), served.batched)},
                 {"output", ports_of(served.model.outputs(), served.batched)},
                 {"instance_group",
                  Json::array({{{"name", served.place.name}, {"kind", "KIND_CPU"}, {"count", served.instances}}})}};
  if (served.batched) config["dynamic_batching"] = {{"max_queue_delay_microseconds", served.delay.count()}};
  return config;
}

Json statistics_of(std::span<const std::shared_ptr<Served>> versions) {
  Json all = Json::array();
  for (const auto& served : versions) all.push_back(statistics_of(*served));
  return {{"model_stats", std::move(all)}};
}

}  // namespace nnex::serve
