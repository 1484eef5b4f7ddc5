#include "nnex/source.h"

#include <fmt/format.h>

#include <map>

#include "base/guarded.h"

namespace nnex {
namespace {

/// Callbacks over files in memory, which they keep.
FileReader reader_of(std::map<std::string, OwnedBytes> files) {
  auto kept = std::make_shared<const std::map<std::string, OwnedBytes>>(std::move(files));
  FileReader out;
  out.list = [kept]() -> Result<std::vector<std::string>> {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : *kept) names.push_back(name);
    return names;
  };
  out.read = [kept](const std::string& name) -> Result<OwnedBytes> { return kept->at(name); };
  return out;
}

OwnedBytes owned(std::string bytes) {
  auto kept = std::make_shared<const std::string>(std::move(bytes));
  return {*kept, kept};
}

/// What the one file of a source is called among its files: the name for messages may be a path or a sentence.
std::string file_name(const std::string& name) {
  const std::string last = name.substr(name.rfind('/') + 1);
  return last.empty() || last == "." || last == ".." || last.find('\0') != std::string::npos ? "model" : last;
}

}  // namespace

ModelSource::ModelSource(std::string path) : name_(std::move(path)) {}
ModelSource::ModelSource(const char* path) : name_(path ? path : "") {}
ModelSource::ModelSource(std::string name, FileReader reader)
    : name_(std::move(name)), reader_(std::make_shared<const FileReader>(std::move(reader))) {}

std::string ModelSource::shown() const { return name_ == "the model" ? name_ : "'" + name_ + "'"; }

ModelSource ModelSource::memory(std::string_view bytes, std::string name) {
  return memory(owned(std::string(bytes)), std::move(name));
}

ModelSource ModelSource::memory(OwnedBytes bytes, std::string name) {
  std::map<std::string, OwnedBytes> files;
  files.emplace(file_name(name), std::move(bytes));
  return {std::move(name), reader_of(std::move(files))};
}

ModelSource ModelSource::memory(std::vector<NamedBytes> files, std::string name) {
  std::map<std::string, OwnedBytes> kept;
  std::string twice;
  for (NamedBytes& file : files)
    if (!kept.emplace(file.name, owned(std::move(file.bytes))).second && twice.empty())
      twice = fmt::format("found two files of the name '{}'", file.name);
  FileReader reader = reader_of(std::move(kept));
  if (!twice.empty())
    reader.list = [twice]() -> Result<std::vector<std::string>> { return Error(Code::invalid_argument, twice); };
  return {std::move(name), std::move(reader)};
}

ModelSource ModelSource::callbacks(FileReader reader, std::string name) {
  reader.list = caught(std::move(reader.list), "the host's reader listed its files");
  if (reader.read)
    reader.read = [read = caught(std::move(reader.read), "the host's reader read a file")](const std::string& file) {
      auto bytes = read(file);
      if (bytes.ok() || bytes.error().where().empty()) return bytes;  // the place will be that of the file
      return Result<OwnedBytes>(std::move(bytes).error().during("reading '" + file + "'"));
    };
  return {std::move(name), std::move(reader)};
}

}  // namespace nnex
