#pragma once
// What the language of NNEF comes down to: tensors and calls of standard (or custom) operations with evaluated
// arguments.
//
// The evaluator (language: fragments, expressions, types) makes one Operation after another and hands each to a Sink;
// the sink that checks gives shapes (reference section 8), the sink that lowers makes nodes of the graph. Neither
// stores the document: a text of 100,000 operations goes through as a stream.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/faults.h"
#include "graph/graph.h"
#include "graph/text/name_table.h"

namespace nnex::nnef_format {

using graph_text::ChunkedList;
using graph_text::NameTable;

/// Data-types of NNEF's tensors.
enum class ItemType : uint8_t { scalar, integer, logical, string };

/// A tensor of the document, by number.
struct TensorId {
  uint32_t n = ~uint32_t{0};
  bool valid() const { return n != ~uint32_t{0}; }
  friend bool operator==(TensorId a, TensorId b) { return a.n == b.n; }
};

/// What is known of a tensor. The evaluator sets type and name before the sink sees the call that makes it; the sink
/// sets the rest. `shaped` stays false after a fault, so that one mistake is reported once: a sink gives no shape to
/// results of operations whose inputs have none, and says nothing.
struct TensorInfo {
  ItemType type = ItemType::scalar;
  bool shaped = false;
  Ints extents;
  std::string_view name;  ///< The graph body's identifier, in the source text; empty inside expressions and fragments.
  nnex::ValueId value;    ///< Where it lives in the engine's graph, once lowered.
};

/// All tensors of a document.
class Tensors {
 public:
  TensorInfo& operator[](TensorId id) { return list_[id.n]; }
  const TensorInfo& operator[](TensorId id) const { return list_[id.n]; }
  size_t size() const { return list_.size(); }
  TensorId add(ItemType type, std::string_view name = {}) {
    TensorInfo& t = list_.add();
    t.type = type, t.name = name;
    return {static_cast<uint32_t>(list_.size() - 1)};
  }

 private:
  ChunkedList<TensorInfo> list_;
};

/// An evaluated argument: a literal, a tensor, an array or tuple of them. A view: what it points to lives as long as
/// the call.
class Arg {
 public:
  enum class Kind : uint8_t { none, logical, integer, scalar, string, tensor, array, tuple };

  Arg() : integer_(0) {}
  explicit Arg(bool x) : kind_(Kind::logical), logical_(x) {}
  explicit Arg(int64_t x) : kind_(Kind::integer), integer_(x) {}
  explicit Arg(double x) : kind_(Kind::scalar), scalar_(x) {}
  explicit Arg(std::string_view x) : kind_(Kind::string), size_(static_cast<uint32_t>(x.size())), chars_(x.data()) {}
  explicit Arg(TensorId x) : kind_(Kind::tensor), tensor_(x) {}
  explicit Arg(std::span<const Arg> items, Kind kind = Kind::array)
      : kind_(kind), size_(static_cast<uint32_t>(items.size())), items_(items.data()) {}

  Kind kind() const { return kind_; }
  bool is(Kind k) const { return kind_ == k; }
  bool is_tensor() const { return kind_ == Kind::tensor; }
  bool is_list() const { return kind_ == Kind::array || kind_ == Kind::tuple; }

  // Each only of its kind.
  bool logical() const { return logical_; }
  int64_t integer() const { return integer_; }
  double scalar() const { return scalar_; }
  std::string_view text() const { return {chars_, size_}; }
  TensorId tensor() const { return tensor_; }
  /// Of arrays and tuples.
  std::span<const Arg> items() const { return {items_, size_}; }

  /// The value of a kind, or null: bool, int64_t, double, TensorId.
  template <class T>
  const T* get() const {
    if constexpr (std::is_same_v<T, bool>) return kind_ == Kind::logical ? &logical_ : nullptr;
    if constexpr (std::is_same_v<T, int64_t>) return kind_ == Kind::integer ? &integer_ : nullptr;
    if constexpr (std::is_same_v<T, double>) return kind_ == Kind::scalar ? &scalar_ : nullptr;
    if constexpr (std::is_same_v<T, TensorId>) return kind_ == Kind::tensor ? &tensor_ : nullptr;
  }

 private:
  Kind kind_ = Kind::none;
  uint32_t size_ = 0;
  union {
    bool logical_;
    int64_t integer_;
    double scalar_;
    const char* chars_;
    TensorId tensor_;
    const Arg* items_;
  };
};
static_assert(sizeof(Arg) == 16 && std::is_trivially_copyable_v<Arg>);

struct Declaration;  // signatures.h: name, parameters with types and defaults, results

/// Who knows where an operation stands in the document.
class Places {
 public:
  virtual ~Places() = default;
  /// The error at the place of the operation now evaluated, with the chain of fragment calls as its tasks.
  virtual Error placed(Error e) const = 0;
  /// "graph.nnef:12:5"
  virtual std::string place() const = 0;
};

/// One call: arguments in the order of the declaration, defaults filled in; results made by the evaluator (an array
/// result is an Arg of items, as many as the left side has), which the sink gives shapes and values.
/// The sink checks the count of array results (rule A2) for split, unstack and copy_n.
struct Operation {
  const Declaration* declaration = nullptr;
  ItemType generic = ItemType::scalar;  ///< What the `?` of a generic declaration stands for here.
  std::span<const Arg> args, results;
  const Places* places = nullptr;

  /// The argument of a parameter; the declaration must have it.
  const Arg& arg(std::string_view parameter) const;
  /// "O-RED-1: <message>" at this call's place.
  Error fault(std::string_view rule, std::string message, Code code = Code::invalid_model) const;
};

}  // namespace nnex::nnef_format
