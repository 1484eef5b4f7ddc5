// Constants, and operators about element types.

#include <fmt/format.h>

#include <algorithm>

#include "ops/codecs.h"
#include "standards/onnx/import_quirks.h"
#include "tensor/convert.h"

namespace nnex::onnx_format {
namespace {

/// Constant: seven forms of value become a constant of the graph, no node.
Result<Quirked> constant(NodeImport& n) {
  const auto is_value = [](const Attribute& a) { return a.name.find("value") != std::string::npos; };
  if (const auto given = std::count_if(n.attrs.begin(), n.attrs.end(), is_value); given > 1)
    return n.error(fmt::format("found {} values; needed one", given));
  for (const Attribute& a : n.attrs) {
    Tensor t;
    if (a.name == "value" && std::holds_alternative<Tensor>(a.value))
      t = std::get<Tensor>(a.value);
    else if (a.name == "value_int")
      t = Tensor::scalar<int64_t>(n.integer(a.name, 0));
    else if (a.name == "value_float")
      t = Tensor::scalar<float>(static_cast<float>(n.real(a.name, 0)));
    else if (a.name == "value_string")
      t = Tensor::scalar<std::string>(n.word(a.name, ""));
    else if (a.name == "value_ints")
      t = Tensor::of(Shape{static_cast<int64_t>(n.ints(a.name).size())}, n.ints(a.name));
    else if (a.name == "value_floats") {
      Reals reals = n.reals(a.name);
      t = Tensor::of(Shape{static_cast<int64_t>(reals.size())}, std::vector<float>(reals.begin(), reals.end()));
    } else if (a.name == "value_strings")
      t = Tensor::of(Shape{static_cast<int64_t>(n.words(a.name).size())}, n.words(a.name));
    else if (a.name == "sparse_value") {
      NNEX_ASSIGN(NamedTensor dense, read_dense(a.sparse, n.importer.source()));
      t = std::move(dense.tensor);
    } else
      continue;
    n.bind(0, n.b.constant(std::move(t)));
    return Quirked::done;
  }
  return n.error("it has no value");
}

/// Cast: until opset 6 the type stood there as a word ("FLOAT"); erf and others never see it.
Result<Quirked> cast(NodeImport& n) {
  const std::string word = n.word("to", "");
  if (word.empty()) return Quirked::no;
  static constexpr std::pair<std::string_view, DType> kWords[] = {
      {"FLOAT", DType::f32},    {"UINT8", DType::u8},    {"INT8", DType::i8},    {"UINT16", DType::u16},
      {"INT16", DType::i16},    {"INT32", DType::i32},   {"INT64", DType::i64},  {"STRING", DType::str},
      {"BOOL", DType::boolean}, {"FLOAT16", DType::f16}, {"DOUBLE", DType::f64}, {"UINT32", DType::u32},
      {"UINT64", DType::u64}};
  for (const auto& [w, t] : kWords)
    if (w == word) {
      n.set("to", AttrValue(onnx_number(t)));
      return Quirked::no;
    }
  return n.error(fmt::format("attribute 'to': '{}' is no element type", word));
}

/// CastLike: a cast to the element type of the second input.
Result<Quirked> cast_like(NodeImport& n) {
  if (!n.has(0) || !n.has(1)) return n.error("two inputs are required");
  const DType to = n.type(1).dtype;
  if (to == DType::none) return n.error("the element type of the second input is not known");
  n.set("to", AttrValue(onnx_number(to)));
  n.op = "Cast";
  n.in.resize(1);
  return Quirked::no;
}

constexpr QuirkRow kConstantRows[] = {{"Constant", constant}, {"Cast", cast}, {"CastLike", cast_like}};

}  // namespace

std::span<const QuirkRow> constant_quirks() { return read_of<kConstantRows>(); }

}  // namespace nnex::onnx_format
