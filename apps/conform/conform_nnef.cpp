// nnex conform nnef: the folders of cases that there are, each by its own function.

#include <filesystem>
#include <limits>
#include <stdexcept>

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
  auto j = parse_json(file.bytes());
  if (!j.ok()) return std::move(j).error().at(path);
  return j;
}

Status each_case(const Json& index, const char* list, const std::string& folder, const char* key, Verdicts& out,
                 const std::function<void(const std::string& name, const Json& one)>& judge) {
  if (!index.is_object() || !index.contains(list) || !index[list].is_array())
    return Error(Code::unreadable, fmt::format("the index has no list '{}'", list)).at(folder);
  const std::filesystem::path path(folder);
  const std::string front = (path.has_filename() ? path : path.parent_path()).filename().string() + "/";
  size_t count = 0;
  for (const Json& one : index[list]) {
    ++count;
    const bool named = one.is_object() && one.contains(key) && one[key].is_string();
    const std::string name = front + (named ? one[key].get<std::string>() : fmt::format("case {}", count));
    if (!out.wants(name)) continue;
    try {
      if (!named) throw std::invalid_argument(fmt::format("it has no '{}'", key));
      judge(name, one);
    } catch (const std::exception& e) {  // Json's own, or that of a judge
      out.add(name, fmt::format("the case cannot be read: {}", e.what()));
    }
  }
  return {};
}

double real_of(const Json& number) {
  if (!number.is_string()) return number.get<double>();
  const std::string word = number.get<std::string>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (word == "inf") return kInfinity;
  if (word == "-inf") return -kInfinity;
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw std::invalid_argument(fmt::format("'{}' is no number", word));
}

int conform_nnef(const std::string& path, const RowsFile& json, const std::string& filter, bool quiet,
                 const LoadOptions& load, const std::string& through) {
  Verdicts out(filter, quiet);
  out.load = load, out.through = through;
  bool any = false;
  const std::filesystem::path root(path);
  const std::string own = (root.has_filename() ? root : root.parent_path()).filename().string();
  for (const auto& row : kFolders) {
    const std::filesystem::path inside = root / row.folder;
    const bool here = own == row.folder;
    if (!here && !std::filesystem::is_directory(inside)) continue;
    any = true;
    const std::string folder = (here ? root : inside).string();
    if (Status s = row.run(folder, out); !s.ok()) return report(s.error());
  }
  if (!any) return report(Error(Code::unreadable, "no folder with cases of NNEF (rules, graphs, ...)").at(path));
  return finish(out.rows(), json);
}

}  // namespace nnex::cli
