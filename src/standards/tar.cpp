#include "standards/tar.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/failure.h"
#include "base/joined.h"
#include "base/try.h"
#include "standards/below.h"

namespace nnex {
namespace {

constexpr size_t kBlock = 512;
// Fields of a header: where, how long.
struct Part {
  size_t at, size;
};
constexpr Part kName{0, 100}, kMode{100, 8}, kUser{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kSum{148, 8}, kMagic{257, 6}, kPrefix{345, 155};
constexpr size_t kKind = 156;

std::string_view field(std::string_view header, Part part) {
  std::string_view s = header.substr(part.at, part.size);
  return s.substr(0, std::min(s.find('\0'), s.size()));
}

/// Octal digits between spaces, or GNU's big-endian number after a byte 0x80.
std::optional<uint64_t> number(std::string_view header, Part part) {
  std::string_view s = header.substr(part.at, part.size);
  uint64_t n = 0;
  if (static_cast<uint8_t>(s[0]) & 0x80) {
    for (size_t i = 0; i < s.size(); ++i) {
      const uint8_t byte = i ? static_cast<uint8_t>(s[i]) : static_cast<uint8_t>(s[i]) & 0x7f;
      if (n >> 55) return std::nullopt;
      n = n << 8 | byte;
    }
    return n;
  }
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  bool any = false;
  for (; !s.empty() && s.front() >= '0' && s.front() <= '7'; s.remove_prefix(1), any = true) {
    if (n >> 60) return std::nullopt;
    n = n * 8 + static_cast<uint64_t>(s.front() - '0');
  }
  if (!s.empty() && s.front() != ' ' && s.front() != '\0') return std::nullopt;
  return any || s.empty() || s.front() == '\0' ? std::optional(n) : std::nullopt;
}

bool in_checksum(size_t i) { return i >= kSum.at && i < kSum.at + kSum.size; }

uint64_t checksum(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) sum += in_checksum(i) ? ' ' : static_cast<uint8_t>(header[i]);
  return sum;
}

/// Whether the header's checksum is right. Some old programs sum characters with a sign.
bool right_checksum(std::string_view header) {
  const auto said = number(header, kSum);
  if (!said) return false;
  int64_t with_sign = 0;
  for (size_t i = 0; i < kBlock; ++i) with_sign += in_checksum(i) ? ' ' : static_cast<int8_t>(header[i]);
  return *said == checksum(header) || static_cast<int64_t>(*said) == with_sign;
}

bool zeros(std::string_view block) {
  return std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; });
}

std::string sized(Part part, uint64_t n) { return fmt::format("{:0{}o}", n, part.size - 1); }

/// A pax record: "LENGTH KEY=VALUE\n"; the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (fmt::formatted_size("{}", length) + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

/// What pax and GNU headers say of the file after them.
struct Announced {
  std::string path;
  std::optional<uint64_t> size;
};

Error unreadable(std::string message) { return Error(Code::unreadable, std::move(message)); }

Error sparse() { return unreadable("the archive holds sparse files; pack it again without tar's --sparse"); }

Status read_pax(std::string_view records, Announced& to) {
  while (!records.empty() && records.front() != '\0') {
    size_t length = 0, digits = 0;
    while (digits < std::min<size_t>(records.size(), 10) && records[digits] >= '0' && records[digits] <= '9')
      length = length * 10 + static_cast<size_t>(records[digits++] - '0');
    if (digits == 0 || length <= digits + 1 || length > records.size() || records[digits] != ' ' ||
        records[length - 1] != '\n')
      return unreadable("a pax header is broken");
    std::string_view record = records.substr(digits + 1, length - digits - 2);
    const size_t eq = record.find('=');
    if (eq == std::string_view::npos) return unreadable("a pax header is broken");
    const std::string_view key = record.substr(0, eq), value = record.substr(eq + 1);
    if (key == "path") to.path = std::string(value);
    if (key == "size") {
      uint64_t n = 0;
      if (value.empty()) return unreadable("a pax header says a broken size");
      for (char c : value) {
        if (c < '0' || c > '9' || n > UINT64_MAX / 20) return unreadable("a pax header says a broken size");
        n = n * 10 + static_cast<uint64_t>(c - '0');
      }
      to.size = n;
    }
    if (key.rfind("GNU.sparse", 0) == 0) return sparse();
    records.remove_prefix(length);
  }
  return {};
}

/// Walks the headers of an archive.
class TarReader {
 public:
  TarReader(std::string_view bytes, size_t max) : bytes_(bytes), max_(max) {}

  Result<std::map<std::string, std::string_view>> read() {
    if (!is_tar(bytes_)) return unreadable("not a tar archive");
    for (size_t entries = 0;;) {
      if (bytes_.size() - at_ < kBlock) return unreadable("the archive is cut short: it ends without a closing block");
      const std::string_view header = bytes_.substr(at_, kBlock);
      at_ += kBlock;
      if (zeros(header)) return std::move(files_);
      if (++entries > max_) return failure(Code::limit, "the archive holds more than {} entries", max_);
      NNEX_TRY(entry(header));
    }
  }

 private:
  Status entry(std::string_view header) {
    if (!right_checksum(header))
      return unreadable(fmt::format("the header at byte {} has a wrong checksum", at_ - kBlock));
    auto size = number(header, kSize);
    const char kind = header[kKind];
    const bool about_next = kind == 'x' || kind == 'X' || kind == 'L' || kind == 'K' || kind == 'g';
    if (!about_next && next_.size) size = next_.size;
    const size_t left = bytes_.size() - at_;
    if (!size || *size > left)
      return unreadable(fmt::format("the archive is cut short: {} bytes are left of a file of {}", left,
                                    size ? fmt::to_string(*size) : "a broken size"));
    const std::string_view content = bytes_.substr(at_, static_cast<size_t>(*size));
    at_ += std::min<size_t>(content.size() + tar_padding(content.size()), left);
    if (kind == 'x' || kind == 'X') return read_pax(content, next_);
    if (kind == 'L') {
      next_.path = std::string(content.substr(0, std::min(content.find('\0'), content.size())));
      return {};
    }
    if (about_next || kind == 'V') return {};  // of all files, of a link's target, of the volume
    std::string path = path_of(header);
    next_ = {};
    return add(kind, path, content);
  }

  std::string path_of(std::string_view header) const {
    if (!next_.path.empty()) return next_.path;
    std::string name(field(header, kName));
    const bool posix = header.substr(kMagic.at, kMagic.size) == std::string_view("ustar\0", 6);
    const std::string_view prefix = posix ? field(header, kPrefix) : std::string_view();
    return prefix.empty() ? name : fmt::format("{}/{}", prefix, name);
  }

  Status add(char kind, const std::string& path, std::string_view content) {
    NNEX_ASSIGN(std::vector<std::string> parts, path_parts("the archive's path", path));
    const bool folder = kind == '5' || kind == 'D' || path.back() == '/';
    if (kind == '1' || kind == '2')
      return failure(Code::invalid_model, "the archive's '{}' is a link; only files are read", path);
    if (kind == '3' || kind == '4' || kind == '6')
      return failure(Code::invalid_model, "the archive's '{}' is a device or pipe", path);
    if (kind == 'S') return sparse();
    if (folder) return {};
    if (kind != '0' && kind != '\0' && kind != '7')
      return failure(
          Code::invalid_model, "the archive's '{}' is an entry of the unknown kind '{}'; only files are read", path,
          kind > ' ' && kind <= '~' ? std::string(1, kind) : fmt::format("0x{:02x}", static_cast<uint8_t>(kind)));
    if (parts.empty()) return failure(Code::invalid_model, "the archive's path '{}' names no file", path);
    if (!files_.emplace(joined(parts, "/"), content).second)
      return failure(Code::invalid_model, "the archive holds '{}' twice", path);
    return {};
  }

  std::string_view bytes_;
  size_t max_, at_ = 0;
  Announced next_;
  std::map<std::string, std::string_view> files_;
};

void put(std::string& header, Part part, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), part.size), header.begin() + static_cast<std::ptrdiff_t>(part.at));
}

std::string plain_header(const std::string& path, uint64_t size, char kind) {
  std::string h(kBlock, '\0');
  std::string_view name = path, prefix;
  if (name.size() > kName.size) {
    const size_t cut = path.find('/', path.size() - kName.size - 1);
    if (cut <= kPrefix.size) prefix = name.substr(0, cut), name = name.substr(cut + 1);
  }
  put(h, kName, name);
  put(h, kPrefix, prefix);
  put(h, kMode, sized(kMode, 0644));
  put(h, kUser, sized(kUser, 0));
  put(h, kGroup, sized(kGroup, 0));
  put(h, kSize, sized(kSize, size));
  put(h, kTime, sized(kTime, 0));
  h[kKind] = kind;
  put(h, {kMagic.at, 6}, "ustar");
  put(h, {kMagic.at + 6, 2}, "00");
  const std::string sum = fmt::format("{:06o}", checksum(h));
  put(h, kSum, sum);
  h[kSum.at + 7] = ' ';
  return h;
}

bool fits_plain(const std::string& path) {
  if (path.size() <= kName.size) return true;
  const size_t cut = path.find('/', path.size() - kName.size - 1);
  return cut != std::string::npos && cut > 0 && cut <= kPrefix.size;
}

}  // namespace

bool is_tar(std::string_view bytes) {
  if (bytes.size() < kBlock) return false;
  const std::string_view header = bytes.substr(0, kBlock);
  if (zeros(header)) return bytes.size() % kBlock == 0 && bytes.size() >= kTarEnd && zeros(bytes.substr(0, kTarEnd));
  return right_checksum(header);
}

Result<std::map<std::string, std::string_view>> read_tar(std::string_view bytes, size_t max_entries) {
  return TarReader(bytes, max_entries).read();
}

std::string tar_header(const std::string& path, uint64_t size) {
  if (fits_plain(path)) return plain_header(path, size, '0');
  const std::string record = pax_record("path", path);
  std::string out = plain_header("pax/" + path.substr(path.size() - 60), record.size(), 'x');
  out += record;
  out.append(tar_padding(record.size()), '\0');
  return out + plain_header(path.substr(path.size() - 80), size, '0');
}

}  // namespace nnex
