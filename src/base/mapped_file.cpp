#include "base/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/choice.h"
#include "base/failure.h"
#include "base/large_memory.h"
#include "base/quota.h"
#include "base/sha256.h"
#include "base/try.h"
#include "base/unfinished.h"

namespace nnex {
namespace {

constexpr uint64_t kMapFrom = uint64_t{64} << 20;
constexpr size_t kMaxPerCall = size_t{1} << 30;  // Linux reads and writes at most 2 GiB - 4 KiB a call

Error failed(const char* doing, const std::string& path, int number) {
  return {Code::unreadable, fmt::format("cannot {} '{}': {}", doing, path, std::generic_category().message(number))};
}

/// Closes on every way out.
struct Descriptor {
  int number = -1;
  Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

uint64_t page_bytes() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }
uint64_t round_up(uint64_t n, uint64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/// Errors: it cannot be asked, or is no regular file.
Result<uint64_t> size_of(int descriptor, const std::string& path) {
  struct stat about = {};
  if (::fstat(descriptor, &about) != 0) return failed("open", path, errno);
  if (!S_ISREG(about.st_mode))
    return failure(Code::unreadable, "cannot open '{}': it is {}, not a regular file", path,
                   S_ISDIR(about.st_mode) ? "a folder" : "a device, pipe or socket");
  return static_cast<uint64_t>(about.st_size);
}

int64_t modified_at(const struct stat& about) {
  return int64_t{about.st_mtim.tv_sec} * 1'000'000'000 + about.st_mtim.tv_nsec;
}

/// O_NONBLOCK: opening a pipe or a device must not wait; regular files ignore it. A path that the system would cut at
/// a character 0 is that of another file.
Descriptor open_to_read(const std::string& path) {
  if (path.find('\0') != std::string::npos) return errno = EINVAL, Descriptor{-1};
  return {::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
}

/// The bytes from `from` on.
Status read_all(int descriptor, const std::string& path, char* to, size_t size, uint64_t from = 0) {
  for (size_t done = 0; done < size;) {
    const ssize_t n =
        ::pread(descriptor, to + done, std::min(size - done, kMaxPerCall), static_cast<off_t>(from + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("read", path, errno);
    if (n == 0)
      return failure(Code::unreadable, "'{}' became shorter while it was read: {} bytes of {}", path, from + done,
                     from + size);
    done += static_cast<size_t>(n);
  }
  return {};
}

}  // namespace

Result<std::string> read_begin(const std::string& path, size_t max) {
  const Descriptor file = open_to_read(path);
  if (file.number < 0) return failed("open", path, errno);
  NNEX_ASSIGN(const uint64_t size, size_of(file.number, path));
  std::string begin(static_cast<size_t>(std::min<uint64_t>(size, max)), '\0');
  NNEX_TRY(read_all(file.number, path, begin.data(), begin.size()));
  return begin;
}

Status MappedFile::check_unwritten() const {
  struct stat about = {};
  if (!mapped_ || ::stat(path_.c_str(), &about) != 0) return {};
  if (about.st_dev != opened_.device || about.st_ino != opened_.inode) return {};
  if (static_cast<uint64_t>(about.st_size) == size_ && modified_at(about) == opened_.modified) return {};
  return failure(Code::unreadable, "'{}' was written to while it was mapped; load it again", path_);
}

std::shared_ptr<MemoryAccount> default_account() { return std::make_shared<MemoryAccount>(usable_memory() / 4 * 3); }

Result<MappedFile> MappedFile::open(const std::string& path, MapPolicy policy, std::shared_ptr<MemoryAccount> account) {
  const Descriptor file = open_to_read(path);
  if (file.number < 0) return failed("open", path, errno);
  return from_descriptor(file.number, path, policy, std::move(account));
}

Result<MappedFile> MappedFile::from_descriptor(int descriptor, const std::string& path, MapPolicy policy,
                                               std::shared_ptr<MemoryAccount> account) {
  NNEX_ASSIGN(const uint64_t size, size_of(descriptor, path));
  if (size > PTRDIFF_MAX)
    return failure(Code::limit, "'{}' has {} bytes; at most {} are allowed", path, size, PTRDIFF_MAX);
  FileWatch::opened(descriptor);
  MappedFile file;
  if (size == 0) return file;
  if (!account) account = default_account();
  bool map = policy == MapPolicy::always || (policy == MapPolicy::automatic && size >= kMapFrom);
  if (!map && !account->take(static_cast<int64_t>(size))) {
    if (policy == MapPolicy::never)
      return failure(Code::limit, "'{}' has {} bytes; {} are held of the {} that reading may take", path, size,
                     account->held(), account->limit());
    map = true;
  }
  if (map) {
    void* address = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) return failed("map", path, errno);
    file.data_ = static_cast<char*>(address);
    file.mapped_ = true;
    file.path_ = path;
    struct stat about = {};
    if (::fstat(descriptor, &about) != 0) return failed("open", path, errno);
    file.opened_ = {about.st_dev, about.st_ino, modified_at(about)};
  } else {
    file.account_ = std::move(account);
    file.size_ = static_cast<size_t>(size);
    file.data_ = static_cast<char*>(allocate_aligned(static_cast<int64_t>(size)));
    if (!file.data_) return failure(Code::limit, "no memory for the {} bytes of '{}'", size, path);
    NNEX_TRY(read_all(descriptor, path, file.data_, file.size_));
  }
  file.size_ = static_cast<size_t>(size);
  return file;
}

namespace {

thread_local FileWatch* file_watch = nullptr;

SeenFile seen(std::string path, const struct stat& about) {
  constexpr int64_t kSecond = 1'000'000'000;
  SeenFile file;
  file.path = std::move(path);
  file.bytes = static_cast<uint64_t>(about.st_size);
  file.modified = about.st_mtim.tv_sec * kSecond + about.st_mtim.tv_nsec;
  file.changed = about.st_ctim.tv_sec * kSecond + about.st_ctim.tv_nsec;
  file.inode = about.st_ino;
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  file.fresh = now.tv_sec * kSecond + now.tv_nsec - file.modified < 2 * kSecond;  // the coarsest clock of a file system
  return file;
}

}  // namespace

std::optional<SeenFile> look_at(const std::string& path) {
  struct stat about = {};
  if (::stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  return seen(path, about);
}

FileWatch::FileWatch() : outer_(file_watch) { file_watch = this; }
FileWatch::~FileWatch() { file_watch = outer_; }

void FileWatch::opened(int descriptor) {
  struct stat about = {};
  if (!file_watch || ::fstat(descriptor, &about) != 0) return;
  std::error_code unnamed;
  const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), unnamed);
  SeenFile file = seen(unnamed ? std::string() : path.string(), about);
  for (FileWatch* watch = file_watch; watch; watch = watch->outer_) {
    auto& files = watch->files_;
    if (std::none_of(files.begin(), files.end(), [&](const SeenFile& f) { return f.same(file); }))
      files.push_back(file);
  }
}

MappedFile::~MappedFile() {
  if (mapped_) {
    ::munmap(data_, size_);
  } else {
    std::free(data_);
    if (account_) account_->give_back(static_cast<int64_t>(size_));
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

bool release_pages(const std::shared_ptr<const void>& owner, const void* at, uint64_t size) {
  const MappedFile* const file = file_of(owner);
  if (!file || !file->mapped()) return false;
  file->release_pages(static_cast<uint64_t>(static_cast<const char*>(at) - file->bytes().data()), size);
  return true;
}

namespace {

/// Where a path leads to.
struct Target {
  std::string path;
  bool stream = false;  ///< Written into, not replaced.
  bool link = false;    ///< A link was followed.
};

/// Follows links to the file they lead to, be it there or not. A device, pipe or socket is written into, as is what the
/// system's own names of open files lead to. Error: unreadable for links in a circle.
Result<Target> target_of(const std::string& path) {
  if (path.find('\0') != std::string::npos) return failed("write", path, EINVAL);
  std::filesystem::path at(path);
  for (int hops = 0; hops < 40; ++hops) {
    struct stat about = {};
    if (::lstat(at.c_str(), &about) != 0) return Target{at.string(), false, hops > 0};
    if (!S_ISLNK(about.st_mode))
      return Target{at.string(), !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode), hops > 0};
    if (at.string().rfind("/dev/", 0) == 0 || at.string().rfind("/proc/", 0) == 0)
      return Target{at.string(), true, true};
    std::error_code unread;
    const std::filesystem::path to = std::filesystem::read_symlink(at, unread);
    if (unread) return failed("write", path, unread.value());
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return failed("write", path, ELOOP);
}

bool is_there(const std::string& path) {
  struct stat about = {};
  return ::lstat(path.c_str(), &about) == 0;
}

Error exists(const std::string& path) {
  return failure(Code::invalid_argument, "'{}' exists", path).helped_by({"overwrite", "replace", "replaces it"});
}

Result<Target> free_target(const std::string& path, Existing existing) {
  NNEX_TRY(check_choice("existing", existing, Existing::replace_link));
  NNEX_ASSIGN(Target target, target_of(path));
  if (target.stream || existing == Existing::replace) return target;
  if (existing == Existing::refuse && is_there(path)) return exists(path);
  return Target{path};
}

/// Writes go on where this process's own output stands.
int open_stream(const std::string& path) {
  if (path == "/dev/stdout") return std::fflush(stdout), ::dup(STDOUT_FILENO);
  if (path == "/dev/stderr") return ::dup(STDERR_FILENO);
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

/// Tries `make` on names beside the path until one is nobody's; with the mode that the process's mask leaves, which
/// mkstemp() and mkdtemp() ignore. `make` gives less than 0 and sets errno where it fails.
template <class Make>
int make_beside(const std::string& path, std::string& made, Make make) {
  static std::atomic<uint64_t> last{0};
  UnfinishedLock unfinished;
  for (int tries = 0; tries < 1000; ++tries) {
    made = fmt::format("{}.{:x}-{:x}.tmp", path, ::getpid(), ++last);
    const int got = make(made.c_str());
    if (got >= 0) unfinished.add(made);
    if (got >= 0 || errno != EEXIST) return got;
  }
  return -1;
}

/// Where a file or folder of the path would be.
std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Why nothing could be made there: the system says of a missing folder that the file is missing, and of a file in its
/// place that it may not be entered.
Error cannot_write(const std::string& path, const std::string& target, int number) {
  const std::string folder = folder_of(target);
  std::error_code unknown;
  const auto is = std::filesystem::status(folder, unknown).type();
  if (is == std::filesystem::file_type::not_found)
    return {Code::unreadable, fmt::format("cannot write '{}': there is no folder '{}'", path, folder)};
  if (is != std::filesystem::file_type::none && is != std::filesystem::file_type::unknown &&
      is != std::filesystem::file_type::directory)
    return {Code::unreadable, fmt::format("cannot write '{}': '{}' is no folder", path, folder)};
  return failed("write", path, number);
}

/// Gives a finished file its name where nothing has that yet. A link is refused where something is there, unlike a
/// rename; where the file system has no links, somebody quick enough could be overwritten.
int rename_to_free(const char* from, const char* to) {
  if (::link(from, to) == 0) return ::unlink(from);
  if (errno == EEXIST) return -1;
  if (is_there(to)) return errno = EEXIST, -1;
  return ::rename(from, to);
}

}  // namespace

Status may_write(const std::string& path, Existing existing) {
  NNEX_ASSIGN(const Target target, free_target(path, existing));
  if (!target.stream && ::access(folder_of(target.path).c_str(), W_OK | X_OK) != 0)
    return cannot_write(path, target.path, errno);
  return {};
}

Result<std::string> make_folder_beside(const std::string& path) {
  std::string made;
  if (make_beside(path, made, [](const char* name) { return ::mkdir(name, 0777); }) < 0)
    return cannot_write(path, path, errno);
  return made;
}

void remove_abandoned(const std::string& path) {
#if !defined(__EMSCRIPTEN__)
  namespace fs = std::filesystem;
  const std::string begin = fs::path(path).filename().string() + ".";
  std::error_code error;
  for (fs::directory_iterator at(folder_of(path), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(".tmp")) continue;
    const auto seen = look_at(at->path().string());
    if (!seen || seen->fresh) continue;  // its writer may be about to take the lock, or to rename it
    const Descriptor file = open_to_read(seen->path);
    // Else the writer holds the lock until it ends, in whatever way.
    if (file.number >= 0 && ::flock(file.number, LOCK_EX | LOCK_NB) == 0) ::unlink(at->path().c_str());
  }
#else
  (void)path;
#endif
}

Result<FileWriter> FileWriter::create(const std::string& path, Existing existing) {
  FileWriter writer;
  NNEX_ASSIGN(Target target, free_target(path, existing));
  if (target.stream) {
    writer.path_ = path;
    writer.descriptor_ = open_stream(target.path);
    if (writer.descriptor_ < 0) return failed("write", path, errno);
    return writer;
  }
  writer.path_ = std::move(target.path);
  writer.existing_ = existing;
  writer.descriptor_ = make_beside(writer.path_, writer.temporary_, [](const char* name) {
    return ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  });
  if (writer.descriptor_ < 0) {
    writer.temporary_.clear();
    return cannot_write(path, writer.path_, errno);
  }
#if !defined(__EMSCRIPTEN__)
  (void)::flock(writer.descriptor_, LOCK_EX | LOCK_NB);  // for remove_abandoned()
#endif
  struct stat old = {};  // a file that is replaced leaves its mode
  if (::lstat(writer.path_.c_str(), &old) == 0 && S_ISREG(old.st_mode))
    (void)::fchmod(writer.descriptor_, old.st_mode & 0777);
  return writer;
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (temporary_.empty()) return;
  UnfinishedLock unfinished;
  ::unlink(temporary_.c_str());
  unfinished.drop(temporary_);
}

Status FileWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMaxPerCall));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", path_, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status FileWriter::sync() {
  if (descriptor_ < 0) return {};
  const bool stream = temporary_.empty();  // pipes and devices have nothing to sync, and no other name
  if (::fsync(descriptor_) != 0 && !(stream && (errno == EINVAL || errno == EROFS || errno == ENOTSUP)))
    return failed("write", path_, errno);
  return close();
}

Status FileWriter::close() {
  if (descriptor_ >= 0 && ::close(std::exchange(descriptor_, -1)) != 0) return failed("write", path_, errno);
  return {};
}

Status FileWriter::rename() {
  const auto give = existing_ == Existing::refuse ? rename_to_free : ::rename;
  UnfinishedLock unfinished;
  if (give(temporary_.c_str(), path_.c_str()) != 0)
    return existing_ == Existing::refuse && errno == EEXIST ? exists(path_) : failed("write", path_, errno);
  unfinished.drop(temporary_);
  temporary_.clear();
  return {};
}

Status FileWriter::commit_unsynced() {
  NNEX_TRY(close());
  return temporary_.empty() ? Status() : rename();
}

Status FileWriter::commit() {
  NNEX_TRY(sync());
  if (temporary_.empty()) return {};
  NNEX_TRY(rename());
  // The new name itself is durable once its folder is synced; a file system that cannot do that has done what it can.
  const size_t slash = path_.find_last_of('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const Descriptor opened{::open(folder.c_str(), O_RDONLY | O_CLOEXEC)};
  if (opened.number >= 0) (void)::fsync(opened.number);
  return {};
}

Status write_file(const std::string& path, std::string_view bytes, Existing existing) {
  NNEX_ASSIGN(FileWriter writer, FileWriter::create(path, existing));
  NNEX_TRY(writer.write(bytes));
  return writer.commit();
}

bool has_ending(std::string_view path, std::string_view ending) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return path.size() > ending.size() &&
         std::equal(ending.begin(), ending.end(), path.end() - static_cast<ptrdiff_t>(ending.size()),
                    [&](char a, char b) { return small(a) == small(b); });
}

Result<std::string> read_file(const std::string& path) {
  NNEX_ASSIGN(const MappedFile file, MappedFile::open(path, MapPolicy::never));
  return std::string(file.bytes());
}

Result<FileDigest> digest_file(const std::string& path) {
  const Descriptor file = open_to_read(path);
  if (file.number < 0) return failed("open", path, errno);
  NNEX_ASSIGN(const uint64_t size, size_of(file.number, path));
  FileDigest out;
  Sha256 sum;
  std::vector<char> piece(size_t{1} << 20);
  while (out.bytes < size) {
    const size_t n = std::min<uint64_t>(size - out.bytes, piece.size());
    NNEX_TRY(read_all(file.number, path, piece.data(), n, out.bytes));
    sum.add(piece.data(), n);
    out.bytes += n;
  }
  out.sha256 = sum.text();
  return out;
}

}  // namespace nnex
