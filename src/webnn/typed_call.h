#pragma once
// What the typed operations share: C++ values as arguments of a call.

#include <optional>
#include <variant>
#include <vector>

#include "webnn/call.h"

namespace nnex::ml {

inline Arg arg(const Operand& v) { return v; }
inline Arg arg(const std::vector<Operand>& v) { return v; }
inline Arg arg(uint32_t v) { return static_cast<int64_t>(v); }
inline Arg arg(int32_t v) { return static_cast<int64_t>(v); }
inline Arg arg(const std::vector<uint32_t>& v) { return Ints(v.begin(), v.end()); }
inline Arg arg(const std::vector<float>& v) { return Reals(v.begin(), v.end()); }
inline Arg arg(double v) { return v; }
inline Arg arg(bool v) { return v; }
inline Arg arg(const Number& v) { return v; }
inline Arg arg(DataType v) { return v; }
inline Arg arg(const std::variant<uint32_t, std::vector<uint32_t>>& v) {
  return std::visit([](const auto& x) { return arg(x); }, v);
}
/// Enumerators go by number until the call knows their words.
template <class E>
requires std::is_enum_v<E> Arg arg(E v) { return static_cast<int64_t>(v); }
template <class E>
requires std::is_enum_v<E> Arg arg(const std::vector<E>& v) {
  Ints numbers;
  for (E e : v) numbers.push_back(static_cast<int64_t>(e));
  return numbers;
}
template <class T>
Arg arg(const std::optional<T>& v) {
  return v ? arg(*v) : Arg();
}

/// The call with its arguments in order, options after them. Errors: as call(), and TypeError for numbers that must be
/// finite and enumerators that do not exist.
Result<std::vector<Operand>> typed_call(const std::shared_ptr<BuilderState>& builder, std::string_view operation,
                                        const std::string& label, std::vector<Arg> values);

inline Result<Operand> only_one(Result<std::vector<Operand>> operands) {
  if (!operands.ok()) return std::move(operands).error();
  return operands->front();
}

}  // namespace nnex::ml
