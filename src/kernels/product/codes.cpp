#include "kernels/product/codes.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "nnex/elements.h"

namespace nnex::kernels {
namespace {

/// The bits of element i.
uint32_t code_at(const std::byte* codes, int bits, int64_t i) {
  if (bits == 8) return static_cast<uint32_t>(codes[i]);
  return static_cast<uint32_t>(codes[i / 2]) >> (i % 2 * 4) & 15U;
}

}  // namespace

std::optional<CodeShape> CodeShape::of(DType type, const Shape& codes, const Shape& scale, const Shape* zero,
                                       int64_t axis, int64_t block_size, bool transposed) {
  CodeShape s;
  s.is_signed = type == DType::i4 || type == DType::i8;
  s.bits = type == DType::i4 || type == DType::u4 ? 4 : 8;
  if ((s.bits == 8 && type != DType::i8 && type != DType::u8) || codes.rank() != 2 || codes.count() == 0)
    return std::nullopt;
  const int64_t rows = transposed ? 1 : 0, columns = 1 - rows;
  s.k = codes[rows], s.n = codes[columns];
  s.k_step = transposed ? 1 : s.n, s.n_step = transposed ? s.k : 1;
  s.block = round_up(s.k, 8);
  if (axis < 0) axis += 2;
  const bool one = scale.count() == 1 && (scale.rank() == 0 || block_size == 0);
  if (!one && scale.rank() == 1) {
    if (block_size != 0 || axis != columns || scale[0] != s.n) return std::nullopt;
    s.scale_step = 1;
  } else if (!one) {
    if (scale.rank() != 2 || scale[columns] != s.n || scale[rows] == 0) return std::nullopt;
    s.blocks = scale[rows];
    if (s.blocks > 1) s.block = block_size > 0 && axis == rows ? block_size : s.k / s.blocks;
    if (s.block % 8 != 0 || ceil_div(s.k, s.block) != s.blocks) return std::nullopt;
    s.block_step = transposed ? 1 : s.n, s.scale_step = transposed ? s.blocks : 1;
  }
  s.own_zeros = zero && zero->count() > 1;
  if (s.own_zeros && !(*zero == scale)) return std::nullopt;
  return s;
}

std::optional<CodeShape> CodeShape::of_each(DType type, const Shape& codes, const Shape& scale, const Shape* zero,
                                            int64_t axis, int64_t block_size, bool transposed) {
  if (codes.rank() != 3 || scale.rank() != 3 || scale[0] != codes[0] || axis == 0 || axis == -3) return std::nullopt;
  if (zero && !(*zero == scale)) return std::nullopt;
  const Shape one = {codes[1], codes[2]}, one_scale = {scale[1], scale[2]};
  const auto whole_bytes = [&](const Shape& s) { return s.count() * nnex::bits(type) % 8 == 0; };
  if (!whole_bytes(one) || (zero && !whole_bytes(one_scale))) return std::nullopt;
  return of(type, one, one_scale, zero ? &one_scale : nullptr, axis > 0 ? axis - 1 : axis, block_size, transposed);
}

std::optional<CodeShape> CodeShape::of_halves(DType type, const Shape& weights, bool transposed) {
  if ((type != DType::f16 && type != DType::bf16) || weights.rank() != 2 || weights.count() == 0) return std::nullopt;
  CodeShape s;
  s.bits = 16, s.brain = type == DType::bf16, s.is_signed = false;
  s.k = weights[transposed ? 1 : 0], s.n = weights[transposed ? 0 : 1];
  s.k_step = transposed ? 1 : s.n, s.n_step = transposed ? s.k : 1;
  return s;
}

CodeColumns::CodeColumns(const simd::Loops& loops, const CodeShape& of, const Tensor* zero, const std::byte* packed)
    : shape_(loops.tile_shape_f32()), of_(of), bias_(of.is_signed ? 1 << (of.bits - 1) : 0), packed_(packed) {
  one_zero_ = bias_ + (zero && !of.own_zeros ? static_cast<int32_t>(int_at(*zero, 0)) : 0);
}

int64_t CodeColumns::padded_columns() const { return round_up(of_.n, shape_.lanes); }

int64_t CodeColumns::bytes() const {
  const int64_t columns = padded_columns();
  if (of_.bits == 16) return round_up(columns * of_.k * 2, 64);
  return book_bytes() + round_up(columns * (words() * 4 + of_.blocks * (of_.own_zeros ? 5 : 4)), 64);
}

simd::CodePanel CodeColumns::panel(int64_t i) const {
  const int64_t first = i * shape_.columns, columns = padded_columns();
  simd::CodePanel p;
  p.bits = of_.bits, p.one_zero = one_zero_, p.block = of_.block;
  p.columns = static_cast<int>(std::min<int64_t>(shape_.columns, columns - first));
  if (of_.bits == 16) {
    p.brain = of_.brain, p.halves = reinterpret_cast<const uint16_t*>(packed_) + first * of_.k;
    return p;
  }
  if (of_.codebook) p.codebook = reinterpret_cast<const float*>(packed_);
  const auto* const words_of_all = reinterpret_cast<const uint32_t*>(packed_ + book_bytes());
  const auto* const scales = reinterpret_cast<const float*>(words_of_all + columns * words());
  p.words = words_of_all + first * words();
  p.scale = scales + first * of_.blocks;
  if (of_.own_zeros) p.zero = reinterpret_cast<const uint8_t*>(scales + columns * of_.blocks) + first * of_.blocks;
  return p;
}

void CodeColumns::unpack(const simd::Loops& loops, float* to) const {
  for (int64_t i = 0; i * shape_.columns < of_.n; ++i)
    loops.unpack_codes_f32(panel(i), 0, of_.k, to + i * shape_.columns * of_.k);
}

void CodeColumns::pack(Team& team, const Tensor& halves, std::byte* packed) const {
  CodeColumns to = *this;
  to.packed_ = packed;
  team.run(ceil_div(of_.n, shape_.columns), [&](int64_t i) {
    const simd::CodePanel p = to.panel(i);
    auto* row = const_cast<uint16_t*>(p.halves);
    const int64_t here = std::min<int64_t>(p.columns, of_.n - i * shape_.columns);  // others fill the last vector
    const std::byte* from = halves.data() + i * shape_.columns * of_.n_step * 2;
    for (int64_t k = 0; k < of_.k; ++k, row += p.columns, from += of_.k_step * 2) {
      if (of_.n_step == 1)
        std::memcpy(row, from, static_cast<size_t>(here) * 2);
      else
        for (int64_t j = 0; j < here; ++j) std::memcpy(row + j, from + j * of_.n_step * 2, 2);
      std::fill(row + here, row + p.columns, uint16_t{0});
    }
  });
}

void CodeColumns::pack(Team& team, const Tensor& codes, const Tensor& scale, const Tensor* zero,
                       std::byte* packed) const {
  CodeColumns to = *this;
  to.packed_ = packed;
  if (of_.codebook) std::memcpy(packed, zero->data(), static_cast<size_t>(book_bytes()));
  const auto flip = static_cast<uint32_t>(bias_);
  team.run(ceil_div(of_.n, shape_.columns), [&](int64_t i) {
    const simd::CodePanel p = to.panel(i);
    auto* const word = const_cast<uint32_t*>(p.words);
    auto* const scales = const_cast<float*>(p.scale);
    auto* const zeros = const_cast<uint8_t*>(p.zero);
    const int64_t here = std::min<int64_t>(p.columns, of_.n - i * shape_.columns);  // others fill the last vector
    std::fill(word, word + words() * p.columns, 0U);
    for (int64_t k = 0; k < of_.k; ++k) {
      uint32_t* const to_row = word + k / word_rows() * p.columns;
      const int64_t first = k * of_.k_step + i * shape_.columns * of_.n_step, place = k % word_rows() * of_.bits;
      for (int64_t j = 0; j < here; ++j)
        to_row[j] |= (code_at(codes.data(), of_.bits, first + j * of_.n_step) ^ flip) << place;
    }
    for (int64_t b = 0; b < of_.blocks; ++b)
      for (int64_t j = 0; j < p.columns; ++j) {
        const int64_t at = b * of_.block_step + (i * shape_.columns + j) * of_.scale_step, to_at = b * p.columns + j;
        scales[to_at] = j < here ? static_cast<float>(real_at(scale, at)) : 0.0F;
        if (zeros) zeros[to_at] = static_cast<uint8_t>(j < here ? int_at(*zero, at) + bias_ : 0);
      }
  });
}

}  // namespace nnex::kernels
