#pragma once
// Printer: a graph as text that read_graph reads back to an equal graph.

#include <cstdint>
#include <string>

#include "graph/graph.h"

namespace nnex::graph_text {

struct PrintOptions {
  bool types = true;    ///< Of every value; parameters always have theirs.
  bool places = false;  ///< A comment at each node: where the user's model has it.
  int64_t elements =
      -1;  ///< Constants of more elements are left out ("..."): then nobody reads the text back. -1: all.
};

/// The graph as text: names that are identifiers stay, others stand beside one. What no node needs (metadata,
/// functions of the model, unread constants) is not printed.
std::string print(const ir::Graph& graph, const PrintOptions& options = {});

/// A literal that reads back to the same tensor, bit by bit: "f32[2](1.0, -0.5)".
std::string literal(const Tensor& t, int64_t max_elements = -1);
/// A literal of an attribute's value.
std::string literal(const AttrValue& v, int64_t max_elements = -1);

}  // namespace nnex::graph_text
