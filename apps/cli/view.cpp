// nnex view: a picture of a network.

#include "nnex/view.h"

#include <algorithm>
#include <fstream>
#include <optional>

#include "cli.h"
#include "nnex/file.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

struct ViewArguments {
  ReadingOptions reading;
  std::string path, out, to, profile;
  WritingOptions writing;
  double timeout = 0;
  bool unfold = false, no_check = false, json = false, quiet = false;
};

const std::map<std::string, ViewFormat> kForms = {
    {"html", ViewFormat::html}, {"svg", ViewFormat::svg}, {"dot", ViewFormat::dot}};

/// By --to, else by the ending of the file's name.
Result<ViewFormat> form_of(const ViewArguments& o) {
  if (!o.to.empty()) return kForms.at(o.to);
  if (o.out.empty() || o.out == "-") return ViewFormat::html;
  for (const auto& [ending, form] : kForms)
    if (has_ending(o.out, "." + ending)) return form;
  if (has_ending(o.out, ".htm")) return ViewFormat::html;
  if (has_ending(o.out, ".gv")) return ViewFormat::dot;
  return Error(Code::invalid_argument,
               fmt::format("the ending of '{}' says no form; needed .html, .svg or .dot, or --to", o.out));
}

/// "networks/mobile.onnx" gives "mobile.html" in the folder where one is.
std::string default_name(const ViewArguments& o, ViewFormat form) {
  std::string name = o.path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  name = name.substr(name.rfind('/') + 1);
  for (const char* ending : {".onnx", ".nnef.tgz", ".nnef.tar", ".tar.gz", ".tgz", ".tar", ".nnef", ".webnn"})
    if (has_ending(name, ending)) {
      name.resize(name.size() - std::string_view(ending).size());
      break;
    }
  if (name.empty() || name == "." || name == "..") name = "model";
  for (const auto& [ending, known] : kForms)
    if (known == form) name += "." + ending;
  return name;
}

/// What `nnex profile --json` printed.
Result<std::vector<PlaceTime>> read_profile(const std::string& path) {
  NNEX_ASSIGN(const std::string text, read_file(path));
  const Json json = Json::parse(text, nullptr, false);
  const auto refused = [&](const std::string& found) {
    return Error(Code::unreadable, fmt::format("found {}; needed what 'nnex profile MODEL --json' prints", found))
        .at(path);
  };
  if (json.is_discarded()) return refused("no JSON");
  if (!json.is_object() || json.value("schema", Json()) != "nnex.profile/1")
    return refused("no schema \"nnex.profile/1\"");
  if (!json.contains("nodes") || !json["nodes"].is_array()) return refused("no list \"nodes\"");
  std::vector<PlaceTime> times;
  for (const Json& node : json["nodes"]) {
    if (!node.is_object() || !node.contains("place") || !node["place"].is_string() || !node.contains("us") ||
        !node["us"].is_number())
      return refused(fmt::format("no \"place\" and \"us\" in node {}", times.size()));
    times.push_back({node["place"].get<std::string>(), node["us"].get<double>()});
  }
  return times;
}

/// What becomes of a file that is there: the page that an earlier view made under this name is made anew.
Existing existing_of(const ViewArguments& o, const std::string& out) {
  if (!o.out.empty() || o.writing.force) return o.writing.existing();
  std::ifstream file(out, std::ios::binary);
  std::string begin(4096, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin.find("name=\"generator\" content=\"nnex\"") == std::string::npos ? Existing::refuse : Existing::replace;
}

int view_model(const ViewArguments& o) {
  std::optional<TimeLimit> limit(o.timeout);
  auto load = o.reading.options();
  if (!load.ok()) return report(load.error());
  const auto form = form_of(o);
  if (!form.ok()) return report(form.error());
  ViewOptions options;
  options.load = std::move(*load);
  options.format = *form, options.fold = !o.unfold, options.check = !o.no_check;
  const std::string out = o.out.empty() ? default_name(o, *form) : o.out;
  if (out == "-" && o.json)
    return report(
        Error(Code::invalid_argument, "--json and --output -: found both; standard output takes one of them"));
  if (out != "-")
    if (Status s = may_write(out, existing_of(o, out)); !s.ok()) return report(s.error());
  if (!o.profile.empty()) {
    auto times = read_profile(o.profile);
    if (!times.ok()) return report(times.error());
    options.times = std::move(*times);
  }
  const auto source = source_of(o.path);
  if (!source.ok()) return report(source.error());
  const auto made = awaited("drawing", [&] { return view(*source, options); });
  if (!made.ok()) return report(made.error());
  limit.reset();
  if (made->unplaced > 0)
    say(stderr, "nnex: {} of the times in '{}' {} of no node of this model\n", made->unplaced, o.profile,
        made->unplaced == 1 ? "is" : "are");
  if (out == "-") {
    say("{}", made->text);
    return kOk;
  }
  if (Status s = write_file(out, made->text, existing_of(o, out)); !s.ok()) return report(s.error());
  if (o.json) {
    const Json j = {{"schema", "nnex.drawing/1"}, {"model", o.path},          {"out", out},
                    {"nodes", made->nodes},       {"repeats", made->repeats}, {"faults", made->faults},
                    {"unplaced", made->unplaced}};
    say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  } else if (!o.quiet)
    say("{}: {} nodes{}{}\n", out, made->nodes,
        made->repeats > 0 ? fmt::format(", {} repeat{} folded", made->repeats, made->repeats > 1 ? "s" : "") : "",
        made->faults > 0 ? fmt::format(", {} fault{}", made->faults, made->faults > 1 ? "s" : "") : "");
  return kOk;
}

}  // namespace

void add_view(CommandLine& line) {
  auto o = std::make_shared<ViewArguments>();
  Verb verb =
      line.verb("view", "Draw a model: a page, a picture or a text for Graphviz", [o] { return view_model(*o); });
  verb.option("model", o->path, kModelHelp).required();
  verb.option("-o,--output", o->out,
              "Where to: a .html, .svg or .dot file; -: standard output; absent: the model's name with .html")
      .type("FILE");
  verb.option("--to", o->to, "html, svg, dot; absent: by the ending").one_of({"html", "svg", "dot"});
  verb.option("--profile", o->profile, "Times of nodes: what 'nnex profile MODEL --json' printed").type("FILE");
  verb.flag("--unfold", o->unfold, "Draw parts that repeat as often as they do");
  verb.flag("--no-check", o->no_check, "Do not look for faults");
  o->reading.add_to(verb);
  o->writing.add_to(verb);
  add_timeout(verb, o->timeout);
  verb.flag("--json", o->json, "Print a JSON object");
  verb.flag("-q,--quiet", o->quiet, "Print nothing but errors, and what --json asks for");
}

}  // namespace nnex::cli
