#include "standards/container.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "base/built.h"
#include "base/failure.h"
#include "base/joined.h"
#include "base/try.h"
#include "standards/below.h"
#include "standards/gzip.h"
#include "standards/tar.h"

namespace nnex {
namespace {

/// The same error, its sentence after the rule it falls under.
Error with_rule(Error e, const std::string& where) {
  const char* rule = e.code() == Code::invalid_model || e.code() == Code::limit ? "C9" : "C8";
  std::string sentence = fmt::format("{}: {}", rule, e.message());
  return std::move(e).worded(std::move(sentence)).at(where);
}

/// The key of a file in an archive: the path without "." and doubled separators.
Result<std::string> key_of(const std::string& name) {
  NNEX_ASSIGN(std::vector<std::string> parts, path_parts("the file name", name));
  return joined(parts, "/");
}

}  // namespace

/// Files of callbacks: their names by key, and what was read. Kept until the last copy of the container ends, so that a
/// file of many tensors is asked for once.
struct Container::Given {
  FileReader reader;
  std::map<std::string, std::string> names;
  std::mutex mutex;
  std::map<std::string, FileBytes> read;
};

uint64_t max_unpacked(uint64_t size, const ContainerLimits& limits) {
  uint64_t grown = 0;
  if (__builtin_mul_overflow(size, limits.growth, &grown)) grown = UINT64_MAX;
  return std::min(limits.bytes, std::max(limits.grows_freely, grown));
}

Remedy more_unpacked(uint64_t size, const ContainerLimits& limits) {
  const bool by_ratio = max_unpacked(size, limits) < limits.bytes;
  return {by_ratio ? "archive_ratio" : "archive_limit", "", "raises what an archive may unpack to"};
}

bool Container::is_archive(std::string_view bytes) { return is_gzip(bytes) || is_tar(bytes); }

Result<Container> Container::open(const std::string& path, MapPolicy policy, const ContainerLimits& limits) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) return of_folder(path, policy);
  NNEX_ASSIGN(MappedFile opened, MappedFile::open(path, policy));
  auto file = shared_file(std::move(opened));
  return from_bytes(path, {file->bytes(), file}, limits);
}

Result<Container> Container::from_bytes(std::string name, FileBytes archive, const ContainerLimits& limits,
                                        std::shared_ptr<MemoryAccount> memory) {
  Container out;
  out.path_ = std::move(name);
  out.owner_ = archive.owner;
  if (!is_built(Format::nnef))
    return Error(Code::unsupported, "this build of nnex has no NNEF, whose archives these are");
  std::string_view tar = archive.bytes;
  if (is_gzip(tar)) {
    auto unpacked = gunzip(tar, max_unpacked(tar.size(), limits), memory ? memory : default_account());
    if (!unpacked.ok()) {
      Error e = std::move(unpacked).error();
      if (e.code() == Code::limit && e.remedies().empty())
        e = std::move(e).helped_by(more_unpacked(tar.size(), limits));
      return with_rule(std::move(e), out.path_);
    }
    tar = unpacked->bytes;
    out.owner_ = unpacked->owner;
  }
  auto files = read_tar(tar, limits.entries);
  if (!files.ok()) return with_rule(std::move(files).error(), out.path_);
  out.files_ = std::move(files).value();
  return out;
}

Container Container::of_folder(std::string path, MapPolicy policy, std::shared_ptr<MemoryAccount> memory,
                               std::string home) {
  Container out;
  if (!path.empty()) out.folder_ = std::make_shared<FolderFiles>(path, policy, std::move(memory), std::move(home));
  out.path_ = std::move(path);
  return out;
}

Result<Container> Container::of_reader(std::string name, FileReader reader) {
  if (!reader.list || !reader.read)
    return failure(Code::invalid_argument, "'{}': needed callbacks that list and read files", name);
  Container out;
  out.path_ = std::move(name);
  out.given_ = std::make_shared<Given>();
  NNEX_ASSIGN(const std::vector<std::string> names, reader.list());
  for (const std::string& file : names) {
    NNEX_ASSIGN(std::string key, key_of(file));
    out.given_->names.emplace(std::move(key), file);
  }
  out.given_->reader = std::move(reader);
  return out;
}

std::vector<std::string> Container::names() const {
  std::vector<std::string> out;
  const auto take = [&](const std::string& key) {
    if (key.starts_with(below_)) out.push_back(key.substr(below_.size()));
  };
  if (given_)
    for (const auto& [key, name] : given_->names) take(key);
  for (const auto& [key, bytes] : files_) take(key);
  return out;
}

Container Container::below(const std::string& folder) const {
  Container out = *this;
  out.below_ += folder + "/";
  return out;
}

void Container::add(std::string name, std::string place, FileBytes file) {
  added_[std::move(name)] = {std::move(place), std::move(file)};
}

bool Container::has(const std::string& name) const {
  if (added_.count(name)) return true;
  if (folder_) {
    auto opened = open_below(path_, "the file", name);
    return opened.ok() ? opened->get() >= 0 : opened.error().code() == Code::unreadable;
  }
  auto key = key_of(name);
  return key.ok() && (given_ ? given_->names.count(below_ + *key) : files_.count(below_ + *key));
}

Result<FileBytes> Container::read(const std::string& name) const {
  NNEX_ASSIGN(auto file, find(folder_ ? "the file" : "the file name", name, place(name)));
  if (file) return std::move(*file);
  if (path_.empty() && !given_)
    return failure(Code::unreadable, "the model came alone from memory; needed '{}' with it, under this name", name)
        .helped_by({"external_folder", "", "names its folder"});
  return failure(Code::unreadable, "'{}' holds no '{}{}'", path_, below_, name);
}

Result<std::optional<FileBytes>> Container::find(const std::string& what, const std::string& name,
                                                 const std::string& shown) const {
  if (auto added = added_.find(name); added != added_.end()) return std::optional(added->second.file);
  if (folder_) {
    NNEX_ASSIGN(auto file, folder_->open(what, name, shown));
    return file ? std::optional(FileBytes{file->bytes(), file}) : std::nullopt;
  }
  NNEX_ASSIGN(const std::vector<std::string> parts, path_parts(what, name));
  const std::string key = below_ + joined(parts, "/");
  if (!given_) {
    auto at = files_.find(key);
    return at != files_.end() ? std::optional(FileBytes{at->second, owner_}) : std::nullopt;
  }
  const auto listed = given_->names.find(key);
  if (listed == given_->names.end()) return std::optional<FileBytes>();
  const std::lock_guard<std::mutex> lock(given_->mutex);
  if (const auto known = given_->read.find(key); known != given_->read.end()) return std::optional(known->second);
  auto file = given_->reader.read(listed->second);
  if (!file.ok()) return std::move(file).error().at(place(name));
  given_->read.emplace(key, *file);
  return std::optional(std::move(*file));
}

std::string Container::place(const std::string& name) const {
  if (auto added = added_.find(name); added != added_.end()) return added->second.place;
  const std::string within = below_ + name;
  const bool named_after =
      path_.size() > within.size() && path_.ends_with(within) && path_[path_.size() - within.size() - 1] == '/';
  if (!folder_) return named_after ? path_ : fmt::format("{}: {}", path_, within);
  return path_.empty() || path_.back() == '/' ? path_ + name : fmt::format("{}/{}", path_, name);
}

bool Container::has_ending(const std::string& ending) const {
  std::vector<std::string> all = names();
  for (const auto& [name, file] : added_) all.push_back(name);
  if (std::any_of(all.begin(), all.end(), [&](const std::string& name) { return name.ends_with(ending); })) return true;
  if (!folder_ || path_.empty()) return false;
  constexpr int kDepth = 8, kFiles = 10'000;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(path_, error), end;
  for (int n = 0; !error && it != end && n < kFiles; it.increment(error), ++n) {
    if (it.depth() >= kDepth) it.disable_recursion_pending();
    std::error_code none;
    if (it->is_regular_file(none) && it->path().native().ends_with(ending)) return true;
  }
  return false;
}

std::string Container::elsewhere(const std::string& name) const {
  const std::string ending = "/" + name;
  for (const auto& [path, bytes] : files_)
    if (path.size() > ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0)
      return path;
  if (given_)
    for (const auto& [path, listed] : given_->names)
      if (path.size() > ending.size() && path.ends_with(ending)) return path;
  return {};
}

}  // namespace nnex
