#pragma once
// Whether one node keeps the rows of a batch apart: a rule for each kind of row of the table.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "graph/graph.h"
#include "tensor/dim.h"

namespace nnex {

/// What is known of a value.
struct RowState {
  enum class Kind : uint8_t {
    none,  ///< The same for every batch.
    rows,  ///< What lies at row n of `axis` follows from row n of the inputs alone, and is the same in every batch.
    count  ///< It follows from how many rows there are.
  };
  Kind kind = Kind::none;
  int64_t axis = 0;
  Dim outer = 1;  ///< Place i of the axis is of row i / (extent / outer / rows) mod rows.

  friend bool operator==(const RowState&, const RowState&) = default;
};

/// What a rule may ask of a graph. Contents are null where only a run knows; they may be of type dim.
struct RowFacts {
  const std::string& symbol;
  FunctionRef<const Type&(ValueId)> type;
  FunctionRef<const Tensor*(ValueId)> content;
};

/// Whether an extent depends on the symbol, as far as one can tell.
bool depends_on(const Dim& extent, const std::string& symbol);

/// The states of a node's outputs for those of its inputs (of a node without blocks), or why they cannot be told, as
/// the end of a sentence: "works along the rows of f32[N,4]".
struct RowAnswer {
  std::vector<RowState> out;
  std::string why;
  bool known = true;  ///< False: only that nothing tells of the node.
};
RowAnswer rows_through(const ir::Graph& graph, const Node& node, std::span<const RowState> in, const RowFacts& facts);

/// Why an output cannot have rows along the axis; empty: it can.
std::string why_no_rows(const Type& type, int64_t axis, const std::string& symbol);

}  // namespace nnex
