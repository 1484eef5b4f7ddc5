#pragma once
// Bodies that are compressed: Content-Encoding gzip and deflate (RFC 9110, 8.4.1), where the build has zlib.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "nnex/result.h"

namespace nnex::serve {

enum class Coding : uint8_t { none, gzip, deflate };

/// "gzip", "deflate", "identity"
std::string_view name_of(Coding coding);
/// What a body is that names its coding so, in any letters ("" and "identity": none); nothing where it cannot be read.
std::optional<Coding> coding_of(std::string_view content_encoding);
/// "gzip, deflate or identity"
std::string_view known_codings();
/// What an answer may be compressed by, of what its client takes: gzip where it takes both alike.
Coding accepted(std::string_view accept_encoding);

/// The body as it was. `room` is asked with the bytes that are held, before more are taken. Errors: invalid_argument
/// (broken, cut short, or more follows), limit (more than `max` bytes), those of `room`.
Result<std::string> unpacked(std::string_view packed, Coding coding, size_t max,
                             const std::function<Status(int64_t bytes)>& room);

/// The body compressed; nothing where that takes as many bytes, or memory for it cannot be had.
std::optional<std::string> packed(std::string_view body, Coding coding);

}  // namespace nnex::serve
