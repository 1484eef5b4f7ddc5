#include "nnex/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "api/certificate.h"
#include "api/export.h"
#include "api/graph_impl.h"
#include "api/quantize/balance.h"
#include "api/quantize/calibrate.h"
#include "api/quantize/choose.h"
#include "api/quantize/integers.h"
#include "api/quantize/judge.h"
#include "api/quantize/network.h"
#include "api/quantize/nnef_codes.h"
#include "api/quantize/plan.h"
#include "api/quantize/rewrite.h"
#include "base/choice.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/try.h"
#include "graph/queries.h"
#include "nnex/suggest.h"
#include "run/options.h"
#include "standards/cvm/import.h"

namespace nnex {
namespace {

Status check(const QuantizeSettings& s) {
  NNEX_TRY(check_choice("settings.method", s.method, RangeMethod::entropy));
  NNEX_TRY(check_choice("settings.weights", s.weights, WeightCodes::int4));
  if (!(s.percentile > 50 && s.percentile <= 100))
    return failure(Code::invalid_argument, "percentile {}: needed a number above 50 and at most 100", s.percentile);
  if (s.block < 16 || s.block > 4096 || (s.block & (s.block - 1)) != 0)
    return failure(Code::invalid_argument, "block {}: needed a power of two from 16 to 4096", s.block);
  return {};
}

Status check(const QuantizeOptions& o) {
  NNEX_TRY(check_options(o.session));
  NNEX_TRY(check_choice("plan", o.plan, QuantizePlan::measured));
  NNEX_TRY(check_choice("arithmetic", o.arithmetic, CalibrateOn::fastest));
  if (!(o.seconds >= 0))
    return failure(Code::invalid_argument, "option 'seconds': found {}; needed 0 or more", o.seconds);
  if (o.judge_count < 0)
    return failure(Code::invalid_argument, "found {} samples to judge on; needed 0 (all) or more", o.judge_count);
  if (std::isnan(o.min_sqnr_db)) return Error(Code::invalid_argument, "found NaN as the least SQNR; needed a number");
  return {};
}

/// Whether a node reads, over whatever lies between, one of the values.
bool reads_one_of(const ir::Graph& graph, NodeId id, const std::map<uint32_t, double>& values) {
  std::set<uint32_t> seen;
  std::vector<NodeId> open = {id};
  while (!open.empty()) {
    const NodeId at = open.back();
    open.pop_back();
    for (ValueId v : graph[at].in) {
      if (!v.valid() || !seen.insert(v.n).second) continue;
      if (values.count(v.n)) return true;
      if (graph[v].producer.valid()) open.push_back(graph[v].producer);
    }
  }
  return false;
}

class Quantizer {
 public:
  Quantizer(const ir::Graph& graph, const SampleSet& samples, const QuantizeOptions& options)
      : source_(graph), samples_(samples), options_(options) {
    recipe_ = options.recipe.value_or(QuantizeRecipe{options.settings, {}, {}, {}, {}});
  }

  Result<Quantized> run() && {
    NNEX_TRY(check(settings()));
    NNEX_TRY(check(options_));
    NNEX_TRY(check_choice("to", options_.to, Format::c));
    const bool without_codes = options_.to == Format::webnn || options_.to == Format::c;
    if (without_codes || (options_.to == Format::nnef && settings().weights == WeightCodes::int4))
      return Error(Code::invalid_argument, without_codes
                                               ? "networks of codes are written as onnx, nnef or cvm"
                                               : "a quantisation file of NNEF has no blocks: needed weights of int8");
    NNEX_ASSIGN(float_, float_network(source_, options_.to == Format::onnx));
    NNEX_TRY(keep());
    if (options_.to == Format::cvm) {
      NNEX_TRY(whole());
    } else if (settings().weights == WeightCodes::int4) {
      NNEX_TRY(block());
    } else {
      NNEX_TRY(code());
    }
    NNEX_TRY(fill_report());
    if (options_.to == Format::nnef) {
      NNEX_ASSIGN(quantised_, with_quant_file(float_, coding_, measured_, settings()));
    }
    return Quantized{wrap(std::move(quantised_)), std::move(recipe_), std::move(report_)};
  }

 private:
  const QuantizeSettings& settings() const { return recipe_.settings; }
  const std::string& name(ValueId v) const { return float_[v].name; }
  bool has_samples() const { return samples_.count > 0; }

  /// The name that a file gives a node, of its place: "node 'conv1' (Conv)".
  static std::string_view name_in(std::string_view place) {
    const size_t begin = place.find('\''), end = begin == place.npos ? begin : place.find('\'', begin + 1);
    return end == place.npos ? std::string_view() : place.substr(begin + 1, end - begin - 1);
  }
  /// Layers that were asked to stay float, and those that a recipe leaves so.
  Status keep() {
    const Coding all = choose(float_, {});
    const auto named = [&](const CodedLayer& l, const std::string& word) {
      return word == float_.place_of(l.node) || float_.place_of(l.node).find("'" + word + "'") != std::string::npos ||
             word == name(l.end) || word == name(float_[l.node].out[0]);
    };
    std::vector<std::string_view> names;
    for (const CodedLayer& l : all.layers)
      for (const std::string_view n : {name_in(float_.place_of(l.node)), std::string_view(name(l.end)),
                                       std::string_view(name(float_[l.node].out[0]))})
        if (!n.empty() && std::find(names.begin(), names.end(), n) == names.end()) names.push_back(n);
    const auto keep = [&](const std::string& word, const std::string& why) -> Status {
      bool found = false;
      for (const CodedLayer& l : all.layers)
        if (named(l, word)) kept_[l.node.n] = why, found = true;
      if (!found) return Error(Code::invalid_argument, no_such("layer", word, names));
      return {};
    };
    for (const std::string& word : settings().keep_float) NNEX_TRY(keep(word, "as asked"));
    for (const auto& [word, why] : recipe_.kept_float) NNEX_TRY(keep(word, why));
    return {};
  }

  // ---- Weights of 4 bits

  Status block() {
    quantised_ = ir::Graph(float_);
    NNEX_ASSIGN(const auto kept, block_weights(quantised_, settings(), kept_));
    bool any = false;
    for (NodeId id : float_.order()) {
      if (float_[id].op->in_bytes != ByteRole::product) continue;
      const auto it = kept.find(id.n);
      any |= it == kept.end();
      coding_.layers.push_back({id, float_[id].out[0], it == kept.end() ? "" : it->second});
    }
    if (!any) return nothing();
    for (const CodedLayer& l : coding_.layers)
      if (l.kept.empty()) decoded_[l.end.n] = l.end;
    return {};
  }

  // ---- Codes of 8 bits

  /// Whether the recipe has what samples tell.
  bool recalls() const { return options_.recipe && !options_.recipe->ranges.empty(); }

  /// Channels scaled so that codes fit them better.
  Status balance() {
    if (settings().equalize) NNEX_TRY(equalize(float_));
    if (!settings().smooth) return {};
    const std::vector<Smoothable> found = smoothable(float_);
    std::map<uint32_t, std::vector<float>> reach;
    if (!recalls() && !found.empty()) {
      std::vector<ValueId> values;
      for (const Smoothable& s : found) values.push_back(s.value);
      NNEX_ASSIGN(reach, channel_reach(float_, values, samples_, options_));
    }
    for (const Smoothable& s : found) {
      std::vector<int64_t>& powers = recipe_.smoothed_by[name(s.value)];
      if (!recalls()) {
        NNEX_ASSIGN(powers, smoothing_powers(float_, s, reach.at(s.value.n)));
      }
      NNEX_TRY(smooth(float_, s, powers));
    }
    return {};
  }

  Status code() {
    NNEX_TRY(balance());
    coding_ = choose(float_, kept_);
    if (!codes_anything()) {
      if (recipe_.kept_float.empty()) return nothing();
      return leave_float({});  // an earlier plan found no gain
    }
    NNEX_TRY(measured());
    NNEX_TRY(rewrite());
    if (options_.min_sqnr_db > 0) NNEX_TRY(leave_what_errs());
    if (options_.plan == QuantizePlan::measured) NNEX_TRY(leave_what_gains_nothing());
    for (const auto& [node, why] : left_) recipe_.kept_float[name(float_[NodeId{node}].out[0])] = why;
    remember();
    return {};
  }
  /// From the recipe, else from samples.
  Status measured() {
    if (recalls()) return recall();
    NNEX_ASSIGN(measured_, calibrate(float_, coding_, samples_, settings(), options_));
    report_.calibrated = samples_.count;
    note_poor_samples();
    return {};
  }
  /// Samples that say little of others.
  void note_poor_samples() {
    if (samples_.count == 1)
      report_.notes.push_back("measured on one sample: ranges and errors tell nothing of others");
    for (ValueId v : float_.inputs())
      if (const auto it = measured_.ranges.find(v.n);
          it != measured_.ranges.end() && it->second.low == 0 && it->second.high == 0)
        report_.notes.push_back(
            fmt::format("input '{}' is 0 in all samples: ranges and errors tell nothing of other numbers", name(v)));
  }
  bool codes_anything() const {
    return std::any_of(coding_.layers.begin(), coding_.layers.end(), [&](const CodedLayer& l) {
      return l.kept.empty() && float_[l.node].op->in_bytes == ByteRole::product;
    });
  }
  Error nothing() const {
    std::string why;
    for (size_t i = 0; i < coding_.layers.size() && i < 4; ++i)
      why += fmt::format("\n  '{}' ({}): {}", name(coding_.layers[i].end), float_[coding_.layers[i].node].op->name,
                         coding_.layers[i].kept);
    if (coding_.layers.size() > 4) why += fmt::format("\n  and {} more", coding_.layers.size() - 4);
    for (NodeId id : float_.order())
      if (why.empty() && float_[id].op->name == "deconv")
        why = fmt::format("\n  '{}' (deconv): no kernel computes it with codes", name(float_[id].out[0]));
    const size_t inside = float_.order_with_blocks().size() - float_.order().size();
    if (why.empty()) why = ": the network has no product of float32 data and constant weights";
    if (inside > 0) why += fmt::format("\n  {} nodes in branches and loops stay float", inside);
    return Error(Code::unsupported, "no layer can be quantised" + why);
  }

  /// Whether all that the recipe has a range or means of is in the network.
  Status check_recipe() const {
    std::set<std::string_view> names;
    for (uint32_t n = 0; n < float_.value_count(); ++n) names.insert(float_[ValueId{n}].name);
    const auto check = [&](const std::string& tensor) {
      return names.count(tensor)
                 ? Status()
                 : failure(Code::invalid_argument,
                           "the recipe has '{}', which the network does not: it is of another network", tensor);
    };
    for (const auto& [tensor, range] : recipe_.ranges) NNEX_TRY(check(tensor));
    for (const auto& [tensor, means] : recipe_.means) NNEX_TRY(check(tensor));
    return {};
  }

  /// What the recipe has of this network.
  Status recall() {
    NNEX_TRY(check_recipe());
    for (ValueId v : coding_.coded) {
      const auto it = recipe_.ranges.find(name(v));
      if (it != recipe_.ranges.end()) {
        measured_.ranges[v.n] = it->second;
      } else if (coding_.scale_of(v) == v) {
        return failure(Code::invalid_argument,
                       "the recipe has no range of '{}': it is of another network, or of other layers", name(v));
      }
    }
    for (const CodedLayer& l : coding_.layers) {
      const Node& node = float_[l.node];
      if (!l.kept.empty() || node.op->in_bytes != ByteRole::product || !settings().correct_bias) continue;
      const ValueId x = node.in[0];
      const auto it = recipe_.means.find(name(x));
      const int64_t channels = product_shape(float_, node)->channels;
      const auto found = it == recipe_.means.end() ? 0 : static_cast<int64_t>(it->second.size());
      if (found != channels)
        return failure(Code::invalid_argument, "the recipe has means of {} channels of '{}'; needed {}", found, name(x),
                       channels);
      measured_.means[x.n] = it->second;
    }
    return {};
  }
  /// What the result follows from.
  void remember() {
    recipe_.ranges.clear(), recipe_.means.clear();
    for (ValueId v : coding_.coded)
      if (coding_.scale_of(v) == v) recipe_.ranges[name(v)] = measured_.ranges.at(v.n);
    for (const CodedLayer& l : coding_.layers) {
      if (!l.kept.empty() || float_[l.node].op->in_bytes != ByteRole::product) continue;
      const ValueId x = float_[l.node].in[0];
      if (const auto it = measured_.means.find(x.n); it != measured_.means.end()) recipe_.means[name(x)] = it->second;
    }
  }

  Status rewrite() {
    quantised_ = ir::Graph(float_);
    NNEX_ASSIGN(decoded_, insert_codes(quantised_, coding_, measured_, settings()));
    return {};
  }

  // ---- Whole numbers

  Status whole() {
    if (settings().weights == WeightCodes::int4 || !kept_.empty() || options_.plan == QuantizePlan::measured ||
        options_.min_sqnr_db > 0)
      return Error(Code::invalid_argument,
                   "a network of whole numbers has weights of 8 bits, no float layers and no measured plan");
    NNEX_TRY(balance());
    NNEX_ASSIGN(coding_, integer_coding(float_));
    NNEX_TRY(measured());
    NNEX_ASSIGN(IntegerNetwork made, integer_network(float_, measured_, settings()));
    quantised_ = std::move(made.graph), judged_ = std::move(made.judged);
    decoded_ = std::move(made.decoded), weight_bytes_ = std::move(made.weight_bytes);
    report_.notes = std::move(made.notes);
    remember();
    return prove();
  }

  /// The proof is of the files' network, as they are read again.
  Status prove() {
    ir::Graph written(quantised_);
    NNEX_ASSIGN(const cvm_format::ModelFiles files, to_cvm(written));
    NNEX_ASSIGN(const ir::Graph back, cvm_format::read_model(files.symbol, files.params, nullptr, false));
    report_.certificate = certify(back, false);
    report_.quantized_bytes = static_cast<int64_t>(files.params.size());
    if (!report_.certificate->safe || !report_.certificate->beyond_rule.empty())
      return Error(Code::unsupported,
                   "a sum of whole numbers can pass int32, or a number its bits: nothing is made of that");
    return {};
  }

  // ---- What gains

  /// Layers that stay float beside those that were asked to, and the network without them.
  Status leave_float(const std::map<uint32_t, std::string>& left) {
    left_ = left;
    std::map<uint32_t, std::string> kept = kept_;
    kept.insert(left_.begin(), left_.end());
    coding_ = choose(float_, kept);
    if (codes_anything()) return rewrite();
    quantised_ = ir::Graph(float_);
    decoded_.clear();
    return {};
  }

  /// Layers that err more than is wanted stay float: first those that read nothing that errs so much.
  Status leave_what_errs() {
    constexpr int kMaxRounds = 16;
    if (!has_samples()) return Error(Code::invalid_argument, "a least SQNR needs samples; found none");
    for (int round = 0; round < kMaxRounds && codes_anything(); ++round) {
      std::vector<Counterpart> ends;
      std::vector<const CodedLayer*> layers;
      for (const CodedLayer& l : coding_.layers)
        if (const auto it = decoded_.find(l.end.n); l.kept.empty() && it != decoded_.end())
          ends.push_back({l.end, it->second}), layers.push_back(&l);
      NNEX_ASSIGN(const Judgement j, judge(float_, quantised_, ends, samples_, options_));
      std::map<uint32_t, double> errs;  // by end
      for (size_t i = 0; i < layers.size(); ++i)
        if (j.sqnr_db[i] < options_.min_sqnr_db) errs[layers[i]->end.n] = j.sqnr_db[i];
      if (errs.empty()) return {};
      std::map<uint32_t, std::string> left = left_;
      for (const CodedLayer* l : layers)
        if (const auto it = errs.find(l->end.n); it != errs.end() && !reads_one_of(float_, l->node, errs))
          left[l->node.n] = fmt::format("error: {:.1f} dB as codes, needed {:.1f}", it->second, options_.min_sqnr_db);
      NNEX_TRY(leave_float(left));
    }
    return {};
  }

  /// Layers that take no less time as codes stay float, as long as that makes the whole faster; where the whole is no
  /// faster than floats, all do.
  Status leave_what_gains_nothing() {
    constexpr int kMaxRounds = 5;
    if (!has_samples()) return Error(Code::invalid_argument, "a measured plan needs a sample; found none");
    std::map<uint32_t, std::string> best, left = left_;
    std::optional<Times> fastest;
    for (int round = 0; round < kMaxRounds && codes_anything(); ++round) {
      NNEX_ASSIGN(Times times, time_both(float_, quantised_, samples_, options_));
      for (const auto& [node, us] : layer_times(float_, coding_, times)) {
        times_[node] = us;
        if (us.quantised > us.in_float && us.in_float > 0)
          left[node] = fmt::format("no gain: {:.2f} us as codes, {:.2f} us as floats", us.quantised, us.in_float);
      }
      if (!fastest || times.quantised < fastest->quantised) best = left_, fastest = std::move(times);
      if (left == left_) break;
      NNEX_TRY(leave_float(left));
    }
    if (!fastest) return {};
    report_.float_us = fastest->in_float, report_.quantized_us = fastest->quantised;
    if (fastest->quantised > fastest->in_float) {
      const std::string why = fmt::format("no gain in the whole: {:.2f} us as codes, {:.2f} us as floats",
                                          fastest->quantised, fastest->in_float);
      for (const CodedLayer& l : choose(float_, kept_).layers)
        if (l.kept.empty()) best.emplace(l.node.n, why);
      report_.quantized_us = report_.float_us;
      report_.notes.push_back("the network is not faster as codes: it stays float");
    }
    return leave_float(best);
  }

  // ---- The report

  Status fill_report() {
    std::vector<Counterpart> counterparts;
    std::vector<size_t> row_of;
    for (const CodedLayer& l : coding_.layers) {
      QuantizedLayer row;
      row.name = name(l.end), row.op = float_[l.node].op->name, row.place = float_.place_of(l.node);
      row.kept_float = l.kept;
      const auto of_whole = weight_bytes_.find(l.node.n);
      row.weight_bytes = of_whole != weight_bytes_.end() ? of_whole->second : judged_ ? 0 : weight_bytes(l.node);
      if (const auto it = times_.find(l.node.n); it != times_.end())
        row.float_us = it->second.in_float, row.quantized_us = it->second.quantised;
      if (const auto it = decoded_.find(l.end.n); it != decoded_.end())
        counterparts.push_back({l.end, it->second}), row_of.push_back(report_.layers.size());
      report_.layers.push_back(std::move(row));
    }
    report_.float_bytes = constant_bytes(float_);
    if (!judged_) report_.quantized_bytes = constant_bytes(quantised_);
    if (!options_.judge || !has_samples()) return {};
    const ir::Graph& against = judged_ ? *judged_ : quantised_;
    NNEX_ASSIGN(Judgement j, judge(float_, against, counterparts, samples_, options_));
    for (size_t i = 0; i < row_of.size(); ++i) report_.layers[row_of[i]].sqnr_db = j.sqnr_db[i];
    report_.outputs = std::move(j.outputs), report_.judged = j.samples;
    note_errors();
    if (report_.float_us) return {};
    NNEX_ASSIGN(const Times times, time_both(float_, against, samples_, options_));
    report_.float_us = times.in_float, report_.quantized_us = times.quantised;
    return {};
  }

  /// Tells where the error is, where it is great.
  void note_errors() {
    constexpr double kLittle = 10;
    const auto bad = [](const QuantizedLayer& l) { return l.sqnr_db && *l.sqnr_db < kLittle; };
    const auto count = std::count_if(report_.layers.begin(), report_.layers.end(), bad);
    if (count == 0) return;
    const auto first = std::find_if(report_.layers.begin(), report_.layers.end(), bad);
    report_.notes.push_back(
        fmt::format("{} of {} layers have less than {} dB, the first is '{}': a least SQNR (min_sqnr_db) "
                    "leaves such layers float",
                    count, report_.layers.size(), kLittle, first->name));
  }

  /// Of what the product reads beside its data, as stored.
  int64_t weight_bytes(NodeId id) const {
    int64_t out = 0;
    const Node& node = quantised_[id];
    for (size_t i = 1; i < node.in.size(); ++i) {
      if (!node.in[i].valid()) continue;
      const Node* decoded = quantised_.producer(node.in[i]);
      if (const Tensor* t = quantised_[node.in[i]].constant.tensor()) out += t->bytes();
      for (size_t k = 0; decoded && k < decoded->in.size(); ++k)
        if (const Tensor* t = quantised_.constant_in(*decoded, k)) out += t->bytes();
    }
    return out;
  }

  const ir::Graph& source_;
  const SampleSet& samples_;
  const QuantizeOptions& options_;
  QuantizeRecipe recipe_;
  ir::Graph float_, quantised_;
  std::optional<ir::Graph> judged_;  ///< Of whole numbers: between floats.
  std::map<uint32_t, int64_t> weight_bytes_;
  std::map<uint32_t, std::string> kept_, left_;  ///< Layers that stay float: as asked, and as measured.
  Coding coding_;
  Measured measured_;
  std::map<uint32_t, ValueId> decoded_;
  std::map<uint32_t, LayerTimes> times_;
  QuantizeReport report_;
};

}  // namespace

Result<Quantized> quantize(const Graph& graph, const SampleSet& samples, const QuantizeOptions& options) {
  return guarded([&]() -> Result<Quantized> {
    if (samples.count > 0 && !samples.read)
      return Error(Code::invalid_argument, "needed a function that reads the samples");
    const SampleSet all = {samples.count, caught(samples.read, "the host read a sample"), samples.name};
    NNEX_ASSIGN(Quantized out, Quantizer(graph.impl().graph, all, options).run());
    out.graph.impl().file = graph.impl().file;
    return out;
  });
}

}  // namespace nnex
