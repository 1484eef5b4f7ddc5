#include "api/quantize/calibrate.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/quantize/network.h"
#include "api/quantize/observer.h"
#include "run/compile.h"

namespace nnex {
namespace {

/// One tensor that is watched.
struct Watched {
  ValueId value;
  std::optional<Histogram> range;
  std::optional<ChannelObserver> channels;
  int64_t channel_axis = 0;
};

std::vector<Watched> watched(const ir::Graph& graph, const Coding& coding, const QuantizeSettings& settings) {
  std::map<uint32_t, Watched> out;
  // All of them: a layer that stays float after all may leave a tensor without the one whose scale it had.
  for (ValueId v : coding.coded) out[v.n] = {v, Histogram(), {}, 0};
  if (settings.correct_bias)
    for (const CodedLayer& layer : coding.layers) {
      const Node& node = graph[layer.node];
      if (!layer.kept.empty() || node.op->in_bytes != ByteRole::product) continue;
      Watched& w = out.try_emplace(node.in[0].n, Watched{node.in[0], {}, {}, 0}).first->second;
      w.channels.emplace(), w.channel_axis = product_shape(graph, node)->channel_axis;
    }
  std::vector<Watched> list;
  for (auto& [n, w] : out) list.push_back(std::move(w));
  return list;
}

/// False: it has elements that are NaN or infinite.
bool watch(Watched& w, const Tensor& x) {
  if (w.range && !w.range->add(x.as<float>())) return false;
  if (!w.channels || x.shape().rank() == 0) return true;
  const int64_t axis = w.channel_axis < 0 ? x.shape().rank() + w.channel_axis : w.channel_axis;
  int64_t inner = 1;
  for (int64_t a = axis + 1; a < x.shape().rank(); ++a) inner *= x.shape()[a];
  w.channels->add(x.as<float>(), x.shape()[axis], inner);
  return true;
}

/// Runs the network on all samples.
Status watch_all(const ir::Graph& graph, std::vector<Watched>& list, const SampleSet& samples,
                 const QuantizeOptions& options) {
  if (samples.count < 1) return Error(Code::invalid_argument, "found no samples; needed at least one to calibrate on");
  std::vector<ValueId> values;
  for (const Watched& w : list) values.push_back(w.value);
  LoadOptions load;
  load.portable = options.arithmetic == CalibrateOn::portable;
  NNEX_ASSIGN(const Model model, compile(with_results(graph, values), load));
  const size_t own = graph.outputs().size() - graph.states.size();
  const auto seen = [&](int64_t sample, const std::vector<std::vector<Value>>& results) -> Status {
    for (size_t k = 0; k < list.size(); ++k) {
      if (watch(list[k], *results[0][own + k].tensor())) continue;
      const auto& given = graph.inputs();
      const bool is_input = std::find(given.begin(), given.end(), list[k].value) != given.end();
      return Error(is_input ? Code::invalid_argument : Code::fault,
                   fmt::format("{}: {} '{}' has elements that are NaN or infinite; needed finite numbers",
                               sample_text(samples, sample), is_input ? "input" : "tensor", graph[list[k].value].name));
    }
    return {};
  };
  return run_samples({model}, samples, samples.count, options, seen);
}

}  // namespace

Result<Measured> calibrate(const ir::Graph& graph, const Coding& coding, const SampleSet& samples,
                           const QuantizeSettings& settings, const QuantizeOptions& options) {
  std::vector<Watched> list = watched(graph, coding, settings);
  NNEX_TRY(watch_all(graph, list, samples, options));
  Measured out;
  for (const Watched& w : list) {
    if (w.range) out.ranges[w.value.n] = range_of(*w.range, settings);
    if (w.channels) out.means[w.value.n] = w.channels->means();
  }
  return out;
}

Result<std::map<uint32_t, std::vector<float>>> channel_reach(const ir::Graph& graph, const std::vector<ValueId>& values,
                                                             const SampleSet& samples, const QuantizeOptions& options) {
  std::vector<Watched> list;
  for (ValueId v : values) list.push_back({v, {}, ChannelObserver(), -1});
  NNEX_TRY(watch_all(graph, list, samples, options));
  std::map<uint32_t, std::vector<float>> out;
  for (const Watched& w : list) out[w.value.n] = w.channels->reach();
  return out;
}

}  // namespace nnex
