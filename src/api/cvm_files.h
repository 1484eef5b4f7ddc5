#pragma once
// Where the two files of a CVM model lie.

#include <optional>
#include <string>
#include <string_view>

namespace nnex::cvm_format {

struct Files {
  std::string symbol, params;
};

/// The files that `path` stands for: a folder with `symbol` and `params`; a symbol file with `params` beside it (or,
/// for X.symbol and X.json, X.params); both paths joined by a '+'. Nothing when it is none of these.
std::optional<Files> find_files(const std::string& path);

/// One of the two files without the other.
struct LoneFile {
  std::string text;    ///< What is there and where the other was looked for, for a message.
  std::string symbol;  ///< The symbol's path; empty: the params are there.
};
/// Where `path` is one of the two files, or a folder with one of them, and the other is not there.
std::optional<LoneFile> lone_file(const std::string& path);

}  // namespace nnex::cvm_format
