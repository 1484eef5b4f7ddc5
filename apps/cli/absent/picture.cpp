// Stands for picture.cpp where the libraries for PNG and JPEG are not built for the machine.

#include "../picture.h"

namespace nnex::cli {

Result<Value> picture_input(std::string_view, const PortInfo&, const Picture&) {
  return Error(Code::unsupported, "this build of nnex reads no pictures; give the pixels as .npy");
}

}  // namespace nnex::cli
