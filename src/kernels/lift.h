#pragma once
// How a left-hand side's elements become what tiles multiply.

#include <cstdint>
#include <cstring>

namespace nnex::kernels {

/// n elements, most often few: up to 128 bytes go as moves of which the last two may overlap. The ranges do not
/// overlap.
template <class T>
void copy_run(const T* a, int64_t n, T* to) {
  const auto bytes = static_cast<size_t>(n) * sizeof(T);
  const auto ends = [&](auto width) {
    decltype(width) head, tail;
    std::memcpy(&head, a, sizeof head);
    std::memcpy(&tail, reinterpret_cast<const char*>(a) + bytes - sizeof tail, sizeof tail);
    std::memcpy(to, &head, sizeof head);
    std::memcpy(reinterpret_cast<char*>(to) + bytes - sizeof tail, &tail, sizeof tail);
  };
  struct Sixteen {
    uint64_t words[2];
  };
  if (bytes > 128) {
    std::memcpy(to, a, bytes);
  } else if (bytes > 32) {
    const auto* const from = reinterpret_cast<const char*>(a);
    auto* const put = reinterpret_cast<char*>(to);
    for (size_t i = 0; i + 32 < bytes; i += 32) std::memcpy(put + i, from + i, 32);
    std::memcpy(put + bytes - 32, from + bytes - 32, 32);
  } else if (bytes >= 16) {
    ends(Sixteen{});
  } else if (bytes >= 8) {
    ends(uint64_t{});
  } else if (bytes >= 4) {
    ends(uint32_t{});
  } else if (bytes >= 2) {
    ends(uint16_t{});
  } else if (bytes == 1) {
    std::memcpy(to, a, 1);
  }
}

/// n bytes with their upper bit transposed. The ranges do not overlap.
inline void flip_run(const uint8_t* a, int64_t n, uint8_t* to) {
  struct Sixteen {
    uint64_t words[2];
  };
  const auto flipped = [&](auto width, int64_t i) {
    decltype(width) v;
    std::memcpy(&v, a + i, sizeof v);
    if constexpr (sizeof v == 16) {
      v.words[0] ^= 0x8080808080808080U, v.words[1] ^= 0x8080808080808080U;
    } else {
      v = static_cast<decltype(v)>(v ^ 0x8080808080808080U);
    }
    std::memcpy(to + i, &v, sizeof v);
  };
  // Whole pieces, the last of which may overlap the one before it.
  if (n >= 16) {
    for (int64_t i = 0; i + 16 < n; i += 16) flipped(Sixteen{}, i);
    flipped(Sixteen{}, n - 16);
  } else if (n >= 8) {
    flipped(uint64_t{}, 0), flipped(uint64_t{}, n - 8);
  } else if (n >= 4) {
    flipped(uint32_t{}, 0), flipped(uint32_t{}, n - 4);
  } else {
    for (int64_t i = 0; i < n; ++i) flipped(uint8_t{}, i);
  }
}

/// float32 as it is.
struct LiftFloat {
  using From = float;
  using To = float;
  static constexpr int64_t kGroup = 1;  ///< Values of k that tiles take at once.
  bool as_it_is() const { return true; }
  To outside() const { return 0; }  ///< The value of elements outside a tensor.
  void copy(const From* a, int64_t n, To* to) const { copy_run(a, n, to); }
};

/// uint8 as it is, or int8 moved up by 128: flip is 0 or 0x80.
struct LiftBytes {
  using From = uint8_t;
  using To = uint8_t;
  static constexpr int64_t kGroup = 4;
  uint8_t flip = 0;
  uint8_t zero = 0;  ///< The zero point, moved too.
  bool as_it_is() const { return flip == 0; }
  To outside() const { return zero; }
  void copy(const From* a, int64_t n, To* to) const {
    if (flip == 0) {
      copy_run(a, n, to);
    } else {
      flip_run(a, n, to);
    }
  }
};

/// uint8 or int8 less the zero point.
struct LiftWide {
  using From = uint8_t;
  using To = int16_t;
  static constexpr int64_t kGroup = 2;
  uint8_t flip = 0;  ///< 0x80: int8, read as uint8 moved up by 128.
  uint8_t zero = 0;  ///< Moved too.
  bool as_it_is() const { return false; }
  To outside() const { return 0; }
  void copy(const From* a, int64_t n, To* to) const {
    // Eight at a time: the two arrays might overlap for all a compiler knows, and it makes no vectors of a plain loop.
    constexpr int64_t kPiece = 8;
    using Bytes [[gnu::vector_size(kPiece)]] = uint8_t;
    using Wide [[gnu::vector_size(2 * kPiece)]] = int16_t;
    if (n < kPiece) {
      for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int16_t>((a[i] ^ flip) - zero);
      return;
    }
    const auto piece = [&](int64_t from) {
      Bytes bytes;
      std::memcpy(&bytes, a + from, sizeof bytes);
      const Wide wide = __builtin_convertvector(bytes ^ flip, Wide) - static_cast<int16_t>(zero);
      std::memcpy(to + from, &wide, sizeof wide);
    };
    for (int64_t i = 0; i + kPiece < n; i += kPiece) piece(i);
    piece(n - kPiece);  // may overlap the one before it
  }
};

}  // namespace nnex::kernels
