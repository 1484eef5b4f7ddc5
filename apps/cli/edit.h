#pragma once
// Verbs that change a network, and what differs between two.

#include <string>
#include <vector>

#include "nnex/model.h"
#include "shared/command_line.h"

namespace nnex::cli {

/// extract, rename, set-shape, set-batch, set-input, simplify.
void add_edits(CommandLine& line);

/// `nnex inspect --diff A B`; the exit code.
int show_difference(const std::vector<std::string>& paths, const LoadOptions& options, bool json);

}  // namespace nnex::cli
