#pragma once
// What the language of NNEF comes down to: tensors and calls of standard (or custom) operations with evaluated
// arguments.
//
// The evaluator (language: fragments, expressions, types) makes one Operation after another and hands each to a Sink;
// the sink that checks gives shapes (reference section 8), the sink that lowers makes nodes of the graph. Neither
// stores the document: a text of 100,000 operations goes through as a stream.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/faults.h"
#include "graph/graph.h"

namespace nnex::nnef_format {

/// Data-types of NNEF's tensors.
enum class ItemType : uint8_t { scalar, integer, logical, string };

/// A tensor of the document, by number.
struct TensorId {
  uint32_t n = ~uint32_t{0};
  bool valid() const { return n != ~uint32_t{0}; }
};

/// What is known of a tensor. `extents` is empty and `shaped` false after a fault, so that one mistake is reported
/// once.
struct TensorInfo {
  ItemType type = ItemType::scalar;
  bool shaped = false;
  Ints extents;
  std::string name;     ///< The identifier of the graph's body; empty for results inside expressions and fragments.
  nnex::ValueId value;  ///< Where it lives in the engine's graph, once lowered.
};

struct Arg;
using Args = std::vector<Arg>;

/// An evaluated argument: a literal, a tensor, an array or tuple of them.
struct Arg {
  std::variant<std::monostate, bool, int64_t, double, std::string, TensorId, Args> value;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&value);
  }
  bool is_tensor() const { return get<TensorId>() != nullptr; }
};

struct Declaration;  // declarations.h: name, parameters with types and defaults, results

/// One call: arguments in the order of the declaration, defaults filled in; results made by the evaluator (an array
/// result is an Arg of Args), which the sink gives shapes and values.
struct Operation {
  const Declaration* declaration = nullptr;
  ItemType generic = ItemType::scalar;  ///< What the `?` of a generic declaration stands for here.
  std::vector<Arg> args, results;
  std::string place;  ///< "graph.nnef:12:5 in conv_block at graph.nnef:40:9", made only when it is asked for.
};

}  // namespace nnex::nnef_format
