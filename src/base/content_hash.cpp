#include "base/content_hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace nnex {

std::string ContentHash::text() const { return fmt::format("{:016x}{:016x}", high, low); }

ContentHash content_hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace nnex
