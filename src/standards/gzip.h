#pragma once
// gzip in memory, by zlib; a build without it says so.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/memory_account.h"
#include "nnex/result.h"

namespace nnex {

/// Whether the bytes begin as gzip's do.
inline bool is_gzip(std::string_view bytes) { return bytes.size() >= 2 && bytes.substr(0, 2) == "\x1f\x8b"; }

/// Bytes in memory that an account counts, and their owner.
struct Unpacked {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

/// The unpacked bytes. Errors: unreadable (cut short, broken), limit (more than `most` bytes, or than the account
/// gives), unsupported (no zlib).
Result<Unpacked> gunzip(std::string_view bytes, uint64_t max, const std::shared_ptr<MemoryAccount>& memory);

/// Packs a stream; the same bytes for the same input: no name, no time.
class Gzip {
 public:
  static Result<Gzip> start();
  Gzip(Gzip&&) noexcept;
  Gzip& operator=(Gzip&&) noexcept;
  ~Gzip();

  /// Takes more input; appends what is packed so far.
  Status add(std::string_view bytes, std::string& out);
  Status finish(std::string& out);

  struct Stream;

 private:
  explicit Gzip(std::unique_ptr<Stream> stream);
  std::unique_ptr<Stream> stream_;
};

}  // namespace nnex
