#include "nnex/result.h"

#include <cstdio>
#include <cstdlib>

#include "base/try.h"

namespace nnex {

std::string_view name(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return "invalid argument";
    case Code::invalid_model:
      return "invalid model";
    case Code::unreadable:
      return "unreadable";
    case Code::unsupported:
      return "unsupported";
    case Code::limit:
      return "limit reached";
    case Code::fault:
      return "fault";
    case Code::cancelled:
      return "cancelled";
    case Code::internal:
      return "internal error";
  }
  return "unknown";
}

Error::Error(Code code, std::string message) : body_(new Body{code, std::move(message), {}, {}}) {}

Code Error::code() const { return body_->code; }
const std::string& Error::message() const { return body_->message; }
const std::string& Error::where() const { return body_->where; }

Error&& Error::at(std::string_view place) && {
  if (body_->where.empty()) body_->where = place;
  return std::move(*this);
}

Error&& Error::during(std::string_view task) && {
  body_->tasks.emplace_back(task);
  return std::move(*this);
}

std::string Error::text() const {
  std::string out = body_->where.empty() ? body_->message : body_->where + ": " + body_->message;
  for (const std::string& task : body_->tasks) out += "\n  while " + task;
  return out;
}

void broken(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "nnex: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace nnex
