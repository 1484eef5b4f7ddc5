#include "standards/onnx/write_external.h"

#include <fmt/format.h>

#include "standards/onnx/schema.h"

namespace nnex::onnx_format {

using wire::Message;

constexpr int64_t kMinExternal = 1024;  ///< Bytes of a tensor that is worth a place in the other file.
constexpr uint64_t kExternalAlignment = 4096;

Message entry_message(std::string_view key, std::string_view value) {
  Message m;
  m.bytes(StringStringEntryProto::key, key);
  m.bytes(StringStringEntryProto::value, value);
  return m;
}

bool ExternalWriter::takes(const Tensor& t) const {
  return !name_.empty() && t.dtype() != DType::str && t.bytes() >= kMinExternal;
}

void ExternalWriter::place(const Tensor& t, Message& tensor) {
  const std::string_view bytes(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  static const std::string kPadding(kExternalAlignment, '\0');
  const uint64_t pad = (kExternalAlignment - size_ % kExternalAlignment) % kExternalAlignment;
  if (pad) pieces_.push_back(std::string_view(kPadding).substr(0, pad));
  tensor.message(TensorProto::external_data, entry_message("location", name_));
  tensor.message(TensorProto::external_data, entry_message("offset", fmt::to_string(size_ + pad)));
  tensor.message(TensorProto::external_data, entry_message("length", fmt::to_string(bytes.size())));
  tensor.integer(TensorProto::data_location, kExternalData);
  pieces_.push_back(bytes);
  size_ += pad + bytes.size();
  if (const MappedFile* file = file_of(t.owner())) files_.insert(file);
}

}  // namespace nnex::onnx_format
