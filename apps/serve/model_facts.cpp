#include "serve/model_facts.h"

#include <fmt/format.h>

#include <cmath>

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

Json duration(uint64_t count, uint64_t ns) { return {{"count", count}, {"ns", ns}}; }
Json duration(const Tally& tally) { return duration(tally.count, tally.ns); }

Json statistics_of(const Served& served) {
  const ModelMetrics& m = *served.metrics;
  Json batches = Json::array();
  for (const auto& [rows, times] : m.runs_by_rows())
    batches.push_back({{"batch_size", rows},
                       {"compute_input", duration(times.first, 0)},
                       {"compute_infer", duration(times.first, times.second)},
                       {"compute_output", duration(times.first, 0)}});
  return {{"name", served.place.name},
          {"version", served.place.version},
          {"last_inference", m.last_ms.load()},
          {"inference_count", m.rows.load()},
          {"execution_count", m.runs.count.load()},
          {"inference_stats",
           {{"success", duration(m.latency.count(), static_cast<uint64_t>(std::llround(m.latency.sum() * 1e9)))},
            {"fail", duration(m.failed)},
            {"queue", duration(m.waited)},
            {"compute_input", duration(m.computed.count, 0)},
            {"compute_infer", duration(m.computed)},
            {"compute_output", duration(m.computed.count, 0)},
            {"cache_hit", duration(0, 0)},
            {"cache_miss", duration(0, 0)}}},
          {"batch_stats", std::move(batches)}};
}

}  // namespace

Json config_of(const Served& served) {
  const SchedulerOptions& options = served.options;
  const Json latest = {{"num_versions", 1}};
  Json config = {{"name", served.place.name},
                 {"platform", served.platform},
                 {"backend", "nnex"},
                 {"version_policy", {{"latest", latest}}},
                 {"max_batch_size", served.batched ? served.options.max_batch : 0},
                 {"input", ports_of(served.model.inputs(), served.batched)},
                 {"output", ports_of(served.model.outputs(), served.batched)},
                 {"instance_group",
                  Json::array({{{"name", served.place.name}, {"kind", "KIND_CPU"}, {"count", options.instances}}})}};
  const auto text = [](auto number) { return Json{{"string_value", fmt::to_string(number)}}; };
  config["parameters"] = {{"threads", text(options.threads)}, {"queue", text(options.queue)}};
  if (served.timeout) config["parameters"]["timeout_microseconds"] = text(served.timeout->count());
  if (served.batched) config["dynamic_batching"] = {{"max_queue_delay_microseconds", options.delay.count()}};
  if (options.warm_up > 0)
    config["model_warmup"] = Json::array({{{"name", "warm-up"}, {"batch_size", 1}, {"count", options.warm_up}}});
  return config;
}

Json statistics_of(std::span<const std::shared_ptr<Served>> versions) {
  Json all = Json::array();
  for (const auto& served : versions) all.push_back(statistics_of(*served));
  return {{"model_stats", std::move(all)}};
}

}  // namespace nnex::serve
