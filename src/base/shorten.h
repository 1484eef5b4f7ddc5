#pragma once
// Messages that people can read whatever a file holds.

#include <string>

namespace nnex {

/// The message with lists in brackets of more than 16 items cut after the first 8 ("[1, 2, ... (100000 in all)]"), and
/// the middle left out of lines of more than 2,000 bytes. Short messages stay as they are.
std::string shortened(std::string message);

}  // namespace nnex
