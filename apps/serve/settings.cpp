#include "serve/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "nnex/file.h"
#include "nnex/suggest.h"
#include "shared/json.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

using cli::Json;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // as the options of the command line

/// Reads the file; faults begin with where it is: "settings.json: model 'net': threads".
class SettingsReader {
 public:
  explicit SettingsReader(const std::string& file) : where_{file} {}

  Result<Settings> run(std::string_view text) {
    NNEX_ASSIGN(const Json json, parse(text));
    if (!json.is_object()) return wrong(json, "an object of models");
    Settings out;
    for (const auto& [name, its] : json.items()) {
      const Inside inside(where_, fmt::format("model '{}'", name));
      NNEX_ASSIGN(out[name], model(its));
    }
    return out;
  }

 private:
  /// What is read while it lives, for messages.
  struct Inside {
    std::vector<std::string>& where;
    Inside(std::vector<std::string>& w, std::string name) : where(w) { where.push_back(std::move(name)); }
    ~Inside() { where.pop_back(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
  };

  Error fault(const std::string& what) const {
    std::string text;
    for (const std::string& each : where_) text += each + ": ";
    return Error(Code::invalid_argument, text + what);
  }
  Error wrong(const Json& found, std::string_view needed) const {
    constexpr size_t kShown = 40;
    const std::string text = found.dump(-1, ' ', false, Json::error_handler_t::replace);
    return fault(
        fmt::format("found {}{}; needed {}", text.substr(0, kShown), text.size() > kShown ? "..." : "", needed));
  }

  /// A member that is there twice would be passed over in silence once.
  Result<Json> parse(std::string_view text) const {
    std::vector<std::set<std::string>> open;
    std::string twice;
    const auto watch = [&](int, Json::parse_event_t event, Json& value) {
      if (event == Json::parse_event_t::object_start) open.emplace_back();
      if (event == Json::parse_event_t::object_end) open.pop_back();
      if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second && twice.empty())
        twice = value.get<std::string>();
      return true;
    };
    try {
      Json json = Json::parse(text, watch);
      if (!twice.empty()) return fault(fmt::format("'{}' is there twice", twice));
      return json;
    } catch (const Json::exception& e) {
      std::string_view what = e.what();  // "[its name] parse error at line 1, column 2: what is wrong"
      for (const std::string_view end : {"] ", "parse error at "})
        if (const size_t at = what.find(end); at != std::string_view::npos) what.remove_prefix(at + end.size());
      return fault(fmt::format("not JSON at {}", what));
    }
  }

  Result<int64_t> whole(const Json& value, int64_t least) const {
    const bool good = value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > kMost) &&
                      value.get<int64_t>() >= least && value.get<int64_t>() <= kMost;
    if (good) return value.get<int64_t>();
    return wrong(value, fmt::format("a whole number from {} to {}", least, kMost));
  }
  Result<std::chrono::microseconds> seconds(const Json& value) const {
    constexpr double kLongest = 1e9;  // decades
    const double s = value.is_number() ? value.get<double>() : 0;
    if (!(s > 0) || s > kLongest) return wrong(value, "seconds, more than 0 and at most 1e9");
    return std::chrono::microseconds(std::max<int64_t>(1, std::llround(s * 1e6)));
  }
  Result<std::vector<int64_t>> extents(const Json& value) const {
    if (!value.is_array()) return wrong(value, "a list of extents");
    std::vector<int64_t> out;
    for (const Json& each : value) {
      NNEX_ASSIGN(out.emplace_back(), whole(each, 0));
    }
    return out;
  }
  /// An object whose members are of one kind.
  template <class T, class Read>
  Status members(const Json& value, std::map<std::string, T>& out, Read read) {
    if (!value.is_object()) return wrong(value, "an object");
    for (const auto& [name, its] : value.items()) {
      const Inside inside(where_, fmt::format("'{}'", name));
      NNEX_ASSIGN(out[name], read(its));
    }
    return {};
  }

  Status set(ModelSettings& s, std::string_view key, const Json& value) {
    const auto number = [&](auto& to, int64_t least) -> Status {
      NNEX_ASSIGN(to, whole(value, least));
      return {};
    };
    if (key == "instances") return number(s.instances, 1);
    if (key == "threads") return number(s.threads, 0);
    if (key == "max-batch") return number(s.max_batch, 1);
    if (key == "queue") return number(s.queue, 1);
    if (key == "warm-up") return number(s.warm_up, 0);
    if (key == "set") return members(value, s.symbols, [&](const Json& its) { return whole(its, 0); });
    if (key == "set-shape") return members(value, s.shapes, [&](const Json& its) { return extents(its); });
    if (key == "batch-delay") {
      NNEX_ASSIGN(const int64_t us, whole(value, 0));
      s.batch_delay = std::chrono::microseconds(us);
      return {};
    }
    NNEX_ASSIGN(s.timeout, seconds(value));
    return {};
  }

  Result<ModelSettings> model(const Json& json) {
    static constexpr std::string_view kKeys[] = {"instances", "threads", "max-batch", "batch-delay", "queue",
                                                 "timeout",   "set",     "set-shape", "warm-up"};
    if (!json.is_object()) return wrong(json, "an object of settings");
    ModelSettings out;
    for (const auto& [key, value] : json.items()) {
      if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
        return fault(
            fmt::format("found '{}'{}; needed one of '{}'", key, did_you_mean(key, kKeys), fmt::join(kKeys, "', '")));
      const Inside inside(where_, key);
      NNEX_TRY(set(out, key, value));
    }
    return out;
  }

  std::vector<std::string> where_;
};

}  // namespace

Result<Settings> settings_of(std::string_view json, const std::string& file) { return SettingsReader(file).run(json); }

Result<Settings> read_settings(const std::string& path) {
  NNEX_ASSIGN(const std::string text, read_file(path));
  return settings_of(text, path);
}

}  // namespace nnex::serve
