// Quantising through the C interface.

#include "nnex/quantize.h"

#include <cmath>

#include "base/try.h"
#include "c/handles.h"
#include "c/watch.h"

struct nnex_quantized {
  nnex::Quantized result;
  std::string recipe;
};

namespace nnex::c {
template <>
inline constexpr FirstVersion kFirstVersion<nnex_samples> = {"nnex_samples",
                                                             offsetof(nnex_samples, context) + sizeof(void*)};
template <>
inline constexpr FirstVersion kFirstVersion<nnex_quantize_options> = {
    "nnex_quantize_options", offsetof(nnex_quantize_options, run) + sizeof(void*)};

namespace {

/// Handles that a callback fills and nobody else frees.
struct Handles {
  std::vector<nnex_value*> all;
  explicit Handles(size_t count) : all(count) {}
  ~Handles() {
    for (nnex_value* v : all) nnex_value_free(v);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

Result<SampleSet> sample_set(const nnex_samples* given) {
  SampleSet set;
  if (!given) return set;
  NNEX_ASSIGN(const nnex_samples s, known(given));
  if (!s.read) return null_argument("samples->read");
  if (s.count < 0)
    return Error(Code::invalid_argument, "found " + std::to_string(s.count) + " samples; needed 0 or more");
  set.count = s.count;
  set.read = [s](const std::vector<PortInfo>& inputs, int64_t index) -> Result<std::vector<Value>> {
    Handles handles(inputs.size());
    if (nnex_error* e = s.read(s.context, index, handles.all.data(), inputs.size())) return taken(e);
    std::vector<Value> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!handles.all[i])
        return Error(Code::invalid_argument,
                     "sample " + std::to_string(index) + " has no value for input '" + inputs[i].name + "'");
      values.push_back(handles.all[i]->value);
    }
    return values;
  };
  return set;
}

Error no_such(const char* what, const char* found, const char* needed) {
  return {Code::invalid_argument, std::string("found ") + what + " '" + found + "'; needed " + needed};
}

Result<QuantizeOptions> quantize_options(const nnex_quantize_options& o) {
  QuantizeOptions out;
  QuantizeSettings& s = out.settings;
  if (o.to) {
    const std::string_view to = o.to;
    if (to != "onnx" && to != "nnef" && to != "cvm") return no_such("format", o.to, "onnx, nnef or cvm");
    out.to = to == "onnx" ? Format::onnx : to == "nnef" ? Format::nnef : Format::cvm;
  }
  if (o.weights) {
    const std::string_view weights = o.weights;
    if (weights != "int8" && weights != "int4") return no_such("weights", o.weights, "int8 or int4");
    s.weights = weights == "int4" ? WeightCodes::int4 : WeightCodes::int8;
  }
  if (o.method) {
    const auto method = range_method_named(o.method);
    if (!method) return no_such("method", o.method, "minmax, percentile, mse or entropy");
    s.method = *method;
  }
  if (o.threads < 0)
    return Error(Code::invalid_argument, "found " + std::to_string(o.threads) + " threads; needed 0 or more");
  if (o.percentile != 0) s.percentile = o.percentile;
  if (o.block != 0) s.block = o.block;
  NNEX_ASSIGN(s.keep_float, texts_of(o.keep_float, o.keep_float_count, "options->keep_float"));
  s.per_channel = !o.per_tensor, s.correct_bias = !o.no_bias_correction;
  s.equalize = o.equalize, s.smooth = o.smooth;
  if (o.recipe) {
    auto recipe = parse_recipe(o.recipe);
    if (!recipe.ok()) return Error(Code::invalid_argument, recipe.error().message()).at("options->recipe");
    out.recipe = *std::move(recipe);
  }
  out.plan = o.measured ? QuantizePlan::measured : QuantizePlan::all;
  out.arithmetic = o.fastest ? CalibrateOn::fastest : CalibrateOn::portable;
  out.min_sqnr_db = o.min_sqnr_db;
  out.judge = !o.no_judge, out.judge_count = o.judge_count;
  out.session.threads = o.threads;
  return out;
}

double number_or_nan(const std::optional<double>& x) { return x.value_or(std::nan("")); }

}  // namespace
}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_quantize(const nnex_graph* graph, const nnex_samples* samples, const nnex_quantize_options* options,
                          nnex_quantized** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(graph);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const nnex_quantize_options given, known(options));
    NNEX_ASSIGN(QuantizeOptions o, quantize_options(given));
    NNEX_ASSIGN(const SampleSet set, sample_set(samples));
    NNEX_ASSIGN(const nnex_run_options run, run_options(given.run));
    const Watch watch(run);
    o.run = watch.options();
    NNEX_ASSIGN(Quantized result, quantize(graph->graph, set, o));
    std::string recipe = recipe_text(result.recipe);
    *out = new nnex_quantized{std::move(result), std::move(recipe)};
    return {};
  });
}

nnex_error* nnex_quantized_graph(const nnex_quantized* quantized, nnex_graph** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(quantized);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(*out, graph_handle(quantized->result.graph));
    return {};
  });
}

const char* nnex_quantized_recipe(const nnex_quantized* q) { return q ? q->recipe.c_str() : nullptr; }

bool nnex_quantized_layer(const nnex_quantized* q, size_t index, const char** name, const char** op,
                          const char** kept_float, int64_t* weight_bytes, double* sqnr_db) {
  if (!q || index >= q->result.report.layers.size()) return false;
  const QuantizedLayer& l = q->result.report.layers[index];
  if (name) *name = l.name.c_str();
  if (op) *op = l.op.c_str();
  if (kept_float) *kept_float = l.kept_float.c_str();
  if (weight_bytes) *weight_bytes = l.weight_bytes;
  if (sqnr_db) *sqnr_db = number_or_nan(l.sqnr_db);
  return true;
}

bool nnex_quantized_output(const nnex_quantized* q, size_t index, const char** name, double* sqnr_db, int64_t* rows,
                           int64_t* agreed) {
  if (!q || index >= q->result.report.outputs.size()) return false;
  const QuantizedOutput& o = q->result.report.outputs[index];
  if (name) *name = o.name.c_str();
  if (sqnr_db) *sqnr_db = o.sqnr_db;
  if (rows) *rows = o.rows;
  if (agreed) *agreed = o.agreed;
  return true;
}

int64_t nnex_quantized_float_bytes(const nnex_quantized* q) { return q ? q->result.report.float_bytes : 0; }
int64_t nnex_quantized_bytes(const nnex_quantized* q) { return q ? q->result.report.quantized_bytes : 0; }
double nnex_quantized_float_us(const nnex_quantized* q) {
  return q ? number_or_nan(q->result.report.float_us) : std::nan("");
}
double nnex_quantized_us(const nnex_quantized* q) {
  return q ? number_or_nan(q->result.report.quantized_us) : std::nan("");
}
const char* nnex_quantized_note(const nnex_quantized* q, size_t index) {
  return q && index < q->result.report.notes.size() ? q->result.report.notes[index].c_str() : nullptr;
}
void nnex_quantized_free(nnex_quantized* q) { delete q; }

}  // extern "C"
