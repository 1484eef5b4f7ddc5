#pragma once
// Where the project's own files lie: the tests read their cases, the demo network and the corpora from there.

#include <string>

namespace nnex::test {

/// The root folder of the sources, without a slash at its end. Only source.cpp knows the path, so that the compiler
/// cache knows every other test again in another clone.
std::string source_dir();

}  // namespace nnex::test
