#pragma once
// JSON as programs print it: keys in the order in which they were given.

#include <nlohmann/json.hpp>

namespace nnex::cli {

using Json = nlohmann::ordered_json;

}  // namespace nnex::cli

// Compiled once, in the library.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template class nlohmann::detail::serializer<nlohmann::ordered_json>;
