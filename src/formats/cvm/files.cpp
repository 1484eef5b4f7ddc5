#include "formats/cvm/files.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace nnex::cvm_format {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& p) {
  std::error_code ignored;
  return fs::is_regular_file(p, ignored);
}

/// Whether the first letter of a file is a brace: no other format's file begins so.
bool begins_object(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  char c = 0;
  for (int i = 0; i < 64 && in.get(c); ++i)
    if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return c == '{';
  return false;
}

/// Whether a file begins as a list of parameters does.
bool begins_params(const fs::path& p) {
  constexpr std::string_view kMagic = "\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7";
  std::array<char, kMagic.size()> begin = {};
  std::ifstream in(p, std::ios::binary);
  return in.read(begin.data(), begin.size()) && std::string_view(begin.data(), begin.size()) == kMagic;
}

}  // namespace

std::optional<Files> find_files(const std::string& path) {
  std::error_code ignored;
  const fs::path p(path);
  if (fs::is_directory(p, ignored)) {
    if (is_file(p / "symbol") && is_file(p / "params")) return Files{(p / "symbol").string(), (p / "params").string()};
    return std::nullopt;
  }
  if (is_file(p)) {
    if (!begins_object(p)) return std::nullopt;
    fs::path named = p;
    if (is_file(named.replace_extension(".params"))) return Files{path, named.string()};
    if (is_file(p.parent_path() / "params")) return Files{path, (p.parent_path() / "params").string()};
    return std::nullopt;
  }
  const size_t plus = path.find('+');
  if (plus == std::string::npos || !begins_object(path.substr(0, plus))) return std::nullopt;
  return Files{path.substr(0, plus), path.substr(plus + 1)};
}

std::optional<LoneFile> lone_file(const std::string& path) {
  if (find_files(path)) return std::nullopt;
  std::error_code ignored;
  const fs::path p(path);
  const auto quoted = [](const fs::path& place) { return "'" + place.string() + "'"; };
  const auto lone_symbol = [&](const fs::path& symbol, const std::string& places) {
    return LoneFile{fmt::format("'{}' has CVM's symbol without its params; looked for {}", path, places),
                    symbol.string()};
  };
  const auto lone_params = [&](const fs::path& place) {
    return LoneFile{fmt::format("'{}' has CVM's params without its symbol; looked for {}", path, quoted(place)), {}};
  };
  if (fs::is_directory(p, ignored)) {
    const bool symbol = is_file(p / "symbol"), params = is_file(p / "params") && begins_params(p / "params");
    if (symbol == params || is_file(p / "graph.nnef")) return std::nullopt;
    return symbol ? lone_symbol(p / "symbol", quoted(p / "params")) : lone_params(p / "symbol");
  }
  if (!is_file(p)) return std::nullopt;
  if (begins_params(p)) {
    const fs::path symbol = p.parent_path() / "symbol";
    if (!is_file(symbol)) return lone_params(symbol);
    return LoneFile{
        fmt::format("'{}' is CVM's params alone; needed the folder, or '{}+{}'", path, symbol.string(), path), {}};
  }
  if (!begins_object(p)) return std::nullopt;
  fs::path named = p;
  return lone_symbol(p, quoted(named.replace_extension(".params")) + " and " + quoted(p.parent_path() / "params"));
}

}  // namespace nnex::cvm_format
