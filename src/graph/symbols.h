#pragma once
// Symbolic extents that a caller knows.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace nnex {

/// What fix_symbols takes for extents of the inputs that are no numbers, each once: "N", or "input.axis" for one
/// without a name.
std::vector<std::string> open_symbols(const ir::Graph& graph);

/// Symbolic extents become the numbers the caller fixed, by symbol ("N") or by place ("input.axis").
/// Errors: invalid_argument (no such symbol: names those there are; a number below 0).
Status fix_symbols(ir::Graph& graph, const std::map<std::string, int64_t>& symbols);

/// Whether inputs can have these extents, by name. Errors: invalid_argument (no such input: names those there are; an
/// input that is no tensor; another rank; a number below 0).
Status check_input_shapes(const ir::Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes);

/// Symbols of the inputs that these shapes (or the first extents of them) give a number or another name have it
/// everywhere; what forget_extents() forgets is forgotten before. `known`: what symbols are that fix_symbols is given
/// next. Error: invalid_argument (a symbol with two).
Status give_symbols(ir::Graph& graph, const std::map<std::string, Dims>& shapes,
                    const std::map<std::string, int64_t>& known = {});

/// Inputs get these extents, by name, and what has their symbols follows. Errors: those of both.
Status set_input_shapes(ir::Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes,
                        const std::map<std::string, int64_t>& symbols = {});

/// Inputs get these extents, which were checked, and nothing follows.
void put_input_shapes(ir::Graph& graph, const std::map<std::string, std::vector<int64_t>>& shapes);

/// Numbers that were declared or found of the extents that nodes make are forgotten, for inference to find. Names stay:
/// they are what is known where inference finds nothing.
void forget_extents(ir::Graph& graph);

/// Whether an extent may be called so. Error: invalid_argument.
Status check_symbol_name(std::string_view name);

/// A symbol of the inputs ("N", or "input.axis" for one without a name) is called `to` from now on. Whether there is
/// one of the name. Error: invalid_argument (the inputs have `to` already).
Result<bool> rename_symbol(ir::Graph& graph, const std::string& from, const std::string& to);

}  // namespace nnex
