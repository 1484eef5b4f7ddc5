#include "run/options.h"

#include "base/choice.h"
#include "base/failure.h"
#include "base/try.h"

namespace nnex {
namespace {

Status check_limit(const char* name, int64_t number) {
  if (number >= 0) return {};
  return failure(Code::invalid_argument, "option '{}': found {}; needed 0 or more", name, number);
}

}  // namespace

Status check_options(const LoadOptions& options) {
  NNEX_TRY(check_limit("memory_limit", options.memory_limit));
  NNEX_TRY(check_limit("archive_ratio", options.archive_ratio));
  NNEX_TRY(check_limit("archive_limit", options.archive_limit));
  NNEX_TRY(check_choice("map", options.map, Mapping::always));
  NNEX_TRY(check_choice("nnef.dialect", options.nnef.dialect, NnefDialect::tract));
  NNEX_TRY(check_choice("cvm.answers", options.cvm.answers, CvmAnswers::formal));
  for (const auto& [input, extents] : options.shapes)
    for (const int64_t extent : extents)
      if (extent < 0)
        return failure(Code::invalid_argument, "input '{}' cannot have an extent of {}; needed 0 or more", input,
                       extent);
  return {};
}

Status check_options(const SessionOptions& options) {
  if (options.threads >= 0) return {};
  return failure(Code::invalid_argument, "found {} threads; needed 0 or more", options.threads);
}

}  // namespace nnex
