#include "standards/cvm/read_params.h"

#include "base/checked.h"
#include "base/try.h"
#include "tensor/convert.h"

namespace nnex::cvm_format {
namespace {

constexpr uint64_t kListMagic = 0xF7E58D4F05049CB7;
constexpr uint64_t kTensorMagic = 0xDD5E40F096B4A13F;
constexpr int32_t kMaxRank = 32;  ///< What any shape can have before its match with the graph is looked at.

/// What the original makes room for before it looks at the tensor: a power of two of bits, whole bytes or one bit.
bool has_room(uint8_t code, uint8_t bits, uint16_t lanes) {
  if (lanes < 1) return false;
  return (bits == 1 && code == 1) || (bits % 8 == 0 && (bits & (bits - 1)) == 0);
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

bool begins_params(std::string_view bytes) { return bytes.starts_with("\xb7\x9c\x04\x05\x4f\x8d\xe5\xf7"); }

Result<ParamReader> ParamReader::open(std::string_view bytes, std::shared_ptr<const void> owner) {
  ParamReader out(bytes, std::move(owner));
  ByteReader& r = out.reader_;
  const auto magic = r.number<uint64_t>();
  r.skip(8);
  const auto names = r.number<uint64_t>();
  if (!r.ok()) return logic_error("the params file ends inside its header");
  if (magic != kListMagic) return logic_error("the params file begins with {:#x}; needed {:#x}", magic, kListMagic);
  if (names > r.remaining() / 8)
    return logic_error("the params file names {} tensors in {} bytes", names, bytes.size());
  out.names_.resize(static_cast<size_t>(names));
  for (std::string& name : out.names_) name = std::string(r.bytes(r.number<uint64_t>()));
  const auto tensors = r.number<uint64_t>();
  if (!r.ok()) return logic_error("the params file ends inside its names");
  if (tensors != names) return logic_error("the params file has {} names and {} tensors", names, tensors);
  return out;
}

Result<Param> ParamReader::next() {
  auto read = tensor();
  if (!read.ok()) return std::move(read).error().at(fmt::format("parameter '{}'", name()));
  return Param{names_[next_++], std::move(read).value()};
}

Result<Tensor> ParamReader::tensor() {
  ByteReader& r = reader_;
  const auto magic = r.number<uint64_t>();
  if (r.ok() && magic != kTensorMagic) return runtime_error("the header is {:#x}; needed {:#x}", magic, kTensorMagic);
  r.skip(8 + 4 + 4);  // reserved; the device is the reader's affair
  const auto rank = r.number<int32_t>();
  const auto code = r.number<uint8_t>(), bits = r.number<uint8_t>();
  const auto lanes = r.number<uint16_t>();
  if (!r.ok()) return runtime_error("the file ends inside a tensor's header");
  if (rank < 0) return logic_error("{} axes", rank);
  if (rank > kMaxRank) return runtime_error("{} axes; needed at most {}", rank, kMaxRank);
  std::vector<int64_t> extents;
  int64_t size = (bits + 7) / 8;
  for (int32_t i = 0; i < rank; ++i) {
    extents.push_back(r.number<int64_t>());
    const auto product = checked_mul(size, extents.back());
    if (extents.back() < 1 || !product) return runtime_error("extent {} at axis {}", extents.back(), i);
    size = *product;
  }
  const auto declared = r.number<int64_t>();
  if (!r.ok()) return runtime_error("the file ends inside a tensor's header");
  if (!has_room(code, bits, lanes)) return runtime_error("elements of {} bits in {} lanes", bits, lanes);
  if (declared != size) return runtime_error("{} bytes declared; its shape needs {}", declared, size);
  const std::string_view data = r.bytes(static_cast<uint64_t>(size));
  if (!r.ok()) return runtime_error("the file ends inside a tensor of {} bytes", size);
  if (code != 0 || (bits != 8 && bits != 32) || lanes != 1)
    return logic_error("element type code {}, {} bits, {} lanes; needed int8 or int32", code, bits, lanes);
  return Tensor::borrow(bits == 8 ? DType::i8 : DType::i32, Shape(extents), data.data(), owner_);
}

Result<Param> seeded_param(std::string name, const Shape& shape, int64_t bits, uint64_t seed) {
  NNEX_ASSIGN(Tensor t, Tensor::make(bits <= 8 ? DType::i8 : DType::i32, shape));
  uint64_t state = seed ^ 0x9e3779b97f4a7c15u;
  for (char c : name) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  const int64_t max = (int64_t{1} << (bits - 1)) - 1;
  for (int64_t i = 0; i < t.count(); ++i) {  // splitmix64
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    set_int(t, i, static_cast<int64_t>(z % static_cast<uint64_t>(2 * max + 1)) - max);
  }
  return Param{std::move(name), std::move(t)};
}

std::string write_params(const std::vector<Param>& params) {
  std::string out;
  put(out, kListMagic);
  put(out, uint64_t{0});
  put(out, static_cast<uint64_t>(params.size()));
  for (const Param& p : params) {
    put(out, static_cast<uint64_t>(p.name.size()));
    out += p.name;
  }
  put(out, static_cast<uint64_t>(params.size()));
  for (const Param& p : params) {
    const Tensor& t = p.tensor;
    put(out, kTensorMagic);
    put(out, uint64_t{0});
    put(out, int32_t{1});
    put(out, int32_t{0});
    put(out, static_cast<int32_t>(t.shape().rank()));
    put(out, uint8_t{0});
    put(out, static_cast<uint8_t>(t.dtype() == DType::i8 ? 8 : 32));
    put(out, uint16_t{1});
    for (int64_t e : t.shape().extents()) put(out, e);
    put(out, t.bytes());
    out.append(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.bytes()));
  }
  return out;
}

}  // namespace nnex::cvm_format
