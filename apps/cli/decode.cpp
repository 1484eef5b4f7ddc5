#include "decode.h"

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <random>

#include "nnex/graph.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

bool says(const std::string& name, std::string_view word) { return name.find(word) != std::string::npos; }

/// The rows that a step gives a token each: the first extent of the tokens' input; 1 where none is of whole numbers.
Result<int64_t> batch_of(const Model& model) {
  for (const PortInfo& port : model.inputs()) {
    if ((port.dtype != DType::i64 && port.dtype != DType::i32) || port.extents.size() < 2 || port.extents[0] < 0)
      continue;
    if (port.extents[0] > 0) return port.extents[0];
    return Error(Code::invalid_argument,
                 fmt::format("--decode: input '{}' of {} has no rows; needed at least 1", port.name, port.type));
  }
  return 1;
}

/// The next inputs of a model that has `past` tokens behind it and gets `now`.
struct Step {
  int64_t past = 0, now = 1;
};

/// An open extent of an ordinary input: all tokens where its name or the input's says so, else those of this step; what
/// is called batch is 1.
int64_t open_extent(const PortInfo& port, const std::string& dim, const Step& step) {
  if (says(dim, "batch")) return 1;
  if (says(port.name, "mask") || says(dim, "total") || says(dim, "past") || says(dim, "+")) return step.past + step.now;
  return step.now;
}

/// How many tokens there are, by the inputs that choose rows of a table; nothing of others.
using Vocabularies = std::map<std::string, int64_t>;

Vocabularies vocabularies_of(const Model& model) {
  Vocabularies out;
  const auto graph = model.graph();
  if (!graph.ok()) return out;
  for (NodeId id : graph->nodes()) {
    const auto node = graph->node(id);
    if (!node.ok() || node->op != "gather" || node->inputs.size() < 2) continue;
    const auto table = graph->value(node->inputs[0]), tokens = graph->value(node->inputs[1]);
    const Attribute* axis = find_attribute(node->attributes, "axis");
    const int64_t* at = axis ? std::get_if<int64_t>(axis) : nullptr;
    if (!table.ok() || !tokens.ok() || !table->constant.tensor() || !tokens->parameter_of.valid() || (at && *at != 0))
      continue;
    const Shape& shape = table->constant.tensor()->shape();
    if (shape.rank() == 0 || shape[0] < 1) continue;
    const auto [known, fresh] = out.emplace(tokens->name, shape[0]);
    known->second = std::min(known->second, shape[0]);
  }
  return out;
}

template <class T>
void fill(Tensor& t, const PortInfo& port, const Step& step, int64_t vocabulary, std::mt19937_64& random) {
  const auto elements = t.mutable_as<T>();
  const int64_t row = t.shape().rank() > 0 ? t.shape()[t.shape().rank() - 1] : 1;
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto column = static_cast<int64_t>(i) % std::max<int64_t>(row, 1);
    if (says(port.name, "mask"))
      elements[i] = T(1);
    else if (says(port.name, "position"))
      elements[i] = static_cast<T>(step.past + column);
    else
      elements[i] = static_cast<T>(random() % static_cast<uint64_t>(vocabulary));
  }
}

Result<Value> input_of(const PortInfo& port, const Step& step, const Vocabularies& vocabularies,
                       std::mt19937_64& random) {
  constexpr int64_t kTokens = 64;  // that any vocabulary has
  std::vector<int64_t> extents;
  for (size_t i = 0; i < port.extents.size(); ++i)
    extents.push_back(port.extents[i] >= 0 ? port.extents[i] : open_extent(port, port.dims[i], step));
  if (port.dtype == DType::i64 || port.dtype == DType::i32) {
    NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents)));
    const auto known = vocabularies.find(port.name);
    const int64_t tokens = known == vocabularies.end() ? kTokens : std::min(kTokens, known->second);
    port.dtype == DType::i64 ? fill<int64_t>(t, port, step, tokens, random)
                             : fill<int32_t>(t, port, step, tokens, random);
    return Value(std::move(t));
  }
  PortInfo known = port;
  known.extents = extents, known.dims.clear();
  for (int64_t n : extents) known.dims.push_back(std::to_string(n));
  return random_input(known, random(), {}, 1);
}

Result<double> timed_step(Session& session, const Model& model, const Step& step, const Vocabularies& vocabularies,
                          std::mt19937_64& random, const RunOptions& options) {
  std::vector<Value> inputs;
  for (const PortInfo& port : model.inputs()) {
    NNEX_ASSIGN(Value v, input_of(port, step, vocabularies, random));
    inputs.push_back(std::move(v));
  }
  const auto start = Clock::now();
  if (auto r = session.run(inputs, options); !r.ok())
    return std::move(r).error().during(fmt::format("a step of {} tokens with {} before it", step.now, step.past));
  return ms_since(start);
}

/// Whether some ordinary input can take more than one token at once.
bool takes_prompts(const Model& model) {
  for (const PortInfo& port : model.inputs())
    for (size_t i = 0; i < port.extents.size(); ++i)
      if (port.extents[i] < 0 && !says(port.dims[i], "batch")) return true;
  return false;
}

struct Decoded {
  Model model;
  int64_t batch = 1, prompt = 0;
  int threads = 1;
  double load_ms = 0, prompt_ms = 0;
  std::vector<double> steps_ms;
  double state_mb = 0, activation_mb = 0;
};

int64_t bytes_of(const Session& session, const Model& model) {
  int64_t bytes = 0;
  for (const PortInfo& s : model.states()) {
    const auto value = session.state(s.name);
    if (value.ok() && value->tensor()) bytes += value->tensor()->bytes();
  }
  return bytes;
}

Result<Decoded> decode(const TimingOptions& o, const DecodeOptions& d, const RunOptions& options) {
  ModelOptions wanted = o.model;
  if (wanted.carry.empty()) wanted.carry = {"likely"};
  const auto start = Clock::now();
  NNEX_ASSIGN(Model model, load_timed(wanted));
  NNEX_ASSIGN(const int64_t batch, batch_of(model));
  const SessionOptions how = wanted.session_options();
  Decoded out{model, batch, takes_prompts(model) ? d.prompt : 1, how.threads, ms_since(start), 0, {}, 0, 0};
  Session session = model.session(how);
  const Vocabularies vocabularies = vocabularies_of(model);
  std::mt19937_64 random(o.inputs.seed.value_or(1));
  for (int round = 0; round < 2; ++round) {  // the first packs weights
    NNEX_TRY(session.reset_states());
    NNEX_ASSIGN(out.prompt_ms, timed_step(session, model, {0, out.prompt}, vocabularies, random, options));
  }
  for (int64_t i = 0; i < d.tokens; ++i) {
    NNEX_ASSIGN(const double ms, timed_step(session, model, {out.prompt + i, 1}, vocabularies, random, options));
    out.steps_ms.push_back(ms);
  }
  out.state_mb = static_cast<double>(bytes_of(session, model)) / 1048576;
  out.activation_mb = static_cast<double>(session.memory()) / 1048576;
  return out;
}

}  // namespace

void DecodeOptions::add_to(Verb verb) {
  verb.option("--decode", tokens,
              "Time a prompt and so many steps of one token after it; caches are carried (--carry likely unless said)")
      .whole(0);
  verb.option("--prompt", prompt, "With --decode: tokens of the prompt").whole(1);
}

int bench_decode(const TimingOptions& o, const DecodeOptions& d) {
  const TimeLimit limit(o.timeout);
  const auto decoded = awaited("timing", [&] { return decode(o, d, limit.run_options()); });
  if (!decoded.ok()) return limit.report(decoded.error());
  const Decoded& r = *decoded;
  std::vector<double> sorted = r.steps_ms;
  std::sort(sorted.begin(), sorted.end());
  double total = 0;
  for (double ms : sorted) total += ms;
  const auto rows = static_cast<double>(r.batch);
  const double median = sorted[sorted.size() / 2],
               per_second = 1000.0 * rows * static_cast<double>(sorted.size()) / total;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  if (o.json) {
    const Json j = {{"schema", "nnex.decode/1"},
                    {"model", o.model.path},
                    {"threads", r.threads},
                    {"states", r.model.states().size()},
                    {"batch", r.batch},
                    {"prompt_tokens", r.prompt},
                    {"prompt_ms", r.prompt_ms},
                    {"tokens", r.steps_ms.size()},
                    {"token_median_ms", median},
                    {"token_last_ms", r.steps_ms.back()},
                    {"tokens_per_second", per_second},
                    {"load_ms", r.load_ms},
                    {"state_mb", r.state_mb},
                    {"activation_mb", r.activation_mb},
                    {"peak_rss_mb", peak_mb}};
    say("{}\n", j.dump(-1, ' ', false, Json::error_handler_t::replace));
    return kOk;
  }
  say("{}\n  {} carried{}\n", o.model.path, r.model.states().size(),
      r.batch == 1 ? "" : fmt::format("   batch of {}, whose tokens count together", r.batch));
  say("  prompt of {} token{}   {:.3f} ms   {:.0f} tokens a second\n", r.prompt, r.prompt == 1 ? "" : "s", r.prompt_ms,
      1000.0 * rows * static_cast<double>(r.prompt) / r.prompt_ms);
  say("  {} tokens after it   median {:.3f} ms   last {:.3f}   {:.1f} tokens a second   ({} thread{})\n", sorted.size(),
      median, r.steps_ms.back(), per_second, r.threads, r.threads == 1 ? "" : "s");
  say("  load {:.2f} ms   caches {:.1f} MiB, activations {:.1f}, peak memory {:.1f}\n", r.load_ms, r.state_mb,
      r.activation_mb, peak_mb);
  return kOk;
}

}  // namespace nnex::cli
