// Archives in memory, by libarchive.

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "archive.h"
#include "base/try.h"

namespace nnex::cli {
namespace {

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

}  // namespace nnex::cli
