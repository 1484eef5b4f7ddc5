#pragma once
// A whole file as bytes, copied or mapped; and a file written so that a failure loses nothing.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "nnex/result.h"

namespace nnex {

/// Whether a file is mapped or copied. Cutting a mapped file short kills its reader (SIGBUS), so `automatic` copies
/// files under 64 MiB and maps larger ones; `never` suits servers that take uploads.
enum class MapPolicy : unsigned char { automatic, never, always };

/// The bytes of one regular file, unchanging in size while this lives. Moves only; the bytes stay where they are.
class MappedFile {
 public:
  /// Opens, measures, and copies or maps. Errors: unreadable ("cannot open 'x': No such file or directory", not a
  /// regular file, shorter than it said), limit when longer than `most` bytes or too large for memory.
  static Result<MappedFile> open(const std::string& path, MapPolicy policy = MapPolicy::automatic,
                                 uint64_t most = UINT64_MAX);
  /// The same for a descriptor, which stays the caller's; `path` is for messages.
  static Result<MappedFile> from_descriptor(int descriptor, const std::string& path, MapPolicy policy, uint64_t most);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile(std::move(other)).swap(*this);
    return *this;
  }
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }
  bool mapped() const { return mapped_; }
  /// Gives the memory of whole pages inside [offset, offset + size) back; their bytes are read from the file again when
  /// touched. Does nothing where the file was copied.
  void release_pages(uint64_t offset, uint64_t size) const;

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
  }

  char* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
};

/// A file that tensors keep alive.
std::shared_ptr<const MappedFile> shared_file(MappedFile file);
/// The file of shared_file() behind an owner, be it told by type or not; null for every other owner.
const MappedFile* file_of(const std::shared_ptr<const void>& owner);

/// Gives the memory of whole pages inside [at, at + size) back, which is the process's own; their content is lost.
void discard_pages(const void* at, uint64_t size);

/// Writes a file in pieces under a temporary name beside it, then commit() syncs and renames. Without commit() nothing
/// is left and an older file of that name stays as it was.
class FileWriter {
 public:
  /// Errors: unreadable "cannot write 'x': Permission denied".
  static Result<FileWriter> create(const std::string& path);

  FileWriter(FileWriter&& other) noexcept { swap(other); }
  FileWriter& operator=(FileWriter&& other) noexcept {
    FileWriter(std::move(other)).swap(*this);
    return *this;
  }
  ~FileWriter();

  Status write(std::string_view bytes);
  Status commit();

 private:
  FileWriter() = default;
  void swap(FileWriter& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    path_.swap(other.path_);
    temporary_.swap(other.temporary_);
  }

  int descriptor_ = -1;
  std::string path_, temporary_;
};

/// FileWriter for a file that is in memory already.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace nnex
