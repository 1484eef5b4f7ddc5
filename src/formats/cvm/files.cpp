#include "formats/cvm/files.h"

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

std::optional<std::string> lone_symbol(const std::string& path) {
  if (find_files(path)) return std::nullopt;
  std::error_code ignored;
  const fs::path p(path);
  if (fs::is_directory(p, ignored)) {
    if (!is_file(p / "symbol") || is_file(p / "graph.nnef")) return std::nullopt;
    return "'" + (p / "params").string() + "'";
  }
  if (!is_file(p) || !begins_object(p)) return std::nullopt;
  fs::path named = p;
  return "'" + named.replace_extension(".params").string() + "' and '" + (p.parent_path() / "params").string() + "'";
}

}  // namespace nnex::cvm_format
