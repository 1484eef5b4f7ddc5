// Tensor files of the draft of 2017.

#include <cstring>

#include "base/failure.h"
#include "standards/nnef/read_provisional.h"

namespace nnex::nnef_format {

Result<TensorFile> read_provisional_tensor_file(std::string_view bytes, std::shared_ptr<const void> owner) {
  const auto refused = [](std::string_view why) {
    return failure(Code::invalid_model, "no tensor file of the draft of 2017: {}", why);
  };
  const auto number = [&](size_t at, size_t size) {
    uint32_t n = 0;
    std::memcpy(&n, bytes.data() + at, size);
    return n;
  };
  constexpr size_t kFixed = 12, kBehindExtents = 4, kMaxRank = 8;
  if (bytes.size() < kFixed || bytes.substr(0, 4) != std::string_view("\x4e\xef\x01\x00", 4))
    return refused("it does not begin as one");
  const size_t offset = number(4, 4), rank = number(8, 4);
  if (rank > kMaxRank || bytes.size() < kFixed + 4 * rank + kBehindExtents) return refused("its header is cut off");
  Ints extents;
  for (size_t i = 0; i < rank; ++i) extents.push_back(number(kFixed + 4 * i, 4));
  const size_t at = kFixed + 4 * rank;
  const uint32_t type = number(at, 1), bits = number(at + 1, 1), text = number(at + 2, 2);
  if (offset != at + kBehindExtents + text || offset > bytes.size()) return refused("its items are elsewhere");
  constexpr StoredItem kTypes[] = {StoredItem::real, StoredItem::quantized_unsigned, StoredItem::signed_integer,
                                   StoredItem::unsigned_integer};
  if (type >= std::size(kTypes) || bits == 0 || bits > 64) return refused("its item type is unknown");
  const auto count = Shape(extents).checked_count();
  if (!count || *count > INT64_MAX / 64 || bytes.size() - offset != (static_cast<uint64_t>(*count) * bits + 7) / 8)
    return refused("its length does not fit its extents");
  if (text > 0 || kTypes[type] == StoredItem::quantized_unsigned)
    return Error(Code::unsupported, "a tensor file of the draft of 2017 with a text of quantisation");
  TensorFile file{{}, bytes.substr(offset), std::move(owner)};
  file.header.shape = Shape(extents);
  file.header.bits = bits;
  file.header.item = static_cast<uint16_t>(kTypes[type]);
  if (file.header.is(StoredItem::real) && bits != 16 && bits != 32 && bits != 64)
    return refused("its reals have another width than 16, 32 or 64 bits");
  return file;
}

}  // namespace nnex::nnef_format
