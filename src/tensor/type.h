#pragma once
// Type: what is known of a value before a run: its kind, element type and extents.

#include <memory>
#include <string>
#include <vector>

#include "nnex/dtype.h"
#include "nnex/tensor.h"
#include "tensor/dim.h"

namespace nnex {

enum class Kind : uint8_t { unknown, tensor, sparse, sequence, map, optional };

struct Type {
  Kind kind = Kind::unknown;
  DType dtype = DType::none;            ///< Element type (tensor, sparse); key type (map).
  MaybeDims dims;                       ///< Extents (tensor, sparse).
  std::shared_ptr<const Type> element;  ///< Of a sequence, optional, or a map's values.

  Type() = default;
  Type(Kind kind, DType dtype, MaybeDims dims, std::shared_ptr<const Type> element);
  Type(const Type& other);
  Type(Type&& other) noexcept;
  Type& operator=(const Type& other);
  Type& operator=(Type&& other) noexcept;
  ~Type();

  static Type tensor(DType dtype, MaybeDims dims = {});
  static Type sequence(Type of);
  static Type optional(Type of);
  static Type map(DType key, Type of);

  bool is_tensor() const { return kind == Kind::tensor; }
  /// "f32[N,3]", "sequence(f32[?])", "optional(...)", "map(i64, f32[?])".
  std::string text() const;
};

/// Extents are compared as formulas.
bool operator==(const Type& a, const Type& b);

/// The type of a value that exists.
Type type_of(const Value& value);

/// What both are: equal parts stay, extents that differ become unknown, ranks that differ become unknown.
/// Nothing when kinds or element types differ.
std::optional<Type> join(const Type& a, const Type& b, std::string_view why);

/// A type as bytes, and read from them again, as write_dim().
void write_type(const Type& type, ByteWriter& to);
Type read_type(ByteReader& from, int depth = 0);

}  // namespace nnex

// Lists that every shape rule makes: compiled once, in type.cpp.
extern template class std::vector<nnex::Type>;
