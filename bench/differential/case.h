#pragma once
// A random ONNX model, its inputs, and the dice that make it. The model's bytes are written here field by field, by
// no writer of the engine, so that a fault of the writer cannot hide one of the reader.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nnex/tensor.h"

namespace nnex::differential {

using Extents = std::vector<int64_t>;
using Names = std::vector<std::string>;

/// Numbers that are the same on every machine and with every compiler.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t next();
  /// Both ends are included.
  int64_t in(int64_t low, int64_t high) { return low + int64_t(next() % uint64_t(high - low + 1)); }
  double real() { return double(next() >> 11) * 0x1p-53; }  ///< In [0, 1).
  bool chance(double p) { return real() < p; }
  template <class T>
  T one_of(std::initializer_list<T> items) {
    return items.begin()[in(0, int64_t(items.size()) - 1)];
  }
  std::string word(std::initializer_list<const char*> words) { return one_of(words); }
  template <class T>
  const T& of(const std::vector<T>& items) {
    return items[size_t(in(0, int64_t(items.size()) - 1))];
  }

 private:
  uint64_t state_;
};

/// A sub-graph as bytes, with the text that stands for it.
struct Body {
  std::string bytes, text;
};
using AttributeValue = std::variant<int64_t, float, std::string, Extents, std::vector<float>, Names, Tensor, Body>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

struct ModelNode {
  std::string op, domain;
  Names in, out;
  std::vector<Attribute> attributes;
};

/// A value that a run is given, or that the model holds.
struct Given {
  std::string name;
  Tensor value;
  Names dims;  ///< As the model declares them: a number, a symbol, or empty (said nothing of).
  bool constant = false;
};

struct Case {
  std::string op;  ///< What the case is about: the operator, or "network".
  int opset = 0;
  std::vector<Given> given;
  std::vector<ModelNode> nodes;
  Names outputs;

  const ModelNode& subject() const;                              ///< The first node of the operator.
  const AttributeValue* find(std::string_view attribute) const;  ///< Of the subject.
  int64_t integer(std::string_view attribute, int64_t otherwise) const;
  std::string word(std::string_view attribute, std::string_view otherwise) const;
  Extents list(std::string_view attribute) const;
  /// What the subject has at a port; null when it is absent or comes from another node.
  const Tensor* port(size_t index) const;
  /// ModelProto.
  std::string model() const;
  /// For people: nodes, attributes, inputs with their first elements.
  std::string text() const;
};

/// The number ONNX gives an element type.
int onnx_number(DType type);
DType dtype_of(int onnx_number);
/// TensorProto.
std::string tensor_message(const Tensor& tensor, std::string_view name);
/// NodeProto.
std::string node_message(const ModelNode& node);
/// GraphProto of a block: floats of unknown rank and scalars of other types are its inputs.
Body make_body(const std::vector<ModelNode>& nodes, const std::vector<std::pair<std::string, DType>>& inputs,
               const std::vector<std::pair<std::string, DType>>& outputs);
std::string tensor_text(const Tensor& tensor, int64_t max = 12);

}  // namespace nnex::differential
