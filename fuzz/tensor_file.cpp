// Reads whatever bytes come as a tensor file. What reads has items of its header's shape, and reads back the same once
// it is written.

#include <cstdlib>
#include <string>
#include <string_view>

#include "standards/nnef/read_tensor.h"
#include "tensor/convert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace nnex;
  using namespace nnex::nnef_format;
  TensorReadOptions options;
  options.old_codes = true;
  auto file = read_tensor_file({reinterpret_cast<const char*>(data), size}, nullptr, options);
  if (!file.ok()) return 0;
  if (auto reals = real_items(*file); reals.ok() && !(reals->shape() == file->header.shape)) std::abort();
  auto t = items(*file);
  if (!t.ok()) return 0;
  StoreAs as{static_cast<StoredItem>(file->header.item), file->header.bits};
  if (as.item == StoredItem::unsigned_integer && file->header.is_signed()) as.item = StoredItem::signed_integer;
  auto written = write_tensor_file(*t, &as);
  if (!written.ok()) std::abort();
  const std::string bytes = written->joined();
  auto back = read_tensor_file(bytes);
  if (!back.ok()) std::abort();
  auto again = items(*back);
  if (!again.ok() || again->dtype() != t->dtype() || !(again->shape() == t->shape())) std::abort();
  if (is_int(t->dtype()))
    for (int64_t i = 0; i < t->count(); ++i)
      if (int_at(*t, i) != int_at(*again, i)) std::abort();
  return 0;
}
