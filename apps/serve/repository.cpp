#include "serve/repository.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "nnex/environment.h"
#include "nnex/inspect.h"
#include "nnex/suggest.h"
#include "serve/batching.h"
#include "shared/flags.h"
#include "shared/random_input.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

constexpr const char* kNotYet = "not loaded yet";

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
  loader_.post([this, done = std::move(done)] { begin_reload(done); });
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

/// Whether nothing lies at a model's path any more. Of two files (SYMBOL+PARAMS) loading tells.
bool is_gone(const std::string& path) {
  std::error_code error;
  return path.find('+') == std::string::npos &&
         std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found;
}

const char* word_of(CacheUse use) {
  switch (use) {
    case CacheUse::found:
      return "found";
    case CacheUse::due:
      return "due";  // with its first run
    case CacheUse::written:
      return "written";
    default:
      return "none";
  }
}

/// Error: unsupported (a port that no request or answer can have).
Status check_ports(std::string_view kind, const std::vector<PortInfo>& ports) {
  for (const PortInfo& port : ports)
    if (datatype_of(port.dtype).empty())
      return Error(Code::unsupported,
                   fmt::format("{} '{}' is {}, which the protocol cannot carry", kind, port.name, port.type));
  return {};
}

/// What a model is read with.
Result<LoadOptions> Repository::load_options(const ModelSettings& settings, const ModelSource& source) const {
  LoadOptions load = options_.load;
  if (several_ && !load.symbols.empty()) {
    load.symbols.clear();
    NNEX_ASSIGN(const Inspection inspection, inspect(source, load));
    load.symbols = symbols_for(inspection);
  }
  for (const auto& [name, extent] : settings.symbols) load.symbols[name] = extent;
  for (const auto& [name, extents] : settings.shapes) load.shapes[name] = extents;
  return load;
}

/// How it is run; its threads are no more than this process may use, unless it has a number of its own.
SchedulerOptions Repository::scheduler_options(const ModelSettings& settings) const {
  SchedulerOptions out = options_.scheduler;
  if (settings.instances) {
    out.instances = static_cast<int>(*settings.instances);
    out.threads = std::max(1, std::min(out.threads, usable_threads() / out.instances));
  }
  if (settings.threads)
    out.threads =
        *settings.threads > 0 ? static_cast<int>(*settings.threads) : std::max(1, usable_threads() / out.instances);
  out.max_batch = settings.max_batch.value_or(out.max_batch);
  out.delay = settings.batch_delay.value_or(out.delay);
  if (settings.queue) out.queue = static_cast<size_t>(*settings.queue);
  out.warm_up = settings.warm_up;
  return out;
}

/// Error: limit, where the models that are loaded leave less of what all may take.
Status Repository::check_room(const ModelMemory& needed) const {
  if (options_.memory == 0) return {};
  int64_t held = made_;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, state] : models_)
      for (const auto& [version, served] : state.loaded) held += served->memory;
  }
  if (needed.all() <= options_.memory - held) return {};
  return Error(Code::limit, fmt::format("needed {}; found {} MiB of {} that --total-memory leaves to models, which "
                                        "hold {}",
                                        needed.text(), in_mib(std::max<int64_t>(0, options_.memory - held)),
                                        in_mib(options_.memory), in_mib(held)));
}

Result<std::shared_ptr<Served>> Repository::made(const Place& place, Clock::time_point begin) const {
  if (!place.fault.empty()) return Error(Code::unreadable, place.fault);
  const auto its = settings_.find(place.name);
  const ModelSettings settings = its == settings_.end() ? ModelSettings() : its->second;
  const ModelSource source(place.path);
  NNEX_ASSIGN(const LoadOptions load, load_options(settings, source));
  NNEX_ASSIGN(const Inspection inspection, inspect(source, load));
  SchedulerOptions scheduler = scheduler_options(settings);
  NNEX_TRY(check_room({inspection.parameter_bytes, 0, scheduler.instances}));  // before it takes any
  auto served = std::make_shared<Served>();
  NNEX_ASSIGN(served->model, load_model(source, load));
  NNEX_TRY(check_ports("input", served->model.inputs()));
  NNEX_TRY(check_ports("output", served->model.outputs()));
  served->place = place;
  served->platform = std::string(nnex::name(inspection.format));
  std::transform(served->platform.begin(), served->platform.end(), served->platform.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  served->metrics = metrics_.of(place.name, place.version);
  served->timeout = settings.timeout;
  SessionOptions session;
  session.threads = scheduler.threads;
  std::string why = "--max-batch 1";
  if (scheduler.max_batch > 1) why = why_not_batched(served->model, session);
  served->batched = why.empty();
  if (!served->batched) scheduler.max_batch = 1;
  if (options_.memory > 0) {
    const auto memory = memory_of(served->model, inspection, session, scheduler.instances, scheduler.max_batch);
    NNEX_TRY(check_room(memory));
    served->memory = memory.all();
  }
  for (size_t i = 0; scheduler.warm_up > 0 && i < served->model.inputs().size(); ++i) {
    NNEX_ASSIGN(scheduler.trial.emplace_back(), cli::trial_input(served->model.inputs()[i], i + 1, {}, 1));
  }
  NNEX_ASSIGN(served->scheduler, started(served->model, scheduler, served->metrics));
  const std::string cold = served->scheduler->warmed();
  scheduler.trial.clear();
  served->options = scheduler;
  cli::Json facts = {{"model", place.name},
                     {"version", place.version},
                     {"path", place.path},
                     {"ms", std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count()},
                     {"batches", served->batched}};
  if (!why.empty()) facts["because"] = why;
  if (served->memory > 0) facts["memory"] = served->memory;
  const CacheInfo cache = served->model.cache();
  const bool failed = cache.use == CacheUse::failed || (cache.use == CacheUse::none && !cache.why.empty());
  if (!options_.load.cache.empty() && !failed) facts["cache"] = word_of(cache.use);
  log_.line("loaded", facts);
  if (failed)
    log_.line("not kept in the cache", {{"model", place.name}, {"version", place.version}, {"because", cache.why}});
  if (!cold.empty()) log_.line("not warmed up", {{"model", place.name}, {"version", place.version}, {"because", cold}});
  return served;
}

/// Loads one version; it does not answer yet.
Result<std::shared_ptr<Served>> Repository::make(const Place& place) const {
  const auto metrics = metrics_.of(place.name, place.version);
  const auto loaded = made(place, Clock::now());
  ++(loaded.ok() ? metrics->loads : metrics->failed_loads);
  if (loaded.ok()) return *loaded;
  log_.line("load failed", {{"model", place.name},
                            {"version", place.version},
                            {"path", place.path},
                            {"error", loaded.error().text(cli::flag_words)}});
  Error error(loaded.error().code(), loaded.error().text(cli::flag_words));
  return std::move(error).during(fmt::format("loading model '{}'", place.name));
}

Status Repository::read_settings_file() {
  if (options_.settings.empty()) return {};
  NNEX_ASSIGN(settings_, read_settings(options_.settings));
  return {};
}

/// Error: invalid_argument, where they are of a model that is not there.
Status Repository::check_settings(const Found& found) const {
  std::vector<std::string_view> names;
  for (const auto& model : found) names.push_back(model.first);
  for (const auto& [name, its] : settings_)
    if (!found.count(name))
      return Error(Code::invalid_argument, fmt::format("{}: no model '{}'{}; found '{}'", options_.settings, name,
                                                       did_you_mean(name, names), fmt::join(names, "', '")));
  return {};
}

/// What --set says of the symbols that one of several models has.
std::map<std::string, int64_t> Repository::symbols_for(const Inspection& inspection) const {
  std::map<std::string, int64_t> out;
  for (const auto& [name, extent] : options_.load.symbols) {
    bool has = std::find(inspection.symbols.begin(), inspection.symbols.end(), name) != inspection.symbols.end();
    for (const PortInfo& port : inspection.inputs)
      for (size_t a = 0; a < port.extents.size(); ++a)
        has = has || (port.extents[a] < 0 && name == fmt::format("{}.{}", port.name, a));
    if (!has) continue;
    out.emplace(name, extent);
    const std::lock_guard lock(mutex_);
    used_symbols_.insert(name);
  }
  return out;
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
  NNEX_TRY(read_settings_file());
  ++looks_;
  if (found.count(name)) looked_at_[name] = looks_;
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
  {
    const std::lock_guard lock(mutex_);
    State& state = models_[name];
    if (state.places.empty()) state.places = at->second;
    for (const Place& place : at->second)
      if (!state.loaded.count(place.version)) state.reasons[place.version] = kNotYet;
  }
  // Each version by itself: one that is broken keeps no other from serving, and its own last one answers on.
  std::map<std::string, std::shared_ptr<Served>> fresh;
  std::map<std::string, std::string> reasons;
  Status first;
  for (const Place& place : at->second) {
    auto served = make(place);
    if (served.ok()) {
      made_ += (*served)->memory;
      fresh[place.version] = std::move(served).value();
      continue;
    }
    reasons[place.version] = served.error().message();
    if (first.ok()) first = std::move(served).error();
  }
  made_ = 0;
  std::vector<std::shared_ptr<Served>> old;
  std::set<std::string> versions;
  {
    const std::lock_guard lock(mutex_);
    State& state = models_[name];
    if (fresh.empty()) {
      for (auto& [version, reason] : reasons) state.reasons[version] = std::move(reason);
      return first;
    }
    for (auto& [version, served] : state.loaded) {
      if (reasons.count(version) && fresh.try_emplace(version, served).second) continue;
      served->metrics->ready = false;
      old.push_back(std::move(served));
    }
    state = {at->second, std::move(fresh), std::move(reasons)};
    for (auto& [version, served] : state.loaded) served->metrics->ready = true;
    for (const Place& place : at->second) versions.insert(place.version);
  }
  retire(std::move(old));
  metrics_.keep(name, versions);
  return first;
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
  looked_at_[name] = ++looks_;
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
  for (const auto& [name, places] : found)  // what is asked for at the start is a mistake in the question
    if (!places[0].fault.empty()) return Error(Code::invalid_argument, places[0].fault);
  NNEX_TRY(read_settings_file());
  NNEX_TRY(check_settings(found));
  several_ = found.size() > 1;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, places] : found) {
      State& state = models_[name];
      state.places = places;
      for (const Place& place : places) state.reasons[place.version] = kNotYet;
    }
    looked_ = true;
  }
  Status first;
  for (const auto& [name, places] : found) {
    Status status = load_found(name, found, passed);
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  for (const auto& [name, extent] : options_.load.symbols)
    if (several_ && first.ok() && !used_symbols_.count(name))
      first = Error(Code::invalid_argument, fmt::format("no symbol '{}' in any model", name));
  opened_ = first.ok();
  return first;
}

struct Repository::Reload {
  Found found;
  std::vector<PassedOver> passed;
  uint64_t look = 0;
  std::vector<std::string> names;  // that are left, the next one at the end
  Status first;                    // error, once everything was tried
  Done done;
};

void Repository::begin_reload(Done done) {
  const auto reload = std::make_shared<Reload>();
  reload->done = std::move(done);
  auto all = find_models(options_, reload->passed);
  log_passed_over(reload->passed);
  if (!all.ok()) return reload->done(std::move(all).error());
  reload->found = std::move(all).value();
  if (Status read = read_settings_file(); !read.ok()) return reload->done(std::move(read));
  reload->first = check_settings(reload->found);
  reload->look = ++looks_;
  std::set<std::string> gone, names;
  for (const auto& model : reload->found) names.insert(model.first);
  {
    const std::lock_guard lock(mutex_);
    for (const auto& model : models_) {
      const std::string& name = model.first;
      if (reload->found.count(name)) continue;
      const bool there = std::any_of(reload->passed.begin(), reload->passed.end(),
                                     [&](const auto& over) { return over.name == name; });
      (there ? names : gone).insert(name);  // what was a model answers on, and its load says what it is by now
    }
  }
  for (const std::string& name : gone) {
    (void)unload_now(name);
    const std::lock_guard lock(mutex_);
    models_.erase(name);
    looked_at_.erase(name);
    metrics_.keep(name, {});
  }
  reload->names.assign(names.rbegin(), names.rend());
  go_on(reload);
}

/// Loads the next model, unless it was loaded or unloaded since the reload looked. Whatever was asked for meanwhile
/// comes before the one after that.
void Repository::go_on(const std::shared_ptr<Reload>& reload) {
  if (reload->names.empty()) return reload->done(std::move(reload->first));
  const std::string name = std::move(reload->names.back());
  reload->names.pop_back();
  if (uint64_t& look = looked_at_[name]; look <= reload->look) {
    look = reload->look;
    Status status = load_found(name, reload->found, reload->passed);
    if (reload->first.ok() && !status.ok()) reload->first = std::move(status);
  }
  loader_.post([this, reload] { go_on(reload); });
}

std::shared_ptr<Served> Repository::find(const std::string& name, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end() || model->second.loaded.empty()) return nullptr;
  if (version.empty()) {  // the highest that is loaded: places begin with the highest
    for (const Place& place : model->second.places)
      if (const auto at = model->second.loaded.find(place.version); at != model->second.loaded.end()) return at->second;
    return nullptr;
  }
  const auto at = model->second.loaded.find(version);
  return at == model->second.loaded.end() ? nullptr : at->second;
}

bool Repository::knows(const std::string& name, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end()) return !looked_;
  return version.empty() || model->second.reasons.count(version) ||
         std::any_of(model->second.places.begin(), model->second.places.end(),
                     [&](const Place& place) { return place.version == version; });
}

Repository::Missing Repository::missing(const std::string& name, const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end()) return {!looked_, looked_ ? "it is gone" : kNotYet};
  const State& state = model->second;
  const auto reason = state.reasons.find(version.empty() ? state.places[0].version : version);
  if (reason == state.reasons.end()) return {false, "it was replaced"};
  return {reason->second == kNotYet, reason->second};
}

std::vector<std::shared_ptr<Served>> Repository::loaded() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Served>> out;
  for (const auto& model : models_) {
    const State& state = model.second;
    for (auto place = state.places.rbegin(); place != state.places.rend(); ++place)
      if (const auto at = state.loaded.find(place->version); at != state.loaded.end()) out.push_back(at->second);
  }
  return out;
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
  std::vector<Place> known;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, state] : models_) known.insert(known.end(), state.places.begin(), state.places.end());
  }
  std::set<std::string> gone;  // looked for while nobody waits for the mutex
  for (const Place& place : known)
    if (is_gone(place.path)) gone.insert(place.path);
  const std::lock_guard lock(mutex_);
  std::vector<IndexEntry> out;
  for (const auto& [name, state] : models_) {
    for (const Place& place : state.places) {
      const bool loaded = state.loaded.count(place.version) > 0;
      const auto at = state.reasons.find(place.version);
      std::string reason = at == state.reasons.end() ? std::string() : at->second;
      if (gone.count(place.path)) {
        reason += fmt::format("{}'{}' is no longer there", reason.empty() ? "" : "; ", place.path);
        if (loaded) reason += ": what was loaded of it answers on";
      }
      out.push_back({name, place.version, loaded ? "READY" : "UNAVAILABLE", std::move(reason)});
    }
  }
  if (!found.ok()) return out;
  for (const auto& [name, places] : *found) {
    const auto model = models_.find(name);
    for (const Place& place : places) {
      const auto same = [&](const Place& p) { return p.version == place.version; };
      std::string reason = place.fault.empty() ? "not loaded" : place.fault;
      if (model != models_.end()) {
        const State& state = model->second;
        if (std::any_of(state.places.begin(), state.places.end(), same)) continue;
        if (const auto at = state.reasons.find(place.version); at != state.reasons.end()) reason = at->second;
      }
      out.push_back({name, place.version, "UNAVAILABLE", std::move(reason)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace nnex::serve
