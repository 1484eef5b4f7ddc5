#pragma once
// Tar archives in memory (IEEE 1003.1-2008: ustar and pax; GNU's long names): read without a copy, written the same for
// the same files.

#include <map>
#include <string>
#include <string_view>

#include "nnex/result.h"

namespace nnex {

/// Whether the bytes begin with the header of a tar archive.
bool is_tar(std::string_view bytes);

/// The regular files of an archive by path, without "./" in front: views into `bytes`.
/// What follows the archive's closing block is nobody's. Errors: unreadable (not an archive, cut short, a wrong
/// checksum, sparse files), invalid_model (a path that leaves the archive, a link, device or unknown kind, a path
/// twice), limit (more than `max_entries`).
Result<std::map<std::string, std::string_view>> read_tar(std::string_view bytes, size_t max_entries);

/// What stands before a file of that size: owner 0, mode 0644, time 0.
std::string tar_header(const std::string& path, uint64_t size);
/// How many zero bytes follow a file of that size.
constexpr size_t tar_padding(uint64_t size) { return static_cast<size_t>((512 - size % 512) % 512); }
/// How many zero bytes close an archive.
inline constexpr size_t kTarEnd = 1024;

}  // namespace nnex
