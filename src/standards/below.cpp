#include "standards/below.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/built.h"
#include "base/failure.h"
#include "base/try.h"

namespace nnex {

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Result<std::vector<std::string>> path_parts(const std::string& what, const std::string& path) {
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string::npos)
    return failure(Code::invalid_model, "{} '{}' must be a relative path", what, path);
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    std::string part = path.substr(begin, end - begin);
    if (part == ".." && parts.empty())
      return failure(Code::invalid_model, "{} '{}' leaves the model's folder", what, path);
    if (part == "..")
      parts.pop_back();
    else if (!part.empty() && part != ".")
      parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

Result<Descriptor> open_below(const std::string& folder, const std::string& what, const std::string& path) {
  NNEX_ASSIGN(std::vector<std::string> parts, path_parts(what, path));
  if (parts.empty()) return failure(Code::invalid_model, "{} '{}' names no file", what, path);
  if (!kOpensFiles) return Descriptor(-1);
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; at.get() >= 0 && i < parts.size(); ++i) {
    const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
    at = Descriptor(::openat(at.get(), parts[i].c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | kind));
  }
  if (at.get() < 0 && errno == ENOENT) return at;
  if (at.get() < 0)
    return failure(Code::unreadable, "cannot open {} '{}': {}", what, path,
                   errno == ELOOP || errno == ENOTDIR ? "a link or no folder on the way" : strerror(errno));
  struct stat about = {};
  if (::fstat(at.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return failure(Code::unreadable, "{} '{}' is no regular file", what, path);
  if (about.st_nlink > 1) return failure(Code::unreadable, "{} '{}' is a hard link", what, path);
  return at;
}

std::string home_of(const std::string& path) {
  struct stat about = {};
  if (!kOpensFiles || ::lstat(path.c_str(), &about) != 0 || !S_ISLNK(about.st_mode)) return {};
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), std::free);
  const std::string_view found = real ? real.get() : "";
  return std::string(found.substr(0, found.rfind('/') + 1));
}

Result<Descriptor> FolderFiles::descriptor(const std::string& what, const std::string& path) const {
  auto opened = open_below(folder_, what, path);
  if (opened.ok() || home_.empty() || opened.error().code() != Code::unreadable) return opened;
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath((folder_ + "/" + path).c_str(), nullptr),
                                                         std::free);
  const std::string_view found = real ? real.get() : "";
  const size_t name = found.rfind('/') + 1;
  if (found.substr(0, name) != home_) return opened;
  return open_below(home_, what, std::string(found.substr(name)));
}

Result<std::shared_ptr<const MappedFile>> FolderFiles::open(const std::string& what, const std::string& path,
                                                            const std::string& shown) {
  NNEX_ASSIGN(std::vector<std::string> parts, path_parts(what, path));
  if (!kOpensFiles) return std::shared_ptr<const MappedFile>();
  const std::lock_guard lock(mutex_);
  if (auto held = open_[parts].lock()) return held;
  NNEX_ASSIGN(const Descriptor found, descriptor(what, path));
  if (found.get() < 0) return std::shared_ptr<const MappedFile>();
  NNEX_ASSIGN(MappedFile file, MappedFile::from_descriptor(found.get(), shown, policy_, memory_));
  auto held = shared_file(std::move(file));
  open_[std::move(parts)] = held;
  return held;
}

}  // namespace nnex
