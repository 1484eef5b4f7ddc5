#pragma once
// Models by name and version: found on disk, loaded, replaced while the old one still answers, unloaded.

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "nnex/inspect.h"
#include "nnex/load.h"
#include "serve/log.h"
#include "serve/memory.h"
#include "serve/metrics.h"
#include "serve/protocol.h"
#include "serve/scheduler.h"
#include "serve/settings.h"
#include "serve/worker.h"

namespace nnex::serve {

struct RepositoryOptions {
  /// A model, a folder of models, or "NAME=PATH" where `named` says so.
  std::vector<std::string> paths;
  std::vector<std::string> named;  ///< "NAME=PATH"
  int versions = 1;                ///< Of each model as many, the highest; 0: all.
  LoadOptions load;
  SchedulerOptions scheduler;
  std::string settings;  ///< A file of single models' settings, read whenever models are loaded; empty: none.
  int64_t memory = 0;    ///< Bytes that all models together may take; 0: any number.
};

/// Where a version of a model lies.
struct Place {
  std::string name, version, path;
  std::string fault = {};  ///< Why it cannot be loaded, where that is known before it is read.
};

/// What lies in a folder of models and is none.
struct PassedOver {
  std::string name;  ///< As a model's; empty where the name is not that of a model's file.
  std::string path, why;
};

using Found = std::map<std::string, std::vector<Place>>;

/// What the paths offer: every version of every model, by name, the highest version first.
/// A path is one model (a file; a folder of NNEF or CVM), or a folder of models: NAME.onnx and other files,
/// NAME/model.onnx, or NAME/VERSION/model.onnx with whole numbers for versions. What else such a folder holds, but for
/// names that begin with a dot, is added to `passed`. Two models of one name have a fault. Errors: unreadable (a folder
/// that is away, too), invalid_argument (nothing there).
Result<Found> find_models(const RepositoryOptions& options, std::vector<PassedOver>& passed);

/// A version that is loaded.
struct Served {
  Place place;
  Model model;
  std::string platform;  ///< "onnx"
  std::shared_ptr<ModelMetrics> metrics;
  std::unique_ptr<Scheduler> scheduler;
  bool batched = false;
  SchedulerOptions options;                          ///< How it is run.
  std::optional<std::chrono::microseconds> timeout;  ///< Of a request, where it is its own.
  int64_t memory = 0;                                ///< Bytes, where all models' are bounded.

  Ports ports() const { return {model.inputs(), model.outputs(), batched}; }
};

/// A line of the index.
struct IndexEntry {
  std::string name, version, state, reason;
};

class Repository {
 public:
  Repository(RepositoryOptions options, Metrics& metrics, const Log& log);
  /// close()
  ~Repository();
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;

  /// Takes no more requests, and returns when all that were taken are answered.
  void close();

  using Done = std::function<void(Status)>;
  /// Finds and loads everything; each model answers as soon as it is loaded. `done` is called by the repository's
  /// thread. Errors: those of find_models and of the first model that cannot be loaded.
  void open(Done done);

  /// The version, or the highest that is loaded for an empty one. Null: none such is loaded.
  std::shared_ptr<Served> find(const std::string& name, const std::string& version) const;
  /// Whether the repository has such a model (and version), loaded or not. Until open() has looked, it may have any.
  bool knows(const std::string& name, const std::string& version) const;
  struct Missing {
    bool loading = false;  ///< It will be there, unless loading it fails.
    std::string why;
  };
  /// Why a version that it knows, or the highest for an empty one, does not answer.
  Missing missing(const std::string& name, const std::string& version) const;
  /// All that is loaded, by name and version, each model's in ascending order.
  std::vector<std::shared_ptr<Served>> loaded() const;
  /// Versions that are loaded, in ascending order.
  std::vector<std::string> versions(const std::string& name) const;
  using Listed = std::function<void(const std::vector<IndexEntry>&)>;
  /// What is loaded, and what the folders have by now: they are looked at by a thread of their own, which calls `done`.
  /// Loading does not hold it up, and who asks while it looks shares the next look.
  void index(Listed done);
  /// Whether open() has loaded everything. No load changes that later: what answers goes on where its new files are
  /// broken, and a model that never was there is missed by its own clients alone.
  bool ready() const { return opened_; }
  /// Whether something is being loaded or unloaded.
  bool busy() const { return loader_.busy(); }

  /// Loads what the folder has of a model by now, beside what answers; then that takes over, and other versions go once
  /// they have answered what they took. `done` is called by the repository's thread. Errors: invalid_argument (no such
  /// model), those of loading: what was loaded goes on.
  void load(const std::string& name, Done done);
  /// Errors: invalid_argument (no such model).
  void unload(const std::string& name, Done done);
  /// load() of every model, and unload() of those that are there no more. Where a folder cannot be read nothing
  /// changes. What load() and unload() are asked for meanwhile does not wait for all of it.
  void reload(Done done);

 private:
  struct State {
    std::vector<Place> places;                              // of versions that are wanted, the highest first
    std::map<std::string, std::shared_ptr<Served>> loaded;  // by version
    std::map<std::string, std::string> reasons;             // why a version is not loaded
  };

  Result<std::shared_ptr<Served>> make(const Place& place) const;
  Result<std::shared_ptr<Served>> made(const Place& place, Clock::time_point begin) const;
  Result<LoadOptions> load_options(const ModelSettings& settings, const ModelSource& source) const;
  SchedulerOptions scheduler_options(const ModelSettings& settings) const;
  Status check_room(const ModelMemory& needed) const;
  Status read_settings_file();
  Status check_settings(const Found& found) const;
  std::map<std::string, int64_t> symbols_for(const Inspection& inspection) const;
  Status load_now(const std::string& name);
  Status load_found(const std::string& name, const Found& found, const std::vector<PassedOver>& passed);
  Status unload_now(const std::string& name);
  Status open_now();
  /// A reload on its way.
  struct Reload;
  void begin_reload(Done done);
  void go_on(const std::shared_ptr<Reload>& reload);
  void log_passed_over(const std::vector<PassedOver>& passed) const;
  std::vector<IndexEntry> index_now() const;
  void retire(std::vector<std::shared_ptr<Served>> old) const;

  RepositoryOptions options_;
  Metrics& metrics_;
  const Log& log_;
  mutable std::mutex mutex_;
  std::map<std::string, State> models_;
  bool several_ = false;                        // models: each takes of --set what it has
  mutable std::set<std::string> used_symbols_;  // of --set
  bool looked_ = false;                         // open() has, at all folders
  std::vector<Listed> lookers_;                 // who waits for the next look
  std::atomic<bool> opened_{false};
  Settings settings_;                          // the loader's, too
  int64_t made_ = 0;                           // bytes of models that were loaded and do not answer yet
  uint64_t looks_ = 0;                         // the loader's, from here on: how often it looked at the folders
  std::map<std::string, uint64_t> looked_at_;  // in which look each model was found that was loaded or unloaded last
  Worker loader_;  // one thing after the other, so that two loads never take memory together
  Worker looker_;  // at folders, which may be slow: on another machine, for example
};

}  // namespace nnex::serve
