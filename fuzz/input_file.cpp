// Reads whatever bytes come as an input file (JSON, NumPy, ONNX, NNEF, a picture) for inputs of several types: what is
// taken is of the input's type.

#include "nnex/input_file.h"

#include <cstdlib>
#include <string_view>

namespace {

nnex::PortInfo port(const char* name, nnex::DType dtype, std::vector<int64_t> extents) {
  nnex::PortInfo p;
  p.name = name, p.dtype = dtype, p.known_rank = true;
  p.extents = std::move(extents);
  for (int64_t n : p.extents) p.dims.push_back(n < 0 ? "?" : std::to_string(n));
  p.type = "a tensor";
  return p;
}

/// Extents are the run's to judge: another shape is a reason to infer anew.
void expect_fits(const nnex::Value& value, const nnex::PortInfo& p) {
  const nnex::Tensor* t = value.tensor();
  if (!t || t->dtype() != p.dtype) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  static const std::vector<PortInfo> kPorts = {port("x", DType::f32, {2, 3}),
                                               port("n", DType::i64, {-1}),
                                               port("b", DType::boolean, {}),
                                               port("s", DType::str, {-1}),
                                               port("picture", DType::f32, {1, 3, 4, 4}),
                                               port("h", DType::f16, {-1, 2}),
                                               port("c", DType::c64, {1}),
                                               port("u", DType::u4, {3})};
  auto file = InputFile::from_bytes("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!file.ok()) return 0;
  InputFileOptions options;
  options.archive_limit = int64_t{16} << 20;
  for (const bool cast : {false, true}) {
    options.cast = cast;
    for (const PortInfo& p : kPorts)
      if (auto value = file->value(p, options); value.ok()) expect_fits(*value, p);
    (void)file->values(kPorts, options).ok();
  }
  return 0;
}
