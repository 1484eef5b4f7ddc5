// nnex convert: a model in another standard's form.

#include "cli.h"
#include "nnex/save.h"

namespace nnex::cli {
namespace {

struct Options {
  ModelOptions model;
  std::string out, to, name;
  WritingOptions writing;
  bool custom = false, keep_fragments = false, external = false, json = false, quiet = false;
};

const std::map<std::string, Format> kFormats = {
    {"onnx", Format::onnx}, {"nnef", Format::nnef}, {"cvm", Format::cvm}, {"webnn", Format::webnn}};

void print(const Options& o, const SaveReport& written) {
  for (const std::string& n : written.notes) fmt::print("{}: note: {}\n", o.model.path, n);
  switch (written.format) {
    case Format::onnx:
      fmt::print("{}: opset {}, {} nodes, {} initializers{}\n", o.out, written.opset, written.operations,
                 written.initializers, written.external_file.empty() ? "" : ", data in " + written.external_file);
      break;
    case Format::nnef:
      fmt::print("{}: {} variables, {} bytes of them\n", o.out, written.variables, written.variable_bytes);
      break;
    case Format::webnn:
      fmt::print("{}: {} operations, {} operands\n", o.out, written.operations, written.operands);
      break;
    case Format::cvm:
      fmt::print("{}: {} bytes of symbol, {} of params\n", o.out, written.symbol_bytes, written.params_bytes);
      break;
  }
}

/// Numbers that the format does not have are left out.
void print_json(const Options& o, const SaveReport& written) {
  Json j = {{"schema", "nnex.convert/1"}, {"model", o.model.path}, {"out", o.out}};
  for (const auto& [word, format] : kFormats)
    if (format == written.format) j["format"] = word;
  j["files"] = written.files, j["bytes"] = written.bytes, j["notes"] = written.notes;
  const auto add = [&](const char* name, int64_t n) {
    if (n > 0) j[name] = n;
  };
  add("operations", written.operations), add("operands", written.operands), add("opset", written.opset);
  add("initializers", written.initializers), add("variables", written.variables);
  add("variable_bytes", written.variable_bytes), add("symbol_bytes", written.symbol_bytes);
  add("params_bytes", written.params_bytes);
  if (!written.external_file.empty()) j["external_file"] = written.external_file;
  fmt::print("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
}

int run(const Options& o) {
  auto load = o.model.options();
  if (!load.ok()) return report(load.error());
  ConvertOptions options;
  options.load = std::move(*load);
  if (!o.to.empty()) options.save.format = kFormats.at(o.to);
  options.save.name = o.name;
  options.save.custom = o.custom;
  options.save.overwrite = o.writing.force ? Overwrite::replace : Overwrite::refuse;
  options.save.onnx.external_data = o.external;
  options.save.nnef.keep_fragments = o.keep_fragments;
  const auto written = convert(o.model.path, o.out, options);
  if (!written.ok()) return report(written.error());
  if (o.json)
    print_json(o, *written);
  else if (!o.quiet)
    print(o, *written);
  return kOk;
}

}  // namespace

void add_convert(CommandLine& line) {
  auto o = std::make_shared<Options>();
  Verb verb = line.verb("convert", "Write a model in another standard's form", [o] { return run(*o); });
  o->model.add_to(verb);
  verb.option(
          "out", o->out,
          "Where to: an .onnx file, a folder or archive (.tar, .tgz, .tar.gz) of NNEF, a folder of CVM, a .webnn file, "
          "a .mjs module, a .js script")
      .required();
  verb.option("--to", o->to, "The standard: onnx, nnef, cvm, webnn; absent: by the ending")
      .one_of({"onnx", "nnef", "cvm", "webnn"});
  verb.option("--name", o->name, "The graph's name; absent: as it is");
  verb.flag("--custom", o->custom, "Carry operations that the standard lacks as custom ones");
  verb.flag("--keep-fragments", o->keep_fragments,
            "Write a document that has fragments with them; without it, as the operations they come down to");
  verb.flag("--external-data", o->external,
            "ONNX: tensors in a file of their own beside the model, as models of more than 2 GB have them anyway");
  o->writing.add_to(verb);
  verb.flag("--json", o->json, "Print a JSON object");
  verb.flag("-q,--quiet", o->quiet, "Print nothing but errors");
}

}  // namespace nnex::cli
