#pragma once
// A row of the table as an operator of CVM: what import_quirks.h does, the other way round.

#include <fmt/format.h>

#include <vector>

#include "base/failure.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "standards/cvm/read_symbol.h"

namespace nnex::cvm_format {

/// One node on its way out. `in` counts the node's inputs that CVM has as inputs; others became attributes.
struct NodeExport {
  const ir::Graph& graph;
  const Node& node;
  std::string op = {};
  TextMap attrs = {};
  std::vector<ValueId> in = {};
  bool alias = false;  ///< No operator: output 0 is input 0 under a shape CVM does not tell apart.
  std::vector<std::pair<size_t, Ints>> reshapes = {};  ///< Inputs of `in` that are reshaped first.

  bool has(size_t i) const { return i < node.in.size() && node.in[i].valid(); }
  /// Extents as CVM has them: (1) for a scalar.
  Shape shape(ValueId v) const;
  Shape shape_in(size_t i) const { return shape(node.in[i]); }
  Shape shape_out() const { return shape(node.out[0]); }
  void set(std::string_view name, const AttrValue& value);
  template <class A>
  const A& attr() const {
    return graph.attrs<A>(node);
  }
  /// The numbers of a constant parameter port. Error: unsupported when it is computed.
  Result<Ints> numbers(size_t i) const;
  template <class... A>
  Error unsupported(fmt::format_string<A...> format, A&&... args) const {
    return failure(Code::unsupported, "{}: CVM has no {}", node.op->name,
                   fmt::format(format, std::forward<A>(args)...));
  }
};

/// Whether nodes of the row can be said at all.
bool has_spelling(std::string_view row);
/// Fills op, attrs and inputs. Errors: unsupported.
Status export_spelling(NodeExport& n);

}  // namespace nnex::cvm_format
