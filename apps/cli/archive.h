#pragma once
// Folders of cases, on disk or in an archive read in memory.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnex/result.h"

namespace nnex::cli {

/// Files of one case by their path inside it: "model.onnx", "test_data_set_0/input_0.pb".
using Folder = std::map<std::string, std::string>;

/// Calls each(name, files, folder on disk or "") for every folder with a model.onnx below `path`, in order of name.
/// Archives are never unpacked to disk. Errors: unreadable; limit (more than 4 GiB or 1,000,000 entries).
Status each_case(const std::string& path,
                 const std::function<void(const std::string&, const Folder&, const std::string&)>& each);

/// Files of a zip or tar archive (gzip, xz, bzip2 or zstd around it) in memory; `path` is for messages.
/// Errors: unreadable; limit (more than 4 GiB, 1,000,000 entries, or 1,000 bytes for each of the archive's).
Result<std::map<std::string, std::string>> read_archive_bytes(const std::string& path, std::string_view bytes);

/// A zip archive of these files, stored without compression, the same bytes for the same files.
Result<std::string> zip_bytes(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace nnex::cli
