#pragma once
// The language of NNEF: a document's text is parsed, checked by every numbered rule and evaluated; what is left are
// operations, which go to a sink one by one.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/faults.h"
#include "standards/nnef/operation.h"
#include "standards/nnef/signatures.h"

namespace nnex::nnef_format {

struct GraphHeader {
  std::string_view name;
  std::span<const std::string_view> parameters, results;
  std::span<const Declaration> fragments;  ///< The document's own.
  bool integers32 = false;                 ///< Tensors of integers have 32 bits: extension graph_text::kIntegers32.
};

/// Takes the operations of a document in their order. Rules of shapes and of state (A13, A14) are the sink's.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Before the first operation.
  virtual void begin(const GraphHeader&) {}
  /// Checks the call or makes its nodes, and gives its results their shapes. Faults are made by op.fault().
  virtual void operation(const Operation& op, Tensors& tensors, Faults& faults) = 0;
  /// An assignment of the graph body gave a tensor this name. Its TensorInfo has the name already, except where the
  /// same tensor has two (a fragment that hands its argument back).
  virtual void assigned(std::string_view /*name*/, TensorId, Tensors&) {}
  /// After the last operation of a document without faults: one tensor for each result of the header.
  virtual void end(std::span<const TensorId> /*results*/, Tensors&) {}
};

/// Sees no shapes; for checks of the language alone.
class NoSink : public Sink {
 public:
  void operation(const Operation&, Tensors&, Faults&) override {}
};

struct EvaluateLimits {
  size_t bytes = size_t{256} << 20;  ///< Of the source.
  size_t depth = 10'000;             ///< Of calls of fragments in fragments, and of expressions in expressions.
  size_t operations = 1'000'000;     ///< In all, fragments unrolled.
  size_t items = size_t{1} << 22;    ///< Of one array or string.
  size_t steps = size_t{16} << 20;   ///< Of evaluation: expressions and items in all.
};

/// How far a document may leave NNEF 1.0.5.
enum class Dialect : uint8_t {
  standard,  ///< Not at all.
  any,       ///< Not at all, but texts of the draft of 2017 are upgraded before they are evaluated.
  tract,     ///< As sonos/tract and torch-to-nnef write: registries, array literals as tensors, quoted identifiers.
};

struct EvaluateOptions {
  EvaluateLimits limits;
  Dialect dialect = Dialect::standard;
  /// What the draft of 2017 allows beyond: variables and updates in fragments, lists of windows shorter than the rank.
  bool draft = false;
  /// Operations with bodies for which this is true come as what their bodies call. Fragments of the document always do.
  std::function<bool(const Declaration&)> expanded;
  /// Other extents for externals, by name.
  std::map<std::string, Ints, std::less<>> shapes;
  /// Of a text that was made of another one: faults name places there.
  const graph_text::PlaceMap* places = nullptr;
};

/// Parses, checks and evaluates; all faults of the document, each "file:line:column: RULE: ...". Whether there were
/// none. `source` must outlive `tensors`.
bool evaluate(std::string_view source, std::string_view file, Sink& sink, Tensors& tensors, Faults& faults,
              const EvaluateOptions& options = {});

}  // namespace nnex::nnef_format
