// Models and their versions in folders.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "nnex/file.h"
#include "serve/repository.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kEndings = {".onnx", ".onnxtxt", ".webnn", ".nnef",
                                                      ".tar",  ".tgz",     ".tar.gz"};

/// The name without the ending of a model's file; empty: it has none.
std::string stem_of(const std::string& file) {
  for (const std::string_view ending : kEndings)
    if (has_ending(file, ending)) return file.substr(0, file.size() - ending.size());
  return {};
}

/// A folder that is one model: NNEF's graph, or CVM's symbol beside its params.
bool is_model_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_regular_file(folder / "graph.nnef", error)) return true;
  bool symbol = false, params = false;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    symbol = symbol || name.find("symbol") != std::string::npos;
    params = params || name.find("params") != std::string::npos;
  }
  return symbol && params;
}

/// The names of the models that lie in a folder which is none itself.
std::vector<std::string> models_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!stem_of(name).empty() && at->is_regular_file(error)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool holds_model(const fs::path& folder) { return is_model_folder(folder) || !models_in(folder).empty(); }

/// Whole numbers from 1 on, as versions are named.
int64_t version_number(const std::string& name) {
  if (name.empty() || name.size() > 18 || name[0] == '0' ||
      !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return -1;
  return std::stoll(name);
}

bool higher(const Place& a, const Place& b) { return version_number(a.version) > version_number(b.version); }

void add(Found& found, std::vector<Place> places) {
  if (places.empty()) return;
  const auto [at, fresh] = found.try_emplace(places[0].name, places);
  if (fresh) return;
  std::vector<Place>& both = at->second;
  both.resize(1);  // which of them the name is for, nobody can tell
  both[0].fault = fmt::format("two models have the name '{}': {} and {}", both[0].name, both[0].path, places[0].path);
}

/// What a path is when it is given a name: a model, or a folder of its versions.
std::vector<Place> versions_in(const std::string& name, const fs::path& path, int max) {
  std::vector<Place> places;
  std::error_code error;
  if (fs::is_directory(path, error) && !is_model_folder(path)) {
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
      const std::string version = at->path().filename().string();
      if (version_number(version) > 0 && at->is_directory(error) && holds_model(at->path()))
        places.push_back({name, version, at->path().string()});
    }
  }
  std::sort(places.begin(), places.end(), higher);
  if (max > 0 && places.size() > static_cast<size_t>(max)) places.resize(static_cast<size_t>(max));
  if (places.empty() && (fs::is_regular_file(path, error) || holds_model(path)))
    places.push_back({name, "1", path.string()});
  return places;
}

/// Folders beside a model's versions that are none: a wrong name, or nothing in them.
void add_passed_versions(const fs::path& folder, bool has_versions, std::vector<PassedOver>& passed) {
  std::error_code error;
  std::vector<PassedOver> out;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name[0] == '.' || !at->is_directory(error)) continue;
    const bool holds = holds_model(at->path());
    if (version_number(name) < 0 && (holds || has_versions))
      out.push_back({{},
                     at->path().string(),
                     "its name is no version: needed a whole number from 1 on, without zeros before it"});
    else if (version_number(name) > 0 && !holds)
      out.push_back({{}, at->path().string(), "no model lies in it"});
  }
  std::sort(out.begin(), out.end(), [](const PassedOver& a, const PassedOver& b) { return a.path < b.path; });
  passed.insert(passed.end(), out.begin(), out.end());
}

/// Why an entry of a folder of models is none; empty: it is one.
std::string why_passed_over(const fs::path& entry, const std::string& name, const std::vector<Place>& places) {
  if (name.empty()) return "its name is not that of a model's file";
  std::error_code error;
  if (places.empty()) {
    if (fs::is_directory(entry, error)) return "no model lies in it";
    return fs::exists(entry, error) ? "it is no file" : "it is a link that leads nowhere";
  }
  if (places[0].path != entry.string() || !fs::is_directory(entry, error) || is_model_folder(entry)) return {};
  const std::vector<std::string> models = models_in(entry);
  return models.size() == 1 ? std::string()
                            : fmt::format("{} models lie in it: {}", models.size(), fmt::join(models, ", "));
}

Status add_folder(Found& found, const fs::path& folder, int max, std::vector<PassedOver>& passed) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  if (error) return Error(Code::unreadable, fmt::format("cannot read '{}': {}", folder.string(), error.message()));
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    const std::string file = entry.filename().string();
    if (file[0] == '.') continue;
    const std::string name = fs::is_directory(entry, error) ? file : stem_of(file);
    std::vector<Place> places = name.empty() ? std::vector<Place>() : versions_in(name, entry, max);
    if ((places.empty() || places[0].path != entry.string()) && fs::is_directory(entry, error))
      add_passed_versions(entry, !places.empty(), passed);
    if (fs::is_regular_file(entry / "config.pbtxt", error))
      passed.push_back({{}, (entry / "config.pbtxt").string(), "options are those of the command line"});
    if (std::string why = why_passed_over(entry, name, places); !why.empty())
      passed.push_back({name, entry.string(), std::move(why)});
    else
      add(found, std::move(places));
  }
  return {};
}

/// A folder that is away (renamed, not mounted) is an error and no model: nobody knows what it has. What has the name
/// of a model's file, or of two (SYMBOL+PARAMS), is left to loading.
Status check_there(const std::string& path) {
  std::error_code error;
  if (!stem_of(path).empty() || path.find('+') != std::string::npos) return {};
  const auto status = fs::status(path, error);
  if (fs::exists(status)) return {};
  return Error(Code::unreadable, fmt::format("cannot read '{}': {}", path, error.message()));
}

Status add_path(Found& found, const std::string& given, int max, std::vector<PassedOver>& passed) {
  NNEX_TRY(check_there(given));
  std::error_code error;
  fs::path path = fs::path(given).lexically_normal();
  if (path.has_relative_path() && path.filename().empty()) path = path.parent_path();  // "folder/"
  const bool is_folder = fs::is_directory(path, error);
  if (is_folder && !is_model_folder(path)) return add_folder(found, path, max, passed);
  std::string name = path.filename().string();
  if (const std::string stem = stem_of(name); !stem.empty()) name = stem;
  add(found, {{name, "1", given}});
  return {};
}

}  // namespace

Result<Found> find_models(const RepositoryOptions& options, std::vector<PassedOver>& passed) {
  Found found;
  for (const std::string& path : options.paths) NNEX_TRY(add_path(found, path, options.versions, passed));
  for (const std::string& word : options.named) {
    const size_t eq = word.find('=');
    if (eq == 0 || eq == std::string::npos || eq + 1 == word.size())
      return Error(Code::invalid_argument, fmt::format("--model '{}': needed NAME=PATH", word));
    NNEX_TRY(check_there(word.substr(eq + 1)));
    std::vector<Place> places = versions_in(word.substr(0, eq), word.substr(eq + 1), options.versions);
    if (places.empty()) places.push_back({word.substr(0, eq), "1", word.substr(eq + 1)});  // loading says what is wrong
    add(found, std::move(places));
  }
  if (found.empty())
    return Error(Code::invalid_argument,
                 "no model found; needed a model, or a folder of NAME.onnx, NAME/model.onnx or NAME/1/model.onnx");
  return found;
}

}  // namespace nnex::serve
