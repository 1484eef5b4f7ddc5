#pragma once
/// The operator table: every operator nnex has, with what it takes and what standards call it.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nnex/attribute.h"
#include "nnex/dtype.h"
#include "nnex/result.h"

#pragma GCC visibility push(default)
namespace nnex {

/// An input or output of an operator.
struct PortDef {
  std::string_view name, doc;
  bool any_value = false;    ///< Sequences, maps, optionals and sparse tensors too; else tensors alone.
  std::vector<DType> types;  ///< Element types it may have.
  bool all_types = false;    ///< Whether those are all that operators of no special kind take.
  std::string_view same_as;  ///< The port whose element type it shares; empty: none.
  std::string_view from;     ///< Of an output: the attribute that says its element type.
  bool optional = false;     ///< May be absent.
  bool variadic = false;     ///< Any number from here on.
  bool parameter = false;    ///< Its content decides extents or meaning.
};

struct AttributeDef {
  std::string_view name, doc;
  std::string_view kind;  ///< "int", "ints", "real", "bool", "dtype", "enum", "str", "tensor", ...
  bool required = false;
  Attribute otherwise;                  ///< Its value where it is not given; monostate: none.
  std::vector<std::string_view> words;  ///< Of an enum.
};

/// The operator in one standard.
struct SpellingDef {
  std::string_view standard;  ///< "nnef", "onnx", "webnn" or "cvm".
  std::string_view name;
  std::string_view domain;  ///< ONNX: "" is ai.onnx.
  int since = 1;            ///< The first version of the standard's operator set with this form.
  std::vector<std::pair<std::string_view, std::string_view>> renames;  ///< Our attribute or port, and theirs.
  std::vector<std::pair<std::string_view, std::string_view>> presets;  ///< Attributes that the name implies.
};

struct OperatorDef {
  std::string_view name, summary;
  std::string_view source;  ///< Where its definition stands.
  std::string_view body;    ///< Of a compound operator: what it is made of, in NNEF; empty: it is none.
  std::vector<PortDef> inputs, outputs;
  std::vector<std::string_view> blocks;  ///< Those a node of it owns, by name.
  std::vector<AttributeDef> attributes;
  std::vector<SpellingDef> spellings;
  /// Its fast kernels, those asked first in front; what none of them takes, the reference kernel or the body computes.
  std::vector<std::string_view> kernels;
  bool elementwise = false;  ///< y[i] depends on x[i] (after broadcast) alone.
  bool pure = true;          ///< Equal inputs give equal outputs: neither random nor stateful.
};

/// The names of all operators, in the table's order.
std::vector<std::string_view> operator_names();
/// The operator of that name. Error: invalid_argument, with the name that was probably meant.
Result<OperatorDef> find_operator(std::string_view name);
/// Those of that name, and those that some standard calls so: "conv", "Gemm", "conv2d". Empty: there is none.
std::vector<OperatorDef> operators_called(std::string_view name);
/// The domains of ONNX ("com.microsoft"; empty: the standard's) whose operator of that name is read as others of the
/// table. Empty: there is none.
std::vector<std::string_view> import_domains(std::string_view name);
/// Every name that operators_called() or import_domains() knows, once: what was probably meant by one that they do not.
std::vector<std::string_view> called_names();

}  // namespace nnex
#pragma GCC visibility pop
