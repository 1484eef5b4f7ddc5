// Stands for libarchive.cpp where that library is not built for the machine.

#include <fmt/format.h>

#include "../archive.h"

namespace nnex::cli {

Result<std::map<std::string, std::string>> read_archive_bytes(const std::string& path, std::string_view) {
  return Error(Code::unsupported, fmt::format("cannot read '{}': this build of nnex reads no archives", path));
}

Result<std::string> zip_bytes(const std::vector<std::pair<std::string, std::string>>&) {
  return Error(Code::unsupported, "this build of nnex writes no archives");
}

}  // namespace nnex::cli
