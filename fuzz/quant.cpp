// Reads whatever bytes come as a quantisation file: the checker must end, and what parses must print and parse again to
// the same print.

#include <cstdlib>
#include <string>

#include "standards/nnef/read_quant.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  using namespace nnex::nnef_format;
  auto file = parse_quant({reinterpret_cast<const char*>(data), size}, "graph.quant");
  if (!file.ok()) return 0;
  TensorInfo x;
  x.shaped = true, x.extents = {1, 2, 4}, x.name = "x";
  QuantContext context;
  context.tensor = [&](std::string_view name) { return name == "x" ? &x : nullptr; };
  Faults faults;
  std::vector<std::string> notes;
  check_quant(*file, "graph.quant", context, faults, notes);
  const std::string text = quant_text(*file);
  auto back = parse_quant(text, "printed");
  if (!back.ok() || quant_text(*back) != text) std::abort();
  StoreAs as{StoredItem::quantized_unsigned, 8};
  auto codes = write_tensor_file(Tensor::of<int64_t>({1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 255}), &as);
  const std::string bytes = codes->joined();
  auto stored = read_tensor_file(bytes);
  if (!stored.ok()) std::abort();
  for (const QuantRecord& r : *file) (void)reals_of_codes(*stored, r);
  return 0;
}
