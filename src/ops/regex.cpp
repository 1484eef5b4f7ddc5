// Texts against a pattern. The library is optional: NNEX_RE2 says that it is there.

#ifdef NNEX_RE2
#include <re2/re2.h>
#endif

#include "ops/answer.h"
#include "ops/infer_call.h"
#include "ops/stored.h"
#include "ops/text.h"

namespace nnex {
namespace {

#ifdef NNEX_RE2

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  return options;
}

Status infer_regex(InferCall& c) {
  const std::string& pattern = c.attr<RegexFullMatchAttrs>().pattern;
  const RE2 regex(pattern, quiet());
  if (!regex.ok()) return c.error("pattern '{}': {}", pattern, regex.error());
  c.result(0, c.dims(0));
  return {};
}

Status run_regex(Call& c) {
  const RE2 regex(c.attr<RegexFullMatchAttrs>().pattern, quiet());
  if (!regex.ok()) return c.fault("pattern: {}", regex.error());
  const auto x = c.in<std::string>(0);
  return write_answers(c, 0, [&](std::span<uint8_t> y) -> Status {
    for (size_t i = 0; i < y.size(); ++i) y[i] = RE2::FullMatch(x[i], regex);
    return {};
  });
}

#else

Status infer_regex(InferCall& c) {
  c.result(0, c.dims(0));
  return {};
}

Status run_regex(Call&) {
  return Error(Code::unsupported, "regex_full_match: this build has no regular expressions (it was built without re2)");
}

#endif

constexpr OpRow kRegexOps[] = {
    {.name = "regex_full_match",
     .summary = "Whether the whole of each text matches a pattern.",
     .source = "ONNX RegexFullMatch-20; RE2 syntax",
     .inputs = {{"x", kS}},
     .outputs = {{"y", kB}},
     .attrs = attrs_of<RegexFullMatchAttrs>({field<&RegexFullMatchAttrs::pattern>("pattern", "RE2 syntax.", required)}),
     .infer = infer_regex,
     .reference = any(run_regex),
     .spelled = {{onnx, "RegexFullMatch", {}, 20}},
     .elementwise = true},
};
}  // namespace

std::span<const OpDef> regex_ops() { return stored<kRegexOps>(); }

}  // namespace nnex
