#include "samples.h"

#include <algorithm>

#include "batch_items.h"

namespace nnex::cli {
namespace {

Result<std::vector<Value>> in_order(std::map<std::string, Value> given, const std::vector<PortInfo>& inputs) {
  std::vector<Value> out;
  for (const PortInfo& port : inputs) {
    const auto it = given.find(port.name);
    if (it == given.end())
      return Error(Code::invalid_argument, fmt::format("input '{}' is missing; it takes {}", port.name, port.type));
    out.push_back(std::move(it->second));
  }
  return out;
}

Result<std::vector<Value>> sample_of(const Item& item, const InputFileOptions& fit,
                                     const std::vector<PortInfo>& inputs) {
  auto values = [&]() -> Result<std::vector<Value>> {
    NNEX_ASSIGN(const InputFile file, InputFile::open(item.path.string()));
    std::map<std::string, Value> given;
    if (file.by_names()) {
      NNEX_ASSIGN(given, file.values(inputs, fit));
    } else if (!inputs.empty()) {
      NNEX_ASSIGN(given[inputs[0].name], file.value(inputs[0], fit));
    }
    return in_order(std::move(given), inputs);
  }();
  if (!values.ok()) return std::move(values).error().during(fmt::format("reading sample '{}'", item.name));
  return values;
}

/// Samples that lie behind one another in arrays.
struct Rows {
  std::vector<Tensor> arrays;  ///< By input.
  std::vector<int64_t> rows;   ///< Of each, in one sample.
  int64_t count = 0;

  Result<std::vector<Value>> sample(int64_t index) const {
    std::vector<Value> out;
    for (size_t i = 0; i < arrays.size(); ++i) {
      const Tensor& all = arrays[i];
      std::vector<int64_t> extents(all.shape().begin(), all.shape().end());
      const int64_t bytes = all.bytes() / std::max<int64_t>(extents[0], 1);
      extents[0] = rows[i];
      out.emplace_back(Tensor::borrow(all.dtype(), Shape(extents), all.data() + index * rows[i] * bytes, all.owner()));
    }
    return out;
  }
};

Result<Rows> rows_of(const std::string& path, const InputFileOptions& fit, const std::vector<PortInfo>& inputs) {
  NNEX_ASSIGN(const InputFile file, InputFile::open(path));
  if (!file.by_names() && inputs.size() != 1)
    return Error(
        Code::invalid_argument,
        fmt::format("'{}' has one array; the model takes {} inputs (a .npz file names them)", path, inputs.size()));
  Rows out;
  for (const PortInfo& port : inputs) {
    if (!port.known_rank || port.extents.empty())
      return Error(Code::invalid_argument,
                   fmt::format("input '{}' has no axis along which samples could lie: it is {}", port.name, port.type));
    PortInfo any = port;
    any.extents[0] = -1, any.dims[0] = "samples";
    NNEX_ASSIGN(const Value v, file.value(any, fit));
    if (!v.tensor()) return Error(Code::invalid_argument, fmt::format("input '{}' is no tensor", port.name));
    out.arrays.push_back(*v.tensor());
    out.rows.push_back(std::max<int64_t>(port.extents[0], 1));
    const int64_t found = v.tensor()->shape()[0] / out.rows.back();
    if (out.arrays.size() > 1 && found != out.count)
      return Error(Code::invalid_argument, fmt::format("'{}' has {} samples of '{}', {} of '{}'; needed as many", path,
                                                       out.count, inputs[0].name, found, port.name));
    out.count = found;
  }
  if (out.count == 0) return Error(Code::invalid_argument, fmt::format("'{}' has no samples", path));
  return out;
}

}  // namespace

Result<SampleSet> samples_of(const std::string& source, const InputFileOptions& fit,
                             const std::vector<PortInfo>& inputs) {
  SampleSet out;
  if (source.empty()) return out;
  if (source.ends_with(".npz") || source.ends_with(".npy")) {
    NNEX_ASSIGN(Rows found, rows_of(source, fit, inputs));
    out.count = found.count;
    out.read = [rows = std::move(found)](const std::vector<PortInfo>&, int64_t index) { return rows.sample(index); };
    return out;
  }
  NNEX_ASSIGN(std::vector<Item> found, items_of("--calibrate", source, {}));
  out.count = static_cast<int64_t>(found.size());
  out.read = [items = std::move(found), fit](const std::vector<PortInfo>& ports, int64_t index) {
    return sample_of(items[static_cast<size_t>(index)], fit, ports);
  };
  return out;
}

}  // namespace nnex::cli
