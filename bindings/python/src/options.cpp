// Where models come from, and how they are read.

#include "objects.h"

namespace nnex_python {
namespace {

/// Files that a mapping of Python's has, by their names: {"graph.nnef": bytes}.
struct Files {
  Ref mapping;
  std::vector<std::string> names;

  static const char* name(void* context, size_t i) {
    const auto& names = static_cast<Files*>(context)->names;
    return i < names.size() ? names[i].c_str() : nullptr;
  }
  static nnex_error* read(void* context, const char* name, const void** bytes, size_t* length, void** token) {
    const Locked locked;
    const Ref key(PyUnicode_FromString(name));
    const Ref content(key ? PyObject_GetItem(static_cast<Files*>(context)->mapping.get(), key.get()) : nullptr);
    auto buffer = std::make_unique<Py_buffer>();
    if (!content || PyObject_GetBuffer(content.get(), buffer.get(), PyBUF_SIMPLE) < 0)
      return error_of_callback(NNEX_UNREADABLE, name);
    *bytes = buffer->buf, *length = static_cast<size_t>(buffer->len);
    *token = buffer.release();
    return nullptr;
  }
  static void release_bytes(void*, void* token) {
    if (ending()) return;
    const Locked locked;
    const std::unique_ptr<Py_buffer> buffer(static_cast<Py_buffer*>(token));
    PyBuffer_Release(buffer.get());
  }
  static void release(void* context) {
    if (ending()) return;
    const Locked locked;
    delete static_cast<Files*>(context);
  }
};

Owned<nnex_source> source_of_mapping(PyObject* mapping) {
  auto files = std::make_unique<Files>();
  files->mapping = Ref::of(mapping);
  files->names = texts_of(need(PyMapping_Keys(mapping)).get());
  const nnex_reader reader = {sizeof reader,        Files::name,    Files::read,
                              Files::release_bytes, Files::release, files.get()};
  auto source = made<nnex_source>([&](nnex_source** out) { return nnex_source_callbacks(&reader, nullptr, out); });
  (void)files.release();  // the source's now
  return source;
}

/// A value of an option as a text: numbers, truth values, texts and paths.
std::string setting_of(PyObject* value) {
  if (PyBool_Check(value)) return truth_of(value) ? "1" : "0";
  if (PyLong_Check(value)) return std::to_string(integer_of(value));
  return PyUnicode_Check(value) ? text_of(value) : path_of(value);
}

}  // namespace

Owned<nnex_graph> graph_with(PyObject* graph, PyObject* dict) {
  const auto options = load_options_of(dict, nullptr);  // what it refuses is refused of any source
  bool more = false;
  for (const char* const key : {"shapes", "carry", "custom_ops"}) more = more || member(dict, key);
  if (PyObject* const settings = member(dict, "settings"))
    each_pair(settings, [&](PyObject*, PyObject* value) { more = more || value != Py_None; });
  if (more) {
    const auto source = source_of(graph);
    const auto all = load_options_of(dict, source.get());
    return made<nnex_graph>([&](nnex_graph** out) { return nnex_graph_load(source.get(), all.get(), out); });
  }
  Owned<nnex_graph> fixed;  // symbols are fixed in place: ONNX would take fragments and types that it lacks
  if (PyObject* const symbols = member(dict, "symbols"))
    each_pair(symbols, [&](PyObject* name, PyObject* extent) {
      const std::string symbol = text_of(name);
      const int64_t number = integer_of(extent);
      const nnex_graph* const before = fixed ? fixed.get() : handle_of<nnex_graph>(graph);
      fixed = made<nnex_graph>(
          [&](nnex_graph** out) { return nnex_graph_set_symbol(before, symbol.c_str(), number, out); });
    });
  return fixed;
}

Owned<nnex_source> source_of(PyObject* object) {
  if (is<nnex_graph>(object)) {  // as ONNX, whose names it keeps
    nnex_save_options save = {};
    save.size = sizeof save, save.format = "onnx", save.custom = true;
    const auto files = made<nnex_files>(
        [&](nnex_files** out) { return nnex_graph_save_to_memory(handle_of<nnex_graph>(object), &save, out); });
    return made<nnex_source>([&](nnex_source** out) { return nnex_source_files(files.get(), "the graph", out); });
  }
  if (PyUnicode_Check(object) || PyObject_HasAttrString(object, "__fspath__")) {
    const std::string path = path_of(object);
    return made<nnex_source>([&](nnex_source** out) { return nnex_source_path(path.c_str(), out); });
  }
  if (PyObject_CheckBuffer(object)) {
    Py_buffer bytes;
    need(PyObject_GetBuffer(object, &bytes, PyBUF_SIMPLE));
    nnex_source* out = nullptr;
    nnex_error* const error =
        unlocked([&] { return nnex_source_memory(bytes.buf, static_cast<size_t>(bytes.len), nullptr, &out); });
    PyBuffer_Release(&bytes);
    need(error);
    return Owned<nnex_source>(out);
  }
  if (PyMapping_Check(object) && PyObject_HasAttrString(object, "keys")) return source_of_mapping(object);
  for (const char* const bytes : {"SerializeToString", "read"})  // onnx.ModelProto; a file that is open
    if (PyObject_HasAttrString(object, bytes)) {
      const Ref made_bytes = need(PyObject_CallMethod(object, bytes, nullptr));
      if (!PyBytes_Check(made_bytes.get()))
        raise(PyExc_TypeError, "found " + type_name(made_bytes.get()) + " of " + bytes + "(); needed bytes");
      return source_of(made_bytes.get());
    }
  raise(PyExc_TypeError, "found " + type_name(object) +
                             "; needed a path, the bytes of a model, an open file, an onnx.ModelProto, a nnex.Graph, "
                             "or a mapping from names of files to their bytes");
}

Owned<nnex_load_options> load_options_of(PyObject* dict, const nnex_source* source) {
  auto options = made<nnex_load_options>([](nnex_load_options** out) { return nnex_load_options_make(out); });
  nnex_load_options* const o = options.get();
  if (PyObject* const symbols = member(dict, "symbols"))
    each_pair(symbols, [&](PyObject* name, PyObject* extent) {
      const std::string symbol = named("symbols", [&] { return text_of(name); });
      const int64_t number = named("symbols: '" + symbol + "'", [&] { return integer_of(extent); });
      need(nnex_load_options_symbol(o, symbol.c_str(), number));
    });
  if (PyObject* const shapes = member(dict, "shapes")) {
    each_pair(shapes, [&](PyObject* name, PyObject* shape) {
      const std::string input = named("shapes", [&] { return text_of(name); });
      std::vector<int64_t> extents;
      named("shapes: '" + input + "'",
            [&] { each(shape, [&](PyObject* extent) { extents.push_back(integer_of(extent)); }); });
      need(nnex_load_options_shape(o, input.c_str(), extents.size(), extents.data()));
    });
  }
  if (PyObject* const carry = member(dict, "carry")) {
    if (PyBool_Check(carry)) {
      if (truth_of(carry) && source) {
        const auto seen = made<nnex_inspection>([&](nnex_inspection** out) { return nnex_inspect(source, o, out); });
        need(nnex_load_options_carry_likely(o, seen.get(), nullptr));
      }
    } else {
      each_pair(carry, [&](PyObject* output, PyObject* input) {
        need(nnex_load_options_carry(o, text_of(output).c_str(), text_of(input).c_str()));
      });
    }
  }
  if (PyObject* const ops = member(dict, "custom_ops")) each(ops, [&](PyObject* op) { add_custom_op(o, op); });
  if (PyObject* const settings = member(dict, "settings"))
    each_pair(settings, [&](PyObject* name, PyObject* value) {
      if (value != Py_None) need(nnex_load_options_set(o, text_of(name).c_str(), setting_of(value).c_str()));
    });
  return options;
}

}  // namespace nnex_python
