#pragma once
// Where the two files of a CVM model lie.

#include <optional>
#include <string>

namespace nnex::cvm_format {

struct Files {
  std::string symbol, params;
};

/// The files that `path` stands for: a folder with `symbol` and `params`; a symbol file with `params` beside it (or,
/// for X.symbol and X.json, X.params); both paths joined by a '+'. Nothing when it is none of these.
std::optional<Files> find_files(const std::string& path);

/// Where `path` is a symbol, or a folder with one, without its params: where those were looked for.
std::optional<std::string> lone_symbol(const std::string& path);

}  // namespace nnex::cvm_format
