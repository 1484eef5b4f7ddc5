#pragma once
// Tensor files of NNEF (.dat): a header of 128 bytes, then the items in row-major order as one stream of bits
// (NNEF 1.0.5, chapter 5.2; rules B1 to B12).

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nnex/tensor.h"
#include "standards/nnef/operation.h"

namespace nnex::nnef_format {

/// Item types of the standard, by their code.
enum class StoredItem : uint16_t {
  real,                ///< IEEE floats of 16, 32 or 64 bits.
  unsigned_integer,    ///< 1 to 64 bits; with the first parameter not 0: signed (until 1.0.2).
  quantized_unsigned,  ///< Codes of 1 to 64 bits; their meaning is in the quantisation file.
  quantized_signed,
  signed_integer,
  logical,  ///< 1 or 8 bits.
};
inline constexpr uint16_t kStoredItems = 6;
inline constexpr size_t kTensorHeaderBytes = 128;

struct TensorHeader {
  Shape shape;
  uint32_t bits = 0;                        ///< Of one item.
  uint16_t item = 0;                        ///< A StoredItem where vendor is 0.
  uint16_t vendor = 0;                      ///< 0: Khronos.
  std::array<uint32_t, 8> parameters = {};  ///< Deprecated since 1.0.3.

  bool is(StoredItem type) const { return vendor == 0 && item == static_cast<uint16_t>(type); }
  bool quantized() const { return is(StoredItem::quantized_unsigned) || is(StoredItem::quantized_signed); }
  /// Whether items are in two's complement: the signed types, and the old flag of unsigned ones.
  bool is_signed() const;
  /// "2-bit unsigned integers", "type 7 of vendor 0x5452": for messages.
  std::string text() const;
};

/// A tensor file: its header, and the items as they are stored.
struct TensorFile {
  TensorHeader header;
  std::string_view data;
  std::shared_ptr<const void> owner;  ///< Keeps `data` alive.
};

struct TensorReadOptions {
  bool old_codes = false;  ///< 16 and 17, which tools wrote until 1.0.3, stand for the quantised types.
};

/// Reads a file. Item types of vendors are carried: their length is checked, what they mean is the caller's.
/// Errors: invalid_model, the rule's number in front.
Result<TensorFile> read_tensor_file(std::string_view bytes, std::shared_ptr<const void> owner = nullptr,
                                    const TensorReadOptions& options = {});

/// The items in the narrowest element type of whole bytes: f16 f32 f64, u8..u64, i8..i64, bool; codes of quantised
/// types as integers. Where the widths are equal the tensor borrows the file's bytes. Error: unsupported for types of
/// vendors (B12).
Result<Tensor> items(const TensorFile& file);

/// The data-type that the file's items have in a document (NNEF 1.0.5, 5.2.1). Error: unsupported (B12).
Result<ItemType> item_type(const TensorHeader& header);

/// The reals that codes of a quantised file stand for by the header's own parameters, as files until 1.0.2 have them.
/// Error: invalid_model where the header has none.
Result<Tensor> real_items(const TensorFile& file);

/// How a tensor is to be stored; bits 0: by its element type.
struct StoreAs {
  StoredItem item = StoredItem::real;
  uint32_t bits = 0;
};

/// A tensor file in two pieces, so that the items need no copy.
struct TensorBytes {
  std::array<char, kTensorHeaderBytes> header = {};
  std::string_view data;
  std::shared_ptr<const void> owner;

  std::string joined() const;
};

/// The file of a tensor. Without `as`, floats are stored in their width (bfloat16 and the float8 kinds as f32),
/// integers in theirs (2 and 4 bits packed), bool in 8 bits.
/// Errors: unsupported (strings, complex numbers, rank above 8, more than 4 GiB, a zero extent), invalid_argument (an
/// item that `as` cannot hold).
Result<TensorBytes> write_tensor_file(const Tensor& t, const StoreAs* as = nullptr);

}  // namespace nnex::nnef_format
