#pragma once
/// Files, whole: read into memory, or written so that a failure loses nothing.

#include <cstdint>
#include <string>
#include <string_view>

#include "nnex/result.h"

#pragma GCC visibility push(default)
namespace nnex {

/// What becomes of a file that has the name already. Pipes and devices are written into in any case.
enum class Existing : unsigned char {
  refuse,       ///< It stays, and so does a link, wherever it leads to: an error.
  replace,      ///< It is replaced; a link stays, and the file it leads to is replaced or made.
  replace_link  ///< It is replaced, and so is a link itself: for names that nobody typed.
};

/// Whether a file may be written there. Errors: invalid_argument "'x' exists", unreadable (links in a circle).
Status may_write(const std::string& path, Existing existing);

/// Writes a file under a temporary name beside it, syncs it and renames it: until then an older file of that name
/// stays as it was. Errors: those of may_write; unreadable "cannot write 'x': Permission denied".
Status write_file(const std::string& path, std::string_view bytes, Existing existing = Existing::refuse);

/// The bytes of a regular file. Errors: unreadable; limit (more than three quarters of what this process may have).
Result<std::string> read_file(const std::string& path);

/// Whether a path has a name before this ending. Letters of ASCII count alike, large and small: "a.PNG" ends in ".png".
bool has_ending(std::string_view path, std::string_view ending);

/// What a file holds, named.
struct FileDigest {
  uint64_t bytes = 0;
  std::string sha256;  ///< 64 hexadecimal letters.
};

/// The digest of a regular file, which is read in pieces of 1 MiB. Errors: unreadable.
Result<FileDigest> digest_file(const std::string& path);

}  // namespace nnex
#pragma GCC visibility pop
