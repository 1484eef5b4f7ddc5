#include "standards/nnef/weights.h"

#include <fmt/format.h>

#include "base/failure.h"
#include "base/try.h"
#include "standards/nnef/import_calls.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {

std::string tensor_file_name(std::string_view label) { return fmt::format("{}.dat", label); }

namespace {

/// A document's integers have 64 bits, one of them the sign.
Status check_range(const Tensor& unsigned_items) {
  for (int64_t i = 0; i < unsigned_items.count(); ++i)
    if (int_at(unsigned_items, i) < 0)
      return failure(Code::unsupported, "item {} is {}; integers up to 2^63 - 1 are read", i,
                     element_text(unsigned_items, i));
  return {};
}

}  // namespace

Result<Tensor> variable_content(const TensorFile& file, ItemType type, const Ints& extents, const QuantRecord* record) {
  if (!(file.header.shape == Shape(extents)))
    return failure(Code::invalid_model, "C6: the file holds {}; the variable is {}", file.header.shape.text(),
                   Shape(extents).text());
  NNEX_ASSIGN(const ItemType stored, item_type(file.header));
  if (stored != type)
    return failure(Code::invalid_model, "C7: the file holds {}, which are {}; the variable is {}", file.header.text(),
                   name(stored), name(type));
  if (file.header.quantized()) {
    if (record) return reals_of_codes(file, *record);
    return real_items(file);
  }
  NNEX_ASSIGN(Tensor t, items(file));
  if (t.dtype() == element_type(type)) return t;
  if (t.dtype() == DType::u64) NNEX_TRY(check_range(t));
  return convert(t, element_type(type));
}

Error missing_content(Error e, const Container& from, const std::string& file_name) {
  const char* rule = e.code() == Code::invalid_model ? "C9" : "C2";
  if (e.code() == Code::unreadable && !from.has(file_name))
    e = std::move(e).helped_by({"weight_seed", "", "reads networks that come without their weights"});
  std::string sentence = fmt::format("{}: {}", rule, e.message());
  return std::move(e).worded(std::move(sentence));
}

Result<Tensor> variable_content(const Container& from, std::string_view label, ItemType type, const Ints& extents,
                                const QuantRecord* record) {
  const std::string file_name = tensor_file_name(label);
  const auto task = [&] { return fmt::format("reading the content of variable '{}'", label); };
  auto bytes = from.read(file_name);
  if (!bytes.ok()) return missing_content(std::move(bytes).error(), from, file_name).during(task());
  auto content = [&]() -> Result<Tensor> {
    NNEX_ASSIGN(TensorFile file, read_tensor_file(bytes->bytes, bytes->owner));
    return variable_content(file, type, extents, record);
  }();
  if (!content.ok()) return std::move(content).error().at(from.place(file_name)).during(task());
  return content;
}

}  // namespace nnex::nnef_format
