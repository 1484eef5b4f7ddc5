#include "serve/log.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <ctime>

namespace nnex::serve {
namespace {

std::string now() {
  const auto time = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() % 1000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm utc = {};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, ms);
}

}  // namespace

void Log::line(std::string_view event, const cli::Json& facts) const {
  constexpr auto kReplace = cli::Json::error_handler_t::replace;
  std::string out;
  if (form_ == Form::json) {
    cli::Json j = {{"time", now()}, {"event", event}};
    j.update(facts);
    out = j.dump(-1, ' ', false, kReplace);
  } else {
    out = fmt::format("{} {}", now(), event);
    for (const auto& [key, value] : facts.items()) {
      // Text that a client chose keeps to one line: JSON's quotes where it is no plain word.
      const bool plain = value.is_string() && value.get_ref<const std::string&>().find_first_not_of(
                                                  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                  "-_./:") == std::string::npos;
      out += fmt::format(" {}={}", key, plain ? value.get<std::string>() : value.dump(-1, ' ', true, kReplace));
    }
  }
  out += '\n';
  const std::lock_guard lock(mutex_);
  std::fwrite(out.data(), 1, out.size(), stderr);
  std::fflush(stderr);
}

}  // namespace nnex::serve
