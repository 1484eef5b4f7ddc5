#include "samples.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "batch_items.h"
#include "nnex/file.h"

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

/// Samples that lie behind one another in arrays: of the input's shape each, or so many rows of it.
struct Rows {
  struct Array {
    Tensor all;
    Shape sample;
  };
  std::vector<Array> arrays;  ///< By input.
  int64_t count = 0;

  Result<std::vector<Value>> sample(int64_t index) const {
    std::vector<Value> out;
    for (const Array& a : arrays) {
      const int64_t bytes = a.all.bytes() / count;
      out.emplace_back(Tensor::borrow(a.all.dtype(), a.sample, a.all.data() + index * bytes, a.all.owner()));
    }
    return out;
  }
};

/// Whether an array's last extents are those of the input from `axis` on.
bool ends_alike(const Shape& array, const PortInfo& port, size_t axis) {
  const size_t skipped = static_cast<size_t>(array.rank()) - (port.extents.size() - axis);
  for (size_t i = axis; i < port.extents.size(); ++i)
    if (port.extents[i] >= 0 && port.extents[i] != array[static_cast<int64_t>(skipped + i - axis)]) return false;
  return true;
}

/// How many samples an array has, and the shape of one: with an axis more than the input one for each index of the
/// first, else as many of its rows as the input has (one, where that is open).
Result<std::pair<int64_t, Shape>> divided(const Tensor& array, const PortInfo& port) {
  const std::vector<int64_t> extents(array.shape().begin(), array.shape().end());
  const auto wrong = [&](std::string_view needed) {
    return Error(Code::invalid_argument, fmt::format("input '{}': found {}{}; needed {}", port.name,
                                                     name(array.dtype()), array.shape().text(), needed));
  };
  if (!port.known_rank)
    return Error(Code::invalid_argument,
                 fmt::format("input '{}' has no axis along which samples could lie: it is {}", port.name, port.type));
  const size_t rank = port.extents.size();
  if (extents.size() == rank + 1 && ends_alike(array.shape(), port, 0))
    return std::pair(extents[0], Shape(std::vector<int64_t>(extents.begin() + 1, extents.end())));
  if (extents.size() != rank || rank == 0 || !ends_alike(array.shape(), port, 1))
    return wrong(fmt::format("{} for each, behind one another", port.type));
  const int64_t rows = std::max<int64_t>(port.extents[0], 1);
  if (extents[0] % rows != 0) return wrong(fmt::format("a multiple of {} rows", rows));
  std::vector<int64_t> one = extents;
  one[0] = rows;
  return std::pair(extents[0] / rows, Shape(one));
}

Result<Rows> rows_of(const std::string& path, const InputFileOptions& fit, const std::vector<PortInfo>& inputs) {
  NNEX_ASSIGN(const InputFile file, InputFile::open(path));
  if (!file.by_names() && inputs.size() != 1)
    return Error(
        Code::invalid_argument,
        fmt::format("'{}' has one array; the model takes {} inputs (a .npz file names them)", path, inputs.size()));
  std::vector<PortInfo> many = inputs;
  for (PortInfo& port : many) port.known_rank = false, port.extents.clear(), port.dims.clear();
  std::vector<Value> arrays;
  if (file.by_names()) {
    NNEX_ASSIGN(auto named, values_in(path, many, fit, true));
    NNEX_ASSIGN(arrays, in_order(std::move(named), inputs));
  } else {
    NNEX_ASSIGN(Value only, file.value(many[0], fit));
    arrays.push_back(std::move(only));
  }
  Rows out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PortInfo& port = inputs[i];
    const Tensor* const t = arrays[i].tensor();
    if (!t) return Error(Code::invalid_argument, fmt::format("input '{}' is no tensor", port.name));
    auto parts = divided(*t, port);
    if (!parts.ok()) return std::move(parts).error().during(fmt::format("reading samples of '{}'", path));
    if (!out.arrays.empty() && parts->first != out.count)
      return Error(Code::invalid_argument, fmt::format("'{}' has {} samples of '{}', {} of '{}'; needed as many", path,
                                                       out.count, inputs[0].name, parts->first, port.name));
    out.count = parts->first;
    out.arrays.push_back({*t, std::move(parts->second)});
  }
  if (out.count == 0) return Error(Code::invalid_argument, fmt::format("'{}' has no samples", path));
  return out;
}

/// The first few names, and how many more there are.
std::string some_of(const std::vector<Item>& items) {
  constexpr size_t kSome = 5;
  std::string out;
  for (size_t i = 0; i < std::min(items.size(), kSome); ++i) out += (i ? ", " : "") + items[i].name;
  return items.size() > kSome ? fmt::format("{} and {} more", out, items.size() - kSome) : out;
}

/// Whether a folder holds the inputs of one run, as test data beside models do: it is one sample.
bool is_stored_set(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "input_0.pb", error);
}

/// Takes what cannot be a sample out of a folder's items; where sets of stored inputs are among them, all else. Error:
/// invalid_argument where nothing is left.
Result<std::string> leave_out(const std::string& folder, std::vector<Item>& items) {
  const bool has_sets =
      std::any_of(items.begin(), items.end(), [](const Item& item) { return is_stored_set(item.path); });
  const auto others = std::stable_partition(items.begin(), items.end(), [&](const Item& item) {
    std::error_code error;
    if (has_sets) return is_stored_set(item.path);
    return InputFile::has_ending(item.path.string()) || std::filesystem::is_directory(item.path, error);
  });
  const std::vector<Item> left(others, items.end());
  items.erase(others, items.end());
  if (items.empty())
    return Error(Code::invalid_argument,
                 fmt::format("--calibrate '{}': found {}, and no samples; needed pictures, .npy, "
                             ".npz, .pb, .dat, .json, .raw or .bin files, or folders with input_0.pb",
                             folder, some_of(left)));
  return left.empty() ? std::string()
                      : fmt::format("of '{}' left out, as no samples {}: {}", folder,
                                    has_sets ? "stand beside folders with input_0.pb" : "end so", some_of(left));
}

}  // namespace

Result<Samples> samples_of(const std::string& source, const InputFileOptions& fit,
                           const std::vector<PortInfo>& inputs) {
  Samples samples;
  SampleSet& out = samples.set;
  if (source.empty()) return samples;
  if (has_ending(source, ".npz") || has_ending(source, ".npy") || has_ending(source, ".csv")) {
    NNEX_ASSIGN(Rows found, rows_of(source, fit, inputs));
    out.count = found.count;
    out.read = [rows = std::move(found)](const std::vector<PortInfo>&, int64_t index) { return rows.sample(index); };
    out.name = [source](int64_t index) { return fmt::format("sample {} of '{}' (0 is the first)", index, source); };
    return samples;
  }
  std::error_code error;
  std::vector<Item> found;
  if (is_stored_set(source) || (InputFile::has_ending(source) && std::filesystem::is_regular_file(source, error))) {
    found.push_back({source, source});
  } else {
    NNEX_ASSIGN(found, items_of("--calibrate", source, {}));
    if (std::filesystem::is_directory(source, error)) {
      NNEX_ASSIGN(samples.note, leave_out(source, found));
    }
  }
  out.count = static_cast<int64_t>(found.size());
  const auto items = std::make_shared<const std::vector<Item>>(std::move(found));
  out.read = [items, fit](const std::vector<PortInfo>& ports, int64_t index) {
    return sample_of((*items)[static_cast<size_t>(index)], fit, ports);
  };
  out.name = [items](int64_t index) {
    return fmt::format("sample '{}'", one_line((*items)[static_cast<size_t>(index)].name));
  };
  return samples;
}

}  // namespace nnex::cli
