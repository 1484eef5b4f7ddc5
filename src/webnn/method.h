#pragma once
// Operations of the graph builder as constant data: signature, limits, rule, lowering.

#include <span>
#include <string_view>

#include "base/list.h"
#include "nnex/webnn.h"

namespace nnex {
class Status;
}

namespace nnex::ml {

// ---- Signatures (Web IDL)

/// Types of arguments and option members.
enum class ArgKind : uint8_t {
  operand,         ///< MLOperand
  operands,        ///< sequence<MLOperand>
  unsigned_long,   ///< [EnforceRange] unsigned long
  wrapped_long,    ///< unsigned long
  signed_long,     ///< [EnforceRange] long
  unsigned_longs,  ///< sequence<[EnforceRange] unsigned long>
  wrapped_longs,   ///< sequence<unsigned long>
  long_or_longs,   ///< ([EnforceRange] unsigned long or sequence<[EnforceRange] unsigned long>)
  floats,          ///< sequence<float>
  real,            ///< double
  number,          ///< MLNumber
  boolean,         ///< boolean
  word,            ///< An enumeration.
  words,           ///< sequence of one.
  data_type,       ///< MLOperandDataType
};

/// An enumeration of the interface.
struct WordSet {
  std::string_view name = {};
  List<std::string_view, 4> words = {};
};

/// An argument, or a member of an options dictionary.
struct Param {
  std::string_view name = {};
  ArgKind kind = ArgKind::operand;
  std::string_view standard = {};  ///< The default as the IDL writes it, without quotes; empty: absent unless given.
  const WordSet* words = nullptr;
};

/// An options dictionary; `label` is a member of every one.
struct OptionsType {
  std::string_view name = {};
  std::span<const Param> members = {};
};

// ---- Limits

/// A set of data types.
using TypeSet = uint16_t;
constexpr TypeSet only(DataType t) { return static_cast<TypeSet>(1u << static_cast<unsigned>(t)); }
template <class... T>
constexpr TypeSet data_types(T... t) {
  return static_cast<TypeSet>((only(t) | ...));
}

/// Ranks, both ends included.
struct Ranks {
  int8_t min = 0, max = 0;
};

/// What an operand or output may be. `required` is the least every implementation has to support; here everything that
/// is allowed is supported.
struct OperandLimit {
  std::string_view name = {};
  TypeSet allowed = 0;
  TypeSet required = 0;
  Ranks ranks = {};
  Ranks required_ranks = {};
  std::string_view same_type = {};  ///< The operand whose type it has.
  std::string_view same_rank = {};  ///< The operand whose rank it has.
};
using Limits = List<OperandLimit, 11>;

/// The limits of an operation, in the specification's order; `name` must be one of the 95.
std::span<const OperandLimit> limits_of(std::string_view operation);

/// What the operation gives, in the specification's terms; `name` must be one of the 95.
std::string_view summary_of(std::string_view operation);

// ---- Operations

class Step;
class Importer;

/// As they are written, with lists, and as they are stored.
template <template <class, size_t> class L>
struct MethodOf {
  std::string_view name = {};
  L<Param, 6> params = {};
  const OptionsType* options = nullptr;
  bool several = false;  ///< Returns a sequence of operands.
  /// What the specification refuses beyond builder, types, ranks and what the rows refuse; null: nothing.
  Status (*rule)(Step& step) = nullptr;
  /// Makes the engine's nodes, whose inference says the outputs; null: the one row that spells the operation.
  void (*import_call)(Importer& to) = nullptr;
};
using Method = MethodOf<ListView>;

/// The 95 operations in the specification's order.
std::span<const Method> methods();
/// Null where there is none of that name.
const Method* find_method(std::string_view name);

}  // namespace nnex::ml
