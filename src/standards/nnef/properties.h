#pragma once
// Metadata of a graph that NNEF has no place for, as comments behind the document:
//     # nnex.property 'cvm.version' = 'cvm_1.1.0'
//     # nnex.name conv_w = 'conv:w'
// A property of the graph; the name of a parameter whose bits a property declares, where no identifier can say it.

#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace nnex::nnef_format {

/// The lines for what the graph's properties say, but for those about documents of NNEF. `names`: the tensors'
/// identifiers in the document, by ValueId.
std::string property_lines(const ir::Graph& graph, const std::map<uint32_t, std::string>& names);

/// Whether a comment is such a line.
bool is_property_line(std::string_view comment);

/// Reads such lines from the end of a document into the graph that was made of it; other comments are passed over.
void read_property_lines(std::string_view document, ir::Graph& graph);

}  // namespace nnex::nnef_format
