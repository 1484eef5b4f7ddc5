// nnex convert: a model in another standard's form.

#include <filesystem>
#include <optional>

#include "cli.h"
#include "onnx_writing.h"
#include "proof.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

struct ConvertArguments {
  ModelOptions model;
  std::string out, also_out, to, name;
  WritingOptions writing;
  OnnxWritingOptions onnx;
  std::string certificate;
  double timeout = 0;
  bool custom = false, keep_fragments = false, json = false, quiet = false, no_verify = false;
};

void print(const ConvertArguments& o, const SaveReport& written) {
  std::error_code none;
  for (const std::string& n : written.notes) say("{}: note: {}\n", o.model.path, own_lines(n));
  switch (written.format) {
    case Format::onnx:
      say("{}: opset {}, {} nodes, {} initializers{}\n", o.out, written.opset, written.operations, written.initializers,
          written.external_file.empty() ? "" : ", data in " + written.external_file);
      break;
    case Format::nnef:
      say("{}: {}{} variables, {} bytes of them\n", o.out,
          std::filesystem::is_directory(o.out, none) ? "a folder, " : "", written.variables, written.variable_bytes);
      break;
    case Format::webnn:
      say("{}: {} operations, {} operands\n", o.out, written.operations, written.operands);
      break;
    case Format::cvm:
      say("{}: {} bytes of symbol, {} of params\n", o.out, written.symbol_bytes, written.params_bytes);
      break;
    case Format::c:
      say("{}: {} steps, {} bytes of constants, {} of memory for a run\n", o.out, written.operations,
          written.weight_bytes, written.arena_bytes);
      break;
  }
  if (written.proof) print_proof(o.model.path, o.out, *written.proof);
}

/// The first that asks for the format.
std::string word_of(Format format) {
  for (const std::string_view word : form_words()) {
    SaveOptions asked;
    if (set_form(word, asked).ok() && asked.format == format) return std::string(word);
  }
  return {};
}

/// Numbers that the format does not have are left out.
void print_json(const ConvertArguments& o, const SaveReport& written) {
  Json j = {{"schema", "nnex.convert/1"}, {"model", o.model.path}, {"out", o.out}};
  j["format"] = word_of(written.format);
  j["files"] = written.files, j["bytes"] = written.bytes, j["notes"] = written.notes;
  const auto add = [&](const char* name, int64_t n) {
    if (n > 0) j[name] = n;
  };
  add("operations", written.operations), add("operands", written.operands), add("opset", written.opset);
  add("initializers", written.initializers), add("variables", written.variables);
  add("variable_bytes", written.variable_bytes), add("symbol_bytes", written.symbol_bytes);
  add("params_bytes", written.params_bytes), add("weight_bytes", written.weight_bytes);
  add("arena_bytes", written.arena_bytes);
  if (!written.external_file.empty()) j["external_file"] = written.external_file;
  if (written.proof) j["proof"] = proof_json(*written.proof);
  say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
}

/// What a standard's model is called where it goes to standard output.
Result<OutputFile> output_of(const ConvertArguments& o) {
  if (o.out != "-") return OutputFile::open(o.out, {});
  if (o.json) return Error(Code::invalid_argument, "--json: standard output takes the model; needed a file for it");
  if (o.to.empty()) return Error(Code::invalid_argument, "no ending says the standard of '-'; needed --to");
  return OutputFile::open(o.out, o.to == "nnef" ? "model.tar" : "model." + o.to);
}

/// What is asked of one standard is refused where another is written.
Status check_options_of(const ConvertArguments& o) {
  if (o.out == "-" && o.to.empty()) return {};  // said where the output is opened
  Format format = Format::onnx;
  if (!o.to.empty()) {
    SaveOptions asked;
    NNEX_TRY(set_form(o.to, asked));
    format = *asked.format;
  } else {
    NNEX_ASSIGN(format, format_of_path(o.out));
  }
  if (o.keep_fragments && format != Format::nnef)
    return Error(Code::invalid_argument,
                 fmt::format("--keep-fragments: it is of NNEF; '{}' is written as {}", o.out, name(format)));
  return o.onnx.check(o.out, format);
}

Result<ConvertOptions> options_of(const ConvertArguments& o, const RunOptions& run) {
  ConvertOptions options;
  NNEX_ASSIGN(options.load, o.model.options());
  if (!o.to.empty()) NNEX_TRY(set_form(o.to, options.save));
  options.save.name = o.name;
  options.save.custom = o.custom;
  options.save.overwrite = o.writing.force ? Overwrite::replace : Overwrite::refuse;
  o.onnx.put(options.save.onnx);
  NNEX_TRY(check_options_of(o));
  options.save.nnef.keep_fragments = o.keep_fragments;
  if (!o.no_verify) {
    options.proof.emplace();
    options.proof->session = o.model.session_options();
    options.proof->run = run;
  }
  return options;
}

/// Asked before the model is written: both are, or neither.
Status may_write_certificate(const ConvertArguments& o) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(o.certificate, error).parent_path();
  if (error || !std::filesystem::is_directory(folder, error))
    return Error(Code::unreadable, fmt::format("cannot write '{}': no folder '{}'", o.certificate, folder.string()));
  return may_write(o.certificate, o.writing.existing());
}

Status write_certificate(const ConvertArguments& o, const ModelSource& source, const LoadOptions& load,
                         const std::string& out, const SaveReport& written) {
  NNEX_ASSIGN(const Json text, certificate(o.model.path, source, load, out, written));
  return write_file(o.certificate, text.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                    o.writing.existing());
}

Result<SaveReport> convert_model(const ConvertArguments& o, std::optional<TimeLimit>& limit) {
  NNEX_ASSIGN(const ConvertOptions options, options_of(o, limit->run_options()));
  NNEX_ASSIGN(OutputFile out, output_of(o));
  if (!o.certificate.empty()) NNEX_TRY(may_write_certificate(o));
  NNEX_ASSIGN(const ModelSource source, source_of(o.model.path));
  NNEX_ASSIGN(const SaveReport written, convert(source, out.path(), options));
  limit.reset();  // what is written has its certificate, too
  if (!o.certificate.empty()) NNEX_TRY(write_certificate(o, source, options.load, out.path(), written));
  NNEX_TRY(out.finish());
  return written;
}

/// The output has one name, wherever it was given.
Status settle_output(ConvertArguments& o) {
  if (o.out.empty()) o.out.swap(o.also_out);
  if (!o.also_out.empty())
    return Error(Code::invalid_argument,
                 fmt::format("found two outputs, '{}' and '{}'; needed one", o.out, o.also_out));
  if (o.out.empty()) return Error(Code::invalid_argument, "out is required: where the model goes to");
  return {};
}

int run(const ConvertArguments& o) {
  std::optional<TimeLimit> limit(o.timeout);
  const auto written =
      awaited(o.no_verify ? "converting" : "converting, and running both", [&] { return convert_model(o, limit); });
  if (!written.ok()) return limit ? limit->report(written.error()) : report(written.error());
  if (o.json)
    print_json(o, *written);
  else if (!o.quiet && o.out != "-")
    print(o, *written);
  return kOk;
}

}  // namespace

void add_convert(CommandLine& line) {
  auto o = std::make_shared<ConvertArguments>();
  Verb verb = line.verb("convert", "Write a model in another standard's form", [o] {
    if (const Status one = settle_output(*o); !one.ok()) return report(one.error());
    return run(*o);
  });
  o->model.add_to(verb);
  verb.option("out", o->out,
              "Where to: an .onnx file, or its text .onnxtxt, a folder or archive (.tar, .tgz, .tar.gz) of NNEF, a "
              "folder of CVM, a .webnn file, "
              "a .mjs module, a .js script, a .c source with its header beside it; - is standard output");
  verb.option("-o,--out", o->also_out, "The same, as other verbs have it").type("OUT");
  verb.option(
          "--to", o->to,
          "The form: onnx, its text onnxtxt; nnef, in one archive tar or tgz; webnn, its JavaScript mjs or js; cvm; c; "
          "absent: by the ending")
      .one_of({form_words().begin(), form_words().end()});
  verb.option("--name", o->name, "The graph's name; absent: as it is");
  verb.flag("--custom", o->custom, "Carry operations that the standard lacks as custom ones");
  verb.flag("--keep-fragments", o->keep_fragments,
            "Write a document that has fragments with them; without it, as the operations they come down to");
  o->onnx.add_to(verb);
  verb.flag(
      "--no-verify", o->no_verify,
      "Do not run what was written beside the source before it gets its name; without it, random inputs and corner "
      "cases decide whether it does");
  verb.option("--certificate", o->certificate,
              "Write what the runs said, with hashes of all files, as JSON to this file");
  o->writing.add_to(verb);
  add_timeout(verb, o->timeout);
  verb.flag("--json", o->json, "Print a JSON object");
  verb.flag("-q,--quiet", o->quiet, "Print nothing but errors, and what --json asks for");
}

}  // namespace nnex::cli
