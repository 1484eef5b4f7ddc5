// nnex dump: the graph as text, as it was read, or around passes.

#include <algorithm>

#include "cli.h"
#include "nnex/graph.h"
#include "nnex/load.h"
#include "time_limit.h"
#include "waiting.h"

namespace nnex::cli {
namespace {

struct DumpArguments {
  ReadingOptions reading;
  std::string path, pass;
  double timeout = 0;
  bool optimized = false, no_types = false, json = false;
  PrintOptions print;
};

void print_json(const DumpArguments& o, Json more) {
  Json j = {{"schema", "nnex.dump/1"}, {"model", o.path}};
  j.update(more);
  say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
}

/// Prints what each turn of the pass changes, before and after.
Status dump_around(Graph& graph, const DumpArguments& o) {
  std::string before;
  int turns = 0;
  Json changes = Json::array();
  const auto watch = [&](std::string_view pass, const Graph& g) -> Status {
    std::string after = g.text(o.print);
    if (pass == o.pass && after != before) {
      if (o.json)
        changes.push_back({{"before", before}, {"after", after}});
      else
        say("{}# before {}\n{}\n# after {}\n{}", turns ? "\n" : "", pass, before, pass, after);
      ++turns;
    }
    before = std::move(after);
    return {};
  };
  NNEX_TRY(graph.optimize(watch));
  if (o.json)
    print_json(o, {{"pass", o.pass}, {"changes", std::move(changes)}});
  else if (turns == 0)
    say("# {} changes nothing here\n", o.pass);
  return {};
}

/// What is kept from run to run: the last inputs of the text and its last results, "# state 'h': 'h' becomes 'next'".
std::string states_text(const Graph& graph) {
  std::string out;
  for (const StateInfo& s : graph.states())
    out += fmt::format("# state '{}': '{}' becomes '{}'\n", one_line(s.label), one_line(graph.value(s.before)->name),
                       one_line(graph.value(s.after)->name));
  return out;
}

Status dump(const DumpArguments& o) {
  NNEX_ASSIGN(const LoadOptions load, o.reading.options());
  NNEX_ASSIGN(const ModelSource source, source_of(o.path));
  NNEX_ASSIGN(Graph graph, awaited("reading", [&] { return load_graph(source, load); }));
  if (!o.pass.empty()) return dump_around(graph, o);
  if (o.optimized)
    NNEX_TRY(graph.optimize());
  else
    (void)graph.infer().ok();  // what it cannot find out stays unknown
  if (o.json)
    print_json(o, {{"optimized", o.optimized}, {"text", states_text(graph) + graph.text(o.print)}});
  else
    say("{}{}", states_text(graph), graph.text(o.print));
  return {};
}

}  // namespace

void add_dump(CommandLine& line) {
  auto options = std::make_shared<DumpArguments>();
  options->print.elements = 16;
  Verb verb = line.verb("dump", "Print a model's graph as text, as read or after the passes", [options] {
    options->print.types = !options->no_types;
    const TimeLimit limit(options->timeout);
    Status s = dump(*options);
    return s.ok() ? static_cast<int>(kOk) : report(s.error());
  });
  verb.option("model", options->path, kModelHelp).required();
  options->reading.add_to(verb);
  verb.flag("--optimized", options->optimized, "After all passes");
  verb.option("--pass", options->pass, "Before and after this pass, wherever it changes the graph")
      .one_of(Graph::passes());
  verb.option("--elements", options->print.elements, "Print constants of at most so many elements; -1: all");
  verb.flag("--places", options->print.locations, "Say beside each node where the model has it");
  verb.flag("--no-types", options->no_types, "Leave out the types of values inside the graph");
  add_timeout(verb, options->timeout);
  verb.flag("--json", options->json, "Print a JSON object with the text in it");
}

}  // namespace nnex::cli
