// nnex format: the canonical layout of an NNEF text.

#include "formats/nnef/format.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/mapped_file.h"
#include "cli.h"
#include "formats/nnef/textmate.h"
#include "numpy.h"

namespace nnex::cli {
namespace {

struct Options {
  std::string path, dialect = "standard";
  bool check = false, print = false, grammar = false;
};

int format(const Options& o) {
  if (o.grammar) {
    if (!o.path.empty() || o.check || o.print)
      return report(Error(Code::invalid_argument, "--grammar prints the language's grammar; it takes nothing beside"));
    fmt::print("{}", nnef_format::textmate_grammar());
    return kOk;
  }
  if (o.path.empty()) return report(Error(Code::invalid_argument, "no FILE; needed the text to lay out"));
  auto file = MappedFile::open(o.path, MapPolicy::never);
  if (!file.ok()) return report(file.error());
  const std::string source(file->bytes());
  Faults faults;
  const std::string text = nnef_format::format_text(
      source, o.path, faults, o.dialect == "tract" ? nnef_format::Dialect::tract : nnef_format::Dialect::standard);
  for (const Error& e : faults.list()) fmt::print(stderr, "{}\n", e.text());
  if (!faults.none()) return kRefused;
  if (o.print) {
    fmt::print("{}", text);
    return kOk;
  }
  if (text == source) return kOk;
  if (o.check) {
    fmt::print("{}: not in canonical layout\n", o.path);
    return kNegative;
  }
  Status written = write_file(o.path, text);
  return written.ok() ? kOk : report(written.error());
}

}  // namespace

void add_format(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("format", "Lay an NNEF text out anew, comments kept");
  auto o = std::make_shared<Options>();
  verb->add_option("file", o->path, "The text (graph.nnef)");
  verb->add_flag("--check", o->check, "Change nothing; exit 1 where the layout is another");
  verb->add_flag("--print", o->print, "Print the text instead of writing the file");
  verb->add_flag("--grammar", o->grammar, "Print a TextMate grammar of the language, for editors");
  verb->add_option("--dialect", o->dialect, "standard, tract")->check(CLI::IsMember({"standard", "tract"}));
  verb->callback([o, &exit_code] { exit_code = format(*o); });
}

}  // namespace nnex::cli
