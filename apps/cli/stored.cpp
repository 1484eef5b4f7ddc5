#include "stored.h"

#include <algorithm>
#include <filesystem>

#include "exchange.h"
#include "nnex/input_file.h"
#include "nnex/tensor_file.h"

namespace nnex::cli {
namespace {

namespace fs = std::filesystem;

bool is_array(const fs::path& file) {
  const auto format = tensor_format_of(file.string());
  return format && *format != TensorFormat::json && *format != TensorFormat::npz;
}

/// Regular files of a folder, by name.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->is_regular_file(error)) out.push_back(it->path());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// A table's numbers as the output of that name has them.
Result<Value> table_for(const Model& model, const std::string& name, const std::string& path) {
  NNEX_ASSIGN(const InputFile file, InputFile::open(path));
  for (const PortInfo& port : model.outputs())
    if (port.name == name) return file.value(port);
  return file.value({});
}

/// The value of the output of that name, or a tensor.
Status add(Stored& out, const Model& model, const std::string& name, const fs::path& file) {
  std::string type = "unknown";
  for (const PortInfo& port : model.outputs())
    if (port.name == name && port.dtype == DType::none) type = port.type;
  auto v = has_ending(file.string(), ".csv") ? table_for(model, name, file.string()) : read_value(file.string(), type);
  if (!v.ok()) return std::move(v).error().during(fmt::format("reading '{}'", file.string()));
  out.tensors[name] = std::move(*v);
  return {};
}

Result<Stored> read_folder(const std::string& path, const Model& model) {
  Stored out;
  const auto& ports = model.outputs();
  for (size_t i = 0; i < ports.size(); ++i) {
    const fs::path file = fs::path(path) / fmt::format("output_{}.pb", i);
    std::error_code error;
    if (fs::exists(file, error)) NNEX_TRY(add(out, model, ports[i].name, file));
  }
  for (const fs::path& file : files_of(path)) {
    const std::string stem = file.stem().string();
    if (stem.rfind("input_", 0) == 0 && out.inputs.empty()) out.inputs.push_back(path);
    if (is_array(file) && stem.rfind("output_", 0) != 0 && stem.rfind("input_", 0) != 0)
      NNEX_TRY(add(out, model, stem, file));
  }
  return out;
}

}  // namespace

bool holds_tensors(const std::string& path) {
  if (!is_folder(path)) return tensor_format_of(path).has_value();
  const auto files = files_of(path);
  return !files.empty() && std::all_of(files.begin(), files.end(), is_array);
}

Result<Stored> read_stored(const std::string& path, const Model& model, const InputFileOptions& limits) {
  if (is_folder(path)) return read_folder(path, model);
  Stored out;
  const TensorFormat format = *tensor_format_of(path);
  if (format == TensorFormat::npz) {
    NNEX_ASSIGN(auto arrays, read_tensors(path, limits.archive_limit, limits.archive_ratio));
    size_t inputs = 0;
    for (auto& [name, t] : arrays) out.tensors[name] = Value(std::move(t));
    for (const PortInfo& port : model.inputs()) inputs += out.tensors.count(port.name);
    if (inputs > 0 && inputs == model.inputs().size())
      for (const PortInfo& port : model.inputs()) out.inputs.push_back(fmt::format("{}={}", port.name, path));
    return out;
  }
  if (format == TensorFormat::json) {
    NNEX_ASSIGN(const std::string text, read_file(path));
    if (text.find_first_not_of(" \t\r\n") != std::string::npos && text[text.find_first_not_of(" \t\r\n")] == '{') {
      NNEX_ASSIGN(out.tensors, exchange_answer(text));
      return out;
    }
  }
  if (model.outputs().size() != 1)
    return Error(
        Code::invalid_argument,
        fmt::format("'{}' holds one tensor; the model gives {} outputs (a .npz file or a folder holds several)", path,
                    model.outputs().size()));
  NNEX_TRY(add(out, model, model.outputs()[0].name, path));
  const fs::path file(path);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  if (std::error_code error;
      file.stem().string().starts_with("output_") && fs::exists(fs::path(folder) / "input_0.pb", error))
    out.inputs.push_back(folder);
  return out;
}

}  // namespace nnex::cli
