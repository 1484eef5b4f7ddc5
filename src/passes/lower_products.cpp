// Sums of products as matrix products.

#include <fmt/format.h>

#include <algorithm>

#include "graph/infer.h"
#include "ops/einsum.h"
#include "ops/matmul.h"
#include "passes/lower.h"

namespace nnex::passes {
namespace {

// ---- einsum

using Indices = std::vector<size_t>;

/// An operand, or the product of some, and the index that each axis counts.
struct Operand {
  ValueId v;
  Indices axes;
};

bool has(const Indices& list, size_t index) { return std::find(list.begin(), list.end(), index) != list.end(); }

class Einsum {
 public:
  Einsum(Lowering& l, const EinsumIndices& e) : l_(l), extent_(e.extent) {}

  /// Without axes that are stretched, and with each index once: of an index that several axes count, the diagonal.
  Operand plain(Operand x, const Shape& shape) const {
    Ints extents;
    Indices axes;
    for (size_t a = 0; a < x.axes.size(); ++a) {
      const int64_t n = shape[static_cast<int64_t>(a)];
      if (n == 1 && extent_[x.axes[a]] != 1) continue;
      extents.push_back(n), axes.push_back(x.axes[a]);
    }
    if (axes.size() != x.axes.size()) x = {l_.reshaped(x.v, extents), axes};
    for (size_t a = 0; a < x.axes.size(); ++a)
      for (size_t other = a + 1; other < x.axes.size();) {
        if (x.axes[other] != x.axes[a])
          ++other;
        else
          x = diagonal(std::move(x), a, other);
      }
    return x;
  }

  /// Sums of products of both over the indices that nobody needs after them.
  Operand combined(Operand x, Operand y, const Indices& needed) const {
    x = summed(std::move(x), [&](size_t i) { return !has(y.axes, i) && !has(needed, i); });
    y = summed(std::move(y), [&](size_t i) { return !has(x.axes, i) && !has(needed, i); });
    Indices both, inner, left, right;
    for (size_t i : x.axes) (!has(y.axes, i) ? left : has(needed, i) ? both : inner).push_back(i);
    for (size_t i : y.axes)
      if (!has(x.axes, i)) right.push_back(i);
    if (inner.empty()) return multiplied(x, y, both, left, right);
    const ValueId a = grouped(x, both, left, inner), b = grouped(y, both, inner, right);
    Operand out{l_.matmul(a, b), both};
    out.axes.insert(out.axes.end(), left.begin(), left.end());
    out.axes.insert(out.axes.end(), right.begin(), right.end());
    if (left.size() != 1 || right.size() != 1) out.v = l_.reshaped(out.v, extents(out.axes));
    return out;
  }

  /// The axes of the result, the others summed over.
  ValueId ordered(Operand x, const Indices& result) const {
    x = summed(std::move(x), [&](size_t i) { return !has(result, i); });
    return moved(x, result);
  }

 private:
  Ints extents(const Indices& axes) const {
    Ints out;
    for (size_t i : axes) out.push_back(extent_[i]);
    return out;
  }
  int64_t count(const Indices& axes) const {
    int64_t n = 1;
    for (size_t i : axes) n *= extent_[i];
    return n;
  }

  ValueId moved(const Operand& x, const Indices& to) const {
    Ints axes;
    for (size_t i : to) axes.push_back(std::find(x.axes.begin(), x.axes.end(), i) - x.axes.begin());
    return l_.transposed(x.v, axes);
  }

  /// Axes a and b, which count the same index, become one: the last of the result.
  Operand diagonal(Operand x, size_t a, size_t b) const {
    Ints order;
    Indices axes;
    for (size_t i = 0; i < x.axes.size(); ++i)
      if (i != a && i != b) order.push_back(static_cast<int64_t>(i)), axes.push_back(x.axes[i]);
    Ints shape = extents(axes);
    const int64_t n = extent_[x.axes[a]], last = static_cast<int64_t>(axes.size());
    order.push_back(static_cast<int64_t>(a)), order.push_back(static_cast<int64_t>(b));
    shape.push_back(n * n);
    axes.push_back(x.axes[a]);
    const ValueId flat = l_.reshaped(l_.transposed(x.v, order), shape);
    return {l_.sliced(flat, last, 0, n * n, n + 1), axes};
  }

  template <class Unneeded>
  Operand summed(Operand x, Unneeded unneeded) const {
    Ints axes;
    Indices kept;
    for (size_t a = 0; a < x.axes.size(); ++a) {
      if (unneeded(x.axes[a]))
        axes.push_back(static_cast<int64_t>(a));
      else
        kept.push_back(x.axes[a]);
    }
    return {l_.sum(x.v, axes), kept};
  }

  /// x as matrices: `rows` together by `columns` together, for each of `both`.
  ValueId grouped(const Operand& x, const Indices& both, const Indices& rows, const Indices& columns) const {
    Indices order = both;
    order.insert(order.end(), rows.begin(), rows.end());
    order.insert(order.end(), columns.begin(), columns.end());
    const ValueId v = moved(x, order);
    if (rows.size() == 1 && columns.size() == 1) return v;
    Ints shape = extents(both);
    shape.push_back(count(rows)), shape.push_back(count(columns));
    return l_.reshaped(v, shape);
  }

  /// The product without a sum: each operand has extents of 1 where only the other has axes.
  Operand multiplied(const Operand& x, const Operand& y, const Indices& both, const Indices& left,
                     const Indices& right) const {
    Operand out{{}, both};
    out.axes.insert(out.axes.end(), left.begin(), left.end());
    out.axes.insert(out.axes.end(), right.begin(), right.end());
    const auto stretched = [&](const Operand& of) {
      Indices order;
      Ints shape;
      for (size_t i : out.axes) {
        shape.push_back(has(of.axes, i) ? extent_[i] : 1);
        if (has(of.axes, i)) order.push_back(i);
      }
      const ValueId v = moved(of, order);
      return order.size() == out.axes.size() ? v : l_.reshaped(v, shape);
    };
    out.v = l_.row("mul", {stretched(x), stretched(y)});
    return out;
  }

  Lowering& l_;
  const std::vector<int64_t>& extent_;
};

/// Operands from the first on, two at a time.
Status einsum(Lowering& l) {
  std::vector<Shape> shapes;
  for (size_t k = 0; k < l.node().in.size(); ++k) {
    const auto shape = concrete(l.graph()[l.in(k)].type);
    if (!shape) return l.error("operand {} is {}; needed known extents", k, l.graph()[l.in(k)].type.text());
    shapes.push_back(*shape);
  }
  NNEX_TRY(l.result_shape());
  NNEX_ASSIGN(const EinsumIndices e, einsum_indices(l.attrs<EinsumAttrs>().equation, shapes));
  const Einsum by(l, e);
  std::vector<Operand> operands;
  for (size_t k = 0; k < shapes.size(); ++k) operands.push_back(by.plain({l.in(k), e.operands[k]}, shapes[k]));
  Operand all = operands[0];
  for (size_t k = 1; k < operands.size(); ++k) {
    Indices needed = e.result;
    for (size_t later = k + 1; later < operands.size(); ++later)
      needed.insert(needed.end(), operands[later].axes.begin(), operands[later].axes.end());
    all = by.combined(std::move(all), operands[k], needed);
  }
  l.give(0, by.ordered(std::move(all), e.result));
  return {};
}

constexpr LowerRow kLowerProducts[] = {
    {"einsum", einsum},
};

}  // namespace

std::span<const LowerRow> lower_products() { return kLowerProducts; }

}  // namespace nnex::passes
