#include "standards/onnx/read_external.h"

#include "base/failure.h"
#include "base/try.h"

namespace nnex::onnx_format {
namespace {

Result<uint64_t> number(const std::map<std::string, std::string>& entries, const std::string& key, uint64_t otherwise) {
  auto it = entries.find(key);
  if (it == entries.end()) return otherwise;
  uint64_t n = 0;
  for (char c : it->second) {
    if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10, &n) ||
        __builtin_add_overflow(n, static_cast<uint64_t>(c - '0'), &n))
      return failure(Code::invalid_model, "external {} '{}' is no size", key, it->second);
  }
  return n;
}

/// The file of a location, which is written with '/' alone.
Result<FileBytes> open_location(const Container& files, const std::string& location) {
  if (location.find('\\') != std::string::npos)
    return failure(Code::invalid_model, "external location '{}' has a '\\'; needed '/' between folders", location);
  NNEX_ASSIGN(auto file, files.find("external location", location, location));
  if (!file) return failure(Code::unreadable, "cannot open external location '{}': no such file", location);
  return std::move(*file);
}

}  // namespace

Result<External> open_external(const Container& files, const std::map<std::string, std::string>& entries) {
  auto location = entries.find("location");
  if (location == entries.end()) return Error(Code::invalid_model, "external data have no location");
  NNEX_ASSIGN(const FileBytes file, open_location(files, location->second));
  const uint64_t size = file.bytes.size();
  NNEX_ASSIGN(uint64_t offset, number(entries, "offset", 0));
  if (offset > size)
    return failure(Code::invalid_model, "external offset {} is past the {} bytes of '{}'", offset, size,
                   location->second);
  NNEX_ASSIGN(uint64_t length, number(entries, "length", size - offset));
  if (length > size - offset)
    return failure(Code::invalid_model, "{} bytes of external data from {} on run past the {} bytes of '{}'", length,
                   offset, size, location->second);
  return External{file.bytes.substr(offset, length), file.owner};
}

}  // namespace nnex::onnx_format
