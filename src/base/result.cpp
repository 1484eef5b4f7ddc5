#include "nnex/result.h"

#include <cstdio>
#include <cstdlib>

#include "base/shorten.h"
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

struct Error::Body {
  Code code;
  std::string message, where;
  std::vector<std::string> tasks;
  std::vector<Remedy> remedies;
};

// A file decides how long its lists and names are: whatever is said of them is cut here, once for all messages.
Error::Error(Code code, std::string message) : body_(new Body{code, shortened(std::move(message)), {}, {}, {}}) {}

void Error::release(Body* body) noexcept { delete body; }

Error::Body& Error::body() const {
  if (!body_) misused("an Error was read that had been moved elsewhere");
  return *body_;
}

Code Error::code() const { return body().code; }
const std::string& Error::message() const { return body().message; }
const std::string& Error::where() const { return body().where; }
const std::vector<Remedy>& Error::remedies() const { return body().remedies; }
const std::vector<std::string>& Error::tasks() const { return body().tasks; }

Error&& Error::at(std::string_view place) && {
  if (body().where.empty()) body().where = shortened(std::string(place));
  return std::move(*this);
}

Error&& Error::during(std::string_view task) && {
  body().tasks.push_back(shortened(std::string(task)));
  return std::move(*this);
}

Error&& Error::helped_by(Remedy remedy) && {
  body().remedies.push_back(std::move(remedy));
  return std::move(*this);
}

Error&& Error::helped_by(const std::vector<Remedy>& remedies) && {
  body().remedies.insert(body().remedies.end(), remedies.begin(), remedies.end());
  return std::move(*this);
}

Error&& Error::worded(std::string message) && {
  body().message = shortened(std::move(message));
  return std::move(*this);
}

std::string option_words(const Remedy& remedy) {
  if (remedy.option == "symbols") return "LoadOptions::symbols or Graph::set_symbols()";  // of many calls' options
  return "option " + remedy.option + (remedy.value.empty() ? "" : " = " + remedy.value);
}

std::string with_remedies(std::string sentence, const std::vector<Remedy>& remedies, OptionWords words) {
  const char* between = sentence.find('\n') == std::string::npos ? "; " : "\n  ";
  for (const Remedy& r : remedies) sentence += between + words(r) + " " + r.effect;
  return sentence;
}

std::string Error::text(OptionWords words) const {
  const Body& b = body();
  std::string out = (b.where.empty() ? "" : b.where + ": ") + with_remedies(b.message, b.remedies, words);
  for (const std::string& task : b.tasks) out += "\n  while " + task;
  return out;
}

void misused(std::string_view sentence) {
  std::fprintf(stderr, "nnex: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
  std::abort();
}

void no_value(const Error& error) {
  misused("the value of a failed Result was taken (ask ok() first): " + error.text());
}

void no_error() { misused("the error of a Result or Status was taken that has none (ask ok() first)"); }

void moved_error() { misused("an Error was returned as a Status that had been moved elsewhere"); }

void broken(const char* condition, const char* file, int line) {
  const std::string_view path = file;
  const size_t folder = path.rfind("/src/");  // where the tree lay when it was built is nobody's business
  const std::string place(folder == path.npos ? path : path.substr(folder + 1));
  std::fprintf(stderr, "nnex: internal error: %s does not hold (%s:%d)\n", condition, place.c_str(), line);
  std::abort();
}

}  // namespace nnex
