#pragma once
// Tensors as JSON between nnex and other programs (docs/command-line.md, "compare").

#include <map>
#include <span>
#include <string>

#include "nnex/tensor.h"

namespace nnex::cli {

/// What a program is told: the model's path, its inputs, the names of the tensors that are wanted. Error: unsupported
/// (an input that is no tensor of numbers).
Result<std::string> exchange_request(const std::string& model, const std::map<std::string, Value>& inputs,
                                     std::span<const std::string> wanted);

/// The tensors of an answer by name. Errors: unreadable, with what is wrong and in which tensor; limit.
Result<std::map<std::string, Value>> exchange_answer(const std::string& text);

}  // namespace nnex::cli
