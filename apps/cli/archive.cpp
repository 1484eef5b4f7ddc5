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
constexpr uint64_t kMostGrowth = 1000;                 // unpacked bytes for one of the archive's
constexpr uint64_t kGrowsFreely = uint64_t{64} << 20;  // below which the ratio says nothing

using Reading = std::unique_ptr<archive, int (*)(archive*)>;

/// The content of the entry the archive stands at.
Result<std::string> read_entry(archive* a, const std::string& path, uint64_t& total, uint64_t most) {
  std::string out, block(1 << 16, '\0');
  while (true) {
    const la_ssize_t n = archive_read_data(a, block.data(), block.size());
    if (n == 0) return out;
    if (n < 0) return Error(Code::unreadable, fmt::format("archive '{}': {}", path, archive_error_string(a)));
    if ((total += static_cast<uint64_t>(n)) > most)
      return Error(Code::limit, fmt::format("archive '{}' unpacks to more than {} bytes", path, most));
    out.append(block, 0, static_cast<size_t>(n));
  }
}

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

Result<std::map<std::string, std::string>> read_archive_bytes(const std::string& path, std::string_view bytes) {
  Reading a(archive_read_new(), archive_read_free);
  for (auto enable :
       {archive_read_support_filter_gzip, archive_read_support_filter_xz, archive_read_support_filter_bzip2,
        archive_read_support_filter_zstd, archive_read_support_format_tar, archive_read_support_format_zip})
    enable(a.get());
  if (archive_read_open_memory(a.get(), bytes.data(), bytes.size()) != ARCHIVE_OK)
    return Error(Code::unreadable, fmt::format("cannot read archive '{}': {}", path, archive_error_string(a.get())));
  const uint64_t most = std::min(kMostBytes, std::max<uint64_t>(kGrowsFreely, bytes.size() * kMostGrowth));
  std::map<std::string, std::string> files;
  uint64_t total = 0;
  archive_entry* entry = nullptr;
  while (true) {
    const int r = archive_read_next_header(a.get(), &entry);
    if (r == ARCHIVE_EOF) return files;
    if (r < ARCHIVE_WARN)
      return Error(Code::unreadable, fmt::format("archive '{}': {}", path, archive_error_string(a.get())));
    const char* name = archive_entry_pathname(entry);
    if (!name || archive_entry_filetype(entry) != AE_IFREG) continue;
    if (files.size() >= kMostEntries)
      return Error(Code::limit, fmt::format("archive '{}' holds more than {} files", path, kMostEntries));
    std::string key = name;
    NNEX_ASSIGN(files[key], read_entry(a.get(), path, total, most));
  }
}

Result<std::string> zip_bytes(const std::vector<std::pair<std::string, std::string>>& files) {
  std::unique_ptr<archive, int (*)(archive*)> a(archive_write_new(), archive_write_free);
  std::string out;
  auto append = [](archive*, void* to, const void* bytes, size_t n) -> la_ssize_t {
    static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), n);
    return static_cast<la_ssize_t>(n);
  };
  bool fine = archive_write_set_format_zip(a.get()) == ARCHIVE_OK &&
              archive_write_zip_set_compression_store(a.get()) == ARCHIVE_OK &&
              archive_write_set_bytes_per_block(a.get(), 0) == ARCHIVE_OK &&
              archive_write_open(a.get(), &out, nullptr, append, nullptr) == ARCHIVE_OK;
  for (size_t i = 0; fine && i < files.size(); ++i) {
    const auto& [name, bytes] = files[i];
    std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_mtime(entry.get(), 315532800, 0);  // zip knows no time before 1980
    fine = archive_write_header(a.get(), entry.get()) == ARCHIVE_OK &&
           archive_write_data(a.get(), bytes.data(), bytes.size()) == static_cast<la_ssize_t>(bytes.size());
  }
  if (!fine || archive_write_close(a.get()) != ARCHIVE_OK)
    return Error(Code::unreadable, fmt::format("cannot write a zip archive: {}", archive_error_string(a.get())));
  return out;
}

Status each_case(const std::string& path, const std::function<void(const Case&)>& each) {
  std::error_code error;
  return fs::is_directory(path, error) ? cases_of_folder(path, each) : cases_of_archive(path, each);
}

}  // namespace nnex::cli
