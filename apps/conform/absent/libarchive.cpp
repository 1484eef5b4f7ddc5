// Stands for libarchive.cpp where that library is not built for the machine.

#include <fmt/format.h>

#include "../archive.h"

namespace nnex::cli {

Result<std::map<std::string, std::string>> read_archive_bytes(const std::string& path, std::string_view,
                                                              const ContainerLimits&) {
  return Error(Code::unsupported, fmt::format("cannot read '{}': this build of nnex reads no archives", path));
}

}  // namespace nnex::cli
