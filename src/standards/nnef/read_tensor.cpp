#include "standards/nnef/read_tensor.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "base/checked.h"
#include "base/failure.h"
#include "base/try.h"
#include "tensor/convert.h"

namespace nnex::nnef_format {
namespace {

constexpr uint32_t kMaxRank = 8;
constexpr uint32_t kMaxBits = 64;
constexpr uint64_t kMaxBytes = UINT32_MAX;
constexpr uint16_t kOldLinear = 16, kOldLogarithmic = 17;

Error broken_rule(const char* rule, std::string message) {
  return failure(Code::invalid_model, "{}: {}", rule, message);
}

constexpr std::string_view kItemNames[kStoredItems] = {
    "floats",          "unsigned integers", "quantised unsigned integers", "quantised signed integers",
    "signed integers", "logical items"};

/// Whether a type of the standard may have so many bits.
Status check_type(const TensorHeader& h) {
  if (h.item >= kStoredItems)
    return broken_rule("B6",
                       fmt::format("item type {}; needed one from 0 to {}{}", h.item, kStoredItems - 1,
                                   h.item == kOldLinear || h.item == kOldLogarithmic
                                       ? " (16 and 17 are codes of tools from before 1.0.4; they can be asked for)"
                                       : ""));
  if (h.is(StoredItem::logical) && h.bits != 1 && h.bits != 8)
    return broken_rule("B7", fmt::format("logical items of {} bits; needed 1 or 8", h.bits));
  if (h.is(StoredItem::real) && h.bits != 16 && h.bits != 32 && h.bits != 64)
    return broken_rule("B6", fmt::format("floats of {} bits; needed 16, 32 or 64", h.bits));
  return {};
}

/// Bytes the items take, or nothing when that overflows.
std::optional<uint64_t> data_bytes(const Shape& shape, uint32_t bits) {
  const auto count = shape.checked_count();
  if (!count) return std::nullopt;
  const auto total = checked_mul(*count, bits);
  if (!total) return std::nullopt;
  return static_cast<uint64_t>(*total) / 8 + (*total % 8 != 0);
}

Result<Shape> read_shape(uint32_t rank, const std::array<uint32_t, kMaxRank>& extents) {
  if (rank > kMaxRank) return broken_rule("B4", fmt::format("rank {}; at most 8 is allowed", rank));
  std::vector<int64_t> out;
  for (uint32_t i = 0; i < kMaxRank; ++i) {
    if (i >= rank && extents[i] != 0)
      return broken_rule("B4", fmt::format("extent {} is {} although the rank is {}; needed 0", i, extents[i], rank));
    if (i >= rank) continue;
    if (extents[i] == 0) return broken_rule("B4", fmt::format("extent {} is 0; needed at least 1", i));
    out.push_back(extents[i]);
  }
  return Shape(out);
}

/// What is known of files that only look like NNEF 1.0's, for the message.
std::string older_form(std::string_view bytes, uint32_t offset_or_length, uint64_t length) {
  if (bytes.size() == kTensorHeaderBytes + 4 + length)
    return "; this looks like a file from before October 2018, with 4 bytes between header and items";
  if (offset_or_length >= 20 && offset_or_length < bytes.size() && offset_or_length < 4096)
    return "; if it is a file of the provisional standard of 2017, convert it first";
  return "";
}

/// Bits of the stream as numbers, most significant bit first.
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t take(uint32_t bits) {
    uint64_t out = 0;
    while (bits > 0) {
      const uint32_t here = std::min(bits, 8 - used_);
      const auto byte = static_cast<uint8_t>(bytes_[at_]);
      const uint32_t part = (byte >> (8 - used_ - here)) & ((1u << here) - 1);
      out = (out << here) | part;
      bits -= here, used_ += here;
      if (used_ == 8) used_ = 0, ++at_;
    }
    return out;
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  uint32_t used_ = 0;
};

class BitWriter {
 public:
  explicit BitWriter(size_t bytes) : out_(bytes, '\0') {}
  void put(uint64_t value, uint32_t bits) {
    while (bits > 0) {
      const uint32_t here = std::min(bits, 8 - used_);
      const auto part = static_cast<uint8_t>((value >> (bits - here)) & ((uint64_t{1} << here) - 1));
      out_[at_] = static_cast<char>(static_cast<uint8_t>(out_[at_]) | part << (8 - used_ - here));
      bits -= here, used_ += here;
      if (used_ == 8) used_ = 0, ++at_;
    }
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  size_t at_ = 0;
  uint32_t used_ = 0;
};

/// The narrowest integer type of whole bytes that holds so many bits.
DType integer_type(uint32_t bits, bool is_signed) {
  const int size = bits <= 8 ? 0 : bits <= 16 ? 1 : bits <= 32 ? 2 : 3;
  constexpr DType kSigned[] = {DType::i8, DType::i16, DType::i32, DType::i64};
  constexpr DType kUnsigned[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  return is_signed ? kSigned[size] : kUnsigned[size];
}

uint64_t extended(uint64_t value, uint32_t bits, bool is_signed) {
  if (!is_signed || bits == 64 || !(value >> (bits - 1) & 1)) return value;
  return value | ~uint64_t{0} << bits;
}

/// One number of a whole count of bytes, little-endian; of other widths from the stream of bits.
class ItemReader {
 public:
  ItemReader(const TensorFile& file)
      : bits_(file.header.bits), signed_(file.header.is_signed()), bytes_(file.data), stream_(file.data) {}
  uint64_t next() {
    if (bits_ % 8) return extended(stream_.take(bits_), bits_, signed_);
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, bits_ / 8);
    at_ += bits_ / 8;
    return extended(value, bits_, signed_);
  }

 private:
  uint32_t bits_;
  bool signed_;
  std::string_view bytes_;
  size_t at_ = 0;
  BitReader stream_;
};

float as_float(uint32_t bits) {
  float out;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

StoreAs natural(DType type) {
  const auto width = static_cast<uint32_t>(bits(type));
  if (type == DType::boolean) return {StoredItem::logical, 8};
  if (is_signed_int(type)) return {StoredItem::signed_integer, width};
  if (is_unsigned_int(type)) return {StoredItem::unsigned_integer, width};
  if (type == DType::f64 || type == DType::f16) return {StoredItem::real, width};
  return {StoredItem::real, 32};
}

void put_header(const TensorHeader& h, uint64_t length, char* to) {
  auto put = [&](size_t at, uint32_t value) { std::memcpy(to + at, &value, sizeof value); };
  to[0] = '\x4e', to[1] = '\xef', to[2] = 1, to[3] = 0;
  put(4, static_cast<uint32_t>(length));
  put(8, static_cast<uint32_t>(h.shape.rank()));
  for (int64_t i = 0; i < h.shape.rank(); ++i) put(12 + 4 * static_cast<size_t>(i), static_cast<uint32_t>(h.shape[i]));
  put(44, h.bits);
  put(48, h.item);
}

/// Items of a width that memory does not have, packed.
Result<std::string> packed(const Tensor& t, const TensorHeader& h, size_t length) {
  BitWriter stream(length);
  std::string bytes;
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t value = int_at(t, i);
    const auto raw = static_cast<uint64_t>(value);
    const uint64_t kept = h.bits == 64 ? raw : raw & ((uint64_t{1} << h.bits) - 1);
    if (h.is(StoredItem::logical)) {
      stream.put(value != 0, h.bits);
      continue;
    }
    const bool high = t.dtype() == DType::u64 && value < 0;  // 2^63 and above
    const bool fits = value >= 0 || high != h.is_signed();
    if (extended(kept, h.bits, h.is_signed()) != raw || !fits)
      return failure(Code::invalid_argument, "item {} is {}; it does not fit {}", i, element_text(t, i), h.text());
    if (h.bits % 8)
      stream.put(kept, h.bits);
    else
      bytes.append(reinterpret_cast<const char*>(&kept), h.bits / 8);
  }
  return h.bits % 8 ? stream.take() : std::move(bytes);
}

}  // namespace

bool TensorHeader::is_signed() const {
  return is(StoredItem::signed_integer) || is(StoredItem::quantized_signed) ||
         (is(StoredItem::unsigned_integer) && parameters[0] != 0);
}

std::string TensorHeader::text() const {
  if (vendor != 0) return fmt::format("{}-bit items of type {} of vendor 0x{:04x}", bits, item, vendor);
  return fmt::format("{}-bit {}", bits, item < kStoredItems ? kItemNames[item] : "items of an unknown type");
}

Result<TensorFile> read_tensor_file(std::string_view bytes, std::shared_ptr<const void> owner,
                                    const TensorReadOptions& options) {
  if (bytes.size() < kTensorHeaderBytes)
    return broken_rule("B3", fmt::format("the file has {} bytes; needed 128 for the header", bytes.size()));
  ByteReader in(bytes);
  if (in.number<uint8_t>() != 0x4e || in.number<uint8_t>() != 0xef)
    return broken_rule("B1", fmt::format("the file begins with 0x{:02x} 0x{:02x}; needed 0x4e 0xef",
                                         static_cast<uint8_t>(bytes[0]), static_cast<uint8_t>(bytes[1])));
  const int major = in.number<uint8_t>(), minor = in.number<uint8_t>();
  if (major != 1 || minor != 0) return broken_rule("B2", fmt::format("version {}.{}; needed 1.0", major, minor));
  const auto length = in.number<uint32_t>(), rank = in.number<uint32_t>();
  std::array<uint32_t, kMaxRank> extents;
  for (uint32_t& e : extents) e = in.number<uint32_t>();
  TensorFile file{{}, {}, std::move(owner)};
  TensorHeader& h = file.header;
  auto shape = read_shape(rank, extents);
  if (!shape.ok()) {
    const std::string hint = older_form(bytes, length, length);
    return Error(Code::invalid_model, shape.error().message() + hint);
  }
  h.shape = std::move(shape).value();
  h.bits = in.number<uint32_t>();
  h.item = in.number<uint16_t>();
  h.vendor = in.number<uint16_t>();
  for (uint32_t& p : h.parameters) p = in.number<uint32_t>();
  if (options.old_codes && h.vendor == 0 && (h.item == kOldLinear || h.item == kOldLogarithmic))
    h.item =
        static_cast<uint16_t>(h.item == kOldLinear ? StoredItem::quantized_unsigned : StoredItem::quantized_signed);
  constexpr uint32_t kOther = ~uint32_t{0};  // of vendors' types whose items have no width of their own
  const bool blocks = h.vendor != 0 && h.bits == kOther;
  if (h.bits == 0 || (h.bits > kMaxBits && !blocks))
    return broken_rule("B6", fmt::format("items of {} bits; needed 1 to 64", h.bits));
  if (h.vendor == 0) NNEX_TRY(check_type(h));
  const auto needed = blocks ? std::optional<uint64_t>(length) : data_bytes(h.shape, h.bits);
  if (!needed || *needed != length)
    return broken_rule("B5", fmt::format("the header says {} bytes of items; {} of {} take {}", length, h.shape.text(),
                                         h.text(), needed ? fmt::to_string(*needed) : "more than 2^63"));
  if (bytes.size() - kTensorHeaderBytes != length)
    return broken_rule("B3", fmt::format("{} bytes follow the header; it says {}{}", bytes.size() - kTensorHeaderBytes,
                                         length, older_form(bytes, 0, length)));
  file.data = bytes.substr(kTensorHeaderBytes);
  return file;
}

Result<ItemType> item_type(const TensorHeader& h) {
  if (h.vendor != 0)
    return failure(Code::unsupported, "B12: the file holds {}; only item types of Khronos (vendor 0) are known",
                   h.text());
  if (h.is(StoredItem::logical)) return ItemType::logical;
  const bool whole = h.is(StoredItem::unsigned_integer) || h.is(StoredItem::signed_integer);
  return whole ? ItemType::integer : ItemType::scalar;
}

Result<Tensor> items(const TensorFile& file) {
  const TensorHeader& h = file.header;
  NNEX_TRY(item_type(h));
  const DType type = h.is(StoredItem::logical) ? DType::boolean
                     : h.is(StoredItem::real)  ? (h.bits == 16   ? DType::f16
                                                  : h.bits == 32 ? DType::f32
                                                                 : DType::f64)
                                               : integer_type(h.bits, h.is_signed());
  if (static_cast<uint32_t>(bits(type)) == h.bits) return Tensor::borrow(type, h.shape, file.data.data(), file.owner);
  NNEX_ASSIGN(Tensor t, Tensor::make(type, h.shape));
  ItemReader from(file);
  const auto width = static_cast<size_t>(bits(type) / 8);
  std::byte* to = t.mutable_data();
  for (int64_t i = 0; i < t.count(); ++i, to += width) {
    const uint64_t value = from.next();
    std::memcpy(to, &value, width);
  }
  return t;
}

Result<Tensor> real_items(const TensorFile& file) {
  const TensorHeader& h = file.header;
  const double min = as_float(h.parameters[0]), max = as_float(h.parameters[1]);
  if (!h.quantized() || (h.parameters[0] == 0 && h.parameters[1] == 0) || !(max > min) || h.bits > 32)
    return failure(Code::invalid_model, "B9: the file holds {} and the quantisation file says nothing of them",
                   h.text());
  NNEX_ASSIGN(Tensor codes, items(file));
  NNEX_ASSIGN(Tensor t, Tensor::make(DType::f32, h.shape));
  // In files of that time type 3 was "logarithmic", its codes unsigned.
  const double r = std::ldexp(1.0, static_cast<int>(h.bits)) - 1, m = std::ceil(std::log2(max));
  for (int64_t i = 0; i < t.count(); ++i) {
    double q = static_cast<double>(int_at(codes, i));
    if (q < 0) q += r + 1;
    set_real(t, i, h.is(StoredItem::quantized_unsigned) ? q / r * (max - min) + min : std::exp2(q + m - r));
  }
  return t;
}

std::string TensorBytes::joined() const {
  std::string out(header.data(), header.size());
  return out.append(data);
}

Result<TensorBytes> write_tensor_file(const Tensor& t, const StoreAs* as) {
  if (is_object(t.dtype()) || is_complex(t.dtype()) || t.dtype() == DType::none)
    return failure(Code::unsupported, "a tensor file has no item type for {}", name(t.dtype()));
  if (t.shape().rank() > kMaxRank)
    return failure(Code::unsupported, "a tensor of rank {}; tensor files hold at most 8", t.shape().rank());
  for (int64_t extent : t.shape())
    if (extent == 0 || extent > UINT32_MAX)
      return failure(Code::unsupported, "a tensor of {}; tensor files hold extents from 1 to 2^32 - 1",
                     t.shape().text());
  const StoreAs how = as && as->bits ? *as : natural(t.dtype());
  TensorHeader h{t.shape(), how.bits, static_cast<uint16_t>(how.item), 0, {}};
  NNEX_TRY(check_type(h));
  const auto length = data_bytes(h.shape, h.bits);
  if (!length || *length > kMaxBytes)
    return failure(Code::unsupported, "a tensor of {} in {}; tensor files hold less than 4 GiB", t.shape().text(),
                   h.text());
  TensorBytes out;
  put_header(h, *length, out.header.data());
  Tensor stored = t;
  if (h.is(StoredItem::real)) {
    const DType wanted = h.bits == 16 ? DType::f16 : h.bits == 32 ? DType::f32 : DType::f64;
    if (t.dtype() != wanted) {
      NNEX_ASSIGN(stored, convert(t, wanted));
    }
  } else if (t.dtype() == DType::boolean && h.bits == 8) {
    NNEX_ASSIGN(stored, convert(t, DType::u8));  // 0 or 1
  } else if (static_cast<uint32_t>(bits(t.dtype())) != h.bits || h.bits % 8 ||
             is_signed_int(t.dtype()) != h.is_signed()) {
    NNEX_ASSIGN(std::string bytes, packed(t, h, static_cast<size_t>(*length)));
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    out.data = *owner;
    out.owner = owner;
    return out;
  }
  auto owner = std::make_shared<const Tensor>(std::move(stored));
  out.data = {reinterpret_cast<const char*>(owner->data()), static_cast<size_t>(*length)};
  out.owner = owner;
  return out;
}

}  // namespace nnex::nnef_format
