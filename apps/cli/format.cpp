// nnex format: the canonical layout of an NNEF text.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli.h"
#include "nnex/file.h"
#include "nnex/nnef.h"
#include "shared/flags.h"

namespace nnex::cli {
namespace {

struct FormatArguments {
  std::string path, dialect = "standard";
  bool check = false, print = false, grammar = false, json = false;
};

/// Whether the text goes to standard output: that of standard input has no file to go to.
bool prints(const FormatArguments& o) { return o.print || (o.path == "-" && !o.check); }

/// What was found and done, for programs.
int tell(const FormatArguments& o, const NnefLayout& laid, bool canonical, bool written) {
  Json j = {{"schema", "nnex.format/1"}, {"file", o.path}, {"canonical", canonical}, {"written", written}};
  j["faults"] = Json::array();
  for (const Error& e : laid.faults)
    j["faults"].push_back({{"where", e.where()}, {"message", with_remedies(e.message(), e.remedies(), flag_words)}});
  if (prints(o) && laid.faults.empty()) j["text"] = laid.text;
  say("{}\n", j.dump(1, ' ', false, Json::error_handler_t::replace));
  return !laid.faults.empty() ? kRefused : o.check && !canonical ? kNegative : kOk;
}

/// Programs that read it get the text as it is; terminals are kept from what would command them.
void print(const std::string& text) {
  if (::isatty(STDOUT_FILENO))
    say("{}", text);
  else
    (void)!std::fwrite(text.data(), 1, text.size(), stdout);
}

/// The text, if it is one; of "-" that of standard input.
Result<std::string> text_at(const std::string& path) {
  constexpr std::uintmax_t kMax = std::uintmax_t{64} << 20;  // what a text of NNEF may have
  const auto too_large = [&](std::uintmax_t size) {
    return Error(Code::limit, fmt::format("'{}' has {} bytes; a text of at most {} is laid out", path, size, kMax));
  };
  std::error_code unknown;
  if (const auto size = std::filesystem::file_size(path, unknown); path != "-" && !unknown && size > kMax)
    return too_large(size);
  NNEX_ASSIGN(std::string text, path == "-" ? read_standard_input() : read_file(path));
  if (text.size() > kMax) return too_large(text.size());
  const auto is_text = [](char c) { return c < 0 || c >= ' ' || (c >= '\t' && c <= '\r'); };
  if (!std::all_of(text.begin(), text.end(), is_text))
    return Error(Code::unreadable, fmt::format("'{}' is no text; needed the structure of a model (graph.nnef)", path));
  return text;
}

int format(const FormatArguments& o) {
  if (o.grammar) {
    if (!o.path.empty() || o.check || o.print || o.json)
      return report(Error(Code::invalid_argument, "--grammar prints the language's grammar; it takes nothing beside"));
    say("{}", nnef_grammar());
    return kOk;
  }
  if (o.path.empty()) return report(Error(Code::invalid_argument, "no FILE; needed the text to lay out"));
  const auto source = text_at(o.path);
  if (!source.ok()) return report(source.error());
  const NnefLayout laid = format_nnef(*source, o.path, o.dialect == "tract");
  const bool canonical = laid.faults.empty() && laid.text == *source;
  if (o.json && (!laid.faults.empty() || canonical || prints(o) || o.check)) return tell(o, laid, canonical, false);
  for (const Error& e : laid.faults) say(stderr, "{}\n", e.text(flag_words));
  if (!laid.faults.empty()) return kRefused;
  if (prints(o)) {
    print(laid.text);
    return kOk;
  }
  if (canonical) return kOk;
  if (o.check) {
    say("{}: not in canonical layout\n", o.path);
    return kNegative;
  }
  Status written = write_file(o.path, laid.text, Existing::replace);
  if (!written.ok()) return report(written.error());
  return o.json ? tell(o, laid, false, true) : kOk;
}

}  // namespace

void add_format(CommandLine& line) {
  auto o = std::make_shared<FormatArguments>();
  Verb verb = line.verb("format", "Lay an NNEF text out anew, comments kept", [o] { return format(*o); });
  verb.option("file", o->path, "The text (graph.nnef); - is standard input, whose text goes to standard output");
  verb.flag("--check", o->check, "Change nothing; exit 1 where the layout is another");
  verb.flag("--print", o->print, "Print the text instead of writing the file");
  verb.flag("--grammar", o->grammar, "Print a TextMate grammar of the language, for editors");
  verb.flag("--json", o->json, "Print a JSON object");
  verb.option("--dialect", o->dialect, "standard, tract").one_of({"standard", "tract"});
}

}  // namespace nnex::cli
