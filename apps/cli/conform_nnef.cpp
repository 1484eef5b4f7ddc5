// nnex conform nnef: the folders of cases that there are, each by its own function.

#include <filesystem>

#include "base/mapped_file.h"
#include "conform.h"

namespace nnex::cli {
namespace {

const struct {
  const char* folder;
  Status (*run)(const std::string&, Verdicts&);
} kFolders[] = {
    {"rules", conform_nnef_rules}, {"values", conform_nnef_values}, {"graphs", conform_nnef_graphs},
    {"dat", conform_nnef_dat},     {"quant", conform_nnef_quant},   {"containers", conform_nnef_containers},
};

}  // namespace

Result<Json> read_index(const std::string& path) {
  NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
  Json j = Json::parse(file.bytes(), nullptr, false);
  if (j.is_discarded()) return Error(Code::unreadable, "the file is no JSON").at(path);
  return j;
}

int conform_nnef(const std::string& path, const std::string& json, const std::string& filter, bool quiet,
                 const std::string& dialect) {
  Verdicts out(filter, quiet);
  out.dialect = dialect;
  bool any = false;
  const std::filesystem::path root(path);
  const std::string own = (root.has_filename() ? root : root.parent_path()).filename().string();
  for (const auto& row : kFolders) {
    const std::filesystem::path inside = root / row.folder;
    const bool here = own == row.folder;
    if (!here && !std::filesystem::is_directory(inside)) continue;
    any = true;
    const std::string folder = (here ? root : inside).string();
    const auto run_folder = [&]() -> Status {
      try {  // the vectors' own mistakes: a member that is missing or of another type
        return row.run(folder, out);
      } catch (const Json::exception& e) {
        return Error(Code::unreadable, fmt::format("the cases cannot be read: {}", e.what())).at(folder);
      }
    };
    if (Status s = run_folder(); !s.ok()) return report(s.error());
  }
  if (!any) return report(Error(Code::unreadable, "no folder with cases of NNEF (rules, graphs, ...)").at(path));
  return finish(out.rows(), json);
}

}  // namespace nnex::cli
