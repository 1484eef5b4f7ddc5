// nnex quantize: a float network as one of 8-bit codes, or with weights of 4 bits.

#include "nnex/quantize.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "cli.h"
#include "describe.h"
#include "nnex/load.h"
#include "nnex/save.h"
#include "onnx_writing.h"
#include "samples.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

struct QuantizeArguments {
  ReadingOptions reading;
  InputOptions fit;
  WritingOptions writing;
  OnnxWritingOptions onnx;
  std::string path, out, calibrate, method = "mse", weights = "int8", recipe, save_recipe, plan = "all",
                                    arithmetic = "portable", to;
  double percentile = 99.99, min_sqnr = 0, timeout = 0;
  int64_t block = 32;
  int judge = 0, threads = 0;
  std::vector<std::string> keep;
  bool per_tensor = false, no_bias_correction = false, equalize = false, smooth = false, no_judge = false, json = false,
       quiet = false;
};

Result<QuantizeOptions> options_of(const QuantizeArguments& o) {
  QuantizeOptions out;
  out.settings.method = *range_method_named(o.method);
  out.settings.percentile = o.percentile;
  out.settings.weights = o.weights == "int4" ? WeightCodes::int4 : WeightCodes::int8;
  out.settings.block = o.block;
  out.settings.per_channel = !o.per_tensor;
  out.settings.correct_bias = !o.no_bias_correction;
  out.settings.equalize = o.equalize, out.settings.smooth = o.smooth;
  out.settings.keep_float = o.keep;
  if (!o.recipe.empty()) {
    NNEX_ASSIGN(const std::string text, read_file(o.recipe));
    auto recipe = parse_recipe(text);
    if (!recipe.ok()) return std::move(recipe).error().at(o.recipe);
    out.recipe = std::move(*recipe);
  }
  out.plan = o.plan == "measured" ? QuantizePlan::measured : QuantizePlan::all;
  out.arithmetic = o.arithmetic == "fastest" ? CalibrateOn::fastest : CalibrateOn::portable;
  out.min_sqnr_db = o.min_sqnr;
  out.judge = !o.no_judge, out.judge_count = o.judge;
  out.session.threads = threads_of(o.threads);
  return out;
}

// ---- For programs

Json json_of(const std::optional<double>& x) { return x ? number_of(*x) : Json(nullptr); }

void print_json(const QuantizeArguments& o, const QuantizeReport& r, const SaveReport& written) {
  Json j = {{"schema", "nnex.quantize/1"},
            {"model", o.path},
            {"out", o.out},
            {"files", written.files},
            {"bytes", written.bytes},
            {"calibrated", r.calibrated},
            {"judged", r.judged},
            {"layers", Json::array()},
            {"outputs", Json::array()},
            {"float_bytes", r.float_bytes},
            {"quantized_bytes", r.quantized_bytes}};
  for (const QuantizedLayer& l : r.layers) {
    Json row = {{"name", l.name}, {"operator", l.op}, {"place", l.place}, {"quantized", l.kept_float.empty()}};
    if (!l.kept_float.empty()) row["kept_float"] = l.kept_float;
    row["weight_bytes"] = l.weight_bytes, row["sqnr_db"] = json_of(l.sqnr_db);
    if (l.float_us) row["float_us"] = *l.float_us, row["quantized_us"] = *l.quantized_us;
    j["layers"].push_back(std::move(row));
  }
  for (const QuantizedOutput& out : r.outputs)
    j["outputs"].push_back(
        {{"name", out.name}, {"sqnr_db", number_of(out.sqnr_db)}, {"rows", out.rows}, {"agreed", out.agreed}});
  if (r.float_us) j["float_us"] = *r.float_us, j["quantized_us"] = *r.quantized_us;
  if (!o.save_recipe.empty()) j["recipe"] = o.save_recipe;
  if (r.certificate) j["safe"] = r.certificate->safe;
  j["notes"] = r.notes;
  say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
}

/// The bytes of the file that the model was read from; nothing: it is several, or none.
std::optional<uintmax_t> bytes_of_source(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? std::nullopt : std::optional(bytes);
}

// ---- For people

std::string decibel(const std::optional<double>& x) { return x ? fmt::format("{:.1f}", *x) : "-"; }

/// A note with this command line's word for an option that it names.
std::string in_flags(std::string note) {
  constexpr std::string_view kOption = "min_sqnr_db";
  if (const size_t at = note.find(kOption); at != std::string::npos) note.replace(at, kOption.size(), "--min-sqnr");
  return note;
}

void print_layers(const QuantizeReport& r) {
  size_t width = 5;
  for (const QuantizedLayer& l : r.layers) width = std::max(width, std::min<size_t>(l.name.size(), 48));
  const bool timed = std::any_of(r.layers.begin(), r.layers.end(), [](const auto& l) { return l.float_us; });
  say("{:<{}}  {:<10} {:>8}{}  \n", "layer", width, "operator", "SQNR dB", timed ? "  float us   code us" : "");
  for (const QuantizedLayer& l : r.layers) {
    std::string times;
    if (timed)
      times = l.float_us ? fmt::format(" {:>9.1f} {:>9.1f}", *l.float_us, *l.quantized_us) : std::string(20, ' ');
    say("{:<{}}  {:<10} {:>8}{}  {}\n", one_line(l.name), width, l.op, decibel(l.sqnr_db), times,
        l.kept_float.empty() ? "" : "float: " + one_line(l.kept_float));
  }
}

void print_summary(const QuantizeArguments& o, const QuantizeReport& r, const SaveReport& written) {
  for (const std::string& n : r.notes) say("note: {}\n", own_lines(in_flags(n)));
  const auto coded =
      std::count_if(r.layers.begin(), r.layers.end(), [](const auto& l) { return l.kept_float.empty(); });
  const auto source = bytes_of_source(o.path);
  say("{}: {} of {} layers quantised, {} bytes{}; constants {} bytes, as floats {}\n", o.out, coded, r.layers.size(),
      written.bytes, source ? fmt::format(" ({} has {})", o.path, *source) : "", r.quantized_bytes, r.float_bytes);
  for (const QuantizedOutput& out : r.outputs) {
    say("output '{}': SQNR {:.1f} dB on {} samples", one_line(out.name), out.sqnr_db, r.judged);
    if (out.rows > 0)
      say("; its largest element where the float network has it in {} of {} rows ({:.2f} %)", out.agreed, out.rows,
          100.0 * static_cast<double>(out.agreed) / static_cast<double>(out.rows));
    say("\n");
  }
  if (r.certificate) {
    int64_t widest = 0;
    for (const NodeProof& n : r.certificate->nodes) widest = std::max(widest, n.accumulator_bound.value_or(0));
    say("proof: none of {} nodes passes int32; the greatest sum is at most {} (nnex check {} --json)\n",
        r.certificate->nodes.size(), widest, o.out);
  }
  if (r.float_us)
    say("time: {:.1f} us, as floats {:.1f} us: {:.2f} times as fast\n", *r.quantized_us, *r.float_us,
        *r.float_us / *r.quantized_us);
  if (!o.save_recipe.empty()) say("{}: the recipe; --recipe {} repeats this\n", o.save_recipe, o.save_recipe);
}

// ---- The verb

struct Done {
  QuantizeReport report;
  SaveReport written;
};

/// By --to, else by the ending of the file's name.
Result<Format> format_of(const QuantizeArguments& o) {
  if (o.to.empty() && o.out != "-") {
    NNEX_ASSIGN(const Format format, format_of_path(o.out));
    if (format == Format::onnx || format == Format::nnef) return format;
    return Error(Code::invalid_argument, fmt::format("'{}': a quantised model is written as ONNX, NNEF or CVM", o.out));
  }
  return o.to == "cvm" ? Format::cvm : o.to == "nnef" ? Format::nnef : Format::onnx;
}

/// What stands at standard output has a name of its standard: ONNX's file, NNEF's archive.
Result<OutputFile> output_of(const QuantizeArguments& o) {
  if (o.out == "-" && o.json)
    return Error(Code::invalid_argument, "--json: standard output takes the model; needed a file for it");
  if (o.out == "-" && o.to == "cvm")
    return Error(Code::invalid_argument, "a model of CVM is two files; needed a folder for them");
  return OutputFile::open(o.out, o.to == "nnef" ? "model.tar" : "model.onnx");
}

Result<Done> quantize(const QuantizeArguments& o, const RunOptions& run) {
  NNEX_ASSIGN(const Format format, format_of(o));
  NNEX_TRY(o.onnx.check(o.out, format));
  NNEX_ASSIGN(OutputFile file, output_of(o));
  SaveOptions save_options;
  save_options.format = format;
  save_options.overwrite = o.writing.force ? Overwrite::replace : Overwrite::refuse;
  o.onnx.put(save_options.onnx);
  NNEX_TRY(may_save(file.path(), save_options));
  if (!o.save_recipe.empty()) NNEX_TRY(may_write(o.save_recipe, o.writing.existing()));
  NNEX_ASSIGN(const LoadOptions load, o.reading.options());
  NNEX_ASSIGN(QuantizeOptions options, options_of(o));
  options.run = run;
  options.to = format;
  NNEX_ASSIGN(const ModelSource source, source_of(o.path));
  NNEX_ASSIGN(const Graph graph, awaited("reading", [&] { return load_graph(source, load); }));
  NNEX_ASSIGN(const Model model, Model::compile(graph));
  NNEX_ASSIGN(const Samples found, samples_of(o.calibrate, o.fit.file_options(o.reading), model.inputs()));
  const SampleSet& samples = found.set;
  const bool needs_samples = options.recipe ? options.recipe->settings.weights == WeightCodes::int8 &&
                                                  options.recipe->ranges.empty() && options.recipe->kept_float.empty()
                                            : options.settings.weights == WeightCodes::int8;
  if (needs_samples && samples.count == 0)
    return Error(Code::invalid_argument,
                 "found no samples; needed --calibrate FOLDER, LIST or DATA.npz, or a --recipe with what they told");
  auto made = [&] {
    Waiting waiting("quantising, samples", samples.count);
    std::atomic<int64_t> read = 0;
    SampleSet counted = samples;
    counted.read = [&](const std::vector<PortInfo>& inputs, int64_t index) {
      waiting.done(read++ % samples.count + 1);  // they may be read again and again
      return samples.read(inputs, index);
    };
    return nnex::quantize(graph, counted, options);
  }();
  if (!made.ok()) return std::move(made).error().at(o.path);
  Done out;
  NNEX_ASSIGN(out.written, save(made->graph, file.path(), save_options));
  NNEX_TRY(file.finish());
  if (!o.save_recipe.empty()) NNEX_TRY(write_file(o.save_recipe, recipe_text(made->recipe), o.writing.existing()));
  out.report = std::move(made->report);
  if (!found.note.empty()) out.report.notes.push_back(found.note);
  return out;
}

int run(const QuantizeArguments& o) {
  const TimeLimit limit(o.timeout);
  const auto done = quantize(o, limit.run_options());
  if (!done.ok()) return limit.report(done.error());
  if (o.json) {
    print_json(o, done->report, done->written);
  } else if (!o.quiet && o.out != "-") {
    print_layers(done->report);
    print_summary(o, done->report, done->written);
  }
  return kOk;
}

}  // namespace

void add_quantize(CommandLine& line) {
  auto o = std::make_shared<QuantizeArguments>();
  Verb verb = line.verb("quantize", "Write a float network as one of 8-bit codes, or with weights of 4 bits",
                        [o] { return run(*o); });
  verb.option("model", o->path, kModelHelp).required();
  o->reading.add_to(verb);
  verb.option("-o,--out", o->out, "Where to: an .onnx file; a folder or archive (.tar, .tgz) of NNEF; a folder of CVM")
      .type("FILE")
      .required();
  verb.option("--to", o->to,
              "onnx: codes around float operators; nnef: with a quantisation file; cvm: whole numbers, proven not to "
              "overflow; absent: by the ending")
      .one_of({"onnx", "nnef", "cvm"});
  verb.option(
          "--calibrate", o->calibrate,
          "Samples that the network is measured on: a folder or a list of items (pictures, .npy, .npz, folders with "
          "input_0.pb), one such item, or one .npz, .npy or .csv file with a sample for each index of the first axis")
      .type("FOLDER|LIST|FILE");
  verb.option("--method", o->method, "How the range of a tensor's codes follows from what was measured")
      .one_of({"minmax", "percentile", "mse", "entropy"});
  verb.option("--percentile", o->percentile, "Of --method percentile: how many of a hundred elements stay on each side")
      .type("P");
  verb.flag("--per-tensor", o->per_tensor, "One scale for a weight, not one for each of its outputs");
  verb.option("--weights", o->weights, "int8: weights and activations; int4: weights alone, in blocks, without samples")
      .one_of({"int8", "int4"});
  verb.option("--block", o->block, "Weights of int4 that share a scale: a power of two from 16 on").type("N");
  verb.flag("--no-bias-correction", o->no_bias_correction, "Leave biases as they are");
  verb.flag("--equalize", o->equalize, "Scale channels between two products so that both weights have like reach");
  verb.flag("--smooth", o->smooth, "Scale channels of what normalisations make, against the products after them");
  verb.option("--keep-float", o->keep, "A layer that stays float, by its node or what it makes; once for each")
      .type("NAME")
      .one_each();
  verb.option("--min-sqnr", o->min_sqnr, "Layers that would have less stay float").type("DB").above_zero();
  verb.option("--plan", o->plan,
              "all: every layer that can be; measured: of those, the ones that are faster so on this machine")
      .one_of({"all", "measured"});
  verb.option("--arithmetic", o->arithmetic,
              "How the network meets the samples: portable gives the same file on every machine, fastest takes "
              "less time")
      .one_of({"portable", "fastest"});
  verb.option("--recipe", o->recipe, "Settings and what was found, of an earlier --save-recipe: no others may be given")
      .type("FILE");
  verb.option("--save-recipe", o->save_recipe, "Write what was decided and found, as JSON").type("FILE");
  verb.option("--judge", o->judge, "Compare both networks on so many of the samples; 0: on all").type("N").whole(0);
  verb.flag("--no-judge", o->no_judge, "Compare and time nothing");
  const auto codes_of = [o](const char* weights) {
    return [o, weights] { return !o->recipe.empty() || o->weights == weights; };
  };
  const auto decides = [o] { return o->recipe.empty(); };
  for (const char* setting : {"--method", "--percentile", "--per-tensor", "--weights", "--block",
                              "--no-bias-correction", "--equalize", "--smooth", "--keep-float"})
    verb.only_where(setting, decides, "no effect with --recipe, which has settings of its own");
  verb.only_where("--plan", codes_of("int8"), "no effect with --weights int4");
  verb.only_where("--block", codes_of("int4"), "no effect without --weights int4");
  verb.only_where("--method", codes_of("int8"), "no effect with --weights int4");
  verb.only_where("--per-tensor", codes_of("int8"), "no effect with --weights int4");
  verb.only_where(
      "--percentile", [o] { return !o->recipe.empty() || o->method == "percentile"; },
      "no effect without --method percentile");
  o->fit.add_fit_to(verb);
  verb.option("--threads", o->threads, "Threads to use; 0: all that this process may").whole(0);
  add_timeout(verb, o->timeout);
  o->onnx.add_to(verb);
  o->writing.add_to(verb);
  verb.flag("--json", o->json, "Print a JSON object");
  verb.flag("-q,--quiet", o->quiet, "Print nothing but errors, and what --json asks for");
}

}  // namespace nnex::cli
