#include "source.h"

namespace nnex::test {

std::string source_dir() { return NNEX_SOURCE_DIR; }

}  // namespace nnex::test
