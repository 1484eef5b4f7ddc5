#include "api/formats.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Words that ask for a form.
constexpr std::string_view kWords[] = {"onnx", "onnxtxt", "nnef", "tar", "tgz", "webnn", "mjs", "js", "cvm", "c"};
constexpr struct {
  Format format;
  bool text = false;
  NnefPacking packing = NnefPacking::folder;
  WebnnForm form = WebnnForm::program;
} kForms[] = {{Format::onnx},
              {Format::onnx, true},
              {Format::nnef},
              {Format::nnef, false, NnefPacking::tar},
              {Format::nnef, false, NnefPacking::tgz},
              {Format::webnn},
              {Format::webnn, false, NnefPacking::folder, WebnnForm::module},
              {Format::webnn, false, NnefPacking::folder, WebnnForm::script},
              {Format::cvm},
              {Format::c}};
static_assert(std::size(kWords) == std::size(kForms));

}  // namespace

std::span<const std::string_view> form_words() { return kWords; }

Status set_form(std::string_view word, SaveOptions& options) {
  const auto at = static_cast<size_t>(std::find(std::begin(kWords), std::end(kWords), word) - std::begin(kWords));
  if (at == std::size(kWords))
    return failure(Code::invalid_argument, "found format '{}'; needed {}", word, fmt::join(kWords, ", "));
  options.format = kForms[at].format, options.onnx.text = kForms[at].text;
  options.nnef.packing = kForms[at].packing, options.webnn.form = kForms[at].form;
  return {};
}

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
