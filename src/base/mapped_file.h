#pragma once
// A whole file as bytes, copied or mapped; and a file written in pieces so that a failure loses nothing.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory_account.h"
#include "nnex/file.h"
#include "nnex/result.h"

namespace nnex {

/// Whether a file is mapped or copied. Cutting a mapped file short kills its reader (SIGBUS), so `automatic` copies
/// files under 64 MiB and maps larger ones, and those there is no memory for; `never` suits servers that take uploads.
enum class MapPolicy : unsigned char { automatic, never, always };

/// The bytes of one regular file, unchanging in size while this lives. Moves only; the bytes stay where they are.
class MappedFile {
 public:
  /// Opens, measures, and copies or maps. What is copied is counted by the account (none: one of its own, of three
  /// quarters of what this process may have) while this lives. Errors: unreadable ("cannot open 'x': No such file or
  /// directory", not a regular file, shorter than it said), limit where a copy passes the account's limit or the
  /// memory.
  static Result<MappedFile> open(const std::string& path, MapPolicy policy = MapPolicy::automatic,
                                 std::shared_ptr<MemoryAccount> account = nullptr);
  /// The same for a descriptor, which stays the caller's; `path` is for messages.
  static Result<MappedFile> from_descriptor(int descriptor, const std::string& path, MapPolicy policy,
                                            std::shared_ptr<MemoryAccount> account);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
  }
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }
  bool mapped() const { return mapped_; }
  /// Error where a file that is mapped was written to since: unreadable. One that was replaced stays as it was, and so
  /// do copies.
  Status check_unwritten() const;
  /// Gives the memory of whole pages inside [offset, offset + size) back; their bytes are read from the file again when
  /// touched. Does nothing where the file was copied.
  void release_pages(uint64_t offset, uint64_t size) const;

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    path_.swap(other.path_);
    std::swap(opened_, other.opened_);
    account_.swap(other.account_);
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  /// Which file it was, and when somebody wrote to it last.
  struct Opened {
    uint64_t device = 0, inode = 0;
    int64_t modified = 0;  ///< Nanoseconds since 1970.
  };
  std::string path_;
  Opened opened_;
  std::shared_ptr<MemoryAccount> account_;  ///< Of a copy.
};

/// A regular file as somebody found it: who finds the same finds the same content.
struct SeenFile {
  std::string path;  ///< Without links.
  uint64_t bytes = 0;
  int64_t modified = 0;  ///< Nanoseconds since 1970.
  int64_t changed = 0;   ///< The same of the file system's own note, which archives and programs cannot set back.
  uint64_t inode = 0;
  /// It was modified so short a time before that somebody may do it again and nothing of this tells.
  bool fresh = false;

  bool same(const SeenFile& other) const {
    return path == other.path && bytes == other.bytes && modified == other.modified && changed == other.changed &&
           inode == other.inode;
  }
};
/// Nothing where no regular file is there.
std::optional<SeenFile> look_at(const std::string& path);

/// While it lives, tells which files this thread opens as MappedFile. Files of systems that do not name them are told
/// without a path.
class FileWatch {
 public:
  FileWatch();
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Each once.
  const std::vector<SeenFile>& files() const { return files_; }

 private:
  friend class MappedFile;
  static void opened(int descriptor);
  std::vector<SeenFile> files_;
  FileWatch* outer_;
};

/// The first bytes of a regular file, at most so many. Errors: those of opening it.
Result<std::string> read_begin(const std::string& path, size_t max);

/// An account for what reading one thing may take where nothing else is said: three quarters of what this process may
/// have.
std::shared_ptr<MemoryAccount> default_account();

/// A file that tensors keep alive.
std::shared_ptr<const MappedFile> shared_file(MappedFile file);
/// The file of shared_file() behind an owner, be it told by type or not; null for every other owner.
const MappedFile* file_of(const std::shared_ptr<const void>& owner);
/// MappedFile::release_pages of what lies in memory of `owner`; whether that is a mapped file.
bool release_pages(const std::shared_ptr<const void>& owner, const void* at, uint64_t size);

/// Gives the memory of whole pages inside [at, at + size) back, which is the process's own; their content is lost.
void discard_pages(const void* at, uint64_t size);

/// What that means for a file beside one that is written, which has its name from that.
constexpr Existing beside_of(Existing existing) {
  return existing == Existing::refuse ? Existing::refuse : Existing::replace_link;
}

/// Makes an empty folder beside `path` that nobody else has, as mkdir() makes one: its name, which is among what is
/// unfinished (base/unfinished.h).
Result<std::string> make_folder_beside(const std::string& path);

/// Removes what writers of the path left beside it that were killed: temporary files that nobody holds any more.
void remove_abandoned(const std::string& path);

/// Writes a file in pieces under a temporary name beside it, then commit() syncs and renames. Without commit() nothing
/// is left and an older file of that name stays as it was.
class FileWriter {
 public:
  /// Errors: those of may_write; unreadable "cannot write 'x': Permission denied".
  static Result<FileWriter> create(const std::string& path, Existing existing = Existing::refuse);

  FileWriter(FileWriter&& other) noexcept { swap(other); }
  FileWriter& operator=(FileWriter&& other) noexcept {
    FileWriter(std::move(other)).swap(*this);
    return *this;
  }
  ~FileWriter();

  Status write(std::string_view bytes);
  /// All is on the disk, under the temporary name yet: of files that belong together each is synced before one is
  /// committed.
  Status sync();
  Status commit();
  /// The same for a file that can be made again: a crash of the machine may leave anything of it.
  Status commit_unsynced();

 private:
  FileWriter() = default;
  void swap(FileWriter& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(existing_, other.existing_);
    path_.swap(other.path_);
    temporary_.swap(other.temporary_);
  }
  Status close();
  Status rename();

  int descriptor_ = -1;
  Existing existing_ = Existing::refuse;
  std::string path_, temporary_;
};

}  // namespace nnex
