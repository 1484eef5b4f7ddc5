#include "formats/container.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/try.h"
#include "formats/beneath.h"
#include "formats/gzip.h"
#include "formats/tar.h"

namespace nnex {
namespace {

/// The same error, its sentence after the rule it falls under.
Error with_rule(Error e, const std::string& where) {
  const char* rule = e.code() == Code::invalid_model || e.code() == Code::limit ? "C9" : "C8";
  return Error(e.code(), fmt::format("{}: {}", rule, e.message())).at(where);
}

/// The key of a file in an archive: the path without "." and doubled separators.
Result<std::string> key_of(const std::string& name) {
  NNEX_ASSIGN(std::vector<std::string> parts, path_parts("the file name", name));
  return fmt::format("{}", fmt::join(parts, "/"));
}

}  // namespace

bool Container::is_archive(std::string_view bytes) { return is_gzip(bytes) || is_tar(bytes); }

Result<Container> Container::open(const std::string& path, MapPolicy policy, const ContainerLimits& limits) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) return of_folder(path, policy);
  NNEX_ASSIGN(MappedFile opened, MappedFile::open(path, policy));
  auto file = shared_file(std::move(opened));
  return from_bytes(path, {file->bytes(), file}, limits);
}

Result<Container> Container::from_bytes(std::string name, FileBytes archive, const ContainerLimits& limits) {
  Container out;
  out.path_ = std::move(name);
  out.owner_ = archive.owner;
  std::string_view tar = archive.bytes;
  if (is_gzip(tar)) {
    const uint64_t most = std::min(limits.bytes, std::max(limits.grows_freely, tar.size() * limits.growth));
    auto unpacked = gunzip(tar, most);
    if (!unpacked.ok()) return with_rule(std::move(unpacked).error(), out.path_);
    auto owner = std::make_shared<const std::string>(std::move(unpacked).value());
    tar = *owner;
    out.owner_ = owner;
  }
  auto files = read_tar(tar, limits.entries);
  if (!files.ok()) return with_rule(std::move(files).error(), out.path_);
  out.files_ = std::move(files).value();
  return out;
}

Container Container::of_folder(std::string path, MapPolicy policy) {
  Container out;
  out.folder_ = !path.empty();
  out.path_ = std::move(path), out.policy_ = policy;
  return out;
}

void Container::add(std::string name, std::string place, FileBytes file) {
  added_[std::move(name)] = {std::move(place), std::move(file)};
}

bool Container::has(const std::string& name) const {
  if (added_.count(name)) return true;
  if (folder_) {
    auto opened = open_beneath(path_, "the file", name);
    return opened.ok() ? opened->get() >= 0 : opened.error().code() == Code::unreadable;
  }
  auto key = key_of(name);
  return key.ok() && files_.count(*key);
}

Result<FileBytes> Container::read(const std::string& name) const {
  if (auto added = added_.find(name); added != added_.end()) return added->second.file;
  const auto missing = [&] {
    return Error(Code::unreadable,
                 fmt::format("'{}' holds no '{}'", path_.empty() ? "a model from memory" : path_, name));
  };
  if (!folder_) {
    NNEX_ASSIGN(std::string key, key_of(name));
    auto at = files_.find(key);
    if (at == files_.end()) return missing();
    return FileBytes{at->second, owner_};
  }
  NNEX_ASSIGN(Descriptor opened, open_beneath(path_, "the file", name));
  if (opened.get() < 0) return missing();
  NNEX_ASSIGN(MappedFile mapped, MappedFile::from_descriptor(opened.get(), place(name), policy_, UINT64_MAX));
  auto file = shared_file(std::move(mapped));
  return FileBytes{file->bytes(), file};
}

std::string Container::place(const std::string& name) const {
  if (auto added = added_.find(name); added != added_.end()) return added->second.place;
  if (!folder_) return fmt::format("{}: {}", path_, name);
  return path_.empty() || path_.back() == '/' ? path_ + name : fmt::format("{}/{}", path_, name);
}

std::string Container::elsewhere(const std::string& name) const {
  const std::string ending = "/" + name;
  for (const auto& [path, bytes] : files_)
    if (path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
      return path;
  return {};
}

}  // namespace nnex
