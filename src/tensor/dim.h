#pragma once
// Dim: an extent during shape inference, a number or a formula of named symbols. Dims: a shape of them; unknown rank is
// no value.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "nnex/shape.h"
#include "nnex/tensor.h"
#include "tensor/dim_type.h"

namespace nnex {

/// A number, or a sum of products of symbols in canonical order ("2*H+1", "N*T"): equal formulas compare equal.
/// What passes 63 bits is neither: overflowed(), and so is all that is computed of it (but its product with 0).
/// Formulas past 16 terms or 16 factors, and divisions that do not come out, become an opaque symbol named by their
/// text (a hash of it, where it is long), so that the same computation made twice gives the same Dim.
class Dim {
 public:
  Dim(int64_t number = 0) : number_(number) {}  // NOLINT: implicit on purpose
  static Dim symbol(std::string_view name);
  /// A symbol that equals no other: "?reshape0". `why` names who did not know.
  static Dim unknown(std::string_view why);

  /// What no 64-bit number holds.
  static Dim overflow();

  bool is_number() const { return !formula_; }
  bool overflowed() const;
  std::optional<int64_t> number() const { return formula_ ? std::nullopt : std::optional(number_); }
  /// The number of a Dim that is known to be one.
  int64_t value() const { return number_; }
  /// Whether some symbol of it was made by unknown().
  bool has_unknown() const;
  std::string text() const;
  /// Names of the symbols in it, each once.
  std::vector<std::string> symbols() const;
  /// The Dim with symbols replaced by numbers; `value_of` gives nullopt for those that stay.
  Dim with(const std::vector<std::pair<std::string, int64_t>>& bound) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);

  struct Formula;
  friend struct DimParts;

 private:
  int64_t number_ = 0;
  std::shared_ptr<const Formula> formula_;
};

/// a / b rounded down, up, or toward zero; b is not the number 0.
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim trunc_div(const Dim& a, const Dim& b);
Dim floor_mod(const Dim& a, const Dim& b);
/// The smaller, the larger: decided for numbers and equal formulas, else an opaque symbol.
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
/// -1, 0, 1 as a < b, a == b, a > b; nullopt where it depends on symbols. Symbols are extents: at least 0.
std::optional<int> compare(const Dim& a, const Dim& b);

/// A Dim as bytes, and read from them again. Symbols that nobody knew come back as others that equal no other. Bytes
/// that are none leave the reader not ok().
void write_dim(const Dim& dim, ByteWriter& to);
Dim read_dim(ByteReader& from, int depth = 0);

/// Extents of a value during inference; nullopt: not even the rank is known.
using Dims = std::vector<Dim>;
using MaybeDims = std::optional<Dims>;

Dims dims_of(const Shape& shape);
/// The Shape when every extent is a number.
std::optional<Shape> shape_of(const Dims& dims);
Dim product(const Dims& dims);
/// "[N,3,2*H]"; "[?]" for an unknown rank.
std::string text(const MaybeDims& dims);

template <>
inline constexpr bool kIsElement<Dim> = true;

}  // namespace nnex

// Lists that every shape rule makes: compiled once, in dim.cpp.
extern template class std::vector<nnex::Dim>;
