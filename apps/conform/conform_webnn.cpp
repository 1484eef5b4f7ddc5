// nnex conform webnn: files of cases, {"source": ..., "cases": [...]}.

#include "conform_webnn.h"

#include <algorithm>
#include <filesystem>

#include "base/mapped_file.h"
#include "conform.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

/// Every .json file of a folder and the folders below it, or the file itself, in order of name.
std::vector<std::string> case_files(const std::string& path) {
  std::vector<std::string> out;
  std::error_code fault;
  if (!fs::is_directory(path, fault)) return {path};
  for (fs::recursive_directory_iterator at(path, fault), end; at != end && !fault; at.increment(fault))
    if (at->path().extension() == ".json" && at->is_regular_file(fault)) out.push_back(at->path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string run_case(const Json& one, int threads) {
  return wrong_of([&]() -> Result<std::string> {
    if (one.contains("graph")) return run_webnn_graph(one, threads);
    if (one.contains("steps")) return run_webnn_trace(one, threads);
    return std::string("neither a graph nor steps");
  });
}

void run_through(const std::string& name, const Json& one, Verdicts& verdicts) {
  std::string unsaid;
  const std::string wrong = wrong_of([&]() -> Result<std::string> {
    auto found = run_webnn_graph_through(one, verdicts.through);
    if (found.ok() || found.error().code() != Code::unsupported) return found;
    unsaid = found.error().text();
    return std::string();
  });
  if (unsaid.empty())
    verdicts.add(name, wrong);
  else
    verdicts.skip(name, unsaid);
}

}  // namespace

int conform_webnn(const std::string& path, int threads, Verdicts& verdicts) {
  for (const std::string& file : case_files(path)) {
    auto text = MappedFile::open(file);
    if (!text.ok()) return report(text.error());
    const auto read = parse_json(text->bytes());
    if (!read.ok()) {
      verdicts.add(file, read.error().text());
      continue;
    }
    const Json& cases = *read;
    if (!cases.is_object() || !cases.contains("cases") || !cases["cases"].is_array()) {
      if (file == path) return report(Error(Code::invalid_model, "needed {\"cases\": [...]}").at(file));
      continue;  // tolerances.json and the like
    }
    const fs::path at(file);
    const std::string group = at.parent_path().filename().string() + "/" + at.stem().string();
    for (const Json& one : cases["cases"]) {
      const bool named = one.is_object() && one.contains("name") && one["name"].is_string();
      std::string name = fmt::format("{}: {}", group, named ? one["name"].get<std::string>() : "?");
      if (one.contains("dup")) name += fmt::format(" #{}", one["dup"].dump());
      if (!verdicts.wants(name)) continue;
      if (verdicts.through.empty())
        verdicts.add(name, run_case(one, threads));
      else if (one.contains("graph"))  // a trace is no graph
        run_through(name, one, verdicts);
    }
  }
  return kOk;
}

}  // namespace nnex::cli
