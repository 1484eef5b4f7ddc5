// What "-" and pipes stand for where a file or a model is asked for.

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "cli.h"
#include "nnex/environment.h"
#include "nnex/file.h"

namespace nnex::cli {

namespace fs = std::filesystem;

namespace {

Result<std::string> read_all(std::FILE* file, const std::string& name) {
  const auto limit = static_cast<size_t>(usable_memory() / 4 * 3);
  std::string all, piece(size_t{1} << 16, '\0');
  while (const size_t n = std::fread(piece.data(), 1, piece.size(), file)) {
    if (n > limit - all.size())
      return Error(Code::limit, fmt::format("{} has more than the {} MiB that may be read", name, limit >> 20));
    all.append(piece, 0, n);
  }
  if (std::ferror(file)) return Error(Code::unreadable, "cannot read " + name);
  if (all.empty()) return Error(Code::unreadable, name + " is empty");
  return all;
}

}  // namespace

Result<std::string> read_standard_input() { return read_all(stdin, "standard input"); }

bool is_stream(const std::string& path) {
  std::error_code error;
  return path == "-" || fs::is_fifo(path, error);
}

Result<std::string> read_stream(const std::string& path) {
  if (path == "-") return read_standard_input();
  static std::map<std::string, std::string> read;
  if (const auto known = read.find(path); known != read.end()) return known->second;
  const std::string name = fmt::format("the pipe '{}'", path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return Error(Code::unreadable, "cannot open " + name);
  NNEX_ASSIGN(read[path], read_all(file.get(), name));
  return read[path];
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
  if (!is_stream(path)) return ModelSource(path);
  static std::map<std::string, ModelSource> read;  // a verb may read its model more than once
  if (const auto known = read.find(path); known != read.end()) return known->second;
  NNEX_ASSIGN(std::string bytes, read_stream(path));
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const ModelSource source = ModelSource::memory(OwnedBytes{*owner, owner}, path == "-" ? "standard input" : path);
  return read.emplace(path, source).first->second;
}

}  // namespace nnex::cli
