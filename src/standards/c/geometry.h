#pragma once
// Windows as the library's functions take them.

#include <string>
#include <vector>

#include "ops/window.h"

namespace nnex::c_format {

/// The geometry of at most three axes as C's initializer; axes that are missing come first and have one element.
std::string geometry(int64_t batch, int64_t groups, int64_t channels, int64_t filters,
                     const std::vector<AxisWindow>& windows);

}  // namespace nnex::c_format
