#include "formats/onnx/external.h"

#include <fmt/format.h>

#include "base/mapped_file.h"
#include "base/try.h"
#include "formats/beneath.h"

namespace nnex::onnx_format {
namespace {

Result<uint64_t> number(const std::map<std::string, std::string>& entries, const std::string& key, uint64_t otherwise) {
  auto it = entries.find(key);
  if (it == entries.end()) return otherwise;
  uint64_t n = 0;
  for (char c : it->second) {
    if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10, &n) ||
        __builtin_add_overflow(n, static_cast<uint64_t>(c - '0'), &n))
      return Error(Code::invalid_model, fmt::format("external {} '{}' is no size", key, it->second));
  }
  return n;
}

/// The file of a location, which is written with '/' alone.
Result<Descriptor> open_location(const std::string& folder, const std::string& location) {
  if (location.find('\\') != std::string::npos)
    return Error(Code::invalid_model, fmt::format("external location '{}' must be a relative path", location));
  NNEX_ASSIGN(Descriptor file, open_beneath(folder, "external location", location));
  if (file.get() < 0)
    return Error(Code::unreadable, fmt::format("cannot open external location '{}': no such file", location));
  return file;
}

}  // namespace

Result<External> open_external(const std::string& folder, const std::map<std::string, std::string>& entries) {
  auto location = entries.find("location");
  if (location == entries.end()) return Error(Code::invalid_model, "external data have no location");
  NNEX_ASSIGN(Descriptor fd, open_location(folder, location->second));
  NNEX_ASSIGN(MappedFile opened,
              MappedFile::from_descriptor(fd.get(), location->second, MapPolicy::automatic, UINT64_MAX));
  auto file = shared_file(std::move(opened));
  const uint64_t size = file->bytes().size();
  NNEX_ASSIGN(uint64_t offset, number(entries, "offset", 0));
  if (offset > size)
    return Error(Code::invalid_model,
                 fmt::format("external offset {} is past the {} bytes of '{}'", offset, size, location->second));
  NNEX_ASSIGN(uint64_t length, number(entries, "length", size - offset));
  if (length > size - offset)
    return Error(Code::invalid_model, fmt::format("{} bytes of external data from {} on run past the {} bytes of '{}'",
                                                  length, offset, size, location->second));
  return External{file->bytes().substr(offset, length), file};
}

}  // namespace nnex::onnx_format
