#include "nnex/input_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "api/csv.h"
#include "api/json_tensor.h"
#include "api/numpy.h"
#include "api/picture.h"
#include "api/value_type.h"
#include "api/wav.h"
#include "base/failure.h"
#include "base/guarded.h"
#include "base/mapped_file.h"
#include "base/nearest.h"
#include "base/try.h"
#include "run/inputs.h"
#include "standards/nnef/read_tensor.h"
#include "standards/onnx/read_proto.h"
#include "tensor/convert.h"

namespace nnex {

enum class InputKind : uint8_t { npy, npz, pb, dat, json, csv, wav, raw, picture, folder };

namespace {

namespace fs = std::filesystem;

/// The items of a tensor file of NNEF, in the port's element type where both are numbers of a kind.
Result<Tensor> read_dat(std::string_view bytes, const PortInfo& port) {
  auto owner = std::make_shared<const std::string>(bytes);
  NNEX_ASSIGN(nnef_format::TensorFile file, nnef_format::read_tensor_file(*owner, owner));
  if (file.header.quantized()) return nnef_format::real_items(file);
  NNEX_ASSIGN(Tensor t, nnef_format::items(file));
  const bool alike = is_real(port.dtype) == is_real(t.dtype()) &&
                     (port.dtype == DType::boolean) == (t.dtype() == DType::boolean) && port.dtype != DType::str &&
                     !is_complex(port.dtype);
  if (port.dtype == DType::none || port.dtype == t.dtype() || !alike) return t;
  return convert(t, port.dtype);
}

/// Bare little-endian elements: of the port's type, or one signed byte each for a wider integer.
Result<Tensor> read_raw(std::string_view bytes, const PortInfo& port) {
  const auto known = [](int64_t e) { return e >= 0; };
  if (port.dtype == DType::none || !port.known_rank || !std::all_of(port.extents.begin(), port.extents.end(), known))
    return failure(Code::invalid_argument, "bare bytes need an input of known extents; it is {}", port.type);
  const auto fill = [&](DType type) -> Result<Tensor> {
    NNEX_ASSIGN(Tensor t, Tensor::make(type, Shape(port.extents)));
    if (t.bytes() != static_cast<int64_t>(bytes.size()))
      return failure(Code::unreadable, "found {} bytes; needed {} for {}", bytes.size(), t.bytes(), port.type);
    std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(t.mutable_data()));
    return t;
  };
  const auto count = Shape(port.extents).checked_count();
  if (!is_int(port.dtype) || !count || *count != static_cast<int64_t>(bytes.size())) return fill(port.dtype);
  NNEX_ASSIGN(Tensor t, fill(DType::i8));
  return convert(t, port.dtype);
}

/// The tensor as the input takes it. Without a word signed bytes stand for the wider integers that integer networks
/// take, and i32 for the i64 of a document that does not say how wide its integers are.
Result<Tensor> fitted(Tensor t, const PortInfo& port, bool cast) {
  constexpr uintptr_t kAlignment = 64;
  if (t.dtype() == port.dtype || port.dtype == DType::none) {
    if (reinterpret_cast<uintptr_t>(t.data()) % kAlignment == 0 || t.dtype() == DType::str) return t;
    return t.clone();
  }
  const bool wider = (t.dtype() == DType::i8 && (port.dtype == DType::i32 || port.dtype == DType::i64)) ||
                     (t.dtype() == DType::i32 && port.dtype == DType::i64);
  if (wider || cast) return convert(t, port.dtype);
  return failure(Code::invalid_argument, "found {}; needed {}", Value(t).text(), port.type)
      .helped_by({"cast", "true", "converts it"});
}

/// Of a port: a tensor unless it says something else.
Result<Type> type_of(const PortInfo& port) {
  if (port.dtype != DType::none || port.type.empty()) return Type::tensor(port.dtype);
  return value_type(port.type);
}

/// Whether any file may hold it, and not only messages and JSON.
bool is_plain(const Type& type) { return type.is_tensor() || type.kind == Kind::unknown; }

Result<Value> from_json(const nlohmann::ordered_json& json, const PortInfo& port, const Type& type, bool cast) {
  if (!is_plain(type)) return value_of(json, type, cast);
  NNEX_ASSIGN(Tensor t, tensor_of(json, port.dtype, cast));
  NNEX_ASSIGN(t, fitted(std::move(t), port, cast));
  return Value(std::move(t));
}

const PortInfo* port_named(const std::vector<PortInfo>& ports, std::string_view name) {
  for (const PortInfo& p : ports)
    if (p.name == name) return &p;
  return nullptr;
}

Error no_input(const std::vector<PortInfo>& ports, std::string_view name) {
  std::vector<std::string_view> names;
  for (const PortInfo& p : ports) names.push_back(p.name);
  return Error(Code::invalid_argument, no_such("input", name, names));
}

/// Which of several arrays is for the input: that of its name, or the only one.
Result<std::string> name_for(const PortInfo& port, const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (std::find(names.begin(), names.end(), port.name) != names.end()) return port.name;
  std::string found;
  for (const std::string& name : names) found += fmt::format(" '{}'", name);
  return failure(Code::invalid_argument, "found arrays{}; needed '{}'", found.empty() ? " none" : found, port.name);
}

/// The file of a folder that is for input `i`; nothing where none is.
std::string file_for(const fs::path& folder, size_t i, const std::string& name) {
  std::error_code error;
  std::vector<std::string> candidates = {fmt::format("input_{}.pb", i), fmt::format("input_{}.npy", i)};
  if (!name.empty() && fs::path(name).filename() == name)  // a name never leads out of the folder
    for (const char* ending : {".npy", ".pb", ".dat", ".json", ".csv", ".wav", ".png", ".jpg", ".NPY", ".PB", ".DAT",
                               ".JSON", ".CSV", ".WAV", ".PNG", ".JPG"})
      candidates.push_back(name + ending);
  for (const std::string& c : candidates)
    if (fs::exists(folder / c, error)) return (folder / c).string();
  return {};
}

/// Of a file by its ending; without one by its content.
Result<InputKind> input_kind_of(const std::string& path, std::string_view content, bool by_content) {
  const auto ends = [&](std::string_view end) { return nnex::has_ending(path, end); };
  const auto begins = [&](std::string_view start) { return content.substr(0, start.size()) == start; };
  const struct {
    InputKind kind;
    std::vector<std::string_view> endings, starts;
  } rows[] = {{InputKind::wav, {".wav"}, {}},  // of the content below: pictures begin with RIFF, too
              {InputKind::csv, {".csv"}, {}},
              {InputKind::npy, {".npy"}, {"\x93NUMPY"}},
              {InputKind::npz, {".npz"}, {"PK\x03\x04", "PK\x05\x06"}},
              {InputKind::dat, {".dat"}, {"\x4E\xEF"}},
              {InputKind::picture,
               {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".jp2", ".pbm", ".pgm", ".ppm", ".pnm"},
               {"\x89PNG", "\xFF\xD8\xFF", "RIFF", "BM", "II*", "MM"}},
              {InputKind::json, {".json"}, {"{", "["}},
              {InputKind::raw, {".raw", ".bin"}, {}},
              {InputKind::pb, {".pb"}, {}}};
  if (by_content && begins("RIFF") && content.substr(0, 12).ends_with("WAVE")) return InputKind::wav;
  for (const auto& row : rows)
    if (by_content ? std::any_of(row.starts.begin(), row.starts.end(), begins)
                   : std::any_of(row.endings.begin(), row.endings.end(), ends))
      return row.kind;
  if (by_content) return begins_csv(content) ? InputKind::csv : InputKind::pb;
  return Error(
      Code::invalid_argument,
      "needed a folder, a file that ends in .npy, .npz, .pb, .dat, .json, .csv, .wav, .raw or .bin, or a picture "
      "(.png, .jpg, .webp, .bmp, .tif, .jp2, .ppm)");
}

}  // namespace

struct InputFile::Impl {
  std::string path, held;
  MappedFile file;
  InputKind kind = InputKind::npy;
  bool guessed = false;  ///< Nothing but that it is no other kind speaks for this one.
  nlohmann::ordered_json json;

  std::string_view bytes() const { return held.empty() ? file.bytes() : held; }
  /// What kind of file it is; JSON is read.
  Status recognise(bool by_content);
  Result<Value> read(const PortInfo& port, const InputFileOptions& fit) const;
  Result<Value> read(const PortInfo& port, const Type& type, const InputFileOptions& fit) const;
  Result<std::map<std::string, Value>> read_all(const std::vector<PortInfo>& ports, const InputFileOptions& fit) const;
  Result<std::map<std::string, Value>> read_folder(const std::vector<PortInfo>& ports,
                                                   const InputFileOptions& fit) const;
};

InputFile::InputFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;
InputFile::~InputFile() = default;

InputFile::Impl& InputFile::impl() const {
  if (!impl_) misused("an InputFile was used that had been moved elsewhere");
  return *impl_;
}

bool InputFile::has_ending(const std::string& path) { return input_kind_of(path, {}, false).ok(); }

bool InputFile::by_names() const {
  const InputKind kind = impl().kind;
  return kind == InputKind::npz || kind == InputKind::folder || impl().json.is_object();
}

bool InputFile::may_be_picture() const {
  const InputKind kind = impl().kind;
  return kind == InputKind::picture || kind == InputKind::folder;
}

bool InputFile::may_be_sound() const {
  const InputKind kind = impl().kind;
  return kind == InputKind::wav || kind == InputKind::folder;
}

Status InputFile::Impl::recognise(bool by_content) {
  const std::string_view all = bytes();
  NNEX_ASSIGN(kind,
              input_kind_of(path, all.substr(std::min(all.find_first_not_of(" \t\r\n"), all.size())), by_content));
  guessed = by_content && kind == InputKind::pb;
  if (all.empty() && by_content) return Error(Code::unreadable, "found 0 bytes; needed those of a file");
  if (kind == InputKind::json) {
    JsonLimits limits;
    limits.unique = true;
    NNEX_ASSIGN(json, parse_json(all, limits));
  }
  return {};
}

Result<InputFile> InputFile::open(const std::string& path) {
  auto opened = guarded([&]() -> Result<InputFile> {
    auto f = std::make_unique<Impl>();
    f->path = path;
    std::error_code error;
    if (fs::is_directory(path, error)) {
      f->kind = InputKind::folder;
    } else {
      NNEX_ASSIGN(f->file, MappedFile::open(path, MapPolicy::never));
      NNEX_TRY(f->recognise(false));
    }
    return InputFile(std::move(f));
  });
  if (opened.ok()) return opened;
  Error error = std::move(opened).error();
  const bool named = error.message().find(path) != std::string::npos;  // "cannot open 'x.npy'"
  return std::move(error).at(named ? "" : path).during("reading the inputs");
}

Result<InputFile> InputFile::from_bytes(std::string name, std::string_view bytes) {
  auto opened = guarded([&]() -> Result<InputFile> {
    auto f = std::make_unique<Impl>();
    f->path = name;
    f->held = bytes;
    NNEX_TRY(f->recognise(true));
    return InputFile(std::move(f));
  });
  if (!opened.ok()) return std::move(opened).error().at(name).during("reading the inputs");
  return opened;
}

Result<Value> InputFile::Impl::read(const PortInfo& port, const InputFileOptions& fit) const {
  NNEX_ASSIGN(const Type type, type_of(port));
  return read(port, type, fit);
}

Result<Value> InputFile::Impl::read(const PortInfo& port, const Type& type, const InputFileOptions& fit) const {
  if (!is_plain(type) && kind != InputKind::pb && kind != InputKind::json) {
    if (type.kind != Kind::optional || !type.element)
      return failure(Code::invalid_argument, "found a tensor; needed {}, as .pb or .json", port.type);
    NNEX_ASSIGN(Value item, read(port_info(port.name, *type.element), *type.element, fit));
    return Value(Optional{std::make_shared<const Value>(std::move(item))});
  }
  const auto tensor = [&](Result<Tensor> t) -> Result<Value> {
    if (!t.ok()) return std::move(t).error();
    NNEX_ASSIGN(Tensor ready, fitted(std::move(*t), port, fit.cast));
    return Value(std::move(ready));
  };
  switch (kind) {
    case InputKind::npy:
      return tensor(read_npy(bytes()));
    case InputKind::dat:
      return tensor(read_dat(bytes(), port));
    case InputKind::raw:
      return tensor(read_raw(bytes(), port));
    case InputKind::json: {
      if (!json.is_object()) return from_json(json, port, type, fit.cast);
      const bool whole = type.kind == Kind::map && !json.contains(port.name);
      if (whole) return from_json(json, port, type, fit.cast);
      std::vector<std::string> names;
      for (const auto& [name, list] : json.items()) names.push_back(name);
      NNEX_ASSIGN(const std::string name, name_for(port, names));
      return from_json(json.at(name), port, type, fit.cast);
    }
    case InputKind::csv:
      return tensor(read_csv(bytes(), port, fit.cast));
    case InputKind::wav:
      return tensor(read_wav(bytes(), port, fit.audio));
    case InputKind::picture:
      return picture_input(bytes(), port, fit.picture);
    case InputKind::pb: {
      auto owner = std::make_shared<const std::string>(bytes());
      auto read = onnx_format::read_value(*owner, type, {owner, nullptr});
      if (!read.ok() && guessed)
        return Error(Code::unreadable,
                     "the bytes are of no kind that is known by its content: NumPy, NNEF's tensors, pictures, sound, "
                     "JSON, rows of numbers, ONNX's messages");
      NNEX_ASSIGN(auto v, std::move(read));
      return v.value.tensor() ? tensor(std::move(*v.value.tensor())) : Result<Value>(std::move(v.value));
    }
    case InputKind::npz: {
      NNEX_ASSIGN(const ContainerLimits limits, npz_limits(fit.archive_limit, fit.archive_ratio));
      NNEX_ASSIGN(auto arrays, read_npz(path, bytes(), limits));
      std::vector<std::string> names;
      for (const auto& [name, array] : arrays) names.push_back(name);
      NNEX_ASSIGN(const std::string name, name_for(port, names));
      return tensor(std::move(arrays.at(name)));
    }
    case InputKind::folder:
      break;
  }
  return Error(Code::invalid_argument, "a folder gives inputs by their names: give it without NAME=");
}

Result<Value> InputFile::value(const PortInfo& port, const InputFileOptions& fit) const {
  auto v = guarded([&] { return impl().read(port, fit); });
  if (!v.ok()) return std::move(v).error().at(impl().path).during(fmt::format("reading input '{}'", port.name));
  return v;
}

Result<std::map<std::string, Value>> InputFile::values(const std::vector<PortInfo>& ports,
                                                       const InputFileOptions& fit) const {
  auto v = guarded(
      [&] { return impl().kind == InputKind::folder ? impl().read_folder(ports, fit) : impl().read_all(ports, fit); });
  if (!v.ok()) return std::move(v).error().at(impl().path).during("reading the inputs");
  return v;
}

Result<std::map<std::string, Value>> InputFile::Impl::read_folder(const std::vector<PortInfo>& ports,
                                                                  const InputFileOptions& fit) const {
  std::map<std::string, Value> out;
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string found = file_for(path, i, ports[i].name);
    if (found.empty()) continue;
    NNEX_ASSIGN(const InputFile file, open(found));
    NNEX_ASSIGN(Value v, file.value(ports[i], fit));
    out.emplace(ports[i].name, std::move(v));
  }
  if (!out.empty() || ports.empty()) return out;
  return failure(Code::invalid_argument,
                 "the folder has no input: neither input_0.pb nor '{}.npy' (.pb .dat .json .csv .wav .png .jpg)",
                 ports[0].name);
}

Result<std::map<std::string, Value>> InputFile::Impl::read_all(const std::vector<PortInfo>& ports,
                                                               const InputFileOptions& fit) const {
  std::map<std::string, Value> out;
  const auto add = [&](const std::string& name, const auto& value_for) -> Status {
    const PortInfo* port = port_named(ports, name);
    if (!port) return no_input(ports, name);
    Result<Value> v = value_for(*port);
    if (!v.ok()) return std::move(v).error().during(fmt::format("reading input '{}'", name));
    out.emplace(name, std::move(*v));
    return {};
  };
  if (kind == InputKind::npz) {
    NNEX_ASSIGN(const ContainerLimits limits, npz_limits(fit.archive_limit, fit.archive_ratio));
    NNEX_ASSIGN(auto arrays, read_npz(path, bytes(), limits));
    for (auto& [name, array] : arrays)
      NNEX_TRY(add(name, [&, &t = array](const PortInfo& port) -> Result<Value> {
        NNEX_ASSIGN(Tensor ready, fitted(std::move(t), port, fit.cast));
        return Value(std::move(ready));
      }));
    return out;
  }
  for (const auto& [name, list] : json.items())
    NNEX_TRY(add(name, [&, &j = list](const PortInfo& port) -> Result<Value> {
      NNEX_ASSIGN(const Type type, type_of(port));
      return from_json(j, port, type, fit.cast);
    }));
  return out;
}

}  // namespace nnex
