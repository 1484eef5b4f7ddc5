#include "serve/repository.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>

#include "nnex/file.h"
#include "nnex/inspect.h"
#include "serve/batching.h"
#include "shared/flags.h"
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

Status add(Found& found, std::vector<Place> places) {
  if (places.empty()) return {};
  const std::string name = places[0].name;
  if (found.count(name))
    return Error(Code::invalid_argument,
                 fmt::format("two models have the name '{}': {} and {}", name, found[name][0].path, places[0].path));
  found[name] = std::move(places);
  return {};
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

/// Why an entry of a folder of models is none; empty: it is one.
std::string why_passed_over(const fs::path& entry, const std::string& name, const std::vector<Place>& places) {
  if (name.empty()) return "its name is not that of a model's file";
  if (places.empty()) return "no model lies in it";
  std::error_code error;
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
    if (std::string why = why_passed_over(entry, name, places); !why.empty())
      passed.push_back({name, entry.string(), std::move(why)});
    else
      NNEX_TRY(add(found, std::move(places)));
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
  return add(found, {{name, "1", given}});
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
    NNEX_TRY(add(found, std::move(places)));
  }
  if (found.empty())
    return Error(Code::invalid_argument,
                 "no model found; needed a model, or a folder of NAME.onnx, NAME/model.onnx or NAME/1/model.onnx");
  return found;
}

namespace {

/// Error: limit, where the system starts no thread more.
Result<std::unique_ptr<Scheduler>> started(const Model& model, const SchedulerOptions& options,
                                           const std::shared_ptr<ModelMetrics>& metrics) {
  try {
    return std::make_unique<Scheduler>(model, options, metrics);
  } catch (const std::system_error& e) {
    return Error(Code::limit, fmt::format("a thread for each of {} instances cannot be started: {}", options.instances,
                                          e.code().message()));
  }
}

}  // namespace

Repository::Repository(RepositoryOptions options, Metrics& metrics, const Log& log)
    : options_(std::move(options)), metrics_(metrics), log_(log) {}

Repository::~Repository() { close(); }

void Repository::close() {
  loader_.stop();
  looker_.stop();
  std::vector<std::shared_ptr<Served>> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, state] : models_)
      for (auto& [version, served] : state.loaded) all.push_back(served);
  }
  for (const auto& served : all) served->scheduler->close();
}

void Repository::open(Done done) {
  loader_.post([this, done = std::move(done)] { done(open_now()); });
}

void Repository::load(const std::string& name, Done done) {
  loader_.post([this, name, done = std::move(done)] { done(load_now(name)); });
}

void Repository::unload(const std::string& name, Done done) {
  loader_.post([this, name, done = std::move(done)] { done(unload_now(name)); });
}

void Repository::reload(Done done) {
  loader_.post([this, done = std::move(done)] { done(reload_now()); });
}

void Repository::index(Listed done) {
  {
    const std::lock_guard lock(mutex_);
    lookers_.push_back(std::move(done));
    if (lookers_.size() > 1) return;  // with the first of them, who waits for the thread
  }
  looker_.post([this] {
    std::vector<Listed> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(lookers_);
    }
    const auto entries = index_now();
    for (const Listed& each : all) each(entries);
  });
}

/// Loads one version; it does not answer yet.
Result<std::shared_ptr<Served>> Repository::make(const Place& place) const {
  const auto begin = Clock::now();
  auto metrics = metrics_.of(place.name, place.version);
  const auto loaded = [&]() -> Result<std::shared_ptr<Served>> {
    const ModelSource source(place.path);
    NNEX_ASSIGN(const Inspection inspection, inspect(source, options_.load));
    NNEX_ASSIGN(Model model, load_model(source, options_.load));
    auto served = std::make_shared<Served>();
    served->place = place;
    served->platform = std::string(nnex::name(inspection.format));
    std::transform(served->platform.begin(), served->platform.end(), served->platform.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    served->model = std::move(model);
    served->metrics = metrics;
    SchedulerOptions scheduler = options_.scheduler;
    SessionOptions session;
    session.threads = scheduler.threads;
    std::string why = "--max-batch 1";
    if (scheduler.max_batch > 1) why = why_not_batched(served->model, session);
    served->batched = why.empty();
    if (!served->batched) scheduler.max_batch = 1;
    NNEX_ASSIGN(served->scheduler, started(served->model, scheduler, metrics));
    cli::Json facts = {{"model", place.name},
                       {"version", place.version},
                       {"path", place.path},
                       {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count()},
                       {"batches", served->batched}};
    if (!why.empty()) facts["because"] = why;
    log_.line("loaded", facts);
    return served;
  }();
  ++(loaded.ok() ? metrics->loads : metrics->failed_loads);
  if (!loaded.ok())
    log_.line("load failed", {{"model", place.name},
                              {"version", place.version},
                              {"path", place.path},
                              {"error", loaded.error().text(cli::flag_words)}});
  if (loaded.ok()) return *loaded;
  Error error(loaded.error().code(), loaded.error().text(cli::flag_words));
  return std::move(error).during(fmt::format("loading model '{}'", place.name));
}

/// Waits until old versions have answered what they took.
void Repository::retire(std::vector<std::shared_ptr<Served>> old) const {
  for (const auto& served : old) {
    served->scheduler->close();
    log_.line("unloaded", {{"model", served->place.name}, {"version", served->place.version}});
  }
}

Status Repository::load_now(const std::string& name) {
  std::vector<PassedOver> passed;
  NNEX_ASSIGN(const Found found, find_models(options_, passed));
  return load_found(name, found, passed);
}

Status Repository::load_found(const std::string& name, const Found& found, const std::vector<PassedOver>& passed) {
  const auto at = found.find(name);
  if (at == found.end()) {
    const auto over = std::find_if(passed.begin(), passed.end(), [&](const PassedOver& p) { return p.name == name; });
    if (over == passed.end()) {
      const std::lock_guard lock(mutex_);
      const auto known = models_.find(name);
      if (known != models_.end() && known->second.loaded.empty()) {  // nobody waits for it any more
        models_.erase(known);
        metrics_.keep(name, {});
      }
      return Error(Code::invalid_argument, fmt::format("the repository has no model '{}'", name));
    }
    return Error(Code::unreadable, fmt::format("'{}' is no model: {}", over->path, over->why));
  }
  std::map<std::string, std::shared_ptr<Served>> fresh;
  for (const Place& place : at->second) {
    auto served = make(place);
    if (!served.ok()) {
      const std::lock_guard lock(mutex_);
      State& state = models_[name];
      if (state.places.empty()) state.places = at->second;
      state.reasons[place.version] = served.error().message();
      return std::move(served).error();
    }
    fresh[place.version] = std::move(served).value();
  }
  std::vector<std::shared_ptr<Served>> old;
  {
    const std::lock_guard lock(mutex_);
    State& state = models_[name];
    for (auto& [version, served] : state.loaded) {
      served->metrics->ready = false;
      old.push_back(std::move(served));
    }
    state = {at->second, std::move(fresh), {}};
    for (auto& [version, served] : state.loaded) served->metrics->ready = true;
  }
  retire(std::move(old));
  std::set<std::string> versions;
  for (const Place& place : at->second) versions.insert(place.version);
  metrics_.keep(name, versions);
  return {};
}

Status Repository::unload_now(const std::string& name) {
  std::vector<std::shared_ptr<Served>> old;
  {
    const std::lock_guard lock(mutex_);
    const auto at = models_.find(name);
    if (at == models_.end())
      return Error(Code::invalid_argument, fmt::format("the repository has no model '{}'", name));
    for (auto& [version, served] : at->second.loaded) {
      served->metrics->ready = false;
      at->second.reasons[version] = "unloaded";
      old.push_back(std::move(served));
    }
    at->second.loaded.clear();
  }
  retire(std::move(old));
  return {};
}

void Repository::log_passed_over(const std::vector<PassedOver>& passed) const {
  for (const PassedOver& over : passed) log_.line("passed over", {{"path", over.path}, {"because", over.why}});
}

/// A model is known, and said to be missing, before its turn to be loaded comes. The first error, as reload_now().
Status Repository::open_now() {
  std::vector<PassedOver> passed;
  auto all = find_models(options_, passed);
  log_passed_over(passed);
  NNEX_ASSIGN(const auto found, std::move(all));
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, places] : found) {
      State& state = models_[name];
      state.places = places;
      for (const Place& place : places) state.reasons[place.version] = "not loaded yet";
    }
    looked_ = true;
  }
  Status first;
  for (const auto& [name, places] : found) {
    Status status = load_found(name, found, passed);
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  opened_ = first.ok();
  return first;
}

/// The first error, once everything was tried.
Status Repository::reload_now() {
  std::vector<PassedOver> passed;
  auto all = find_models(options_, passed);
  log_passed_over(passed);
  NNEX_ASSIGN(const auto found, std::move(all));
  std::set<std::string> gone, names;
  for (const auto& [name, places] : found) names.insert(name);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& model : models_) {
      const std::string& name = model.first;
      if (found.count(name)) continue;
      const bool there = std::any_of(passed.begin(), passed.end(), [&](const auto& over) { return over.name == name; });
      (there ? names : gone).insert(name);  // what was a model answers on, and its load says what it is by now
    }
  }
  for (const std::string& name : gone) {
    (void)unload_now(name);
    const std::lock_guard lock(mutex_);
    models_.erase(name);
    metrics_.keep(name, {});
  }
  Status first;
  for (const std::string& name : names) {
    Status status = load_found(name, found, passed);
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  return first;
}

std::shared_ptr<Served> Repository::find(const std::string& name, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end() || model->second.loaded.empty()) return nullptr;
  if (version.empty()) return model->second.loaded.at(model->second.places[0].version);
  const auto at = model->second.loaded.find(version);
  return at == model->second.loaded.end() ? nullptr : at->second;
}

bool Repository::knows(const std::string& name, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end()) return !looked_;
  return version.empty() || std::any_of(model->second.places.begin(), model->second.places.end(),
                                        [&](const Place& place) { return place.version == version; });
}

std::vector<std::string> Repository::versions(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  const auto model = models_.find(name);
  if (model == models_.end()) return out;
  for (const Place& place : model->second.places)
    if (model->second.loaded.count(place.version)) out.insert(out.begin(), place.version);
  return out;
}

std::vector<IndexEntry> Repository::index_now() const {
  std::vector<PassedOver> passed;
  const auto found = find_models(options_, passed);
  const std::lock_guard lock(mutex_);
  std::vector<IndexEntry> out;
  for (const auto& [name, state] : models_) {
    for (const Place& place : state.places) {
      const bool loaded = state.loaded.count(place.version) > 0;
      const auto reason = state.reasons.find(place.version);
      out.push_back({name, place.version, loaded ? "READY" : "UNAVAILABLE",
                     reason == state.reasons.end() ? std::string() : reason->second});
    }
  }
  if (!found.ok()) return out;
  for (const auto& [name, places] : *found) {
    const auto model = models_.find(name);
    for (const Place& place : places) {
      const auto same = [&](const Place& p) { return p.version == place.version; };
      std::string reason = "not loaded";
      if (model != models_.end()) {
        const State& state = model->second;
        if (std::any_of(state.places.begin(), state.places.end(), same)) continue;
        if (const auto at = state.reasons.find(place.version); at != state.reasons.end()) reason = at->second;
      }
      out.push_back({name, place.version, "UNAVAILABLE", std::move(reason)});
    }
  }
  return out;
}

}  // namespace nnex::serve
