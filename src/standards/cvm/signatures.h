#pragma once
// The operators as CVM declares them: how many inputs, which attributes of which kind (cvm.md sections 8 and 9).

#include <string_view>

#include "base/list.h"
#include "standards/cvm/read_symbol.h"

namespace nnex::cvm_format {

struct NodeImport;

struct AttrRule {
  enum class Kind : uint8_t { integer, boolean, tuple, optional_integer, dtype, text };
  std::string_view name = {};
  Kind kind = Kind::integer;
  bool required = false;
  int64_t low = INT32_MIN, high = INT32_MAX;  ///< Of an integer, where the text itself is refused beyond.
};

/// As they are written, with lists, and as they are stored.
template <template <class, size_t> class L>
struct SignatureOf {
  std::string_view name = {};
  int inputs = 1;         ///< -1: one or more. A bias adds one, by use_bias.
  bool bias = false;      ///< Has use_bias, true where it is not given.
  bool in_place = false;  ///< Its output may lie where an input lies.
  L<AttrRule, 12> attrs = {};
  Status (*prepare)(NodeImport&) = nullptr;  ///< Checks what CVM forbids and turns attributes into the row's.
  int outputs = 1;
};
using Signature = SignatureOf<ListView>;

/// The rule of an operator; null when CVM has no such operator.
const Signature* find_signature(std::string_view name);
/// " (did you mean 'relu'?)", or nothing.
std::string near_operator(std::string_view name);

/// Attribute texts as values: int64_t, bool, Ints or std::string by the rule's kind; an optional integer's `None` is
/// left out, as are keys __x__. Errors: runtime for an unknown key, a missing one, or text that is not of its kind;
/// logic for any key where the operator has no attributes.
Result<AttrMap> read_attributes(const Signature& rule, const TextMap& texts);

/// A value as the file's text.
std::string attribute_text(const AttrValue& value);

}  // namespace nnex::cvm_format
