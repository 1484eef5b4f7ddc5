// nnex batch: the items of a folder or list, and shards of them.

#include "batch_items.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "cli.h"
#include "nnex/elements.h"
#include "nnex/file.h"
#include "shared/try.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

Item item_at(std::string name, fs::path path) {
  Item item{std::move(name), std::move(path)};
  std::error_code error;
  fs::path timed = item.path;
  if (fs::is_directory(item.path, error))
    timed /= "input_0.pb";
  else if (const auto size = fs::file_size(item.path, error); !error)
    item.size = static_cast<int64_t>(size);
  struct stat about = {};
  if (::stat(timed.c_str(), &about) == 0) item.changed = about.st_mtim.tv_sec * 1'000'000'000LL + about.st_mtim.tv_nsec;
  return item;
}

/// What tells one folder from another, whatever it is called.
std::pair<dev_t, ino_t> identity_of(const fs::path& folder) {
  struct stat about = {};
  return ::stat(folder.c_str(), &about) == 0 ? std::pair(about.st_dev, about.st_ino) : std::pair<dev_t, ino_t>();
}

/// The items of a folder and of those below it. Each folder is visited once, by the name that is none of a link where
/// it has such a one: links may lead in circles.
class Walk {
 public:
  explicit Walk(const fs::path& except) { visited_.insert(identity_of(except)); }

  Status run(const fs::path& folder, std::vector<Item>& out) {
    visited_.erase(identity_of(folder));
    NNEX_TRY(enter(folder, "", out));
    while (!links_.empty()) {
      const auto links = std::exchange(links_, {});
      for (const auto& [name, path] : links) NNEX_TRY(enter(path, name + "/", out));
    }
    return {};
  }

 private:
  Status enter(const fs::path& folder, const std::string& prefix, std::vector<Item>& out) {
    if (!visited_.insert(identity_of(folder)).second) return {};
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    if (error) return Error(Code::unreadable, fmt::format("cannot list '{}': {}", folder.string(), error.message()));
    for (const auto& entry : entries) {
      const std::string name = entry.path().filename().string();
      if (name.empty() || name[0] == '.') continue;
      if (!entry.is_directory(error) || fs::exists(entry.path() / "input_0.pb", error))
        out.push_back(item_at(prefix + name, entry.path()));
      else if (entry.is_symlink(error))
        links_.emplace(prefix + name, entry.path());
      else
        NNEX_TRY(enter(entry.path(), prefix + name + "/", out));
    }
    return {};
  }

  std::set<std::pair<dev_t, ino_t>> visited_;
  std::map<std::string, fs::path> links_;  // to folders, by name
};

/// Names of a list say where the answer goes below the folder of answers.
Result<std::string> name_in_list(const std::string& line) {
  const fs::path path = fs::path(line).lexically_normal();
  std::string out;
  for (const fs::path& part : path.relative_path()) {
    if (part == "..")
      return Error(
          Code::invalid_argument,
          fmt::format("the list has '{}'; needed: a path without '..', as answers lie by the same names", line));
    out += (out.empty() ? "" : "/") + part.string();
  }
  return out;
}

}  // namespace

Result<std::vector<Item>> items_of(const std::string& option, const std::string& input, const fs::path& except) {
  std::vector<Item> out;
  std::error_code error;
  if (input != "-" && fs::is_directory(input, error)) {
    NNEX_TRY(Walk(except).run(input, out));
  } else {
    std::string list;
    if (input == "-") {
      list.assign(std::istreambuf_iterator<char>(std::cin), {});
    } else {
      NNEX_ASSIGN(list, is_stream(input) ? read_stream(input) : read_file(input));
    }
    if (std::any_of(list.begin(), list.end(),
                    [](char c) { return c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r'; }))
      return Error(
          Code::invalid_argument,
          fmt::format("{} '{}': found bytes; needed a folder, or a list of files in lines of text", option, input));
    const fs::path beside = is_stream(input) ? fs::path() : fs::path(input).parent_path();
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      NNEX_ASSIGN(std::string name, name_in_list(line));
      out.push_back(item_at(std::move(name), beside / line));
    }
  }
  if (out.empty()) return Error(Code::invalid_argument, fmt::format("{} '{}': found no items", option, input));
  std::sort(out.begin(), out.end(), [](const Item& a, const Item& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(out.begin(), out.end(), [](const Item& a, const Item& b) { return a.name == b.name; });
  if (twice != out.end())
    return Error(Code::invalid_argument, fmt::format("{} '{}': found '{}' twice", option, input, twice->name));
  return out;
}

namespace {

std::optional<int64_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (!text) return std::nullopt;
  int64_t n = 0;
  const char* end = text + std::char_traits<char>::length(text);
  const auto [at, error] = std::from_chars(text, end, n);
  return error == std::errc() && at == end ? std::optional(n) : std::nullopt;
}

/// How schedulers number processes: the number, its first value, and how many there are.
struct Numbering {
  const char *number, *first, *count;
};
constexpr Numbering kNumberings[] = {
    {"OMPI_COMM_WORLD_RANK", nullptr, "OMPI_COMM_WORLD_SIZE"},
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT"},
    {"SLURM_PROCID", nullptr, "SLURM_NTASKS"},
    {"PMI_RANK", nullptr, "PMI_SIZE"},
};

std::optional<Shard> shard_by(const Numbering& n) {
  const auto number = number_in(n.number), count = number_in(n.count);
  const auto first = n.first ? number_in(n.first) : 0;
  if (number && count && first && *number >= *first && *number - *first < *count)
    return Shard{*number - *first + 1, *count};
  return std::nullopt;
}

}  // namespace

Shard rank_of_open_mpi() { return shard_by(kNumberings[0]).value_or(Shard()); }

Result<Shard> shard_of(const std::string& word) {
  if (word == "auto") {
    for (const Numbering& n : kNumberings)
      if (const auto shard = shard_by(n)) return *shard;
    return Error(Code::invalid_argument,
                 "--shard auto: found no numbers of Open MPI, Slurm or PMI in the environment; needed I/N");
  }
  Shard out;
  const char* end = word.data() + word.size();
  const auto index = std::from_chars(word.data(), end, out.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, out.count);
    if (count.ec == std::errc() && count.ptr == end && out.index >= 1 && out.index <= out.count) return out;
  }
  return Error(Code::invalid_argument, fmt::format("--shard '{}': needed I/N with 1 <= I <= N, or auto", word));
}

bool belongs(const Item& item, const Shard& shard) {
  if (shard.count == 1) return true;
  uint64_t hash = 0;
  const std::string digits = sha256(item.name).substr(0, 16);
  std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return static_cast<int64_t>(hash % static_cast<uint64_t>(shard.count)) + 1 == shard.index;
}

}  // namespace nnex::cli
