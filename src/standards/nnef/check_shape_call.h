#pragma once
// One call as the shape rules see it. For shapes*.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "standards/nnef/check_shapes.h"

namespace nnex::nnef_format {

/// "[1,3,224,224]"
inline std::string text(const Ints& extents) { return fmt::format("[{}]", fmt::join(extents, ",")); }

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

/// A number that is twice in the list; nothing: each is there once.
inline std::optional<int64_t> repeated(const IntList& list) {
  Ints sorted = list.ints();
  std::sort(sorted.begin(), sorted.end());
  const auto at = std::adjacent_find(sorted.begin(), sorted.end());
  return at == sorted.end() ? std::nullopt : std::optional(*at);
}

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

class ShapeCall {
 public:
  ShapeCall(const Operation& op, Tensors& tensors, VariableTable& variables)
      : variables(variables), op_(op), tensors_(tensors) {}

  std::string_view name() const { return op_.declaration->name; }
  const Operation& op() const { return op_; }
  const Tensors& tensors() const { return tensors_; }

  const Arg& arg(std::string_view parameter) const { return op_.arg(parameter); }
  /// Extents of a tensor; a literal in its place has none.
  const Ints& extents(const Arg& a) const {
    static const Ints kNone;
    return a.is_tensor() ? tensors_[a.tensor()].extents : kNone;
  }
  const Ints& extents(std::string_view parameter) const { return extents(arg(parameter)); }
  IntList ints(std::string_view parameter) const { return IntList(arg(parameter)); }
  PairList pairs(std::string_view parameter) const { return PairList(arg(parameter)); }
  int64_t integer(std::string_view parameter) const {
    const int64_t* n = arg(parameter).get<int64_t>();
    return n ? *n : 0;
  }
  bool logical(std::string_view parameter) const {
    const bool* b = arg(parameter).get<bool>();
    return b && *b;
  }
  std::string_view word(std::string_view parameter) const {
    const Arg& a = arg(parameter);
    return a.is(Arg::Kind::string) ? a.text() : std::string_view();
  }

  /// Whether every tensor among the arguments has a shape.
  bool shaped() const {
    for (const Arg& a : op_.args) {
      if (a.is_tensor() && !tensors_[a.tensor()].shaped) return false;
      if (!a.is_list()) continue;
      for (const Arg& item : a.items())
        if (item.is_tensor() && !tensors_[item.tensor()].shaped) return false;
    }
    return true;
  }

  template <class... Args>
  Error fault(std::string_view rule, fmt::format_string<Args...> format, Args&&... args) const {
    return op_.fault(rule, fmt::format("{}: {}", name(), fmt::format(format, std::forward<Args>(args)...)));
  }

  /// Result `i` has these extents. Errors: more elements than can be counted, under the operation's rule.
  Status give(Ints extents, size_t i = 0) {
    int64_t volume = 1;
    for (int64_t n : extents)
      if (__builtin_mul_overflow(volume, n, &volume) || volume > kMaxElements)
        return fault(rule, "the result {} has more elements than can be counted", text(extents));
    if (i < op_.results.size() && op_.results[i].is_tensor()) set(op_.results[i].tensor(), std::move(extents));
    return {};
  }
  /// Item `i` of the array that is the only result.
  void give_item(size_t i, Ints extents) { set(op_.results[0].items()[i].tensor(), std::move(extents)); }
  /// The array that is the only result has as many items as the operation gives (A2).
  Status count_items(size_t needed) const {
    const Arg& r = op_.results[0];
    const size_t found = r.is_list() ? r.items().size() : 1;
    if (r.is_list() && found == needed) return {};
    return fault("A2", "the left side has {} items; the operation gives {}", found, needed);
  }

  VariableTable& variables;
  std::string_view rule;  ///< The operation's own rule, for faults of its result.

 private:
  static constexpr int64_t kMaxElements = int64_t{1} << 58;

  void set(TensorId id, Ints extents) {
    TensorInfo& t = tensors_[id];
    t.extents = std::move(extents), t.shaped = true;
  }

  const Operation& op_;
  Tensors& tensors_;
};

using ShapeRule = Status (*)(ShapeCall&);

/// What an operation's name stands for in the table of shape rules.
struct ShapeRow {
  std::string_view name;
  ShapeRule infer = nullptr;
  std::string_view rule;
};

/// `to` becomes the extents that both meet in from dimension 0: equal, or one of them 1; missing ones are 1. False
/// where they do not fit; `to` stays then.
bool stretch(Ints& to, const Ints& by);
/// Whether `from` stretches to `to` and leaves `to` as it is.
bool broadcasts_to(const Ints& from, const Ints& to);

// shapes_window.cpp
Status conv_shape(ShapeCall& c);
Status deconv_shape(ShapeCall& c);
Status separable_conv_shape(ShapeCall& c);
Status separable_deconv_shape(ShapeCall& c);
Status pool_shape(ShapeCall& c);
Status reverse_pool_shape(ShapeCall& c);
Status sample_shape(ShapeCall& c);
Status desample_shape(ShapeCall& c);
Status upsample_shape(ShapeCall& c);
Status downsample_shape(ShapeCall& c);
Status local_norm_shape(ShapeCall& c);
Status roi_shape(ShapeCall& c);

// shapes_move.cpp
Status reshape_shape(ShapeCall& c);
Status squeeze_shape(ShapeCall& c);
Status unsqueeze_shape(ShapeCall& c);
Status transpose_shape(ShapeCall& c);
Status split_shape(ShapeCall& c);
Status concat_shape(ShapeCall& c);
Status stack_shape(ShapeCall& c);
Status unstack_shape(ShapeCall& c);
Status slice_shape(ShapeCall& c);
Status pad_shape(ShapeCall& c);
Status tile_shape(ShapeCall& c);
Status gather_shape(ShapeCall& c);
Status copies_shape(ShapeCall& c);

}  // namespace nnex::nnef_format
