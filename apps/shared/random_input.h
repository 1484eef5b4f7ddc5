#pragma once
// Numbers and texts for inputs that nothing is given for.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "nnex/model.h"

namespace nnex::cli {

/// A seeded random value of the port's type: reals in [from, 1), integers 0 or 1; where `bits` are declared, integers
/// of the whole range +-(2^(bits-1) - 1), one in sixteen an end of it or 0. Unknown extents become `unknown`.
Result<Value> random_input(const PortInfo& port, uint64_t seed, const std::map<std::string, int64_t>& symbols,
                           int64_t unknown, std::optional<int64_t> bits = {}, double from = 0);

/// The same for a trial that nobody sees: texts, too, which are words of small letters.
Result<Value> trial_input(const PortInfo& port, uint64_t seed, const std::map<std::string, int64_t>& symbols,
                          int64_t unknown, std::optional<int64_t> bits = {});

}  // namespace nnex::cli
