#pragma once
// What tests of the C interface hold: handles that free themselves, and errors as their texts.

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nnex.h"

namespace nnex::test {

/// The text of an error, which is freed; "ok" where there is none.
inline std::string said(nnex_error* e) {
  const std::string text = e ? nnex_error_text(e) : "ok";
  nnex_error_free(e);
  return text;
}

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* object) const { kFree(object); }
};
template <class T, void (*kFree)(T*)>
using Handle = std::unique_ptr<T, Freed<T, kFree>>;

using ValueHandle = Handle<nnex_value, nnex_value_free>;
using SourceHandle = Handle<nnex_source, nnex_source_free>;
using LoadHandle = Handle<nnex_load_options, nnex_load_options_free>;
using ModelHandle = Handle<nnex_model, nnex_model_free>;
using SessionHandle = Handle<nnex_session, nnex_session_free>;
using InspectionHandle = Handle<nnex_inspection, nnex_inspection_free>;
using FilesHandle = Handle<nnex_files, nnex_files_free>;
using GraphHandle = Handle<nnex_graph, nnex_graph_free>;
using QuantizedHandle = Handle<nnex_quantized, nnex_quantized_free>;
using ComparisonHandle = Handle<nnex_comparison, nnex_comparison_free>;
using TensorsHandle = Handle<nnex_tensors, nnex_tensors_free>;

/// What `call` made, which must have succeeded: made<GraphHandle>([&](nnex_graph** g) { return nnex_...(..., g); })
template <class H, class F>
H made(F&& call) {
  typename H::pointer object = nullptr;
  EXPECT_EQ(said(call(&object)), "ok");
  return H(object);
}

/// Why `call` made nothing.
template <class H, class F>
std::string refused(F&& call) {
  alignas(8) static char elsewhere;
  auto object = reinterpret_cast<typename H::pointer>(&elsewhere);
  std::string text = said(call(&object));
  EXPECT_EQ(object, nullptr);
  return text;
}

/// Empty where the text has the part, else what is missing.
inline std::string with(std::string_view text, std::string_view part) {
  if (text.find(part) != text.npos) return "";
  return "'" + std::string(text) + "' has no '" + std::string(part) + "'";
}

inline ValueHandle floats(std::initializer_list<int64_t> extents, const std::vector<float>& numbers) {
  const std::vector<int64_t> shape(extents);
  auto v =
      made<ValueHandle>([&](nnex_value** out) { return nnex_tensor_make(NNEX_F32, shape.size(), shape.data(), out); });
  auto* x = static_cast<float*>(nnex_tensor_mutable_data(v.get()));
  for (size_t i = 0; x && i < numbers.size() && i < static_cast<size_t>(nnex_tensor_count(v.get())); ++i)
    x[i] = numbers[i];
  return v;
}

inline std::vector<float> numbers_of(const nnex_value* v) {
  const auto* x = static_cast<const float*>(nnex_tensor_data(v));
  return x ? std::vector<float>(x, x + nnex_tensor_count(v)) : std::vector<float>();
}

inline GraphHandle parsed(const char* text) {
  return made<GraphHandle>([&](nnex_graph** out) { return nnex_graph_parse(text, nullptr, out); });
}

inline ModelHandle compiled(const nnex_graph* graph, const nnex_load_options* load = nullptr) {
  return made<ModelHandle>([&](nnex_model** out) { return nnex_model_compile(graph, load, out); });
}

inline SessionHandle session_of(const nnex_model* model) {
  return made<SessionHandle>([&](nnex_session** out) { return nnex_session_make(model, nullptr, out); });
}

/// The graph as an ONNX model in memory.
inline SourceHandle onnx_of(const nnex_graph* graph) {
  nnex_save_options save = {};
  save.size = sizeof save, save.format = "onnx";
  const auto files = made<FilesHandle>([&](nnex_files** f) { return nnex_graph_save_to_memory(graph, &save, f); });
  return made<SourceHandle>([&](nnex_source** s) { return nnex_source_files(files.get(), nullptr, s); });
}

/// The one output of a run on one input.
inline ValueHandle run(nnex_session* session, const ValueHandle& x) {
  nnex_value* in = x.get();
  return made<ValueHandle>([&](nnex_value** out) { return nnex_session_run(session, &in, 1, out, 1, nullptr); });
}

}  // namespace nnex::test
