#pragma once
// Words of ONNX's textual syntax and the numbers that onnx.proto has for them.

#include <algorithm>
#include <cstdint>
#include <string_view>

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

/// Types that are made of others: fields of TypeProto.
inline constexpr TextWord kMadeTypeWords[] = {
    {"seq", 4}, {"map", 5}, {"opaque", 7}, {"sparse_tensor", 8}, {"optional", 9}};

/// AttributeProto.AttributeType; a list's is its element's and 5 more, up to GRAPH, else 1 more.
inline constexpr TextWord kAttributeWords[] = {
    {"float", 1},          {"int", 2},         {"string", 3},          {"tensor", 4},      {"graph", 5},
    {"sparse_tensor", 11}, {"type_proto", 13}, {"floats", 6},          {"ints", 7},        {"strings", 8},
    {"tensors", 9},        {"graphs", 10},     {"sparse_tensors", 12}, {"type_protos", 14}};

/// Keys of a model or of a function: fields of ModelProto and of FunctionProto; 0: it has none.
struct TextKey {
  std::string_view word;
  enum class Holds : uint8_t { number, text, opsets, pairs } holds;
  uint32_t model, function;
};
inline constexpr TextKey kTextKeys[] = {
    {"ir_version", TextKey::Holds::number, 1, 0},     {"producer_name", TextKey::Holds::text, 2, 0},
    {"producer_version", TextKey::Holds::text, 3, 0}, {"domain", TextKey::Holds::text, 4, 10},
    {"model_version", TextKey::Holds::number, 5, 0},  {"doc_string", TextKey::Holds::text, 6, 8},
    {"opset_import", TextKey::Holds::opsets, 8, 9},   {"metadata_props", TextKey::Holds::pairs, 14, 14},
    {"overload", TextKey::Holds::text, 0, 13}};

template <size_t N>
int64_t number_of(const TextWord (&words)[N], std::string_view word) {
  const TextWord* const w = std::find_if(words, words + N, [&](const TextWord& t) { return t.word == word; });
  return w == words + N ? 0 : w->number;
}
template <size_t N>
std::string_view word_of(const TextWord (&words)[N], int64_t number) {
  const TextWord* const w = std::find_if(words, words + N, [&](const TextWord& t) { return t.number == number; });
  return w == words + N ? std::string_view() : w->word;
}

constexpr bool begins_identifier(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool in_identifier(char c) { return begins_identifier(c) || (c >= '0' && c <= '9'); }

/// Whether a word begins a type: then it is a name in quotes alone.
inline bool is_type_word(std::string_view word) {
  return number_of(kTypeWords, word) != 0 || number_of(kMadeTypeWords, word) != 0;
}

/// AttributeType of a list of these; 0: that is a list already.
constexpr int64_t list_of(int64_t type) { return type <= 5 ? type + 5 : type == 11 || type == 13 ? type + 1 : 0; }

/// The field of TensorProto that has the elements of a type, whose numbers are 0: varints, or so many bytes.
struct TextElements {
  uint32_t field;
  int width;
};
constexpr TextElements elements_of(int64_t type) {
  switch (type) {
    case 1:
    case 14:
      return {4, 4};
    case 11:
    case 15:
      return {10, 8};
    case 7:
      return {7, 0};
    case 12:
    case 13:
      return {11, 0};
    case 8:
      return {6, 0};
    default:
      return {5, 0};
  }
}

}  // namespace nnex::onnx_format
