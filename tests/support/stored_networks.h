#pragma once
// Whole networks with stored inputs.

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace nnex::stored {

struct Network {
  std::string name;
  std::filesystem::path folder;  ///< Holds model.onnx and test_data_set_0.
};
inline void PrintTo(const Network& n, std::ostream* out) { *out << n.name; }

/// The networks that the project keeps, and those of the shared vectors where they are, by name; only the small ones
/// where code is instrumented.
std::vector<Network> networks();

}  // namespace nnex::stored
