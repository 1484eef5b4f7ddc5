#pragma once
// The operator table: every operator once. Constant data: nothing runs before main. Scripts print
// docs/operators from it.

#include <span>
#include <string_view>

#include "base/list.h"
#include "nnex/format.h"
#include "nnex/result.h"
#include "ops/attrs.h"

namespace nnex {

class InferCall;
class PrecisionCall;
class IntervalCall;
class Call;
using InferFn = Status (*)(InferCall&);
using PrecisionFn = Status (*)(PrecisionCall&);
using IntervalFn = void (*)(IntervalCall&);
using KernelFn = Status (*)(Call&);

// ---- Types a port allows
// -------------------------------------------------------------------------------------------------

/// A set of element types.
using Types = uint64_t;
constexpr Types only(DType t) { return Types{1} << static_cast<int>(t); }
template <class... T>
constexpr Types types(T... t) {
  return (only(t) | ...);
}

inline constexpr Types kF = types(DType::f16, DType::bf16, DType::f32, DType::f64);
inline constexpr Types kI =
    types(DType::i8, DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32, DType::u64);
inline constexpr Types kN = kF | kI;
inline constexpr Types kF8 = types(DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz, DType::f8e8m0);
inline constexpr Types kQ = kF8 | types(DType::i2, DType::u2, DType::i4, DType::u4, DType::f4e2m1);
inline constexpr Types kB = only(DType::boolean);
inline constexpr Types kS = only(DType::str);
inline constexpr Types kL = kB | kI;
inline constexpr Types kA = kN | kQ | kB | kS | types(DType::c64, DType::c128);
inline constexpr Types kIndex = types(DType::i32, DType::i64, DType::u32);
inline constexpr Types kI64 = only(DType::i64);

/// What may stand at a port. For an output: how its element type follows.
struct TypeRule {
  Types allowed = kA;          ///< Element types (tensors).
  std::string_view same = {};  ///< As this other port (an input's element type, when `from` gives none).
  std::string_view from = {};  ///< Output: the DType attribute that says it.
  bool any_value = false;      ///< Also sequences, maps, optionals, sparse tensors.

  constexpr TypeRule() = default;
  constexpr TypeRule(Types t) : allowed(t) {}        // NOLINT: implicit on purpose
  constexpr TypeRule(DType t) : allowed(only(t)) {}  // NOLINT
};
constexpr TypeRule same_type_as(std::string_view port) {
  TypeRule r;
  r.same = port;
  return r;
}
/// An output whose element type is attribute `attr`; where that is DType::none or absent, the type of port `otherwise`.
constexpr TypeRule type_from(std::string_view attr, std::string_view otherwise = {}) {
  TypeRule r;
  r.from = attr, r.same = otherwise;
  return r;
}
constexpr TypeRule any_value() {
  TypeRule r;
  r.any_value = true;
  return r;
}

enum class Arity : uint8_t { one, optional, variadic };

struct Port {
  std::string_view name = {};
  TypeRule type = {};
  Arity arity = Arity::one;
  bool by_value = false;  ///< A parameter port: its content decides extents or meaning.
  std::string_view doc = {};
};

// ---- How standards spell an operator
// -------------------------------------------------------------------------------------

inline constexpr Format nnef = Format::nnef, onnx = Format::onnx, webnn = Format::webnn, cvm = Format::cvm;

/// Turns the value a file has for an attribute into the core's, and back.
struct Codec {
  std::string_view name = {};
  Result<AttrValue> (*read)(const AttrValue& theirs) = nullptr;
  Result<AttrValue> (*write)(const AttrValue& ours) = nullptr;
};

/// `ours` is a field, or a parameter port when the format has an attribute for it (a constant is made).
struct Rename {
  std::string_view ours = {};
  std::string_view theirs = {};
  const Codec* codec = nullptr;
};

/// A field's value in a format that differs from the struct's default or that the name implies; text as text(AttrValue)
/// prints it.
struct Preset {
  std::string_view ours = {};
  std::string_view value = {};
};

/// One name of the operator in one format. Fields and ports that have the same name on both sides need no Rename; an
/// attribute of the file named like a parameter port becomes a constant at that port.
template <template <class, size_t> class Some>
struct SpellingOf {
  Format format = {};
  std::string_view name = {};
  Some<Rename, 10> renames = {};
  int since = 1;                 ///< First opset with this form; the newest form not above the file's opset counts.
  std::string_view domain = {};  ///< "" (ai.onnx), "ai.onnx.ml", ...
  Some<Preset, 4> presets = {};
  Some<std::string_view, 10> ports = {};  ///< Our port for each of theirs, in their order; empty: the same order.
};
using SpellingRow = SpellingOf<List>;
using Spelling = SpellingOf<ListView>;
static_assert(std::is_nothrow_default_constructible_v<SpellingRow>);  // g++ 12 fails in itself where it is asked later

// ---- Reference kernels
// ---------------------------------------------------------------------------------------------------

struct TypedKernel {
  DType type = DType::none;
  KernelFn run = nullptr;
};

/// Plain kernels, exact by definition. Chosen by the element type of input `port` (output when there is no input). A
/// type without a kernel of its own runs widened: narrow floats as f32, narrow integers as i64, every tensor whose port
/// is of that type converted before and rounded once after.
struct Reference {
  enum class Choice : uint8_t { none, by_type, by_width, any };
  Choice choice = Choice::none;
  int port = 0;
  List<TypedKernel, 12> kernels = {};
  constexpr explicit operator bool() const { return choice != Choice::none; }
};

// ---- Networks of bytes
// ---------------------------------------------------------------------------------------------------

/// What a row is to the rewrite of a float network as one of 8-bit codes (api/quantize).
enum class ByteRole : uint8_t {
  none,     ///< It stays float; of `elementwise` rows between codes a kernel may make one step.
  product,  ///< Sums of products of input 0 and a constant input 1; input 2, if any, is added.
  sum,      ///< Two operands that are added.
  limit,    ///< A limit, which the product or sum before it applies to its codes.
  moves     ///< Output 0 has elements of input 0 alone, so that both have one scale. So has every `view`.
};

// ---- What analyses and passes may know of a row without knowing it
// --------------------------------------------------------------

/// Where the elements of the outputs come from.
enum class Elements : uint8_t {
  computed,
  of_first,  ///< They are elements of input 0.
  of_any     ///< Of any input.
};

/// How the pass that turns images channels last (passes/channels_last) meets a row; element-wise ones need no word.
enum class LayoutRole : uint8_t {
  fixed,     ///< A transpose before it stays there.
  channels,  ///< Its attributes have `channels_last`: kernels work so.
  axis,      ///< Attribute `axis` names an axis of all variadic inputs and outputs; other inputs have one axis or none.
  reduced,   ///< Input 1 lists axes that go or become 1.
  axes,      ///< Attribute `axes` of SoftmaxAttrs.
  pad,
  slice,
  sizes  ///< Attribute `size` has a number an axis.
};

/// What counts a row's multiply-adds (graph/work).
enum class Work : uint8_t { none, conv, deconv, separable, product, recurrent, attention, einsum };

// ---- The entry
// -----------------------------------------------------------------------------------------------------------

template <template <class, size_t> class Some>
struct OpDefOf {
  std::string_view name = {};
  std::string_view summary = {};
  std::string_view source = {};
  Some<Port, 10> inputs = {};
  Some<Port, 4> outputs = {};
  List<std::string_view, 2> blocks = {};  ///< Sub-graphs a node of it owns, by name.
  AttrTypeOf<Some> attrs = {};
  InferFn infer = nullptr;
  PrecisionFn precision = nullptr;  ///< Bits of the outputs of integer networks (CVM).
  IntervalFn interval = nullptr;    ///< What whole numbers lie in; without it, what other traits say.
  Reference reference = {};
  std::string_view body = {};  ///< NNEF text over simpler rows, for compound operators.
  Some<SpellingOf<Some>, 6> spelled = {};
  bool pure = true;          ///< False: random or stateful; never folded, never merged.
  bool elementwise = false;  ///< y[i] depends on x[i] (after broadcast) alone.
  bool view = false;         ///< Output 0 holds input 0's elements in the same order: no work, another shape.
  ByteRole in_bytes = ByteRole::none;
  Elements elements = Elements::computed;
  LayoutRole layout = LayoutRole::fixed;
  Work work = Work::none;

  int input(std::string_view port) const {
    return index_of(inputs, port);
  }  ///< Index of a port; -1 when there is none.
  int output(std::string_view port) const { return index_of(outputs, port); }

 private:
  template <class Ports>
  static int index_of(const Ports& ports, std::string_view name) {
    for (size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == name) return static_cast<int>(i);
    return -1;
  }
};
/// A row as a family writes it, and as the program holds it: in lists of fixed capacity, and without their empty
/// places.
using OpRow = OpDefOf<List>;
using OpDef = OpDefOf<ListView>;

/// A row of a family's own form, with one trait more.
constexpr OpRow in_bytes(ByteRole role, OpRow row) {
  row.in_bytes = role;
  return row;
}
constexpr OpRow in_layout(LayoutRole layout, OpRow row) {
  row.layout = layout;
  return row;
}

/// Every built-in operator, in order of family and name.
std::span<const OpDef* const> all_ops();
/// The built-in operator of that name; the name must exist.
const OpDef& op(std::string_view name);
/// The built-in operator of that name, or nothing.
const OpDef* find_op(std::string_view name);

struct Spelled {
  const OpDef* op = nullptr;
  const Spelling* spelling = nullptr;
};
/// The built-in row and form for a format's operator name at an opset version (0: any); empty when nobody spells it.
Spelled find_spelling(Format format, std::string_view domain, std::string_view name, int version = 0);

}  // namespace nnex
