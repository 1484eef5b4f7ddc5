// Tensor files as tract writes them.

#include <cstring>

#include "base/failure.h"
#include "standards/nnef/read_tensor.h"
#include "standards/nnef/tract/reader.h"
#include "tensor/half.h"

namespace nnex::nnef_format {
namespace {

constexpr uint16_t kVendor = 0x5452;  ///< "TR"
constexpr uint16_t kBlocksOfFour = 0x2040;
constexpr int64_t kBlock = 32, kBlockBytes = 18;

/// Blocks of 32 items: a scale of 16 bits, then 4 bits an item, the low half of a byte first; 8 stands for 0.
Result<Tensor> blocks_of_four(const TensorFile& file) {
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::f32, file.header.shape));
  const int64_t blocks = t.count() / kBlock;
  if (t.count() % kBlock || file.data.size() != static_cast<size_t>(blocks * kBlockBytes))
    return failure(Code::invalid_model, "B5: found {} bytes; {} items in blocks of {} take {}", file.data.size(),
                   t.count(), kBlock, (t.count() + kBlock - 1) / kBlock * kBlockBytes);
  float* out = t.mutable_as<float>().data();
  const char* in = file.data.data();
  for (int64_t b = 0; b < blocks; ++b, in += kBlockBytes) {
    f16 scale;
    std::memcpy(&scale.bits, in, 2);
    for (int64_t i = 0; i < kBlock; ++i) {
      const auto byte = static_cast<uint8_t>(in[2 + i / 2]);
      *out++ = static_cast<float>(scale) * static_cast<float>((i % 2 ? byte >> 4 : byte & 15) - 8);
    }
  }
  return t;
}

}  // namespace

Result<Tensor> tract_items(std::string_view bytes, std::shared_ptr<const void> owner) {
  NNEX_ASSIGN(const TensorFile file, read_tensor_file(bytes, std::move(owner)));
  if (file.header.vendor == kVendor && file.header.item == kBlocksOfFour) return blocks_of_four(file);
  return items(file);
}

}  // namespace nnex::nnef_format
