#pragma once
// What a batch has done: manifests in the folder of the answers, and claims of parts by processes that share the work.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "batch_items.h"
#include "shared/json.h"

namespace nnex::cli {

/// Manifests of a folder, a JSON object a line: first the batch (schema nnex.batch/1, model, key), then each item as it
/// is done. Lines count under the key of the batch above them, and as long as the answer is the one they tell of: an
/// answer of another model or other options, or of what the item was in between, is done again. So no order of lines
/// or manifests matters.
class Manifest {
 public:
  /// Reads what all manifests of the folder say under the key; lines that were cut off are passed over.
  static Result<Manifest> read(const std::filesystem::path& folder, const std::string& key);
  /// Whether the folder has any.
  static bool is_in(const std::filesystem::path& folder);

  /// Whether the item's answer is there and of the item as it is now.
  bool has(const Item& item) const;

 private:
  struct Done {
    int64_t size = 0, changed = 0, bytes = 0;
    std::string output, sha256;
  };
  bool is_there(const Done& done) const;
  std::filesystem::path folder_;
  std::multimap<std::string, Done, std::less<>> done_;
};

/// A manifest that one process adds to. Lines are whole whatever happens, and may be added by several threads.
class ManifestWriter {
 public:
  /// Errors: unreadable (it cannot be written); invalid_argument (another process writes it).
  static Result<std::unique_ptr<ManifestWriter>> open(const std::filesystem::path& file, const Json& batch);
  ~ManifestWriter();
  ManifestWriter(const ManifestWriter&) = delete;
  ManifestWriter& operator=(const ManifestWriter&) = delete;

  Status add(const Json& line);

 private:
  ManifestWriter(int file, std::string path) : file_(file), path_(std::move(path)) {}
  std::mutex mutex_;
  int file_;
  std::string path_;
};

/// Parts of a batch, each claimed by one process at a time through a file in a folder that all of them see. A claim
/// that nobody renewed for `lease` seconds of this process's own clock is free again, so that no part is lost with a
/// process; what is done twice then is the same bytes.
class Claims {
 public:
  static Result<std::unique_ptr<Claims>> open(const std::filesystem::path& folder, double lease);
  ~Claims();
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  bool is_done(const std::string& part) const;
  /// Whether the part is this process's now. Asked again while another's, it finds out whether that one lives.
  bool claim(const std::string& part);
  /// The part has been done, and nobody needs to do it.
  Status done(const std::string& part);
  /// A part that was done has to be done again.
  void reopen(const std::string& part);

 private:
  Claims(std::filesystem::path folder, double lease);
  std::filesystem::path claim_of(const std::string& part) const { return folder_ / (part + ".claim"); }
  std::filesystem::path done_of(const std::string& part) const { return folder_ / (part + ".done"); }
  void renew();

  using Clock = std::chrono::steady_clock;
  struct Seen {
    std::filesystem::file_time_type renewed;  ///< As its owner's clock has it.
    Clock::time_point since;                  ///< On this process's clock.
  };
  std::filesystem::path folder_;
  std::chrono::duration<double> lease_;
  std::map<std::string, Seen> others_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  std::set<std::string> held_;
  std::thread renewing_;
};

}  // namespace nnex::cli
