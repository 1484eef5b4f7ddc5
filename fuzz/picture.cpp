// Reads whatever bytes come as a picture.

#include "ops/picture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)nnex::decode_picture({data, size}).ok();
  return 0;
}
