// Reads whatever bytes come as a model in ONNX's textual syntax. What was read must print, if it can be said, and what
// was printed must read as the same model.

#include <cstdlib>

#include "standards/onnx/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex::onnx_format;
  const auto model = parse_model_text({reinterpret_cast<const char*>(data), size});
  if (!model.ok()) return 0;
  const auto text = print_model_text(*model);
  if (!text.ok()) return 0;
  const auto again = parse_model_text(text->text);
  if (!again.ok()) std::abort();
  const auto same = print_model_text(*again);
  if (!same.ok() || same->text != text->text) std::abort();
  return 0;
}
