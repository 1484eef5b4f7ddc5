#include "api/formats.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/failure.h"
#include "nnex/file.h"
#include "nnex/save.h"

namespace nnex {
namespace {

/// Endings that say what is written.
constexpr struct {
  std::string_view ending, name;
  Format format;
} kEndings[] = {{".onnx", "onnx", Format::onnx},    {".onnxtxt", "onnx text", Format::onnx},
                {".nnef", "nnef", Format::nnef},    {".tar", "nnef", Format::nnef},
                {".tgz", "nnef", Format::nnef},     {".tar.gz", "nnef", Format::nnef},
                {".webnn", "webnn", Format::webnn}, {".mjs", "webnn", Format::webnn},
                {".js", "webnn", Format::webnn},    {".c", "C", Format::c}};

}  // namespace

std::string_view name(Format format) {
  constexpr std::string_view kNames[] = {"NNEF", "ONNX", "WebNN", "CVM", "C"};
  const auto at = static_cast<size_t>(format);
  return at < std::size(kNames) ? kNames[at] : "no format";
}

Error not_built(Format format) { return failure(Code::unsupported, "this build of nnex has no {}", name(format)); }

Format format_of(ModelFormat format) {
  switch (format) {
    case ModelFormat::nnef_text:
    case ModelFormat::nnef_archive:
    case ModelFormat::nnef_folder:
      return Format::nnef;
    case ModelFormat::cvm:
    case ModelFormat::cvm_lone:
    case ModelFormat::cvm_symbol:
    case ModelFormat::cvm_params:
      return Format::cvm;
    case ModelFormat::webnn:
      return Format::webnn;
    default:
      return Format::onnx;
  }
}

Result<Format> format_of_path(const std::string& path) {
  std::string known;
  const std::string_view file = std::string_view(path).substr(path.rfind('/') + 1);
  for (const auto& [ending, name, format] : kEndings) {
    if (has_ending("_" + std::string(file), ending)) {
      if (file.size() > ending.size()) return format;
      return failure(Code::invalid_argument, "'{}' is an ending alone; needed a name before it", path);
    }
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", ending, name);
  }
  const std::string ending = std::filesystem::path(path).extension().string();
  if (ending.find_first_not_of(".0123456789") == std::string::npos) return Format::nnef;
  return failure(Code::invalid_argument,
                 "'{}': the ending '{}' says no standard; known are {}; a name without one is a folder of "
                 "NNEF",
                 path, ending, known)
      .helped_by({"format", "nnef", "makes it one, too"});
}

}  // namespace nnex
