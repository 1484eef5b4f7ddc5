// Hashes of elements.

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/failure.h"
#include "ops/answer.h"
#include "ops/codecs.h"
#include "ops/infer_call.h"
#include "ops/share_out.h"
#include "ops/stored.h"

namespace nnex {
namespace {

struct MurmurHashAttrs {
  int64_t seed = 0;
  DType result = DType::u32;
};

uint32_t mixed(uint32_t word) { return std::rotl(word * 0xcc9e2d51U, 15) * 0x1b873593U; }

/// MurmurHash3 of 32 bits (Appleby 2008, in the public domain). Words are little-endian, the last one filled with
/// zeros.
uint32_t murmur_hash(std::string_view bytes, uint32_t seed) {
  uint32_t hash = seed;
  for (std::string_view rest = bytes; !rest.empty();) {
    const size_t n = std::min(rest.size(), sizeof(uint32_t));
    uint32_t word = 0;
    std::memcpy(&word, rest.data(), n);
    hash ^= mixed(word);
    if (n == sizeof word) hash = std::rotl(hash, 13) * 5 + 0xe6546b64U;
    rest.remove_prefix(n);
  }
  hash ^= static_cast<uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85ebca6bU;
  hash = (hash ^ hash >> 13) * 0xc2b2ae35U;
  return hash ^ hash >> 16;
}

Status run_murmur_hash(Call& c) {
  const Tensor& x = c.in(0);
  const auto seed = static_cast<uint32_t>(c.attr<MurmurHashAttrs>().seed);
  auto* const y = reinterpret_cast<uint32_t*>(c.out(0).mutable_data());
  const bool texts = x.dtype() == DType::str;
  const int64_t width = texts ? 0 : bits(x.dtype()) / 8;
  const std::string* const text = texts ? x.strings().data() : nullptr;
  const char* const numbers = texts ? nullptr : reinterpret_cast<const char*>(x.data());
  share_out(c, x.count(), x.bytes(), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      y[i] = murmur_hash(
          texts ? std::string_view(text[i]) : std::string_view(numbers + i * width, static_cast<size_t>(width)), seed);
  });
  return {};
}

Result<AttrValue> result_of_positive(const AttrValue& v) {
  const auto* const positive = std::get_if<int64_t>(&v);
  if (!positive) return failure(Code::invalid_model, "found no whole number; needed 0 or 1");
  return AttrValue(*positive ? DType::u32 : DType::i32);
}
Result<AttrValue> positive_of_result(const AttrValue& v) {
  const auto* const type = std::get_if<DType>(&v);
  return AttrValue(int64_t{type && *type == DType::u32});
}
constexpr Codec kPositive = {"positive", result_of_positive, positive_of_result};

constexpr OpRow kHashOps[] = {
    {.name = "murmur_hash",
     .summary = "Of each element MurmurHash3 in 32 bits: of its text, or of its bytes from the lowest on.",
     .source = "ONNX Runtime's com.microsoft MurmurHash3-1, which ML.NET writes for features that it hashes",
     .inputs = {{"x", types(DType::i32, DType::i64, DType::u32, DType::u64, DType::f32, DType::f64, DType::str)}},
     .outputs = {{"y", type_among(types(DType::u32, DType::i32), "result")}},
     .attrs = attrs_of<MurmurHashAttrs>({field<&MurmurHashAttrs::seed>("seed", "What the hash begins with."),
                                         field<&MurmurHashAttrs::result>("result", "Element type of the hashes.")}),
     .infer = same_shape,
     .reference = any(run_murmur_hash),
     .spelled = {{onnx, "MurmurHash3", {{"result", "positive", &kPositive}}, 1, "com.microsoft"}}},
};
}  // namespace

std::span<const OpDef> hash_ops() { return stored<kHashOps>(); }

}  // namespace nnex
