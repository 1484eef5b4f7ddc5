// The files of an NNEF model: into a folder, or into an archive that is the same bytes every time.

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>

#include "base/failure.h"
#include "base/mapped_file.h"
#include "base/try.h"
#include "base/unfinished.h"
#include "standards/gzip.h"
#include "standards/nnef/read_tensor.h"
#include "standards/nnef/weights.h"
#include "standards/nnef/write.h"
#include "standards/tar.h"

namespace nnex::nnef_format {
namespace {

namespace fs = std::filesystem;

constexpr const char* kQuantisation = "graph.quant";

/// A file of the model: its name, and its bytes in pieces.
struct Part {
  std::string name;
  std::vector<std::string_view> pieces;

  uint64_t size() const {
    uint64_t n = 0;
    for (std::string_view p : pieces) n += p.size();
    return n;
  }
};

/// The texts, then the variables' files by name, so that the order of the bytes follows from the content alone. A
/// tensor's file is made when its turn comes.
Status each_part(const Written& model, const std::function<Status(const Part&)>& each) {
  NNEX_TRY(each({"graph.nnef", {model.graph}}));
  if (!model.quant.empty()) NNEX_TRY(each({kQuantisation, {model.quant}}));
  std::vector<const std::pair<std::string, Tensor>*> sorted;
  for (const auto& v : model.variables) sorted.push_back(&v);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
  for (const auto* v : sorted) {
    auto file = variable_file(model, v->first, v->second);
    if (!file.ok())
      return std::move(file).error().during(fmt::format("writing the content of variable '{}'", v->first));
    NNEX_TRY(each({tensor_file_name(v->first), {{file->header.data(), file->header.size()}, file->data}}));
  }
  return {};
}

/// The archive, piece by piece.
Status each_of_archive(const Written& model, bool packed, const std::function<Status(std::string_view)>& write) {
  std::optional<Gzip> gzip;
  if (packed) {
    NNEX_ASSIGN(gzip, Gzip::start());
  }
  std::string out;
  const auto put = [&](std::string_view bytes) -> Status {
    if (!gzip) return write(bytes);
    NNEX_TRY(gzip->add(bytes, out));
    NNEX_TRY(write(out));
    out.clear();
    return {};
  };
  NNEX_TRY(each_part(model, [&](const Part& part) -> Status {
    NNEX_TRY(put(tar_header(part.name, part.size())));
    for (std::string_view piece : part.pieces) NNEX_TRY(put(piece));
    return put(std::string(tar_padding(part.size()), '\0'));
  }));
  NNEX_TRY(put(std::string(kTarEnd, '\0')));
  if (!gzip) return {};
  NNEX_TRY(gzip->finish(out));
  return write(out);
}

Status write_archive(const Written& model, const std::string& path, bool packed, bool replace) {
  NNEX_ASSIGN(FileWriter writer, FileWriter::create(path, replace ? Existing::replace : Existing::refuse));
  NNEX_TRY(each_of_archive(model, packed, [&](std::string_view bytes) { return writer.write(bytes); }));
  return writer.commit();
}

/// Makes the folders on the way to a file of the model. A link is none: it would lead out of the model's folder.
Status make_folders(const std::string& folder, const std::string& name) {
  for (size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
    const std::string path = folder + "/" + name.substr(0, at);
    std::error_code error;
    if (fs::is_symlink(path, error))
      return failure(Code::invalid_argument, "'{}' is a link; nothing is written through it", path);
    fs::create_directory(path, error);
    if (error) return failure(Code::unreadable, "cannot make the folder '{}': {}", path, error.message());
  }
  return {};
}

/// What the model that was there said of its tensors goes first: it would be read as what the new one says.
Status write_into(const Written& model, const std::string& folder) {
  if (model.quant.empty()) {
    std::error_code error;
    fs::remove(folder + "/" + kQuantisation, error);
    if (error) return failure(Code::unreadable, "cannot remove '{}/{}': {}", folder, kQuantisation, error.message());
  }
  return each_part(model, [&](const Part& part) -> Status {
    NNEX_TRY(make_folders(folder, part.name));
    NNEX_ASSIGN(FileWriter writer, FileWriter::create(folder + "/" + part.name, Existing::replace_link));
    for (std::string_view piece : part.pieces) NNEX_TRY(writer.write(piece));
    return writer.commit();
  });
}

/// A folder beside the wanted one, which takes its name when all is in it.
Status write_folder(const Written& model, std::string path, bool replace) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::error_code error;
  const bool exists = fs::exists(path, error), folder = fs::is_directory(path, error);
  if (exists && !folder) return failure(Code::invalid_argument, "'{}' exists and is no folder", path);
  if (folder && !fs::is_empty(path, error)) {
    if (replace) return write_into(model, path);
    return failure(Code::invalid_argument, "folder '{}' is not empty", path)
        .helped_by({"overwrite", "replace", "replaces the model's files in it"});
  }
  NNEX_ASSIGN(FolderBeside beside, FolderBeside::make(path));
  NNEX_TRY(write_into(model, beside.path()));
  return beside.rename(path);
}

}  // namespace

Result<TensorBytes> variable_file(const Written& model, const std::string& label, const Tensor& content) {
  const auto record = model.codes.find(label);
  if (record == model.codes.end()) return write_tensor_file(content);
  const auto codes = codes_of_reals(content, record->second);
  return codes ? write_tensor_file(codes->items, &codes->as) : write_tensor_file(content);
}

Packing packing_of(const std::string& path) {
  if (has_ending(path, ".tar")) return Packing::tar;
  return has_ending(path, ".tgz") || has_ending(path, ".tar.gz") ? Packing::tgz : Packing::folder;
}

Status save_model(const Written& model, const std::string& path, bool replace) {
  const Packing packing = packing_of(path);
  if (packing == Packing::folder) return write_folder(model, path, replace);
  return write_archive(model, path, packing == Packing::tgz, replace);
}

std::vector<std::string> file_names(const Written& model) {
  std::vector<std::string> names = {"graph.nnef"};
  if (!model.quant.empty()) names.emplace_back(kQuantisation);
  for (const auto& [label, content] : model.variables) names.push_back(tensor_file_name(label));
  return names;
}

Result<std::vector<NamedBytes>> model_files(const Written& model) {
  std::vector<NamedBytes> out;
  NNEX_TRY(each_part(model, [&](const Part& part) -> Status {
    out.push_back({part.name, {}});
    for (std::string_view piece : part.pieces) out.back().bytes += piece;
    return {};
  }));
  return out;
}

Result<std::string> archive_bytes(const Written& model, bool packed) {
  std::string out;
  NNEX_TRY(each_of_archive(model, packed, [&](std::string_view bytes) -> Status {
    out += bytes;
    return {};
  }));
  return out;
}

}  // namespace nnex::nnef_format
