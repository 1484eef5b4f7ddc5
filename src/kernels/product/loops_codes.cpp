// Highway builds this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/loops_codes.cpp"
#include <hwy/foreach_target.h>

#include <type_traits>
#include <utility>

#include "kernels/product/loops_codes.h"
#include "kernels/product/tile-inl.h"
#include "kernels/simd/builds.h"
#include "kernels/simd/halves-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nnex::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using CodeBits = hn::RebindToUnsigned<TileTag>;
using CodeVector = hn::Vec<TileTag>;

/// 16 numbers in as many vectors as they fill.
struct Codebook {
  static constexpr int kBooks = kLanes < 16 ? 16 / kLanes : 1;
  CodeVector part[kBooks];

  HWY_INLINE explicit Codebook(const float* numbers) {
    HWY_UNROLL(4)
    for (int i = 0; i < kBooks; ++i) part[i] = hn::LoadU(TileTag(), numbers + i * kLanes);
  }

  /// The numbers of the codes in the last four bits.
  HWY_INLINE CodeVector of(hn::Vec<CodeBits> words) const {
#if HWY_TARGET == HWY_SCALAR
    return part[hn::GetLane(words) & 15];
#else
    return among<0, kBooks>(words);
#endif
  }

 private:
  /// log2 of a power of two.
  static constexpr int bit_of(int power) { return power > 1 ? 1 + bit_of(power / 2) : 0; }

  template <int kFirst, int kCount>
  HWY_INLINE CodeVector among(hn::Vec<CodeBits> words) const {
    const TileTag d;
    if constexpr (kCount == 1) {
      constexpr int kPlaces = kLanes < 16 ? kLanes : 16;
      const auto place = hn::And(words, hn::Set(CodeBits(), kPlaces - 1));
      return hn::TableLookupLanes(part[kFirst], hn::IndicesFromVec(d, place));
    } else {
      constexpr int kHalf = kCount / 2;
      const hn::RebindToSigned<TileTag> whole;  // signs of floats are no order: -0 and NaN
      const auto upper = hn::BitCast(whole, hn::ShiftLeft<31 - bit_of(kHalf * kLanes)>(words));
      const auto yes = hn::BitCast(whole, among<kFirst + kHalf, kHalf>(words));
      const auto no = hn::BitCast(whole, among<kFirst, kHalf>(words));
      return hn::BitCast(d, hn::IfNegativeThenElse(upper, yes, no));
    }
  }
};
struct NoCodebook {
  HWY_INLINE explicit NoCodebook(const float*) {}
};

/// Weights of kVectors vectors of columns in each of kPanels panels. A code of the lower half of a word becomes part of
/// a float whose last bit is worth 1 at the code's place: 2^23 for bits 0 and up, 2^19 for bits 4 and up; less that and
/// the zero point, it is the difference, exactly. With a codebook words are shifted from code to code.
template <int kBits, int kVectors, int kPanels, bool kBook = false>
struct CodeReader {
  static constexpr int kWord = 32 / kBits, kHalf = kWord / 2, kAll = kVectors * kPanels;
  CodeVector zero[kHalf][kAll];
  CodeVector scale[kAll];
  std::conditional_t<kBook, Codebook, NoCodebook> book;
  int64_t panel_words, panel_scales;  ///< From one panel to the next.

  HWY_INLINE CodeReader(const CodePanel& p, int64_t k)
      : book(p.codebook),
        panel_words((k + kWord - 1) / kWord * p.columns),
        panel_scales((k + p.block - 1) / p.block * p.columns) {}

  static constexpr uint32_t power_bits(int place) { return static_cast<uint32_t>(150 - kBits * place) << 23; }

  /// The scales and zero points of a block.
  HWY_INLINE void begin(const CodePanel& p, int64_t block) {
    const TileTag d;
    const CodeBits bits;
    const hn::RebindToSigned<TileTag> whole;
    const hn::Rebind<uint8_t, TileTag> bytes;
    HWY_UNROLL(4)
    for (int j = 0; j < kAll; ++j) {
      const int64_t at = block * p.columns + j / kVectors * panel_scales + j % kVectors * kLanes;
      scale[j] = hn::LoadU(d, p.scale + at);
      if constexpr (!kBook) {
        const CodeVector own =
            hn::ConvertTo(d, p.zero ? hn::PromoteTo(whole, hn::LoadU(bytes, p.zero + at)) : hn::Set(whole, p.one_zero));
        HWY_UNROLL(4)
        for (int i = 0; i < kHalf; ++i) zero[i][j] = hn::Add(hn::BitCast(d, hn::Set(bits, power_bits(i))), own);
      }
    }
  }

  HWY_INLINE hn::Vec<CodeBits> load(const uint32_t* words, int j) const {
    return hn::LoadU(CodeBits(), words + j / kVectors * panel_words + j % kVectors * kLanes);
  }

  /// The weights of vector j whose codes stand at that place of their words.
  HWY_INLINE CodeVector weights_at(int place, int j, hn::Vec<CodeBits> words) const {
    const CodeBits bits;
    if constexpr (kBook) return hn::Mul(book.of(words), scale[j]);
    const auto mask = hn::Set(bits, ((1U << kBits) - 1) << (kBits * place));
    const auto code = hn::BitCast(TileTag(), hn::OrAnd(hn::Set(bits, power_bits(place)), words, mask));
    return hn::Mul(hn::Sub(code, zero[place][j]), scale[j]);
  }

  /// Calls row(k, weights) for rows [begin, end) in their order; begin starts a word.
  template <class F>
  HWY_INLINE void rows(const CodePanel& p, int64_t first, int64_t end, F row) {
    CodeVector weights[kAll];
    for (int64_t k = first; k < end;) {
      const int64_t block = k / p.block, next = (block + 1) * p.block, block_end = next < end ? next : end;
      begin(p, block);
      const uint32_t* words = p.words + k / kWord * p.columns;
      for (; k + kWord <= block_end; k += kWord, words += p.columns) {
        hn::Vec<CodeBits> held[kAll];
        HWY_UNROLL(8)
        for (int j = 0; j < kAll; ++j) held[j] = load(words, j);
        HWY_UNROLL(8)
        for (int i = 0; i < kWord; ++i) {
          HWY_UNROLL(8)
          for (int j = 0; j < kAll; ++j) {
            if constexpr (kBook) {
              if (i > 0) held[j] = hn::ShiftRight<kBits>(held[j]);
            } else {
              if (i == kHalf) held[j] = hn::ShiftRight<16>(held[j]);
            }
            weights[j] = weights_at(i % kHalf, j, held[j]);
          }
          row(k + i, weights);
        }
      }
      for (int shift = 0; k < block_end; ++k, shift += kBits) {  // the last rows, which are no whole word
        HWY_UNROLL(8)
        for (int j = 0; j < kAll; ++j) weights[j] = weights_at(0, j, hn::ShiftRightSame(load(words, j), shift));
        row(k, weights);
      }
    }
  }
};

// ---- Halves and codebooks: as codes of these many "bits"
constexpr int kFloat16 = 16, kBrainFloat = 17, kOfCodebook = 18;

template <bool kBrain, int kVectors, int kPanels>
struct HalfReader {
  static constexpr int kAll = kVectors * kPanels;
  int64_t panel_halves;  ///< From one panel to the next.

  HWY_INLINE HalfReader(const CodePanel& p, int64_t k) : panel_halves(k * p.columns) {}

  template <class F>
  HWY_INLINE void rows(const CodePanel& p, int64_t first, int64_t end, F row) {
    const TileTag d;
    const hn::Rebind<uint16_t, TileTag> halves;
    const uint16_t* from = p.halves + first * p.columns;
    for (int64_t k = first; k < end; ++k, from += p.columns) {
      CodeVector weights[kAll];
      HWY_UNROLL(8)
      for (int j = 0; j < kAll; ++j) {
        const auto bits = hn::LoadU(halves, from + j / kVectors * panel_halves + j % kVectors * kLanes);
        if constexpr (kBrain)
          weights[j] = from_bf16(d, bits);
        else
          weights[j] = from_f16(d, bits);
      }
      row(k, weights);
    }
  }
};
template <int kBits, int kVectors, int kPanels>
using Reader =
    std::conditional_t<(kBits == kFloat16 || kBits == kBrainFloat), HalfReader<kBits == kBrainFloat, kVectors, kPanels>,
                       CodeReader<kBits == kOfCodebook ? 4 : kBits, kVectors, kPanels, kBits == kOfCodebook>>;

/// Calls f(std::integral_constant) of what a panel's codes are.
template <class F>
HWY_INLINE void with_bits(const CodePanel& p, F f) {
  if (p.codebook) return f(std::integral_constant<int, kOfCodebook>());
  if (p.bits == 4) return f(std::integral_constant<int, 4>());
  if (p.bits == 8) return f(std::integral_constant<int, 8>());
  p.brain ? f(std::integral_constant<int, kBrainFloat>()) : f(std::integral_constant<int, kFloat16>());
}

/// With rows `first` and up of the run.
template <class M, int kBits, int kRows, int kVectors, int kPanels>
HWY_NOINLINE void code_tile_of(const Tile& t, const CodePanel& p, int first = 0) {
  const TileTag d;
  constexpr int kAll = kVectors * kPanels;
  const int last = t.columns - (kAll - 1) * kLanes;
  const int64_t stride = t.runs->row_stride;
  const float* const a = t.runs->a + first * stride;
  Sums<M, kRows, kVectors, kPanels> sums;
  sums.start(t, first, last);
  Reader<kBits, kVectors, kPanels> reader(p, t.runs->k);
  reader.rows(p, 0, t.runs->k, [&](int64_t k, const CodeVector(&weights)[kAll]) HWY_ATTR {
    HWY_UNROLL(4)
    for (int i = 0; i < kRows; ++i) {
      const CodeVector value = hn::Set(d, a[i * stride + k]);
      HWY_UNROLL(8)
      for (int j = 0; j < kAll; ++j) sums.c[i][j] = M::madd(value, weights[j], sums.c[i][j]);
    }
  });
  if (t.end) sums.finish(*t.end, first, last);
  sums.store(t, first, last);
}

/// Calls f(std::integral_constant) of how many vectors the columns are.
template <class F, int... kVector>
HWY_INLINE void with_vectors(int columns, std::integer_sequence<int, kVector...>, F f) {
  const int vectors = (columns + kLanes - 1) / kLanes;
  (void)((vectors == kVector + 1 ? (f(std::integral_constant<int, kVector + 1>()), true) : false) || ...);
}
using CodeVectors = std::make_integer_sequence<int, kTileVectors>;

/// Whether rows are multiplied one by one, each of which unpacks the codes again: where nobody is in a hurry the
/// program is smaller for it.
template <class M>
constexpr bool kOneRow = std::is_same_v<M, Exact> || HWY_TARGET == HWY_SCALAR;

template <class M, int kBits>
HWY_INLINE void run_code_tile(const CodeTile& c) {
  if (c.tile.columns > kTileVectors * kLanes) return code_tile_of<M, kBits, 1, kTileVectors, 2>(c.tile, c.codes);
  with_vectors(c.tile.columns, CodeVectors(), [&](auto vectors) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    if constexpr (kOneRow<M>) {
      for (int i = 0; i < c.tile.rows; ++i) code_tile_of<M, kBits, 1, kVectors, 1>(c.tile, c.codes, i);
    } else {
      if (c.tile.rows == 1) return code_tile_of<M, kBits, 1, kVectors, 1>(c.tile, c.codes);
      if (c.tile.rows == 2) return code_tile_of<M, kBits, 2, kVectors, 1>(c.tile, c.codes);
      if (c.tile.rows == 3) return code_tile_of<M, kBits, 3, kVectors, 1>(c.tile, c.codes);
      code_tile_of<M, kBits, kCodeTileRows, kVectors, 1>(c.tile, c.codes);
    }
  });
}

void tile_codes_f32(const CodeTile& c) {
  with_bits(c.codes, [&](auto bits) HWY_ATTR { run_code_tile<Fused, decltype(bits)::value>(c); });
}
void tile_codes_f32_exact(const CodeTile& c) {
  with_bits(c.codes, [&](auto bits) HWY_ATTR { run_code_tile<Portable, decltype(bits)::value>(c); });
}

template <int kBits>
HWY_INLINE void unpack(const CodePanel& p, int64_t begin, int64_t end, float* to) {
  const TileTag d;
  with_vectors(p.columns, CodeVectors(), [&](auto vectors) HWY_ATTR {
    constexpr int kVectors = decltype(vectors)::value;
    Reader<kBits, kVectors, 1> reader(p, end);
    reader.rows(p, begin, end, [&](int64_t k, const CodeVector(&weights)[kVectors]) HWY_ATTR {
      HWY_UNROLL(4)
      for (int j = 0; j < kVectors; ++j) hn::StoreU(weights[j], d, to + (k - begin) * p.columns + j * kLanes);
    });
  });
}

void unpack_codes_f32(const CodePanel& p, int64_t begin, int64_t end, float* to) {
  with_bits(p, [&](auto bits) HWY_ATTR { unpack<decltype(bits)::value>(p, begin, end, to); });
}

}  // namespace nnex::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nnex::kernels::simd {
NNEX_SIMD_BUILDS(tile_codes_f32);
NNEX_SIMD_BUILDS(tile_codes_f32_exact);
NNEX_SIMD_BUILDS(unpack_codes_f32);
}  // namespace nnex::kernels::simd
#endif
