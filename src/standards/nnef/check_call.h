#pragma once
// One call as NNEF's own rules see it. For check_operations*.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/joined.h"
#include "standards/nnef/check_operations.h"

namespace nnex::nnef_format {

/// "[1,3,224,224]"
inline std::string text(const Ints& extents) { return fmt::format("[{}]", joined(extents, ",")); }

/// An argument that is an array of integers, read in place.
class IntList {
 public:
  IntList() = default;
  explicit IntList(const Arg& arg) {
    if (arg.is_list()) items_ = arg.items();
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  int64_t operator[](size_t i) const {
    const int64_t* n = items_[i].get<int64_t>();
    return n ? *n : 0;
  }
  /// Item i; `otherwise` where the list is empty.
  int64_t at(size_t i, int64_t otherwise) const { return i < size() ? (*this)[i] : otherwise; }
  Ints ints() const {
    Ints out(size());
    for (size_t i = 0; i < size(); ++i) out[i] = (*this)[i];
    return out;
  }

 private:
  std::span<const Arg> items_;
};

/// An argument of type (integer,integer)[], read in place.
class PairList {
 public:
  explicit PairList(const Arg& arg) {
    if (arg.is_list()) items_ = arg.items();
  }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  std::pair<int64_t, int64_t> operator[](size_t i) const {
    const IntList pair(items_[i]);
    return {pair.at(0, 0), pair.at(1, 0)};
  }

 private:
  std::span<const Arg> items_;
};

class CheckCall {
 public:
  CheckCall(const Operation& op, Tensors& tensors, VariableTable& variables, std::string_view rule)
      : variables(variables), rule(rule), op_(op), tensors_(tensors) {}

  std::string_view name() const { return op_.declaration->name; }
  const Operation& op() const { return op_; }
  const Tensors& tensors() const { return tensors_; }

  const Arg& arg(std::string_view parameter) const { return op_.arg(parameter); }
  bool has(std::string_view parameter) const { return op_.declaration->find(parameter) >= 0; }
  const Ints& extents(const Arg& a) const { return extents_of(a, tensors_); }
  const Ints& extents(std::string_view parameter) const { return extents(arg(parameter)); }
  IntList ints(std::string_view parameter) const { return IntList(arg(parameter)); }
  PairList pairs(std::string_view parameter) const { return PairList(arg(parameter)); }
  int64_t integer(std::string_view parameter) const {
    const int64_t* n = arg(parameter).get<int64_t>();
    return n ? *n : 0;
  }
  std::string_view word(std::string_view parameter) const {
    const Arg& a = arg(parameter);
    return a.is(Arg::Kind::string) ? a.text() : std::string_view();
  }

  template <class... Args>
  Error fault(std::string_view rule, fmt::format_string<Args...> format, Args&&... args) const {
    return op_.fault(rule, fmt::format("{}: {}", name(), fmt::format(format, std::forward<Args>(args)...)));
  }

  /// The result has these extents: of operations that are no rows of the table. Errors: more elements than can be
  /// counted, under the operation's rule.
  Status give(Ints extents) {
    if (!countable(extents)) return fault(rule, "the result {} has more elements than can be counted", text(extents));
    TensorInfo& t = tensors_[op_.results[0].tensor()];
    t.extents = std::move(extents), t.shaped = true;
    return {};
  }
  /// The array that is the only result has as many items as the operation gives (A2).
  Status count_items(int64_t needed) const {
    const Arg& r = op_.results[0];
    const size_t found = r.is_list() ? r.items().size() : 1;
    if (r.is_list() && static_cast<int64_t>(found) == needed) return {};
    return fault("A2", "the left side has {} items; the operation gives {}", found, needed);
  }

  VariableTable& variables;
  const std::string_view rule;  ///< The operation's own.

 private:
  const Operation& op_;
  Tensors& tensors_;
};

enum Borders : unsigned { kConstant = 1, kReplicate = 2, kReflect = 4, kReflectEven = 8, kIgnore = 16 };
inline constexpr unsigned kValueBorders = kConstant | kReplicate | kReflect | kReflectEven;
/// The border is one of `allowed`; a known one that is not breaks `rule`, an unknown one `unknown_rule`.
Status check_border(const CheckCall& c, unsigned allowed, std::string_view rule,
                    std::string_view unknown_rule = "O-SW-6");

// check_operations.cpp
Status check_external(CheckCall& c);
Status check_constant(CheckCall& c);
Status check_variable(CheckCall& c);
Status check_update(CheckCall& c);
Status check_copies(CheckCall& c);
Status check_axes(CheckCall& c);
Status check_new_axes(CheckCall& c);
Status check_stretch_to_first(CheckCall& c);
Status check_matrices(CheckCall& c);
Status check_reshape(CheckCall& c);
Status check_transpose(CheckCall& c);
Status check_split(CheckCall& c);
Status check_unstack(CheckCall& c);
Status check_slice(CheckCall& c);
Status check_pad(CheckCall& c);
Status check_tile(CheckCall& c);

// check_operations_window.cpp
Status check_conv(CheckCall& c);
Status check_deconv(CheckCall& c);
Status check_separable_conv(CheckCall& c);
Status check_separable_deconv(CheckCall& c);
Status check_pool(CheckCall& c);
Status check_reverse_pool(CheckCall& c);
Status check_sample(CheckCall& c);
Status check_desample(CheckCall& c);
Status check_upsample(CheckCall& c);
Status check_downsample(CheckCall& c);
Status check_local_norm(CheckCall& c);
Status check_roi(CheckCall& c);

}  // namespace nnex::nnef_format
