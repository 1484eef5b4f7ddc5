#pragma once
// Lines on standard error, for people or for programs.

#include <mutex>
#include <string_view>

#include "shared/json.h"

namespace nnex::serve {

class Log {
 public:
  enum class Form : unsigned char { text, json };
  explicit Log(Form form) : form_(form) {}

  /// One event with its facts. As text: "2026-01-31T12:00:00.000Z event key=value ..."; as JSON an object a line with
  /// time, event and the facts.
  void line(std::string_view event, const cli::Json& facts = cli::Json::object()) const;

 private:
  Form form_;
  mutable std::mutex mutex_;
};

}  // namespace nnex::serve
