#pragma once
// The forms of ONNX's operators: what each takes from which opset on. Every form stands as one line of text
// (signatures_*.cpp):
//
//     13^ T:num+bf16 i64? T* > T bool~ | axis:i! mode:s=constant,edge
//
// The opset; inputs > outputs; attributes (left out: those of the line before). A port is a type or a variable, whose
// types are said where it comes first: ports of one variable have one type. '?' may be left out, '*' any number of one
// type, '~' any number of whatever types. Types: f32 ..., all (those of opset 1), num, int, uint, float, f8 (four
// kinds), b4 and b2 (signed and not), seq(..), opt(..), map. Kinds of attributes as AttributeProto has them: i f s t g
// p(sparse), I F S lists of them, T a type; '!' must be there, '=' the words it may be. '+' behind a port or attribute:
// axes that count from the start alone; '-': or -1, the last; an 'x' behind that, they are the first input's, 'y': the
// first output's. "/4" behind a port: it has 4 axes; '=': it has the first output's shape, but for the last one of a
// form with `broadcast`, where the node says so; '@': it has one number, or one a channel. '#' behind an attribute: its
// 0, which goes without saying, is training; "#y": the first output is not made. '?' behind an attribute: 0 or 1; '0':
// not negative. '^': forms before mean other things by the same words.
// "deprecated" instead of ports: no form any more. Sources: the operator documents of onnx, by opset; what ONNX Runtime
// takes.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnex/result.h"
#include "nnex/tensor.h"
#include "ops/table.h"
#include "tensor/type.h"

namespace nnex::onnx_format {

/// All forms of one operator, oldest first.
struct OperatorForms {
  std::string_view domain, name, text;
};
std::span<const OperatorForms> forms_a_l();
std::span<const OperatorForms> forms_m_z();
std::span<const OperatorForms> forms_ml();

/// Types that a port takes, by their kind.
struct TypeSet {
  Types tensors = 0, sequences = 0, optionals = 0, optional_sequences = 0;
  bool maps = false, sequences_of_maps = false;

  /// What is not known of a type may be anything.
  bool admits(const Type& type) const;
};

struct FormPort {
  enum class Many : uint8_t { one, optional, variadic, mixed };
  std::string_view variable;  ///< Empty: the port's type is its own.
  std::string_view written;   ///< Its types as the line says them.
  TypeSet types;
  Many many = Many::one;
  bool may_be_none = false;          ///< Of those that are many.
  bool counts_from_start = false;    ///< Its numbers are axes, and not negative.
  bool is_whole = false;             ///< It has the first output's shape.
  bool by_channel = false;           ///< It has one number, or one for each channel of the first input.
  std::optional<int64_t> rank = {};  ///< Of the tensors that it takes; nothing: any.

  bool is_many() const { return many == Many::variadic || many == Many::mixed; }
};

struct FormAttribute {
  std::string_view name;
  char kind = 0;
  bool required = false;
  std::string_view words;                  ///< Those it may be, between commas; empty: not said here.
  std::optional<int64_t> first_axis = {};  ///< Of axes: the least number; nothing: any.
  char axes_of = 0;        ///< Whose they are: 'x' the first input's, 'y' the first output's, 0 others'.
  bool is_flag = false;    ///< 0 or 1; runtimes take whatever else as one of them.
  bool is_count = false;   ///< Not negative; runtimes compute something where it is.
  bool needs_one = false;  ///< Writers say 1: what 0 does is done by nobody.
  char one_for = 0;        ///< 'y': where the first output is wanted; 0: where no other is.
};

/// An operator in one form.
struct Form {
  int since = 1;
  bool deprecated = false, means_other = false;  ///< means_other: than the form before, by the same words.
  std::vector<FormPort> in, out;
  std::vector<FormAttribute> attributes;

  const FormAttribute* find(std::string_view attribute) const;
};

/// The forms of a text of the lists, a line each; parsed when somebody asks first, from any thread.
const std::vector<Form>& parsed_forms(std::string_view text);
/// Oldest first; empty: no such operator.
const std::vector<Form>& forms_of(std::string_view domain, std::string_view name);
/// Whether one of an operator's forms names the attribute: a look at their text, without what parsing it costs.
bool names_attribute(std::string_view domain, std::string_view name, std::string_view attribute);
/// The form that an opset has; null: none.
const Form* find_form(std::string_view domain, std::string_view name, int64_t opset);
/// The domain of the table's own rows, for those that no standard operator says: a row's name, its ports in order, its
/// fields under their names.
inline constexpr std::string_view kRowDomain = "nnex";
/// The domain of operations that have none: NNEF's fragments without bodies. ONNX's own would give them its meanings.
inline constexpr std::string_view kFragmentDomain = "nnef";
/// Whether the domain's operators are all known here.
bool is_standard(std::string_view domain);

/// What a node gives to its operator.
struct FormUse {
  struct Attribute {
    std::string_view name;
    char kind = 0;  ///< 0: not known, as a function's that its caller gives.
    std::string_view word;
    int64_t least = 0;   ///< Of its integers, where one is negative.
    int64_t number = 0;  ///< When it is one integer.
  };
  std::vector<const Type*> in, out;  ///< Null: left out. What is not known is of kind unknown.
  std::vector<Attribute> attributes;
  std::vector<int64_t> least = {};  ///< Of the numbers of inputs that are known: the least, where one is negative.
  const Type* result = nullptr;     ///< What the first output is, whatever the model says; null: nobody asks.
  bool broadcast = false;           ///< Whether the node says that the last input is a part of the others' shape.
  bool is_known = false;            ///< Shapes that may be others are no fit.
};
/// What FormUse::least says of a tensor; null: it is not known.
int64_t least_number(const Tensor* numbers);

/// What a node has against a form.
struct BrokenForm {
  enum class Kind : uint8_t {
    withdrawn,
    input_count,
    input_required,
    output_count,
    output_required,
    attribute_unknown,
    attribute_kind,
    attribute_word,
    attribute_required,
    attribute_off,
    negative_axis,
    operand_type,
    operand_rank,
    operand_shape,
    one_type
  };
  Kind kind = {};
  std::string text;            ///< The sentence.
  std::string_view attribute;  ///< Its name; empty: of inputs and outputs.
  std::string found, needed;   ///< Where the sentence says them.
};
/// Every rule of the form that the node breaks: numbers of inputs and outputs, attributes, types.
std::vector<BrokenForm> broken_rules(const Form& form, const FormUse& use);
/// Those of types alone.
std::vector<BrokenForm> broken_types(const Form& form, const FormUse& use);
/// Their sentences, between semicolons.
std::string sentences(const std::vector<BrokenForm>& broken);

}  // namespace nnex::onnx_format
