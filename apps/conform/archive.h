#pragma once
// Folders of cases, on disk or in an archive read in memory.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnex/result.h"
#include "standards/container.h"

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
/// Archives are never unpacked to disk. Errors: unreadable; limit (those of read_archive_bytes).
Status each_case(const std::string& path, const std::function<void(const Case&)>& each);

/// Files of a zip or tar archive (gzip, xz, bzip2 or zstd around it) in memory; `path` is for messages.
/// Errors: unreadable; limit (more than `limits` say, or three quarters of the memory that this process may have).
Result<Folder> read_archive_bytes(const std::string& path, std::string_view bytes, const ContainerLimits& limits = {});

}  // namespace nnex::cli
