#pragma once
// A model of several files: a folder, a tar archive (gzip around it or not) that is read in memory, or what callbacks
// of a program give.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "nnex/result.h"
#include "nnex/source.h"
#include "standards/below.h"

namespace nnex {

using FileBytes = OwnedBytes;

struct ContainerLimits {
  static constexpr uint64_t kGrowth = 32;
  size_t entries = 100'000;                    ///< Of an archive.
  uint64_t bytes = INT64_MAX;                  ///< Unpacked.
  uint64_t growth = kGrowth;                   ///< Unpacked bytes for one of the archive's,
  uint64_t grows_freely = uint64_t{64} << 20;  ///< from this many bytes on.
};

/// Bytes that an archive of `size` bytes may unpack to.
uint64_t max_unpacked(uint64_t size, const ContainerLimits& limits);
/// What raises it.
Remedy more_unpacked(uint64_t size, const ContainerLimits& limits);

class Container {
 public:
  /// Opens a folder or an archive. Of a plain archive the files' bytes are the archive's own; files of a folder are
  /// opened when they are asked for. Errors: unreadable; those of read_tar and gunzip; each with the rule of NNEF they
  /// fall under (C8, C9).
  static Result<Container> open(const std::string& path, MapPolicy policy = MapPolicy::automatic,
                                const ContainerLimits& limits = {});
  /// An archive in memory; `name` is for messages. What it unpacks to is counted by the account (none: one of its own).
  static Result<Container> from_bytes(std::string name, FileBytes archive, const ContainerLimits& limits = {},
                                      std::shared_ptr<MemoryAccount> memory = nullptr);
  /// A folder; empty: none, every file is missing. Copies of its files are counted by the account. Links to files of
  /// the model's `home` (standards/below.h) are followed.
  static Container of_folder(std::string path, MapPolicy policy = MapPolicy::automatic,
                             std::shared_ptr<MemoryAccount> memory = nullptr, std::string home = {});
  /// The files that callbacks give, each read once; `name` is for messages. Errors: the callback's; invalid_argument (a
  /// callback is missing), invalid_model (a name that leaves the container).
  static Result<Container> of_reader(std::string name, FileReader reader);
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
  /// The same; nothing where there is no such file. `what` names it in messages about its name, `shown` in others.
  Result<std::optional<FileBytes>> find(const std::string& what, const std::string& name,
                                        const std::string& shown) const;
  /// The names of the files of an archive, or of those that callbacks give; none of folders.
  std::vector<std::string> names() const;
  /// What an archive or callbacks have below a folder, which names then begin at; places say where that is.
  Container below(const std::string& folder) const;
  /// Whether there is a file of such an ending, links aside.
  bool has_ending(const std::string& ending) const;
  /// "model.tar: w.dat", "model/w.dat": for messages.
  std::string place(const std::string& name) const;
  /// A file of that name below another folder of the archive, for hints; empty when there is none.
  std::string elsewhere(const std::string& name) const;

 private:
  std::string path_;
  std::shared_ptr<FolderFiles> folder_;  ///< Null: an archive, callbacks, or nothing.
  struct Given;
  std::shared_ptr<Given> given_;  ///< What callbacks give; null: another kind.
  std::string below_;             ///< Of it, or of an archive: the folder that names begin at, with its slash.
  std::shared_ptr<const void> owner_;
  std::map<std::string, std::string_view> files_;
  struct Added {
    std::string place;
    FileBytes file;
  };
  std::map<std::string, Added> added_;
};

}  // namespace nnex
