#pragma once
// Folders of cases, on disk or in an archive read in memory.

#include <functional>
#include <map>
#include <string>

#include "nnex/result.h"

namespace nnex::cli {

/// Files of one case by their path inside it: "model.onnx", "test_data_set_0/input_0.pb".
using Folder = std::map<std::string, std::string>;

/// Calls each(name, files, folder on disk or "") for every folder with a model.onnx below `path`, in order of name.
/// Archives are never unpacked to disk. Errors: unreadable; limit (more than 4 GiB or 1,000,000 entries).
Status each_case(const std::string& path,
                 const std::function<void(const std::string&, const Folder&, const std::string&)>& each);

}  // namespace nnex::cli
