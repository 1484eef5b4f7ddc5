#include "model_options.h"

#include "buffers.h"
#include "nnex/custom.h"

namespace nnex::js {
namespace {

/// Calls f with member `name` where there is one.
template <class F>
void with(const Napi::Object& from, const char* name, F f) {
  const Napi::Value v = from.Get(name);
  if (!v.IsUndefined()) f(v);
}
void read(const Napi::Object& from, const char* name, bool& to) {
  with(from, name, [&](const Napi::Value& v) { to = v.ToBoolean(); });
}
template <class T>
requires std::is_integral_v<T>
void read(const Napi::Object& from, const char* name, T& to) {
  with(from, name, [&](const Napi::Value& v) { to = static_cast<T>(v.ToNumber().Int64Value()); });
}
void read(const Napi::Object& from, const char* name, std::string& to) {
  with(from, name, [&](const Napi::Value& v) { to = v.ToString(); });
}
/// One of several words; TypeScript has refused others.
template <class T>
void read_word(const Napi::Object& from, const char* name, T& to,
               std::initializer_list<std::pair<const char*, T>> words) {
  with(from, name, [&](const Napi::Value& v) {
    const std::string word = v.ToString();
    for (const auto& [text, value] : words)
      if (word == text) to = value;
  });
}

std::string bytes_from(const Napi::Value& from) {
  void* data = nullptr;
  size_t length = 0;
  if (napi_get_typedarray_info(from.Env(), from, nullptr, &length, &data, nullptr, nullptr) != napi_ok)
    throw Napi::TypeError::New(from.Env(), "bytes are no Uint8Array");
  try {
    return std::string(static_cast<const char*>(data), length);
  } catch (const std::exception&) {
    throw NoMemory(length);
  }
}

}  // namespace

ModelSource source_from(const Napi::Object& from) {
  const Napi::Value path = from.Get("path");
  if (path.IsString()) return ModelSource(path.As<Napi::String>().Utf8Value());
  const std::string name = from.Get("name").As<Napi::String>();
  const Napi::Value bytes = from.Get("bytes");
  if (!bytes.IsUndefined()) {
    auto kept = std::make_shared<const std::string>(bytes_from(bytes));
    const std::string_view view = *kept;
    return ModelSource::memory(OwnedBytes{view, std::move(kept)}, name);
  }
  const auto given = from.Get("files").As<Napi::Array>();
  std::vector<NamedBytes> files;
  files.reserve(given.Length());
  for (uint32_t i = 0; i < given.Length(); ++i) {
    const auto file = given.Get(i).As<Napi::Array>();
    files.push_back({file.Get(0U).As<Napi::String>(), bytes_from(file.Get(1U))});
  }
  return ModelSource::memory(std::move(files), name);
}

std::map<std::string, std::vector<int64_t>> shapes_from(const Napi::Value& from) {
  std::map<std::string, std::vector<int64_t>> shapes;
  const auto object = from.As<Napi::Object>();
  const Napi::Array names = object.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); ++i) {
    const Napi::Value name = names.Get(i);
    const auto extents = object.Get(name).As<Napi::Array>();
    auto& shape = shapes[name.As<Napi::String>()];
    for (uint32_t axis = 0; axis < extents.Length(); ++axis)
      shape.push_back(extents.Get(axis).As<Napi::Number>().Int64Value());
  }
  return shapes;
}

LoadOptions load_options_from(const Napi::Object& from) {
  LoadOptions o;
  read_word(from, "map", o.map,
            {{"automatic", Mapping::automatic}, {"never", Mapping::never}, {"always", Mapping::always}});
  read(from, "optimize", o.optimize);
  with(from, "symbols", [&](const Napi::Value& v) {
    const auto object = v.As<Napi::Object>();
    const Napi::Array names = object.GetPropertyNames();
    for (uint32_t i = 0; i < names.Length(); ++i) {
      const Napi::Value name = names.Get(i);
      o.symbols[name.As<Napi::String>()] = object.Get(name).As<Napi::Number>().Int64Value();
    }
  });
  with(from, "shapes", [&](const Napi::Value& v) { o.shapes = shapes_from(v); });
  read(from, "externalFolder", o.external_folder);
  read(from, "cache", o.cache);
  read(from, "memoryLimit", o.memory_limit);
  read(from, "archiveRatio", o.archive_ratio);
  read(from, "archiveLimit", o.archive_limit);
  read(from, "exact", o.exact);
  read(from, "portable", o.portable);
  with(from, "isa", [&](const Napi::Value& v) {
    o.isa = instruction_set_named(v.ToString().Utf8Value()).value_or(InstructionSet::best);
  });
  with(from, "weightSeed",
       [&](const Napi::Value& v) { o.weight_seed = static_cast<uint64_t>(v.ToNumber().Int64Value()); });
  read_word(
      from, "nnefDialect", o.nnef.dialect,
      {{"automatic", NnefDialect::automatic}, {"standard", NnefDialect::standard}, {"tract", NnefDialect::tract}});
  read(from, "expandCompounds", o.nnef.expand_compounds);
  read(from, "quantized", o.nnef.quantized);
  read_word(from, "cvmAnswers", o.cvm.answers, {{"nnex", CvmAnswers::nnex}, {"formal", CvmAnswers::formal}});
  return o;
}

SessionOptions session_options_from(const Napi::Object& from) {
  SessionOptions o;
  read(from, "threads", o.threads);
  read(from, "seed", o.seed);
  return o;
}

SaveOptions save_options_from(const Napi::Object& from) {
  SaveOptions o;
  std::string form;
  read(from, "to", form);
  if (!form.empty()) (void)set_form(form, o);  // TypeScript has refused other words
  read(from, "name", o.name);
  read(from, "custom", o.custom);
  bool replace = false;
  read(from, "overwrite", replace);
  o.overwrite = replace ? Overwrite::replace : Overwrite::refuse;
  read(from, "externalData", o.onnx.external_data);
  read(from, "opset", o.onnx.opset);
  read(from, "keepFragments", o.nnef.keep_fragments);
  read_word(from, "packing", o.nnef.packing,
            {{"folder", NnefPacking::folder}, {"tar", NnefPacking::tar}, {"tgz", NnefPacking::tgz}});
  read_word(from, "form", o.webnn.form,
            {{"program", WebnnForm::program}, {"module", WebnnForm::module}, {"script", WebnnForm::script}});
  return o;
}

}  // namespace nnex::js
