// Tensors in files, and files as what an input takes, through the C interface.

#include "nnex/tensor_file.h"

#include "base/try.h"
#include "c/handles.h"
#include "nnex/input_file.h"

struct nnex_tensors {
  std::vector<nnex::NamedTensor> all;
};

namespace nnex::c {
template <>
inline constexpr FirstVersion kFirstVersion<nnex_input_options> = {"nnex_input_options",
                                                                   offsetof(nnex_input_options, cast) + sizeof(bool)};

namespace {

Existing existing(bool overwrite) { return overwrite ? Existing::replace : Existing::refuse; }

Result<const Tensor*> tensor_in(const nnex_value* value, const std::string& argument) {
  if (!value) return null_argument(argument.c_str());
  const Tensor* t = value->value.tensor();
  if (!t) return Error(Code::invalid_argument, "found " + value->text + "; needed a tensor");
  return t;
}

Result<InputFileOptions> input_options(const nnex_input_options* given) {
  NNEX_ASSIGN(const nnex_input_options o, known(given));
  InputFileOptions out;
  if (o.layout) {
    const std::string_view layout = o.layout;
    if (layout != "nchw" && layout != "nhwc")
      return Error(Code::invalid_argument, "found layout '" + std::string(layout) + "'; needed nchw or nhwc");
    out.picture.layout = layout == "nchw" ? PictureLayout::nchw : PictureLayout::nhwc;
  }
  if (!o.mean && o.mean_count) return null_argument("options->mean");
  if (!o.scale && o.scale_count) return null_argument("options->scale");
  out.picture.mean.assign(o.mean, o.mean + o.mean_count);
  out.picture.scale.assign(o.scale, o.scale + o.scale_count);
  out.picture.bgr = o.bgr, out.cast = o.cast;
  out.audio.sample_rate = o.sample_rate;
  out.archive_ratio = o.archive_ratio, out.archive_limit = o.archive_limit;
  return out;
}

/// What says how a picture or a sound is read says nothing of other files.
Status check_used(const InputFile& file, const InputFileOptions& o) {
  const bool picture = o.picture.layout != PictureLayout::automatic || !o.picture.mean.empty() ||
                       !o.picture.scale.empty() || o.picture.bgr;
  if (picture && !file.may_be_picture())
    return Error(Code::invalid_argument, "found layout, mean, scale or bgr; needed a picture for them");
  if (o.audio.sample_rate != 0 && !file.may_be_sound())
    return Error(Code::invalid_argument, "found sample_rate; needed a .wav file for it");
  return {};
}

Result<nnex_value*> value_of(const InputFile& file, const char* name, const nnex_port& port,
                             const nnex_input_options* options) {
  NNEX_ASSIGN(const InputFileOptions o, input_options(options));
  if (Status used = check_used(file, o); !used.ok()) return std::move(used).error().at(name);
  NNEX_ASSIGN(Value value, file.value(port.info, o));
  return new nnex_value(std::move(value));
}

}  // namespace
}  // namespace nnex::c

using namespace nnex;
using namespace nnex::c;

extern "C" {

nnex_error* nnex_tensor_read(const char* path, nnex_value** out) { return nnex_tensor_read_as(path, NNEX_NONE, out); }

nnex_error* nnex_tensor_read_as(const char* path, nnex_dtype dtype, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(path);
    NNEX_C_NEED(out);
    if (dtype < NNEX_NONE || dtype > NNEX_STR) return Error(Code::invalid_argument, "no such element type");
    NNEX_ASSIGN(Tensor tensor, read_tensor(path, static_cast<DType>(dtype)));
    *out = new nnex_value(Value(std::move(tensor)));
    return {};
  });
}

nnex_error* nnex_tensor_write(const nnex_value* tensor, const char* path, const char* name, bool overwrite) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(path);
    NNEX_ASSIGN(const Tensor* t, tensor_in(tensor, "tensor"));
    return write_tensor(path, *t, name ? name : "", existing(overwrite));
  });
}

nnex_error* nnex_tensors_read(const char* path, nnex_tensors** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(path);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(auto found, read_tensors(path));
    nnex_tensors tensors;
    for (auto& [name, tensor] : found) tensors.all.push_back({name, std::move(tensor)});
    *out = new nnex_tensors(std::move(tensors));
    return {};
  });
}

size_t nnex_tensors_count(const nnex_tensors* t) { return t ? t->all.size() : 0; }
const char* nnex_tensors_name(const nnex_tensors* t, size_t i) {
  return t && i < t->all.size() ? t->all[i].name.c_str() : nullptr;
}
nnex_error* nnex_tensors_item(const nnex_tensors* tensors, size_t index, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(tensors);
    NNEX_C_NEED(out);
    const size_t count = tensors->all.size();
    if (index >= count)
      return Error(Code::invalid_argument,
                   "tensor " + std::to_string(index) + " of a file that has " + std::to_string(count));
    *out = new nnex_value(Value(tensors->all[index].tensor));
    return {};
  });
}
void nnex_tensors_free(nnex_tensors* tensors) { delete tensors; }

nnex_error* nnex_tensors_write(const char* path, const char* const* names, nnex_value* const* tensors, size_t count,
                               bool overwrite) {
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(path);
    NNEX_ASSIGN(const std::vector<std::string> called, texts_of(names, count, "names"));
    if (!tensors && count) return null_argument("tensors");
    std::vector<NamedTensor> all;
    for (size_t i = 0; i < count; ++i) {
      NNEX_ASSIGN(const Tensor* t, tensor_in(tensors[i], "tensors[" + std::to_string(i) + "]"));
      all.push_back({called[i], *t});
    }
    return write_tensors(path, all, existing(overwrite));
  });
}

nnex_error* nnex_port_read(const nnex_port* input, const char* path, const nnex_input_options* options,
                           nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(input);
    NNEX_C_NEED(path);
    NNEX_C_NEED(out);
    NNEX_ASSIGN(const InputFile file, InputFile::open(path));
    NNEX_ASSIGN(*out, value_of(file, path, *input, options));
    return {};
  });
}

nnex_error* nnex_port_read_memory(const nnex_port* input, const void* bytes, size_t size, const char* name,
                                  const nnex_input_options* options, nnex_value** out) {
  if (out) *out = nullptr;
  return c::guarded([&]() -> Status {
    NNEX_C_NEED(input);
    NNEX_C_NEED(out);
    if (!bytes && size) return null_argument("bytes");
    const std::string_view all(static_cast<const char*>(bytes), size);
    const char* const called = name ? name : "the file";
    NNEX_ASSIGN(const InputFile file, InputFile::from_bytes(called, all));
    NNEX_ASSIGN(*out, value_of(file, called, *input, options));
    return {};
  });
}

}  // extern "C"
