#include "archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/mapped_file.h"
#include "base/try.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

bool is_archive(std::string_view name) {
  constexpr std::string_view kEndings[] = {".tar", ".tar.gz",  ".tgz",     ".tar.xz",
                                           ".txz", ".tar.bz2", ".tar.zst", ".zip"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](auto e) { return ends_with(name, e); });
}

std::string parent_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

constexpr std::string_view kModel = "model.onnx", kStored = "_output_0.pb";

/// The cases among files named by their paths: the names of each case's files, by their names inside the case.
struct Found {
  std::string name;
  std::map<std::string, std::string> files;  ///< "test_data_set_0/input_0.pb" -> path.
  bool ramp_inputs = false;
};
std::map<std::string, Found> find_cases(const std::set<std::string>& names, const std::string& root) {
  std::map<std::string, Found> cases;  // by the path of a folder, or of a model without its ending
  const auto last = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  for (const std::string& name : names) {
    if (last(name) == kModel) cases[parent_of(name)].name = parent_of(name).empty() ? root : last(parent_of(name));
    if (!ends_with(name, kStored)) continue;
    const std::string stem = name.substr(0, name.size() - kStored.size());
    if (!names.count(stem + ".onnx")) continue;
    cases[stem] = {last(stem), {{std::string(kModel), stem + ".onnx"}, {"test_data_set_0/output_0.pb", name}}, true};
  }
  for (const std::string& name : names)
    for (std::string folder = name; !folder.empty();) {
      folder = parent_of(folder);
      auto at = cases.find(folder);
      if (at == cases.end() || at->second.ramp_inputs) continue;
      at->second.files[folder.empty() ? name : name.substr(folder.size() + 1)] = name;
      break;
    }
  return cases;
}

Status cases_of_archive(const std::string& path, const std::function<void(const Case&)>& each) {
  NNEX_ASSIGN(MappedFile packed, MappedFile::open(path));
  NNEX_ASSIGN(auto files, read_archive_bytes(path, packed.bytes()));
  std::set<std::string> names;
  for (const auto& [name, bytes] : files) names.insert(name);
  const auto cases = find_cases(names, fs::path(path).stem().string());
  if (cases.empty()) return Error(Code::unreadable, fmt::format("archive '{}' holds no case (model.onnx)", path));
  for (const auto& [key, found] : cases) {
    Case one{found.name, {}, "", found.ramp_inputs};
    for (const auto& [inside, name] : found.files) one.files[inside] = std::move(files[name]);
    each(one);
  }
  return {};
}

Status cases_of_folder(const std::string& path, const std::function<void(const Case&)>& each) {
  std::error_code error;
  std::set<std::string> names, archives;
  for (auto it = fs::recursive_directory_iterator(path, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    const std::string name = fs::relative(it->path(), path, error).generic_string();
    (is_archive(name) ? archives : names).insert(name);
  }
  if (error) return Error(Code::unreadable, fmt::format("cannot list '{}': {}", path, error.message()));
  const fs::path root = fs::weakly_canonical(path, error);
  const auto cases = find_cases(names, root.filename().string());
  if (cases.empty() && archives.empty())
    return Error(Code::unreadable, fmt::format("'{}' holds no case (model.onnx) and no archive", path));
  for (const auto& [key, found] : cases) {
    Case one{
        found.name, {}, parent_of((fs::path(path) / found.files.at(std::string(kModel))).string()), found.ramp_inputs};
    for (const auto& [inside, name] : found.files) {
      if (!ends_with(inside, ".onnx") && !ends_with(inside, ".pb") && !ends_with(inside, ".json")) continue;
      NNEX_ASSIGN(MappedFile file, MappedFile::open((fs::path(path) / name).string(), MapPolicy::never));
      one.files[inside] = std::string(file.bytes());
    }
    each(one);
  }
  for (const std::string& name : archives) NNEX_TRY(cases_of_archive((fs::path(path) / name).string(), each));
  return {};
}

}  // namespace

Status each_case(const std::string& path, const std::function<void(const Case&)>& each) {
  std::error_code error;
  return fs::is_directory(path, error) ? cases_of_folder(path, each) : cases_of_archive(path, each);
}

}  // namespace nnex::cli
