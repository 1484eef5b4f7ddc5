// PKWARE's APPNOTE 6.3.10: local headers 4.3.7, the central directory 4.3.12 to 4.3.16, 64-bit sizes 4.5.3.
#include "api/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/byte_reader.h"
#include "base/failure.h"
#include "base/try.h"
#include "standards/gzip.h"

namespace nnex {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;
constexpr size_t kEndBytes = 22, kLocatorBytes = 20, kMaxComment = 0xFFFF;
constexpr uint32_t kElsewhere = 0xFFFFFFFF;  // the 64-bit field has it

uint32_t crc32_of(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xEDB88320 ^ (c >> 1) : c >> 1;
      table[i] = c;
    }
    return table;
  }();
  uint32_t c = 0xFFFFFFFF;
  for (const char b : bytes) c = kTable[(c ^ static_cast<uint8_t>(b)) & 255] ^ (c >> 8);
  return ~c;
}

struct Entry {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, at = 0;  ///< `at`: of the local header.
};

/// Where the central directory is.
struct Directory {
  uint64_t entries = 0, at = 0;
};

std::optional<Directory> find_directory(std::string_view bytes) {
  if (bytes.size() < kEndBytes) return std::nullopt;
  const size_t last = bytes.size() - kEndBytes, first = last - std::min(last, kMaxComment);
  for (size_t at = last + 1; at-- > first;) {
    ByteReader r(bytes);
    r.seek(at);
    if (r.number<uint32_t>() != kEnd) continue;
    r.skip(6);
    Directory d;
    d.entries = r.number<uint16_t>();
    r.skip(4);
    d.at = r.number<uint32_t>();
    if (r.number<uint16_t>() + at + kEndBytes > bytes.size()) continue;  // the mark by chance
    if (d.entries != 0xFFFF && d.at != kElsewhere) return d;
    if (at < kLocatorBytes) return d;
    r.seek(at - kLocatorBytes);
    if (r.number<uint32_t>() != kLocator64) return d;
    r.skip(4);
    r.seek(r.number<uint64_t>());
    if (r.number<uint32_t>() != kEnd64) return std::nullopt;
    r.skip(28);
    d.entries = r.number<uint64_t>();
    r.skip(8);
    d.at = r.number<uint64_t>();
    return r.ok() ? std::optional(d) : std::nullopt;
  }
  return std::nullopt;
}

/// The next entry of the directory; where it ends early the reader is no longer ok().
Entry read_entry(ByteReader& r) {
  Entry e;
  const bool marked = r.number<uint32_t>() == kCentral;
  r.skip(4);
  e.flags = r.number<uint16_t>();
  e.method = r.number<uint16_t>();
  r.skip(4);
  e.crc = r.number<uint32_t>();
  e.packed = r.number<uint32_t>();
  e.size = r.number<uint32_t>();
  const auto name = r.number<uint16_t>(), extra = r.number<uint16_t>(), comment = r.number<uint16_t>();
  r.skip(8);
  e.at = r.number<uint32_t>();
  e.name = r.bytes(name);
  ByteReader fields(r.bytes(extra));
  while (fields.remaining() >= 4) {
    const auto id = fields.number<uint16_t>();
    ByteReader field(fields.bytes(fields.number<uint16_t>()));
    if (id != 1) continue;
    for (uint64_t* wide : {&e.size, &e.packed, &e.at})
      if (*wide == kElsewhere) *wide = field.number<uint64_t>();
  }
  r.skip(comment);
  if (!marked) r.seek(UINT64_MAX);
  return e;
}

/// The entry's bytes as they lie in the archive.
std::optional<std::string_view> packed_bytes(std::string_view bytes, const Entry& e) {
  ByteReader r(bytes);
  r.seek(e.at);
  if (r.number<uint32_t>() != kLocal) return std::nullopt;
  r.skip(22);
  const auto name = r.number<uint16_t>(), extra = r.number<uint16_t>();
  r.skip(uint64_t{name} + extra);
  const std::string_view found = r.bytes(e.packed);
  return r.ok() ? std::optional(found) : std::nullopt;
}

template <class T>
void put(std::string& out, T number) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i) & 255);
}

/// The same stream in gzip's frame, whose reader checks sum and size.
Result<FileBytes> inflated(std::string_view packed, const Entry& e) {
  std::string framed("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  framed += packed;
  put<uint32_t>(framed, e.crc);
  put<uint32_t>(framed, static_cast<uint32_t>(e.size));
  NNEX_ASSIGN(Unpacked out, gunzip(framed, e.size, default_account()));
  if (out.bytes.size() != e.size)
    return failure(Code::unreadable, "it unpacks to {} bytes; {} are announced", out.bytes.size(), e.size);
  return FileBytes{out.bytes, std::move(out.owner)};
}

Result<FileBytes> read_content(std::string_view bytes, const Entry& e) {
  constexpr uint16_t kEncrypted = 1, kStored = 0, kDeflated = 8;
  if (e.flags & kEncrypted) return Error(Code::unsupported, "it is encrypted");
  if (e.method != kStored && e.method != kDeflated)
    return failure(Code::unsupported, "it is packed by method {}; needed 0 (stored) or 8 (deflated)", e.method);
  const auto packed = packed_bytes(bytes, e);
  if (!packed) return Error(Code::unreadable, "its bytes are not in the archive");
  if (e.method == kDeflated) return inflated(*packed, e);
  if (e.size != e.packed) return failure(Code::unreadable, "found {} bytes; {} are announced", e.packed, e.size);
  if (crc32_of(*packed) != e.crc) return Error(Code::unreadable, "its bytes are not those its checksum is of");
  return FileBytes{*packed, nullptr};
}

}  // namespace

Result<std::map<std::string, FileBytes>> read_zip(const std::string& path, std::string_view bytes,
                                                  const ContainerLimits& limits) {
  const auto directory = find_directory(bytes);
  if (!directory) return failure(Code::unreadable, "archive '{}' is no zip archive, or is cut short", path);
  if (directory->entries > limits.entries)
    return failure(Code::limit, "archive '{}' holds more than {} files", path, limits.entries);
  const uint64_t allowed = max_unpacked(bytes.size(), limits);
  const uint64_t max = std::min(allowed, static_cast<uint64_t>(default_account()->limit()));
  ByteReader r(bytes);
  r.seek(directory->at);
  std::map<std::string, FileBytes> files;
  uint64_t total = 0;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    const Entry e = read_entry(r);
    if (!r.ok()) return failure(Code::unreadable, "archive '{}': its directory is broken", path);
    if (e.name.empty() || e.name.back() == '/') continue;
    if (e.size > max - total) {
      Error larger(Code::limit, fmt::format("archive '{}' unpacks to more than {} bytes", path, max));
      if (max < allowed) return larger;  // of memory there is no more
      return std::move(larger).helped_by(more_unpacked(bytes.size(), limits));
    }
    total += e.size;
    auto content = read_content(bytes, e);
    if (!content.ok())
      return std::move(content).error().during(fmt::format("reading '{}' of archive '{}'", e.name, path));
    files.insert_or_assign(e.name, std::move(*content));
  }
  return files;
}

Result<std::string> zip_bytes(std::span<const std::pair<std::string, std::string>> files) {
  constexpr uint16_t kVersion = 20, kUtf8 = 1 << 11, kFirstDay = 0x21;  // zip knows no time before 1980
  const auto too_large = [] { return Error(Code::unsupported, "a zip archive of 4 GiB; save as .npy"); };
  std::string out, directory;
  if (files.size() >= 0xFFFF) return Error(Code::unsupported, "a zip archive of 65,535 files and more");
  for (const auto& [name, bytes] : files) {
    if (name.size() > 0xFFFF) return Error(Code::unsupported, "a name of more than 65,535 bytes");
    if (out.size() + bytes.size() + name.size() + 1024 > kElsewhere) return too_large();
    std::string common;
    put<uint16_t>(common, kVersion);
    put<uint16_t>(common, kUtf8);
    put<uint16_t>(common, 0);  // stored
    put<uint16_t>(common, 0);  // midnight
    put<uint16_t>(common, kFirstDay);
    put<uint32_t>(common, crc32_of(bytes));
    put<uint32_t>(common, static_cast<uint32_t>(bytes.size()));
    put<uint32_t>(common, static_cast<uint32_t>(bytes.size()));
    put<uint16_t>(common, static_cast<uint16_t>(name.size()));
    put<uint16_t>(common, 0);  // no extra fields
    put<uint32_t>(directory, kCentral);
    put<uint16_t>(directory, kVersion);
    directory += common;
    directory.append(10, '\0');  // no comment, disk 0, no attributes
    put<uint32_t>(directory, static_cast<uint32_t>(out.size()));
    directory += name;
    put<uint32_t>(out, kLocal);
    out += common;
    out += name;
    out += bytes;
  }
  if (out.size() + directory.size() > kElsewhere) return too_large();
  const auto at = static_cast<uint32_t>(out.size());
  out += directory;
  put<uint32_t>(out, kEnd);
  put<uint32_t>(out, 0);
  put<uint16_t>(out, static_cast<uint16_t>(files.size()));
  put<uint16_t>(out, static_cast<uint16_t>(files.size()));
  put<uint32_t>(out, static_cast<uint32_t>(directory.size()));
  put<uint32_t>(out, at);
  put<uint16_t>(out, 0);
  return out;
}

}  // namespace nnex
