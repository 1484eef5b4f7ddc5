// Shapes of the operations that move elements (reference 8.7).

#include <algorithm>

#include "standards/nnef/check_shape_call.h"

namespace nnex::nnef_format {
namespace {

/// `axis` in [0, count).
Status check_axis(ShapeCall& c, int64_t axis, size_t count, std::string_view rule) {
  if (axis >= 0 && axis < static_cast<int64_t>(count)) return {};
  return c.fault(rule, "axis is {}; needed 0 to {}", axis, static_cast<int64_t>(count) - 1);
}

Status distinct(ShapeCall& c, const IntList& axes) {
  if (const auto twice = repeated(axes)) return c.fault(c.rule, "axes names axis {} twice", *twice);
  return {};
}

/// The product of extents, at most 2^58 since every tensor was counted; of a list from the text: nothing when larger.
std::optional<int64_t> product(const Ints& extents) {
  int64_t n = 1;
  for (int64_t e : extents)
    if (__builtin_mul_overflow(n, e, &n)) return std::nullopt;
  return n;
}

/// Extents of the reshaped range: zeros copied, -1 found.
Result<Ints> resolved(ShapeCall& c, const IntList& shape, const Ints& range) {
  Ints out;
  std::optional<size_t> open;
  int64_t known = 1;
  bool fits = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t n = shape[i];
    if (n < -1) return c.fault("O-RESH-3", "shape has {} at item {}; needed an extent, 0 or -1", n, i);
    if (n == 0) {
      if (i >= range.size())
        return c.fault("O-RESH-3", "shape has 0 at item {}, which copies an extent; the reshaped dimensions are {}", i,
                       text(range));
      n = range[i];
    }
    if (n == -1) {
      if (open)
        return c.fault("O-RESH-3", "shape {} has -1 at items {} and {}; needed one at most", text(shape.ints()), *open,
                       i);
      open = i;
    } else {
      fits &= !__builtin_mul_overflow(known, n, &known);
    }
    out.push_back(n);
  }
  const int64_t volume = product(range).value_or(0);
  if (open && fits && known > 0 && volume % known == 0) {
    out[*open] = volume / known;
    return out;
  }
  if (open)
    return c.fault("O-RESH-3", "{} elements of {} do not divide by the other items of {}", volume, text(range),
                   text(shape.ints()));
  if (!fits || known != volume)
    return c.fault("O-RESH-3", "shape {} holds {} elements; the input has {} in {}", text(shape.ints()),
                   fits ? std::to_string(known) : "too many", volume, text(range));
  return out;
}

}  // namespace

Status reshape_shape(ShapeCall& c) {
  const Ints& x = c.extents("input");
  const auto rank = static_cast<int64_t>(x.size());
  const int64_t start = c.integer("axis_start"), given = c.integer("axis_count");
  if (start < 0 || start > rank)
    return c.fault("O-RESH-1", "axis_start is {}; the input has rank {}, needed 0 to {}", start, rank, rank);
  if (given < -1) return c.fault("O-RESH-2", "axis_count is {}; needed -1 (all that follow) or 0 or more", given);
  const int64_t count = given == -1 ? rank - start : given;
  if (count > rank - start)
    return c.fault("O-RESH-2", "axis_start {} and axis_count {} end beyond rank {}", start, given, rank);
  const Ints range(x.begin() + start, x.begin() + start + count);
  NNEX_ASSIGN(const Ints made, resolved(c, c.ints("shape"), range));
  Ints out(x.begin(), x.begin() + start);
  out.insert(out.end(), made.begin(), made.end());
  out.insert(out.end(), x.begin() + start + count, x.end());
  return c.give(std::move(out));
}

Status squeeze_shape(ShapeCall& c) {
  const Ints& x = c.extents("input");
  const IntList axes = c.ints("axes");
  std::vector<bool> gone(x.size());
  NNEX_TRY(distinct(c, axes));
  for (size_t i = 0; i < axes.size(); ++i) {
    NNEX_TRY(check_axis(c, axes[i], x.size(), c.rule));
    const auto axis = static_cast<size_t>(axes[i]);
    if (x[axis] != 1) return c.fault(c.rule, "axis {} of {} has extent {}; needed 1", axis, text(x), x[axis]);
    gone[axis] = true;
  }
  Ints out;
  for (size_t i = 0; i < x.size(); ++i)
    if (!gone[i]) out.push_back(x[i]);
  return c.give(std::move(out));
}

Status unsqueeze_shape(ShapeCall& c) {
  const Ints& x = c.extents("input");
  const IntList axes = c.ints("axes");
  const size_t rank = x.size() + axes.size();
  std::vector<bool> added(rank);
  NNEX_TRY(distinct(c, axes));
  for (size_t i = 0; i < axes.size(); ++i) {
    NNEX_TRY(check_axis(c, axes[i], rank, c.rule));
    added[static_cast<size_t>(axes[i])] = true;
  }
  Ints out;
  for (size_t i = 0, from = 0; i < rank; ++i) out.push_back(added[i] ? 1 : x[from++]);
  return c.give(std::move(out));
}

Status transpose_shape(ShapeCall& c) {
  const Ints& x = c.extents("input");
  const IntList axes = c.ints("axes");
  if (axes.size() > x.size())
    return c.fault(c.rule, "axes has {} items; the input {} has rank {}", axes.size(), text(x), x.size());
  Ints out = x;
  std::vector<bool> seen(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool fits = axes[i] >= 0 && axes[i] < static_cast<int64_t>(axes.size());
    if (!fits || seen[static_cast<size_t>(axes[i])])
      return c.fault(c.rule, "axes {} is no order of the numbers 0 to {}", text(axes.ints()), axes.size() - 1);
    seen[static_cast<size_t>(axes[i])] = true;
    out[i] = x[static_cast<size_t>(axes[i])];
  }
  return c.give(std::move(out));
}

Status split_shape(ShapeCall& c) {
  const Ints& x = c.extents("value");
  const int64_t axis = c.integer("axis");
  NNEX_TRY(check_axis(c, axis, x.size(), c.rule));
  const IntList ratios = c.ints("ratios");
  const int64_t extent = x[static_cast<size_t>(axis)];
  int64_t sum = 0;
  for (size_t i = 0; i < ratios.size(); ++i) {
    if (ratios[i] <= 0) return c.fault(c.rule, "ratios has {} at item {}; needed 1 or more", ratios[i], i);
    if (__builtin_add_overflow(sum, ratios[i], &sum)) return c.fault(c.rule, "the sum of ratios is too large");
  }
  if (sum == 0) return c.fault(c.rule, "ratios is empty; needed one item or more");
  if (extent % sum != 0)
    return c.fault(c.rule, "the ratios {} add up to {}, which does not divide extent {} of axis {}",
                   text(ratios.ints()), sum, extent, axis);
  NNEX_TRY(c.count_items(ratios.size()));
  for (size_t i = 0; i < ratios.size(); ++i) {
    Ints part = x;
    part[static_cast<size_t>(axis)] = extent / sum * ratios[i];
    c.give_item(i, std::move(part));
  }
  return {};
}

Status concat_shape(ShapeCall& c) {
  const auto values = c.arg("values").items();
  if (values.empty()) return c.fault(c.rule, "values is empty; needed one tensor or more");
  Ints out = c.extents(values[0]);
  const int64_t axis = c.integer("axis");
  NNEX_TRY(check_axis(c, axis, out.size(), c.rule));
  const auto at = static_cast<size_t>(axis);
  for (size_t k = 1; k < values.size(); ++k) {
    const Ints& x = c.extents(values[k]);
    bool fits = x.size() == out.size();
    for (size_t i = 0; fits && i < x.size(); ++i) fits = i == at || x[i] == out[i];
    if (!fits)
      return c.fault(c.rule, "item {} has shape {}, item 0 has {}; needed equal ranks and extents beside axis {}", k,
                     text(x), text(c.extents(values[0])), axis);
    if (__builtin_add_overflow(out[at], x[at], &out[at])) return c.fault(c.rule, "the result is too large");
  }
  return c.give(std::move(out));
}

Status stack_shape(ShapeCall& c) {
  const auto values = c.arg("values").items();
  if (values.empty()) return c.fault(c.rule, "values is empty; needed one tensor or more");
  Ints out = c.extents(values[0]);
  const int64_t axis = c.integer("axis");
  NNEX_TRY(check_axis(c, axis, out.size() + 1, c.rule));
  for (size_t k = 1; k < values.size(); ++k)
    if (c.extents(values[k]) != out)
      return c.fault(c.rule, "item {} has shape {}, item 0 has {}; needed equal shapes", k, text(c.extents(values[k])),
                     text(out));
  out.insert(out.begin() + axis, static_cast<int64_t>(values.size()));
  return c.give(std::move(out));
}

Status unstack_shape(ShapeCall& c) {
  Ints out = c.extents("value");
  const int64_t axis = c.integer("axis");
  NNEX_TRY(check_axis(c, axis, out.size(), c.rule));
  const auto parts = static_cast<size_t>(out[static_cast<size_t>(axis)]);
  NNEX_TRY(c.count_items(parts));
  out.erase(out.begin() + axis);
  for (size_t i = 0; i < parts; ++i) c.give_item(i, out);
  return {};
}

namespace {

struct Range {
  int64_t begin = 0, end = 0, stride = 1;
};

/// The extent that one axis of n elements keeps.
Result<int64_t> sliced(ShapeCall& c, const Range& given, int64_t axis, int64_t n, bool to_the_end) {
  const auto [begin, end, stride] = given;
  if (stride == 0) return c.fault("O-SLICE-2", "stride is 0 at axis {}; needed another number", axis);
  const bool up = stride > 0;
  const auto counted = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, -1, n); };
  int64_t first = counted(begin), last = to_the_end && end == 0 ? n : counted(end);
  if (up ? last < first : first < last) {
    if (end == 0 && up)
      return c.fault("O-SLICE-5",
                     "end is 0 at axis {}, which means the end only where all strides are 1; found stride {} (write "
                     "end = {})",
                     axis, stride, n);
    return c.fault("O-SLICE-4", "axis {} of extent {}: from {} to {} by stride {} goes the wrong way", axis, n, begin,
                   end, stride);
  }
  if (!up && first >= n && first != last)
    return c.fault("O-SLICE-3", "axis {} of extent {}: begin is {}; backwards it starts at {} at most", axis, n, begin,
                   n - 1);
  if (up) first = std::max<int64_t>(first, 0), last = std::max<int64_t>(last, 0);  // forwards, the axis begins at 0
  // Counted from the sizes of both: a stride may be the most negative number.
  const uint64_t span = static_cast<uint64_t>(up ? last - first : first - last);
  const uint64_t step = up ? static_cast<uint64_t>(stride) : uint64_t{0} - static_cast<uint64_t>(stride);
  return static_cast<int64_t>(span / step + (span % step != 0));
}

}  // namespace

Status slice_shape(ShapeCall& c) {
  Ints out = c.extents("input");
  const IntList axes = c.ints("axes"), begin = c.ints("begin"), end = c.ints("end"), stride = c.ints("stride");
  if (begin.size() != axes.size() || end.size() != axes.size() || (!stride.empty() && stride.size() != axes.size()))
    return c.fault("O-SLICE-1", "axes has {} items, begin {}, end {}, stride {}; needed equal numbers (no stride: 1)",
                   axes.size(), begin.size(), end.size(), stride.size());
  bool unit = true;
  for (size_t i = 0; i < stride.size(); ++i) unit &= stride[i] == 1;
  NNEX_TRY(distinct(c, axes));
  for (size_t i = 0; i < axes.size(); ++i) {
    NNEX_TRY(check_axis(c, axes[i], out.size(), "O-SLICE-1"));
    int64_t& extent = out[static_cast<size_t>(axes[i])];
    NNEX_ASSIGN(extent, sliced(c, {begin[i], end[i], stride.at(i, 1)}, axes[i], extent, unit));
  }
  return c.give(std::move(out));
}

Status pad_shape(ShapeCall& c) {
  Ints out = c.extents("input");
  const PairList padding = c.pairs("padding");
  if (padding.size() != out.size())
    return c.fault(c.rule, "padding has {} pairs; the input {} has rank {}", padding.size(), text(out), out.size());
  const std::string_view border = c.word("border");
  if (border != "constant" && border != "replicate" && border != "reflect" && border != "reflect-even")
    return c.fault(c.rule, "border is '{}'; needed constant, replicate, reflect or reflect-even", border);
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [before, after] = padding[i];
    int64_t n = 0;
    if (__builtin_add_overflow(before, after, &n) || __builtin_add_overflow(n, out[i], &n) || n <= 0)
      return c.fault(c.rule, "dimension {} of extent {} padded by ({},{}) has no elements left, or too many", i, out[i],
                     before, after);
    out[i] = n;
  }
  return c.give(std::move(out));
}

Status tile_shape(ShapeCall& c) {
  Ints out = c.extents("input");
  const IntList repeats = c.ints("repeats");
  if (repeats.size() != out.size())
    return c.fault(c.rule, "repeats has {} items; the input {} has rank {}", repeats.size(), text(out), out.size());
  for (size_t i = 0; i < out.size(); ++i) {
    if (repeats[i] <= 0) return c.fault(c.rule, "repeats has {} at item {}; needed 1 or more", repeats[i], i);
    if (__builtin_mul_overflow(out[i], repeats[i], &out[i])) return c.fault(c.rule, "dimension {} is too large", i);
  }
  return c.give(std::move(out));
}

Status gather_shape(ShapeCall& c) {
  const Ints &x = c.extents("input"), &indices = c.extents("indices");
  const int64_t axis = c.integer("axis");
  NNEX_TRY(check_axis(c, axis, x.size(), c.rule));
  Ints out(x.begin(), x.begin() + axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), x.begin() + axis + 1, x.end());
  return c.give(std::move(out));
}

Status copies_shape(ShapeCall& c) {
  const int64_t times = c.integer("times");
  if (times < 1) return c.fault(c.rule, "times is {}; needed 1 or more", times);
  NNEX_TRY(c.count_items(static_cast<size_t>(times)));
  for (size_t i = 0; i < static_cast<size_t>(times); ++i) c.give_item(i, c.extents("x"));
  return {};
}

}  // namespace nnex::nnef_format
