// Archives in memory, by libarchive.

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "archive.h"
#include "base/try.h"

namespace nnex::cli {
namespace {

using Reading = std::unique_ptr<archive, int (*)(archive*)>;

/// What the library says, if it does.
std::string_view why(archive* a) {
  const char* said = archive_error_string(a);
  return said ? said : "it is broken";
}

/// The content of the entry the archive stands at.
Result<std::string> read_entry(archive* a, const std::string& path, uint64_t& total, uint64_t max) {
  std::string out, block(1 << 16, '\0');
  while (true) {
    const la_ssize_t n = archive_read_data(a, block.data(), block.size());
    if (n == 0) return out;
    if (n < 0) return Error(Code::unreadable, fmt::format("archive '{}': {}", path, why(a)));
    if ((total += static_cast<uint64_t>(n)) > max)
      return Error(Code::limit, fmt::format("archive '{}' unpacks to more than {} bytes", path, max));
    out.append(block, 0, static_cast<size_t>(n));
  }
}

}  // namespace

Result<std::map<std::string, std::string>> read_archive_bytes(const std::string& path, std::string_view bytes,
                                                              const ContainerLimits& limits) {
  Reading a(archive_read_new(), archive_read_free);
  for (auto enable :
       {archive_read_support_filter_gzip, archive_read_support_filter_xz, archive_read_support_filter_bzip2,
        archive_read_support_filter_zstd, archive_read_support_format_tar, archive_read_support_format_zip})
    enable(a.get());
  if (archive_read_open_memory(a.get(), bytes.data(), bytes.size()) != ARCHIVE_OK)
    return Error(Code::unreadable, fmt::format("cannot read archive '{}': {}", path, why(a.get())));
  const uint64_t max = std::min(max_unpacked(bytes.size(), limits), static_cast<uint64_t>(default_account()->limit()));
  std::map<std::string, std::string> files;
  uint64_t total = 0;
  archive_entry* entry = nullptr;
  while (true) {
    const int r = archive_read_next_header(a.get(), &entry);
    if (r == ARCHIVE_EOF) return files;
    if (r < ARCHIVE_WARN) return Error(Code::unreadable, fmt::format("archive '{}': {}", path, why(a.get())));
    const char* name = archive_entry_pathname(entry);
    if (!name || archive_entry_filetype(entry) != AE_IFREG) continue;
    if (files.size() >= limits.entries)
      return Error(Code::limit, fmt::format("archive '{}' holds more than {} files", path, limits.entries));
    std::string key = name;
    NNEX_ASSIGN(files[key], read_entry(a.get(), path, total, max));
  }
}

}  // namespace nnex::cli
