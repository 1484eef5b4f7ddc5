#pragma once
// Words of ONNX's textual syntax and the numbers that onnx.proto has for them; those of attributes are in schema.h.

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "standards/onnx/schema.h"

namespace nnex::onnx_format {

/// Graphs in attributes of nodes of graphs, types in types.
inline constexpr int kTextDepth = 64;

struct TextWord {
  std::string_view word;
  int64_t number;
};

/// TensorProto.DataType.
inline constexpr TextWord kTypeWords[] = {{"float", 1},         {"uint8", 2},
                                          {"int8", 3},          {"uint16", 4},
                                          {"int16", 5},         {"int32", 6},
                                          {"int64", 7},         {"string", 8},
                                          {"bool", 9},          {"float16", 10},
                                          {"double", 11},       {"uint32", 12},
                                          {"uint64", 13},       {"complex64", 14},
                                          {"complex128", 15},   {"bfloat16", 16},
                                          {"float8e4m3fn", 17}, {"float8e4m3fnuz", 18},
                                          {"float8e5m2", 19},   {"float8e5m2fnuz", 20},
                                          {"uint4", 21},        {"int4", 22},
                                          {"float4e2m1", 23},   {"float8e8m0", 24},
                                          {"uint2", 25},        {"int2", 26}};

/// Types that are made of others, by the fields of TypeProto.
struct MadeTypeWord {
  std::string_view word;
  wire::FieldNumber field;
};
inline constexpr MadeTypeWord kMadeTypeWords[] = {{"seq", TypeProto::sequence_type},
                                                  {"map", TypeProto::map_type},
                                                  {"opaque", TypeProto::opaque_type},
                                                  {"sparse_tensor", TypeProto::sparse_tensor_type},
                                                  {"optional", TypeProto::optional_type}};

/// Keys of a model or of a function: fields of ModelProto and of FunctionProto; {}: it has none.
struct TextKey {
  std::string_view word;
  enum class Holds : uint8_t { number, text, opsets, pairs } holds;
  wire::FieldNumber model, function;
};
inline constexpr TextKey kTextKeys[] = {
    {"ir_version", TextKey::Holds::number, ModelProto::ir_version, {}},
    {"producer_name", TextKey::Holds::text, ModelProto::producer_name, {}},
    {"producer_version", TextKey::Holds::text, ModelProto::producer_version, {}},
    {"domain", TextKey::Holds::text, ModelProto::domain, FunctionProto::domain},
    {"model_version", TextKey::Holds::number, ModelProto::model_version, {}},
    {"doc_string", TextKey::Holds::text, ModelProto::doc_string, FunctionProto::doc_string},
    {"opset_import", TextKey::Holds::opsets, ModelProto::opset_import, FunctionProto::opset_import},
    {"metadata_props", TextKey::Holds::pairs, ModelProto::metadata_props, FunctionProto::metadata_props},
    {"overload", TextKey::Holds::text, {}, FunctionProto::overload}};

/// The entry of a list that has the word; null: none.
template <class W, size_t N>
constexpr const W* find_word(const W (&words)[N], std::string_view word) {
  const W* const w = std::find_if(words, words + N, [&](const W& t) { return t.word == word; });
  return w == words + N ? nullptr : w;
}
/// The element type of a word; 0: it is none.
inline int64_t element_type(std::string_view word) {
  const TextWord* const w = find_word(kTypeWords, word);
  return w ? w->number : 0;
}

constexpr bool begins_identifier(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool in_identifier(char c) { return begins_identifier(c) || (c >= '0' && c <= '9'); }

/// Whether a word begins a type: then it is a name in quotes alone.
inline bool is_type_word(std::string_view word) {
  return find_word(kTypeWords, word) || find_word(kMadeTypeWords, word);
}

}  // namespace nnex::onnx_format
