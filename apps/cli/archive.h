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

/// Files by their path: "model.onnx", "test_data_set_0/input_0.pb".
using Folder = std::map<std::string, std::string>;

struct Case {
  std::string name;
  Folder files;
  std::string folder;        ///< Where it lies on disk; empty in an archive.
  bool ramp_inputs = false;  ///< No inputs are stored: element i of n is i / n.
};

/// Calls each(case) for every case below a folder and in its archives, or in one archive, in order of path. A case is a
/// folder with a model.onnx, or, as the ONNX project stores its light networks, NAME.onnx with NAME_output_0.pb.
/// Archives are never unpacked to disk. Errors: unreadable; limit (an archive of more than 4 GiB or 1,000,000 entries).
Status each_case(const std::string& path, const std::function<void(const Case&)>& each);

/// Files of a zip or tar archive (gzip, xz, bzip2 or zstd around it) in memory; `path` is for messages.
/// Errors: unreadable; limit (more than 4 GiB, 1,000,000 entries, or 1,000 bytes for each of the archive's).
Result<Folder> read_archive_bytes(const std::string& path, std::string_view bytes);

/// A zip archive of these files, stored without compression, the same bytes for the same files.
Result<std::string> zip_bytes(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace nnex::cli
