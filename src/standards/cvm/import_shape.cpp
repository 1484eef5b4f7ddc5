// Operators that move elements (cvm.md 9.5).

#include <algorithm>

#include "base/checked.h"
#include "base/joined.h"
#include "standards/cvm/import_quirks.h"

namespace nnex::cvm_format {

Status prepare_repeat(NodeImport& n) {
  NNEX_TRY(n.check_range("repeats", n.integer("repeats", 0), 1, INT32_MAX));
  NNEX_ASSIGN(const int64_t axis, n.positive_axis(n.integer("axis", 0), n.shape(0).rank()));
  n.become({{"repeats", n.integer("repeats", 0)}, {"axis", axis}});
  return {};
}

/// The shorter of x and reps is filled with ones in front.
Status prepare_tile(NodeImport& n) {
  Ints reps = n.tuple("reps", {});
  if (reps.empty()) return n.error("reps is empty");
  for (int64_t r : reps) NNEX_TRY(n.check_range("reps", r, 1, kMaxAttr));
  const auto rank = static_cast<size_t>(n.shape(0).rank());
  if (reps.size() > 6) return n.error("the result has {} axes; needed at most 6", reps.size());
  if (reps.size() > rank) {
    Ints extents(reps.size() - rank, 1);
    extents.insert(extents.end(), n.shape(0).begin(), n.shape(0).end());
    n.reshape_input(0, extents);
  }
  reps.insert(reps.begin(), std::max(rank, reps.size()) - reps.size(), 1);
  n.become({{"reps", reps}});
  return {};
}

Status prepare_concatenate(NodeImport& n) {
  NNEX_ASSIGN(const int64_t axis, n.positive_axis(n.integer("axis", 1), n.shape(0).rank()));
  n.become({{"axis", axis}});
  return {};
}

Status prepare_transpose(NodeImport& n) {
  Ints axes = n.tuple("axes", {});
  const int64_t rank = n.shape(0).rank();
  if (!axes.empty() && static_cast<int64_t>(axes.size()) != rank)
    return n.error("axes has {} numbers; x has {} axes", axes.size(), rank);
  for (int64_t& a : axes) {
    NNEX_ASSIGN(a, n.positive_axis(a, rank));
  }
  n.become({{"axes", axes}});  // the row's rule refuses an axis named twice
  return {};
}

Status prepare_expand_dims(NodeImport& n) {
  const int64_t rank = n.shape(0).rank(), given = n.integer("axis", 0), count = n.integer("num_newaxis", 1);
  NNEX_TRY(n.check_range("axis", given, -rank - 1, rank));
  NNEX_TRY(n.check_range("the number of axes", rank + count, 1, 6));
  Ints axes;
  for (int64_t i = 0; i < count; ++i) axes.push_back((given < 0 ? given + rank + 1 : given) + i);
  n.become({{"axis", axes}});
  return {};
}

/// Axes may be named twice; where all go, one of extent 1 stays.
Status prepare_squeeze(NodeImport& n) {
  const Shape& x = n.shape(0);
  const Ints given = n.tuple("axis", {});
  Ints axes;
  for (int64_t a : given) {
    NNEX_ASSIGN(const int64_t axis, n.positive_axis(a, x.rank()));
    if (x[axis] != 1) return n.error("axis {} has extent {}; needed 1", axis, x[axis]);
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  for (int64_t i = 0; given.empty() && i < x.rank(); ++i)
    if (x[i] == 1) axes.push_back(i);
  if (static_cast<int64_t>(axes.size()) == x.rank()) n.result_shape = Ints{1};
  std::sort(axes.begin(), axes.end());
  n.become({{"axis", axes}});
  return {};
}

namespace {

/// The extents that reshape's codes stand for, read with a cursor over x's. The inferred extent goes to the place its
/// code has in the list, as upstream does: after codes of other than one extent that is another place, and seldom fits.
struct ReshapeReader {
  const NodeImport& n;
  const Ints& codes;
  Ints extents = {};
  int64_t at = 0, inferred = -1;

  Status split(size_t i) {
    const Shape& x = n.shape(0);
    if (i + 2 >= codes.size() || at >= x.rank()) return n.error("code -4 needs two numbers and an extent to split");
    const int64_t whole = x[at++];
    int64_t a = codes[i + 1], b = codes[i + 2];
    if ((a < 1 && a != -1) || (b < 1 && b != -1) || (a == -1 && b == -1))
      return n.error("{} cannot be split into {} and {}", whole, a, b);
    if (a == -1) a = whole / b;
    if (b == -1) b = whole / a;
    if (a * b != whole || a > whole || b > whole) return n.error("{} cannot be split into {} and {}", whole, a, b);
    extents.push_back(a), extents.push_back(b);
    return {};
  }

  Status code(size_t i) {
    const Shape& x = n.shape(0);
    if (codes[i] > 0) {
      extents.push_back(codes[i]), ++at;
    } else if (codes[i] == 0) {
      if (at >= x.rank()) return n.error("code 0 copies axis {}; x is {}", at, x.text());
      extents.push_back(x[at++]);
    } else if (codes[i] == -1) {
      if (inferred >= 0) return n.error("only one extent can be inferred");
      inferred = static_cast<int64_t>(i);
      extents.push_back(1), ++at;
    } else if (codes[i] == -2) {
      while (at < x.rank()) extents.push_back(x[at++]);
    } else if (codes[i] == -3) {
      if (at + 1 >= x.rank()) return n.error("code -3 joins axes {} and {}; x is {}", at, at + 1, x.text());
      extents.push_back(x[at] * x[at + 1]), at += 2;
    }
    return {};
  }

  Status run() {
    for (size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] == -4) {
        NNEX_TRY(split(i));
        i += 2;
      } else {
        NNEX_TRY(code(i));
      }
      if (extents.size() > 64) return n.error("the result has more than 6 axes");
    }
    const auto product = Shape(extents).checked_count();
    if (inferred >= static_cast<int64_t>(extents.size()) || !product || *product < 1)
      return n.error("shape {} does not fit {}", joined(codes, ","), n.shape(0).text());
    if (inferred >= 0) extents[static_cast<size_t>(inferred)] = n.shape(0).count() / *product;
    if (Shape(extents).checked_count() != n.shape(0).count())
      return n.error("{} elements do not fit shape {}", n.shape(0).count(), Shape(extents).text());
    return {};
  }
};

}  // namespace

Status prepare_reshape(NodeImport& n) {
  const Ints codes = n.tuple("shape", {});
  if (codes.empty()) return n.error("shape is empty");
  ReshapeReader reader{n, codes};
  NNEX_TRY(reader.run());
  n.become({{"shape", reader.extents}});
  return {};
}

/// Lists may be shorter than x has axes, never longer; an absent `end` is (1). A result without elements is refused.
Status prepare_strided_slice(NodeImport& n) {
  const Shape& x = n.shape(0);
  Ints begin = n.tuple("begin", {0}), end = n.tuple("end", {1}), stride = n.tuple("stride", {});
  const auto rank = static_cast<size_t>(x.rank());
  if (std::max({begin.size(), end.size(), stride.size()}) > rank)
    return n.error("begin, end or stride has more numbers than {} has axes", x.text());
  for (size_t i = begin.size(); i < rank; ++i) begin.push_back(0);
  for (size_t i = end.size(); i < rank; ++i) end.push_back(x[static_cast<int64_t>(i)]);
  stride.resize(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = x[static_cast<int64_t>(i)], step = stride[i];
    if (step == 0) return n.error("the stride of axis {} is 0", i);
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    const auto at = [&](int64_t v) { return std::clamp(v < 0 ? std::max(v, -2 * extent) + extent : v, low, high); };
    const int64_t first = at(begin[i]), last = at(end[i]);
    if (step > 0 ? first >= last : last >= first)
      return n.error("axis {} has no element from {} to {} by {}", i, begin[i], end[i], step);
  }
  n.become({{"begin", begin}, {"end", end}, {"stride", stride}});
  return {};
}

Status prepare_slice_like(NodeImport& n) {
  const Shape &x = n.shape(0), &like = n.shape(1);
  const Ints given = n.tuple("axis", {});
  if (given.empty() && x.rank() != like.rank())
    return n.error("inputs are {} and {}; needed as many axes", x.text(), like.text());
  Ints axes;
  for (int64_t a : given) {
    const int64_t axis = a < 0 ? a + x.rank() : a;
    NNEX_TRY(n.check_range("axis", axis, 0, std::min(x.rank(), like.rank()) - 1));
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  }
  n.become({{"axis", axes}});  // the row's rule compares the extents
  return {};
}

/// Without an axis the indices count all elements of x.
Status prepare_take(NodeImport& n) {
  const bool flat = !n.given("axis");
  int64_t axis = 0;
  if (flat) {
    if (n.shape(0).rank() != 1) n.reshape_input(0, {n.shape(0).count()});
  } else {
    NNEX_ASSIGN(axis, n.positive_axis(n.integer("axis", 0), n.shape(0).rank()));
  }
  NNEX_TRY(n.check_range("the number of axes of the result", n.shape(0).rank() - 1 + n.shape(1).rank(), 1, 6));
  n.become({{"axis", axis}});
  return {};
}

}  // namespace nnex::cvm_format
