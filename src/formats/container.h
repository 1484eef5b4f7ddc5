#pragma once
// A model of several files: a folder, or a tar archive (gzip around it or not) that is read in memory.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "nnex/result.h"

namespace nnex {

/// Bytes, and who keeps them.
struct FileBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

struct ContainerLimits {
  size_t entries = 100'000;                    ///< Of an archive.
  uint64_t bytes = uint64_t{16} << 30;         ///< Unpacked.
  uint64_t growth = 1000;                      ///< Unpacked bytes for one of the archive's,
  uint64_t grows_freely = uint64_t{64} << 20;  ///< from this many bytes on.
};

class Container {
 public:
  /// Opens a folder or an archive. Of a plain archive the files' bytes are the archive's own; files of a folder are
  /// opened when they are asked for. Errors: unreadable; those of read_tar and gunzip; each with the rule of NNEF they
  /// fall under (C8, C9).
  static Result<Container> open(const std::string& path, MapPolicy policy = MapPolicy::automatic,
                                const ContainerLimits& limits = {});
  /// An archive in memory; `name` is for messages.
  static Result<Container> from_bytes(std::string name, FileBytes archive, const ContainerLimits& limits = {});
  /// A folder; empty: none, every file is missing.
  static Container of_folder(std::string path, MapPolicy policy = MapPolicy::automatic);
  /// Puts a file over the container's own of that name; `place` is where it is, for messages.
  void add(std::string name, std::string place, FileBytes file);

  /// Whether the bytes begin as an archive's do.
  static bool is_archive(std::string_view bytes);

  /// The path of the folder or archive.
  const std::string& path() const { return path_; }
  /// Whether the container has a file of that name. False for names that no container may have.
  bool has(const std::string& name) const;
  /// A file's bytes. Errors: unreadable (there is none, a link), invalid_model (a name that leaves the container).
  Result<FileBytes> read(const std::string& name) const;
  /// "model.tar: w.dat", "model/w.dat": for messages.
  std::string place(const std::string& name) const;
  /// A file of that name below another folder of the archive, for hints; empty when there is none.
  std::string elsewhere(const std::string& name) const;

 private:
  std::string path_;
  bool folder_ = false;
  MapPolicy policy_ = MapPolicy::automatic;
  std::shared_ptr<const void> owner_;
  std::map<std::string, std::string_view> files_;
  struct Added {
    std::string place;
    FileBytes file;
  };
  std::map<std::string, Added> added_;
};

}  // namespace nnex
