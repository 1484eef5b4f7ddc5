#include "ops/reduction.h"

#include <algorithm>

#include "base/failure.h"

namespace nnex {

Result<std::vector<bool>> reduced_axes(std::string_view op, const Ints& axes, int64_t rank, const ReduceRule& rule) {
  std::vector<bool> gone(static_cast<size_t>(rank), axes.empty() && rule.empty_is_all);
  if (rule.to_end && axes.size() > 1)
    return failure(Code::invalid_model, "{}: to_end takes one axis; found {}", op, axes.size());
  for (int64_t axis : axes) {
    // A scalar may be reduced over its axis 0 or -1, which it has not: as the frameworks that write such models mean.
    if (rank == 0 && (axis == 0 || axis == -1)) continue;
    if (axis < -rank || axis >= rank)
      return failure(Code::invalid_model, "{}: axes names axis {}; x has {} {}", op, axis, rank,
                     rank == 1 ? "axis" : "axes");
    const size_t a = static_cast<size_t>(axis < 0 ? axis + rank : axis);
    if (gone[a]) return failure(Code::invalid_model, "{}: axes names axis {} twice", op, a);
    gone[a] = true;
    if (rule.to_end) std::fill(gone.begin() + static_cast<std::ptrdiff_t>(a), gone.end(), true);
  }
  return gone;
}

Result<MaybeDims> reduced_dims(InferCall& c, size_t x, const Ints& axes, const ReduceRule& rule) {
  if (!c.dims(x)) return MaybeDims{};
  const Dims& in = *c.dims(x);
  NNEX_ASSIGN(auto gone, reduced_axes(c.op().name, axes, static_cast<int64_t>(in.size()), rule));
  Dims out;
  for (size_t a = 0; a < in.size(); ++a) {
    if (!gone[a])
      out.push_back(in[a]);
    else if (rule.keepdims)
      out.emplace_back(1);
  }
  return MaybeDims(std::move(out));
}

Result<MaybeDims> reduced_dims(InferCall& c, size_t x, size_t axes_port, const ReduceRule& rule) {
  if (!c.has(axes_port)) {
    if (!rule.keepdims) return MaybeDims(Dims{});
    return c.dims(x) ? MaybeDims(Dims(c.dims(x)->size(), Dim(1))) : MaybeDims{};
  }
  auto values = c.values(axes_port);
  const bool known = values && std::all_of(values->begin(), values->end(), [](const Dim& d) { return d.is_number(); });
  if (known) {
    Ints axes;
    for (const Dim& d : *values) axes.push_back(d.value());
    return reduced_dims(c, x, axes, rule);
  }
  if (!rule.keepdims || !c.rank(x)) return MaybeDims{};
  return MaybeDims(c.unknowns(*c.rank(x)));
}

void Reduction::join(std::vector<Axis>& axes, Axis axis) {
  if (!axes.empty() && axis.step == axes.back().step * axes.back().extent)
    axes.back().extent *= axis.extent;
  else
    axes.push_back(axis);
}

Reduction::Reduction(const Shape& x, const std::vector<bool>& gone, bool keepdims) {
  std::vector<Axis> sets;  // innermost first
  std::vector<int64_t> extents;
  int64_t pace = 1;
  for (int64_t a = x.rank() - 1; a >= 0; --a) {
    const bool goes = gone[static_cast<size_t>(a)];
    if (x[a] != 1) join(goes ? sets : kept_, {x[a], pace});
    if (goes) set_size_ *= x[a];
    if (!goes || keepdims) extents.push_back(goes ? 1 : x[a]);
    pace *= x[a];
  }
  std::reverse(extents.begin(), extents.end());
  result_ = Shape(extents);
  if (sets.size() == 1) step_ = sets[0].step;
  if (sets.size() <= 1 || set_size_ == 0 || result_.count() == 0) return;
  offsets_.reserve(static_cast<size_t>(set_size_));
  std::vector<int64_t> index(sets.size());
  for (int64_t i = 0, at = 0; i < set_size_; ++i) {
    offsets_.push_back(at);
    for (size_t a = 0; a < sets.size(); ++a) {
      at += sets[a].step;
      if (++index[a] < sets[a].extent) break;
      index[a] = 0;
      at -= sets[a].step * sets[a].extent;
    }
  }
}

Result<Reduction> reduction(const Call& c, size_t x, const Ints& axes, const ReduceRule& rule) {
  auto gone = reduced_axes(c.op().name, axes, c.shape(x).rank(), rule);
  if (!gone.ok()) return Error(Code::fault, gone.error().message());
  return Reduction(c.shape(x), *gone, rule.keepdims);
}

Result<Reduction> reduction(const Call& c, size_t x, size_t axes_port, const ReduceRule& rule) {
  if (c.has(axes_port)) return reduction(c, x, ints_of(c.in(axes_port)), rule);
  return Reduction(c.shape(x), std::vector<bool>(static_cast<size_t>(c.shape(x).rank()), true), rule.keepdims);
}

}  // namespace nnex
