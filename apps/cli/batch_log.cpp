// nnex batch: manifests and claims.

#include "batch_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "nnex/file.h"
#include "shared/try.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"item", "output"};

bool is_utf8(const Json& text) {
  try {
    (void)text.dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

int hex_digit(char c) {
  const size_t at = std::string_view("0123456789ABCDEF").find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

/// Names of files are bytes, and JSON has texts: %XX stands for each byte that is no ASCII, and for the percent sign.
std::string escaped(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == '%' || static_cast<unsigned char>(c) >= 0x80)
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

/// Of a line's name: what escaped() had. What is no escape stays.
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    out += low < 0 ? text[i] : static_cast<char>(high * 16 + low);
    if (low >= 0) i += 2;
  }
  return out;
}

/// The line with names that any reader of JSON takes.
Json with_escapes(Json line) {
  const bool plain = std::all_of(std::begin(kNames), std::end(kNames),
                                 [&](const char* name) { return !line.contains(name) || is_utf8(line[name]); });
  if (plain) return line;
  for (const char* name : kNames)
    if (line.contains(name)) line[name] = escaped(line[name].get<std::string>());
  line["escaped"] = true;
  return line;
}

bool is_manifest(const fs::path& path) {
  return path.extension() == ".jsonl" && path.filename().string().starts_with("manifest");
}

template <class T>
T field(const Json& line, const char* name) {
  const auto it = line.find(name);
  if (it == line.end()) return {};
  if constexpr (std::is_same_v<T, std::string>)
    return it->is_string() ? it->get<std::string>() : T{};
  else
    return it->is_number_integer() ? it->get<T>() : T{};
}

}  // namespace

bool Manifest::is_in(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (is_manifest(entry.path())) return true;
  return false;
}

Result<Manifest> Manifest::read(const fs::path& folder, const std::string& key) {
  Manifest out;
  out.folder_ = folder;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!is_manifest(entry.path())) continue;
    std::ifstream in(entry.path());
    if (!in) return Error(Code::unreadable, fmt::format("cannot read '{}'", entry.path().string()));
    bool ours = false;
    for (std::string text; std::getline(in, text);) {
      const Json line = Json::parse(text, nullptr, false);
      if (!line.is_object()) continue;  // a process ended in the middle of it
      if (line.contains("schema")) {
        ours = field<std::string>(line, "key") == key;
      } else if (std::string item = field<std::string>(line, "item"); ours && !item.empty()) {
        std::string output = field<std::string>(line, "output");
        if (const auto escapes = line.find("escaped"); escapes != line.end() && *escapes == true)
          item = unescaped(item), output = unescaped(output);
        if (line.contains("error")) continue;
        out.done_.emplace(std::move(item),
                          Done{field<int64_t>(line, "size"), field<int64_t>(line, "changed"),
                               field<int64_t>(line, "bytes"), std::move(output), field<std::string>(line, "sha256")});
      }
    }
  }
  return out;
}

bool Manifest::has(const Item& item) const {
  const auto [begin, end] = done_.equal_range(item.name);
  return std::any_of(begin, end, [&](const auto& each) {
    const Done& done = each.second;
    return done.size == item.size && done.changed == item.changed && is_there(done);
  });
}

/// Whether the answer has the bytes that were written then: another may have the same size.
bool Manifest::is_there(const Done& done) const {
  const fs::path path = folder_ / done.output;
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error || static_cast<int64_t>(bytes) != done.bytes) return false;
  const auto digest = digest_file(path.string());
  return digest.ok() && digest->sha256 == done.sha256;
}

Result<std::unique_ptr<ManifestWriter>> ManifestWriter::open(const fs::path& file, const Json& batch) {
  const int number = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (number < 0)
    return Error(Code::unreadable, fmt::format("cannot write '{}': {}", file.string(), std::strerror(errno)));
  std::unique_ptr<ManifestWriter> out(new ManifestWriter(number, file.string()));
  if (::flock(number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)  // some file systems have no locks
    return Error(
        Code::invalid_argument,
        fmt::format("'{}' is written by another process; --share shares a batch among several", file.string()));
  // A line that a process could not end is ended, so that what follows stays a line.
  char last = '\n';
  const off_t end = ::lseek(number, 0, SEEK_END);
  if (end > 0 && ::pread(number, &last, 1, end - 1) == 1 && last != '\n' && ::write(number, "\n", 1) != 1)
    return Error(Code::unreadable, fmt::format("cannot write '{}': {}", file.string(), std::strerror(errno)));
  NNEX_TRY(out->add(batch));
  return out;
}

ManifestWriter::~ManifestWriter() {
  (void)::fsync(file_);
  ::close(file_);
}

Status ManifestWriter::add(const Json& line) {
  // A line that a lost process began stays a line of its own: an empty one does no harm.
  const std::string text = with_escapes(line).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = ::write(file_, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Error(Code::unreadable, fmt::format("cannot write '{}': {}", path_, std::strerror(errno)));
    at += static_cast<size_t>(n);
  }
  return {};
}

Claims::Claims(fs::path folder, double lease) : folder_(std::move(folder)), lease_(lease) {
  renewing_ = std::thread([this] { renew(); });
}

Result<std::unique_ptr<Claims>> Claims::open(const fs::path& folder, double lease) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error(Code::unreadable, fmt::format("cannot make '{}': {}", folder.string(), error.message()));
  return std::unique_ptr<Claims>(new Claims(folder, lease));
}

Claims::~Claims() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ending_.notify_all();
  renewing_.join();
  std::error_code error;
  for (const std::string& part : held_) fs::remove(claim_of(part), error);
}

void Claims::renew() {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, lease_ / 4, [&] { return ends_; })) {
    std::error_code error;
    for (const std::string& part : held_) fs::last_write_time(claim_of(part), fs::file_time_type::clock::now(), error);
  }
}

bool Claims::is_done(const std::string& part) const {
  std::error_code error;
  return fs::exists(done_of(part), error);
}

bool Claims::claim(const std::string& part) {
  std::error_code error;
  const fs::path file = claim_of(part);
  const auto renewed = fs::last_write_time(file, error);
  if (!error) {
    const auto now = Clock::now();
    const auto [seen, is_new] = others_.try_emplace(part, Seen{renewed, now});
    if (!is_new && seen->second.renewed != renewed) seen->second = {renewed, now};
    if (now - seen->second.since < lease_) return false;
    // Of several that find it so, one renames it.
    const fs::path away = folder_ / fmt::format("{}.{}.lost", part, ::getpid());
    fs::rename(file, away, error);
    if (error) return false;
    fs::remove(away, error);
  }
  others_.erase(part);
  const int number = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (number < 0) return false;
  ::close(number);
  const std::lock_guard lock(mutex_);
  held_.insert(part);
  return true;
}

Status Claims::done(const std::string& part) {
  std::error_code error;
  fs::rename(claim_of(part), done_of(part), error);
  if (error) {  // another took it over meanwhile
    const int number = ::open(done_of(part).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (number < 0)
      return Error(Code::unreadable,
                   fmt::format("cannot write '{}': {}", done_of(part).string(), std::strerror(errno)));
    ::close(number);
  }
  const std::lock_guard lock(mutex_);
  held_.erase(part);
  return {};
}

void Claims::reopen(const std::string& part) {
  std::error_code error;
  fs::remove(done_of(part), error);
}

}  // namespace nnex::cli
