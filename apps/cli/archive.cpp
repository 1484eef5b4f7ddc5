#include "archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/mapped_file.h"
#include "base/try.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{4} << 30;
constexpr size_t kMostEntries = 1'000'000;

Result<std::map<std::string, std::string>> read_archive(const std::string& path) {
  std::unique_ptr<archive, int (*)(archive*)> a(archive_read_new(), archive_read_free);
  archive_read_support_filter_all(a.get());
  archive_read_support_format_all(a.get());
  if (archive_read_open_filename(a.get(), path.c_str(), 1 << 20) != ARCHIVE_OK)
    return Error(Code::unreadable, fmt::format("cannot read archive '{}': {}", path, archive_error_string(a.get())));
  std::map<std::string, std::string> files;
  uint64_t total = 0;
  archive_entry* entry = nullptr;
  while (true) {
    const int r = archive_read_next_header(a.get(), &entry);
    if (r == ARCHIVE_EOF) break;
    if (r < ARCHIVE_WARN)
      return Error(Code::unreadable, fmt::format("archive '{}': {}", path, archive_error_string(a.get())));
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    std::string& out = files[archive_entry_pathname(entry)];
    char block[1 << 16];
    la_ssize_t n;
    while ((n = archive_read_data(a.get(), block, sizeof block)) > 0) {
      if ((total += static_cast<uint64_t>(n)) > kMostBytes || files.size() > kMostEntries)
        return Error(Code::limit, fmt::format("archive '{}' holds more than 4 GiB or {} files", path, kMostEntries));
      out.append(block, static_cast<size_t>(n));
    }
    if (n < 0) return Error(Code::unreadable, fmt::format("archive '{}': {}", path, archive_error_string(a.get())));
  }
  return files;
}

std::string last_component(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Result<Folder> read_folder(const fs::path& root) {
  Folder files;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(root, error); !error && it != fs::recursive_directory_iterator();
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    const std::string ending = it->path().extension().string();
    if (ending != ".onnx" && ending != ".pb" && ending != ".json") continue;
    NNEX_ASSIGN(MappedFile file, MappedFile::open(it->path().string(), MapPolicy::never));
    files[fs::relative(it->path(), root, error).generic_string()] = std::string(file.bytes());
  }
  if (error) return Error(Code::unreadable, fmt::format("cannot list '{}': {}", root.string(), error.message()));
  return files;
}

}  // namespace

Status each_case(const std::string& path,
                 const std::function<void(const std::string&, const Folder&, const std::string&)>& each) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    std::set<fs::path> cases;
    for (auto it = fs::recursive_directory_iterator(path, error); !error && it != fs::recursive_directory_iterator();
         it.increment(error))
      if (it->path().filename() == "model.onnx") cases.insert(it->path().parent_path());
    if (error) return Error(Code::unreadable, fmt::format("cannot list '{}': {}", path, error.message()));
    if (cases.empty()) return Error(Code::unreadable, fmt::format("'{}' holds no model.onnx", path));
    for (const fs::path& c : cases) {
      NNEX_ASSIGN(Folder files, read_folder(c));
      each(c.filename().string().empty() ? c.parent_path().filename().string() : c.filename().string(), files,
           c.string());
    }
    return {};
  }
  NNEX_ASSIGN(auto files, read_archive(path));
  std::map<std::string, Folder> cases;
  for (auto& [name, bytes] : files)
    if (last_component(name) == "model.onnx")
      cases[name.substr(0, name.size() - std::min(name.size(), std::string("/model.onnx").size()))];
  if (cases.empty()) return Error(Code::unreadable, fmt::format("archive '{}' holds no model.onnx", path));
  for (auto& [name, bytes] : files) {
    auto it = cases.upper_bound(name);
    if (it == cases.begin()) continue;
    --it;
    if (name.rfind(it->first + "/", 0) == 0) it->second[name.substr(it->first.size() + 1)] = std::move(bytes);
  }
  for (const auto& [name, folder] : cases) each(last_component(name), folder, "");
  return {};
}

}  // namespace nnex::cli
