#pragma once
// Zip archives in memory, as NumPy writes them: stored or deflated entries.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "nnex/result.h"
#include "standards/container.h"

namespace nnex {

/// The files of an archive by their names, folders left out. What is stored is a view into `bytes`, which must outlive
/// it; what is deflated is unpacked (zlib). Its directory is believed as far as the bytes bear it out: places, sizes
/// and checksums are checked. `path` is for messages. Errors: unreadable; limit (more than `limits` say, or three
/// quarters of the memory that this process may have); unsupported (encryption, another method).
Result<std::map<std::string, FileBytes>> read_zip(const std::string& path, std::string_view bytes,
                                                  const ContainerLimits& limits = {});

/// An archive of these files, stored without compression, the same bytes for the same files. Error: unsupported (4 GiB
/// and more, 65,535 files and more).
Result<std::string> zip_bytes(std::span<const std::pair<std::string, std::string>> files);

}  // namespace nnex
