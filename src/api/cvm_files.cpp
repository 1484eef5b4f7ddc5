#include "api/cvm_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "api/recognise.h"
#include "base/built.h"
#include "base/mapped_file.h"

namespace nnex::cvm_format {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& p) {
  std::error_code ignored;
  return fs::is_regular_file(p, ignored);
}

ModelFormat format_of(const fs::path& p) {
  const auto begin = read_begin(p.string(), kLookedAt);
  return begin.ok() ? kind_of(*begin, p.string()).format : ModelFormat::other;
}

bool is_symbol(const fs::path& p) { return format_of(p) == ModelFormat::cvm_symbol; }
bool is_params(const fs::path& p) { return format_of(p) == ModelFormat::cvm_params; }

}  // namespace

std::optional<Files> find_files(const std::string& path) {
  if (!is_built(Format::cvm)) return std::nullopt;
  std::error_code ignored;
  const fs::path p(path);
  if (fs::is_directory(p, ignored)) {
    if (is_file(p / "symbol") && is_file(p / "params")) return Files{(p / "symbol").string(), (p / "params").string()};
    return std::nullopt;
  }
  if (is_file(p)) {
    if (!is_symbol(p)) return std::nullopt;
    fs::path named = p;
    if (is_file(named.replace_extension(".params"))) return Files{path, named.string()};
    if (is_file(p.parent_path() / "params")) return Files{path, (p.parent_path() / "params").string()};
    return std::nullopt;
  }
  const size_t plus = path.find('+');
  if (plus == std::string::npos || !is_symbol(path.substr(0, plus))) return std::nullopt;
  return Files{path.substr(0, plus), path.substr(plus + 1)};
}

std::optional<LoneFile> lone_file(const std::string& path) {
  if (!is_built(Format::cvm) || find_files(path)) return std::nullopt;
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
    const bool symbol = is_file(p / "symbol"), params = is_file(p / "params") && is_params(p / "params");
    if (symbol == params || is_file(p / "graph.nnef")) return std::nullopt;
    return symbol ? lone_symbol(p / "symbol", quoted(p / "params")) : lone_params(p / "symbol");
  }
  if (!is_file(p)) return std::nullopt;
  if (is_params(p)) {
    const fs::path symbol = p.parent_path() / "symbol";
    if (!is_file(symbol)) return lone_params(symbol);
    return LoneFile{
        fmt::format("'{}' is CVM's params alone; needed the folder, or '{}+{}'", path, symbol.string(), path), {}};
  }
  if (!is_symbol(p)) return std::nullopt;
  fs::path named = p;
  return lone_symbol(p, quoted(named.replace_extension(".params")) + " and " + quoted(p.parent_path() / "params"));
}

}  // namespace nnex::cvm_format
