#include "model_in.h"

#include <cstdlib>

namespace nnex::wasm {
namespace {

using Given = ml::idl::Value;

int64_t whole(const Given& v) { return v.number() ? static_cast<int64_t>(*v.number()) : 0; }
std::string text(const Given& v) { return v.string() ? *v.string() : std::string(); }

template <class F>
void with(const Given& from, std::string_view name, F f) {
  const Given& v = from.member(name);
  if (!v.undefined()) f(v);
}
void read(const Given& from, std::string_view name, bool& to) {
  with(from, name, [&](const Given& v) { to = v.boolean() && *v.boolean(); });
}
template <class T>
requires std::is_integral_v<T>
void read(const Given& from, std::string_view name, T& to) {
  with(from, name, [&](const Given& v) { to = static_cast<T>(whole(v)); });
}
void read(const Given& from, std::string_view name, std::string& to) {
  with(from, name, [&](const Given& v) { to = text(v); });
}
/// One of several words; TypeScript has refused others.
template <class T>
void read_word(const Given& from, std::string_view name, T& to,
               std::initializer_list<std::pair<std::string_view, T>> words) {
  with(from, name, [&](const Given& v) {
    for (const auto& [word, value] : words)
      if (text(v) == word) to = value;
  });
}

std::string_view bytes_of(const Given& v) {
  const auto bytes = v.view()->source.bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<int64_t> extents_from(const Given& from) {
  std::vector<int64_t> extents;
  for (const Given& extent : *from.sequence()) extents.push_back(whole(extent));
  return extents;
}

Result<Tensor> strings_from(const Given& from, Shape shape) {
  auto made = Tensor::make(DType::str, std::move(shape));
  if (!made.ok()) return made;
  const ml::idl::Sequence* items = from.sequence();
  if (!items || static_cast<int64_t>(items->size()) != made->count())
    return Error(Code::invalid_argument, "data has another length");
  const auto texts = made->mutable_as<std::string>();
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = text((*items)[i]);
  return made;
}

Result<Tensor> tensor_from(const Given& from) {
  const auto dtype = static_cast<DType>(whole(from.member("type")));
  Shape shape(extents_from(from.member("dims")));
  const Given& data = from.member("data");
  if (dtype == DType::str) return strings_from(data, std::move(shape));
  const auto bytes = bytes_of(data);
  Tensor t = Tensor::borrow(dtype, std::move(shape), bytes.data());
  if (t.bytes() != static_cast<int64_t>(bytes.size())) return Error(Code::invalid_argument, "data has another length");
  return t;
}

Result<std::vector<Value>> values_from(const Given& from) {
  std::vector<Value> values;
  for (const Given& item : *from.sequence()) {
    auto value = value_from(item);
    if (!value.ok()) return std::move(value).error();
    values.push_back(std::move(*value));
  }
  return values;
}

}  // namespace

namespace {

/// Bytes that the caller has put into the heap for good.
OwnedBytes owned_from(const Given& v) {
  const std::string_view all = bytes_of(v);
  return {all, std::shared_ptr<void>(const_cast<char*>(all.data()), std::free)};
}

/// A file's bytes, or why it was not read.
struct File {
  OwnedBytes bytes;
  std::string refused;
};
using Files = std::map<std::string, File>;

Files files_from(const ml::idl::Sequence& given) {
  Files files;
  for (const Given& file : given) {
    const Given& held = (*file.sequence())[1];
    files.emplace(text((*file.sequence())[0]), held.view() ? File{owned_from(held), {}} : File{{}, text(held)});
  }
  return files;
}

}  // namespace

ModelSource source_from(const Given& from) {
  const std::string name = text(from.member("name"));
  if (const Given& bytes = from.member("bytes"); bytes.view()) return ModelSource::memory(owned_from(bytes), name);
  auto files = std::make_shared<const Files>(files_from(*from.member("files").sequence()));
  FileReader reader;
  reader.list = [files]() -> Result<std::vector<std::string>> {
    std::vector<std::string> names;
    for (const auto& [file, held] : *files) names.push_back(file);
    return names;
  };
  reader.read = [files](const std::string& name) -> Result<OwnedBytes> {
    const File& file = files->at(name);
    if (!file.refused.empty()) return Error(Code::unreadable, file.refused);
    return file.bytes;
  };
  return ModelSource::callbacks(std::move(reader), name);
}

std::map<std::string, std::vector<int64_t>> shapes_from(const Given& from) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, extents] : *from.dictionary()) shapes[name] = extents_from(extents);
  return shapes;
}

LoadOptions load_options_from(const Given& from) {
  LoadOptions o;
  read(from, "optimize", o.optimize);
  with(from, "symbols", [&](const Given& v) {
    for (const auto& [name, extent] : *v.dictionary()) o.symbols[name] = whole(extent);
  });
  with(from, "shapes", [&](const Given& v) { o.shapes = shapes_from(v); });
  read(from, "externalFolder", o.external_folder);  // nothing is opened there, but errors are about it
  read(from, "memoryLimit", o.memory_limit);
  read(from, "archiveRatio", o.archive_ratio);
  read(from, "archiveLimit", o.archive_limit);
  read(from, "exact", o.exact);
  read(from, "portable", o.portable);
  with(from, "isa", [&](const Given& v) { o.isa = instruction_set_named(text(v)).value_or(InstructionSet::best); });
  with(from, "weightSeed", [&](const Given& v) { o.weight_seed = static_cast<uint64_t>(whole(v)); });
  read_word(
      from, "nnefDialect", o.nnef.dialect,
      {{"automatic", NnefDialect::automatic}, {"standard", NnefDialect::standard}, {"tract", NnefDialect::tract}});
  read(from, "expandCompounds", o.nnef.expand_compounds);
  read(from, "quantized", o.nnef.quantized);
  read_word(from, "cvmAnswers", o.cvm.answers, {{"nnex", CvmAnswers::nnex}, {"formal", CvmAnswers::formal}});
  return o;
}

SessionOptions session_options_from(const Given& from) {
  SessionOptions o;
  read(from, "threads", o.threads);
  read(from, "seed", o.seed);
  return o;
}

SaveOptions save_options_from(const Given& from) {
  SaveOptions o;
  std::string form;
  read(from, "to", form);
  if (!form.empty()) (void)set_form(form, o);  // TypeScript has refused other words
  read(from, "name", o.name);
  read(from, "custom", o.custom);
  read(from, "externalData", o.onnx.external_data);
  read(from, "opset", o.onnx.opset);
  read(from, "keepFragments", o.nnef.keep_fragments);
  read_word(from, "packing", o.nnef.packing,
            {{"folder", NnefPacking::folder}, {"tar", NnefPacking::tar}, {"tgz", NnefPacking::tgz}});
  read_word(from, "form", o.webnn.form,
            {{"program", WebnnForm::program}, {"module", WebnnForm::module}, {"script", WebnnForm::script}});
  return o;
}

Result<Value> value_from(const Given& from) {
  const auto has = [&](std::string_view name) { return !from.member(name).undefined(); };
  if (!from.dictionary()) return Value();
  if (has("data")) {
    auto t = tensor_from(from);
    if (!t.ok()) return std::move(t).error();
    return Value(std::move(*t));
  }
  if (has("items")) {
    auto items = values_from(from.member("items"));
    if (!items.ok()) return std::move(items).error();
    return Value(Sequence{static_cast<DType>(whole(from.member("element"))), std::move(*items)});
  }
  if (has("keys")) {
    auto keys = tensor_from(from.member("keys"));
    if (!keys.ok()) return std::move(keys).error();
    auto values = values_from(from.member("values"));
    if (!values.ok()) return std::move(values).error();
    return Value(Map{std::move(*keys), std::move(*values)});
  }
  if (has("item")) {
    if (from.member("item").null()) return Value(Optional{});
    auto item = value_from(from.member("item"));
    if (!item.ok()) return std::move(item).error();
    return Value(Optional{std::make_shared<const Value>(std::move(*item))});
  }
  auto values = tensor_from(from.member("values"));
  if (!values.ok()) return std::move(values).error();
  auto indices = tensor_from(from.member("indices"));
  if (!indices.ok()) return std::move(indices).error();
  return Value(SparseTensor{std::move(*values), std::move(*indices), Shape(extents_from(from.member("dims")))});
}

}  // namespace nnex::wasm
