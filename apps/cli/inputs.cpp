// Inputs from files, outputs to files.

#include <algorithm>
#include <array>
#include <random>

#include "base/mapped_file.h"
#include "cli.h"
#include "formats/nnef/tensor_file.h"
#include "formats/onnx/proto.h"
#include "nnex/cvm.h"
#include "numpy.h"
#include "picture.h"
#include "tensor/convert.h"

namespace nnex::cli {
namespace {

bool ends_with(const std::string& s, std::string_view end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

std::string names_of(const std::map<std::string, Tensor>& arrays) {
  std::string out;
  for (const auto& [name, t] : arrays) out += (out.empty() ? "'" : " '") + name + "'";
  return out;
}

/// Nested lists of numbers, strings or booleans; the port's type decides what they become.
Status flatten(const Json& j, std::vector<Json>& leaves, std::vector<int64_t>& extents, size_t depth) {
  if (!j.is_array()) {
    leaves.push_back(j);
    return {};
  }
  if (depth > 32) return Error(Code::unreadable, "lists are nested deeper than 32");
  if (extents.size() == depth) extents.push_back(static_cast<int64_t>(j.size()));
  if (extents[depth] != static_cast<int64_t>(j.size())) return Error(Code::unreadable, "lists of different lengths");
  for (const Json& item : j) NNEX_TRY(flatten(item, leaves, extents, depth + 1));
  return {};
}

Result<Value> read_json(std::string_view bytes, const PortInfo& port) {
  Json j = Json::parse(bytes, nullptr, false);
  if (j.is_discarded()) return Error(Code::unreadable, "not JSON");
  std::vector<Json> leaves;
  std::vector<int64_t> extents;
  NNEX_TRY(flatten(j, leaves, extents, 0));
  int64_t product = 1;
  for (int64_t e : extents) product *= e;
  if (product != static_cast<int64_t>(leaves.size())) return Error(Code::unreadable, "lists of different depth");
  const DType type = port.dtype == DType::none ? DType::f32 : port.dtype;
  NNEX_ASSIGN(Tensor t, Tensor::make(type, Shape(extents)));
  for (size_t i = 0; i < leaves.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (type == DType::str) {
      if (!leaves[i].is_string())
        return Error(Code::unreadable, fmt::format("found {}; needed a string", leaves[i].dump()));
      t.mutable_as<std::string>()[i] = leaves[i].get<std::string>();
    } else if (leaves[i].is_number_integer()) {
      if (is_real(type))
        set_real(t, at, leaves[i].get<double>());
      else
        set_int(t, at, leaves[i].get<int64_t>());
    } else if (leaves[i].is_number())
      set_real(t, at, leaves[i].get<double>());
    else if (leaves[i].is_boolean())
      set_int(t, at, leaves[i].get<bool>());
    else
      return Error(Code::unreadable, fmt::format("found {}; needed a number", leaves[i].dump()));
  }
  return Value(std::move(t));
}

/// The items of a tensor file of NNEF, in the port's element type where both are numbers of a kind.
Result<Value> read_dat(std::string_view bytes, const PortInfo& port) {
  auto owner = std::make_shared<const std::string>(bytes);
  NNEX_ASSIGN(nnef_format::TensorFile file, nnef_format::read_tensor_file(*owner, owner));
  if (file.header.quantized()) {
    NNEX_ASSIGN(Tensor reals, nnef_format::real_items(file));
    return Value(std::move(reals));
  }
  NNEX_ASSIGN(Tensor t, nnef_format::items(file));
  const bool alike = is_real(port.dtype) == is_real(t.dtype()) &&
                     (port.dtype == DType::boolean) == (t.dtype() == DType::boolean) && port.dtype != DType::str &&
                     !is_complex(port.dtype);
  if (port.dtype == DType::none || port.dtype == t.dtype() || !alike) return Value(std::move(t));
  NNEX_ASSIGN(t, convert(t, port.dtype));
  return Value(std::move(t));
}

/// Bare little-endian elements: of the port's type, or one signed byte each for a wider integer.
Result<Value> read_raw(std::string_view bytes, const PortInfo& port) {
  const auto known = [](int64_t e) { return e >= 0; };
  if (port.dtype == DType::none || !port.known_rank || !std::all_of(port.extents.begin(), port.extents.end(), known))
    return Error(Code::invalid_argument, fmt::format("bare bytes need an input of known extents; it is {}", port.type));
  const auto fill = [&](DType type) -> Result<Tensor> {
    NNEX_ASSIGN(Tensor t, Tensor::make(type, Shape(port.extents)));
    if (t.bytes() != static_cast<int64_t>(bytes.size()))
      return Error(Code::unreadable,
                   fmt::format("found {} bytes; needed {} for {}", bytes.size(), t.bytes(), port.type));
    std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(t.mutable_data()));
    return t;
  };
  const auto count = Shape(port.extents).checked_count();
  if (is_int(port.dtype) && count && *count == static_cast<int64_t>(bytes.size())) {
    NNEX_ASSIGN(Tensor t, fill(DType::i8));
    NNEX_ASSIGN(t, convert(t, port.dtype));
    return Value(std::move(t));
  }
  NNEX_ASSIGN(Tensor t, fill(port.dtype));
  return Value(std::move(t));
}

/// Signed bytes stand for the wider integers that integer networks take, and i32 for the i64 of a document that does
/// not say how wide its integers are.
Result<Value> widened(Tensor t, const PortInfo& port) {
  const bool wider = (t.dtype() == DType::i8 && (port.dtype == DType::i32 || port.dtype == DType::i64)) ||
                     (t.dtype() == DType::i32 && port.dtype == DType::i64);
  if (!wider) return Value(std::move(t));
  NNEX_ASSIGN(Tensor wide, convert(t, port.dtype));
  return Value(std::move(wide));
}

Json json_of(const Tensor& t, int64_t axis, int64_t& at) {
  if (axis == t.shape().rank()) {
    const int64_t i = at++;
    if (t.dtype() == DType::str) return t.strings()[static_cast<size_t>(i)];
    if (t.dtype() == DType::boolean) return int_at(t, i) != 0;
    if (is_real(t.dtype())) return real_at(t, i);
    return int_at(t, i);
  }
  Json list = Json::array();
  for (int64_t i = 0; i < t.shape()[axis]; ++i) list.push_back(json_of(t, axis + 1, at));
  return list;
}

}  // namespace

Result<Value> read_input(const std::string& path, const PortInfo& port, const Picture& picture) {
  auto read = [&]() -> Result<Value> {
    NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
    if (ends_with(path, ".npy")) {
      NNEX_ASSIGN(Tensor t, read_npy(file.bytes()));
      return widened(std::move(t), port);
    }
    if (ends_with(path, ".npz")) {
      NNEX_ASSIGN(auto arrays, read_npz(path, file.bytes()));
      auto it = arrays.size() == 1 ? arrays.begin() : arrays.find(port.name);
      if (it == arrays.end())
        return Error(Code::invalid_argument, fmt::format("found arrays {}; needed '{}'", names_of(arrays), port.name));
      return widened(std::move(it->second), port);
    }
    if (ends_with(path, ".raw") || ends_with(path, ".bin")) return read_raw(file.bytes(), port);
    if (ends_with(path, ".json")) return read_json(file.bytes(), port);
    if (ends_with(path, ".dat")) return read_dat(file.bytes(), port);
    if (ends_with(path, ".pb")) {
      auto owner = std::make_shared<const std::string>(file.bytes());
      NNEX_ASSIGN(auto v, onnx_format::read_value(*owner, Type::tensor(port.dtype), {owner, nullptr}));
      return std::move(v.value);
    }
    if (ends_with(path, ".png") || ends_with(path, ".jpg") || ends_with(path, ".jpeg"))
      return picture_input(file.bytes(), port, picture);
    return Error(Code::invalid_argument,
                 "needed a file that ends in .npy, .npz, .pb, .dat, .json, .raw, .bin, .png or .jpg");
  };
  auto v = read();
  if (!v.ok()) return std::move(v).error().at(path).during(fmt::format("reading input '{}'", port.name));
  return v;
}

Result<std::map<std::string, Value>> read_all_inputs(const std::string& path, const std::vector<PortInfo>& ports) {
  auto read = [&]() -> Result<std::map<std::string, Value>> {
    NNEX_ASSIGN(MappedFile file, MappedFile::open(path, MapPolicy::never));
    NNEX_ASSIGN(auto arrays, read_npz(path, file.bytes()));
    std::map<std::string, Value> out;
    for (auto& [name, t] : arrays) {
      if (std::none_of(ports.begin(), ports.end(),
                       [&, n = std::string_view(name)](const PortInfo& p) { return p.name == n; }))
        return Error(Code::invalid_argument,
                     fmt::format("found arrays {}; the model has no input '{}'", names_of(arrays), name));
      out.emplace(name, std::move(t));
    }
    return out;
  };
  auto v = read();
  if (!v.ok()) return std::move(v).error().at(path).during("reading the inputs");
  return v;
}

Status save_outputs(const std::string& path, const std::vector<PortInfo>& ports, const std::vector<Value>& values) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].tensor())
      return Error(Code::unsupported,
                   fmt::format("output '{}' is a {}; only tensors can be saved", ports[i].name, values[i].text()));
    arrays.emplace_back(ports[i].name, *values[i].tensor());
  }
  NNEX_ASSIGN(std::string bytes, npz_bytes(arrays));
  return write_file(path, bytes);
}

Status save_output(const std::string& path, const Value& value, const std::string& name) {
  const Tensor* t = value.tensor();
  if (!t)
    return Error(Code::unsupported, fmt::format("output '{}' is a {}; only tensors can be saved", name, value.text()));
  if (ends_with(path, ".npy")) {
    NNEX_ASSIGN(std::string bytes, npy_bytes(*t, name));
    return write_file(path, bytes);
  }
  if (ends_with(path, ".npz")) {
    NNEX_ASSIGN(std::string bytes, npz_bytes({{name, *t}}));
    return write_file(path, bytes);
  }
  if (ends_with(path, ".pb")) {
    NNEX_ASSIGN(std::string bytes, onnx_format::write_tensor(*t, name));
    return write_file(path, bytes);
  }
  if (ends_with(path, ".dat")) {
    NNEX_ASSIGN(nnef_format::TensorBytes file, nnef_format::write_tensor_file(*t));
    NNEX_ASSIGN(FileWriter writer, FileWriter::create(path));
    NNEX_TRY(writer.write({file.header.data(), file.header.size()}));
    NNEX_TRY(writer.write(file.data));
    return writer.commit();
  }
  if (ends_with(path, ".json")) {
    int64_t at = 0;
    return write_file(path, json_of(*t, 0, at).dump() + "\n");
  }
  return Error(Code::invalid_argument,
               fmt::format("cannot save to '{}': needed a name that ends in .npy, .npz, .pb, .dat or .json", path));
}

namespace {

/// The whole range of so many bits. Ends and 0 come often: clips, signs and rounding show there.
Tensor random_integers(Tensor t, std::mt19937_64& random, int64_t bits) {
  const int64_t most = (int64_t{1} << (std::min<int64_t>(bits, nnex::bits(t.dtype())) - 1)) - 1;
  const std::array<int64_t, 3> ends = {-most, most, 0};
  for (int64_t i = 0; i < t.count(); ++i) {
    const uint64_t u = random();
    set_int(t, i,
            i < 2 || u % 16 == 0 ? ends[(i < 2 ? static_cast<uint64_t>(i) : u / 16) % ends.size()]
                                 : static_cast<int64_t>(u / 16 % static_cast<uint64_t>(2 * most + 1)) - most);
  }
  return t;
}

}  // namespace

std::optional<int64_t> bits_of(const Model& model) {
  const auto facts = cvm_facts(model);
  if (!facts || model.inputs().size() != 1 || facts->input_bits < 1 || facts->input_bits > 32) return std::nullopt;
  return facts->input_bits;
}

Result<Value> random_input(const PortInfo& port, uint64_t seed, const std::map<std::string, int64_t>& symbols,
                           int64_t unknown, std::optional<int64_t> bits) {
  if (port.dtype == DType::none || port.dtype == DType::str || !port.known_rank)
    return Error(Code::invalid_argument, fmt::format("input '{}' is {}: give it with --input", port.name, port.type));
  std::vector<int64_t> extents;
  for (size_t i = 0; i < port.extents.size(); ++i) {
    auto it = symbols.find(port.dims[i]);
    extents.push_back(port.extents[i] >= 0 ? port.extents[i] : it != symbols.end() ? it->second : unknown);
  }
  NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents)));
  std::mt19937_64 random(seed);
  if (bits && is_int(port.dtype)) return Value(random_integers(std::move(t), random, *bits));
  for (int64_t i = 0; i < t.count(); ++i) {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    if (is_real(port.dtype))
      set_real(t, i, u);
    else
      set_int(t, i, u < 0.5);
  }
  return Value(std::move(t));
}

}  // namespace nnex::cli
