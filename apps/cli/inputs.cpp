// Inputs from files, outputs to files.

#include <cstring>
#include <random>

#include "base/byte_reader.h"
#include "base/mapped_file.h"
#include "cli.h"
#include "formats/onnx/proto.h"
#include "picture.h"
#include "tensor/convert.h"

namespace nnex::cli {
namespace {

bool ends_with(const std::string& s, std::string_view end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

struct NpyType {
  std::string_view code;
  DType type;
};
constexpr NpyType kNpy[] = {{"f8", DType::f64}, {"f4", DType::f32},  {"f2", DType::f16}, {"i8", DType::i64},
                            {"i4", DType::i32}, {"i2", DType::i16},  {"i1", DType::i8},  {"u8", DType::u64},
                            {"u4", DType::u32}, {"u2", DType::u16},  {"u1", DType::u8},  {"b1", DType::boolean},
                            {"c8", DType::c64}, {"c16", DType::c128}};

/// NumPy's file format 1.0 to 3.0: magic, header length, a Python dict, the elements.
Result<Value> read_npy(std::string_view bytes) {
  auto fail = [](std::string_view what) { return Error(Code::unreadable, fmt::format("not a .npy file: {}", what)); };
  ByteReader r(bytes);
  if (r.bytes(6) != std::string_view("\x93NUMPY", 6)) return fail("the magic bytes are missing");
  const auto major = r.number<uint8_t>();
  r.number<uint8_t>();
  const uint64_t length = major == 1 ? r.number<uint16_t>() : r.number<uint32_t>();
  const std::string header(r.bytes(length));
  if (!r.ok()) return fail("its header is cut off");
  auto after = [&](std::string_view key) -> std::string_view {
    const size_t at = header.find(key);
    return at == std::string::npos ? std::string_view() : std::string_view(header).substr(header.find(':', at) + 1);
  };
  std::string_view descr = after("'descr'");
  descr.remove_prefix(std::min(descr.find('\'') + 1, descr.size()));
  descr = descr.substr(0, descr.find('\''));
  DType type = DType::none;
  for (const NpyType& t : kNpy)
    if (descr.size() > 1 && descr.substr(1) == t.code && descr[0] != '>') type = t.type;
  if (type == DType::none) return fail(fmt::format("element type '{}' is not supported", descr));
  if (after("'fortran_order'").find("True") < 6) return fail("column-major order is not supported");
  std::string_view list = after("'shape'");
  list = list.substr(0, list.find(')'));
  std::vector<int64_t> extents;
  for (size_t i = 0; i < list.size();) {
    if (list[i] < '0' || list[i] > '9') {
      ++i;
      continue;
    }
    int64_t n = 0;
    for (; i < list.size() && list[i] >= '0' && list[i] <= '9'; ++i)
      n = std::min<int64_t>(n, int64_t{1} << 55) * 10 + (list[i] - '0');
    extents.push_back(n);
  }
  Shape shape(extents);
  auto count = shape.checked_count();
  auto size = count ? bytes_for(type, *count) : std::nullopt;
  if (!size || r.remaining() < static_cast<uint64_t>(*size))
    return fail(fmt::format("its data end before shape {} is filled", shape.text()));
  NNEX_ASSIGN(Tensor t, Tensor::make(type, shape));
  std::memcpy(t.mutable_data(), r.bytes(static_cast<uint64_t>(*size)).data(), static_cast<size_t>(*size));
  return Value(std::move(t));
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

std::string npy_bytes(const Tensor& t) {
  std::string_view code;
  for (const NpyType& n : kNpy)
    if (n.type == t.dtype()) code = n.code;
  if (code.empty()) return {};
  std::string shape;
  for (int64_t e : t.shape()) shape += fmt::format("{},", e);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   code[1] == '1' ? '|' : '<', code, shape);
  while ((10 + header.size() + 1) % 64) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  return out.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
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
    if (ends_with(path, ".npy")) return read_npy(file.bytes());
    if (ends_with(path, ".json")) return read_json(file.bytes(), port);
    if (ends_with(path, ".pb")) {
      auto owner = std::make_shared<const std::string>(file.bytes());
      NNEX_ASSIGN(auto v, onnx_format::read_value(*owner, Type::tensor(port.dtype), {owner, nullptr}));
      return std::move(v.value);
    }
    if (ends_with(path, ".png") || ends_with(path, ".jpg") || ends_with(path, ".jpeg"))
      return picture_input(file.bytes(), port, picture);
    return Error(Code::invalid_argument, "needed a file that ends in .npy, .pb, .json, .png or .jpg");
  };
  auto v = read();
  if (!v.ok()) return std::move(v).error().at(path).during(fmt::format("reading input '{}'", port.name));
  return v;
}

Status save_output(const std::string& path, const Value& value, const std::string& name) {
  const Tensor* t = value.tensor();
  if (!t)
    return Error(Code::unsupported, fmt::format("output '{}' is a {}; only tensors can be saved", name, value.text()));
  if (ends_with(path, ".npy")) {
    std::string bytes = npy_bytes(*t);
    if (bytes.empty())
      return Error(Code::unsupported,
                   fmt::format("NumPy has no element type {}; save '{}' as .pb", nnex::name(t->dtype()), name));
    return write_file(path, bytes);
  }
  if (ends_with(path, ".pb")) {
    NNEX_ASSIGN(std::string bytes, onnx_format::write_tensor(*t, name));
    return write_file(path, bytes);
  }
  if (ends_with(path, ".json")) {
    int64_t at = 0;
    return write_file(path, json_of(*t, 0, at).dump() + "\n");
  }
  return Error(Code::invalid_argument,
               fmt::format("cannot save to '{}': needed a name that ends in .npy, .pb or .json", path));
}

Result<Value> random_input(const PortInfo& port, uint64_t seed, const std::map<std::string, int64_t>& symbols,
                           int64_t unknown) {
  if (port.dtype == DType::none || port.dtype == DType::str || !port.known_rank)
    return Error(Code::invalid_argument, fmt::format("input '{}' is {}: give it with --input", port.name, port.type));
  std::vector<int64_t> extents;
  for (size_t i = 0; i < port.extents.size(); ++i) {
    auto it = symbols.find(port.dims[i]);
    extents.push_back(port.extents[i] >= 0 ? port.extents[i] : it != symbols.end() ? it->second : unknown);
  }
  NNEX_ASSIGN(Tensor t, Tensor::make(port.dtype, Shape(extents)));
  std::mt19937_64 random(seed);
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
