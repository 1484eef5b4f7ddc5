// nnex dump: the graph as text, as it was read, or around passes.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/faults.h"
#include "cli.h"
#include "graph/infer.h"
#include "graph/symbols.h"
#include "graph/text/printer.h"
#include "passes/passes.h"
#include "passes/pipeline.h"
#include "webnn/read_any.h"

namespace nnex::cli {
namespace {

struct Options {
  ReadingOptions reading;
  std::string path, pass;
  bool optimized = false;
  graph_text::PrintOptions print;
};

/// Prints what each turn of the pass changes, before and after.
Status dump_around(Graph& graph, const Options& o) {
  std::string before = graph_text::print(graph, o.print);
  int turns = 0;
  PipelineOptions options;
  options.after = [&](const Graph& g, const PassDef& pass) -> Status {
    std::string after = graph_text::print(g, o.print);
    if (pass.name == o.pass && after != before) {
      fmt::print("{}# before {}\n{}\n# after {}\n{}", turns ? "\n" : "", pass.name, before, pass.name, after);
      ++turns;
    }
    before = std::move(after);
    return {};
  };
  NNEX_TRY(optimize(graph, options));
  if (turns == 0) fmt::print("# {} changes nothing here\n", o.pass);
  return {};
}

Status dump(const Options& o) {
  NNEX_ASSIGN(const LoadOptions load, o.reading.options());
  NNEX_ASSIGN(Graph graph, read_any(o.path, load));
  NNEX_TRY(fix_symbols(graph, load.symbols));
  if (!o.optimized && o.pass.empty()) {
    Faults faults;
    infer_types(graph, faults);  // what it cannot find out stays unknown
    fmt::print("{}", graph_text::print(graph, o.print));
    return {};
  }
  NNEX_TRY(prepare(graph));
  if (!o.pass.empty()) return dump_around(graph, o);
  NNEX_TRY(optimize(graph));
  fmt::print("{}", graph_text::print(graph, o.print));
  return {};
}

}  // namespace

void add_dump(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("dump", "Print a model's graph as text, as read or after the passes");
  auto options = std::make_shared<Options>();
  options->print.elements = 16;
  verb->add_option("model", options->path, kModelHelp)->required();
  options->reading.add_to(*verb);
  verb->add_flag("--optimized", options->optimized, "After all passes");
  std::vector<std::string> names;
  for (const PassDef& pass : pipeline())
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.emplace_back(pass.name);
  verb->add_option("--pass", options->pass, "Before and after this pass, wherever it changes the graph")
      ->check(CLI::IsMember(names));
  verb->add_option("--elements", options->print.elements, "Print constants of at most so many elements; -1: all");
  verb->add_flag("--places", options->print.places, "Say beside each node where the model has it");
  verb->add_flag("!--no-types", options->print.types, "Leave out the types of values inside the graph");
  verb->callback([options, &exit_code] {
    Status s = dump(*options);
    exit_code = s.ok() ? kOk : report(s.error());
  });
}

}  // namespace nnex::cli
