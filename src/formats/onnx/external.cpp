#include "formats/onnx/external.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/mapped_file.h"

namespace nnex::onnx_format {
namespace {

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<std::vector<std::string>> components(const std::string& location) {
  if (location.empty() || location.front() == '/' || location.find('\0') != std::string::npos ||
      location.find('\\') != std::string::npos)
    return Error(Code::invalid_model, fmt::format("external location '{}' must be a relative path", location));
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= location.size()) {
    const size_t end = std::min(location.find('/', begin), location.size());
    std::string part = location.substr(begin, end - begin);
    if (part == "..")
      return Error(Code::invalid_model, fmt::format("external location '{}' leaves the model's folder", location));
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    begin = end + 1;
  }
  if (parts.empty()) return Error(Code::invalid_model, fmt::format("external location '{}' names no file", location));
  return parts;
}

/// Opens component by component, following no link anywhere beneath the folder.
Result<Descriptor> open_beneath(const std::string& folder, const std::string& location) {
  NNEX_ASSIGN(std::vector<std::string> parts, components(location));
  Descriptor at(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; at.get() >= 0 && i < parts.size(); ++i) {
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
    at = Descriptor(openat(at.get(), parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
  }
  if (at.get() < 0)
    return Error(Code::unreadable, fmt::format("cannot open external data '{}': {}", location, std::strerror(errno)));
  struct stat s;
  if (fstat(at.get(), &s) != 0 || !S_ISREG(s.st_mode))
    return Error(Code::unreadable, fmt::format("external data '{}' is no regular file", location));
  if (s.st_nlink > 1) return Error(Code::unreadable, fmt::format("external data '{}' is a hard link", location));
  return at;
}

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

}  // namespace

Result<External> open_external(const std::string& folder, const std::map<std::string, std::string>& entries) {
  auto location = entries.find("location");
  if (location == entries.end()) return Error(Code::invalid_model, "external data have no location");
  NNEX_ASSIGN(Descriptor fd, open_beneath(folder, location->second));
  NNEX_ASSIGN(MappedFile opened,
              MappedFile::from_descriptor(fd.get(), location->second, MapPolicy::automatic, UINT64_MAX));
  auto file = std::make_shared<const MappedFile>(std::move(opened));
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
