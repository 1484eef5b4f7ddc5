#pragma once
// Lines on standard error, for people or for programs.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/json.h"

namespace nnex::serve {

/// Writes to a file at once, and to a terminal that takes it. To a pipe or a socket, whose reader may have stopped, a
/// thread does, and nobody waits for it: lines wait in a bounded queue, and what does not fit is counted and told
/// there.
class Log {
 public:
  enum class Form : unsigned char { text, json };
  static constexpr size_t kQueueBytes = 1 << 20;

  explicit Log(Form form);
  /// flush()
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// One event with its facts. As text: "2026-01-31T12:00:00.000Z event key=value ..."; as JSON an object a line with
  /// time, event and the facts.
  void line(std::string_view event, const cli::Json& facts = cli::Json::object()) const;
  /// Waits until what is queued has been written, half a second at most. Lines that come later are lost.
  void flush() const;
  /// Lines that nobody took.
  uint64_t lost() const;

 private:
  struct Queue;
  static std::string text_of(Form form, std::string_view event, const cli::Json& all);

  Form form_;
  std::shared_ptr<Queue> queue_;
};

}  // namespace nnex::serve
