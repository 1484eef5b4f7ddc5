#include "serve/protocol.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "nnex/elements.h"
#include "serve/classes.h"
#include "serve/infer_json.h"
#include "shared/json.h"
#include "shared/try.h"

namespace nnex::serve {
namespace {

using cli::Json;

constexpr struct {
  std::string_view name;
  DType type;
} kTypes[] = {{"BOOL", DType::boolean}, {"UINT8", DType::u8}, {"UINT16", DType::u16}, {"UINT32", DType::u32},
              {"UINT64", DType::u64},   {"INT8", DType::i8},  {"INT16", DType::i16},  {"INT32", DType::i32},
              {"INT64", DType::i64},    {"FP16", DType::f16}, {"BF16", DType::bf16},  {"FP32", DType::f32},
              {"FP64", DType::f64},     {"BYTES", DType::str}};

/// Whether the type has no numbers in JSON: the protocol carries it as bytes alone.
bool bytes_alone(DType type) { return type == DType::f16 || type == DType::bf16; }

uint32_t length_at(std::string_view bytes) {
  uint32_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

/// "[1,3,?]"
std::string needed_shape(const PortInfo& port) { return fmt::format("[{}]", fmt::join(port.dims, ",")); }

Status check_shape(const PortInfo& port, const std::vector<int64_t>& shape) {
  if (!port.known_rank) return {};
  bool fits = shape.size() == port.extents.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) fits = port.extents[i] < 0 || port.extents[i] == shape[i];
  if (fits) return {};
  return refused(
      fmt::format("input '{}': found shape [{}]; needed {}", port.name, fmt::join(shape, ","), needed_shape(port)));
}

/// What a text of so many bytes takes of the system's memory, beside the object: short ones lie in that.
int64_t text_memory(size_t length) {
  constexpr size_t kChunk = 16;  // of the allocator's own
  return length < sizeof(std::string) / 2 ? 0 : static_cast<int64_t>(length + 1 + kChunk);
}

/// Memory of a tensor that lies in no body.
int64_t memory_of(const Tensor& t) {
  if (t.dtype() != DType::str) return t.bytes();
  int64_t bytes = t.count() * static_cast<int64_t>(sizeof(std::string));
  for (const std::string& s : t.strings()) bytes += text_memory(s.size());
  return bytes;
}

/// Strings with a length of 4 bytes before each. Objects and texts take more memory than these bytes: it is asked for
/// before.
Result<Tensor> strings_from(const PortInfo& port, const Shape& shape, std::string_view bytes, const Room& room) {
  const int64_t count = shape.checked_count().value_or(-1);
  const size_t came = bytes.size();
  const auto wrong = [&](std::string_view what) {
    return refused(fmt::format("input '{}': {} ({} elements in {} bytes, each a length of 4 bytes and so many bytes)",
                               port.name, what, count, came));
  };
  if (count < 0 || static_cast<uint64_t>(count) > bytes.size() / 4) return wrong("too few bytes");
  int64_t memory = count * static_cast<int64_t>(sizeof(std::string));
  std::string_view left = bytes;
  for (int64_t i = 0; i < count; ++i) {
    if (left.size() < sizeof(uint32_t)) return wrong("a length is cut off");
    const uint32_t length = length_at(left);
    left.remove_prefix(sizeof length);
    if (length > left.size()) return wrong("a length runs past the end");
    left.remove_prefix(length);
    memory += text_memory(length);
  }
  if (!left.empty()) return wrong("bytes are left over");
  if (room) NNEX_TRY(room(memory));
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::str, shape));
  for (std::string& s : t.mutable_as<std::string>()) {
    const uint32_t length = length_at(bytes);
    s.assign(bytes.substr(sizeof length, length));
    bytes.remove_prefix(sizeof length + length);
  }
  return t;
}

/// A tensor over bytes of the body.
Result<Value> from_bytes(const PortInfo& port, const std::vector<int64_t>& extents, std::string_view bytes,
                         const std::shared_ptr<const std::string>& body, const Room& room) {
  const Shape shape(extents);
  if (port.dtype == DType::str) {
    NNEX_ASSIGN(Tensor t, strings_from(port, shape, bytes, room));
    return Value(std::move(t));
  }
  const auto count = shape.checked_count();
  const auto needed = count ? bytes_for(port.dtype, *count) : std::nullopt;
  if (!needed || static_cast<uint64_t>(*needed) != bytes.size())
    return refused(fmt::format("input '{}': found {} bytes; {} of shape {} has {}", port.name, bytes.size(),
                               datatype_of(port.dtype), shape.text(), needed ? fmt::to_string(*needed) : "too many"));
  if (port.dtype == DType::boolean)
    if (const size_t at = bytes.find_first_not_of(std::string_view("\0\1", 2)); at != std::string_view::npos)
      return refused(fmt::format("input '{}': found {} in its bytes, which BOOL does not hold", port.name,
                                 static_cast<unsigned char>(bytes[at])));
  return Value(Tensor::borrow(port.dtype, shape, bytes.data(), body));
}

const PortInfo* port_named(const std::vector<PortInfo>& ports, const std::string& name) {
  for (const PortInfo& port : ports)
    if (port.name == name) return &port;
  return nullptr;
}

std::string names_of(const std::vector<PortInfo>& ports) {
  std::vector<std::string> names;
  for (const PortInfo& port : ports) names.push_back(fmt::format("'{}'", port.name));
  return fmt::format("{}", fmt::join(names, " "));
}

/// Parameters that change what an answer means and that nnex lacks. Any others are the client's own business.
Status check_parameters(const Parameters& parameters, std::string_view whose, bool of_output = false) {
  for (const auto& [name, value] : parameters) {
    if (name.starts_with("shared_memory_") || name == "sequence_id" || name == "sequence_start" ||
        name == "sequence_end")
      return refused(fmt::format("{}: the parameter '{}' is not supported", whose, name));
    if (name == "classification" && !of_output)
      return refused(fmt::format("{}: the parameter '{}' is of outputs alone", whose, name));
  }
  return {};
}

template <class T>
Result<std::optional<T>> parameter(const Parameters& parameters, const char* name, std::string_view whose,
                                   const char* kind) {
  for (const auto& [key, value] : parameters) {
    if (key != name) continue;
    if (const T* found = std::get_if<T>(&value)) return std::optional<T>(*found);
    return refused(fmt::format("{}: the parameter '{}' must be {}", whose, name, kind));
  }
  return std::optional<T>();
}

/// Reads a request whose parts are known; binary content begins at `at` of the body.
class Reader {
 public:
  Reader(std::shared_ptr<const std::string> body, size_t at, const Ports& ports, const Room& room)
      : body_(std::move(body)), at_(at), ports_(ports), room_(room) {}

  Result<InferRequest> run(InferJson json) {
    InferRequest out;
    out.id = std::move(json.id);
    NNEX_TRY(check_parameters(json.parameters, "the request"));
    NNEX_ASSIGN(out.timeout_us, parameter<int64_t>(json.parameters, "timeout", "the request", "a whole number"));
    if (out.timeout_us && *out.timeout_us < 0) return refused("timeout: needed a number of microseconds");
    if (out.timeout_us == 0) out.timeout_us.reset();  // the default
    if (json.inputs.empty() && !ports_.inputs.empty()) return refused("the request has no inputs");
    out.inputs.resize(ports_.inputs.size());
    for (JsonInput& input : json.inputs) NNEX_TRY(add(input, out));
    for (size_t i = 0; i < out.inputs.size(); ++i)
      if (out.inputs[i].empty()) return refused(fmt::format("input '{}' is missing", ports_.inputs[i].name));
    if (at_ != body_->size()) return refused(fmt::format("{} bytes follow the last binary input", body_->size() - at_));
    NNEX_TRY(choose(json, out));
    return out;
  }

 private:
  Status add(JsonInput& input, InferRequest& out) {
    if (input.name.empty() && !port_named(ports_.inputs, ""))
      return refused(fmt::format("an input has no name; the model has: {}", names_of(ports_.inputs)));
    const PortInfo* port = port_named(ports_.inputs, input.name);
    if (!port) return refused(fmt::format("no input '{}'; the model has: {}", input.name, names_of(ports_.inputs)));
    const std::string whose = fmt::format("input '{}'", port->name);
    Value& value = out.inputs[static_cast<size_t>(port - ports_.inputs.data())];
    if (!value.empty()) return refused(fmt::format("{} is given twice", whose));
    const std::string_view needed = datatype_of(port->dtype);
    if (needed.empty()) return refused(fmt::format("{} is {}, which the protocol cannot carry", whose, port->type));
    if (input.datatype.empty()) return refused(fmt::format("{} has no datatype; needed {}", whose, needed));
    if (input.datatype != needed)
      return refused(fmt::format("{}: found datatype '{}'; needed {}", whose, input.datatype, needed));
    if (!input.has_shape) return refused(fmt::format("{} has no shape", whose));
    NNEX_TRY(check_shape(*port, input.shape));
    NNEX_TRY(check_parameters(input.parameters, whose));
    NNEX_ASSIGN(const auto size, parameter<int64_t>(input.parameters, "binary_data_size", whose, "a whole number"));
    if (size && input.data) return refused(fmt::format("{} has data and binary_data_size", whose));
    if (!size && !input.data) return refused(fmt::format("{} has no data", whose));
    if (input.data) {
      if (bytes_alone(port->dtype))
        return refused(fmt::format("{}: {} is sent as binary data alone (binary_data_size)", whose, needed));
      NNEX_ASSIGN(Tensor t, tensor_of(*input.data, port->dtype, input.shape, whose));
      out.own_bytes += memory_of(t);
      value = std::move(t);
      return {};
    }
    if (*size < 0 || static_cast<uint64_t>(*size) > body_->size() - at_)
      return refused(
          fmt::format("{}: binary_data_size is {}; {} bytes are left of the body", whose, *size, body_->size() - at_));
    const std::string_view bytes = std::string_view(*body_).substr(at_, static_cast<size_t>(*size));
    NNEX_ASSIGN(value, from_bytes(*port, input.shape, bytes, body_, room_));
    if (port->dtype == DType::str) out.own_bytes += memory_of(*value.tensor());
    at_ += static_cast<size_t>(*size);
    return {};
  }

  /// Which outputs are wanted, and how.
  Status choose(const InferJson& json, InferRequest& out) {
    NNEX_ASSIGN(const auto all, parameter<bool>(json.parameters, "binary_data_output", "the request", "true or false"));
    if (json.outputs.empty()) {
      for (size_t i = 0; i < ports_.outputs.size(); ++i) out.outputs.push_back({i, all.value_or(false)});
      return {};
    }
    for (const JsonOutput& output : json.outputs) {
      const PortInfo* port = port_named(ports_.outputs, output.name);
      if (!port)
        return refused(fmt::format("no output '{}'; the model has: {}", output.name, names_of(ports_.outputs)));
      const size_t at = static_cast<size_t>(port - ports_.outputs.data());
      for (const WantedOutput& other : out.outputs)
        if (other.port == at) return refused(fmt::format("output '{}' is asked for twice", port->name));
      const std::string whose = fmt::format("output '{}'", port->name);
      NNEX_TRY(check_parameters(output.parameters, whose, true));
      NNEX_ASSIGN(const auto binary, parameter<bool>(output.parameters, "binary_data", whose, "true or false"));
      constexpr const char* kCount = "a whole number from 1";
      NNEX_ASSIGN(const auto classes, parameter<int64_t>(output.parameters, "classification", whose, kCount));
      if (classes && *classes < 1)
        return refused(fmt::format("{}: the parameter 'classification' must be {}", whose, kCount));
      if (classes && port->dtype == DType::str) return refused(fmt::format("{} is text, which has no classes", whose));
      out.outputs.push_back({at, binary.value_or(all.value_or(false)), classes.value_or(0)});
    }
    return {};
  }

  std::shared_ptr<const std::string> body_;
  size_t at_;
  const Ports& ports_;
  const Room& room_;
};

/// A body without JSON is the content of the only input; one extent at most is open, and its length tells it.
Result<InferRequest> read_bare(const std::shared_ptr<const std::string>& body, const Ports& ports) {
  if (ports.inputs.size() != 1)
    return refused(fmt::format("a body without JSON needs a model of one input; this one has {}", ports.inputs.size()));
  const PortInfo& port = ports.inputs[0];
  std::vector<int64_t> shape = port.extents;
  int64_t fixed = 1, open = 0;
  for (const int64_t extent : shape) {
    open += extent < 0;
    if (extent >= 0 && __builtin_mul_overflow(fixed, extent, &fixed)) fixed = 0;
  }
  const int64_t width = bits(port.dtype) / 8;
  if (port.dtype == DType::str)
    return refused(
        fmt::format("input '{}' is {}: a body without JSON has elements of one size; BYTES needs "
                    "binary_data_size, or JSON",
                    port.name, port.type));
  if (datatype_of(port.dtype).empty() || !port.known_rank || open > 1 || fixed <= 0)
    return refused(fmt::format("input '{}' is {}: a body without JSON needs an input with one open extent at most",
                               port.name, port.type));
  const auto size = static_cast<int64_t>(body->size());
  int64_t step = 0;
  if (open == 1 && !__builtin_mul_overflow(width, fixed, &step) && size % step != 0)
    return refused(fmt::format("input '{}': found {} bytes; {} of shape {} has a multiple of {}", port.name, size,
                               datatype_of(port.dtype), needed_shape(port), step));
  for (int64_t& extent : shape)
    if (extent < 0) extent = size / width / fixed;
  InferRequest out;
  NNEX_ASSIGN(Value value, from_bytes(port, shape, *body, body, {}));
  out.inputs.push_back(std::move(value));
  for (size_t i = 0; i < ports.outputs.size(); ++i) out.outputs.push_back({i, true});
  return out;
}

std::string json_text(std::string_view s) { return Json(s).dump(-1, ' ', false, Json::error_handler_t::replace); }

/// A real, with "NaN", "Infinity" and "-Infinity" for what JSON lacks. -0 has a fraction: as a whole number it is 0.
void append_real(std::string& out, const Tensor& t, int64_t i) {
  const double x = real_at(t, i);
  if (std::isnan(x))
    out += "\"NaN\"";
  else if (std::isinf(x))
    out += x > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  else if (x == 0 && std::signbit(x))
    out += "-0.0";
  else
    out += t.dtype() == DType::f32 ? number_text(static_cast<float>(x)) : number_text(x);
}

/// The elements. Whether JSON has them all: text that is no UTF-8 it lacks.
bool append_elements(std::string& out, const Tensor& t) {
  for (int64_t i = 0; i < t.count(); ++i) {
    if (i > 0) out += ',';
    if (t.dtype() == DType::str) {
      try {
        out += Json(t.strings()[static_cast<size_t>(i)]).dump();
      } catch (const Json::type_error&) {
        return false;
      }
    } else if (t.dtype() == DType::boolean) {
      out += int_at(t, i) ? "true" : "false";
    } else if (is_int(t.dtype())) {
      const int64_t x = int_at(t, i);
      out += t.dtype() == DType::u64 ? fmt::to_string(static_cast<uint64_t>(x)) : fmt::to_string(x);
    } else {
      append_real(out, t, i);
    }
  }
  return true;
}

void append_bytes(std::string& out, const Tensor& t) {
  if (t.dtype() != DType::str) {
    out.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
    return;
  }
  for (const std::string& s : t.strings()) {
    const auto length = static_cast<uint32_t>(s.size());
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out += s;
  }
}

size_t binary_size(const Tensor& t) {
  if (t.dtype() != DType::str) return static_cast<size_t>(t.bytes());
  size_t n = 0;
  for (const std::string& s : t.strings()) n += sizeof(uint32_t) + s.size();
  return n;
}

}  // namespace

std::string_view datatype_of(DType type) {
  for (const auto& row : kTypes)
    if (row.type == type) return row.name;
  return {};
}

DType dtype_of(std::string_view datatype) {
  for (const auto& row : kTypes)
    if (row.name == datatype) return row.type;
  return DType::none;
}

Result<InferRequest> read_infer(std::shared_ptr<const std::string> body, std::optional<size_t> json_bytes,
                                const Ports& ports, std::optional<std::string>* id, const Room& room) {
  if (json_bytes == 0u) return read_bare(body, ports);
  if (json_bytes && *json_bytes > body->size())
    return refused(
        fmt::format("Inference-Header-Content-Length is {}; the body has {} bytes", *json_bytes, body->size()));
  const size_t end = json_bytes.value_or(body->size());
  NNEX_ASSIGN(InferJson json, read_infer_json(std::string_view(*body).substr(0, end)));
  if (id) *id = json.id;
  return Reader(std::move(body), end, ports, room).run(std::move(json));
}

int64_t response_bytes(const InferRequest& request, const Ports& ports, const std::vector<Value>& results) {
  constexpr int64_t kClass = 64;  // as a text of a tensor, and of the answer
  int64_t bytes = 0;
  for (const WantedOutput& wanted : request.outputs)
    if (const Tensor* t = results[wanted.port].tensor(); t && wanted.classes > 0) {
      const ClassCount count = class_count(*t, wanted.classes, ports.rows);
      bytes += count.groups * count.each * kClass + t->count() / std::max<int64_t>(1, count.groups) * 8;
    } else if (t) {
      bytes += wanted.binary ? static_cast<int64_t>(binary_size(*t)) : t->count() * 2;  // a digit and a comma
    }
  return bytes;
}

Result<Response> write_infer(const std::string& model, const std::string& version, const InferRequest& request,
                             const Ports& ports, const std::vector<Value>& results) {
  std::vector<Tensor> shown(request.outputs.size());  // as they are answered
  for (size_t i = 0; i < shown.size(); ++i) {
    const WantedOutput& wanted = request.outputs[i];
    const Tensor* t = results[wanted.port].tensor();
    if (!t || datatype_of(t->dtype()).empty())
      return refused(fmt::format("output '{}' is {}, which the protocol cannot carry", ports.outputs[wanted.port].name,
                                 results[wanted.port].text()));
    shown[i] = *t;
    if (wanted.classes == 0) continue;
    NNEX_ASSIGN(shown[i], classified(*t, wanted.classes, ports.rows));
  }
  std::string json = fmt::format(R"({{"model_name":{},"model_version":{},)", json_text(model), json_text(version));
  if (request.id) json += fmt::format(R"("id":{},)", json_text(*request.id));
  json += "\"outputs\":[";
  size_t binary = 0;
  bool any = false;
  for (size_t i = 0; i < shown.size(); ++i) {
    const WantedOutput& wanted = request.outputs[i];
    const PortInfo& port = ports.outputs[wanted.port];
    const Tensor* t = &shown[i];
    const std::string_view datatype = datatype_of(t->dtype());
    if (i > 0) json += ',';
    json += fmt::format(R"({{"name":{},"datatype":"{}","shape":[{}],)", json_text(port.name), datatype,
                        fmt::join(t->shape().extents(), ","));
    if (wanted.binary) {
      const size_t size = binary_size(*t);
      binary += size;
      any = true;
      json += fmt::format(R"("parameters":{{"binary_data_size":{}}}}})", size);
    } else {
      if (bytes_alone(t->dtype()))
        return refused(
            fmt::format("output '{}' is {}, which is sent as binary data alone (binary_data)", port.name, datatype));
      json += "\"data\":[";
      if (!append_elements(json, *t))
        return refused(fmt::format(
            "output '{}' has text that is no UTF-8, which is sent as binary data alone (binary_data)", port.name));
      json += "]}";
    }
  }
  json += "]}";
  Response out;
  if (any) {
    out.type = "application/octet-stream";
    out.headers.push_back({"Inference-Header-Content-Length", fmt::to_string(json.size())});
    json.reserve(json.size() + binary);
    for (size_t i = 0; i < shown.size(); ++i)
      if (request.outputs[i].binary) append_bytes(json, shown[i]);
  }
  out.body = std::move(json);
  return out;
}

std::string metadata_of(const std::string& model, const std::vector<std::string>& versions, std::string_view platform,
                        const Ports& ports) {
  const auto list = [](const std::vector<PortInfo>& side) {
    Json out = Json::array();
    for (const PortInfo& port : side) {
      const std::string_view datatype = datatype_of(port.dtype);
      out.push_back({{"name", port.name},
                     {"datatype", datatype.empty() ? port.type : std::string(datatype)},
                     {"shape", port.known_rank ? Json(port.extents) : Json::array()}});
    }
    return out;
  };
  const Json j = {{"name", model},
                  {"versions", versions},
                  {"platform", platform},
                  {"inputs", list(ports.inputs)},
                  {"outputs", list(ports.outputs)}};
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nnex::serve
