// What "-" stands for where a file or a model is asked for.

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli.h"
#include "nnex/environment.h"
#include "nnex/file.h"

namespace nnex::cli {

namespace fs = std::filesystem;

Result<std::string> read_standard_input() {
  const auto limit = static_cast<size_t>(usable_memory() / 4 * 3);
  std::string all, piece(size_t{1} << 16, '\0');
  while (const size_t n = std::fread(piece.data(), 1, piece.size(), stdin)) {
    if (n > limit - all.size())
      return Error(Code::limit, fmt::format("standard input has more than the {} MiB that may be read", limit >> 20));
    all.append(piece, 0, n);
  }
  if (std::ferror(stdin)) return Error(Code::unreadable, "cannot read standard input");
  if (all.empty()) return Error(Code::unreadable, "standard input is empty");
  return all;
}

Result<OutputFile> OutputFile::open(const std::string& path, const std::string& name) {
  OutputFile out;
  out.path_ = path;
  if (path != "-") return out;
  NNEX_ASSIGN(out.scratch_, ScratchFolder::make());
  out.path_ = (fs::path(out.scratch_.path()) / name).string();
  return out;
}

Status OutputFile::finish() {
  if (scratch_.path().empty()) return {};
  for (const auto& entry : fs::recursive_directory_iterator(scratch_.path()))
    if (entry.is_regular_file() && entry.path() != path_)
      return Error(Code::invalid_argument,
                   fmt::format("'{}' is made of several files, which do not fit into standard output",
                               fs::path(path_).filename().string()));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "rb"), &std::fclose);
  if (!file) return Error(Code::unreadable, fmt::format("cannot open '{}'", path_));
  scratch_.remove();  // a reader that wants no more ends this program
  std::string piece(size_t{1} << 20, '\0');
  while (const size_t n = std::fread(piece.data(), 1, piece.size(), file.get()))
    if (std::fwrite(piece.data(), 1, n, stdout) != n) return Error(Code::unreadable, "cannot write to standard output");
  if (std::ferror(file.get())) return Error(Code::unreadable, fmt::format("cannot read '{}'", path_));
  if (std::fflush(stdout) != 0) return Error(Code::unreadable, "cannot write to standard output");
  return {};
}

Result<ModelSource> source_of(const std::string& path) {
  if (path != "-") return ModelSource(path);
  static std::optional<ModelSource> read;  // a verb may read its model more than once
  if (!read) {
    NNEX_ASSIGN(std::string bytes, read_standard_input());
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    read = ModelSource::memory(OwnedBytes{*owner, owner}, "standard input");
  }
  return *read;
}

}  // namespace nnex::cli
