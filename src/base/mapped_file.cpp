#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/try.h"

namespace nnex {
namespace {

constexpr uint64_t kMapFrom = uint64_t{64} << 20;
constexpr size_t kMostPerCall = size_t{1} << 30;  // Linux reads and writes at most 2 GiB - 4 KiB a call

Error failed(const char* doing, const std::string& path, int number) {
  return {Code::unreadable, fmt::format("cannot {} '{}': {}", doing, path, std::generic_category().message(number))};
}

/// Closes on every way out.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

uint64_t page_bytes() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }
uint64_t round_up(uint64_t n, uint64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

Status read_all(int descriptor, const std::string& path, char* to, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = ::pread(descriptor, to + done, std::min(size - done, kMostPerCall), static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read", path, errno);
    if (n == 0)
      return Error(Code::unreadable,
                   fmt::format("'{}' became shorter while it was read: {} bytes of {}", path, done, size));
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path, MapPolicy policy, uint64_t most) {
  // O_NONBLOCK: opening a pipe or a device must not wait; regular files ignore it.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) return failed("open", path, errno);
  return from_descriptor(file.number, path, policy, most);
}

Result<MappedFile> MappedFile::from_descriptor(int descriptor, const std::string& path, MapPolicy policy,
                                               uint64_t most) {
  struct stat about = {};
  if (::fstat(descriptor, &about) != 0) return failed("open", path, errno);
  if (!S_ISREG(about.st_mode))
    return Error(Code::unreadable, fmt::format("cannot open '{}': it is {}, not a regular file", path,
                                               S_ISDIR(about.st_mode) ? "a folder" : "a device, pipe or socket"));
  const uint64_t size = static_cast<uint64_t>(about.st_size);
  if (size > most || size > PTRDIFF_MAX)
    return Error(Code::limit, fmt::format("'{}' has {} bytes; at most {} are allowed", path, size,
                                          std::min<uint64_t>(most, PTRDIFF_MAX)));
  MappedFile file;
  if (size == 0) return file;
  if (policy == MapPolicy::always || (policy == MapPolicy::automatic && size >= kMapFrom)) {
    void* address = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) return failed("map", path, errno);
    file.data_ = static_cast<char*>(address);
    file.mapped_ = true;
  } else {
    file.data_ = static_cast<char*>(std::malloc(static_cast<size_t>(size)));
    if (!file.data_) return Error(Code::limit, fmt::format("no memory for the {} bytes of '{}'", size, path));
    NNEX_TRY(read_all(descriptor, path, file.data_, static_cast<size_t>(size)));
  }
  file.size_ = static_cast<size_t>(size);
  return file;
}

MappedFile::~MappedFile() {
  if (mapped_) {
    ::munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

void MappedFile::release_pages(uint64_t offset, uint64_t size) const {
  if (!mapped_ || offset >= size_) return;
  const uint64_t end = offset + std::min(size, size_ - offset);
  // Behind the file's end its last page holds nothing.
  const uint64_t page = page_bytes(), last = end == size_ ? round_up(end, page) : end;
  discard_pages(data_ + offset, last - offset);
}

void discard_pages(const void* at, uint64_t size) {
#if !defined(__EMSCRIPTEN__)
  const uint64_t page = page_bytes(), begin = reinterpret_cast<uintptr_t>(at);
  const uint64_t first = round_up(begin, page), last = (begin + size) / page * page;
  if (first < last)
    ::madvise(const_cast<char*>(static_cast<const char*>(at)) + (first - begin), static_cast<size_t>(last - first),
              MADV_DONTNEED);
#else
  (void)at, (void)size;
#endif
}

namespace {

/// How tensors' owners are told to be a file.
struct FileOwner {
  const MappedFile* file = nullptr;
  void operator()(const MappedFile* f) const { delete f; }
};

}  // namespace

std::shared_ptr<const MappedFile> shared_file(MappedFile file) {
  const auto* held = new MappedFile(std::move(file));
  return {held, FileOwner{held}};
}

const MappedFile* file_of(const std::shared_ptr<const void>& owner) {
  const auto* found = std::get_deleter<FileOwner>(owner);
  return found ? found->file : nullptr;
}

namespace {

/// Where a path leads to.
struct Target {
  std::string path;
  bool stream = false;  ///< Written into, not replaced.
};

/// Follows links, so that they stay and the file they lead to is replaced, be it there or not. A device, pipe or socket
/// is written into, as is what the system's own names of open files lead to. Error: unreadable for links in a circle.
Result<Target> target_of(const std::string& path) {
  std::filesystem::path at(path);
  for (int hops = 0; hops < 40; ++hops) {
    struct stat about = {};
    if (::lstat(at.c_str(), &about) != 0) return Target{at.string()};
    if (!S_ISLNK(about.st_mode)) return Target{at.string(), !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)};
    if (at.string().rfind("/dev/", 0) == 0 || at.string().rfind("/proc/", 0) == 0) return Target{at.string(), true};
    std::error_code unread;
    const std::filesystem::path to = std::filesystem::read_symlink(at, unread);
    if (unread) return failed("write", path, unread.value());
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return failed("write", path, ELOOP);
}

/// Writes go on where this process's own output stands.
int open_stream(const std::string& path) {
  if (path == "/dev/stdout") return std::fflush(stdout), ::dup(STDOUT_FILENO);
  if (path == "/dev/stderr") return ::dup(STDERR_FILENO);
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

}  // namespace

Result<FileWriter> FileWriter::create(const std::string& path) {
  FileWriter writer;
  NNEX_ASSIGN(Target target, target_of(path));
  if (target.stream) {
    writer.path_ = path;
    writer.descriptor_ = open_stream(target.path);
    if (writer.descriptor_ < 0) return failed("write", path, errno);
    return writer;
  }
  writer.path_ = std::move(target.path);
  writer.temporary_ = writer.path_ + ".XXXXXX";
  writer.descriptor_ = ::mkstemp(writer.temporary_.data());
  if (writer.descriptor_ < 0) {
    writer.temporary_.clear();
    return failed("write", path, errno);
  }
  // mkstemp makes a private file; the finished one has the mode of the file it replaces, else what open() would have
  // given.
  struct stat old = {};
  mode_t mode;
  if (::stat(writer.path_.c_str(), &old) == 0) {
    mode = old.st_mode & 0777;
  } else {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    mode = 0666 & ~mask;
  }
  (void)::fchmod(writer.descriptor_, mode);
  return writer;
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status FileWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMostPerCall));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", path_, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status FileWriter::commit() {
  const bool stream = temporary_.empty();  // pipes and devices have nothing to sync, and no other name
  if (::fsync(descriptor_) != 0 && !(stream && (errno == EINVAL || errno == EROFS || errno == ENOTSUP)))
    return failed("write", path_, errno);
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) return failed("write", path_, errno);
  if (stream) return {};
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed("write", path_, errno);
  temporary_.clear();
  // The new name itself is durable once its folder is synced; a file system that cannot do that has done what it can.
  const size_t slash = path_.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const Descriptor opened{::open(folder.c_str(), O_RDONLY | O_CLOEXEC)};
  if (opened.number >= 0) (void)::fsync(opened.number);
  return {};
}

Status write_file(const std::string& path, std::string_view bytes) {
  NNEX_ASSIGN(FileWriter writer, FileWriter::create(path));
  NNEX_TRY(writer.write(bytes));
  return writer.commit();
}

}  // namespace nnex
