#pragma once
// What single models have otherwise than the command line says for all: a file in JSON.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/result.h"

namespace nnex::serve {

/// Of one model; what is absent is as for all.
struct ModelSettings {
  std::optional<int64_t> instances, threads, max_batch, queue;
  std::optional<std::chrono::microseconds> batch_delay, timeout;
  std::map<std::string, int64_t> symbols;              ///< Beside those of --set.
  std::map<std::string, std::vector<int64_t>> shapes;  ///< Beside those of --set-shape.
  int64_t warm_up = 0;                                 ///< Runs of each instance before the model answers.
};

/// By the model's name.
using Settings = std::map<std::string, ModelSettings>;

/// {"NAME": {"instances": 2, "threads": 1, "max-batch": 16, "batch-delay": 500, "queue": 64, "timeout": 2.5,
/// "set": {"N": 4}, "set-shape": {"x": [1,3,224,224]}, "warm-up": 3}}: members are called as the options are. `file` is
/// for messages. Error: invalid_argument (no JSON: line and column; a member that nobody knows, is there twice or has
/// another value: which, found and needed).
Result<Settings> settings_of(std::string_view json, const std::string& file);
/// The same of a file. Error: unreadable, too.
Result<Settings> read_settings(const std::string& path);

}  // namespace nnex::serve
