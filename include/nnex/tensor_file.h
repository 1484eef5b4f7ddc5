#pragma once
/// Tensors in files: NumPy's arrays, ONNX's messages, NNEF's tensor files, JSON, tables.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nnex/file.h"
#include "nnex/tensor.h"

#pragma GCC visibility push(default)
namespace nnex {

enum class TensorFormat : uint8_t {
  npy,   ///< NumPy: one array.
  npz,   ///< NumPy: a zip archive of arrays, each with a name.
  onnx,  ///< .pb: a TensorProto.
  nnef,  ///< .dat: 128 bytes of header, then the items.
  json,  ///< Nested lists; numbers that JSON lacks are the words "NaN", "Infinity", "-Infinity".
  csv,   ///< Rows of numbers: the last axis's elements side by side, of one axis one below the other.
};

/// The format that a file's name ends in: .npy .npz .pb .dat .json .csv; nothing for another one.
std::optional<TensorFormat> tensor_format_of(std::string_view path);

/// The tensor that bytes of a format hold. Of .npz its only array; numbers of JSON and of tables, which are [rows,
/// columns], become elements of `type` (none: f32, texts of JSON str), quantised items of NNEF the reals they stand
/// for. Errors: unreadable, with what is wrong; invalid_argument (several arrays; a number that the type does not hold;
/// elements of another type than `type`, of the formats that tell them); limit.
Result<Tensor> tensor_from_bytes(TensorFormat format, std::string_view bytes, DType type = DType::none);
/// The same of a file, by its ending. Errors: those; invalid_argument (another ending).
Result<Tensor> read_tensor(const std::string& path, DType type = DType::none);
/// The arrays of a .npz file by name. It may unpack to `archive_limit` bytes (0: three quarters of what this process
/// may have), and beyond 64 MiB to `archive_ratio` bytes for each of its own (0: 32). Errors: unreadable; limit.
Result<std::map<std::string, Tensor>> read_tensors(const std::string& path, int64_t archive_limit = 0,
                                                   int64_t archive_ratio = 0);

/// The bytes of a file of the format; `name` is kept where the format has room for it. Errors: unsupported (an element
/// type, or an extent, that the format lacks).
Result<std::string> tensor_bytes(const Tensor& t, TensorFormat format, std::string_view name = {});
/// Writes a tensor: the format by the name's ending. Errors: invalid_argument (another ending), those of tensor_bytes
/// and of write_file.
Status write_tensor(const std::string& path, const Tensor& t, std::string_view name = {},
                    Existing existing = Existing::refuse);

/// A value of any kind, as an input or output of the type (PortInfo::type: "sequence(f32[?])") has it. Of .pb that is
/// the message of ONNX's test data: TensorProto, SparseTensorProto, SequenceProto, MapProto or OptionalProto; of .json
/// a list of a sequence's items, null or the value of an optional, an object of a map. The other formats hold tensors.
/// Errors: those of tensor_from_bytes; invalid_argument (`type` is none, or the format holds none of it).
Result<Value> value_from_bytes(TensorFormat format, std::string_view bytes, std::string_view type);
/// The same of a file, by its ending. Errors: those; invalid_argument (another ending).
Result<Value> read_value(const std::string& path, std::string_view type);
/// The bytes of a file that value_from_bytes() reads. Errors: unsupported, as of tensor_bytes; of a value that is no
/// tensor for every format but .pb and .json.
Result<std::string> value_bytes(const Value& v, TensorFormat format, std::string_view name = {});
/// Writes it: the format by the name's ending. Errors: as of write_tensor, and of value_bytes.
Status write_value(const std::string& path, const Value& v, std::string_view name = {},
                   Existing existing = Existing::refuse);

/// A tensor and its name in an archive.
struct NamedTensor {
  std::string name = {};
  Tensor tensor = {};
};
/// Writes a .npz file of them all, not compressed, as numpy.savez does. Errors: as of write_tensor; limit (4 GiB).
Status write_tensors(const std::string& path, std::span<const NamedTensor> tensors,
                     Existing existing = Existing::refuse);

}  // namespace nnex
#pragma GCC visibility pop
